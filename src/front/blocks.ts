/**
 * Puts lines together to what is run at once, by how they look and without knowing the language well: a line that
 * ends inside brackets, inside a triple-quoted text, or with a backslash goes on; so does a line that ends with a
 * colon or begins with a decorator, as long as lines are set in.
 *
 * For a person an empty line ends what has begun, whatever is open: a bracket too many swallows nothing that follows.
 * Without one, blocks have empty lines inside, and the next line that stands at the margin ends them, unless it
 * belongs to the same statement, like `else`.
 */
export interface Blocks {
  /** Takes a line, and returns what is complete now. */
  push(line: string): string[]
  /**
   * Takes lines that were pasted at once, as one piece whatever stands in it. Where it ends set in, or inside
   * something, it goes on, unless its last line is empty.
   */
  paste(lines: readonly string[]): string[]
  /** Whether the next line goes on with what has begun. */
  readonly open: boolean
  /** What has begun and not ended, which is then forgotten. */
  rest(): string | undefined
}

const GOES_ON = /^(elif|else|except|finally)\b|^[)\]}]/

export function openBlocks({ emptyLineEnds }: { readonly emptyLineEnds: boolean }): Blocks {
  let lines: string[] = []
  let scan = newScan()
  let inBlock = false

  function rest() {
    const text = lines.join('\n').trimEnd()
    lines = []
    scan = newScan()
    inBlock = false
    return text === '' ? undefined : text
  }

  return {
    get open() {
      return lines.length > 0
    },
    rest,
    push(line) {
      const done: (string | undefined)[] = []
      if (emptyLineEnds && line.trim() === '') return complete([rest()])
      if (inBlock && !isInside(scan) && endsBlock(line)) done.push(rest())
      if (lines.length === 0 && line.trim() === '') return complete(done)
      lines.push(line)
      advance(scan, line)
      if (!isInside(scan)) {
        if (opensBlock(line, scan)) inBlock = true
        if (!inBlock) done.push(rest())
      }
      return complete(done)
    },
    paste(pasted) {
      for (const line of pasted) {
        if (lines.length === 0 && line.trim() === '') continue
        if (!isInside(scan) && line.trim() !== '') inBlock = /^\s/.test(line)
        lines.push(line)
        advance(scan, line)
        if (!isInside(scan) && opensBlock(line, scan)) inBlock = true
      }
      const goesOn = (isInside(scan) || inBlock) && pasted.at(-1)?.trim() !== ''
      return complete(goesOn ? [] : [rest()])
    },
  }

  function endsBlock(line: string) {
    return line.trim() !== '' && !/^\s/.test(line) && !GOES_ON.test(line) && !lines.at(-1)?.startsWith('@')
  }
}

/** What tells whether text that is read in pieces, which end with lines, is whole. */
interface Scanned<Scanner extends { add(text: string): void }> {
  readonly emptyLineEnds: boolean
  /** One that has read nothing. */
  scanner(): Scanner
  /** Whether what it has read can be run. */
  isDone(scanner: Scanner): boolean
}

/**
 * The same for a language whose text shows by itself where it ends: lines go on until then. For a person two empty lines
 * end what has begun, whatever is open, as one may well stand in a function.
 */
export function openScannedBlocks<Scanner extends { add(text: string): void }>({
  emptyLineEnds,
  scanner,
  isDone,
}: Scanned<Scanner>): Blocks {
  let lines: string[] = []
  let read = scanner()

  function rest() {
    const text = lines.join('\n').trim()
    lines = []
    read = scanner()
    return text === '' ? undefined : text
  }

  function add(line: string) {
    if (lines.length === 0 && isBlank(line)) return
    lines.push(line)
    read.add(`${line}\n`)
  }

  const givenUp = () => emptyLineEnds && lines.slice(-2).every(isBlank)
  const done = () => complete(lines.length > 0 && (isDone(read) || givenUp()) ? [rest()] : [])

  return {
    get open() {
      return lines.length > 0
    },
    rest,
    push(line) {
      add(line)
      return done()
    },
    paste(pasted) {
      for (const line of pasted) add(line)
      return done()
    },
  }
}

const isBlank = (line: string) => line.trim() === ''

const complete = (texts: (string | undefined)[]) => texts.filter(text => text !== undefined)

/**
 * Reads Python a line at a time, by how it looks: which brackets are open, whether a text over several lines is, and
 * whether a backslash carries the line on. Linear in the line.
 */
export interface Scan {
  /** Brackets that are open, outermost first. */
  open: Bracket[]
  /** The quotes that a text over several lines ends with. */
  quotes: string | undefined
  continued: boolean
  /** The last line without its texts and its comment. */
  code: string
  /** How many lines were read. */
  lines: number
}

interface Bracket {
  readonly line: number
  /** Where it stands in its line, and what that line is set in by. */
  readonly column: number
  readonly indent: string
  /** Nothing but blanks and a comment follow it in its line. */
  last: boolean
}

export const newScan = (): Scan => ({ open: [], quotes: undefined, continued: false, code: '', lines: 0 })

/** Whether the next line goes on with what the last one has begun. */
export const isInside = ({ open, quotes, continued }: Scan) =>
  open.length > 0 || quotes !== undefined || continued

/** Whether lines that are set in follow. */
export const opensBlock = (line: string, { code }: Scan) => code.trimEnd().endsWith(':') || /^\s*@/.test(line)

export const indentOf = (line: string) => /^[ \t]*/.exec(line)?.[0] ?? ''

/** Reads one more line. */
export function advance(scan: Scan, line: string): void {
  scan.code = ''
  scan.continued = false
  readLine(scan, line)
  scan.lines++
}

function readLine(scan: Scan, line: string): void {
  for (let at = 0; at < line.length; ) {
    const unit = line[at] ?? ''
    if (scan.quotes !== undefined) at = skipText(scan, line, at)
    else if (unit === '#') return
    else if (unit === '"' || unit === "'") {
      const three = unit.repeat(3)
      scan.quotes = line.startsWith(three, at) ? three : unit
      at += scan.quotes.length
      followed(scan)
    } else {
      scan.code += unit
      if (!/\s/.test(unit)) followed(scan)
      if ('([{'.includes(unit))
        scan.open.push({ line: scan.lines, column: at, indent: indentOf(line), last: true })
      if (')]}'.includes(unit)) scan.open.pop()
      at++
    }
  }
  if (scan.quotes === undefined) scan.continued = line.endsWith('\\')
  // An ordinary text ends with its line, unless a backslash carries it over.
  else if (scan.quotes.length === 1 && !line.endsWith('\\')) scan.quotes = undefined
}

function followed({ open }: Scan) {
  const innermost = open.at(-1)
  if (innermost !== undefined) innermost.last = false
}

/** Where the text goes on being one, or has ended. */
function skipText(scan: Scan, line: string, from: number): number {
  const quotes = scan.quotes ?? ''
  for (let at = from; at < line.length; at++) {
    if (line[at] === '\\') at++
    else if (line.startsWith(quotes, at)) {
      scan.quotes = undefined
      return at + quotes.length
    }
  }
  return line.length
}
