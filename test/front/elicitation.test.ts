import { settled } from '../support/calls-rig.ts'
import {
  APPROVES,
  DENIES,
  type Dialog,
  ELICITING,
  linesOver,
  type Reply,
  served,
} from '../support/eliciting.ts'
import { type FileRig, fileRigsOf, PUT } from '../support/file-rigs.ts'
import { assert, suite } from '../support/harness.ts'
import { deferred } from '../support/mcp-by-hand.ts'

/** A person at the dialog of an MCP client, in each revision, with clients that others wrote and nobody at a seat. */
const test = suite('elicitation')
const rig = fileRigsOf(test)

async function decidedIn(made: FileRig) {
  const lines = await made.journal()
  const { answer, by, reason } = lines.find(({ type }) => type === 'decided') ?? {}
  return { answer, by, reason }
}

for (const kind of ELICITING) {
  const { revision } = kind

  test(`${kind.name}: who accepts and approves has the call done, and the journal says that it was they`, async () => {
    const made = rig()
    const dialogs: Dialog[] = []
    const client = await kind.connect(linesOver(served(made).stream), dialog => {
      dialogs.push(dialog)
      return APPROVES
    })
    assert.is(client.revision, revision)
    assert.is((await client.call('put', PUT)).failed, false)
    assert.is(made.files.text('a.txt'), 'new')
    assert.is(dialogs.length, 1)
    const { properties, required } = dialogs[0]?.requestedSchema ?? { properties: {} }
    assert.equal(required, ['decision'])
    assert.equal(properties.decision?.enum, ['deny', 'approve'])
    await client.close()
    assert.equal(await decidedIn(made), { answer: 'approved', by: 'client a-client', reason: null })
  })

  const REFUSALS: readonly (readonly [what: string, reply: Reply, code: RegExp, reason: RegExp])[] = [
    ['chooses deny and says why', DENIES, /^denied: .*not that file/s, /^not that file$/],
    ['declines', { action: 'decline' }, /^denied: /, /^$/],
    ['cancels', { action: 'cancel' }, /^denied: /, /dismissed/],
    ['accepts without content', { action: 'accept' }, /Nothing ran/, /left out the decision/],
    ['accepts an empty form', { action: 'accept', content: {} }, /Nothing ran/, /left out the decision/],
    [
      'accepts with a decision of their own',
      { action: 'accept', content: { decision: 'yes' } },
      /Nothing ran/,
      /not offered/,
    ],
    [
      'approves and declines at once',
      { action: 'decline', content: { decision: 'approve' } },
      /^denied: /,
      /^$/,
    ],
  ]
  for (const [what, reply, said, reason] of REFUSALS)
    test(`${revision}: whoever ${what} has not approved, and nothing happens`, async () => {
      const made = rig()
      const client = await kind.connect(linesOver(served(made).stream), () => reply)
      const answer = await client.call('put', PUT)
      assert.ok(answer.failed)
      assert.match(answer.text, said)
      assert.is(made.files.text('a.txt'), 'old')
      await client.close()
      const decided = await decidedIn(made)
      assert.equal([decided.answer, decided.by], ['denied', 'client a-client'])
      assert.match(String(decided.reason ?? ''), reason)
    })

  test(`${revision}: a client without elicitation is asked nothing, and told that nobody could be`, async () => {
    const made = rig()
    const client = await kind.connect(linesOver(served(made).stream), undefined)
    const answer = await client.call('put', PUT)
    assert.match(answer.text, /^approval_unavailable: /)
    await client.close()
  })

  test(`${revision}: a client whose yes is doubted is not asked where nobody sits`, async () => {
    const made = rig()
    const options = { doubt: () => 'it answers by itself' }
    const client = await kind.connect(linesOver(served(made, options).stream), () => APPROVES)
    const answer = await client.call('put', PUT)
    assert.match(answer.text, /^approval_unavailable: /)
    assert.is(made.files.text('a.txt'), 'old')
    await client.close()
  })

  test(`${revision}: a doubted yes counts for nothing, and the seat that is asked still decides`, async () => {
    const made = rig()
    const person = made.seat()
    const options = { doubt: () => 'it answers by itself' }
    const client = await kind.connect(linesOver(served(made, options).stream), () => APPROVES)
    const answer = client.call('put', PUT)
    const plan = await person.next()
    while (!person.told.some(({ type }) => type === 'notice')) await settled()
    assert.match(
      JSON.stringify(person.told),
      /said yes to plan-\w+, which counts for nothing: it answers by itself/,
    )
    assert.is(made.files.text('a.txt'), 'old')
    person.answer('approve', plan.id)
    assert.is((await answer).failed, false)
    assert.is(made.files.text('a.txt'), 'new')
    await client.close()
    assert.match(JSON.stringify(await made.journal()), /"what":"doubted"/)
  })

  test(`${revision}: a seat that answers first has the client's dialog taken back, and its answer comes too late`, async () => {
    const made = rig()
    const person = made.seat()
    const [shown, late] = [deferred<Dialog>(), deferred<Reply>()]
    const client = await kind.connect(linesOver(served(made).stream), dialog => {
      shown.resolve(dialog)
      return late.promise
    })
    const answer = client.call('put', PUT)
    const { signal } = await shown.promise
    person.answer('approve', (await person.next()).id)
    // Only the server of an old revision can say so; the client of a new one hears of it when it comes back.
    while (!kind.modern && !signal.aborted) await settled()
    late.resolve(DENIES)
    assert.is((await answer).failed, false)
    assert.is(made.files.text('a.txt'), 'new')
    await client.close()
    assert.is((await decidedIn(made)).by, 'seat-1')
  })

  test(`${revision}: a client that goes away while it is asked has approved nothing, and nothing waits`, async () => {
    const made = rig()
    const shown = deferred<Dialog>()
    const { stream, done } = served(made)
    const client = await kind.connect(linesOver(stream), dialog => {
      shown.resolve(dialog)
      return new Promise<Reply>(() => {})
    })
    client.call('put', PUT).catch(() => {})
    await shown.promise
    await client.close()
    await done
    while (made.approvals.waiting().length > 0) await settled()
    assert.is(made.files.text('a.txt'), 'old')
    const decided = await decidedIn(made)
    assert.equal([decided.answer, decided.by], ['denied', 'client a-client'])
    assert.match(String(decided.reason), /went away/)
  })

  test(`${revision}: a person who says nothing has denied once the time is over (fault 26)`, async () => {
    const made = rig()
    const shown = deferred<Dialog>()
    const client = await kind.connect(linesOver(served(made).stream), dialog => {
      shown.resolve(dialog)
      return new Promise<Reply>(() => {})
    })
    client.call('put', PUT).catch(() => {})
    const { signal } = await shown.promise
    await made.clock.pass(30 * 60_000)
    while (!kind.modern && !signal.aborted) await settled()
    assert.is(made.approvals.waiting().length, 0)
    assert.is(made.files.text('a.txt'), 'old')
    await client.close()
    assert.is((await decidedIn(made)).answer, 'timed_out')
  })

  test(`${revision}: a client whose dialog fails has approved nothing`, async () => {
    const made = rig()
    const shown = deferred<void>()
    const client = await kind.connect(linesOver(served(made).stream), () => {
      shown.resolve()
      throw new Error('no dialog today')
    })
    const answer = client.call('put', PUT).catch(String)
    await shown.promise
    if (kind.modern) await answer
    else assert.match(((await answer) as { text: string }).text, /Nothing ran/)
    assert.is(made.files.text('a.txt'), 'old')
    await client.close()
    while (made.approvals.waiting().length > 0) await settled()
    assert.is((await decidedIn(made)).answer, 'denied')
  })

  test(`${revision}: two calls at once are asked about one by one, and each gets its own answer (threat 20)`, async () => {
    const made = rig()
    made.files.put('b.txt', 'old')
    const client = await kind.connect(linesOver(served(made).stream), ({ message }) =>
      message.includes('a.txt') ? DENIES : APPROVES,
    )
    const [one, other] = await Promise.all([
      client.call('put', PUT),
      client.call('put', { path: 'b.txt', text: 'new' }),
    ])
    assert.equal([one?.failed, other?.failed], [true, false])
    assert.equal([made.files.text('a.txt'), made.files.text('b.txt')], ['old', 'new'])
    await client.close()
  })
}
