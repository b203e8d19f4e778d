import { closePairs, comeBack, DONE, pair, until } from '../support/framed-pair.ts'
import { assert, suite } from '../support/harness.ts'
import { codeOf, evaluate } from '../support/heard.ts'

const test = suite('breaks of a framed link')
test.after.each(closePairs)

test('a peer that dies settles everything with LINK_CLOSED', async () => {
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

test('after a break, evaluations are recalled by name and never sent again', async () => {
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

test('an evaluation that the peer does not know after a break has an unknown outcome', async () => {
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

test('an abort during a break reaches the evaluation after it', async () => {
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

test('calls that are made during a break wait for its end, and looks for their deadline', async () => {
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

test('a peer that does not come back in time is lost, with all that is pending', async () => {
  const { kernel, peer } = await pair({ rejoinMs: 30 })
  const heard = evaluate(kernel, '1')
  await peer.next('call')
  peer.die()
  assert.is(await codeOf(heard.result), 'LINK_CLOSED')
  const end = await kernel.ended
  assert.is(end.reason, 'lost')
  assert.match(end.message, 'did not come back')
})

test('another image, or another secret, does not take the place of the peer', async () => {
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

test('a peer that comes back before its old line is known to be broken takes it over', async () => {
  const { kernel, peer } = await pair({ rejoinMs: 5_000 })
  const heard = evaluate(kernel, '1')
  await peer.next('call')
  const { peer: back } = await comeBack(kernel, { script: { recall: ({ id }, one) => one.answer(id, DONE) } })
  assert.equal(await heard.result, DONE)
  await peer.ended
  assert.is(back.received.length > 0, true)
})
