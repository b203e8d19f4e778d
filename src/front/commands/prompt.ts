import type { ExitCode } from '../../failure.ts'
import type { CommandInput } from '../commands.ts'
import { openLines } from '../lines.ts'
import { keepMargin, type Margin } from '../margin.ts'
import { converse, runInput } from '../plain.ts'
import { isCapable, type Printer } from '../terminal.ts'

/**
 * `imago`: a console on the project's image. What is typed is run there, and stays there when the console ends.
 * A terminal that can only print lines is given a plain prompt. Without a terminal it runs standard input, and its
 * exit code is that of the first piece that failed, after which nothing more is run.
 */
export async function prompt({ options, printer }: CommandInput): Promise<ExitCode> {
  const { kernel } = options
  const person = process.stdin.isTTY && process.stdout.isTTY
  if (person && isCapable(process.env)) {
    const { converse } = await import('../../terminal/console.ts')
    return await converse({ kernel })
  }
  const lines = openLines(process.stdin, process.stdout)
  try {
    if (!lines.terminal) return await runInput({ kernel, lines, printer: withoutMargin(printer) })
    return await converse({ kernel, lines, printer: keepMargin(printer, process.stdout) })
  } finally {
    lines.close()
  }
}

/** For a program, which reads what the code has printed and nothing besides. */
const withoutMargin = (printer: Printer): Margin => ({ ...printer, toMargin() {}, asking: prompt => prompt })
