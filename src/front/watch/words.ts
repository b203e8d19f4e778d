import { diffArrays } from 'diff'

/** A piece of a line, in UTF-16 units. */
export interface Range {
  readonly from: number
  readonly to: number
}

/** What of each line changed, in order of the lines; nothing for a line that is another one altogether. */
export interface ChangedWords {
  readonly removed: readonly (readonly Range[])[]
  readonly added: readonly (readonly Range[])[]
}

/** Of longer lines, and of more of them at once, nobody sees the words; and finding them takes long. */
const MOST_CHARS = 4_000
const MOST_LINES = 60
/** How many words may differ for the shortest difference to be sought. */
const MOST_EDITS = 400
/** Of a line of which less stays than this share, no words stand out: all of it is another one. */
const LEAST_ALIKE = 0.3

/** A mark of ours is one word. */
const WORDS = /⟦U\+[0-9A-F]+⟧|[\p{L}\p{M}\p{N}_]+|\s+|./gsu

/**
 * Which words differ between lines that were removed and those that stand in their place: all of them as one text, so
 * that a line may become two. Where that would be too much, lines that pair up by their place are compared alone, and
 * of very long ones nothing is said.
 */
export function changedWords(removed: readonly string[], added: readonly string[]): ChangedWords {
  const none = { removed: removed.map(() => []), added: added.map(() => []) }
  if (removed.length === 0 || added.length === 0) return none
  if (isSmall(removed) && isSmall(added)) return compared(removed, added) ?? none
  if (removed.length !== added.length || removed.length > MOST_PAIRS) return none
  const pairs = removed.map((line, index) => compared([line], [added[index] ?? '']))
  return {
    removed: pairs.map(pair => pair?.removed[0] ?? []),
    added: pairs.map(pair => pair?.added[0] ?? []),
  }
}

/** The most lines of one block whose words are compared: somebody waits for it. */
const MOST_PAIRS = 300

const isSmall = (lines: readonly string[]) =>
  lines.length <= MOST_LINES && lines.reduce((sum, { length }) => sum + length, 0) <= MOST_CHARS

function compared(removed: readonly string[], added: readonly string[]): ChangedWords | undefined {
  if (!isSmall(removed) || !isSmall(added)) return undefined
  const words = (lines: readonly string[]) => lines.join('\n').match(WORDS) ?? []
  const changes = diffArrays(words(removed), words(added), { maxEditLength: MOST_EDITS })
  if (changes === undefined) return undefined
  const [old, fresh] = [new Side(), new Side()]
  for (const { value, added: isAdded, removed: isRemoved } of changes) {
    const text = value.join('')
    if (!isAdded) old.put(text, isRemoved)
    if (!isRemoved) fresh.put(text, isAdded)
  }
  return { removed: old.lines(removed), added: fresh.lines(added) }
}

/** One side, word by word: what of each of its lines changed, and how much of it stayed. */
class Side {
  readonly #changed: Range[][] = [[]]
  readonly #alike: number[] = [0]
  #at = 0

  put(text: string, changed: boolean): void {
    for (const [index, piece] of text.split('\n').entries()) {
      if (index > 0) {
        this.#changed.push([])
        this.#alike.push(0)
        this.#at = 0
      }
      const line = this.#changed.length - 1
      if (changed) this.#add(line, piece.length)
      else this.#alike[line] = (this.#alike[line] ?? 0) + piece.replace(/\s/g, '').length
      this.#at += piece.length
    }
  }

  lines(texts: readonly string[]): Range[][] {
    return texts.map((text, index) => {
      const ink = text.replace(/\s/g, '').length
      const alike = this.#alike[index] ?? 0
      return ink > 0 && alike / ink >= LEAST_ALIKE ? joined(this.#changed[index] ?? [], text) : []
    })
  }

  #add(line: number, length: number): void {
    if (length > 0) this.#changed[line]?.push({ from: this.#at, to: this.#at + length })
  }
}

/** Changed words with nothing but blanks between them are one piece; blanks at its ends say nothing. */
function joined(ranges: readonly Range[], text: string): Range[] {
  const found: Range[] = []
  for (const range of ranges) {
    const last = found.at(-1)
    if (last !== undefined && text.slice(last.to, range.from).trim() === '')
      found[found.length - 1] = { from: last.from, to: range.to }
    else found.push(range)
  }
  return found.map(({ from, to }) => {
    const piece = text.slice(from, to)
    const begin = piece.length - piece.trimStart().length
    return piece.trim() === '' ? { from, to } : { from: from + begin, to: from + piece.trimEnd().length }
  })
}
