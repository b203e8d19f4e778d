import { duplexPair } from 'node:stream'
import fc from 'fast-check'
import type { Encoding, Limits, Message } from '../../wire/codec/messages.ts'
import { type Link, openLink, Refusal, type Serve } from '../../wire/link/link.ts'
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
  test(`a call is answered with what its server returns, in ${encoding}`, async () => {
    const [link] = linked({ encoding, serve: async (method, params) => ({ method, params }) })
    assert.equal(await link.call('echo', { text: 'é💥' }), { method: 'echo', params: { text: 'é💥' } })
  })

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

test('a slow call does not hold up a quick one that came later', async () => {
  const finish: (() => void)[] = []
  const serve: Serve = async method => {
    if (method === 'slow') await new Promise<void>(resolve => finish.push(resolve))
    return method
  }
  const [link] = linked({ serve })
  const order: unknown[] = []
  const slow = link.call('slow', null).then(result => order.push(result))
  await link.call('quick', null).then(result => order.push(result))
  for (const one of finish) one()
  await slow
  assert.equal(order, ['quick', 'slow'])
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

test('a call within its deadline is not touched by it', async () => {
  const { link, peer } = linkWith({ script: { m: ({ id }) => peer.answer(id, 'yes') } })
  assert.is(await link.call('m', null, { deadlineMs: 10_000 }), 'yes')
  assert.not(peer.received.some(one => one.type === 'cancel'))
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

test('a frame that comes is heard, also if it is only an event', async () => {
  const { link, peer } = linkWith({ script: { m: ({ id }) => peer.event(id, 1) } })
  const before = link.lastHeard
  await turn()
  await new Promise<void>(resolve => void link.call('m', null, { on: () => resolve() }).catch(() => {}))
  assert.ok(link.lastHeard > before)
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

const aboutSignals = suite('signal')

aboutSignals('an abort tells each listener once, in the order in which they were added', () => {
  const signal = new LightSignal()
  const heard: string[] = []
  const first = () => void heard.push('first')
  signal.addEventListener('abort', first)
  signal.addEventListener('abort', first)
  signal.addEventListener('abort', () => heard.push('second'))
  assert.is(signal.aborted, false)
  assert.is(signal.reason, undefined)
  signal.abort('because')
  signal.abort('again')
  assert.equal(heard, ['first', 'second'])
  assert.is(signal.aborted, true)
  assert.is(signal.reason, 'because')
})

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

aboutSignals('without a reason it is aborted as an AbortController would', () => {
  const signal = new LightSignal()
  signal.abort()
  assert.instance(signal.reason, DOMException)
  assert.is((signal.reason as DOMException).name, 'AbortError')
})
