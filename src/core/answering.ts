import type { CodedAnswer, SeatAnswer, Taken } from './approvals.ts'
import type { Audience, Seated } from './audience.ts'
import { approvedInWords, type ClientSaid } from './client-asking.ts'
import { answerOf, didOf, misfitOf } from './given-answers.ts'
import type { Pattern } from './grant-patterns.ts'
import type { Granting } from './granting.ts'
import type { Journal } from './journal.ts'
import type { Plan } from './plan.ts'
import type { PlanCodes } from './plan-codes.ts'
import type { Waiting, WaitingPlans } from './waiting-plans.ts'

export interface AnsweringOptions {
  readonly plans: WaitingPlans
  readonly audience: Audience
  readonly granting: Granting
  readonly codes: PlanCodes
  readonly journal: Pick<Journal, 'later'>
}

/** Answers from wherever one can come, each weighed by where that is. */
export interface Answering {
  onSeat(seat: Seated, given: SeatAnswer): Taken
  withCode(given: CodedAnswer): Taken
  /** What comes when the plan is settled, or too old, changes nothing any more. */
  byClient(one: Waiting, who: string, said: ClientSaid): void
}

export function openAnswering({ plans, audience, granting, codes, journal }: AnsweringOptions): Answering {
  /** From now on, and for what waits already. */
  function grant(seat: Seated, plan: Plan, pattern: Pattern): void {
    granting.give(seat, plan, pattern)
    for (const one of plans.all()) {
      const answer = one.patterns.length > 0 ? granting.letThrough(one.plan, one.preview) : undefined
      if (answer?.type === 'approved')
        plans.settle(one, answer, { why: `It is let through by ${answer.by}.` })
    }
  }

  return {
    onSeat(seat, given) {
      if (!audience.has(seat)) return { type: 'unknown' }
      const one = plans.open(given.plan)
      if ('type' in one) return one
      if (given.hash !== one.plan.hash) return { type: 'wrong_hash' }
      const misfit = misfitOf(one.plan, given, one.preview.grants)
      if (misfit !== undefined) return { type: 'unfit', why: misfit }
      codes.answeredOnSeat()
      const why = `${seat.listener.who} ${didOf(given)}.`
      plans.settle(one, answerOf(given, seat.id), { why, except: seat })
      const pattern = one.patterns.find(({ text }) => text === given.grant)
      if (pattern !== undefined) grant(seat, one.plan, pattern)
      return { type: 'taken' }
    },
    withCode(given) {
      const one = plans.open(given.plan)
      if ('type' in one) return one
      const before = one.code.text
      if (!one.code.isRight(given.code)) {
        if (one.code.text !== before) audience.tellAll(() => plans.newsOf(one))
        return { type: 'wrong_code' }
      }
      const by = `code of ${given.plan}`
      plans.settle(one, answerOf(given, by), { why: `A script that had its code ${didOf(given)}.` })
      return { type: 'taken' }
    },
    byClient(one, who, said) {
      const { plan, preview } = one
      if ('type' in plans.open(plan.id)) return
      if (said.type === 'nothing' && said.doubted !== undefined) {
        journal.later({ type: 'seat', what: 'doubted', seat: null, who, why: said.doubted })
        audience.notice(`${who}: ${said.doubted}`)
      }
      if (said.type !== 'answer' && audience.size > 0) return
      plans.settle(one, said.answer, { why: said.why, at: 'client' })
      if (said.answer.type === 'approved')
        audience.notice(approvedInWords({ who, title: preview.title, plan }))
    },
  }
}
