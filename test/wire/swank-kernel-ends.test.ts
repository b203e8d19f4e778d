import type { KernelEnd } from '../../wire/kernel.ts'
import type { Rex } from '../support/fake-swank.ts'
import { assert, suite } from '../support/harness.ts'
import { codeOf, evaluate } from '../support/heard.ts'
import { DONE, endImages, given, PAGE, playImage, takenIn } from '../support/played-image.ts'

/** What the adapter says of an image that is late, silent, deaf or gone: a server that is played by a script. */
const test = suite('a Lisp image that is late or gone')
test.after.each(endImages)

const LOOK = { deadlineMs: 2_000 }

test('a look that is answered too late has timed out, and one of an image that is silent is UNRESPONSIVE', async () => {
  const { kernel, image } = await playImage()
  assert.equal(await kernel.look('globals', PAGE, LOOK), { type: 'timed_out', deadline_ms: 2_000 })
  const asked = await image.called('peer:globals')
  assert.ok(Number(asked.given.deadline_ms) < 2_000 && Number(asked.given.deadline_ms) > 1_000)
  image.json(asked.id, { type: 'timed_out', deadline_ms: 1_900 })
  const told = kernel.look('globals', PAGE, LOOK)
  const { id, given: query } = await image.called('peer:globals')
  image.json(id, { type: 'timed_out', deadline_ms: Number(query.deadline_ms) })
  assert.equal(await told, { type: 'timed_out', deadline_ms: 2_000 })
  image.freeze()
  assert.is(await codeOf(kernel.look('globals', PAGE, LOOK)), 'UNRESPONSIVE')
})

test('a look that is withdrawn throws the reason, and its answer is for nobody', async () => {
  const { kernel, image } = await playImage()
  const withdrawn = new AbortController()
  const look = kernel
    .look('globals', PAGE, { deadlineMs: 5_000, signal: withdrawn.signal })
    .catch(error => error)
  const { id } = await image.called('peer:globals')
  const reason = new Error('no more')
  withdrawn.abort(reason)
  assert.is(await look, reason)
  image.json(id, 'late')
  await takenIn({ kernel, image })
})

test('code that runs to look takes the place of an evaluation, and is told to stop when its time is over', async () => {
  const { kernel, image } = await playImage()
  const looking = kernel.look('inspect', { expr: '(loop)', evaluate: true }, LOOK)
  const { id, given: query } = await image.called('peer:inspect')
  const next = evaluate(kernel, '1')
  assert.is((await looking).type, 'timed_out')
  const stopped = await image.called('peer:interrupt')
  assert.equal([stopped.given.call, stopped.given.how], [query.call, { text: 'leave' }])
  await takenIn({ kernel, image })
  assert.is((await kernel.status(LOOK)).running, null)
  image.json(id, { type: 'timed_out', deadline_ms: 1_900 })
  const { rex } = await given(image)
  const busy = await kernel.look('inspect', { expr: '(f)', evaluate: true }, LOOK)
  assert.is(busy.type === 'busy' && busy.call, next.call)
  image.json(rex.id, DONE)
  await next.result
})

test('of looks that run code one runs at a time; one whose time is over before its turn is not begun', async () => {
  const { kernel, image } = await playImage()
  const inspect = (expr: string, look = LOOK) => kernel.look('inspect', { expr, evaluate: true }, look)
  const first = inspect('(one)', { deadlineMs: 10_000 })
  const { id } = await image.called('peer:inspect')
  assert.equal(await inspect('(two)', { deadlineMs: 50 }), { type: 'timed_out', deadline_ms: 50 })
  const third = inspect('(three)', { deadlineMs: 10_000 })
  image.json(id, { type: 'not_found', what: 'one', nearest: [] })
  assert.is((await first).type, 'not_found')
  const next = await image.called('peer:inspect')
  assert.equal(next.given.expr, { text: '(three)' })
  image.json(next.id, { type: 'not_found', what: 'three', nearest: [] })
  assert.is((await third).type, 'not_found')
})

test('an image that is asked nothing hears nothing; a silent one is asked for a sign of life, and missed (fault 2)', async () => {
  const pulse = { quietMs: 20, pongMs: 1_500, againMs: 20 }
  const { kernel, image } = await playImage({ pulse })
  const health: string[] = []
  kernel.watchHealth(now => health.push(now))
  const before = image.received.length
  await new Promise(resolve => setTimeout(resolve, 200))
  assert.is(image.received.length, before)
  const heard = evaluate(kernel, '(sleep 600)')
  const { rex } = await given(image)
  assert.is((await image.called('swank:ping')).thread, -1)
  image.freeze()
  while (kernel.health === 'responsive') await new Promise(resolve => setTimeout(resolve, 5))
  assert.is(await codeOf(evaluate(kernel, '2').result), 'UNRESPONSIVE')
  assert.is(await codeOf(kernel.status(LOOK)), 'UNRESPONSIVE')
  image.socket.resume()
  while (kernel.health === 'unresponsive') await new Promise(resolve => setTimeout(resolve, 5))
  image.json(rex.id, DONE)
  assert.is((await heard.result).type, 'done')
  assert.equal(health, ['unresponsive', 'responsive'])
})

test('an image that hears nothing while code runs is busy at once, and not asked for signs of life', async () => {
  for (const style of ['fd-handler', null]) {
    const { kernel, image } = await playImage({ style, pulse: { quietMs: 5, pongMs: 5, againMs: 5 } })
    assert.not.ok(kernel.identity.abilities.has('interrupt'))
    const heard = evaluate(kernel, '1')
    const { rex } = await given(image)
    const busy = await kernel.look('globals', PAGE, LOOK)
    assert.is(busy.type === 'busy' && busy.call, heard.call)
    await new Promise(resolve => setTimeout(resolve, 100))
    assert.is(kernel.health, 'responsive')
    image.json(rex.id, DONE)
    await heard.result
    await takenIn({ kernel, image })
  }
})

test('a connection that ends in mid-evaluation is LINK_CLOSED for all, at whatever byte it ends (fault 1)', async () => {
  for (const end of ['die', 'within', 'garbage']) {
    const { kernel, image } = await playImage()
    const running = evaluate(kernel, '1')
    const waiting = evaluate(kernel, '2')
    const look = kernel.look('globals', PAGE, { deadlineMs: 5_000 }).catch(error => error)
    const { rex } = await given(image)
    await image.called('peer:globals')
    if (end === 'die') image.die()
    else if (end === 'within') image.dieWithin(`(:return (:ok "half of it") ${rex.id})`, 20)
    else image.sendBytes('HTTP/1.1 400 Bad Request\r\n')
    assert.equal([await codeOf(running.result), await codeOf(waiting.result)], ['LINK_CLOSED', 'LINK_CLOSED'])
    assert.is((await look).code, 'LINK_CLOSED')
    const { reason, message } = await kernel.ended
    assert.is(reason, 'lost')
    assert.match(message, /^lisp was lost: /)
    assert.is(kernel.health, 'ended')
    assert.is(await codeOf(kernel.interrupt(running.call)), 'LINK_CLOSED')
  }
})

test('whoever started the process may say how it ended before the connection has the last word', async () => {
  const { kernel, image } = await playImage({ attached: false })
  const heard = evaluate(kernel, '1')
  await given(image)
  image.die()
  const end: KernelEnd = { reason: 'killed', message: 'lisp was killed by SIGKILL.' }
  setTimeout(() => kernel.lose(end), 20)
  assert.equal(await kernel.ended, end)
  const fault = await heard.result.catch(error => error)
  assert.equal([fault.code, fault.message], ['LINK_CLOSED', 'lisp was killed by SIGKILL.'])
})

test('an image that does not stop is let go of all the same', async () => {
  const ladder = { againMs: 10, leaveMs: 20, reportMs: 30 }
  const { kernel, image } = await playImage({ ladder })
  const heard = evaluate(kernel, '(loop)')
  await given(image)
  await kernel.close()
  assert.is(await codeOf(heard.result), 'LINK_CLOSED')
  assert.is((await kernel.ended).reason, 'closed')
  assert.equal(
    (await Promise.all([image.called('peer:interrupt'), image.called('peer:interrupt')])).map(
      ({ given: { how } }: Rex) => how,
    ),
    [{ text: 'stop' }, { text: 'stop' }],
  )
  await image.called('peer:leave')
})
