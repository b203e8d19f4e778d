import type { Edit } from '../console/edit.ts'
import type { Key } from '../console/keys.ts'
import { Writer } from '../console/writer.ts'

/** What came of a key. */
export type Lined =
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

  press(key: Key): Lined {
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
