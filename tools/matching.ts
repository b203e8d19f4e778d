/** Where a text occurs in a line: literally, for a pattern of a model's own could take a machine for good. */

export interface Wanted {
  readonly text: string
  readonly ignoreCase: boolean
  readonly wholeWord: boolean
}

export interface Place {
  /** The first UTF-16 unit of it, from 0. */
  readonly at: number
  readonly length: number
}

export interface Matcher {
  /** The first place at or after `from`. What it costs grows with the line, whatever the text and the line are. */
  first(line: string, from?: number): Place | undefined
  /** A text that a file holds to the letter where it occurs; null where none is known. */
  readonly holding: string | null
}

/** A text up to this length the engine looks for; of a longer one its beginning is what a file has to hold. */
const SHORT = 32

export function openMatcher({ text, ignoreCase, wholeWord }: Wanted): Matcher {
  const fits = wholeWord ? isWord : () => true
  const isEasy = !ignoreCase && !wholeWord && text.length <= SHORT
  return {
    holding: ignoreCase ? null : text.slice(0, whole(text, SHORT)),
    first: isEasy
      ? (line, from = 0) => placeAt(line.indexOf(text, from), text)
      : finder(text, { ignoreCase, fits }),
  }
}

const placeAt = (at: number, { length }: string): Place | undefined =>
  at === -1 ? undefined : { at, length }

interface Seeking {
  readonly ignoreCase: boolean
  fits(line: string, place: Place): boolean
}

/** As Knuth, Morris and Pratt: each unit of a line is looked at once, also by a text that almost occurs everywhere. */
function finder(text: string, { ignoreCase, fits }: Seeking): Matcher['first'] {
  const unitAt = ignoreCase ? foldedUnit : (line: string, at: number) => line.charCodeAt(at)
  const { length } = text
  const wanted = Uint16Array.from({ length }, (_, at) => unitAt(text, at))
  const borders = bordersOf(wanted)
  return (line, from = 0) => {
    let met = 0
    for (let at = from; at < line.length; at++) {
      const unit = unitAt(line, at)
      while (met > 0 && unit !== wanted[met]) met = borders[met - 1] ?? 0
      if (unit === wanted[met]) met++
      if (met < length) continue
      const place = { at: at + 1 - length, length }
      if (fits(line, place)) return place
      met = borders[met - 1] ?? 0
    }
    return undefined
  }
}

/** For each beginning of a text the length of its longest end, shorter than itself, that the text begins with too. */
function bordersOf(units: Uint16Array): Uint16Array {
  const borders = new Uint16Array(units.length)
  for (let at = 1, met = 0; at < units.length; at++) {
    while (met > 0 && units[at] !== units[met]) met = borders[met - 1] ?? 0
    if (units[at] === units[met]) met++
    borders[at] = met
  }
  return borders
}

/** Of each unit that stands for itself, what it is folded to, and 0 while that was not asked. */
const FOLDED = new Uint16Array(0x1_0000)

/** Upper and lower case as Unicode folds single characters; a letter and two that stand for it stay different. */
function foldedUnit(text: string, at: number): number {
  const unit = text.charCodeAt(at)
  if (unit >= 0xd800 && unit < 0xe000) return foldedHalf(text, at)
  const known = FOLDED[unit] ?? 0
  if (known !== 0) return known
  const folded = foldedCharacter(text.charAt(at)).charCodeAt(0)
  FOLDED[unit] = folded
  return folded
}

/** Characters of two units fold to such, so that lengths stay. */
function foldedHalf(text: string, at: number): number {
  const begin = whole(text, at)
  const character = after(text, begin)
  const folded = foldedCharacter(character)
  return (folded.length === character.length ? folded : character).charCodeAt(at - begin)
}

/** Folded by Unicode otherwise than by way of their upper case: the dotless i is no case of I. */
const APART: ReadonlyMap<string, string> = new Map([
  ['\u0131', '\u0131'],
  ['\u1fd3', '\u0390'],
  ['\u1fe3', '\u03b0'],
  ['\ufb05', '\ufb06'],
])

function foldedCharacter(character: string): string {
  const apart = APART.get(character)
  if (apart !== undefined) return apart
  const upper = character.toUpperCase()
  const single = upper.length === character.length ? upper : character
  const lower = single.toLowerCase()
  return lower.length === character.length ? lower : single
}

const WORD = /[\p{L}\p{M}\p{N}_]/u

/** Whether it is no part of a longer word: where it begins or ends with a part of a word, none stands beside it. */
function isWord(line: string, { at, length }: Place): boolean {
  const [first, last] = [after(line, at), before(line, at + length)]
  const opens = !WORD.test(first) || !WORD.test(before(line, at))
  return opens && (!WORD.test(last) || !WORD.test(after(line, at + length)))
}

const after = (line: string, at: number): string => {
  const point = line.codePointAt(at)
  return point === undefined ? '' : String.fromCodePoint(point)
}

const before = (line: string, at: number): string => {
  const last = line.charCodeAt(at - 1)
  return at <= 0 ? '' : line.slice(last >= 0xdc00 && last < 0xe000 ? at - 2 : at - 1, at)
}

/** Characters of a line that are shown, and of those before a place in it. */
const LINE_SHOWN = 240
const BEFORE_PLACE = 80

/** A line, or of a long one what is around the place, with `…` where it was cut. */
export function around(line: string, place: Place | undefined): { text: string; cut: boolean } {
  if (line.length <= LINE_SHOWN) return { text: line, cut: false }
  const from = whole(line, Math.max(0, Math.min((place?.at ?? 0) - BEFORE_PLACE, line.length - LINE_SHOWN)))
  const to = whole(line, Math.min(line.length, from + LINE_SHOWN))
  return { text: `${from > 0 ? '…' : ''}${line.slice(from, to)}${to < line.length ? '…' : ''}`, cut: true }
}

/** That place, or the one before it where it is in the middle of a character. */
function whole(line: string, at: number): number {
  const unit = line.charCodeAt(at)
  return at > 0 && unit >= 0xdc00 && unit < 0xe000 ? at - 1 : at
}
