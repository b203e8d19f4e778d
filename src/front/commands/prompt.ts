import { EXIT, type ExitCode } from '../../failure.ts'
import { openBlocks } from '../blocks.ts'
import type { CommandInput } from '../commands.ts'
import { type Image, openImage } from '../image.ts'
import { type Lines, openLines } from '../lines.ts'
import { keepMargin, type Margin } from '../margin.ts'
import type { Printer } from '../terminal.ts'

/**
 * `imago`: a plain prompt on the project's image. What is typed is run there, and stays there when the prompt ends.
 * Ctrl-C interrupts what runs, or drops what is being typed; Ctrl-D and `exit()` leave. Without a terminal it runs
 * standard input, and its exit code is that of the first piece that failed, after which nothing more is run.
 */
export async function prompt({ options, printer }: CommandInput): Promise<ExitCode> {
  const lines = openLines(process.stdin, process.stdout)
  try {
    const { kernel } = options
    if (!lines.terminal)
      return await runInput(await openImage({ kernel, lines, printer: asIs(printer) }), lines)
    const margin = keepMargin(printer, process.stdout)
    const image = await openImage({ kernel, lines, printer: margin })
    const ready = await image.begin()
    if (ready !== EXIT.done) return ready
    const exit = await converse(image, lines)
    printer.out('The image stays. imago kernels lists it, imago stop ends it.\n')
    return exit
  } finally {
    lines.close()
  }
}

/** For a program, which is given exactly what was printed. */
const asIs = (printer: Printer): Margin => ({ ...printer, toMargin() {}, asking: prompt => prompt })

/** For a person: goes on after errors. */
async function converse(image: Image, lines: Lines): Promise<ExitCode> {
  const blocks = openBlocks({ emptyLineEnds: true })
  lines.onInterrupt(() => {
    if (image.interrupt()) return
    blocks.rest()
    lines.again('KeyboardInterrupt', '>>> ')
  })
  for (;;) {
    const entered = await lines.entry(blocks.open ? '... ' : '>>> ')
    if (entered === undefined) return EXIT.done
    const [line = '', ...others] = entered
    const sources = others.length === 0 ? blocks.push(line) : blocks.paste(entered)
    for (const source of sources) {
      const { exit, left } = await image.run(source)
      if (left) return exit
    }
  }
}

/** For a program: the first failure ends it. */
async function runInput(image: Image, lines: Lines): Promise<ExitCode> {
  const blocks = openBlocks({ emptyLineEnds: false })
  process.on('SIGINT', () => {
    if (!image.interrupt()) process.exit(EXIT.failed)
  })
  for (;;) {
    const line = await lines.next('')
    const last = line === undefined ? blocks.rest() : undefined
    for (const source of line === undefined ? (last ? [last] : []) : blocks.push(line)) {
      const { exit, left } = await image.run(source)
      if (left || exit !== EXIT.done) return exit
    }
    if (line === undefined) return EXIT.done
  }
}
