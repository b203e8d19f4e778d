import type { Choice } from '../../tools/contract.ts'
import { LightSignal } from '../../wire/signal.ts'
import { book } from '../support/book.ts'
import { assert, suite } from '../support/harness.ts'
import { somePlan } from '../support/plans.ts'
import { takeSeat } from '../support/seat.ts'
import { someHunks } from '../support/some-hunks.ts'

const test = suite('choices on a seat')

const still = new LightSignal()

const accept = (hunk: number): Choice => ({ hunk, decision: 'accept' })

const refuse = (hunk: number, reason: string | null = null): Choice => ({ hunk, decision: 'refuse', reason })

const edit = (hunk: number, text: string): Choice => ({ hunk, decision: 'edit', text, reason: null })

test('choices that do not fit the hunks are refused, and the plan goes on waiting for ones that do', async () => {
  const { approvals } = book()
  const person = takeSeat(approvals)
  const answer = approvals.ask(somePlan({ hunks: someHunks(2) }), { signal: still })
  const whys: [readonly Choice[], RegExp][] = [
    [[], /Not every hunk is decided/],
    [[accept(1)], /hunk 2 is not/],
    [[accept(1), accept(2), accept(3)], /no hunk 3/],
    [[accept(1), refuse(1)], /decided twice/],
    [[accept(1), edit(2, 'unwritable')], /hunk 2 cannot be written/],
  ]
  for (const [choices, why] of whys) {
    const taken = person.answer({ choose: choices })
    assert.is(taken.type, 'unfit')
    assert.match(taken.type === 'unfit' ? taken.why : '', why)
  }
  assert.is(approvals.waiting().length, 1)
  const choices = [edit(1, 'mine\n'), refuse(2, 'not this one')]
  assert.is(person.answer({ choose: choices }).type, 'taken')
  assert.equal(await answer, { type: 'chosen', by: 'seat-1', choices })
  assert.is(person.answer({ choose: choices }).type, 'late')
})

test('a plan without hunks cannot be chosen from, and can still be approved', async () => {
  const { approvals } = book()
  const person = takeSeat(approvals)
  const answer = approvals.ask(somePlan(), { signal: still })
  for (const choices of [[], [accept(1)]]) assert.is(person.answer({ choose: choices }).type, 'unfit')
  person.answer('approve')
  assert.is((await answer).type, 'approved')
})

test('the reason of each choice is kept to the letter, within bounds', async () => {
  const { approvals } = book()
  const person = takeSeat(approvals)
  const answer = approvals.ask(somePlan({ hunks: someHunks(2) }), { signal: still })
  person.answer({ choose: [refuse(1, 'x'.repeat(10_000)), refuse(2, '')] })
  const chosen = await answer
  assert.equal(
    chosen.type === 'chosen' && chosen.choices.map(one => one.decision === 'refuse' && one.reason?.length),
    [2_000, undefined],
  )
})

test('a part that was approved ends refusals in a row, and every part refused is one of them (threat 36)', async () => {
  const { approvals } = book()
  const person = takeSeat(approvals, undefined, 'me')
  const other = takeSeat(approvals)
  const give = (choices: readonly Choice[]) => {
    const plan = somePlan({ hunks: someHunks(2) })
    void approvals.ask(plan, { signal: still })
    person.answer({ choose: choices }, plan.id)
    return approvals.pauses()[0]?.refusals
  }
  const none = [refuse(1), refuse(2)]
  assert.equal([give(none), give(none), give([accept(1), refuse(2)])], [undefined, undefined, undefined])
  assert.equal([give(none), give(none), give(none)], [undefined, undefined, 3])
  const whys = other.told.flatMap(news => (news.type === 'settled' ? [news.why] : []))
  assert.equal([whys[2], whys[3]], ['me approved a part of it.', 'me refused every part of it.'])
})
