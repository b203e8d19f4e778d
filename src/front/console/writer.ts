import {
  type Edit,
  EMPTY,
  insert,
  MOTIONS,
  type Motion,
  moved,
  recased,
  removed,
  transposed,
} from './edit.ts'

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
