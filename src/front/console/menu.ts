import type { Edit } from './edit.ts'
import { widthOf } from './width.ts'

/** One way to go on. */
export interface Offer {
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

interface Parts {
  readonly edit: Edit
  readonly given: Offers
  /** Characters behind the cursor that are replaced too. */
  readonly tail: number
  readonly offers: readonly Offer[]
  readonly chosen: number | undefined
}

/** Offers to choose from. Each step makes another one. */
export class Menu {
  readonly #parts: Parts

  private constructor(parts: Parts) {
    this.#parts = parts
  }

  static open(edit: Edit, given: Offers): Menu {
    const tail = Math.max(0, given.to - edit.cursor)
    return new Menu({ edit, given, tail, offers: given.offers, chosen: undefined })
  }

  get offers(): readonly Offer[] {
    return this.#parts.offers
  }

  get chosen(): number | undefined {
    return this.#parts.chosen
  }

  /** The text as it was before one was chosen. */
  get edit(): Edit {
    return this.#parts.edit
  }

  /** How many there are that are not offered. */
  get more(): number {
    const { given } = this.#parts
    return Math.max(0, given.total - given.offers.length)
  }

  /** The text with what was chosen in it. */
  get result(): Edit {
    const { edit, given, tail } = this.#parts
    if (this.#offer === undefined) return edit
    return replaced(edit, { from: given.from, to: edit.cursor + tail, text: this.#offer.text })
  }

  get detail(): string {
    return this.#offer?.detail ?? ''
  }

  /** The next or the one before, round and round. */
  step(by: -1 | 1): Menu {
    const count = this.offers.length
    const from = this.chosen ?? (by > 0 ? -1 : 0)
    return new Menu({ ...this.#parts, chosen: (from + by + count) % count })
  }

  /** A row up or down; beyond the last row, the next or the one before. */
  row(by: -1 | 1, perRow: number): Menu {
    const chosen = this.chosen === undefined ? -1 : this.chosen + by * perRow
    return this.offers[chosen] === undefined ? this.step(by) : new Menu({ ...this.#parts, chosen })
  }

  /** What is left of it once more is typed, or less; undefined where nothing is. */
  narrowed(edit: Edit): Menu | undefined {
    const { from, offers } = this.#parts.given
    if (edit.cursor < from || edit.text.slice(0, from) !== this.edit.text.slice(0, from)) return undefined
    const begun = edit.text.slice(from, edit.cursor)
    const left = offers.filter(({ text }) => text.startsWith(begun))
    if (left.length === 0 || (left.length === 1 && left[0]?.text === begun)) return undefined
    return new Menu({ ...this.#parts, edit, offers: left, chosen: undefined })
  }

  get #offer(): Offer | undefined {
    return this.chosen === undefined ? undefined : this.offers[this.chosen]
  }
}

/** The text with a piece replaced, and the cursor behind it. */
export function replaced(edit: Edit, { from, to, text }: { from: number; to: number; text: string }): Edit {
  return { text: edit.text.slice(0, from) + text + edit.text.slice(to), cursor: from + text.length }
}

/** What all of them begin with. */
export function sharedStart(texts: readonly string[]): string {
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
