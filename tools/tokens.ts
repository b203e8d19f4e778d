/**
 * How many tokens a text costs a model at most, without a tokenizer. What tokenizers have words for, which is letters
 * that often follow each other, is told from what they cut into pieces; all else costs what it does at worst.
 */

/**
 * Tokens of one answer, its text and its data together. Hosts cut answers, or warn of them, at 10,000; some pass them
 * on as JSON, so that escapes are counted too.
 */
export const ANSWER_TOKENS = 8_200

/** Tokens of a page of a list, or of one piece of a long text: an answer has room for it and for what is said besides. */
export const PAGE_TOKENS = 7_400

/** At most so many tokens; counting ends as soon as there are more than `enough`. */
export function tokensAtMost(text: string, enough = Number.POSITIVE_INFINITY): number {
  const cost = openCost(text)
  let tokens = 0
  for (let at = 0; at < text.length && tokens <= enough; at++) tokens += cost(at)
  return tokens
}

/** The first characters of a text that fit into so many tokens, with no character cut in two. */
export function beginningWithin(text: string, tokens: number): string {
  const cost = openCost(text)
  let left = tokens
  for (let at = 0; at < text.length; at++) {
    left -= cost(at)
    if (left < 0) return text.slice(0, isPairAt(text, at - 1) ? at - 1 : at)
  }
  return text
}

/** The last characters of a text that fit into so many tokens, with no character cut in two. */
export function endingWithin(text: string, tokens: number): string {
  // A token has at most some hundred characters, so that what is left of the beginning is never looked at for nothing.
  const end = text.slice(-tokens * 16)
  const over = tokensAtMost(end) - tokens
  if (over <= 0) return end
  const from = beginningWithin(end, over).length + 1
  return end.slice(isPairAt(end, from - 1) ? from + 1 : from)
}

const [OTHER, SPACE, DIGIT, LOWER, UPPER, MARK] = [0, 1, 2, 3, 4, 5]

const KINDS = Uint8Array.from({ length: 128 }, (_, code) => {
  if (code === 0x20) return SPACE
  if (isBetween(code, 0x30, 0x3a)) return DIGIT
  if (isBetween(code, 0x61, 0x7b)) return LOWER
  if (isBetween(code, 0x41, 0x5b)) return UPPER
  return isBetween(code, 0x21, 0x7f) ? MARK : OTHER
})

/** The letters that often follow each letter, which stands first: 95 of 100 pairs in English and in code. */
const PAIRS =
  'abcdgiklmnprstuy baeoy caehklort daeilos eabcdefglmnprstvwx faiortu geioru haeior icdefglmnorstv jo keis ' +
  'ladefilostuy mabeiops nacdegiklnostu obcdefgiklmnoprstuvw paeiloprtu racdeginorstuy sacehikopstuwy tacehiorstuy ' +
  'uaelmnprst vae waehino xpt yps'

const USUAL = new Uint8Array(1024)

for (const [first = '', ...followers] of PAIRS.split(' '))
  for (const letter of followers) USUAL[pairOf(first.charCodeAt(0), letter.charCodeAt(0))] = 1

/** Of two letters, whichever their case. */
function pairOf(first: number, second: number): number {
  return ((first & 31) << 5) | (second & 31)
}

/** Letters without anything between them that are more than any word has. */
const LONGEST_WORD = 20

const [BACKSLASH, QUOTE] = [0x5c, 0x22]

/** What each character costs, asked in their order: it depends on those before. */
function openCost(text: string): (at: number) => number {
  let before = OTHER
  let code = 0
  let letters = 0
  let spaces = 0
  return at => {
    const last = code
    code = text.charCodeAt(at)
    const kind = code < 128 ? (KINDS[code] ?? OTHER) : OTHER
    const former = before
    before = kind
    letters = kind === LOWER || kind === UPPER ? letters + 1 : 0
    spaces = kind === SPACE ? spaces + 1 : 0
    switch (kind) {
      case SPACE:
        return spaces === 1 ? 0.25 : spaces === 2 ? 0.75 : 0.1
      case DIGIT:
        return former === DIGIT ? 0.34 : former === SPACE ? 1.8 : 1
      case LOWER:
        if (former !== LOWER && former !== UPPER) return 0.96
        if (letters > LONGEST_WORD) return 0.55
        return USUAL[pairOf(last, code)] === 1 ? 0.12 : 0.8
      case UPPER:
        return former === UPPER ? 0.6 : 0.96
      case MARK:
        if (code === BACKSLASH || code === QUOTE) return 1.4
        return former === MARK ? 0.75 : 1
      default:
        return otherCost(text, at, code)
    }
  }
}

/** Few characters of other alphabets have tokens of their own; where a script has many, most take two. */
function otherCost(text: string, at: number, code: number): number {
  if (code < 0x20) return isBetween(code, 0x09, 0x0e) ? 1.4 : 4
  if (code < 0x0100 || SPOKEN.some(([first, after]) => isBetween(code, first, after))) return 1.45
  if (isBetween(code, 0x4e00, 0xa000) || isBetween(code, 0x2500, 0x25a0)) return 2.1
  if (isBetween(code, 0xac00, 0xd7b0)) return 2.4
  if (isBetween(code, 0xd800, 0xe000)) return isPairAt(text, at) || isPairAt(text, at - 1) ? 2.1 : 5
  return 3
}

/** Greek, Cyrillic, Hebrew and Arabic, Thai, kana: a token a character at most. */
const SPOKEN = [
  [0x0390, 0x03d0],
  [0x0410, 0x0450],
  [0x05d0, 0x0670],
  [0x0e00, 0x0e60],
  [0x3040, 0x3100],
] as const

function isBetween(code: number, first: number, after: number): boolean {
  return code >= first && code < after
}

/** Whether the two halves of one character stand there. */
function isPairAt(text: string, at: number): boolean {
  return (text.charCodeAt(at) & 0xfc00) === 0xd800 && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00
}
