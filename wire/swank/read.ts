import { WireError } from '../errors.ts'
import type { Sexp } from './sexp.ts'

/** Reads one expression as Swank prints it. Throws `FRAME_MALFORMED` where the text ends too early. */
export function read(text: string): Sexp {
  const reader = new Reader(text)
  return reader.expression()
}

const DELIMITER = /[\s()"]/

class Reader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  /** Without recursion, so that no depth of nesting exhausts the stack. */
  expression(): Sexp {
    const open: Sexp[][] = []
    for (;;) {
      this.#skipSpace()
      const char = this.#text[this.#at]
      if (char === undefined) throw new WireError('FRAME_MALFORMED', 'A message of Swank ended too early.')
      let value: Sexp
      if (char === '(') {
        this.#at++
        open.push([])
        continue
      }
      if (char === ')') {
        this.#at++
        const closed = open.pop()
        if (closed === undefined)
          throw new WireError('FRAME_MALFORMED', 'A message of Swank closes a list twice.')
        value = closed.length === 0 ? null : closed
      } else value = char === '"' ? { text: this.#string() } : this.#atom()
      const parent = open.at(-1)
      if (parent === undefined) return value
      parent.push(value)
    }
  }

  #skipSpace(): void {
    while (/\s/.test(this.#text[this.#at] ?? '')) this.#at++
  }

  #string(): string {
    let out = ''
    let from = ++this.#at
    for (;;) {
      const char = this.#text[this.#at]
      if (char === undefined) throw new WireError('FRAME_MALFORMED', 'A text of Swank has no end.')
      if (char === '"') {
        out += this.#text.slice(from, this.#at++)
        return out
      }
      if (char === '\\') {
        out += this.#text.slice(from, this.#at)
        from = ++this.#at
      }
      this.#at++
    }
  }

  #atom(): Sexp {
    const from = this.#at
    while (this.#at < this.#text.length && !DELIMITER.test(this.#text[this.#at] ?? '')) this.#at++
    const atom = this.#text.slice(from, this.#at)
    if (atom === 'nil') return null
    if (/^[+-]?\d+\.?$/.test(atom)) return Number.parseInt(atom, 10)
    return { atom }
  }
}
