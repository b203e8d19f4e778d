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
  /** The first place at or after `from`. What it costs grows with the line times the text, and no faster. */
  first(line: string, from?: number): Place | undefined
  /** What a file holds in which it occurs, to the letter; null where that is not known. */
  readonly holding: string | null
}

export function openMatcher({ text, ignoreCase, wholeWord }: Wanted): Matcher {
  const find = ignoreCase ? foldedFinder(text) : exactFinder(text)
  return {
    holding: ignoreCase ? null : text,
    first(line, from = 0) {
      for (let place = find(line, from); place !== undefined; place = find(line, place.at + 1))
        if (!wholeWord || isWord(line, place)) return place
      return undefined
    },
  }
}

type Finder = (line: string, from: number) => Place | undefined

function exactFinder(text: string): Finder {
  return (line, from) => {
    const at = line.indexOf(text, from)
    return at === -1 ? undefined : { at, length: text.length }
  }
}

/** Upper and lower case as Unicode folds single characters; a letter and two that stand for it stay different. */
function foldedFinder(text: string): Finder {
  const literal = new RegExp(text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), 'giu')
  return (line, from) => {
    literal.lastIndex = from
    const found = literal.exec(line)
    return found === null ? undefined : { at: found.index, length: found[0].length }
  }
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
