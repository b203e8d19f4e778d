import { type Blocks, openScannedBlocks } from './blocks.ts'

/**
 * `openBlocks` for Wolfram Language. A block goes on while a bracket, a string or a comment is open, and behind an
 * operator that needs another operand.
 */
export const openWolframBlocks = (how: { readonly emptyLineEnds: boolean }): Blocks =>
  openScannedBlocks<WolframScanner>({ ...how, scanner: () => new WolframScanner(), isDone: isWolframWhole })

/** What can be seen in a text without parsing it: which brackets are open, and what its end is in. */
export type WolframScan = Readonly<Pick<WolframScanner, 'open' | 'inside' | 'wants'>>

export interface OpenBracket {
  readonly bracket: string
  /** Where it stands in the text. */
  readonly at: number
  /** What its line is indented by. */
  readonly indent: number
  /** How many commas stand in it, and in no bracket within it. */
  commas: number
}

/** Whether all that was begun has ended. */
export const isWolframWhole = ({ open, inside, wants }: WolframScan): boolean =>
  open.length === 0 && inside === 'code' && !wants

/** Reads a whole text. */
export function scanWolfram(text: string): WolframScan {
  const scanner = new WolframScanner()
  scanner.add(text)
  return scanner
}

/**
 * Operators that another operand has to follow. An expression may end with `;`, `&`, `!`, `..` and the like, and a
 * question with `?`.
 */
const WANTS =
  /(?::=|[^=<>!]=|^=|==|=!=|===|!=|->|:>|\/;|\/\.|\/\/|\/@|@@|@|<>|&&|\|\||(?<!<)\||[+*/^<>~,]|(?<!-)-|\/:|:)\s*$/

/** Reads whole lines, each once, so that its time is linear. */
class WolframScanner {
  /** Brackets that are open, outermost first. */
  readonly open: OpenBracket[] = []
  inside: 'code' | 'text' | 'comment' = 'code'
  #comments = 0
  #at = 0
  #indent = 0
  /** The code of the last line that has any, without comments. */
  #code = ''

  /** Whether its last operator needs another operand. */
  get wants(): boolean {
    return WANTS.test(this.#code.trimEnd()) && !/(?:\+\+|--)\s*$/.test(this.#code)
  }

  add(text: string): void {
    for (const line of text.split(/(?<=\n)/)) this.#line(line)
  }

  #line(line: string): void {
    this.#indent = /^[ \t]*/.exec(line)?.[0].length ?? 0
    let code = ''
    for (let at = 0; at < line.length; at++) {
      const two = line.slice(at, at + 2)
      const unit = line[at] ?? ''
      if (this.inside === 'text') {
        if (unit === '\\') at++
        else if (unit === '"') this.inside = 'code'
        code += '"'
      } else if (two === '(*') {
        this.#comments++
        this.inside = 'comment'
        at++
      } else if (this.inside === 'comment') {
        if (two !== '*)') continue
        at++
        this.#comments--
        if (this.#comments === 0) this.inside = 'code'
      } else {
        const more = this.#bracket(two, unit, at)
        at += more
        // The `|` of a `|>` is no operator.
        code += more > 0 ? unit.replace('|', ')') : unit
      }
    }
    this.#at += line.length
    if (code.trim() !== '') this.#code = code
  }

  /** Reads one character of code, or two that are one bracket. Returns how many it read besides the first. */
  #bracket(two: string, unit: string, at: number): number {
    if (two === '<|' || '[({'.includes(unit)) {
      const bracket = two === '<|' ? two : unit
      this.open.push({ bracket, at: this.#at + at, indent: this.#indent, commas: 0 })
      return bracket.length - 1
    }
    if (two === '|>' || '])}'.includes(unit)) {
      this.open.pop()
      return two === '|>' ? 1 : 0
    }
    if (unit === '"') this.inside = 'text'
    const inner = this.open.at(-1)
    if (unit === ',' && inner !== undefined) inner.commas++
    return 0
  }
}
