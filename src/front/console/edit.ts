import { graphemesOf, nextBoundary, previousBoundary, widthOf } from './width.ts'

/** Text that is being written, and where in it the cursor stands. All functions here are pure. */
export interface Edit {
  readonly text: string
  /** An index into `text`, always between two of what a person sees as characters. */
  readonly cursor: number
}

export const EMPTY: Edit = { text: '', cursor: 0 }

export const atEnd = (text: string): Edit => ({ text, cursor: text.length })

export function insert({ text, cursor }: Edit, added: string): Edit {
  return { text: text.slice(0, cursor) + added + text.slice(cursor), cursor: cursor + added.length }
}

/** Without what lies between the cursor and `to`. */
export function removed({ text, cursor }: Edit, to: number): Edit {
  const [from, until] = to < cursor ? [to, cursor] : [cursor, to]
  return { text: text.slice(0, from) + text.slice(until), cursor: from }
}

/** Where each motion leads. */
export const MOTIONS = {
  left: ({ text, cursor }: Edit) => previousBoundary(text, cursor),
  right: ({ text, cursor }: Edit) => (cursor < text.length ? nextBoundary(text, cursor) : cursor),
  lineStart: ({ text, cursor }: Edit) => text.lastIndexOf('\n', cursor - 1) + 1,
  lineEnd: ({ text, cursor }: Edit) => {
    const end = text.indexOf('\n', cursor)
    return end < 0 ? text.length : end
  },
  /** The first character of the line that is no blank, or the beginning of the line from there. */
  textStart: (edit: Edit) => {
    const start = MOTIONS.lineStart(edit)
    const first = start + (/^[ \t]*/.exec(edit.text.slice(start))?.[0].length ?? 0)
    return edit.cursor === first ? start : first
  },
  start: () => 0,
  end: ({ text }: Edit) => text.length,
  wordLeft: ({ text, cursor }: Edit) => back(text, cursor, WORD),
  wordRight: ({ text, cursor }: Edit) => {
    const rest = text.slice(cursor)
    return cursor + (/^[^\p{L}\p{N}_]*[\p{L}\p{N}\p{M}_]*/u.exec(rest)?.[0].length ?? 0)
  },
  /** As a shell counts words: whatever has no blank in it. */
  blankLeft: ({ text, cursor }: Edit) => back(text, cursor, /\S/),
} as const

export type Motion = keyof typeof MOTIONS

export const moved = (edit: Edit, motion: Motion): Edit => ({ ...edit, cursor: MOTIONS[motion](edit) })

const WORD = /[\p{L}\p{N}\p{M}_]/u

/** Before the characters of that kind that lie nearest before `from`. */
function back(text: string, from: number, kind: RegExp): number {
  let at = from
  while (at > 0 && !kind.test(text.slice(previousBoundary(text, at), at))) at = previousBoundary(text, at)
  while (at > 0 && kind.test(text.slice(previousBoundary(text, at), at))) at = previousBoundary(text, at)
  return at
}

/** The line above or below, as near to `column` as it has one; undefined where there is none. */
export function lineBeside(edit: Edit, { by, column }: { by: -1 | 1; column: number }): Edit | undefined {
  const start = MOTIONS.lineStart(edit)
  const end = MOTIONS.lineEnd(edit)
  if (by === -1 && start === 0) return undefined
  if (by === 1 && end === edit.text.length) return undefined
  const from = by === -1 ? edit.text.lastIndexOf('\n', start - 2) + 1 : end + 1
  const line = edit.text.slice(from, MOTIONS.lineEnd({ text: edit.text, cursor: from }))
  let at = 0
  let taken = 0
  for (const { text, columns } of graphemesOf(line)) {
    if (taken + columns > column) break
    at += text.length
    taken += columns
  }
  return { text: edit.text, cursor: from + at }
}

/** The columns before the cursor in its line. */
export const columnOf = (edit: Edit): number => widthOf(edit.text.slice(MOTIONS.lineStart(edit), edit.cursor))

/** Swaps the characters around the cursor, or the last two at the end of a line. */
export function transposed(edit: Edit): Edit {
  const { text } = edit
  const start = MOTIONS.lineStart(edit)
  const middle = edit.cursor === MOTIONS.lineEnd(edit) ? previousBoundary(text, edit.cursor) : edit.cursor
  if (middle <= start || middle >= text.length) return edit
  const before = previousBoundary(text, middle)
  const after = nextBoundary(text, middle)
  return {
    text: text.slice(0, before) + text.slice(middle, after) + text.slice(before, middle) + text.slice(after),
    cursor: after,
  }
}

/** The next word, and the cursor behind it, in upper or lower letters or with one large one. */
export function recased(edit: Edit, how: 'upper' | 'lower' | 'capital'): Edit {
  const end = MOTIONS.wordRight(edit)
  const word = edit.text.slice(edit.cursor, end)
  const changed =
    how === 'upper'
      ? word.toUpperCase()
      : how === 'lower'
        ? word.toLowerCase()
        : word.toLowerCase().replace(/[\p{L}\p{N}]/u, first => first.toUpperCase())
  return {
    text: edit.text.slice(0, edit.cursor) + changed + edit.text.slice(end),
    cursor: edit.cursor + changed.length,
  }
}
