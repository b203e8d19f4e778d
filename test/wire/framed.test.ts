import type { SuspensionNews } from '../../wire/kernel.ts'
import type { FramedKernel } from '../../wire/kernels/framed.ts'
import { FAKE_HELLO, type FakePeer, type Script } from '../support/fake-peer.ts'
import { suspendedAs } from '../support/fake-suspensions.ts'
import { closePairs, comeBack, DONE, pair, until } from '../support/framed-pair.ts'
import { assert, suite } from '../support/harness.ts'
import { codeOf, evaluate, newCall } from '../support/heard.ts'

const test = suite('kernel over a framed link')
test.after.each(closePairs)

const LOOK = { deadlineMs: 300 }
const QUICK = { quietMs: 30, pongMs: 40, againMs: 10 }
const TYPE = { name: 'int', module: 'builtins', qualified: 'builtins.int' }

test('an answer of the wrong form is MESSAGE_INVALID, and the kernel goes on', async () => {
  const { kernel, peer } = await pair()
  const answer = async (given: unknown) => {
    const { result } = evaluate(kernel, '1')
    peer.answer((await peer.next('call')).id, given)
    return result
  }
  for (const wrong of [
    null,
    { values: [] },
    { type: 'finished' },
    { type: 'done', values: [{ repr: 'x', type: TYPE }], elapsed_ms: 1 },
    { type: 'raised', exception: { message: 'x' }, elapsed_ms: 1 },
  ])
    assert.is(await codeOf(answer(wrong)), 'MESSAGE_INVALID')
  assert.equal(await answer(DONE), DONE)
})

test('looks with an answer of the wrong form are MESSAGE_INVALID, and what a newer peer adds is left out', async () => {
  const script: Script = {
    globals: ({ id }, peer) => peer.answer(id, { type: 'found', value: { globals: 'all' } }),
    inspect: ({ id }, peer) =>
      peer.answer(id, {
        type: 'found',
        value: { type: TYPE, kind: 'number', limits: {}, aura: 'blue' },
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
  assert.equal(await kernel.look('inspect', { expr: 'x' }, LOOK), {
    type: 'found',
    value: { type: TYPE, kind: 'number', limits: {} },
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

test('a look ends at its deadline, and the peer is told a shorter one', async () => {
  const { kernel, peer } = await pair()
  const look = kernel.look('inspect', { expr: 'x' }, { deadlineMs: 50 })
  const call = await peer.next('call')
  assert.equal(call.params, { expr: 'x', deadline_ms: 40 })
  assert.is(await codeOf(look), 'UNRESPONSIVE')
  assert.is((await peer.next('cancel')).id, call.id)
  peer.answer(call.id, { type: 'timed_out', deadline_ms: 40 })
  const again = kernel.look('inspect', { expr: 'x' }, { deadlineMs: 5_000 })
  peer.answer((await peer.next('call')).id, { type: 'timed_out', deadline_ms: 4_900 })
  assert.equal(await again, { type: 'timed_out', deadline_ms: 5_000 })
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

test('each note of news is heard by those alone who watch for its kind', async () => {
  const { kernel, peer } = await pair()
  const heard: string[] = []
  const forget = kernel.watchNews('traces', () => heard.push('traces'))
  kernel.watchNews('errors', () => heard.push('errors'))
  const note = (name: string) => peer.send({ type: 'note', name, params: {} })
  for (const name of ['traces', 'tracings', 'errors', 'traces']) note(name)
  await until(() => heard.length === 3)
  forget()
  for (const name of ['traces', 'errors']) note(name)
  await until(() => heard.length === 4)
  assert.equal(heard, ['traces', 'errors', 'traces', 'errors'])
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

const ofBreaks = suite('breaks of a framed link')
ofBreaks.after.each(closePairs)

ofBreaks('a peer that dies settles everything with LINK_CLOSED', async () => {
  const { kernel, peer } = await pair()
  const heard = [evaluate(kernel, '1'), evaluate(kernel, '2')]
  const look = codeOf(kernel.look('globals', { modules: false, limit: 1 }, { deadlineMs: 5_000 }))
  await peer.next('call')
  peer.die()
  for (const { result } of heard) assert.is(await codeOf(result), 'LINK_CLOSED')
  assert.is(await look, 'LINK_CLOSED')
  assert.is((await kernel.ended).reason, 'lost')
  assert.is(await codeOf(evaluate(kernel, '3').result), 'LINK_CLOSED')
})

ofBreaks('after a break, evaluations are recalled by name and never sent again', async () => {
  const { kernel, peer } = await pair({ rejoinMs: 5_000 })
  const heard = evaluate(kernel, 'launch()')
  const { id } = await peer.next('call')
  peer.event(id, { type: 'output', stream: 'stdout', text: 'before ' })
  await until(() => heard.text() !== '')
  peer.die()
  const { peer: back } = await comeBack(kernel)
  const recall = await back.next('call')
  assert.is(recall.method, 'recall')
  assert.equal(recall.params, { call: heard.call })
  back.event(recall.id, { type: 'output', stream: 'stdout', text: 'after' }).answer(recall.id, DONE)
  assert.equal(await heard.result, DONE)
  assert.is(heard.text(), 'before after')
  assert.is(back.received.filter(message => message.type === 'call').length, 1)
})

ofBreaks('an evaluation that the peer does not know after a break has an unknown outcome', async () => {
  const { kernel, peer } = await pair({ rejoinMs: 5_000 })
  const heard = evaluate(kernel, 'launch()')
  await peer.next('call')
  peer.die()
  const { peer: back } = await comeBack(kernel, {
    script: { recall: ({ id }, one) => one.fail(id, 'unknown_call') },
  })
  assert.is(await codeOf(heard.result), 'LINK_CLOSED')
  assert.is(kernel.health, 'responsive')
  const next = evaluate(kernel, '2')
  await until(() => back.received.some(message => message.type === 'call' && message.method === 'evaluate'))
  back.answer(2, DONE)
  assert.equal(await next.result, DONE)
})

ofBreaks('a peer that comes back has news of tracepoints, which have ended with its link', async () => {
  const { kernel, peer } = await pair({ rejoinMs: 5_000 })
  let news = 0
  kernel.watchNews('traces', () => news++)
  peer.die()
  await kernel.disconnected()
  assert.is(news, 0)
  await comeBack(kernel)
  await until(() => news === 1)
})

ofBreaks('an abort during a break reaches the evaluation after it', async () => {
  const { kernel, peer } = await pair({ rejoinMs: 5_000 })
  const abort = new AbortController()
  const heard = evaluate(kernel, 'launch()', { signal: abort.signal })
  await peer.next('call')
  peer.die()
  await kernel.disconnected()
  abort.abort()
  const { peer: back } = await comeBack(kernel)
  const recall = await back.next('call')
  assert.is((await back.next('cancel')).id, recall.id)
  back.answer(recall.id, { type: 'interrupted', elapsed_ms: 1 })
  assert.is((await heard.result).type, 'interrupted')
})

ofBreaks('calls that are made during a break wait for its end, and looks for their deadline', async () => {
  const { kernel, peer } = await pair({ rejoinMs: 5_000 })
  peer.die()
  await kernel.disconnected()
  assert.is(await codeOf(kernel.status({ deadlineMs: 20 })), 'UNRESPONSIVE')
  const heard = evaluate(kernel, '1')
  const { peer: back } = await comeBack(kernel)
  const call = await back.next('call')
  assert.is(call.method, 'evaluate')
  back.answer(call.id, DONE)
  assert.equal(await heard.result, DONE)
})

ofBreaks('a peer that does not come back in time is lost, with all that is pending', async () => {
  const { kernel, peer } = await pair({ rejoinMs: 30 })
  const heard = evaluate(kernel, '1')
  await peer.next('call')
  peer.die()
  assert.is(await codeOf(heard.result), 'LINK_CLOSED')
  const end = await kernel.ended
  assert.is(end.reason, 'lost')
  assert.match(end.message, 'did not come back')
})

ofBreaks('another image, or another secret, does not take the place of the peer', async () => {
  const { kernel, peer } = await pair({ rejoinMs: 5_000 })
  const stranger = await comeBack(kernel, { hello: { epoch: 'deadbeef' } })
  await stranger.rejoining
  await stranger.peer.ended
  await comeBack(kernel, { secret: '00'.repeat(32) }).then(
    () => assert.unreachable('it was let in'),
    () => {},
  )
  const heard = evaluate(kernel, '1')
  peer.answer((await peer.next('call')).id, DONE)
  assert.equal(await heard.result, DONE)
})

ofBreaks('a peer that comes back before its old line is known to be broken takes it over', async () => {
  const { kernel, peer } = await pair({ rejoinMs: 5_000 })
  const heard = evaluate(kernel, '1')
  await peer.next('call')
  const { peer: back } = await comeBack(kernel, { script: { recall: ({ id }, one) => one.answer(id, DONE) } })
  assert.equal(await heard.result, DONE)
  await peer.ended
  assert.is(back.received.length > 0, true)
})

const ofSuspensions = suite('suspensions over a framed link')
ofSuspensions.after.each(closePairs)

const IN_TIME = { deadlineMs: 5_000 }
const hello = { abilities: [...FAKE_HELLO.abilities, 'suspend', 'hold', 'suspensions'] }
const note = (id: string, how = 'resumed') => ({
  type: 'note',
  name: 'suspension',
  params: { id, how, message: 'It has ended.' },
})

function newsOf(kernel: FramedKernel): string[] {
  const told: string[] = []
  const as = (news: SuspensionNews) =>
    news.type === 'suspended' ? `suspended ${news.suspension.id}` : `${news.id} ${news.how}`
  kernel.watchSuspensions(news => told.push(as(news)))
  return told
}

async function suspend({ kernel, peer }: { kernel: FramedKernel; peer: FakePeer }, id: string) {
  const heard = evaluate(kernel, 'ship()')
  peer.answer((await peer.next('call')).id, suspendedAs(id))
  assert.is((await heard.result).type, 'suspended')
  return heard
}

/** Waits until all that the peer has sent has been taken in: an answer comes after it. */
async function takenIn({ kernel, peer }: { kernel: FramedKernel; peer: FakePeer }): Promise<void> {
  const asked = kernel.status(IN_TIME)
  peer.answer((await peer.next('call')).id, { running: null, queued: 0 })
  await asked
}

ofSuspensions(
  'work is sent under the names of docs/wire.md, and only a peer that can is asked to suspend',
  async () => {
    const { kernel, peer } = await pair({ hello })
    const plain = await pair()
    const suspending = { hold: true }
    const sent = async (one: { kernel: FramedKernel; peer: FakePeer }, work: object) => {
      const asked = one.kernel.evaluate(
        { call: newCall(), who: 'test', work: work as never, suspend: suspending },
        {},
      )
      const { id, params } = await one.peer.next('call')
      one.peer.answer(id, DONE)
      await asked
      const { call: _call, who: _who, ...rest } = params as Record<string, unknown>
      return rest
    }
    const suspendedFor = { suspend: { hold: true } }
    assert.equal(await sent({ kernel, peer }, { type: 'source', source: '1' }), {
      source: '1',
      ...suspendedFor,
    })
    assert.equal(
      await sent({ kernel, peer }, { type: 'frame', suspension: 's1@ab', frame: 2, source: 'x' }),
      {
        suspension: 's1@ab',
        frame: 2,
        source: 'x',
        ...suspendedFor,
      },
    )
    const way = { type: 'restart', restart: 1, value: '42' }
    assert.equal(await sent({ kernel, peer }, { type: 'resume', suspension: 's1@ab', way }), {
      resume: 's1@ab',
      way: 'restart',
      restart: 1,
      value: '42',
      ...suspendedFor,
    })
    assert.equal(await sent(plain, { type: 'source', source: '1' }), { source: '1' })
  },
)

ofSuspensions('a suspension is told of once, and its end once, in whatever order they come', async () => {
  const one = await pair({ hello })
  const { kernel, peer } = one
  const news = newsOf(kernel)
  const heard = await suspend(one, 's1@ab')
  assert.is((await kernel.interrupt(heard.call)).outcome, 'not_running')
  peer.send(note('s1@ab'), note('s1@ab', 'lost'), { ...note('s9@ab'), params: { id: 7 } })
  // Both in one piece: the end is read before whoever asked has gone on.
  const second = evaluate(kernel, 'ship()')
  const { id } = await peer.next('call')
  peer.send({ type: 'return', id, result: suspendedAs('s2@ab') }, note('s2@ab', 'left'))
  await second.result
  await takenIn(one)
  assert.equal(news, ['suspended s1@ab', 's1@ab resumed', 'suspended s2@ab', 's2@ab left'])
})

ofSuspensions('all that is suspended is lost with its image, and told so once', async () => {
  const one = await pair({ hello })
  const news = newsOf(one.kernel)
  await suspend(one, 's1@ab')
  await suspend(one, 's2@ab')
  one.peer.die()
  await one.kernel.ended
  await one.kernel.close()
  assert.equal(news.slice(2), ['s1@ab lost', 's2@ab lost'])
})

ofSuspensions(
  'after a break all is suspended as before, until the peer says that it ended (fault 16)',
  async () => {
    const one = await pair({ hello, rejoinMs: 5_000 })
    const { kernel } = one
    const news = newsOf(kernel)
    await suspend(one, 's1@ab')
    await suspend(one, 's2@ab')
    one.peer.die()
    const { peer } = await comeBack(kernel, { hello })
    assert.equal(news.slice(2), [])
    peer.send(note('s2@ab', 'left'))
    await until(() => news.length > 2)
    assert.equal(news.slice(2), ['s2@ab left'])
  },
)

ofSuspensions(
  'one that is adopted is told of, too, and a suspension that is none is MESSAGE_INVALID',
  async () => {
    const { kernel, peer } = await pair({ hello })
    const news = newsOf(kernel)
    const adopting = kernel.look('adopt', { id: 'sys.last_exc' }, IN_TIME)
    peer.answer((await peer.next('call')).id, { type: 'found', value: suspendedAs('s4@ab').suspension })
    assert.is((await adopting).type, 'found')
    const heard = evaluate(kernel, 'ship()')
    peer.answer((await peer.next('call')).id, { type: 'suspended', elapsed_ms: 1 })
    assert.is(await codeOf(heard.result), 'MESSAGE_INVALID')
    peer.send(note('s4@ab', 'left'))
    await until(() => news.length > 1)
    assert.equal(news, ['suspended s4@ab', 's4@ab left'])
  },
)
