import { duplexPair } from 'node:stream'
import fc from 'fast-check'
import type { Encoding, Limits, Message } from '../../wire/codec/messages.ts'
import { Refusal, type Serve, type ServedCall } from '../../wire/link/calls.ts'
import { type Link, openLink } from '../../wire/link/link.ts'
import { LightSignal } from '../../wire/signal.ts'
import { type FakePeer, fakePeer, type Script } from '../support/fake-peer.ts'
import { faultOf } from '../support/faults.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('link')
const ENCODINGS = ['json', 'msgpack'] as const

/** A link with a scripted peer at its other end. */
function linkWith(options: {
  script?: Script
  serve?: Serve
  limits?: Partial<Limits>
  encoding?: Encoding
}): {
  link: Link
  peer: FakePeer
  notes: unknown[]
} {
  const { script = {}, serve, limits, encoding = 'json' } = options
  const [near, far] = duplexPair()
  const notes: unknown[] = []
  const note = (name: string, params: unknown) => void notes.push([name, params])
  const link = openLink({ transport: near, encoding, name: 'the peer', limits, serve, note })
  return { link, peer: fakePeer(far, { encoding, script }), notes }
}

/** Two links that speak to each other. */
function linked(options: {
  serve: Serve
  limits?: Partial<Limits>
  encoding?: Encoding
}): readonly [Link, Link] {
  const { serve, limits, encoding = 'json' } = options
  const [near, far] = duplexPair()
  return [
    openLink({ transport: near, encoding, name: 'the server', limits }),
    openLink({ transport: far, encoding, name: 'the caller', limits, serve }),
  ]
}

const never = () => new Promise<never>(() => {})
const turn = () => new Promise(resolve => setImmediate(resolve))

// Calls

for (const encoding of ENCODINGS) {
  test(`any mix of calls, sizes and events comes back whole and in order, in ${encoding}`, async () => {
    const limits = { chunkBytes: 64, creditBytes: 200 }
    const serve: Serve = async (_, params, call) => {
      const { size, events } = params as { size: number; events: number[] }
      for (const [index, event] of events.entries()) {
        if (index % 2 === 0) await turn()
        assert.is(call.event('e'.repeat(event)), 'sent')
      }
      return 'r'.repeat(size)
    }
    const sizes = fc.array(fc.nat({ max: 80 }), { maxLength: 3 })
    const asked = fc.record({ size: fc.nat({ max: 700 }), events: sizes, padding: fc.nat({ max: 300 }) })
    await fc.assert(
      fc.asyncProperty(fc.array(asked, { minLength: 1, maxLength: 10 }), async calls => {
        const [link, far] = linked({ encoding, limits, serve })
        const heard = calls.map(() => [] as number[])
        const results = await Promise.all(
          calls.map(({ size, events, padding }, index) =>
            link.call(
              'work',
              { size, events, padding: 'p'.repeat(padding) },
              { on: event => void heard[index]?.push(String(event).length) },
            ),
          ),
        )
        assert.equal(
          results,
          calls.map(({ size }) => 'r'.repeat(size)),
        )
        assert.equal(
          heard,
          calls.map(({ events }) => events),
        )
        await Promise.all([link.close(), far.close()])
      }),
      { numRuns: 60 },
    )
  })
}

test('both ends ask, also in the middle of a call', async () => {
  const [near, far] = duplexPair()
  const asker = openLink({
    transport: near,
    encoding: 'json',
    name: 'the kernel',
    serve: async () => ({ answer: 'Ada' }),
  })
  const kernel: Link = openLink({
    transport: far,
    encoding: 'json',
    name: 'the daemon',
    serve: () => kernel.call('ask', { prompt: 'Name: ' }),
  })
  assert.equal(await asker.call('evaluate', {}), { answer: 'Ada' })
})

test('a Refusal reaches the caller with its code and data, and any other error as fault', async () => {
  const [link] = linked({
    serve: async method => {
      if (method === 'refuse') throw new Refusal('busy', 'Later.', { queued: 3 })
      throw new TypeError('x is not a function')
    },
  })
  const refused = await faultOf(link.call('refuse', null))
  assert.is(refused.code, 'REMOTE_FAULT')
  assert.equal(refused.remote, { code: 'busy', message: 'Later.', data: { queued: 3 } })
  const fault = await faultOf(link.call('break', null))
  assert.equal(fault.remote, { code: 'fault', message: 'x is not a function', data: undefined })
  assert.match(fault.message, 'x is not a function')
})

test('a method of a link that serves nothing is unknown_method, and nothing without a result is null', async () => {
  const { peer } = linkWith({})
  peer.send({ type: 'call', id: 1, method: 'anything' })
  assert.is((await peer.next('fail')).error.code, 'unknown_method')
  const [link] = linked({ serve: async () => undefined })
  assert.is(await link.call('nothing', undefined), null)
})

test('params that cannot be sent reject the call and leave the link as it was', async () => {
  const [link] = linked({ serve: async (_, params) => params, limits: { messageBytes: 1_000 } })
  assert.is((await faultOf(link.call('m', 1n))).code, 'MESSAGE_INVALID')
  assert.is((await faultOf(link.call('m', 'x'.repeat(1_000)))).code, 'MESSAGE_TOO_LARGE')
  assert.is(await link.call('m', 'fine'), 'fine')
})

test('a result that cannot be sent is a fault of its call, and no silence', async () => {
  const results = new Map<string, unknown>([
    ['bigint', 1n],
    ['large', 'x'.repeat(1_000)],
    ['deep', Array.from({ length: 70 }).reduce<unknown>(inner => [inner], 0)],
  ])
  const [link] = linked({ serve: async method => results.get(method), limits: { messageBytes: 900 } })
  for (const method of results.keys())
    assert.is((await faultOf(link.call(method, null))).remote?.code, 'fault', method)
})

// Cancelling and giving up

test('an abort sends cancel, and the call still ends by its one answer', async () => {
  const aborted: boolean[] = []
  const serve: Serve = (_, __, { signal }) =>
    new Promise(resolve =>
      signal.addEventListener('abort', () => {
        aborted.push(signal.aborted)
        resolve('stopped in order')
      }),
    )
  const [link] = linked({ serve })
  const stop = new AbortController()
  const call = link.call('evaluate', null, { signal: stop.signal })
  await turn()
  stop.abort()
  assert.is(await call, 'stopped in order')
  assert.equal(aborted, [true])
})

test('a call that was aborted before it was sent is never sent', async () => {
  const { link, peer } = linkWith({ script: { m: ({ id }) => peer.answer(id, null) } })
  const fault = await faultOf(link.call('m', 1, { signal: AbortSignal.abort() }))
  assert.is(fault.remote?.code, 'cancelled')
  await link.call('m', 2)
  assert.equal(
    peer.received.map(one => one.type === 'call' && one.params),
    [2],
  )
})

test('an abort at the moment of completion leaves one answer and a link that works (fault 30)', async () => {
  let served = 0
  const serve: Serve = async (_, turns, { signal }) => {
    served++
    for (let left = Number(turns); left > 0 && !signal.aborted; left--) await turn()
    return signal.aborted ? 'cancelled' : 'done'
  }
  const [link] = linked({ serve })
  for (let round = 0; round < 300; round++) {
    const stop = new AbortController()
    const call = link.call('race', round % 4, { signal: stop.signal })
    for (let left = round % 7; left > 0; left--) await turn()
    stop.abort()
    assert.ok(['done', 'cancelled'].includes(String(await call)))
  }
  assert.is(served, 300)
  assert.is(await link.call('race', 0), 'done')
})

test('a cancel and a grant that come after the answer are ignored (fault 30)', async () => {
  const { link, peer } = linkWith({ serve: async () => 'done' })
  peer.send({ type: 'call', id: 1, method: 'm' })
  await peer.next('return')
  peer.send({ type: 'cancel', id: 1 }, { type: 'credit', id: 1, bytes: 10 })
  await link.ping(10_000)
  assert.is(peer.received.filter(one => one.type === 'return').length, 1)
})

test('after its deadline a call is UNRESPONSIVE and cancelled, and its late answer is ignored once', async () => {
  const { link, peer } = linkWith({})
  const fault = await faultOf(link.call('frozen', null, { deadlineMs: 10.4 }))
  assert.is(fault.code, 'UNRESPONSIVE')
  assert.match(fault.message, 'within 10 ms')
  const { id } = await peer.next('cancel')
  peer.event(id, 'late').answer(id, 'late')
  await link.ping(10_000)
  peer.answer(id, 'again')
  assert.is((await link.closed)?.code, 'PROTOCOL_BROKEN')
})

test('events of a call that was given up are still granted for, so that its server can end it', async () => {
  const limits = { creditBytes: 400 }
  const [link, server] = linked({
    limits,
    serve: async (_, __, call) => {
      await new Promise<void>(resolve => call.signal.addEventListener('abort', () => resolve()))
      for (let sent = 0; sent < 12; sent++) call.event('x'.repeat(20))
      return 'over'
    },
  })
  assert.is((await faultOf(link.call('m', null, { deadlineMs: 5 }))).code, 'UNRESPONSIVE')
  for (let round = 0; round < 5; round++) await link.ping(10_000)
  assert.is(server.queuedBytes, 0)
})

test('what a listener of events throws ends its call with that, cancels it, and harms nobody else', async () => {
  const { link, peer } = linkWith({
    script: { m: ({ id }) => peer.event(id, 1).event(id, 2), other: ({ id }) => peer.answer(id, 'fine') },
  })
  const heard: unknown[] = []
  const on = (event: unknown) => {
    heard.push(event)
    throw new RangeError('not that')
  }
  const error = await link.call('m', null, { on }).catch((one: unknown) => one)
  assert.instance(error, RangeError)
  await peer.next('cancel')
  assert.is(await link.call('other', null), 'fine')
  assert.equal(heard, [1])
})

test('a ping is answered, and one without an answer is UNRESPONSIVE while the link lives on', async () => {
  const { link, peer } = linkWith({ script: { m: ({ id }) => peer.answer(id, 1) } })
  await link.ping(10_000)
  peer.freeze()
  assert.is((await faultOf(link.ping(10))).code, 'UNRESPONSIVE')
  peer.thaw()
  assert.is(await link.call('m', null), 1)
})

test('more calls than may be pending fail with busy at both ends, and the others go on', async () => {
  const { link } = linkWith({ limits: { pendingCalls: 2 } })
  const pending = [link.call('m', 1), link.call('m', 2)].map(call => call.catch(() => {}))
  assert.is((await faultOf(link.call('m', 3))).remote?.code, 'busy')
  void link.close()
  await Promise.all(pending)

  const served = linkWith({ serve: never, limits: { pendingCalls: 2 } })
  for (const id of [1, 2, 3]) served.peer.send({ type: 'call', id, method: 'm' })
  const { id, error } = await served.peer.next('fail')
  assert.equal([id, error.code], [3, 'busy'])
  await served.link.ping(10_000)
})

test('a note arrives, and is not answered', async () => {
  const { link, peer, notes } = linkWith({})
  peer.send({ type: 'note', name: 'output', params: { text: 'hi' } }, { type: 'note', name: 'bare' })
  link.note('hello', [1])
  const note: Message = await peer.next('note')
  assert.equal(note, { type: 'note', name: 'hello', params: [1] })
  assert.equal(notes, [
    ['output', { text: 'hi' }],
    ['bare', null],
  ])
})

const inOrder = suite('link order')

/** A link with a peer that reads nothing until it is thawed. */
function slowReader(options: { limits?: Partial<Limits>; serve?: Serve }): { link: Link; peer: FakePeer } {
  const { link, peer } = linkWith(options)
  return { link, peer: peer.freeze() }
}

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

inOrder('a ping passes between the chunks of a large answer', async () => {
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

inOrder('a small answer passes a large one of another call', async () => {
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

inOrder('an answer does not pass a large event of its own call, nor a later event', async () => {
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

inOrder(
  'calls arrive in the order of their numbers, and a cancel after its call, whatever their size',
  async () => {
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
  },
)

inOrder('notes arrive in order, whatever their size', async () => {
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

inOrder('events cost their bodies, are held without credit, and go on when it is granted', async () => {
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

inOrder('events beyond what is held are dropped, and event() says so each time', async () => {
  const text = 'x'.repeat(50)
  const { peer, link, begun } = oneCall({ creditBytes: 3 * sizeOf(text) })
  const call = await begun
  const outcomes = Array.from({ length: 10 }, () => call.event(text))
  assert.is(outcomes.filter(one => one === 'sent').length, 6)
  assert.equal(outcomes.slice(6), ['dropped', 'dropped', 'dropped', 'dropped'])
  await link.ping(10_000)
  assert.is(peer.received.filter(one => one.type === 'event').length, 3)
})

inOrder('an answer waits behind the events that are held for its call', async () => {
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

inOrder(
  'the caller grants what it has heard, before the server runs dry, and not for each event',
  async () => {
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
  },
)

// Slow readers

inOrder('a call that dropped an event is told once when its caller reads again, and not before', async () => {
  const { peer, begun } = oneCall({ sendHighBytes: 100_000, creditBytes: 200_000 })
  const call = await begun
  peer.freeze()
  while (call.event('x'.repeat(1_000)) === 'sent');
  let times = 0
  call.whenRead(() => times++)
  await turn()
  assert.is(times, 0)
  peer.thaw()
  while (times === 0) {
    await turn()
    peer.send({ type: 'credit', id: 1, bytes: 100_000 })
  }
  await turn()
  assert.equal([times, call.event('again')], [1, 'sent'])
})

inOrder(
  'a reader that stops costs bounded memory, and later hears what was kept, in order (fault 23)',
  async () => {
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
  },
)

inOrder('a reader that grants nothing costs as little where its events are tiny (fault 23)', async () => {
  const { begun } = oneCall({ creditBytes: 1_000_000 })
  const call = await begun
  call.event('x'.repeat(1_000_000))
  const kept = Array.from({ length: 100_000 }, () => call.event(0)).filter(one => one === 'sent')
  assert.is(kept.length, 4_096)
})

inOrder('a reader that grants nothing to 100 calls costs no more than 16 of them (fault 23)', async () => {
  const calls: ServedCall[] = []
  const serve: Serve = (_, __, call) => {
    calls.push(call)
    return never()
  }
  const { link, peer } = linkWith({ limits: { creditBytes: 10_000 }, serve })
  for (let id = 1; id <= 100; id++) heldCall(peer, id)
  while (calls.length < 100) await turn()
  for (const call of calls) call.event('x'.repeat(10_000))
  while (link.queuedBytes > 0) await turn()
  for (const call of calls) while (call.event('x'.repeat(500)) === 'sent');
  assert.ok(link.queuedBytes > 0)
  assert.ok(link.queuedBytes <= 16 * 10_000, `${link.queuedBytes} bytes are held`)
})

const aboutSignals = suite('signal')

aboutSignals('whoever no longer listens is not told, even where that was decided while others were', () => {
  const signal = new LightSignal()
  const heard: string[] = []
  const late = () => void heard.push('late')
  const gone = () => void heard.push('gone')
  signal.addEventListener('abort', () => signal.removeEventListener('abort', late))
  signal.addEventListener('abort', late)
  signal.addEventListener('abort', gone)
  signal.removeEventListener('abort', gone)
  signal.abort()
  signal.addEventListener('abort', late)
  assert.equal(heard, [])
})
