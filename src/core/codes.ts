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
