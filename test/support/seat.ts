import type { AnswerOutcome, CallEnd, SeatAnswer, ShownPlan } from '../../src/approvals/contract.ts'
import type { Approvals, ApprovalsOptions, OpenApprovals, openApprovals } from '../../src/approvals/queue.ts'
import type { Choice } from '../../tools/contract.ts'

/** What becomes of plans, as those who sit are told it. */
export type SeatNews =
  | { readonly type: 'plan'; readonly plan: ShownPlan }
  | { readonly type: 'settled'; readonly id: string; readonly why: string }
  | ({ readonly type: 'ended'; readonly id: string } & CallEnd)
  | { readonly type: 'notice'; readonly text: string }

const followers = new WeakMap<Approvals, Set<() => void>>()

/** Approvals that `takeSeat` and `followNews` can follow. */
export function openFollowed(open: typeof openApprovals, options: ApprovalsOptions): OpenApprovals {
  const all = new Set<() => void>()
  const approvals = open({
    ...options,
    changed: () => {
      for (const told of all) told()
    },
  })
  followers.set(approvals, all)
  return approvals
}

/** Tells all that waits, and each thing that happens. The answer ends that. */
export function followNews(approvals: Approvals, tell: (news: SeatNews) => void): () => void {
  const all = followers.get(approvals)
  if (all === undefined) throw new Error('these approvals cannot be followed')
  const known = new Map<string, string>()
  const ended = new Set(approvals.ends().flatMap(({ id, ended: how }) => (how === undefined ? [] : [id])))
  let last = approvals.notices().at(-1)?.number ?? 0
  const told = () => {
    const waiting = new Set<string>()
    for (const plan of approvals.waiting()) {
      waiting.add(plan.id)
      const text = JSON.stringify({ ...plan, waited_ms: 0 })
      const preview = approvals.previewOf(plan.id)
      if (known.get(plan.id) === text || preview === undefined) continue
      known.set(plan.id, text)
      const { files: _, ...shown } = preview
      tell({ type: 'plan', plan: { ...plan, ...shown, warnings: plan.warnings } })
    }
    for (const { id, why, ended: how } of approvals.ends()) {
      if (!waiting.has(id) && known.delete(id)) tell({ type: 'settled', id, why })
      if (how === undefined || ended.has(id)) continue
      ended.add(id)
      tell({ type: 'ended', id, ...how })
    }
    for (const { number, text } of approvals.notices()) {
      if (number <= last) continue
      last = number
      tell({ type: 'notice', text })
    }
  }
  all.add(told)
  told()
  return () => void all.delete(told)
}

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
    answering = plan.id
    const answers = answersOf(reply).map(given => seat.answer({ ...named, ...given }))
    answering = undefined
    taken.push(...answers)
    return answers[0] ?? { type: 'unknown' }
  }

  let answering: string | undefined
  const seat = approvals.sit(who)
  const end = followNews(approvals, news => {
    // The seat that answers knows that the plan is settled.
    if (news.type === 'settled' && news.id === answering) return
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
    leave() {
      end()
      seat.leave()
    },
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
