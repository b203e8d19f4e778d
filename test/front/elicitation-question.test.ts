import { answerFrom, DIALOG_BYTES, DIALOG_LINES, questionOf } from '../../src/front/elicitation/question.ts'
import { APPROVES, ELICITING, linesOver, served } from '../support/eliciting.ts'
import { fileRigsOf } from '../support/file-rigs.ts'
import { assert, suite } from '../support/harness.ts'
import { shownPlanOf } from '../support/shown-plans.ts'

/** What stands in the dialog of an MCP client, and what can be chosen there. */
const test = suite('elicitation question')
const rig = fileRigsOf(test)

const decisionOf = (question: ReturnType<typeof questionOf>) =>
  question.params.requestedSchema.properties.decision as {
    enum: string[]
    enumNames: string[]
    default?: unknown
  }

test('the dialog has what, where, size, hash, warnings and the whole preview', () => {
  const warnings = ['2 characters in it are not seen: U+202E twice.']
  const { params, approvable } = questionOf(shownPlanOf({ kernel: 'main', body: 'one\ntwo\n', warnings }))
  assert.ok(approvable)
  assert.is(
    params.message,
    `Imago asks: may this happen, exactly so?

    what     Write a.py
    tool     write_file (dangerous)
    for      a model
    kernel   main
    project  /project
    size     8 bytes, 2 lines
    sha256   ${'e'.repeat(64)}
    plan     plan-abcdefgh
    LOOK     2 characters in it are not seen: U+202E twice.

This is all of it; each line of it begins with a bar:

    | one
    | two

That was the end of it: 2 lines.`,
  )
})

test('the form is never empty: a required choice, with deny first and nothing chosen before', () => {
  for (const body of ['one\n', 'x\n'.repeat(DIALOG_LINES + 1)]) {
    const question = questionOf(shownPlanOf({ body }))
    const { required, type } = question.params.requestedSchema
    assert.equal([type, required], ['object', ['decision']])
    const decision = decisionOf(question)
    assert.is(decision.enum[0], 'deny')
    assert.is(decision.enum.length, decision.enumNames.length)
    assert.not.ok('default' in decision)
  }
})

test('a preview that no dialog can hold whole can only be denied there', () => {
  const line = `${'x'.repeat(15)}\n`
  const most = line.repeat(DIALOG_LINES)
  const wide = 'ä'.repeat(DIALOG_BYTES / 2)
  for (const body of [most, wide])
    assert.equal(decisionOf(questionOf(shownPlanOf({ body }))).enum, ['deny', 'approve'])
  for (const body of [`${most}x\n`, `${wide}x`, 'x'.repeat(4_000_000)]) {
    const { params, ...question } = questionOf(shownPlanOf({ body }))
    assert.equal(decisionOf({ params, ...question }).enum, ['deny'])
    assert.match(params.message, /It is too long for a dialog, so that it can only be denied here\./)
    assert.match(params.message, /run imago watch in a terminal of your own/)
    assert.ok(params.message.length < 2_000)
    const answer = answerFrom(APPROVES, question)
    assert.equal(answer, { type: 'no', how: 'failed', reason: 'it approved what it had not shown whole' })
  }
})

for (const kind of ELICITING)
  test(`${kind.revision}: a client that approves what it was not shown whole has not approved`, async () => {
    const made = rig()
    const text = 'x\n'.repeat(DIALOG_LINES + 1)
    const client = await kind.connect(linesOver(served(made).stream), () => APPROVES)
    const answer = await client.call('put', { path: 'a.txt', text })
    assert.ok(answer.failed)
    assert.match(answer.text, /Nothing ran/)
    assert.is(made.files.text('a.txt'), 'old')
    await client.close()
  })

test('only an accepted form that says approve is a yes', () => {
  const approvable = { approvable: true }
  const content = { decision: 'approve' }
  assert.equal(answerFrom({ action: 'accept', content }, approvable), { type: 'yes' })
  for (const answer of [
    undefined,
    null,
    'accept',
    [],
    {},
    { content },
    { action: 'ACCEPT', content },
    { action: 'accept' },
    { action: 'accept', content: null },
    { action: 'accept', content: {} },
    { action: 'accept', content: { decision: true } },
    { action: 'accept', content: { decision: ['approve'] } },
    { action: 'accept', content: { decision: 'approve ' } },
    { action: 'accept', content: { Decision: 'approve' } },
    { action: 'accept', content: 'approve' },
    { action: 'decline', content },
    { action: 'cancel', content },
  ])
    assert.is(answerFrom(answer, approvable).type, 'no', JSON.stringify(answer))
})

test('a reason is taken where it is text, and cut where it is long', () => {
  const reasonOf = (reason: unknown) => {
    const answer = answerFrom(
      { action: 'accept', content: { decision: 'deny', reason } },
      { approvable: true },
    )
    return answer.type === 'no' ? answer.reason : undefined
  }
  assert.equal([reasonOf('not now'), reasonOf('  '), reasonOf(7)], ['not now', null, null])
  assert.is(reasonOf('x'.repeat(5_000))?.length, 1_000)
})
