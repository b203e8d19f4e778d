import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectSwank } from '../../wire/swank/connect.ts'
import { FaslCache } from '../../wire/swank/fasl-cache.ts'
import { SwankPeer } from '../../wire/swank/peer.ts'
import { assert, suite } from '../support/harness.ts'
import { until } from '../support/rig.ts'
import { openSlime, type Slime } from '../support/slime.ts'
import { cacheOfTests, openPeer, type RealSwank, startSwank } from '../support/swank.ts'
import { makeFolder } from '../support/temporary.ts'

// The first coming to an image may compile our functions, which takes long where much else runs.
const test = suite('our functions in a Lisp image', { limitMs: 100_000 })

const WITNESS = join(import.meta.dirname, '../support/witness.lisp')
const PEER = join(import.meta.dirname, '../../wire/peers/lisp')

let image: RealSwank
let human: Slime
let cacheFolder: string

/** An empty cache. */
function cacheIn(): FaslCache | undefined {
  cacheFolder = join(makeFolder(), 'imago/lisp')
  return FaslCache.open(cacheFolder)
}

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
  test(`of which one file cannot be read are refused, ${cached ? 'compiled' : 'from source'}, and the file is named; the connection can be used again`, async () => {
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

test('are compiled once, and kept in a folder that is ours alone', async () => {
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
  // What cannot be loaded is made again.
  writeFileSync(path, 'no compiled file')
  const third = await startSwank()
  const again = await connected(third)
  await again.install(PEER, cache)
  assert.ok(statSync(path).size > 100_000)
  await again.leave()
  for (const image of [swank, other, third]) image.kill()
})

test('are not kept where the folder is a link, or cannot be made', () => {
  const folder = makeFolder()
  mkdirSync(join(folder, 'elsewhere'))
  symlinkSync(join(folder, 'elsewhere'), join(folder, 'imago'))
  assert.is(FaslCache.open(join(folder, 'imago/lisp')), undefined)
  writeFileSync(join(folder, 'file'), '')
  assert.is(FaslCache.open(join(folder, 'file/imago/lisp')), undefined)
})

test('of another version are refused while somebody is attached, and loaded over the old ones when nobody is', async () => {
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

test('leave a package alone that has their name and is not ours', async () => {
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

test('of two connections share nothing: each has its handles, history and package', async () => {
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
