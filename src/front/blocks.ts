import { advance, isInside, newScan, opensBlock } from './scan.ts'

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

const complete = (texts: (string | undefined)[]) => texts.filter(text => text !== undefined)
