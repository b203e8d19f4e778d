import { cpSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectSwank } from '../../wire/swank/connect.ts'
import { SwankPeer } from '../../wire/swank/peer.ts'
import { assert, suite } from '../support/harness.ts'
import { until } from '../support/rig.ts'
import { openSlime, type Slime } from '../support/slime.ts'
import { openPeer, type RealSwank, startSwank } from '../support/swank.ts'

// Our functions are compiled at every coming, which takes long where much else runs.
const test = suite('our functions in a Lisp image', { limitMs: 100_000 })

const WITNESS = join(import.meta.dirname, '../support/witness.lisp')
const PEER = join(import.meta.dirname, '../../wire/peers/lisp')

let image: RealSwank
let human: Slime

test.before(async () => {
  image = await startSwank({ forms: [`(load ${JSON.stringify(WITNESS)})`] })
  human = await openSlime(image)
  await human.ask('(witness:facts)')
})

test.after(() => image.kill())

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

test('are made whatever the user has set for reading, compiling and printing, and print nothing', async () => {
  const unfriendly = await startSwank({ forms: [UNFRIENDLY], endless: true })
  await until(() => unfriendly.printed().includes('unfriendly now'), 'it to be so')
  // What Swank itself expands the first time that anybody connects is printed by that hook.
  await (await openPeer(unfriendly)).peer.leave()
  const before = unfriendly.printed()
  const { peer } = await openPeer(unfriendly)
  const identity = await peer.call('identity', {})
  assert.match(JSON.stringify(identity), /"style":"spawn","pid":\d+,"epoch_token":"\d+:\d+:/)
  const described = await peer.call('describe', { name: 'CL:CAR', deadline_ms: 10_000 })
  assert.match(JSON.stringify(described), '"type":"found"')
  await peer.leave()
  assert.is(unfriendly.printed(), before)
  unfriendly.kill()
})

test('are made over several connections at once', async () => {
  const opened = await Promise.all([openPeer(image), openPeer(image), openPeer(image)])
  const tokens = new Set<unknown>()
  for (const { peer } of opened) {
    const identity = (await peer.call('identity', {})) as { epoch_token: string }
    tokens.add(identity.epoch_token)
  }
  assert.is(tokens.size, 1)
  await Promise.all(opened.map(({ peer }) => peer.leave()))
})

test('leave nothing where one of the files cannot be read, and the file is named', async () => {
  const broken = mkdtempSync(join(tmpdir(), 'lisp-'))
  cpSync(PEER, broken, { recursive: true })
  writeFileSync(join(broken, 'texts.lisp'), '(defun one-line (text)\n  (list text')
  const facts = await human.ask('(witness:facts)')
  const { connection } = await connectSwank({ host: '127.0.0.1', port: image.port, secret: null })
  const peer = new SwankPeer(connection)
  const failed = await peer.install(broken).catch((error: Error) => error.message)
  assert.match(String(failed), /^The image refused our functions: texts\.lisp: /)
  assert.is(await human.ask('(witness:facts)'), facts)
  // The same connection can be used again.
  await peer.install(PEER)
  await peer.leave()
  assert.is(await human.ask('(witness:facts)'), facts)
})

test('leave no memory taken, however often we come and go', async () => {
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
