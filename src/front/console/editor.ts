import { atEnd, columnOf, type Edit, EMPTY, lineBeside, MOTIONS } from './edit.ts'
import type { Key } from './keys.ts'
import { gridOf, Menu, type Offers, replaced, sharedStart } from './menu.ts'
import { asCode } from './pasting.ts'
import { Recall, type Search } from './recall.ts'
import type { Syntax } from './syntax.ts'
import { Writer } from './writer.ts'

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

export interface EditorOptions {
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
    const { cursor } = this.#writer.edit
    const to = Math.max(cursor, offers.to + cursor - edit.cursor)
    this.#menu = texts.length === 1 ? undefined : Menu.open(this.#writer.edit, { ...offers, to })
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
    const entry = by === -1 ? this.#recall.older(edit) : this.#recall.newer(edit)
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
    const text = alone ? asCode(pasted) : pasted
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
