import { timingSafeEqual } from 'node:crypto'

/** Digits and letters of base 32 as Crockford has it: none of them looks like another. */
const LETTERS = '0123456789abcdefghjkmnpqrstvwxyz'
const GROUPS = 4
const GROUP_LETTERS = 4

/**
 * A code that cannot be guessed, of 80 random bits: `k7mp-3xqr-9tfw-2hjd`. `randomness` draws a whole number from 0
 * and below its limit.
 */
export function newCode(randomness: (limit: number) => number): string {
  const letter = () => LETTERS[randomness(LETTERS.length)]
  const group = () => Array.from({ length: GROUP_LETTERS }, letter).join('')
  return Array.from({ length: GROUPS }, group).join('-')
}

/**
 * Whether a code was given as it was typed: capitals count as small letters, hyphens and blanks for nothing, and
 * letters that look like digits as those. Takes as long whatever the difference is.
 */
export function isSameCode(code: string, given: string): boolean {
  const [one, other] = [Buffer.from(plain(code)), Buffer.from(plain(given))]
  return one.length === other.length && timingSafeEqual(one, other)
}

const plain = (code: string) =>
  code.toLowerCase().replace(/[\s-]/g, '').replace(/o/g, '0').replace(/[il]/g, '1')

/** Wrong codes after which one plan can be answered on a seat alone. */
export const WRONG_FOR_ONE = 3
/** Wrong codes, of whatever plans, after which none is taken until somebody on a seat answers a plan. */
export const WRONG_IN_ALL = 10

/** For those who sit. */
export const NO_CODE_WORKS = `${WRONG_IN_ALL} wrong codes were tried. No code works until a plan is answered on a seat.`

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
