import { graphemesOf, nextBoundary, previousBoundary, widthOf } from './layout.ts'
import type { Key } from './tty.ts'

/** Text that is being written, and where in it the cursor stands. All functions here are pure. */
export interface Edit {
  readonly text: string
  /** An index into `text`, always between two of what a person sees as characters. */
  readonly cursor: number
}

export const EMPTY: Edit = { text: '', cursor: 0 }

export const atEnd = (text: string): Edit => ({ text, cursor: text.length })

function insert({ text, cursor }: Edit, added: string): Edit {
  return { text: text.slice(0, cursor) + added + text.slice(cursor), cursor: cursor + added.length }
}

/** Without what lies between the cursor and `to`. */
function removed({ text, cursor }: Edit, to: number): Edit {
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

type Motion = keyof typeof MOTIONS

const moved = (edit: Edit, motion: Motion): Edit => ({ ...edit, cursor: MOTIONS[motion](edit) })

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
function transposed(edit: Edit): Edit {
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
function recased(edit: Edit, how: 'upper' | 'lower' | 'capital'): Edit {
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

/** Writes one text with the keys of emacs, of which it remembers what was cut out and how the text was before. */
export class Writer {
  #edit: Edit = EMPTY
  #undo: Edit[] = []
  #doing: 'writing' | 'killing' | 'yanking' | 'other' = 'other'
  readonly #killed: string[] = []
  #yanked = { from: 0, index: 0 }

  get edit(): Edit {
    return this.#edit
  }

  /** Begins a new text. What was cut out of others can still be put in. */
  begin(edit: Edit): void {
    this.#edit = edit
    this.#undo = []
    this.#doing = 'other'
  }

  /** Another text in its place, which can be undone. */
  change(edit: Edit): void {
    this.#keep('other')
    this.#edit = edit
  }

  /** What was pasted, or put in by a command. */
  insert(text: string): void {
    this.change(insert(this.#edit, text))
  }

  /** What is typed; a word of it is undone at once. */
  type(text: string): void {
    for (const piece of text.match(/\s+|\S+/g) ?? []) {
      this.#keep(/^\s/.test(piece) ? 'other' : 'writing')
      this.#edit = insert(this.#edit, piece)
    }
  }

  /** Does what the key is for, if it is one of these. */
  press(name: string): boolean {
    const command = KEYS[name]
    command?.(this)
    return command !== undefined
  }

  move(motion: Motion): void {
    this.moveTo(moved(this.#edit, motion))
  }

  moveTo(edit: Edit): void {
    this.#doing = 'other'
    this.#edit = edit
  }

  /** Takes away what lies between the cursor and where the motion leads. */
  erase(motion: Motion): void {
    const to = MOTIONS[motion](this.#edit)
    if (to !== this.#edit.cursor) this.change(removed(this.#edit, to))
  }

  /** The same, and it can be put in again. What is cut out in a row stays together. */
  kill(motion: Motion): void {
    const { text, cursor } = this.#edit
    let to = MOTIONS[motion](this.#edit)
    // At the end of a line, what ends it.
    if (motion === 'lineEnd' && to === cursor && cursor < text.length) to = cursor + 1
    if (to === cursor) return
    const goesOn = this.#doing === 'killing'
    this.#keep('killing')
    const cut = text.slice(Math.min(cursor, to), Math.max(cursor, to))
    const before = goesOn ? (this.#killed.pop() ?? '') : ''
    this.#killed.push(to < cursor ? cut + before : before + cut)
    if (this.#killed.length > KILLED) this.#killed.shift()
    this.#edit = removed(this.#edit, to)
  }

  yank(): void {
    this.#putIn(this.#killed.length - 1, this.#edit)
  }

  /** What was cut out before that, in place of what was just put in. */
  yankEarlier(): void {
    if (this.#doing !== 'yanking') return
    const { from, index } = this.#yanked
    const earlier = (index + this.#killed.length - 1) % this.#killed.length
    this.#putIn(earlier, removed(this.#edit, from))
  }

  undo(): void {
    const before = this.#undo.pop()
    if (before !== undefined) this.#edit = before
    this.#doing = 'other'
  }

  #putIn(index: number, into: Edit): void {
    const text = this.#killed[index]
    if (text === undefined) return
    this.#keep('yanking')
    this.#yanked = { from: into.cursor, index }
    this.#edit = insert(into, text)
  }

  #keep(doing: 'writing' | 'killing' | 'yanking' | 'other'): void {
    if (doing === 'other' || doing !== this.#doing) {
      this.#undo.push(this.#edit)
      if (this.#undo.length > UNDONE) this.#undo.shift()
    }
    this.#doing = doing
  }
}

const KILLED = 60
const UNDONE = 1_000

type Command = (writer: Writer) => void

const to =
  (motion: Motion): Command =>
  writer =>
    writer.move(motion)
const erase =
  (motion: Motion): Command =>
  writer =>
    writer.erase(motion)
const kill =
  (motion: Motion): Command =>
  writer =>
    writer.kill(motion)

const KEYS: Readonly<Record<string, Command>> = {
  left: to('left'),
  'ctrl-b': to('left'),
  right: to('right'),
  'ctrl-f': to('right'),
  'alt-b': to('wordLeft'),
  'alt-left': to('wordLeft'),
  'ctrl-left': to('wordLeft'),
  'alt-f': to('wordRight'),
  'alt-right': to('wordRight'),
  'ctrl-right': to('wordRight'),
  home: to('lineStart'),
  'ctrl-a': to('lineStart'),
  end: to('lineEnd'),
  'ctrl-e': to('lineEnd'),
  'alt-m': to('textStart'),
  'alt-<': to('start'),
  'ctrl-home': to('start'),
  'alt->': to('end'),
  'ctrl-end': to('end'),
  backspace: erase('left'),
  'shift-backspace': erase('left'),
  delete: erase('right'),
  'ctrl-d': erase('right'),
  'ctrl-k': kill('lineEnd'),
  'ctrl-u': kill('lineStart'),
  'ctrl-w': kill('blankLeft'),
  'alt-backspace': kill('wordLeft'),
  'ctrl-backspace': kill('wordLeft'),
  'alt-d': kill('wordRight'),
  'alt-delete': kill('wordRight'),
  'ctrl-delete': kill('wordRight'),
  'ctrl-y': writer => writer.yank(),
  'alt-y': writer => writer.yankEarlier(),
  // At the console, Ctrl-T shows what waits for an approval.
  'ctrl-t': writer => writer.change(transposed(writer.edit)),
  'alt-t': writer => writer.change(transposed(writer.edit)),
  'alt-u': writer => writer.change(recased(writer.edit, 'upper')),
  'alt-l': writer => writer.change(recased(writer.edit, 'lower')),
  'alt-c': writer => writer.change(recased(writer.edit, 'capital')),
  'ctrl-_': writer => writer.undo(),
  'ctrl-x ctrl-u': writer => writer.undo(),
}

/** What came of a key. */
type LineResult =
  | { readonly type: 'written' }
  | { readonly type: 'entered'; readonly text: string }
  /** Nothing is to come of it. */
  | { readonly type: 'dropped' }

/** What Enter does with a line. */
export type Enters = 'sends it' | 'takes it' | 'searches'

/** One line that a person writes, with the keys of emacs. */
export class LineInput {
  /** Stands in front of it. */
  readonly prompt: string
  readonly enters: Enters
  readonly #writer = new Writer()

  constructor(prompt: string, enters: Enters = 'sends it') {
    this.prompt = prompt
    this.enters = enters
  }

  get edit(): Edit {
    return this.#writer.edit
  }

  press(key: Key): LineResult {
    if (key.type === 'text') this.#writer.type(key.text)
    // Its line ends do not send it.
    else if (key.type === 'paste') this.#writer.insert(inOneLine(key.text))
    else if (key.name === 'enter' || key.name === 'ctrl-j')
      return { type: 'entered', text: this.edit.text.trim() }
    else if (key.name === 'escape' || key.name === 'ctrl-c' || key.name === 'ctrl-g')
      return { type: 'dropped' }
    else if (key.name === 'ctrl-d' && this.edit.text === '') return { type: 'dropped' }
    else this.#writer.press(key.name)
    return { type: 'written' }
  }
}

const inOneLine = (text: string): string =>
  text
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '')
    .join(' ')
