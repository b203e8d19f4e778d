import { isRunning } from '../../../tools/outcome.ts'
import { messageOf } from '../../../wire/errors.ts'
import { EXIT, type ExitCode } from '../../failure.ts'
import { type Blocks, openBlocks } from '../blocks.ts'
import { WAIT_SECONDS } from '../client.ts'
import type { CommandInput } from '../command.ts'
import {
  heading,
  type Image,
  languageOf,
  openImage,
  reachChosen,
  scriptFailure,
  staysText,
} from '../image.ts'
import { frontLanguage } from '../languages.ts'
import { askPerson, type Lines, openLines } from '../lines.ts'
import {
  exitOf,
  isCapable,
  keepMargin,
  type Margin,
  openPrinter,
  type Printer,
  printEvaluated,
  printFailure,
} from '../print.ts'
import { approvalsText } from './approvals.ts'

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

/** The prompt where there is no terminal, or one that can only print lines: nothing is coloured or redrawn. */
interface Plain {
  readonly kernel: string | undefined
  readonly lines: Lines
  readonly printer: Margin
}

/** For a person: goes on after errors. */
async function converse({ kernel, lines, printer }: Plain): Promise<ExitCode> {
  const image = await openImage({ kernel, said: printer.err })
  const ready = await begin(image, { lines, printer })
  if (ready !== EXIT.done) return ready
  const runner = openRunner(image, { lines, printer, program: printer })
  const blocks = await blocksFor(image, { emptyLineEnds: true })
  lines.onInterrupt(() => {
    if (runner.interrupt()) return
    blocks.rest()
    lines.again('KeyboardInterrupt', '>>> ')
  })
  for (;;) {
    const entered = await lines.entry(blocks.open ? '... ' : '>>> ')
    if (entered === undefined) break
    const [line = '', ...others] = entered
    // No Python begins with a colon.
    if (others.length === 0 && !blocks.open && /^\s*:/.test(line)) {
      await besides(line.trim(), { image, printer })
      continue
    }
    const sources = others.length === 0 ? blocks.push(line) : blocks.paste(entered)
    for (const source of sources) {
      const { exit, left } = await runner.run(source)
      if (left) return say(exit)
    }
  }
  return say(EXIT.done)

  async function say(exit: ExitCode) {
    const row = await image.row().catch(() => undefined)
    printer.out(`${staysText(row)}\n`)
    return exit
  }
}

async function blocksFor(image: Image, how: { readonly emptyLineEnds: boolean }): Promise<Blocks> {
  return (await frontLanguage((await languageOf(image)) ?? '')?.blocks(how)) ?? openBlocks(how)
}

/** Who answers plans where this prompt cannot. */
const ELSEWHERE = 'A person answers in another terminal, with: imago watch'

/** What the console has commands for, as far as a terminal goes that can only print lines. */
async function besides(command: string, { image, printer }: { image: Image; printer: Printer }) {
  if (!/^:a\w*$/.test(command) || !':approvals'.startsWith(command))
    return printer.err(
      'A terminal that can only print lines has one command: :approvals. All others are those of a shell: imago --help\n',
    )
  try {
    const found = await image.request('approvals', {})
    printer.out(`${approvalsText(found)}\n`)
    if (found.seats.length > 0) printer.out(`${ELSEWHERE}\n`)
  } catch (error) {
    printer.err(`${messageOf(error)}\n`)
  }
}

/** For a program: the first failure ends it. */
async function runInput({ kernel, lines, printer }: Plain): Promise<ExitCode> {
  const image = await openImage({ kernel, said: printer.err })
  const program = openPrinter({ exactInPipe: true })
  const runner = openRunner(image, { lines, printer, program })
  const blocks = await blocksFor(image, { emptyLineEnds: false })
  process.on('SIGINT', () => {
    if (!runner.interrupt()) process.exit(EXIT.failed)
  })
  for (;;) {
    const line = await lines.next('')
    const last = line === undefined ? blocks.rest() : undefined
    for (const source of line === undefined ? (last ? [last] : []) : blocks.push(line)) {
      const { exit, left } = await runner.run(source)
      if (left || exit !== EXIT.done) return exit
    }
    if (line === undefined) return EXIT.done
  }
}

/** Makes sure that the kernel is there, and says which one it is. */
async function begin(image: Image, { lines, printer }: Pick<Plain, 'lines' | 'printer'>): Promise<ExitCode> {
  const envelope = await reachChosen(image, prompt =>
    askPerson(lines, { type: 'stdin', prompt, secret: false }),
  )
  if (!envelope.ok) {
    printFailure(printer, envelope)
    return exitOf(envelope)
  }
  const row = await image.row()
  printer.out(`${heading(row)} Ctrl-C interrupts, Ctrl-D leaves.\n`)
  const failure = scriptFailure(row)
  if (failure !== undefined) printer.err(`${failure}\n`)
  return EXIT.done
}

/** `left`: the code asked to leave, as `exit()` does. The image is still there. */
interface Ran {
  readonly exit: ExitCode
  readonly left: boolean
}

interface Runner {
  /** Runs one piece of source, and prints what came of it. */
  run(source: string): Promise<Ran>
  /** Interrupts what runs; `false` if nothing does. */
  interrupt(): boolean
}

interface RunnerOptions {
  readonly lines: Lines
  readonly printer: Margin
  /** Where the code prints. */
  readonly program: Printer
}

function openRunner(image: Image, { lines, printer, program }: RunnerOptions): Runner {
  let running: AbortController | undefined
  let asked: string | undefined

  /** Once for each plan: nothing of it has run, and this prompt has no answer for it. */
  function before(plan: string | undefined) {
    if (plan === undefined || plan === asked) return
    asked = plan
    printer.toMargin()
    printer.err(`${plan} is before a person; nothing ran yet. Ctrl-C withdraws it. ${ELSEWHERE}\n`)
  }

  async function evaluate(expr: string) {
    running = new AbortController()
    try {
      return await image.call({
        tool: 'eval_expr',
        // Nobody here could go on with what an error suspends.
        args: { expr, patience: WAIT_SECONDS, on_error: 'end' },
        signal: running.signal,
        output: (text, stream) => (stream === 'stderr' ? program.err(text) : program.out(text)),
        ask: ({ prompt, ...question }) => askPerson(lines, { ...question, prompt: printer.asking(prompt) }),
        ...(lines.terminal && {
          asked: before,
          waits: kernel => {
            printer.toMargin()
            printer.err(`waiting: ${kernel} is busy; Ctrl-C withdraws\n`)
          },
        }),
      })
    } finally {
      running = undefined
      printer.toMargin()
    }
  }

  return {
    async run(expr) {
      const envelope = await evaluate(expr)
      const ran = printEvaluated(printer, envelope)
      if (envelope.ok && isRunning(envelope.result)) {
        const { job, kernel } = envelope.result
        printer.err(
          `It was interrupted and still runs (${job}); imago restart ${kernel ?? 'NAME'} ends the image.\n`,
        )
      }
      return ran
    },
    interrupt() {
      running?.abort()
      return running !== undefined
    },
  }
}
