import { framedKernel } from '../../wire/kernels/framed.ts'
import { fakeKernelPeer, type Script } from '../support/fake-peer.ts'
import { closePairs, DONE, pair, SECRET, until, wires } from '../support/framed-pair.ts'
import { assert, suite } from '../support/harness.ts'
import { codeOf, evaluate, newCall } from '../support/heard.ts'

const test = suite('kernel over a framed link')
test.after.each(closePairs)

const LOOK = { deadlineMs: 300 }
const QUICK = { quietMs: 30, pongMs: 40, againMs: 10 }
const TYPE = { name: 'int', module: 'builtins', qualified: 'builtins.int' }

const HOSTILE_ANSWERS: readonly [string, unknown][] = [
  ['null', null],
  ['a text', 'done'],
  ['no type', { values: [] }],
  ['an unknown type', { type: 'finished' }],
  ['a value without a repr', { type: 'done', values: [{ type: TYPE }], elapsed_ms: 1 }],
  ['a repr that is no text', { type: 'done', values: [{ repr: 'x', type: TYPE }], elapsed_ms: 1 }],
  ['a bad exception', { type: 'raised', exception: { message: 'x' }, elapsed_ms: 1 }],
]

for (const [what, answer] of HOSTILE_ANSWERS) {
  test(`an answer that is ${what} is MESSAGE_INVALID, and the kernel goes on`, async () => {
    const { kernel, peer } = await pair()
    const heard = evaluate(kernel, '1')
    peer.answer((await peer.next('call')).id, answer)
    assert.is(await codeOf(heard.result), 'MESSAGE_INVALID')
    const next = evaluate(kernel, '1')
    peer.answer((await peer.next('call')).id, DONE)
    assert.equal(await next.result, DONE)
  })
}

test('looks with an answer of the wrong form are MESSAGE_INVALID, and what a newer peer adds is left out', async () => {
  const script: Script = {
    globals: ({ id }, peer) => peer.answer(id, { type: 'found', value: { globals: 'all' } }),
    inspect: ({ id }, peer) =>
      peer.answer(id, {
        type: 'found',
        value: { type: TYPE, kind: 'number', read: 'static', limits: {}, aura: 'blue' },
      }),
    more: ({ id }, peer) => peer.answer(id, { type: 'found', value: { type: 'bytes' } }),
    status: ({ id }, peer) => peer.answer(id, { running: false, queued: 0 }),
    interrupt: ({ id }, peer) => peer.answer(id, { outcome: 'probably' }),
  }
  const { kernel } = await pair({ script })
  assert.is(await codeOf(kernel.look('globals', { modules: false, limit: 1 }, LOOK)), 'MESSAGE_INVALID')
  assert.is(
    await codeOf(kernel.look('more', { handle: '@0badc.1', from: 0, count: 1 }, LOOK)),
    'MESSAGE_INVALID',
  )
  assert.is(await codeOf(kernel.status(LOOK)), 'MESSAGE_INVALID')
  assert.is(await codeOf(kernel.interrupt(newCall())), 'MESSAGE_INVALID')
  assert.equal(await kernel.look('inspect', { expr: 'x', evaluate: false }, LOOK), {
    type: 'found',
    value: { type: TYPE, kind: 'number', read: 'static', limits: {} },
  })
})

test('an event that is none makes its evaluation MESSAGE_INVALID, once that has ended, and no other', async () => {
  const { kernel, peer } = await pair()
  const heard = evaluate(kernel, '1')
  const { id } = await peer.next('call')
  peer.event(id, { type: 'output', stream: 'stdout', text: 'a' }).event(id, { type: 'output', text: 7 })
  peer.event(id, { type: 'output', stream: 'stdout', text: 'b' }).answer(id, DONE)
  assert.is(await codeOf(heard.result), 'MESSAGE_INVALID')
  assert.is(heard.text(), 'ab')
  assert.is(
    peer.received.some(message => message.type === 'cancel'),
    false,
  )
})

test('a peer that answers one call twice is cut off, and everything pending is LINK_CLOSED', async () => {
  const { kernel, peer } = await pair()
  const first = evaluate(kernel, '1')
  const second = evaluate(kernel, '2')
  const { id } = await peer.next('call')
  peer.answer(id, DONE).answer(id, DONE)
  assert.equal(await first.result, DONE)
  assert.is(await codeOf(second.result), 'LINK_CLOSED')
  const end = await kernel.ended
  assert.is(end.reason, 'lost')
  assert.match(end.message, 'had its answer already')
  assert.is(kernel.health, 'ended')
})

test('a peer that goes on about a call that it has answered is cut off', async () => {
  const { kernel, peer } = await pair()
  const first = evaluate(kernel, '1')
  const second = evaluate(kernel, '2')
  const { id } = await peer.next('call')
  peer.answer(id, DONE).event(id, { type: 'output', stream: 'stdout', text: 'late' })
  assert.equal(await first.result, DONE)
  assert.is(await codeOf(second.result), 'LINK_CLOSED')
  assert.is(first.text(), '')
})

test('a peer that freezes with something pending becomes unresponsive, and responsive when it wakes up', async () => {
  const { kernel, peer } = await pair({ pulse: QUICK })
  const seen: string[] = []
  kernel.watchHealth(health => seen.push(health))
  const heard = evaluate(kernel, '1')
  const { id } = await peer.next('call')
  peer.freeze()
  await until(() => kernel.health === 'unresponsive')
  assert.is(await codeOf(evaluate(kernel, '2').result), 'UNRESPONSIVE')
  assert.is(await codeOf(kernel.look('globals', { modules: false, limit: 1 }, LOOK)), 'UNRESPONSIVE')
  peer.thaw()
  await until(() => kernel.health === 'responsive')
  peer.answer(id, DONE)
  assert.equal(await heard.result, DONE)
  assert.equal(seen, ['unresponsive', 'responsive'])
  const sources = peer.received.filter(message => message.type === 'call' && message.method === 'evaluate')
  assert.is(sources.length, 1)
})

test('a silent peer is asked once, and not again while it is silent', async () => {
  const { kernel, peer } = await pair({ pulse: QUICK })
  evaluate(kernel, '1')
  await peer.next('call')
  peer.freeze()
  await until(() => kernel.health === 'unresponsive')
  await new Promise(resolve => setTimeout(resolve, 150))
  peer.thaw()
  await until(() => kernel.health === 'responsive')
  assert.is(peer.received.filter(message => message.type === 'ping').length, 1)
})

test('nothing is sent to a peer while nothing is pending', async () => {
  const { kernel, peer } = await pair({ pulse: QUICK })
  const heard = evaluate(kernel, '1')
  peer.answer((await peer.next('call')).id, DONE)
  await heard.result
  await new Promise(resolve => setTimeout(resolve, 200))
  const before = peer.received.length
  await new Promise(resolve => setTimeout(resolve, 200))
  assert.is(peer.received.length, before)
  assert.is(kernel.health, 'responsive')
})

test('a look ends at its deadline, and the peer is told a shorter one', async () => {
  const { kernel, peer } = await pair()
  const look = kernel.look('inspect', { expr: 'x', evaluate: false }, { deadlineMs: 50 })
  const call = await peer.next('call')
  assert.equal(call.params, { expr: 'x', evaluate: false, deadline_ms: 40 })
  assert.is(await codeOf(look), 'UNRESPONSIVE')
  assert.is((await peer.next('cancel')).id, call.id)
  peer.answer(call.id, { type: 'timed_out', deadline_ms: 40 })
  const again = kernel.look('inspect', { expr: 'x', evaluate: false }, { deadlineMs: 5_000 })
  peer.answer((await peer.next('call')).id, { type: 'timed_out', deadline_ms: 4_900 })
  assert.equal(await again, { type: 'timed_out', deadline_ms: 5_000 })
})

test('a look whose code was stopped at a deadline of the peer says that one', async () => {
  const { kernel, peer } = await pair()
  const look = kernel.look('inspect', { expr: 'slow()', evaluate: true }, { deadlineMs: 5_000 })
  peer.answer((await peer.next('call')).id, { type: 'timed_out', deadline_ms: 1_000 })
  assert.equal(await look, { type: 'timed_out', deadline_ms: 1_000 })
})

test('an interrupt that a silent peer has not answered is still_running, and was asked', async () => {
  const { kernel, peer } = await pair({ pulse: QUICK, interruptMs: 50 })
  const heard = evaluate(kernel, '1')
  await peer.next('call')
  peer.freeze()
  const report = await kernel.interrupt(heard.call)
  assert.is(report.outcome, 'still_running')
  assert.match(report.message, 'takes effect once it answers again')
  peer.thaw()
  assert.equal((await peer.next('call')).params, { call: heard.call })
})

test('the message of a look that was not answered counts whole milliseconds', async () => {
  const { kernel } = await pair()
  const fault = await kernel.status({ deadlineMs: 20 }).catch((error: unknown) => error)
  assert.match(String(fault), /within \d+ ms/)
})

test('a queue that is full at the peer is BUSY too', async () => {
  const { kernel } = await pair({ script: { evaluate: ({ id }, peer) => peer.fail(id, 'busy') } })
  assert.is(await codeOf(evaluate(kernel, '1').result), 'BUSY')
})

test('what a peer asks is refused unless it is a question of an evaluation that somebody answers', async () => {
  const { kernel, peer } = await pair()
  const heard = evaluate(kernel, 'input()', { ask: async () => 'yes' })
  const { id } = await peer.next('call')
  const question = { type: 'stdin', prompt: '', secret: false }
  const calls = [
    { method: 'ask', params: { call: heard.call, question } },
    { method: 'ask', params: { call: 'another', question } },
    { method: 'ask', params: { call: heard.call } },
    { method: 'open', params: { path: '/etc/passwd' } },
  ]
  peer.send(...calls.map((call, index) => ({ type: 'call', id: index + 1, ...call })))
  assert.equal((await peer.next('return')).result, { answer: 'yes' })
  const failures = await Promise.all([peer.next('fail'), peer.next('fail'), peer.next('fail')])
  assert.equal(
    failures.sort((one, other) => one.id - other.id).map(({ error }) => error.code),
    ['unknown_call', 'invalid_params', 'unknown_method'],
  )
  peer.answer(id, DONE)
  await heard.result
})

test('output outside of evaluations goes to the background, and notes that are not understood do nothing', async () => {
  const background: string[] = []
  const { peer } = await pair({ background: (stream, text) => background.push(`${stream} ${text}`) })
  peer.send({ type: 'note', name: 'output', params: { stream: 'stderr', text: 'late' } })
  peer.send({ type: 'note', name: 'output', params: { stream: 'nowhere', text: 'x' } })
  peer.send({ type: 'note', name: 'gossip', params: null })
  await until(() => background.length > 0)
  assert.equal(background, ['stderr late'])
})

test('news of a script are heard, and what is not understood of them changes nothing', async () => {
  const heard: unknown[] = []
  const { peer } = await pair({ scripted: news => heard.push(news) })
  const note = (params: unknown) => peer.send({ type: 'note', name: 'script', params })
  note({ state: 'dancing', message: null })
  note(null)
  note({ state: 'running', newer: true })
  note({ state: 'failed', message: 'x'.repeat(100_000) })
  await until(() => heard.length > 1)
  assert.equal(heard, [
    { state: 'running', message: null },
    { state: 'failed', message: 'x'.repeat(4_096) },
  ])
})

test('a peer with the wrong secret, or another version, is no kernel', async () => {
  const refusal = async (options: { secret?: string; hello?: Record<string, unknown> }) => {
    const [near, far] = await wires()
    const kernel = codeOf(framedKernel({ name: 'python', transport: near, secret: SECRET }))
    await fakeKernelPeer(far, { secret: SECRET, ...options }).catch(() => {})
    return kernel
  }
  assert.is(await refusal({ secret: '00'.repeat(32) }), 'NOT_AUTHENTICATED')
  assert.is(await refusal({ hello: { protocol: 2 } }), 'VERSION_MISMATCH')
  assert.is(await refusal({ hello: { epoch: 'BAD' } }), 'MESSAGE_INVALID')
})
