import { advance, indentOf, isInside, newScan, opensBlock, type Scan } from '../scan.ts'
import type { Syntax } from './syntax.ts'

const STEP = '    '

/** How Python is written at the console. */
export const PYTHON: Syntax = {
  goesOn(text) {
    const { lines, scan, first, last } = read(text)
    const blank = lines.length > 1 && isBlank(lines.at(-1))
    if (scan.quotes !== undefined || scan.continued) return true
    // Two empty lines end whatever is open: a bracket too many must not hold a person captive.
    if (scan.open.length > 0 || opensBlock(last, scan)) return !(blank && isBlank(lines.at(-2)))
    return !blank && indentOf(last).length > indentOf(first).length
  },

  isWhole(text) {
    const { scan, last } = read(text)
    return !isInside(scan) && !opensBlock(last, scan)
  },

  indent(before) {
    const { lines, scan, last } = read(before)
    const here = indentOf(lines.at(-1) ?? '')
    if (scan.quotes !== undefined || (lines.length > 1 && isBlank(lines.at(-1)))) return here
    const bracket = scan.open.at(-1)
    if (bracket !== undefined) return bracket.last ? bracket.indent + STEP : ' '.repeat(bracket.column + 1)
    if (scan.continued) return here === '' ? STEP : here
    const outer = statementIndent(lines)
    if (scan.code.trimEnd().endsWith(':')) return outer + STEP
    return LEAVES.test(last) ? dedented(outer) : outer
  },

  dedent(before) {
    const indent = /^[ \t]+$/.exec(before)?.[0]
    return indent === undefined ? undefined : dedented(indent)
  },

  call(before) {
    const opener = openCall(before)
    if (opener === undefined) return ''
    const written = argumentsOf(before.slice(opener + 1))
    const keyword = /^\s*([\p{L}_][\p{L}\p{N}_]*)\s*=(?!=)/u.exec(written.at(-1) ?? '')?.[1] ?? ''
    return `${opener}:${written.length}:${keyword}`
  },

  step: STEP,
}

/** Where the bracket of the innermost call stands that is not closed. */
function openCall(text: string): number | undefined {
  const scan = newScan()
  const starts: number[] = []
  let at = 0
  const lines = text.split('\n')
  for (const line of lines) {
    starts.push(at)
    advance(scan, line)
    at += line.length + 1
  }
  if (scan.quotes !== undefined && scan.open.length === 0) return undefined
  for (const { line, column } of scan.open.toReversed()) {
    const bracket = (starts[line] ?? 0) + column
    const head = text.slice(starts[line] ?? 0, bracket)
    if (text[bracket] === '(' && CALLED.test(head) && !DEFINED.test(head)) return bracket
  }
  return undefined
}

const CALLED = /[\p{L}\p{N}_)\]]$/u
const DEFINED =
  /(?:^|\s)(?:(?:def|class)\s+[\p{L}\p{N}_]+|if|while|for|in|and|or|not|return|yield|await|lambda|else|elif|assert|del|import|is|with|match|case)$/u

/** The arguments that have been begun, as text. */
function argumentsOf(text: string): string[] {
  const found = ['']
  let depth = 0
  let quotes = ''
  for (let at = 0; at < text.length; at++) {
    const unit = text[at] ?? ''
    if (quotes !== '') {
      if (unit === '\\') at++
      else if (text.startsWith(quotes, at)) {
        at += quotes.length - 1
        quotes = ''
      }
    } else if (unit === '"' || unit === "'") {
      quotes = text.startsWith(unit.repeat(3), at) ? unit.repeat(3) : unit
      at += quotes.length - 1
    } else if (unit === ',' && depth === 0) found.push('')
    else {
      if ('([{'.includes(unit)) depth++
      if (')]}'.includes(unit)) depth--
      found[found.length - 1] += unit
    }
  }
  return found
}

/** What a block ends with. */
const LEAVES = /^\s*(return|pass|raise|break|continue)\b/

const dedented = (indent: string) =>
  indent.endsWith('\t') ? indent.slice(0, -1) : indent.slice(0, Math.max(0, indent.length - STEP.length))

const isBlank = (line: string | undefined) => line?.trim() === ''

interface Read {
  readonly lines: readonly string[]
  readonly scan: Scan
  /** The first line that is not empty, and the last one. */
  readonly first: string
  readonly last: string
}

function read(text: string): Read {
  const lines = text.split('\n')
  const scan = newScan()
  for (const line of lines) {
    const { code } = scan
    advance(scan, line)
    // An empty line says nothing of whether a block is open.
    if (line.trim() === '') scan.code = code
  }
  const full = lines.filter(line => line.trim() !== '')
  return { lines, scan, first: full[0] ?? '', last: full.at(-1) ?? '' }
}

/** What the statement that ends with the last line is set in by: that of the line in which its brackets opened. */
function statementIndent(lines: readonly string[]): string {
  const scan = newScan()
  let indent = ''
  for (const line of lines) {
    if (!isInside(scan) && line.trim() !== '') indent = indentOf(line)
    advance(scan, line)
  }
  return indent
}
