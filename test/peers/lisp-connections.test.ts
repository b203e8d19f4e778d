import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CallId, Kernel, LookName, Looks } from '../../wire/kernel.ts'
import { connectSwank } from '../../wire/swank/connect.ts'
import type { SwankConnection } from '../../wire/swank/connection.ts'
import { FaslCache, SwankPeer } from '../../wire/swank/peer.ts'
import type { Sexp } from '../../wire/swank/sexp.ts'
import { assert, isLong, suite } from '../support/harness.ts'
import { Lisp } from '../support/lisp-image.ts'
import { until } from '../support/rig.ts'
import { openSlime, type Slime } from '../support/slime.ts'
import { cacheOfTests, openPeer, type RealSwank, startSwank } from '../support/swank.ts'
import { openSwankKernel } from '../support/swank-kernel.ts'
import { makeFolder } from '../support/temporary.ts'

// The first coming to an image may compile our functions, which takes long where much else runs.
const test = suite('a person in SLIME, and us, in one Lisp image', { limitMs: 100_000 })

const WITNESS = join(import.meta.dirname, '../support/witness.lisp')
const PEER = join(import.meta.dirname, '../../wire/peers/lisp')

let image: RealSwank
let human: Slime
let slime: Slime

/** What Swank, or SBCL, changes by itself for every connection, whoever makes it. */
const OF_EVERY_CONNECTION = [
  // The last 40 events, as text; and what numbers events, threads and channels.
  /^SWANK::\*(EVENT-HISTORY|EVENT-HISTORY-INDEX|TAG-COUNTER)\*/,
  // What each thread has been sent and by which number it goes: of dead threads, too.
  /^SWANK\/SBCL::\*(MAILBOXES|THREAD-ID-COUNTER|THREAD-ID-MAP)\*/,
  // The hook, a new closure each time, that every connection sets, and its mark.
  /^SB-EXT:\*INVOKE-DEBUGGER-HOOK\*/,
  /^IMAGO-PEER::\*HOOKS-SEEN\*/,
  // The compiler, the collector and CLOS count and remember.
  /^SB-[A-Z]+::?\*.*\* (value|contents|value contents)$/,
]
const unexplained = (changes: readonly string[]) =>
  changes.filter(change => !OF_EVERY_CONNECTION.some(pattern => pattern.test(change)))

/** Each of them with something to find. */
const LOOKED: { readonly [Name in LookName]: Looks[Name]['query'] } = {
  scope: { file: '/none.lisp' },
  globals: { modules: false, limit: 50 },
  inspect: { expr: 'user::*bag*' },
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
  errors: { count: 20 },
  kept_text: { file: 'none' },
  complete: { text: '(user::tot', cursor: 10, limit: 20 },
  suspensions: {},
  suspension: { suspension: 's1@none', from: 0, count: 20 },
  frame: { suspension: 's1@none', frame: 0 },
  theirs: {},
  adopt: { id: 'none' },
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

test.before(async () => {
  image = await startSwank({ forms: PROGRAM })
  human = await openSlime(image)
  // The first time, Swank and the compiler remember more than later on.
  await human.ask('(witness:facts)')
})
test.after(() => image?.kill())

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
/** Also what it printed before its last answer, which comes by another way: a turn of the loop reads both. */
const printedBy = async (swank: RealSwank) => {
  await new Promise(resolve => setImmediate(resolve))
  return swank.printed()
}
const descriptors = () => readdirSync(`/proc/${image.pid}/fd`).length
const threads = () =>
  human.ask(
    "(sort (remove \"worker\" (mapcar 'sb-thread:thread-name (sb-thread:list-all-threads)) :test 'equal) 'string<)",
  )

test('an image has one package more once we have come, and nothing else (threat 26)', async () => {
  await human.ask('(witness:look)')
  const before = await facts()
  const kernel = await openSwankKernel(image)
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

test('an image shows no other trace of us while we are there again, whatever is looked at (threat 26)', async () => {
  await human.ask('(witness:look)')
  const before = await facts()
  const kernel = await openSwankKernel(image)
  await lookAtAll(kernel)
  assert.equal(await facts(), before)
  const known = /^IMAGO-PEER::\*SESSIONS\* /
  assert.equal(
    unexplained(await changes()).filter(change => !known.test(change)),
    [],
  )
  await kernel.close()
})

test('an image is after we have left as it was before, to the last symbol, thread and descriptor', async () => {
  await human.ask('(witness:look)')
  const before = { threads: await threads(), facts: await facts(), descriptors: descriptors() }
  const kernel = await openSwankKernel(image)
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

test('an image keeps its own values of the variables that a listener sets', async () => {
  await human.ask("(progn (setf * 'mine + 'form / '(mine)) nil)")
  const asked =
    '(mapcar (function sb-ext:symbol-global-value) (quote (* + / *package* *print-length* *print-base*)))'
  const before = await human.ask(asked)
  const kernel = await openSwankKernel(image)
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

test('an image prints nothing at its terminal when we come and when we go', async () => {
  const before = await printedBy(image)
  const kernel = await openSwankKernel(image)
  await lookAtAll(kernel)
  await kernel.close()
  await human.ask('(finish-output)')
  assert.is(await printedBy(image), before)
})

test('an image sends and is sent nothing while nobody asks', async () => {
  const kernel = await openSwankKernel(image)
  const events = () => human.ask('(format nil "~{~A~}" (swank::event-history-to-list))')
  await kernel.look('describe', LOOKED.describe, { deadlineMs: 10_000 })
  assert.match(await events(), 'IMAGO-PEER:DISPATCH')
  // Swank keeps the last 40 of all that it hears and says.
  await human.ask('(swank::clear-event-history)')
  await new Promise(resolve => setTimeout(resolve, 2_000))
  assert.not.match(await events(), /IMAGO-PEER|:PING|:CHANNEL-SEND/)
  await kernel.close()
})

let cacheFolder = ''
/** An empty cache. */
function cacheIn(): FaslCache | undefined {
  cacheFolder = join(makeFolder(), 'imago/lisp')
  return FaslCache.open(cacheFolder)
}

/**
 * All that a user can have set that reading, compiling and printing go by; none of it for the better. It is one form,
 * and does not return: what is read after it would not be understood any more.
 */
const UNFRIENDLY = `(progn
  (proclaim (quote (optimize (safety 0) (speed 3) (debug 0))))
  (sb-ext:restrict-compiler-policy (quote debug) 3)
  (setf sb-ext:*evaluator-mode* :interpret)
  (setf *print-base* 2 *print-case* :capitalize *print-circle* t *print-length* 1 *print-level* 1)
  (setf *read-base* 36 *read-default-float-format* (quote double-float))
  (setf *macroexpand-hook* (lambda (f form env) (format t "expanded ~a" (first form)) (funcall f form env)))
  (setf *compile-verbose* t *compile-print* t *load-verbose* t *gensym-counter* 4711)
  (set-dispatch-macro-character #\\# #\\' (lambda (s c n) (declare (ignore s c n)) (error "mine")))
  (set-macro-character #\\; (lambda (s c) (declare (ignore s c)) (error "mine, too")))
  (setf (readtable-case *readtable*) :preserve)
  (sb-ext:lock-package *package*)
  (format t "unfriendly now~%")
  (finish-output)
  (loop (sleep 3600)))`

test('our functions are made whatever the user has set for reading, compiling and printing, and print nothing', async () => {
  await human.ask('(setf *print-length* nil *print-base* 10 *read-base* 10)')
  const unfriendly = await startSwank({ forms: [UNFRIENDLY], endless: true })
  await until(() => unfriendly.printed().includes('unfriendly now'), 'it to be so')
  // What Swank itself expands the first time that anybody connects is printed by that hook.
  await (await openPeer(unfriendly)).peer.leave()
  const before = await printedBy(unfriendly)
  const { peer } = await openPeer(unfriendly)
  const identity = await peer.call('identity', {})
  assert.match(JSON.stringify(identity), /"style":"spawn","pid":\d+,"epoch_token":"\d+:\d+:/)
  const described = await peer.call('describe', { name: 'CL:CAR', deadline_ms: 10_000 })
  assert.match(JSON.stringify(described), '"type":"found"')
  await peer.leave()
  assert.is(await printedBy(unfriendly), before)
  unfriendly.kill()
})

/** A copy of our system, of which one file is another. */
function altered(file: string, change: (text: string) => string): string {
  const folder = mkdtempSync(join(tmpdir(), 'lisp-'))
  cpSync(PEER, folder, { recursive: true })
  const path = join(folder, file)
  writeFileSync(path, change(readFileSync(path, 'utf8')))
  return folder
}

const connected = async ({ port }: RealSwank) =>
  new SwankPeer((await connectSwank({ host: '127.0.0.1', port, secret: null })).connection)

const messageOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'no failure',
    (error: Error) => error.message,
  )

for (const cached of [true, false])
  test(`functions of which one file cannot be read are refused, ${cached ? 'compiled' : 'from source'}, and the file is named; the connection can be used again`, async () => {
    const swank = await startSwank()
    const peer = await connected(swank)
    const broken = altered(
      'handles.lisp',
      () => '(in-package #:imago-peer)\n(defun weight (value)\n  (list value',
    )
    const cache = cached ? cacheIn() : undefined
    assert.match(
      await messageOf(peer.install(broken, cache)),
      /^The image refused our functions: handles\.lisp: /,
    )
    await peer.install(PEER, cacheOfTests())
    assert.match(JSON.stringify(await peer.call('identity', {})), '"style":"spawn"')
    await peer.leave()
    swank.kill()
  })

test('our functions are compiled once, and kept in a folder that is ours alone', async () => {
  const cache = cacheIn()
  const swank = await startSwank()
  for (let times = 0; times < 2; times++) {
    const peer = await connected(swank)
    await peer.install(PEER, cache)
    await peer.leave()
  }
  const kept = readdirSync(cacheFolder)
  assert.is(kept.length, 1)
  assert.match(kept[0] ?? '', /^imago-peer-SBCL-.*\.fasl$/)
  assert.is(statSync(cacheFolder).mode & 0o777, 0o700)
  const path = join(cacheFolder, kept[0] ?? '')
  const written = statSync(path).mtimeMs
  // In another image it is loaded as it is.
  const other = await startSwank()
  const peer = await connected(other)
  await peer.install(PEER, cache)
  assert.match(JSON.stringify(await peer.call('identity', {})), '"style":"spawn"')
  assert.is(statSync(path).mtimeMs, written)
  await peer.leave()
  for (const image of [swank, other]) image.kill()
})

if (isLong)
  // To compile them takes the processor four seconds.
  test('what was compiled of our functions and cannot be loaded is made again', async () => {
    const cache = cacheIn()
    for (let times = 0; times < 2; times++) {
      const swank = await startSwank()
      const peer = await connected(swank)
      await peer.install(PEER, cache)
      const [kept = ''] = readdirSync(cacheFolder)
      const path = join(cacheFolder, kept)
      assert.ok(statSync(path).size > 100_000)
      writeFileSync(path, 'no compiled file')
      await peer.leave()
      swank.kill()
    }
  })

test('whoever attaches again to the same image, also after detaching, has nothing loaded there', async () => {
  const swank = await startSwank()
  const first = await connected(swank)
  await first.install(PEER, cacheOfTests())
  await first.leave()
  const person = await openSlime(swank)
  // Loading would set it anew.
  await person.ask('(cl:setf imago-peer::*text-limit* 4097)')
  const again = await connected(swank)
  await again.install(PEER, cacheOfTests())
  assert.match(await person.ask('imago-peer::*text-limit*'), '4097')
  await again.leave()
  person.close()
  swank.kill()
})

test('our functions are not kept where the folder is a link, or cannot be made', () => {
  const folder = makeFolder()
  mkdirSync(join(folder, 'elsewhere'))
  symlinkSync(join(folder, 'elsewhere'), join(folder, 'imago'))
  assert.is(FaslCache.open(join(folder, 'imago/lisp')), undefined)
  writeFileSync(join(folder, 'file'), '')
  assert.is(FaslCache.open(join(folder, 'file/imago/lisp')), undefined)
})

test('our functions of another version are refused while somebody is attached, and loaded over the old ones when nobody is', async () => {
  const swank = await startSwank()
  const first = await connected(swank)
  await first.install(PEER, cacheOfTests())
  const newer = altered('image.lisp', text =>
    text.replace('"epoch_token" (epoch-token)', '"epoch_token" "newer"'),
  )
  const other = await connected(swank)
  assert.match(
    await messageOf(other.install(newer, undefined)),
    /Imago of another version, imago \w+, is attached to it, and one image has room for one version\. Detach that first\./,
  )
  assert.not.match(JSON.stringify(await first.call('identity', {})), '"newer"')
  await first.leave()
  await other.install(newer, undefined)
  assert.match(JSON.stringify(await other.call('identity', {})), '"epoch_token":"newer"')
  await other.leave()
  swank.kill()
})

test('our functions leave a package alone that has their name and is not ours', async () => {
  const swank = await startSwank({ forms: ['(defpackage #:imago-peer (:use #:cl) (:export #:feed))'] })
  const person = await openSlime(swank)
  assert.match(
    await messageOf(connectSwank({ host: '127.0.0.1', port: swank.port, secret: null })),
    "It has a package IMAGO-PEER that is not Imago's, which is left alone.",
  )
  assert.is(
    await person.ask('(loop for symbol being the present-symbols of :imago-peer collect symbol)'),
    '(IMAGO-PEER:FEED)',
  )
  await person.close()
  swank.kill()
})

test('functions of two connections share nothing: each has its handles, history and package', async () => {
  const [one, other] = await Promise.all([openPeer(image), openPeer(image)])
  const evaluate = (peer: SwankPeer, source: string) =>
    peer.call('evaluate', { call: source, who: 'test', work: 'source', source })
  const answer = (await evaluate(one.peer, '(in-package :witness) (list 1 2)')) as {
    package: string
    values: { handle: string }[]
  }
  assert.is(answer.package, 'WITNESS')
  const asked = await evaluate(other.peer, '(list 3)')
  assert.is((asked as { package: string }).package, 'COMMON-LISP-USER')
  const stale = await other.peer.call('more', { handle: answer.values[0]?.handle ?? '', from: 0, count: 9 })
  assert.is((stale as { type: string }).type, 'stale_handle')
  const history = await other.peer.call('history', { limit: 9 })
  assert.is((history as { value: { total: number } }).value.total, 1)
  // Nor does one that comes when the first has gone.
  await one.peer.leave()
  const third = await openPeer(image)
  assert.is(((await third.peer.call('history', { limit: 9 })) as { value: { total: number } }).value.total, 0)
  await Promise.all([other, third].map(({ peer }) => peer.leave()))
  assert.is(await human.ask('(length imago-peer::*sessions*)'), '0')
})

test('our functions leave no memory taken, however often we come and go', async () => {
  const round = async () => {
    const { peer } = await openPeer(image)
    await peer.call('apropos', { pattern: 'list', limit: 100, deadline_ms: 10_000 })
    await peer.leave()
  }
  const taken = async () => {
    const asked =
      '(progn (gc :full t) (gc :full t) (list (sb-kernel:dynamic-usage) sb-vm::*free-tls-index* ' +
      '(count nil (mapcar (function sb-thread:thread-alive-p) (mapcar (function swank/sbcl::mailbox.thread) swank/sbcl::*mailboxes*)))))'
    const [bytes = 0, places = 0, mailboxes = 0] = (await human.ask(asked)).match(/\d+/g)?.map(Number) ?? []
    return { bytes, places, mailboxes }
  }
  // What some stack happens to have in it is held for a round or two: the lowest of some rounds tells what stays.
  await round()
  const first = await taken()
  await round()
  const second = await taken()
  const before = { ...second, bytes: Math.min(first.bytes, second.bytes) }
  const rounds = 3
  for (let count = 0; count < rounds; count++) await round()
  let after = await taken()
  for (let more = 0; more < 4 && after.bytes - before.bytes >= rounds * 100_000; more++) {
    await round()
    after = await taken()
  }
  assert.is(after.places, before.places)
  // The human's own questions leave one each.
  assert.ok(
    after.mailboxes - before.mailboxes <= 6,
    `${before.mailboxes} and then ${after.mailboxes} mailboxes`,
  )
  // What is made each time is more than 3 MB.
  const grown = after.bytes - before.bytes
  assert.ok(grown < rounds * 100_000, `${grown} bytes after ${rounds} rounds`)
})

/** Joined as the daemon joins an image, and all that it hears besides answers. */
class Ours {
  readonly peer: SwankPeer
  readonly heard: Sexp[] = []

  private constructor(connection: SwankConnection) {
    this.peer = new SwankPeer(connection)
    connection.listen(message => this.heard.push(message))
  }

  static async join(image: RealSwank): Promise<Ours> {
    const { connection } = await connectSwank({ host: '127.0.0.1', port: image.port, secret: null })
    return new Ours(connection)
  }

  install(): Promise<void> {
    return this.peer.install(PEER, cacheOfTests())
  }
}

/** Has a thread of the program fail, in which no connection has a part; it is `at` that starts it. */
const fail = (at: Slime, message: string) =>
  at.ask(`(progn (sb-thread:make-thread (lambda () (error "${message}"))) nil)`)

const isDebugged = (at: Slime, message: string) =>
  until(() => at.debugged.some(condition => condition.includes(message)), `${message} in the editor`)

test('an error of the program goes to the human who came after us (threat 26)', async () => {
  await human.close()
  const ours = await Ours.join(image)
  await ours.install()
  slime = await openSlime(image)
  await fail(slime, 'after us')
  await isDebugged(slime, 'after us')
  assert.equal(ours.heard, [])
  await ours.peer.leave()
})

test('an error of the program goes to the human who was there before us (threat 26)', async () => {
  const ours = await Ours.join(image)
  await ours.install()
  await fail(slime, 'before us')
  await isDebugged(slime, 'before us')
  assert.equal(ours.heard, [])
  await ours.peer.leave()
})

test('an error while our functions are made goes to the human', async () => {
  const ours = await Ours.join(image)
  const installed = ours.install()
  await fail(slime, 'meanwhile')
  await isDebugged(slime, 'meanwhile')
  await installed
  assert.equal(ours.heard, [])
  await ours.peer.leave()
})

test('an error goes to the human who has come again, and to none of ours', async () => {
  const ours = await Promise.all([Ours.join(image), Ours.join(image), Ours.join(image)])
  await ours[0].install()
  await slime.close()
  slime = await openSlime(image)
  await ours[1].install()
  await fail(slime, 'come again')
  await isDebugged(slime, 'come again')
  assert.equal(
    ours.flatMap(({ heard }) => heard),
    [],
  )
  await Promise.all(ours.map(({ peer }) => peer.leave()))
})

test('whoever connects at the same moment is found in the list, and none of ours', async () => {
  const before = Number(await slime.ask('(length swank::*connections*)'))
  const [humans, ours] = await Promise.all([
    Promise.all(Array.from({ length: 6 }, () => openSlime(image))),
    Promise.all(Array.from({ length: 6 }, () => Ours.join(image))),
  ])
  assert.is(Number(await slime.ask('(length swank::*connections*)')), before + humans.length)
  await Promise.all(humans.map(human => human.close()))
  await until(async () => Number(await slime.ask('(length swank::*connections*)')) === before, 'their end')
  await Promise.all(ours.map(({ peer }) => peer.leave()))
})

test('an error with no human there ends a program as it would have without us', async () => {
  const sign = join(mkdtempSync(join(tmpdir(), 'lisp-')), 'now')
  const failing = `(sb-thread:make-thread (lambda () (loop until (probe-file ${JSON.stringify(sign)}) do (sleep 0.01)) (error "alone")))`
  // Its debugger is disabled, by an option or by a form: it prints what happened and ends.
  for (const start of [
    { forms: [failing] },
    { debugger: true, forms: ['(sb-ext:disable-debugger)', failing] },
  ] as const) {
    const alone = await startSwank(start)
    const ours = await Ours.join(alone)
    await ours.install()
    writeFileSync(sign, '')
    await until(
      () => /Unhandled SIMPLE-ERROR[\s\S]*alone[\s\S]*unhandled condition/.test(alone.printed()),
      'its end',
    )
    assert.equal(ours.heard, [])
    alone.kill()
    rmSync(sign)
  }
})

test('hooks of Slynk, and those that the program has set meanwhile, are as they were when we come', async () => {
  const image = await startSwank({
    debugger: true,
    forms: [
      '(progn (defpackage :slynk (:use)) (defpackage :slynk-backend (:use)))',
      `(progn (defvar slynk::*connections* '(:sly)) (defvar slynk::*global-debugger* t)
         (defun slynk::slynk-debugger-hook (condition hook) (list condition hook))
         (defun slynk-backend::install-debugger-globally (function)
           (setq *debugger-hook* function sb-ext:*invoke-debugger-hook* function)))`,
      "(slynk-backend::install-debugger-globally #'slynk::slynk-debugger-hook)",
    ],
  })
  const lisp = await new Lisp().open(image)
  const global = (name: string) => `(sb-ext:symbol-global-value '${name})`
  const both = (hook: string) =>
    `(list (eq ${global('*debugger-hook*')} ${hook}) (eq ${global('sb-ext:*invoke-debugger-hook*')} ${hook}))`
  assert.equal(await lisp.values(both("#'slynk::slynk-debugger-hook")), ['(t t)'])
  await lisp.define(`(progn (defun mine (condition hook) (list condition hook))
    (setf ${global('*debugger-hook*')} #'mine ${global('sb-ext:*invoke-debugger-hook*')} #'mine))`)
  await lisp.found('threads', {})
  lisp.end()
  const again = await new Lisp().open(image)
  assert.equal(await again.values(both("#'mine")), ['(t t)'])
  again.end()
  image.kill()
})

test('a hook that the program sets again as somebody connects stays', async () => {
  const image = await startSwank({
    debugger: true,
    forms: [
      '(defun mine (condition hook) (list condition hook))',
      `(setf swank::*new-connection-hook*
         (append swank::*new-connection-hook*
           (list (lambda (it) (list it) (setf (sb-ext:symbol-global-value '*debugger-hook*) #'mine)))))`,
    ],
  })
  const lisp = await new Lisp().open(image)
  const kept = "(eq (sb-ext:symbol-global-value '*debugger-hook*) #'mine)"
  assert.equal(await lisp.values(kept), ['t'])
  lisp.end()
  image.kill()
})

test('an error is offered at the terminal once the only human has gone', async () => {
  const sign = join(mkdtempSync(join(tmpdir(), 'lisp-')), 'now')
  const failing = `(sb-thread:make-thread (lambda () (loop until (probe-file ${JSON.stringify(sign)}) do (sleep 0.01)) (error "left alone")))`
  const left = await startSwank({ forms: [failing] })
  const human = await openSlime(left)
  const ours = await Ours.join(left)
  await ours.install()
  await human.close()
  await until(() => left.printed().includes('close-connection'), 'Swank to notice')
  writeFileSync(sign, '')
  await until(() => left.printed().includes('left alone'), 'the debugger at the terminal')
  assert.equal(ours.heard, [])
  left.kill()
})
