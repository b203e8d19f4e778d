import { widthOf } from './layout.ts'
import { atEnd, columnOf, type Edit, EMPTY, lineBeside, MOTIONS, Writer } from './line.ts'
import type { Syntax } from './syntax.ts'
import type { Key } from './tty.ts'

/** What a key has asked for that the editor cannot do by itself. */
export type Wish =
  /** The text is to be run. */
  | { readonly type: 'run'; readonly text: string }
  /** What was being written is given up. */
  | { readonly type: 'drop' }
  | { readonly type: 'end' }
  | { readonly type: 'complete' }
  | { readonly type: 'suspend' }
  | { readonly type: 'clear' }
  /** The person's own editor, for the text. */
  | { readonly type: 'write elsewhere' }

/** The call that the cursor stands in, as it is shown below. */
export interface Callee {
  readonly name: string
  readonly signature: string
  readonly parameter: number | null
}

interface EditorOptions {
  readonly syntax: Syntax
  /** What was entered before, oldest first. */
  readonly history: () => readonly string[]
  /** The columns of the terminal. */
  readonly columns: () => number
  /** Whether what was entered before is offered in dim letters. */
  readonly suggests: boolean
}

/** Writes one entry after the other: code of one or more lines, or a command. No terminal is needed for it. */
export class Editor {
  readonly #options: EditorOptions
  readonly #writer = new Writer()
  readonly #recall: Recall
  #search: Search | undefined
  #menu: Menu | undefined
  #callee: Callee | undefined
  #suggestion = ''
  /** The text has come as a whole, and was not touched since. */
  #whole = false
  /** The column that going up and down tries to keep. */
  #column: number | undefined
  #prefix = ''

  constructor(options: EditorOptions) {
    this.#options = options
    this.#recall = new Recall(options.history)
  }

  get edit(): Edit {
    return this.#search?.edit ?? this.#menu?.result ?? this.#writer.edit
  }

  get search(): Search | undefined {
    return this.#search
  }

  get menu(): Menu | undefined {
    return this.#menu
  }

  get callee(): Callee | undefined {
    return this.#callee
  }

  /** How an earlier entry goes on that begins with this text. */
  get suggestion(): string {
    return this.#search === undefined && this.#menu === undefined ? this.#suggestion : ''
  }

  /** An empty text, or another one that has come as a whole. */
  begin(text = ''): void {
    this.#writer.begin(text === '' ? EMPTY : atEnd(text))
    this.#recall.forget()
    this.#search = this.#menu = this.#callee = this.#column = undefined
    this.#suggestion = this.#prefix = ''
    this.#whole = text !== ''
  }

  press(key: Key): Wish | undefined {
    const before = this.#writer.edit
    const wish = this.#pressed(key)
    const { text, cursor } = this.#writer.edit
    if (text !== before.text) this.#menu = this.#menu?.narrowed(this.#writer.edit)
    const atTheEnd = this.#options.suggests && cursor === text.length
    this.#suggestion = atTheEnd ? this.#recall.suggestion(text) : ''
    return wish
  }

  /** Ways to go on, found for the text as it is. What they share is written at once. */
  offer(offers: Offers): void {
    const { edit } = this.#writer
    const texts = offers.offers.map(({ text }) => text)
    const shared = offers.total > texts.length ? '' : sharedStart(texts)
    const begun = edit.text.slice(offers.from, edit.cursor)
    if (texts.length === 0) return
    if (shared.length > begun.length && shared.startsWith(begun))
      this.#writer.change(replaced(edit, { ...offers, text: shared }))
    else if (texts.length === 1 && shared !== begun)
      this.#writer.change(replaced(edit, { ...offers, text: shared }))
    this.#touched()
    const tail = Math.max(0, offers.to - edit.cursor)
    this.#menu = texts.length === 1 ? undefined : new Menu(this.#writer.edit, { ...offers, tail })
  }

  /** What the cursor stands in the arguments of. */
  calls(callee: Callee | undefined): void {
    this.#callee = callee
  }

  #pressed(key: Key): Wish | undefined {
    if (this.#search !== undefined && this.#searching(this.#search, key)) return undefined
    if (key.type === 'text') {
      this.#settleMenu()
      this.#writer.type(key.text)
      return this.#touched()
    }
    if (key.type === 'paste') {
      this.#settleMenu()
      return this.#paste(key.text)
    }
    const name = this.#prefix + key.name
    this.#prefix = ''
    if (this.#menu !== undefined && this.#choosing(this.#menu, name)) return undefined
    if (name === 'ctrl-x' || name === 'escape') {
      this.#prefix = name === 'escape' ? 'alt-' : 'ctrl-x '
      return undefined
    }
    this.#settleMenu()
    this.#menu = undefined
    return this.#command(name)
  }

  #command(name: string): Wish | undefined {
    if (name !== 'up' && name !== 'down' && name !== 'ctrl-p' && name !== 'ctrl-n') this.#column = undefined
    switch (name) {
      case 'enter':
        return this.#enter()
      case 'alt-enter':
      case 'shift-enter':
      case 'ctrl-j':
        return this.#newLine()
      case 'up':
      case 'ctrl-p':
        return this.#vertical(-1)
      case 'down':
      case 'ctrl-n':
        return this.#vertical(1)
      case 'ctrl-r':
        this.#search = this.#recall.search(this.#writer.edit)
        return undefined
      case 'tab':
        return this.#tab()
      case 'shift-tab':
        this.#outdent()
        return undefined
      case 'ctrl-c':
        return { type: 'drop' }
      case 'ctrl-z':
        return { type: 'suspend' }
      case 'ctrl-l':
        return { type: 'clear' }
      case 'ctrl-x ctrl-e':
        return { type: 'write elsewhere' }
      case 'ctrl-d':
        if (this.#writer.edit.text === '') return { type: 'end' }
        break
      case 'backspace':
        if (this.#outdent()) return undefined
    }
    if (this.#takeSuggestion(name)) return undefined
    const { text } = this.#writer.edit
    this.#writer.press(name)
    if (this.#writer.edit.text !== text) this.#touched()
    return undefined
  }

  #enter(): Wish | undefined {
    const { syntax } = this.#options
    const { text, cursor } = this.#writer.edit
    const command = /^\s*:/.test(text) && !text.includes('\n')
    if (command || text.trim() === '' || (this.#whole && syntax.isWhole(text))) return { type: 'run', text }
    const several = text.includes('\n')
    if (several && text.slice(cursor).trim() !== '') return this.#newLine()
    const sofar = several ? text.slice(0, cursor) : text
    return syntax.goesOn(sofar) ? this.#newLine() : { type: 'run', text }
  }

  #newLine(): undefined {
    const { text, cursor } = this.#writer.edit
    const indent = this.#options.syntax.indent(text.slice(0, cursor))
    const before = text.slice(0, cursor).replace(/[ \t]+$/, '')
    const after = text.slice(cursor).replace(/^[ \t]+/, '')
    this.#writer.change({ text: `${before}\n${indent}${after}`, cursor: before.length + 1 + indent.length })
    this.#touched()
  }

  /** Within the text, and beyond its first and last line through what was entered before. */
  #vertical(by: -1 | 1): undefined {
    const { edit } = this.#writer
    this.#column ??= columnOf(edit)
    const beside = lineBeside(edit, { by, column: this.#column })
    if (beside !== undefined) {
      this.#writer.moveTo(beside)
      return
    }
    const entry = this.#recall.step(edit, by)
    if (entry === undefined) return
    this.#writer.change(entry)
    this.#whole = true
    this.#column = undefined
    this.#callee = undefined
  }

  /** Sets the line in where nothing stands before the cursor. */
  #tab(): Wish | undefined {
    const { edit } = this.#writer
    const before = edit.text.slice(MOTIONS.lineStart(edit), edit.cursor)
    if (before.trim() !== '') return { type: 'complete' }
    const { step } = this.#options.syntax
    this.#writer.insert(step.slice(before.length % step.length))
    return this.#touched()
  }

  /** Takes one step away from the blanks before the cursor; false where there is something else. */
  #outdent(): true | undefined {
    const { edit } = this.#writer
    const start = MOTIONS.lineStart(edit)
    const less = this.#options.syntax.dedent(edit.text.slice(start, edit.cursor))
    if (less === undefined) return undefined
    this.#writer.change(replaced(edit, { from: start, to: edit.cursor, text: less }))
    this.#touched()
    return true
  }

  #paste(pasted: string): undefined {
    const alone = this.#writer.edit.text.trim() === ''
    const text = alone ? asCode(pasted, this.#options.syntax) : pasted
    if (alone) this.#writer.change(atEnd(text))
    else this.#writer.insert(text)
    this.#touched()
    this.#whole = alone
  }

  /** Keys for choosing from the menu; false for any other. */
  #choosing(menu: Menu, name: string): boolean {
    const { perRow } = gridOf(menu.offers, this.#options.columns())
    const chosen = menu.chosen !== undefined
    if (name === 'tab') {
      this.#menu = menu.step(1)
      if (menu.offers.length === 1) this.#settleMenu()
    } else if (name === 'shift-tab') this.#menu = menu.step(-1)
    else if (name === 'down' || name === 'ctrl-n') this.#menu = menu.row(1, perRow)
    else if (name === 'up' || name === 'ctrl-p') this.#menu = menu.row(-1, perRow)
    else if (name === 'right' && chosen) this.#menu = menu.step(1)
    else if (name === 'left' && chosen) this.#menu = menu.step(-1)
    else if (name === 'escape' || name === 'ctrl-g') this.#menu = undefined
    else if (name === 'enter' && chosen) {
      this.#settleMenu()
      this.#menu = undefined
    } else return false
    return true
  }

  /** What was chosen is written. */
  #settleMenu(): void {
    if (this.#menu?.chosen === undefined) return
    this.#writer.change(this.#menu.result)
    this.#menu = undefined
    this.#touched()
  }

  /** Keys for searching; with any other, what was found is taken, and the key does what it does else. */
  #searching(search: Search, key: Key): boolean {
    if (key.type !== 'key') search.refine(search.query + (key.text.split('\n')[0] ?? ''))
    else if (key.name === 'backspace') search.refine(search.query.slice(0, -1))
    else if (key.name === 'ctrl-r' || key.name === 'up') search.older()
    else if (key.name === 'ctrl-s' || key.name === 'down') search.newer()
    else {
      this.#search = undefined
      const left = key.name === 'ctrl-g' || key.name === 'ctrl-c'
      if (!left && search.edit.text !== search.draft.text) this.#take(search.edit)
      return left || key.name === 'escape' || key.name === 'tab'
    }
    return true
  }

  #takeSuggestion(name: string): boolean {
    const { text, cursor } = this.#writer.edit
    if (this.#suggestion === '' || cursor !== text.length) return false
    const taken = TAKES_ALL.has(name)
      ? this.#suggestion
      : TAKES_WORD.has(name)
        ? /^[^\p{L}\p{N}_]*[\p{L}\p{N}_]*/u.exec(this.#suggestion)?.[0]
        : undefined
    if (!taken) return false
    this.#take(atEnd(text + taken))
    return true
  }

  /** Something from earlier, which can be run as it was. */
  #take(edit: Edit): void {
    this.#writer.change(edit)
    this.#touched()
    this.#whole = true
  }

  #touched(): undefined {
    this.#whole = false
    this.#column = undefined
    this.#recall.forget()
  }
}

const TAKES_ALL = new Set(['right', 'ctrl-f', 'end', 'ctrl-e'])
const TAKES_WORD = new Set(['alt-f', 'ctrl-right', 'alt-right'])

/** One way to go on. */
interface Offer {
  readonly text: string
  /** What it is, in a few words. */
  readonly detail: string
}

/** Ways to go on with the piece of the text from `from` up to the cursor and `to`, which any of them replaces. */
export interface Offers {
  readonly from: number
  readonly to: number
  readonly offers: readonly Offer[]
  /** How many there are, if more than are offered. */
  readonly total: number
}

interface MenuOffers extends Offers {
  /** Characters behind the cursor that are replaced too. */
  readonly tail: number
}

/** Offers to choose from. Each step makes another one. */
export class Menu {
  /** The text as it was before one was chosen. */
  readonly edit: Edit
  readonly offers: readonly Offer[]
  readonly chosen: number | undefined
  readonly #given: MenuOffers

  constructor(edit: Edit, given: MenuOffers, offers = given.offers, chosen?: number) {
    this.edit = edit
    this.offers = offers
    this.chosen = chosen
    this.#given = given
  }

  /** How many there are that are not offered. */
  get more(): number {
    return Math.max(0, this.#given.total - this.#given.offers.length)
  }

  /** The text with what was chosen in it. */
  get result(): Edit {
    const { from, tail } = this.#given
    return this.#offer === undefined
      ? this.edit
      : replaced(this.edit, { from, to: this.edit.cursor + tail, text: this.#offer.text })
  }

  get detail(): string {
    return this.#offer?.detail ?? ''
  }

  /** The next or the one before, round and round. */
  step(by: -1 | 1): Menu {
    const count = this.offers.length
    const from = this.chosen ?? (by > 0 ? -1 : 0)
    return this.#with((from + by + count) % count)
  }

  /** A row up or down; beyond the last row, the next or the one before. */
  row(by: -1 | 1, perRow: number): Menu {
    const chosen = this.chosen === undefined ? -1 : this.chosen + by * perRow
    return this.offers[chosen] === undefined ? this.step(by) : this.#with(chosen)
  }

  /** What is left of it once more is typed, or less; undefined where nothing is. */
  narrowed(edit: Edit): Menu | undefined {
    const { from, offers } = this.#given
    if (edit.cursor < from || edit.text.slice(0, from) !== this.edit.text.slice(0, from)) return undefined
    const begun = edit.text.slice(from, edit.cursor)
    const left = offers.filter(({ text }) => text.startsWith(begun))
    if (left.length === 0 || (left.length === 1 && left[0]?.text === begun)) return undefined
    return new Menu(edit, this.#given, left)
  }

  #with(chosen: number): Menu {
    return new Menu(this.edit, this.#given, this.offers, chosen)
  }

  get #offer(): Offer | undefined {
    return this.chosen === undefined ? undefined : this.offers[this.chosen]
  }
}

/** The text with a piece replaced, and the cursor behind it. */
function replaced(edit: Edit, { from, to, text }: { from: number; to: number; text: string }): Edit {
  return { text: edit.text.slice(0, from) + text + edit.text.slice(to), cursor: from + text.length }
}

/** What all of them begin with. */
function sharedStart(texts: readonly string[]): string {
  const [first = '', ...others] = texts
  let length = first.length
  for (const other of others) {
    let same = 0
    while (same < length && other[same] === first[same]) same++
    length = same
  }
  return first.slice(0, length)
}

/** How many stand beside each other, and how many columns each takes. */
export function gridOf(offers: readonly Offer[], columns: number): { perRow: number; cell: number } {
  const widest = offers.reduce((most, { text }) => Math.max(most, widthOf(text)), 1)
  const cell = Math.min(widest + 2, Math.max(1, columns))
  return { perRow: Math.max(1, Math.floor(columns / cell)), cell }
}

/** Going back to what was entered before: line by line, by how it begins, and by what stands in it. */
class Recall {
  readonly #entries: () => readonly string[]
  #walk: { readonly draft: Edit; readonly prefix: string; index: number } | undefined

  /** `entries`: oldest first. */
  constructor(entries: () => readonly string[]) {
    this.#entries = entries
  }

  /** What is being written is no longer what was gone back to. */
  forget(): void {
    this.#walk = undefined
  }

  /**
   * The entry before this one, or after it, that begins as the text does before the cursor; after the last one, what was
   * being written. Undefined where there is none.
   */
  step(edit: Edit, by: -1 | 1): Edit | undefined {
    const entries = this.#entries()
    if (by === 1 && this.#walk === undefined) return undefined
    const walk = this.#walk ?? { draft: edit, prefix: edit.text.slice(0, edit.cursor), index: entries.length }
    for (let index = walk.index + by; index >= 0 && index < entries.length; index += by) {
      const entry = entries[index] ?? ''
      if (!entry.startsWith(walk.prefix) || entry === edit.text) continue
      this.#walk = { ...walk, index }
      return atEnd(entry)
    }
    if (by === -1) return undefined
    this.#walk = undefined
    return walk.draft
  }

  /** How the newest entry that begins with the text goes on. */
  suggestion(text: string): string {
    if (text.trim().length < 2 || this.#walk !== undefined) return ''
    const found = this.#entries().findLast(entry => entry.length > text.length && entry.startsWith(text))
    return found?.slice(text.length) ?? ''
  }

  search(draft: Edit): Search {
    return new Search(this.#entries(), draft)
  }
}

/** An incremental search backwards. */
class Search {
  readonly draft: Edit
  readonly #entries: readonly string[]
  #query = ''
  #index: number
  #failed = false

  constructor(entries: readonly string[], draft: Edit) {
    this.#entries = entries
    this.#index = entries.length
    this.draft = draft
  }

  get query(): string {
    return this.#query
  }

  /** Nothing more was found in that direction. */
  get failed(): boolean {
    return this.#failed
  }

  /** What was found, with the cursor at the place; what was there before where nothing is sought yet. */
  get edit(): Edit {
    const entry = this.#entries[this.#index]
    if (entry === undefined) return this.draft
    return { text: entry, cursor: Math.max(0, find(entry, this.#query)) }
  }

  /** The other query, sought from here on. */
  refine(query: string): void {
    this.#query = query
    if (query === '') {
      this.#index = this.#entries.length
      this.#failed = false
    } else this.#seek(Math.min(this.#index, this.#entries.length - 1), -1)
  }

  older(): void {
    if (this.#query !== '') this.#seek(this.#index - 1, -1)
  }

  newer(): void {
    if (this.#query !== '') this.#seek(this.#index + 1, 1)
  }

  #seek(from: number, by: -1 | 1): void {
    const shown = this.#entries[this.#index]
    for (let index = from; index >= 0 && index < this.#entries.length; index += by) {
      const entry = this.#entries[index] ?? ''
      const again = index !== this.#index && entry === shown
      if (again || find(entry, this.#query) < 0) continue
      this.#index = index
      this.#failed = false
      return
    }
    this.#failed = true
  }
}

/** Capitals count only where the query has one. */
function find(entry: string, query: string): number {
  return query === query.toLowerCase() ? entry.toLowerCase().indexOf(query) : entry.indexOf(query)
}

/**
 * What was copied, as code: without the prompts and the answers of a session, without what all its lines are set in
 * by, and without empty lines around it.
 */
function asCode(pasted: string, { typed = withoutPrompts }: Pick<Syntax, 'typed'>): string {
  const lines = typed(pasted.split('\n'))
  return dedented(lines)
    .join('\n')
    .replace(/^(?:[ \t]*\n)+/, '')
    .trimEnd()
}

/** Code without what all its lines are set in by. */
export function asStatement(text: string): string {
  return dedented(text.split('\n')).join('\n').trimEnd()
}

/** One of ours may say how many evaluations wait where an error happened: `[1] >>> `. */
const PROMPT = /^\s*(?:(?:\[\d+\] )?>>>|\.\.\.)(?: |$)/

function withoutPrompts(lines: readonly string[]): readonly string[] {
  const first = lines.find(line => line.trim() !== '')
  if (first === undefined || !/^\s*(?:\[\d+\] )?>>> /.test(first)) return lines
  return lines.filter(line => PROMPT.test(line)).map(line => line.replace(PROMPT, ''))
}

function dedented(lines: readonly string[]): readonly string[] {
  const indentOf = (line: string) => /^[ \t]*/.exec(line)?.[0] ?? ''
  const shared = sharedStart(lines.filter(line => line.trim() !== '').map(indentOf)).length
  return shared === 0 ? lines : lines.map(line => line.slice(Math.min(shared, indentOf(line).length)))
}
