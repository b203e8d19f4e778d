import type { Edit } from '../console/edit.ts'
import type { Key } from '../console/keys.ts'
import { Writer } from '../console/writer.ts'

/** What came of a key. */
export type Lined =
  | { readonly type: 'written' }
  | { readonly type: 'entered'; readonly text: string }
  /** Nothing is to come of it. */
  | { readonly type: 'dropped' }

/** One line that a person writes, with the keys of emacs. */
export class LineInput {
  /** Stands in front of it. */
  readonly prompt: string
  readonly #writer = new Writer()

  constructor(prompt: string) {
    this.prompt = prompt
  }

  get edit(): Edit {
    return this.#writer.edit
  }

  press(key: Key): Lined {
    if (key.type === 'text') this.#writer.type(key.text)
    // Its line ends do not send it.
    else if (key.type === 'paste') this.#writer.insert(key.text.trim().replace(/\s*\n\s*/g, ' '))
    else if (key.name === 'enter' || key.name === 'ctrl-j')
      return { type: 'entered', text: this.edit.text.trim() }
    else if (key.name === 'escape' || key.name === 'ctrl-c' || key.name === 'ctrl-g')
      return { type: 'dropped' }
    else if (key.name === 'ctrl-d' && this.edit.text === '') return { type: 'dropped' }
    else this.#writer.press(key.name)
    return { type: 'written' }
  }
}
