import { randomUUID } from 'node:crypto'
import { isAbsolute, relative } from 'node:path'
import { z } from 'zod'
import { ALONE } from '../../tools/kernels.ts'
import type { Envelope } from '../../tools/outcome.ts'
import { oneLine } from '../../tools/text.ts'
import { WireError } from '../../wire/errors.ts'
import type { Question } from '../../wire/kernel.ts'
import type { CallEvent } from '../calls/contract.ts'
import type { KernelRow } from '../kernels/rows.ts'
import { findRoot, VERSION } from '../paths.ts'
import type { SuspensionEvent } from '../suspensions/rows.ts'
import { connectDaemon, type DaemonClient } from './client.ts'
import { lostDaemon } from './print.ts'
import { type OpenSeat, openToldSeat, type SeatOptions } from './seat/open-seat.ts'

/** The image behind a prompt, and the daemon on the way to it. A connection that was lost is made again. */
export interface Image {
  /** The project. */
  readonly root: string
  /** The kernel that was asked for; where none was, the one that answered last. */
  readonly kernel: string | undefined
  /** From now on, another one. */
  use(kernel: string): void
  /** One call of a tool in that kernel, unless its arguments name one. A daemon that is lost is an answer. */
  call(call: ImageCall): Promise<Envelope>
  readonly request: DaemonClient['request']
  /** Takes a seat on that connection, as `openSeat` does: it ends with it. */
  sit(options: SeatOptions): Promise<OpenSeat>
  /** The row of that kernel, if there is one. */
  row(): Promise<KernelRow | undefined>
  /** Whether a call of that name was made here; the last few hundred are remembered. */
  made(call: string): boolean
  close(): Promise<void>
}

interface ImageCall {
  readonly tool: string
  readonly args: Readonly<Record<string, unknown>>
  /** Aborting interrupts the call, which is answered all the same. */
  readonly signal?: AbortSignal
  output?(text: string, stream: 'stdout' | 'stderr'): void
  /** It cannot begin before other code ends. */
  waits?(kernel: string): void
  /** Nothing of it has run: this plan of it waits for a person. Undefined: it waits no more. */
  asked?(plan: string | undefined): void
  ask?(question: Question): Promise<string>
}

interface ImageOptions {
  readonly kernel: string | undefined
  /** Told what happened to the connection. */
  readonly said: (message: string) => void
  /** Told what the kernel prints while no call runs in it. */
  readonly printed?: (text: string) => void
  /** Told what becomes of suspended evaluations of the project, and when a connection begins, which holds none yet. */
  readonly suspensions?: { begin(): void; heard(event: SuspensionEvent): void }
}

/** Names of calls. */
const REMEMBERED = 512

const RECONNECTED = 'imago: the connection to the daemon was lost, and made again; the image is the same.\n'

const NEW_IMAGE = 'imago: the daemon was lost, and with it the image; another one begins here.\n'

const JOINED_AGAIN =
  'imago: the daemon was lost. Another one joins the same image again; handles of before, and jobs, are gone.\n'

/** Once a kernel has answered, these go to no other without a word of the person. */
const STAYING: ReadonlySet<string> = new Set(['eval_expr', 'inspect', 'symbol_definition', 'complete'])

export async function openImage({
  kernel: wanted,
  said,
  printed,
  suspensions,
}: ImageOptions): Promise<Image> {
  const root = findRoot(process.cwd())
  const connect = () => connectDaemon({ name: 'imago', start: 'if-needed', root })
  let client = await connect()
  let connecting: Promise<void> | undefined
  let lost = false
  let chosen = wanted
  /** The name of the kernel that was spoken to last. */
  let spokenTo = wanted
  const made = new Set<string>()
  const { signal: forGood } = new AbortController()
  watch(client)

  function watch(current: DaemonClient) {
    lost = false
    if (suspensions !== undefined) {
      suspensions.begin()
      void current.watchSuspensions({ signal: forGood, heard: suspensions.heard })
    }
    if (printed !== undefined)
      void current.watch({
        get name() {
          return chosen ?? spokenTo
        },
        signal: forGood,
        heard: printed,
      })
    void current.closed.then(() => {
      lost = true
    })
  }

  /** Calls that find it lost at the same time share one. */
  async function reach() {
    if (lost)
      connecting ??= reconnect().finally(() => {
        connecting = undefined
      })
    await connecting
  }

  async function reconnect() {
    const { instance } = client.daemon
    client = await connect()
    watch(client)
    if (client.daemon.instance === instance) return said(RECONNECTED)
    const { kernels } = await client.request('kernels', {})
    const attached = kernels.some(({ name, attached }) => name === spokenTo && attached !== null)
    said(attached ? JOINED_AGAIN : NEW_IMAGE)
  }

  async function call({ tool, args, signal, output, waits, asked, ask }: ImageCall): Promise<Envelope> {
    await reach()
    const name = randomUUID()
    if (tool !== 'complete') remember(name)
    const named =
      args.kernel === undefined ? (chosen ?? (STAYING.has(tool) ? spokenTo : undefined)) : undefined
    let state: 'asked' | 'dispatched' | 'told' | 'over' = 'asked'
    const on = (event: CallEvent) => {
      if (event.type === 'output') output?.(event.text, event.stream)
      else if (event.type === 'progress' && event.plan !== undefined) asked?.(event.plan)
      else if (event.type === 'dispatched') {
        state = 'dispatched'
        asked?.(undefined)
        if (args.kernel === undefined) spokenTo = event.kernel ?? spokenTo
      } else if (state === 'dispatched' && waits !== undefined) {
        // Once is enough: what has begun to run waits no more.
        state = 'told'
        void row()
          .then(found => {
            if (state === 'told' && found?.running && found.running.call !== name) waits(found.name)
          })
          .catch(() => {})
      }
    }
    try {
      return await client.call({
        tool,
        args: named === undefined ? args : { ...args, kernel: named },
        call: name,
        ...(signal !== undefined && { signal }),
        ...(output !== undefined && { on }),
        ...(ask !== undefined && { ask }),
      })
    } catch (error) {
      if (!(error instanceof WireError) || error.code !== 'LINK_CLOSED') throw error
      return { ok: false, error: lostDaemon() }
    } finally {
      state = 'over'
    }
  }

  function remember(name: string) {
    made.add(name)
    const [oldest] = made
    if (made.size > REMEMBERED && oldest !== undefined) made.delete(oldest)
  }

  async function row(): Promise<KernelRow | undefined> {
    const { kernels } = await client.request('kernels', {})
    return kernels.find(({ name }) => name === spokenTo)
  }

  return {
    root,
    get kernel() {
      return chosen ?? spokenTo
    },
    use(name) {
      chosen = spokenTo = name
    },
    call,
    async request(method, params) {
      await reach()
      return client.request(method, params)
    },
    async sit(options) {
      await reach()
      return openToldSeat(client, options)
    },
    row,
    made: name => made.has(name),
    close: () => client.close(),
  }
}

/** How long a look may wait for an image that is being loaded, in seconds. */
const PATIENCE_S = 5

/** Makes sure that there is an image to talk to: the program of the project, or an empty one that begins now. */
export async function reachImage(image: Image): Promise<Envelope> {
  const begin = () => image.call({ tool: 'eval_expr', args: { expr: '\n', on_error: 'end' }, output() {} })
  // A look would ask all of several; code is for one, and says between which a person has to choose.
  if (image.kernel === undefined && (await areSeveral(image))) return begin()
  const args = { limit: 1, patience: PATIENCE_S }
  const looked = await image.call({ tool: 'list_globals', args, output() {} })
  // There is one, which may still be loaded.
  if (looked.ok) return looked
  const { reason } = looked.error.details
  // There is one, which has no time for a look: something holds it.
  if (reason === 'inspect_timeout') return { ok: true, result: null }
  if (reason !== 'none_lives') return looked
  // A look begins no image; code does, and this is none.
  return begin()
}

/** Whether more than one program or image of the project could be meant. */
async function areSeveral(image: Image): Promise<boolean> {
  const listed = await image.call({ tool: 'kernels', args: {} })
  const { data } = KERNELS.safeParse(listed.ok ? listed.result : undefined)
  return (data?.kernels.filter(({ state }) => !UNMEANT.includes(state)).length ?? 0) > 1
}

const KERNELS = z.object({ kernels: z.array(z.object({ state: z.string() })) })

/** States of what a call without a name never goes to. */
const UNMEANT: readonly string[] = [...ALONE, 'helper']

/** The same, where a person can say which one is meant of several. */
export async function reachChosen(image: Image, ask: (prompt: string) => Promise<string>): Promise<Envelope> {
  const reached = await reachImage(image)
  const names = choicesOf(reached)
  if (names.length === 0) return reached
  const name = await chosenOf(names, ask)
  if (name === undefined) return reached
  image.use(name)
  const chosen = await reachImage(image)
  // What was attached on the way may bear another name from now on.
  image.use((await image.row())?.name ?? name)
  return chosen
}

/** One of the names, by itself or its number, as a person says; undefined where they say nothing. */
async function chosenOf(
  names: readonly string[],
  ask: (prompt: string) => Promise<string>,
): Promise<string | undefined> {
  let said = names.map((name, index) => `${index + 1}  ${oneLine(name)}\n`).join('')
  for (;;) {
    const answer = (await ask(`${said}Which one? `).catch(() => '')).trim()
    const name = names.find((one, index) => answer === one || answer === String(index + 1))
    if (name !== undefined || answer === '') return name
    said = `There is no ${answer}.\n`
  }
}

/** The kernels and programs between which a call without a name could not choose. */
function choicesOf(reached: Envelope): readonly string[] {
  if (reached.ok || reached.error.details.reason !== 'several') return []
  const { kernels, announced } = reached.error.details
  return [kernels, announced].flat().filter(name => typeof name === 'string')
}

/**
 * The language of the kernel that is spoken to, or would be: without a name it is the only one that lives in the
 * project. Undefined where none does yet.
 */
export async function languageOf(
  image: Pick<Image, 'request' | 'root' | 'kernel'>,
): Promise<string | undefined> {
  const { kernels } = await image.request('kernels', {})
  const living = kernels.filter(({ state, root }) => state !== 'ended' && root === image.root)
  const only = living.length === 1 ? living[0] : undefined
  const named = kernels.find(({ name }) => name === image.kernel)
  return (named ?? only)?.language
}

/** What a prompt ends with. */
export function staysText(row: KernelRow | undefined): string {
  if (row?.attached) return `The program runs on. imago detach ${row.name} lets go of it.`
  return 'The image stays. imago kernels lists it, imago stop ends it.'
}

/** What a prompt begins with: which image it is, and the program that it runs or ran, if any. */
export function heading(row: KernelRow | undefined): string {
  const which = row === undefined ? '' : described(row)
  return `Imago ${VERSION}${which}.`
}

/** That the script of an image has failed, if it has. */
export function scriptFailure(row: KernelRow | undefined): string | undefined {
  if (row?.script_state !== 'failed') return undefined
  return `${below(row.root, row.script ?? '')} failed: ${row.message ?? 'it did not say why.'}`
}

function described({ name, language, implementation, script, script_state, root }: KernelRow): string {
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
