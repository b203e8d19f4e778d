import { noticed, noticeOf } from '../../src/calls/answer.ts'
import { failed, ok } from '../../tools/outcome.ts'
import { showEnvelope } from '../../tools/show.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('notice of a new image')

const place = { name: 'python', replaces: 'python was killed by SIGKILL.\nIts last words: …' }

const NOTICE =
  'This is a new and empty image of python. The one before was lost: python was killed by SIGKILL.'

test('a result says that its image is a new one, and how the last was lost', () => {
  const ended = noticed(ok({ value_repr: '1' }) as Parameters<typeof noticed>[0], noticeOf(place))
  assert.equal(ended, { type: 'ok', result: { value_repr: '1', notice: NOTICE } })
})

test('a failure says so too, as a line of its own', () => {
  const outcome = failed('exception', { message: "NameError: name 'v' is not defined" })
  const ended = noticed(outcome as Parameters<typeof noticed>[0], noticeOf(place))
  if (ended.type !== 'failed') throw new Error('it should still be a failure')
  const text = showEnvelope({ ok: false, error: ended.error }, undefined)
  assert.is(text, `exception: NameError: name 'v' is not defined\nnotice: ${NOTICE}`)
})

test('an image that replaces none says nothing, and a result that is no object stays as it is', () => {
  const result = ok({ value_repr: '1' }) as Parameters<typeof noticed>[0]
  assert.equal(noticed(result, noticeOf({ name: 'python' })), result)
  assert.equal(noticed(result, undefined), result)
  assert.equal(noticed({ type: 'ok', result: [1] }, noticeOf(place)), { type: 'ok', result: [1] })
})
