import { hostname } from 'node:os'
import { WireError } from '../errors.ts'
import { peerIn } from '../peer-folder.ts'
import { startOf } from '../process-start.ts'
import type { Joining, ProgramProcess } from '../programs.ts'
import { connectSwank, type SwankInfo } from '../swank/connect.ts'
import { type AttachLimits, awaitImage } from './attach.ts'
import { type SwankKernel, swankKernel } from './swank.ts'
import { type ReconnectingKernel, reconnectingKernel } from './swank-reconnect.ts'
import { secretInHome } from './swank-secret.ts'

export interface SwankRequest {
  readonly joining: Joining
  readonly limits?: Partial<AttachLimits>
  /** Told the secret that is sent, so that it is kept out of what is written. */
  secret?(value: string): void
}

/**
 * Joins the user's own Lisp through the Swank server that runs in it. Our system is loaded there once, and the state of
 * our connection ends with it; the process is never ended or signalled. A connection that breaks is made again as long
 * as the image lives. Throws what `connectSwank` and `swankKernel` throw.
 */
export async function attachSwank(request: SwankRequest): Promise<ReconnectingKernel> {
  const { joining, limits } = request
  const watch = new ProcessWatch(joining)
  return reconnectingKernel({
    name: joining.name,
    open: () => openImage(request, watch),
    gone: () => watch.gone(),
    away: why => joining.away(why),
    ...(limits && { limits }),
  })
}

/** Joins an image again that a daemon before this one was attached to; see `awaitImage`. */
export async function rejoinSwank(
  request: SwankRequest & { readonly epoch: string; readonly signal: AbortSignal },
): Promise<ReconnectingKernel | string> {
  const { joining, epoch, signal, limits } = request
  const watch = new ProcessWatch(joining)
  return awaitImage({
    name: joining.name,
    epoch,
    signal,
    attach: () => attachSwank(request),
    gone: () => watch.gone(),
    away: why => joining.away(why),
    ...(limits && { limits }),
  })
}

async function openImage({ joining, secret }: SwankRequest, watch: ProcessWatch): Promise<SwankKernel> {
  const { name, key, open, errors } = joining
  const sent = open ? null : (key ?? secretInHome())
  if (sent !== null) secret?.(sent)
  const { connection, info } = await connectSwank({ ...placeOf(joining.address), secret: sent })
  watch.look(info)
  return swankKernel({
    name,
    connection,
    info,
    attached: true,
    ...(errors && { errors }),
    folder: peerIn('lisp'),
    background: (_stream, text) => joining.background(text),
  })
}

/** Host and port of `swank://host:port`. Throws `LINK_REFUSED` for what names neither. */
function placeOf(address: string): { readonly host: string; readonly port: number } {
  const [, host = '', port = ''] = /^swank:\/\/(?:\[(?=.*\]))?([^[\]/]+?)\]?:(\d{1,5})$/.exec(address) ?? []
  if (host !== '') return { host, port: Number(port) }
  throw new WireError(
    'LINK_REFUSED',
    `${address} is no address of a Swank server, such as swank://127.0.0.1:4005.`,
  )
}

/** Whether the process of an image is still there, where it is one of this machine. */
class ProcessWatch {
  readonly #joining: Joining
  #process: ProgramProcess | null

  constructor(joining: Joining) {
    this.#joining = joining
    this.#process = joining.process
  }

  /** A number of another machine, behind a tunnel, says nothing here. */
  look({ pid, machine }: SwankInfo): void {
    if (pid === null || machine !== hostname()) return
    const started = startOf(pid)
    if (started === undefined) return
    this.#process = { pid, started, seen: true }
    this.#joining.found(this.#process)
  }

  /** How it has ended, as a sentence, where that is certain. */
  gone(): string | undefined {
    if (this.#process === null || !this.#process.seen) return undefined
    const { pid, started } = this.#process
    if (startOf(pid) === started) return undefined
    return `${this.#joining.name} has ended (process ${pid}).`
  }
}
