import { duplexPair } from 'node:stream'
import type { Limits, Message } from '../../wire/codec/messages.ts'
import { type Link, openLink, type Serve, type ServedCall } from '../../wire/link/link.ts'
import { type FakePeer, fakePeer } from '../support/fake-peer.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('link order')

/** A link with a peer that reads nothing until it is thawed. */
function slowReader(options: { limits?: Partial<Limits>; serve?: Serve }): { link: Link; peer: FakePeer } {
  const { limits, serve } = options
  const [near, far] = duplexPair()
  const link = openLink({ transport: near, encoding: 'json', name: 'the peer', limits, serve })
  return { link, peer: fakePeer(far).freeze() }
}

const turn = () => new Promise(resolve => setImmediate(resolve))
const ids = (messages: readonly Message[]) =>
  messages.map(one =>
    'id' in one ? `${one.type} ${one.id}` : 'n' in one ? `${one.type} ${one.n}` : one.type,
  )

/** What came, with the pieces of one message as one word, where its last piece stood. */
const arrivals = (peer: FakePeer) => ids(peer.received.filter(one => one.type !== 'chunk' || one.last))

/** A call whose server is held still, so that a test decides what it does. */
function heldCall(peer: FakePeer, id = 1) {
  peer.send({ type: 'call', id, method: 'work' })
}

test('a ping passes between the chunks of a large answer', async () => {
  const { link, peer } = slowReader({ limits: { chunkBytes: 1_000 }, serve: async () => 'x'.repeat(200_000) })
  heldCall(peer)
  await turn()
  const alive = link.ping(10_000)
  await turn()
  peer.thaw()
  await alive
  const place = peer.received.findIndex(one => one.type === 'ping')
  const last = () => peer.received.findIndex(one => one.type === 'chunk' && one.last)
  assert.ok(place >= 0)
  while (last() < 0) await turn()
  assert.ok(last() > place, 'the ping came before the answer was whole')
})

test('a small answer passes a large one of another call', async () => {
  const large = 'x'.repeat(200_000)
  const { peer } = slowReader({
    limits: { chunkBytes: 1_000 },
    serve: async (_, params) => (params === 'large' ? large : 'small'),
  })
  peer.send({ type: 'call', id: 1, method: 'm', params: 'large' }, { type: 'call', id: 2, method: 'm' })
  await turn()
  peer.thaw()
  await peer.next('return')
  while (!peer.received.some(one => one.type === 'chunk' && one.last)) await turn()
  assert.equal(arrivals(peer), ['return 2', 'chunk'])
})

test('an answer does not pass a large event of its own call, nor a later event', async () => {
  const { peer } = slowReader({
    limits: { chunkBytes: 1_000 },
    serve: async (_, __, call) => {
      call.event('x'.repeat(100_000))
      call.event('small')
      return 'done'
    },
  })
  heldCall(peer)
  await turn()
  peer.thaw()
  await peer.next('return')
  assert.equal(arrivals(peer), ['chunk', 'event 1', 'return 1'])
})

test('calls arrive in the order of their numbers, and a cancel after its call, whatever their size', async () => {
  const { link, peer } = slowReader({ limits: { chunkBytes: 1_000 } })
  const stop = new AbortController()
  const large = link.call('evaluate', 'x'.repeat(100_000), { signal: stop.signal })
  const small = link.call('status', {})
  stop.abort()
  const alive = link.ping(10_000)
  await turn()
  peer.thaw()
  await peer.next('cancel')
  assert.equal(arrivals(peer), ['ping 1', 'chunk', 'call 2', 'cancel 1'])
  peer.answer(1, 1).answer(2, 2)
  assert.equal(await Promise.all([large, small, alive]), [1, 2, undefined])
})

test('notes arrive in order, whatever their size', async () => {
  const { link, peer } = slowReader({ limits: { chunkBytes: 1_000 } })
  link.note('large', 'x'.repeat(100_000))
  link.note('small', 1)
  await turn()
  peer.thaw()
  await peer.next('note')
  assert.equal(arrivals(peer), ['chunk', 'note'])
})

// Credit

/** A server whose one call does what the test says. */
function oneCall(limits: Partial<Limits>) {
  let begin: (call: ServedCall) => void = () => {}
  let finish: (result: unknown) => void = () => {}
  const begun = new Promise<ServedCall>(resolve => {
    begin = resolve
  })
  const serve: Serve = (_, __, call) => {
    begin(call)
    return new Promise(resolve => {
      finish = resolve
    })
  }
  const { link, peer } = slowReader({ limits, serve })
  heldCall(peer.thaw())
  return { link, peer, begun, finish: (result: unknown) => finish(result) }
}

/** The size of the body of an event of call 1 with this text. */
const sizeOf = (text: string) => JSON.stringify({ type: 'event', id: 1, event: text }).length

test('events cost their bodies, are held without credit, and go on when it is granted', async () => {
  const text = 'x'.repeat(50)
  const { link, peer, begun } = oneCall({ creditBytes: 2 * sizeOf(text) })
  const call = await begun
  const outcomes = [1, 2, 3, 4].map(() => call.event(text))
  assert.equal(outcomes, ['sent', 'sent', 'sent', 'sent'])
  await link.ping(10_000)
  assert.is(peer.received.filter(one => one.type === 'event').length, 2)
  assert.is(link.queuedBytes, 2 * sizeOf(text))
  peer.send({ type: 'credit', id: 1, bytes: 1 })
  await link.ping(10_000)
  assert.is(peer.received.filter(one => one.type === 'event').length, 3)
  peer.send({ type: 'credit', id: 1, bytes: sizeOf(text) })
  await link.ping(10_000)
  assert.is(peer.received.filter(one => one.type === 'event').length, 4)
  assert.is(link.queuedBytes, 0)
})

test('events beyond what is held are dropped, and event() says so each time', async () => {
  const text = 'x'.repeat(50)
  const { peer, link, begun } = oneCall({ creditBytes: 3 * sizeOf(text) })
  const call = await begun
  const outcomes = Array.from({ length: 10 }, () => call.event(text))
  assert.is(outcomes.filter(one => one === 'sent').length, 6)
  assert.equal(outcomes.slice(6), ['dropped', 'dropped', 'dropped', 'dropped'])
  await link.ping(10_000)
  assert.is(peer.received.filter(one => one.type === 'event').length, 3)
})

test('an answer waits behind the events that are held for its call', async () => {
  const { peer, link, begun, finish } = oneCall({ creditBytes: 60 })
  const call = await begun
  call.event('a')
  call.event('b'.repeat(40))
  call.event('c')
  finish('done')
  await link.ping(10_000)
  assert.not(peer.received.some(one => one.type === 'return'))
  peer.send({ type: 'credit', id: 1, bytes: 1_000 })
  await peer.next('return')
  assert.equal(ids(peer.received), ['event 1', 'event 1', 'ping 1', 'event 1', 'return 1'])
})

test('an event after the answer, or one that cannot be encoded, is dropped', async () => {
  const { peer, begun, finish } = oneCall({})
  const call = await begun
  assert.is(call.event(1n), 'dropped')
  finish('done')
  await peer.next('return')
  assert.is(call.event('late'), 'dropped')
})

test('the caller grants what it has heard, before the server runs dry, and not for each event', async () => {
  const { link, peer } = slowReader({ limits: { creditBytes: 1_000 } })
  peer.thaw()
  const call = link.call('work', null)
  await peer.next('call')
  for (let sent = 0; sent < 100; sent++) {
    peer.event(1, 'x'.repeat(40))
    await turn()
  }
  peer.answer(1, 'done')
  assert.is(await call, 'done')
  const grants = peer.received.filter(one => one.type === 'credit')
  const granted = grants.reduce((sum, one) => sum + (one.type === 'credit' ? one.bytes : 0), 0)
  const spent = 100 * sizeOf('x'.repeat(40))
  assert.ok(granted <= spent && granted > spent - 1_000)
  assert.ok(grants.length < 20)
})

// Slow readers

test('a reader that stops costs bounded memory, and later hears what was kept, in order (fault 23)', async () => {
  const limits = { sendHighBytes: 100_000, creditBytes: 200_000 }
  const { link, peer, begun, finish } = oneCall(limits)
  const call = await begun
  peer.freeze()
  let kept = 0
  for (let sent = 0; sent < 20_000; sent++) {
    const isKept = call.event(`${sent} ${'x'.repeat(1_000)}`) === 'sent'
    if (isKept) kept++
    if (sent % 100 === 0) await turn()
  }
  assert.ok(link.queuedBytes < 100_000 + 2 * 200_000, `${link.queuedBytes} bytes are queued`)
  assert.ok(kept < 1_000)
  finish('done')
  peer.thaw()
  while (!peer.received.some(one => one.type === 'return')) {
    const seen = peer.received.length
    await turn()
    if (peer.received.length === seen) peer.send({ type: 'credit', id: 1, bytes: 100_000 })
  }
  const events = peer.received
    .filter(one => one.type === 'event')
    .map(one => Number.parseInt(String(one.event), 10))
  assert.is(events.length, kept)
  assert.equal(
    events,
    Array.from({ length: kept }, (_, index) => index),
  )
})

test('events for a reader that stops are held while it has credit left, and others pass them (fault 23)', async () => {
  const { link, peer, begun } = oneCall({ sendHighBytes: 50_000, creditBytes: 1_000_000 })
  const call = await begun
  peer.freeze()
  for (let sent = 0; sent < 200; sent++) assert.is(call.event('x'.repeat(1_000)), 'sent')
  const alive = link.ping(10_000)
  peer.thaw()
  await alive
  while (peer.received.length < 201) await turn()
  const place = peer.received.findIndex(one => one.type === 'ping')
  assert.ok(place < 100, `the ping came after ${place} events`)
})

test('answers that nobody reads end the link at the cut, and settle what was pending (fault 23)', async () => {
  const { link, peer } = slowReader({
    limits: { sendHighBytes: 10_000, sendCutBytes: 100_000 },
    serve: async () => 'x'.repeat(9_000),
  })
  const pending = link.call('never', null).catch((error: unknown) => error)
  for (let id = 1; id <= 30; id++) heldCall(peer, id)
  const why = await link.closed
  assert.is(why?.code, 'LINK_CLOSED')
  assert.match(String(why?.message), 'reads too slowly')
  assert.match(String(await pending), 'reads too slowly')
})
