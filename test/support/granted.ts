import type { Answer, Plan } from '../../src/approvals/plan.ts'
import { LightSignal } from '../../wire/signal.ts'
import { type Book, book, MINUTE } from './book.ts'
import { assert } from './harness.ts'
import { type SomePlan, somePlanOn } from './plans.ts'
import { type ScriptedSeat, takeSeat } from './seat.ts'

export const still = new LightSignal()

export const byDefault = { policyFile: '/home/me/.config/imago/policy.toml' }

export const HOUR = 60 * MINUTE

export const ask = ({ approvals }: Book, plan: Plan): Promise<Answer> =>
  approvals.ask(plan, { signal: still, byDefault })

/** A book in which one person has let a pattern through with `src/shop.py`, or the files given. */
export async function granted(
  pattern: string,
  files: string | readonly string[] = 'src/shop.py',
  more?: SomePlan,
) {
  const made = book()
  const person = takeSeat(made.approvals)
  const plan = somePlanOn(files, more)
  const answer = ask(made, plan)
  assert.is(person.answer({ grant: pattern }, plan.id).type, 'taken')
  assert.equal(await answer, { type: 'approved', by: 'seat-1' })
  return { ...made, person }
}

/** Whether nobody is asked about it. */
export async function isLetThrough(
  made: Book & { readonly person: ScriptedSeat },
  plan: Plan,
): Promise<boolean> {
  const signal = new LightSignal()
  const before = made.person.plans.length
  const answer = made.approvals.ask(plan, { signal, byDefault })
  signal.abort()
  const { type } = await answer
  assert.is(type === 'approved', made.person.plans.length === before)
  return type === 'approved'
}

export const noticesOf = (person: ScriptedSeat) =>
  person.told.flatMap(news => (news.type === 'notice' ? [news.text] : []))
