import type { AnswerOutcome, SeatAnswer, SeatNews, ShownPlan } from '../../src/approvals/contract.ts'
import type { Approvals } from '../../src/approvals/queue.ts'
import type { Choice } from '../../tools/contract.ts'

/** What a scripted person does about a plan. */
export type Reply =
  | 'approve'
  | 'deny'
  | { readonly deny: string }
  | { readonly edit: Readonly<Record<string, unknown>> }
  /** Decides on each hunk. */
  | { readonly choose: readonly Choice[] }
  /** Approves, and lets through from now on. */
  | { readonly grant: string }
  /** Approves with the hash of another plan. */
  | { readonly crossed: string }
  /** Approves, and then again, and then denies. */
  | 'twice'
  /** Looks at it and says nothing. */
  | undefined

/** A seat that nobody sits on: it answers by a function of what it is shown, and remembers all of it. */
export interface ScriptedSeat {
  readonly id: string
  /** All that it was told, in order. */
  readonly told: readonly SeatNews[]
  /** The plans that it was shown, in order. */
  readonly plans: readonly ShownPlan[]
  /** What became of its answers, in order. */
  readonly taken: readonly AnswerOutcome[]
  /** Answers now: a plan by its name, or the one that was shown last. */
  answer(reply: Reply, plan?: string): AnswerOutcome
  /** Resolves with the next plan that is shown, or with one that was shown and not waited for yet. */
  next(): Promise<ShownPlan>
  leave(): void
}

/** Takes a seat. `script` may be slow; without one, nothing is answered but by `answer`. */
export function takeSeat(
  approvals: Approvals,
  script: (plan: ShownPlan) => Reply | Promise<Reply> = () => undefined,
  who = 'a scripted seat',
): ScriptedSeat {
  const told: SeatNews[] = []
  const plans: ShownPlan[] = []
  const taken: AnswerOutcome[] = []
  const unseen: ShownPlan[] = []
  const wanting: ((plan: ShownPlan) => void)[] = []

  function answer(reply: Reply, id = plans.at(-1)?.id): AnswerOutcome {
    const plan = plans.findLast(one => one.id === id)
    if (reply === undefined || plan === undefined) return { type: 'unknown' }
    const named = { plan: plan.id, hash: plan.hash }
    const answers = answersOf(reply).map(given => seat.answer({ ...named, ...given }))
    taken.push(...answers)
    return answers[0] ?? { type: 'unknown' }
  }

  const seat = approvals.sit({
    who,
    tell(news) {
      told.push(news)
      if (news.type !== 'plan') return
      const { plan } = news
      plans.push(plan)
      const want = wanting.shift()
      if (want === undefined) unseen.push(plan)
      else want(plan)
      void Promise.resolve(plan)
        .then(script)
        .then(reply => answer(reply, plan.id))
    },
  })

  return {
    id: seat.id,
    told,
    plans,
    taken,
    answer,
    next: () => {
      const plan = unseen.shift()
      return plan === undefined ? new Promise(resolve => wanting.push(resolve)) : Promise.resolve(plan)
    },
    leave: () => seat.leave(),
  }
}

interface Given {
  readonly decision: SeatAnswer['decision']
  readonly reason?: string
  readonly args?: Readonly<Record<string, unknown>>
  readonly choices?: readonly Choice[]
  readonly grant?: string
  readonly hash?: string
}

function answersOf(reply: Exclude<Reply, undefined>): Given[] {
  if (reply === 'twice') return [{ decision: 'approve' }, { decision: 'approve' }, { decision: 'deny' }]
  if (typeof reply === 'string') return [{ decision: reply }]
  if ('deny' in reply) return [{ decision: 'deny', reason: reply.deny }]
  if ('grant' in reply) return [{ decision: 'approve', grant: reply.grant }]
  if ('choose' in reply) return [{ decision: 'choose', choices: reply.choose }]
  if ('edit' in reply) return [{ decision: 'edit', args: reply.edit }]
  return [{ decision: 'approve', hash: reply.crossed }]
}

/** A person who takes only the first hunk of a plan that has some, and approves what has none. */
export function firstOnly({ hunks }: Pick<ShownPlan, 'hunks'>): Reply {
  if (hunks.length === 0) return 'approve'
  const choose = hunks.map(
    ({ number }, index): Choice =>
      index === 0
        ? { hunk: number, decision: 'accept' }
        : { hunk: number, decision: 'refuse', reason: 'not this one' },
  )
  return { choose }
}
