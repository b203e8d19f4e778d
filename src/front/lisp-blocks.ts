import { type Blocks, openScannedBlocks } from './blocks.ts'

/** The same as `openBlocks` for Common Lisp: a line that ends in a list, a text or a comment goes on. */
export const openLispBlocks = (how: { readonly emptyLineEnds: boolean }): Blocks =>
  openScannedBlocks({
    ...how,
    scanner: () => new LispScanner(),
    isDone: scanner => isLispWhole(scanner) && scanner.forms > 0,
  })

/** What is known of Common Lisp by how it looks: which lists are open, and what its end stands in. */
export type LispScan = Readonly<Pick<LispScanner, 'open' | 'inside' | 'forms'>>

type Inside = 'code' | 'text' | 'comment' | 'bars'

export interface OpenList {
  /** Where its bracket stands: in the text, in its line, and in which line. */
  readonly at: number
  readonly column: number
  readonly line: number
  /** Where its elements begin, as far as they were begun. */
  readonly elements: { readonly at: number; readonly column: number; readonly line: number }[]
}

const DELIMITER = /[\s()"';`,]/

/** Reads a whole text. */
export function scanLisp(text: string): LispScan {
  const scanner = new LispScanner()
  scanner.add(text)
  return scanner
}

/** Whether all that was begun has ended. */
export const isLispWhole = ({ open, inside }: LispScan): boolean => open.length === 0 && inside === 'code'

/** Reads text in pieces that end with lines, each piece once: linear, however many there are. */
export class LispScanner {
  /** Lists that are open, outermost first. */
  readonly open: OpenList[] = []
  inside: Inside = 'code'
  /** How many top-level forms have ended. */
  forms = 0
  #comments = 0
  #line = 0
  #lineStart = 0
  /** The piece, where it is being read, and where it begins in the whole text. */
  #text = ''
  #at = 0
  #before = 0

  add(text: string): void {
    this.#before += this.#text.length
    this.#lineStart -= this.#text.length
    this.#text = text
    this.#at = 0
    if (this.inside === 'text') this.#string()
    else if (this.inside === 'comment') this.#comment()
    else if (this.inside === 'bars') this.#atom()
    while (this.#at < text.length) this.#token()
  }

  #token(): void {
    const text = this.#text
    const unit = text[this.#at] ?? ''
    if (unit === '\n') this.#newLine()
    else if (/[\s'`,]/.test(unit)) this.#at++
    else if (unit === ';') this.#at = orEnd(text.indexOf('\n', this.#at), text)
    else if (text.startsWith('#|', this.#at)) this.#comment()
    else if (unit === '(') {
      this.#begins()
      this.open.push({ ...this.#here(), elements: [] })
      this.#at++
    } else if (unit === ')') {
      this.open.pop()
      this.#at++
      this.#ended()
    } else if (unit === '"') {
      this.#begins()
      this.inside = 'text'
      this.#at++
      this.#string()
    } else {
      this.#begins()
      if (text.startsWith('#\\', this.#at)) this.#at += 3
      this.#atom()
    }
  }

  #string(): void {
    if (!this.#skip('"')) return
    this.inside = 'code'
    this.#ended()
  }

  /** A reader macro before a list, such as #' and #+, is a part of what follows it. */
  #atom(): void {
    const text = this.#text
    if (this.inside === 'bars' && !this.#skip('|')) return
    this.inside = 'code'
    while (this.#at < text.length && !DELIMITER.test(text[this.#at] ?? '')) {
      if (text[this.#at] === '\\') this.#at += 2
      else if (text[this.#at++] === '|') {
        this.inside = 'bars'
        if (!this.#skip('|')) return
        this.inside = 'code'
      }
    }
    const prefix = text[this.#at - 1] === '#' && /['(]/.test(text[this.#at] ?? '')
    if (!prefix) this.#ended()
  }

  #comment(): void {
    const text = this.#text
    this.inside = 'comment'
    while (this.#at < text.length) {
      if (text.startsWith('#|', this.#at)) {
        this.#comments++
        this.#at += 2
      } else if (text.startsWith('|#', this.#at)) {
        this.#at += 2
        if (--this.#comments > 0) continue
        this.inside = 'code'
        return
      } else if (text[this.#at] === '\n') this.#newLine()
      else this.#at++
    }
  }

  /** To behind the next `end` that is not escaped; false where there is none. */
  #skip(end: string): boolean {
    const text = this.#text
    while (this.#at < text.length) {
      const unit = text[this.#at]
      if (unit === '\n') this.#newLine()
      else {
        this.#at += unit === '\\' ? 2 : 1
        if (unit === end) return true
      }
    }
    return false
  }

  #newLine(): void {
    this.#line++
    this.#lineStart = ++this.#at
  }

  #here() {
    return { at: this.#before + this.#at, column: this.#at - this.#lineStart, line: this.#line }
  }

  #begins(): void {
    this.open.at(-1)?.elements.push(this.#here())
  }

  #ended(): void {
    if (this.open.length === 0) this.forms++
  }
}

const orEnd = (index: number, text: string) => (index < 0 ? text.length : index)
