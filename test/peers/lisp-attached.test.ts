import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { CallId, Kernel, LookName, Looks } from '../../wire/kernel.ts'
import { swankKernel } from '../../wire/kernels/swank.ts'
import { connectSwank } from '../../wire/swank/connect.ts'
import { assert, suite } from '../support/harness.ts'
import { openSlime, type Slime } from '../support/slime.ts'
import { type RealSwank, startSwank } from '../support/swank.ts'

const test = suite('an attached Lisp image')

const WITNESS = join(import.meta.dirname, '../support/witness.lisp')

/** What Swank, or SBCL, changes by itself for every connection, whoever makes it. */
const OF_EVERY_CONNECTION = [
  // The last 40 events, as text; and what numbers events, threads and channels.
  /^SWANK::\*(EVENT-HISTORY|EVENT-HISTORY-INDEX|TAG-COUNTER)\*/,
  // What each thread has been sent and by which number it goes: of dead threads, too.
  /^SWANK\/SBCL::\*(MAILBOXES|THREAD-ID-COUNTER|THREAD-ID-MAP)\*/,
  // The hook, a new closure each time, that every connection sets, and its mark.
  /^SB-EXT:\*INVOKE-DEBUGGER-HOOK\*/,
  // The compiler, the collector and CLOS count and remember.
  /^SB-[A-Z]+::?\*.*\* (value|contents|value contents)$/,
]
const unexplained = (changes: readonly string[]) =>
  changes.filter(change => !OF_EVERY_CONNECTION.some(pattern => pattern.test(change)))

/** Each of them with something to find. */
const LOOKED: { readonly [Name in LookName]: Looks[Name]['query'] } = {
  globals: { modules: false, limit: 50 },
  inspect: { expr: 'user::*bag*', evaluate: false },
  more: { handle: '@none.1', from: 0, count: 10 },
  definition: { name: 'user::total', max_length: 1000, contexts: true },
  describe: { name: 'user::total' },
  arglist: { name: 'user::total' },
  apropos: { pattern: 'total', limit: 50 },
  slots: { name: 'user::order', limit: 50 },
  hierarchy: { name: 'user::order', limit: 50 },
  symbols: { module: 'user', internal: true, limit: 50 },
  references: { name: 'user::total', limit: 50 },
  threads: { limit: 20, frames: 20, locals: true },
  history: { limit: 20 },
  last_error: {},
  complete: { text: '(user::tot', cursor: 10, limit: 20 },
  suspensions: {},
  suspension: { suspension: 's1@none', from: 0, count: 20 },
  frame: { suspension: 's1@none', frame: 0 },
  lease: { suspension: 's1@none', lease_ms: 1000 },
  theirs: {},
  adopt: { id: 'none', lease_ms: 1000 },
  // Of nothing: a tracepoint is meant to be seen.
  trace: { name: 'user::no-such', calls: 1, expires_ms: 1000, who: 'test' },
  untrace: { tracepoint: 't1@none' },
  traces: { from: 1, count: 20 },
}

/** What a user's program could look like. */
const PROGRAM = [
  `(load ${JSON.stringify(WITNESS)})`,
  '(defpackage :user (:use :cl))',
  '(defclass user::order () ((user::lines :initarg :lines)))',
  '(defun user::total (user::orders) "Adds up." (reduce (function +) user::orders))',
  '(defparameter user::*bag* (list 1 "two" #\\3 (make-instance (quote user::order) :lines 4)))',
  '(defmethod print-object ((order user::order) stream) (write-string "an order" stream))',
  '(defparameter user::*printed* (make-instance (quote user::order) :lines 5))',
  '(setf *print-length* 17 *print-base* 8 *read-base* 10)',
]

let image: RealSwank
let human: Slime

test.before(async () => {
  image = await startSwank({ forms: PROGRAM })
  human = await openSlime(image)
  // The first time, Swank and the compiler remember more than later on.
  await human.ask('(witness:facts)')
})

test.after(() => image.kill())

async function attach(): Promise<Kernel> {
  const { connection, info } = await connectSwank({ host: '127.0.0.1', port: image.port, secret: null })
  return swankKernel({ name: 'lisp', connection, info, attached: true })
}

async function lookAtAll(kernel: Kernel): Promise<void> {
  for (const name of Object.keys(LOOKED) as LookName[]) {
    if (!kernel.identity.abilities.has(name)) continue
    const looked = await kernel.look(name, LOOKED[name], { deadlineMs: 10_000 })
    assert.ok(looked.type !== 'timed_out', `${name} took too long`)
  }
}

const changes = async () => lines(await human.ask('(format nil "~{~A~%~}" (witness:changes))'))
const facts = async () => lines(await human.ask('(format nil "~{~A~%~}" (witness:facts))'))
// A printed string: of lines, with the quotes of a string.
const lines = (text: string) =>
  text
    .replaceAll('"', '')
    .split('\n')
    .filter(line => line !== '')
const descriptors = () => readdirSync(`/proc/${image.pid}/fd`).length
const threads = () =>
  human.ask(
    "(sort (remove \"worker\" (mapcar 'sb-thread:thread-name (sb-thread:list-all-threads)) :test 'equal) 'string<)",
  )

test('has one package more once we have come, and nothing else (threat 26)', async () => {
  await human.ask('(witness:look)')
  const before = await facts()
  const kernel = await attach()
  await lookAtAll(kernel)
  const ours = ['IMAGO-PEER', /^IMAGO-PEER has \d+ symbols$/, /^KEYWORD has \d+ symbols$/]
  const isOurs = (line: string) => ours.some(one => (one instanceof RegExp ? one.test(line) : one === line))
  assert.equal(
    (await facts()).filter(line => !isOurs(line)),
    before.filter(line => !isOurs(line)),
  )
  const others = unexplained(await changes()).filter(change => !/^(IMAGO-PEER:|:[^ ]+ new$)/.test(change))
  assert.equal(others, [])
  await kernel.close()
})

test('shows no other trace of us while we are there again, whatever is looked at (threat 26)', async () => {
  await human.ask('(witness:look)')
  const before = await facts()
  const kernel = await attach()
  await lookAtAll(kernel)
  assert.equal(await facts(), before)
  const known = /^IMAGO-PEER::\*SESSIONS\* /
  assert.equal(
    unexplained(await changes()).filter(change => !known.test(change)),
    [],
  )
  await kernel.close()
})

test('is after we have left as it was before, to the last symbol, thread and descriptor', async () => {
  await human.ask('(witness:look)')
  const before = { threads: await threads(), facts: await facts(), descriptors: descriptors() }
  const kernel = await attach()
  await lookAtAll(kernel)
  const evaluated = await kernel.evaluate(
    {
      call: 'traces-1' as CallId,
      work: { type: 'source', source: '(progn (princ "no line yet") user::*printed*)' },
      who: 'test',
    },
    {},
  )
  assert.is(evaluated.type, 'done')
  await kernel.close()
  // The first thing: a thread of ours could still be about to end.
  assert.equal({ threads: await threads(), facts: await facts(), descriptors: descriptors() }, before)
  assert.equal(unexplained(await changes()), [])
})

test('keeps its own values of the variables that a listener sets', async () => {
  await human.ask("(progn (setf * 'mine + 'form / '(mine)) nil)")
  const asked =
    '(mapcar (function sb-ext:symbol-global-value) (quote (* + / *package* *print-length* *print-base*)))'
  const before = await human.ask(asked)
  const kernel = await attach()
  const source = '(in-package :user) (setf *print-base* 2) (list 1 2 3)'
  await kernel.evaluate({ call: 'traces-2' as CallId, work: { type: 'source', source }, who: 'test' }, {})
  assert.equal(
    await human.ask('(mapcar (function sb-ext:symbol-global-value) (quote (* + /)))'),
    '(MINE FORM (MINE))',
  )
  await kernel.close()
  assert.equal(await human.ask('(symbol-value (quote cl:*package*))'), '#<PACKAGE "COMMON-LISP-USER">')
  assert.ok(before.startsWith('(MINE FORM (MINE)'))
})

test('prints nothing at its terminal when we come and when we go', async () => {
  const before = image.printed()
  const kernel = await attach()
  await lookAtAll(kernel)
  await kernel.close()
  await human.ask('(finish-output)')
  assert.is(image.printed(), before)
})

test('sends and is sent nothing while nobody asks', async () => {
  const kernel = await attach()
  const events = () => human.ask('(format nil "~{~A~}" (swank::event-history-to-list))')
  await kernel.look('describe', LOOKED.describe, { deadlineMs: 10_000 })
  assert.match(await events(), 'IMAGO-PEER:DISPATCH')
  // Swank keeps the last 40 of all that it hears and says.
  await human.ask('(swank::clear-event-history)')
  await new Promise(resolve => setTimeout(resolve, 2_000))
  assert.not.match(await events(), /IMAGO-PEER|:PING|:CHANNEL-SEND/)
  await kernel.close()
})
