import { isAtom } from '../../wire/swank/connection.ts'
import type { Sexp } from '../../wire/swank/sexp.ts'
import { assert, suite } from '../support/harness.ts'
import { codeOf, evaluate, newCall } from '../support/heard.ts'
import { DONE, endImages, given, output, PAGE, playImage, started, takenIn } from '../support/played-image.ts'

/** What the adapter makes of an image that says anything it likes: a server that is played by a script. */
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

test('a fault is remembered, too: the call is not run again', async () => {
  const { kernel, image } = await playImage()
  const call = newCall()
  const heard = evaluate(kernel, '1', { call })
  image.json((await given(image)).rex.id, { fault: 'It broke.' })
  assert.is(await codeOf(heard.result), 'REMOTE_FAULT')
  assert.is(await codeOf(evaluate(kernel, '1', { call }).result), 'REMOTE_FAULT')
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
