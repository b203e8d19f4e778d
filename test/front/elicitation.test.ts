import { answerFrom, DIALOG_BYTES, DIALOG_LINES, questionOf } from '../../src/front/elicitation/question.ts'
import { settled } from '../support/calls-rig.ts'
import {
  APPROVES,
  DENIES,
  type Dialog,
  ELICITING,
  type ElicitingKind,
  linesOver,
  type Person,
  type Reply,
  served,
} from '../support/eliciting.ts'
import { type FileRig, fileRigsOf, PUT } from '../support/file-rigs.ts'
import { assert, suite } from '../support/harness.ts'
import { deferred } from '../support/mcp-by-hand.ts'
import { shownPlanOf } from '../support/shown-plans.ts'

/** A person at the dialog of an MCP client: what stands there, and what their answer comes to, in each revision. */
const test = suite('elicitation')

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

async function decidedIn(made: FileRig) {
  const lines = await made.journal()
  const { answer, by, reason } = lines.find(({ type }) => type === 'decided') ?? {}
  return { answer, by, reason }
}

/** A client of that kind with this person at it. `shown` resolves with the first dialog that they see. */
async function connected(kind: ElicitingKind, person: Person | undefined, doubt?: string) {
  const made = rig()
  const shown = deferred<Dialog>()
  const { stream, done } = served(made, { doubt: () => doubt })
  const told: Person | undefined =
    person &&
    (dialog => {
      shown.resolve(dialog)
      return person(dialog)
    })
  const client = await kind.connect(linesOver(stream), told)
  const puts = () => client.call('put', PUT)
  const text = () => made.files.text('a.txt')
  return { made, client, shown: shown.promise, done, puts, text }
}

const SILENT: Person = () => new Promise<Reply>(() => {})

for (const kind of ELICITING) {
  const { revision } = kind

  test(`${kind.name}: who accepts and approves has the call done, and the journal says that it was they`, async () => {
    const { made, client, shown, puts, text } = await connected(kind, () => APPROVES)
    assert.is(client.revision, revision)
    assert.is((await puts()).failed, false)
    assert.is(text(), 'new')
    const { properties, required } = (await shown).requestedSchema
    assert.equal([required, properties.decision?.enum], [['decision'], ['deny', 'approve']])
    await client.close()
    assert.equal(await decidedIn(made), { answer: 'approved', by: 'client a-client', reason: null })
  })

  type Refusal = readonly [what: string, reply: Reply, answer: string, text: RegExp, reason: RegExp]
  const REFUSALS: readonly Refusal[] = [
    ['chooses deny and says why', DENIES, 'denied', /^denied: .*not that file/s, /^not that file$/],
    [
      'accepts an empty form',
      { action: 'accept', content: {} },
      'unavailable',
      /^approval_unavailable: /,
      /left out the decision/,
    ],
    [
      'approves and declines at once',
      { action: 'decline', content: { decision: 'approve' } },
      'denied',
      /^denied: /,
      /^$/,
    ],
    [
      'closes the dialog without a choice',
      { action: 'cancel' },
      'dismissed',
      /^approval_dismissed: The dialog of a-client was closed without a choice/,
      /^$/,
    ],
  ]
  for (const [what, reply, answered, said, reason] of REFUSALS)
    test(`${revision}: a client that ${what} has not approved, and nothing happens`, async () => {
      const { made, client, puts, text } = await connected(kind, () => reply)
      const answer = await puts()
      assert.match(answer.text, said)
      assert.equal([answer.failed, text()], [true, 'old'])
      await client.close()
      const decided = await decidedIn(made)
      assert.equal([decided.answer, decided.by], [answered, 'client a-client'])
      assert.match(String(decided.reason ?? ''), reason)
    })

  test(`${revision}: a client without elicitation is asked nothing, and told that nobody could be`, async () => {
    const { client, puts } = await connected(kind, undefined)
    assert.match((await puts()).text, /^approval_unavailable: /)
    await client.close()
  })

  test(`${revision}: where a line in the policy would let the dialog count, the refusal has that line`, async () => {
    const made = rig()
    const options = { doubt: () => 'it answers by itself', mayCount: () => true }
    const { stream } = served(made, options)
    const client = await kind.connect(linesOver(stream), () => APPROVES)
    const { text } = await client.call('put', PUT)
    assert.match(text, /^approval_unavailable: /)
    assert.match(text, 'a-client has a dialog of its own, where a yes does not count: it answers by itself.')
    assert.match(text, '[[client]]\nname = "a-client"\nyes = "counts"\n')
    await client.close()
  })

  test(`${revision}: where no line would, none is named`, async () => {
    const { client, puts } = await connected(kind, () => APPROVES, 'it was started by a kernel')
    const { text } = await puts()
    assert.match(text, /^approval_unavailable: /)
    assert.not.match(text, '[[client]]')
    await client.close()
  })

  test(`${revision}: a doubted yes counts for nothing, and the seat that is asked still decides`, async () => {
    const { made, client, puts, text } = await connected(kind, () => APPROVES, 'it answers by itself')
    const person = made.seat()
    const answer = puts()
    const plan = await person.next()
    while (!person.told.some(({ type }) => type === 'notice')) await settled()
    assert.match(JSON.stringify(person.told), /which counts for nothing: it answers by itself/)
    assert.is(text(), 'old')
    person.answer('approve', plan.id)
    assert.equal([(await answer).failed, text()], [false, 'new'])
    await client.close()
    assert.match(JSON.stringify(await made.journal()), /"what":"doubted"/)
  })

  test(`${revision}: a seat that answers first has the client's dialog taken back, and its answer comes too late`, async () => {
    const late = deferred<Reply>()
    const { made, client, shown, puts, text } = await connected(kind, () => late.promise)
    const person = made.seat()
    const answer = puts()
    const { signal } = await shown
    person.answer('approve', (await person.next()).id)
    // Only the server of an old revision can say so; the client of a new one hears of it when it comes back.
    while (!kind.modern && !signal.aborted) await settled()
    late.resolve(DENIES)
    assert.equal([(await answer).failed, text()], [false, 'new'])
    await client.close()
    assert.is((await decidedIn(made)).by, 'seat-1')
  })

  test(`${revision}: a client that goes away while it is asked has approved nothing, and nothing waits`, async () => {
    const { made, client, shown, done, puts, text } = await connected(kind, SILENT)
    puts().catch(() => {})
    await shown
    await client.close()
    await done
    while (made.approvals.waiting().length > 0) await settled()
    assert.is(text(), 'old')
    const { answer, by, reason } = await decidedIn(made)
    assert.equal([answer, by], ['unavailable', 'client a-client'])
    assert.match(String(reason), /went away/)
  })

  test(`${revision}: a person who says nothing has denied once the time is over (fault 26)`, async () => {
    const { made, client, shown, puts, text } = await connected(kind, SILENT)
    puts().catch(() => {})
    const { signal } = await shown
    await made.clock.pass(30 * 60_000)
    while (!kind.modern && !signal.aborted) await settled()
    assert.equal([made.approvals.waiting().length, text()], [0, 'old'])
    await client.close()
    assert.is((await decidedIn(made)).answer, 'timed_out')
  })

  test(`${revision}: a client whose dialog fails has approved nothing`, async () => {
    const fails: Person = () => {
      throw new Error('no dialog today')
    }
    const { made, client, shown, puts, text } = await connected(kind, fails)
    const answer = puts().catch(String)
    await shown
    if (kind.modern) await answer
    else assert.match(((await answer) as { text: string }).text, /Nothing ran/)
    assert.is(text(), 'old')
    await client.close()
    while (made.approvals.waiting().length > 0) await settled()
    assert.is((await decidedIn(made)).answer, 'unavailable')
  })

  test(`${revision}: two calls at once are asked about one by one, and each gets its own answer (threat 20)`, async () => {
    const answers: Person = ({ message }) => (message.includes('a.txt') ? DENIES : APPROVES)
    const { made, client, puts, text } = await connected(kind, answers)
    made.files.put('b.txt', 'old')
    const both = await Promise.all([puts(), client.call('put', { path: 'b.txt', text: 'new' })])
    assert.equal(
      both.map(({ failed }) => failed),
      [true, false],
    )
    assert.equal([text(), made.files.text('b.txt')], ['old', 'new'])
    await client.close()
  })
}
