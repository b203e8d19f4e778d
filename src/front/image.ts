import { randomUUID } from 'node:crypto'
import { isAbsolute, relative } from 'node:path'
import type { Envelope } from '../../tools/outcome.ts'
import { isRunning } from '../../tools/running.ts'
import { WireError } from '../../wire/errors.ts'
import { EXIT, type ExitCode } from '../failure.ts'
import { findRoot, VERSION } from '../paths.ts'
import { connectDaemon, type DaemonClient } from './client.ts'
import { exitOf, lostDaemon } from './envelopes.ts'
import { askPerson, type Lines } from './lines.ts'
import type { Margin } from './margin.ts'
import type { CallEvent, KernelRow } from './protocol.ts'
import { exitAskedFor, printFailure, printNotice, printValues } from './results.ts'

/** The image behind a prompt. */
export interface Image {
  /** Makes sure that the kernel is there, and says which one it is. */
  begin(): Promise<ExitCode>
  /** Runs one piece of source, and prints what came of it. */
  run(source: string): Promise<Ran>
  /** Interrupts what runs; `false` if nothing does. */
  interrupt(): boolean
}

/** `left`: the code asked to leave, as `exit()` does. The image is still there. */
export interface Ran {
  readonly exit: ExitCode
  readonly left: boolean
}

export interface Opening {
  readonly kernel: string | undefined
  readonly lines: Lines
  readonly printer: Margin
}

/** An evaluation typed by a person is waited for as long as the person does. */
const WAIT_SECONDS = 1_000_000

const RECONNECTED = 'imago: the connection to the daemon was lost, and made again; the image is the same.\n'
const NEW_IMAGE = 'imago: the daemon was lost, and with it the image; another one begins here.\n'

export async function openImage({ kernel, lines, printer }: Opening): Promise<Image> {
  const root = findRoot(process.cwd())
  const connect = () => connectDaemon({ name: 'imago', start: 'if-needed', root })
  const chosen = kernel === undefined ? {} : { kernel }
  let client = await connect()
  let lost = false
  let running: AbortController | undefined
  /** The name of the kernel that was spoken to last. */
  let spokenTo = kernel
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
    const cancel = new AbortController()
    running = cancel
    const name = randomUUID()
    let dispatched = false
    const on = (event: CallEvent) => {
      if (event.type === 'output') {
        if (event.stream === 'stderr') printer.err(event.text)
        else printer.out(event.text)
      } else if (event.type === 'dispatched') {
        dispatched = true
        spokenTo = event.kernel ?? spokenTo
      } else if (dispatched) {
        // Once is enough: what has begun to run waits no more.
        dispatched = false
        void sayIfWaiting(name, () => running === cancel)
      }
    }
    try {
      return await client.call({
        tool,
        args: { ...args, ...chosen },
        call: name,
        signal: cancel.signal,
        on,
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

  /** Tells a person whose code waits for other code to end. */
  async function sayIfWaiting(call: string, waits: () => boolean) {
    if (!lines.terminal) return
    const row = await findRow().catch(() => undefined)
    if (!waits() || !row?.running || row.running.call === call) return
    printer.toMargin()
    printer.err(`waiting: ${row.name} is busy; Ctrl-C withdraws\n`)
  }

  async function findRow(): Promise<KernelRow | undefined> {
    const { kernels } = await client.request('kernels', {})
    return kernels.find(row => row.name === spokenTo)
  }

  return {
    async begin() {
      const envelope = await call('list_globals', { limit: 1 })
      if (!envelope.ok) {
        printFailure(printer, envelope)
        return exitOf(envelope)
      }
      const row = await findRow()
      printer.out(`Imago ${VERSION}${described(row)}. Ctrl-C interrupts, Ctrl-D leaves.\n`)
      if (row?.script_state === 'failed')
        printer.err(`${below(row.root, row.script ?? '')} failed: ${row.message ?? 'it did not say why.'}\n`)
      return EXIT.done
    },
    async run(expr) {
      const envelope = await call('eval_expr', { expr, patience: WAIT_SECONDS })
      printNotice(printer, envelope)
      const asked = exitAskedFor(envelope)
      if (asked !== undefined) {
        if (asked.message !== undefined) printer.err(`${asked.message}\n`)
        return { exit: asked.exit, left: true }
      }
      if (!envelope.ok) printFailure(printer, envelope)
      else if (isRunning(envelope.result)) {
        const { job, kernel } = envelope.result
        printer.err(`It was interrupted and still runs (${job}); imago restart ${kernel} ends the image.\n`)
      } else printValues(printer, envelope.result)
      return { exit: exitOf(envelope), left: false }
    },
    interrupt() {
      running?.abort()
      return running !== undefined
    },
  }
}

/** Which kernel it is, and the program that it runs or ran, if any. */
function described(row: KernelRow | undefined): string {
  if (row === undefined) return ''
  const { name, language, implementation, script, script_state, root } = row
  const which = `, ${implementation ?? language} in kernel ${name}`
  if (script === null) return which
  const over = script_state === 'returned' || script_state === 'failed'
  return `${which}, which ${over ? 'ran' : 'runs'} ${below(root, script)}`
}

/** A path as seen from the root, where it is below it. */
function below(root: string, path: string): string {
  const from = relative(root, path)
  return from.startsWith('..') || isAbsolute(from) ? path : from
}
