import type { Audience, Seated } from './audience.ts'
import type { Clock } from './clock.ts'
import { escapePlanLine } from './escape.ts'
import { saidBy } from './given-answers.ts'
import type { Journal } from './journal.ts'
import { type AnsweredAt, openPauses, type Pauses, pauseInWords } from './pauses.ts'
import type { Answer, Plan } from './plan.ts'
import type { Turns } from './turns.ts'

export interface PausingOptions {
  readonly clock: Clock
  readonly turns: Pick<Turns, 'refused'>
  readonly journal: Pick<Journal, 'later'>
  readonly audience: Audience
}

/** Pauses, each begun and lifted before the eyes of whoever sits, and written down. */
export interface Pausing extends Pick<Pauses, 'paused' | 'list'> {
  /** What people say no to, and who is let be for a while by it. A turn that is refused is one refusal. */
  answered(plan: Plan, answer: Answer, at: AnsweredAt): void
  /** Somebody takes a seat, who may be asked whatever there is: all pauses are over. */
  sits(): void
  /** Somebody who sits ends all pauses; how many there were. */
  lift(seat: Seated): number
}

export function openPausing({ clock, turns, journal, audience }: PausingOptions): Pausing {
  const pauses = openPauses(clock)

  return {
    paused: origin => pauses.paused(origin),
    list: () => pauses.list(),
    answered(plan, answer, at) {
      const said = saidBy(answer)
      if (said === 'yes') pauses.approved(plan.origin, at)
      if (said !== 'no' || !turns.refused(plan)) return
      const who = escapePlanLine(plan.who)
      const paused = pauses.refused({ origin: plan.origin, who }, at)
      if (paused === undefined) return
      const why = pauseInWords(paused, who)
      journal.later({ type: 'seat', what: 'paused', seat: null, who, why })
      audience.notice(why)
    },
    sits: () => void pauses.lift(),
    lift({ id: seat, listener: { who } }) {
      const lifted = pauses.lift()
      if (lifted === 0) return 0
      journal.later({ type: 'seat', what: 'lifted', seat, who, why: null })
      audience.notice(`${who} wants to be asked again: no caller is kept waiting any more.`)
      return lifted
    },
  }
}
