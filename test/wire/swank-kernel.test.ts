import type { KernelEnd } from '../../wire/kernel.ts'
import { isAtom } from '../../wire/swank/connection.ts'
import type { Sexp } from '../../wire/swank/sexp.ts'
import { fakeSwank, type Rex } from '../support/fake-swank.ts'
import { assert, suite } from '../support/harness.ts'
import { codeOf, evaluate, newCall } from '../support/heard.ts'
import { DONE, endImages, given, output, PAGE, playImage, started, takenIn } from '../support/played-image.ts'
import { openSwankKernel } from '../support/swank-kernel.ts'

/** What the adapter makes of an image that says what it likes, or is late, deaf or gone: one that a script plays. */
const test = suite('a Lisp image that says what it likes')
test.after.each(endImages)

test('who it says it is is taken as it is, but for abilities that nobody knows', async () => {
  const { kernel } = await playImage()
  assert.is(kernel.identity.epoch.length, 8)
  assert.is((await playImage()).kernel.identity.epoch, kernel.identity.epoch)
  assert.equal([...kernel.identity.abilities], ['evaluate', 'interrupt', 'globals', 'inspect'])
})

test('an answer that is not of the agreed form is MESSAGE_INVALID, and the next one is taken', async () => {
  const { kernel, image } = await playImage()
  for (const wrong of [{ type: 'done' }, [], 'done', null, { type: 'done', values: 3, elapsed_ms: 1 }]) {
    const heard = evaluate(kernel, '1')
    image.json((await given(image)).rex.id, wrong)
    assert.is(await codeOf(heard.result), 'MESSAGE_INVALID')
    const look = kernel.look('globals', PAGE, { deadlineMs: 5_000 })
    image.json((await image.called('peer:globals')).id, wrong)
    assert.is(await codeOf(look), 'MESSAGE_INVALID')
  }
  const heard = evaluate(kernel, '1')
  image.json((await given(image)).rex.id, DONE)
  assert.is((await heard.result).type, 'done')
})

test('an event that is none is the fault of its evaluation, once that has ended', async () => {
  const { kernel, image } = await playImage()
  for (const wrong of [{ event: { type: 'output' } }, { ask: {} }, { started: 'now' }, {}]) {
    const heard = evaluate(kernel, '1')
    const { rex, tell } = await given(image)
    tell(output('before')) && tell(wrong) && tell(output('after'))
    image.json(rex.id, DONE)
    assert.is(await codeOf(heard.result), 'MESSAGE_INVALID')
    assert.is(heard.text(), 'beforeafter')
  }
  const heard = evaluate(kernel, '1')
  const { rex } = await given(image)
  image.say('(:channel-send 0 "{no json")').json(rex.id, DONE)
  assert.is(await codeOf(heard.result), 'MESSAGE_INVALID')
})

test('events of calls that nobody knows change nothing, and what is printed after the end has no owner', async () => {
  const background: string[] = []
  const { kernel, image } = await playImage({
    background: (stream, text) => background.push(`${stream} ${text}`),
  })
  const first = evaluate(kernel, '1')
  const old = await given(image)
  image.json(old.rex.id, DONE)
  await first.result
  const second = evaluate(kernel, '2')
  const { rex, tell } = await given(image)
  old.tell(output('late')) && tell(output('mine'))
  image.say('(:channel-send 0 "{\\"call\\":\\"nobody\\",\\"started\\":{\\"thread\\":7}}")')
  image.say('(:channel-send 1 "not ours")').say('(:new-features (a b))').say('(:channel-send 0)').say('nil')
  image.json(rex.id, DONE)
  await second.result
  assert.equal([first.text(), second.text(), background], ['', 'mine', ['stdout late']])
})

test('a call runs once however often it is asked for, and one of before this connection not at all (fault 29)', async () => {
  const { kernel, image } = await playImage()
  const call = newCall()
  const both = [evaluate(kernel, '1', { call }), evaluate(kernel, '1', { call })]
  const { rex, tell } = await given(image)
  tell(output('heard by both'))
  image.json(rex.id, { ...DONE, elapsed_ms: 42 })
  for (const heard of both) {
    assert.equal(await heard.result, { ...DONE, elapsed_ms: 42 })
    assert.is(heard.text(), 'heard by both')
  }
  assert.equal(await evaluate(kernel, '1', { call }).result, { ...DONE, elapsed_ms: 42 })
  const again = { call: newCall(), who: 'test', work: { type: 'source', source: '1' }, again: true } as const
  const fault = await kernel.evaluate(again, {}).catch(error => error)
  assert.equal([fault.code, /cannot be known/.test(fault.message)], ['LINK_CLOSED', true])
  assert.is((await kernel.evaluate({ ...again, call }, {})).type, 'done')
  await takenIn({ kernel, image })
  assert.is(image.received.filter(message => JSON.stringify(message).includes('"evaluate"')).length, 1)
})

test('a debugger inside a debugger is left level by level, and tells what it was entered with first', async () => {
  const { kernel, image } = await playImage()
  const heard = evaluate(kernel, '(car 1)')
  const { rex, tell } = await given(image)
  tell(started(12))
  image.debug(12, 1, [rex.id])
  const first = await image.called('swank:throw-to-toplevel')
  assert.is(first.thread, 12)
  image.say(
    '(:debug 12 2 ("again" "   [Condition of type SHOP::NO-STOCK]" nil) (("*ABORT" "Out.")) nil (1 2))',
  )
  const second = await image.called('swank:throw-to-toplevel')
  image.abort(first.id, 'NIL').abort(second.id, 'NIL').abort(rex.id, 'NIL')
  const ended = await heard.result
  if (ended.type !== 'raised') throw new Error(ended.type)
  const { exception } = ended
  assert.is(exception.message, 'The value 1 is not of type LIST')
  assert.equal(exception.type, { name: 'type-error', module: null, qualified: 'type-error' })
  assert.equal(exception.restarts, [{ name: 'abort', description: "Return to SLIME's top level." }])
  assert.equal(
    exception.frames.map(frame => [frame.function, frame.source]),
    [['car', '(CAR 1)']],
  )
})

test('where the top level is not in force, the restart that leads there is invoked by its number', async () => {
  const { kernel, image } = await playImage()
  const heard = evaluate(kernel, '(break)')
  const { rex } = await given(image)
  const restarts = '(("CONTINUE" "Go on.") ("ABORT" "One level out.") ("ABORT" "All the way out."))'
  image.say(`(:debug 5 1 ("stop" "   [Condition of type SHOP::NO-STOCK]" nil) ${restarts} nil (${rex.id}))`)
  image.answer((await image.called('swank:throw-to-toplevel')).id, '"Restart not active [NIL]"')
  const invoked = await image.called('swank:invoke-nth-restart-for-emacs')
  assert.equal([invoked.thread, (invoked.form as Sexp[]).slice(1)], [5, [1, 2]])
  image.abort(invoked.id, 'NIL').abort(rex.id, 'NIL')
  const ended = await heard.result
  assert.equal(ended.type === 'raised' && ended.exception.type, {
    name: 'no-stock',
    module: 'SHOP',
    qualified: 'shop::no-stock',
  })
})

test('an evaluation that is thrown out without a word was interrupted if it was asked to stop, and else has left', async () => {
  const { kernel, image } = await playImage()
  const left = evaluate(kernel, '(abort)')
  image.abort((await given(image)).rex.id, 'NIL')
  const ended = await left.result
  assert.match(ended.type === 'left' ? ended.message : '', 'left to the top level')
  const heard = evaluate(kernel, '(loop)')
  const { rex } = await given(image)
  const report = kernel.interrupt(heard.call)
  const asked = await image.called('peer:interrupt')
  image.json(asked.id, { running: true, reached: 0, where: null }).abort(rex.id, 'NIL')
  assert.is((await heard.result).type, 'interrupted')
  assert.is((await report).outcome, 'stopped')
})

test('a thread that is not ours and waits in the debugger is left to a person, who is told once', async () => {
  const background: string[] = []
  const { kernel, image } = await playImage({ background: (_stream, text) => background.push(text) })
  const heard = evaluate(kernel, '1')
  const { rex, tell } = await given(image)
  tell(started(12))
  for (const _ of [1, 2, 3]) image.debug(99, 1)
  await takenIn({ kernel, image })
  assert.is(background.length, 1)
  assert.match(
    background[0] ?? '',
    /^Thread 99 of lisp, which is not Imago's, waits in the debugger: The value 1/,
  )
  assert.not.ok(
    image.received.some(([tag, , , thread]) => isAtom(tag) && tag.atom === ':emacs-rex' && thread === 99),
  )
  image.json(rex.id, DONE)
  assert.is((await heard.result).type, 'done')
})

test('questions of running code go to who asked for it, and are refused where nobody answers', async () => {
  const { kernel, image } = await playImage()
  const heard = evaluate(kernel, '(ask)', {
    ask: async ({ prompt }) => (prompt === 'sure?' ? 'yes' : '"quoted"'),
  })
  const { rex, tell } = await given(image)
  tell(started(12))
  tell({ ask: { tag: 1, thread: 12, prompt: 'line' } })
  assert.equal((await image.next(':emacs-return-string')).slice(1), [12, 1, { text: '"quoted"\n' }])
  image.say('(:read-string 12 2)')
  assert.equal((await image.next(':emacs-return-string')).slice(1), [12, 2, { text: '"quoted"\n' }])
  image.say('(:y-or-n-p 12 3 "sure?")').say('(:y-or-n-p 12 4 "really?")')
  assert.equal((await image.next(':emacs-return')).slice(1, 3), [12, 3])
  assert.equal((await image.next(':emacs-return')).slice(1), [12, 4, null])
  image.say('(:read-string 99 5)').say('(:read-from-minibuffer 99 6 "name" "")')
  assert.equal((await image.next(':emacs-return-string')).slice(1), [99, 5, { text: '' }])
  assert.equal((await image.next(':emacs-return')).slice(1), [99, 6, null])
  image.json(rex.id, DONE)
  await heard.result
})

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

/** As much as no person would read, with what would move a terminal. */
const MUCH = `\u001b]0;taken\u0007${'broken \u202e line\n'.repeat(40_000)}`
const SAFE = /^[^\p{Cc}\p{Cf}]*$/u

const failure = (work: Promise<unknown>): Promise<Error> =>
  work.then(
    () => new Error('It did not fail.'),
    error => error,
  )

test('answers that are endless are told in a few lines, without what moves a terminal', async () => {
  const { kernel, image } = await playImage({ implementation: MUCH })
  assert.ok(kernel.identity.implementation.length <= 202)
  assert.match(kernel.identity.implementation, SAFE)
  for (const answer of ['fault', 'abort'] as const) {
    const look = failure(kernel.look('globals', PAGE, { deadlineMs: 10_000 }))
    const { id } = await image.called('peer:globals')
    if (answer === 'fault') image.json(id, { fault: MUCH })
    else image.abort(id, MUCH)
    const { message } = await look
    assert.match(message, 'broken')
    assert.match(message, SAFE)
    assert.ok(message.length <= 1_000, answer)
  }
})

test('answers that refuse our functions are told in a few lines, with what can be done', async () => {
  let asked = 0
  const server = await fakeSwank({
    script: {
      'cl:if': ({ id }, client) =>
        client.answer(id, asked++ === 0 ? 't' : JSON.stringify('bad line\n'.repeat(160))),
    },
  })
  const { message } = await failure(openSwankKernel(server))
  assert.match(message, 'The image refused our functions: bad line')
  assert.match(message, 'imago shutdown')
  assert.ok(message.length <= 1_000 && message.split('\n').length <= 3)
  await server.close()
})

test('answers that ask a thousand questions at once are heard with a few, and the others are refused', async () => {
  const { kernel, image } = await playImage()
  const asked: ((line: string) => void)[] = []
  const heard = evaluate(kernel, '1', { ask: () => new Promise(resolve => asked.push(resolve)) })
  const { rex, tell } = await given(image)
  tell(started(3))
  for (let tag = 0; tag < 1_000; tag++) tell({ ask: { tag, thread: 3, prompt: '' } })
  await takenIn({ kernel, image })
  assert.is(asked.length, 16)
  for (const answer of asked) answer('on')
  image.json(rex.id, DONE)
  assert.is((await heard.result).type, 'done')
})
