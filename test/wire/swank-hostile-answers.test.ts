import { fakeSwank } from '../support/fake-swank.ts'
import { assert, suite } from '../support/harness.ts'
import { codeOf, evaluate } from '../support/heard.ts'
import { DONE, endImages, given, PAGE, playImage, started, takenIn } from '../support/played-image.ts'
import { openSwankKernel } from '../support/swank-kernel.ts'

/** What a server says at length, or in no form that was agreed. */
const test = suite('a Swank whose answers are no answers')
test.after.each(endImages)

/** As much as no person would read, with what would move a terminal. */
const MUCH = `\u001b]0;taken\u0007${'broken \u202e line\n'.repeat(40_000)}`
const SAFE = /^[^\p{Cc}\p{Cf}]*$/u

const failure = (work: Promise<unknown>): Promise<Error> =>
  work.then(
    () => new Error('It did not fail.'),
    error => error,
  )

test('that are no JSON fail that one call, and the next is answered', async () => {
  const { kernel, image } = await playImage()
  const look = kernel.look('globals', PAGE, { deadlineMs: 10_000 })
  image.answer((await image.called('peer:globals')).id, '"not JSON"')
  assert.is(await codeOf(look), 'MESSAGE_INVALID')
  const heard = evaluate(kernel, '1')
  image.answer((await given(image)).rex.id, 'nil')
  assert.is(await codeOf(heard.result), 'MESSAGE_INVALID')
  const next = evaluate(kernel, '2')
  image.json((await given(image)).rex.id, DONE)
  assert.is((await next.result).type, 'done')
})

test('that are endless are told in a few lines, without what moves a terminal', async () => {
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

test('that refuse our functions are told in a few lines, with what can be done', async () => {
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

test('that ask a thousand questions at once are heard with a few, and the others are refused', async () => {
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
