import { isSameCode, NO_CODE_WORKS, newCode, WRONG_FOR_ONE, WRONG_IN_ALL } from './codes.ts'

/** The code of one plan. */
export interface PlanCode {
  /** Empty once too many wrong ones were tried. */
  readonly text: string
  /** Whether that is it, and codes work. One that is not ends this code, or all of them, sooner or later. */
  isRight(given: string): boolean
  /** What there is to know of codes that ended, for whoever is shown the plan. */
  warnings(): readonly string[]
}

export interface PlanCodesOptions {
  /** A whole number from 0 and below the limit, that nobody can guess. */
  randomness(limit: number): number
  /** Called when codes end to work, with why: that of the one plan, or of all. */
  ended(of: 'plan' | 'all', why: string): void
}

/** The codes of plans, each for one of them, and how many wrong ones may be tried. */
export interface PlanCodes {
  draw(plan: string): PlanCode
  /** A plan was answered on a seat: codes work again. */
  answeredOnSeat(): void
}

export function openPlanCodes({ randomness, ended }: PlanCodesOptions): PlanCodes {
  /** Since a seat answered last. */
  let wrongInAll = 0
  const work = () => wrongInAll < WRONG_IN_ALL

  return {
    draw(plan) {
      let text = newCode(randomness)
      let wrong = 0
      return {
        get text() {
          return text
        },
        isRight(given) {
          if (text !== '' && work() && isSameCode(text, given)) return true
          if (++wrong === WRONG_FOR_ONE) {
            text = ''
            ended('plan', `${WRONG_FOR_ONE} wrong codes were tried for ${plan}`)
          }
          if (++wrongInAll === WRONG_IN_ALL) ended('all', NO_CODE_WORKS)
          return false
        },
        warnings: () => [...(text === '' ? [ENDED] : []), ...(work() ? [] : [NO_CODE_WORKS])],
      }
    },
    answeredOnSeat() {
      wrongInAll = 0
    },
  }
}

const ENDED = `${WRONG_FOR_ONE} wrong codes were tried for this plan. It can be answered on a seat alone.`
