import type { Blocks } from './blocks.ts'
import { isLispWhole, LispScanner } from './lisp-scan.ts'

/**
 * The same as `openBlocks` for Common Lisp: a line that ends in a list, a text or a comment goes on. For a person two
 * empty lines end what has begun, whatever is open, as one may well stand in a function.
 */
export function openLispBlocks({ emptyLineEnds }: { readonly emptyLineEnds: boolean }): Blocks {
  let lines: string[] = []
  let scanner = new LispScanner()

  function rest(): string | undefined {
    const text = lines.join('\n').trim()
    lines = []
    scanner = new LispScanner()
    return text === '' ? undefined : text
  }

  function add(line: string): void {
    if (lines.length === 0 && line.trim() === '') return
    lines.push(line)
    scanner.add(`${line}\n`)
  }

  const ended = () =>
    lines.length > 0 &&
    (isLispWhole(scanner) ? scanner.forms > 0 : emptyLineEnds && lines.slice(-2).every(isBlank))

  function complete(): string[] {
    const text = ended() ? rest() : undefined
    return text === undefined ? [] : [text]
  }

  return {
    get open() {
      return lines.length > 0
    },
    rest,
    push(line) {
      add(line)
      return complete()
    },
    paste(pasted) {
      for (const line of pasted) add(line)
      return complete()
    },
  }
}

const isBlank = (line: string) => line.trim() === ''
