import type { Envelope } from '../../../tools/outcome.ts'
import { WireError } from '../../../wire/errors.ts'
import { EXIT, type ExitCode } from '../../failure.ts'
import { findRoot, VERSION } from '../../paths.ts'
import { openBlocks } from '../blocks.ts'
import { connectDaemon, type DaemonClient } from '../client.ts'
import type { CommandInput } from '../commands.ts'
import { exitOf, lostDaemon } from '../envelopes.ts'
import { askPerson, type Lines, openLines } from '../lines.ts'
import { keepMargin, type Margin } from '../margin.ts'
import type { Printer } from '../terminal.ts'

/** An evaluation typed by a person is waited for as long as the person does. */
const WAIT_SECONDS = 1_000_000

/**
 * `imago`: a plain prompt on the project's image. What is typed is run there, and stays there when the prompt ends.
 * Ctrl-C interrupts what runs, or drops what is being typed; Ctrl-D ends. Without a terminal it runs standard input,
 * and its exit code is that of the first piece that failed, after which nothing more is run.
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
    return ready === EXIT.done ? await converse(image, lines, margin) : ready
  } finally {
    lines.close()
  }
}

/** For a program, which is given exactly what was printed. */
const asIs = (printer: Printer): Margin => ({ ...printer, toMargin() {}, asking: prompt => prompt })

/** For a person: goes on after errors. */
async function converse(image: Image, lines: Lines, printer: Margin): Promise<ExitCode> {
  const blocks = openBlocks({ emptyLineEnds: true })
  lines.onInterrupt(() => {
    if (image.interrupt()) return
    blocks.rest()
    lines.again('>>> ')
  })
  for (;;) {
    const entered = await lines.entry(blocks.open ? '... ' : '>>> ')
    if (entered === undefined) break
    const [line = '', ...others] = entered
    const sources = others.length === 0 ? blocks.push(line) : blocks.paste(entered)
    for (const source of sources) await image.run(source)
  }
  printer.out('The image stays. imago kernels lists it, imago stop ends it.\n')
  return EXIT.done
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
      const exit = await image.run(source)
      if (exit !== EXIT.done) return exit
    }
    if (line === undefined) return EXIT.done
  }
}

const RECONNECTED = 'imago: the connection to the daemon was lost, and made again; the image is the same.\n'
const NEW_IMAGE = 'imago: the daemon was lost, and with it the image; another one begins here.\n'

interface Image {
  /** Makes sure that the kernel is there, and says which one it is. */
  begin(): Promise<ExitCode>
  /** Runs one piece of source, and prints what came of it. */
  run(source: string): Promise<ExitCode>
  /** Interrupts what runs; `false` if nothing does. */
  interrupt(): boolean
}

interface Opening {
  readonly kernel: string | undefined
  readonly lines: Lines
  readonly printer: Margin
}

async function openImage({ kernel, lines, printer }: Opening): Promise<Image> {
  const root = findRoot(process.cwd())
  const connect = () => connectDaemon({ name: 'imago', start: 'if-needed', root })
  const chosen = kernel === undefined ? {} : { kernel }
  let client = await connect()
  let lost = false
  let running: AbortController | undefined
  watch(client)

  function watch(current: DaemonClient) {
    lost = false
    void current.closed.then(() => {
      lost = true
    })
  }

  async function reconnect() {
    const { instance } = client.daemon
    client = await connect()
    watch(client)
    const same = client.daemon.instance === instance
    printer.err(same ? RECONNECTED : NEW_IMAGE)
  }

  async function call(tool: string, args: Readonly<Record<string, unknown>>): Promise<Envelope> {
    if (lost) await reconnect()
    running = new AbortController()
    try {
      return await client.call({
        tool,
        args: { ...args, ...chosen },
        signal: running.signal,
        on: event => {
          if (event.type !== 'output') return
          if (event.stream === 'stderr') printer.err(event.text)
          else printer.out(event.text)
        },
        ask: ({ prompt, ...question }) => askPerson(lines, { ...question, prompt: printer.asking(prompt) }),
      })
    } catch (error) {
      if (!(error instanceof WireError) || error.code !== 'LINK_CLOSED') throw error
      return { ok: false, error: lostDaemon() }
    } finally {
      running = undefined
      printer.toMargin()
    }
  }

  return {
    async begin() {
      const envelope = await call('list_globals', { limit: 1 })
      if (!envelope.ok) {
        printFailure(printer, envelope)
        return exitOf(envelope)
      }
      const { kernels } = await client.request('kernels', {})
      const row = kernels.find(one =>
        kernel === undefined ? one.root === root && one.script === null : one.name === kernel,
      )
      const what = row === undefined ? '' : `, ${row.implementation ?? row.language} in kernel ${row.name}`
      printer.out(`Imago ${VERSION}${what}. Ctrl-C interrupts, Ctrl-D leaves.\n`)
      return EXIT.done
    },
    async run(expr) {
      const envelope = await call('eval_expr', { expr, patience: WAIT_SECONDS })
      if (envelope.ok) printValues(printer, envelope.result)
      else printFailure(printer, envelope)
      return exitOf(envelope)
    },
    interrupt() {
      running?.abort()
      return running !== undefined
    },
  }
}

function printValues(printer: Printer, result: unknown) {
  if (typeof result !== 'object' || result === null || !('value_repr' in result)) return
  if (typeof result.value_repr === 'string' && result.value_repr !== 'None')
    printer.out(`${result.value_repr}\n`)
}

/** The language's own report, where there is one; it says more than our sentence does. */
function printFailure(printer: Printer, { error }: Extract<Envelope, { ok: false }>) {
  const report = tracebackOf(error.details.exception)
  if (report !== undefined) printer.err(report.endsWith('\n') ? report : `${report}\n`)
  if (report === undefined || error.code !== 'exception')
    printer.err(`${error.code}: ${error.message}\n${error.next === null ? '' : `${error.next}\n`}`)
}

function tracebackOf(exception: unknown): string | undefined {
  if (typeof exception !== 'object' || exception === null || !('traceback' in exception)) return undefined
  return typeof exception.traceback === 'string' && exception.traceback !== ''
    ? exception.traceback
    : undefined
}
