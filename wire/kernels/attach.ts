import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf, WireError } from '../errors.ts'
import type { Kernel, Stream } from '../kernel.ts'
import { connect } from '../link/transport.ts'
import { type FramedKernel, framedKernel } from './framed.ts'
import { Heart, type PulseTimes } from './pulse.ts'

/** Where a program listens, and the secret that both ends know. */
export interface Reach {
  readonly address: string
  readonly secret: string
}

export interface AttachRequest {
  /** For messages: the name of the kernel. */
  readonly name: string
  /** Asked anew for each connection, as a program may come to listen elsewhere. Throws why it cannot be reached. */
  reach(): Reach
  /** How the program has ended, as a sentence, where that is certain. */
  gone?(): string | undefined
  /** Output that belongs to no evaluation. */
  background?(stream: Stream, text: string): void
  /** The link broke, or a try to make it again failed, and why; null once it is there again. */
  away?(why: string | null): void
  readonly pulse?: PulseTimes
  readonly limits?: Partial<AttachLimits>
}

/** In milliseconds. */
export interface AttachLimits {
  /** Before a broken link is first made anew, by how much that grows, and how far. */
  readonly againMs: number
  readonly growth: number
  readonly mostMs: number
  /** A TCP link that has been silent so long is asked for a sign of life, and given up without one after as long. */
  readonly heartbeatMs: number
  /** How long an evaluation waits for a broken link, before anything was sent. */
  readonly awaitLinkMs: number
}

export const ATTACH: AttachLimits = {
  againMs: 250,
  growth: 1.6,
  mostMs: 30_000,
  heartbeatMs: 15_000,
  awaitLinkMs: 10_000,
}

/**
 * Joins a program of the user's that listens. It is not ours: nothing here ends or signals its process, and `close`
 * lets go of it.
 *
 * A link that breaks is made again, and evaluations under way are asked for by name, for as long as the program is
 * not known to have ended. Throws what `connect` and `openKernel` throw, and what `reach` does.
 */
export async function attachKernel(request: AttachRequest): Promise<FramedKernel> {
  const limits = { ...ATTACH, ...request.limits }
  const { address, secret } = request.reach()
  const breaks: { early?: string; heard(why: string): void } = {
    heard: why => {
      breaks.early = why
    },
  }
  const kernel = await framedKernel({
    name: request.name,
    transport: await connect(address),
    secret,
    opener: 'daemon',
    rejoinMs: Number.POSITIVE_INFINITY,
    broken: why => breaks.heard(why),
    joined: () => request.away?.(null),
    awaitLinkMs: limits.awaitLinkMs,
    ...(request.background && { background: (...heard) => request.background?.(...heard) }),
    ...(request.pulse && { pulse: request.pulse }),
  })
  const heart = new Heart({ link: () => kernel.link, ms: limits.heartbeatMs, still: why => kernel.drop(why) })
  const keep = (reached: string) => (reached.startsWith('tcp:') ? heart.begin() : heart.stop())
  keep(address)
  breaks.heard = why => {
    heart.stop()
    request.away?.(why)
    void joinAgain({ kernel, request, limits, why }).then(reached => {
      if (reached !== undefined) keep(reached)
    })
  }
  if (breaks.early !== undefined) breaks.heard(breaks.early)
  void kernel.ended.then(() => heart.stop())
  return kernel
}

/** See `awaitImage`. */
export async function rejoinKernel(
  request: AttachRequest & { readonly epoch: string; readonly signal: AbortSignal },
): Promise<FramedKernel | string> {
  return awaitImage({ ...request, attach: () => attachKernel(request) })
}

interface AwaitImageOptions<Joined extends Kernel> {
  readonly name: string
  /** The life of the image that is meant. */
  readonly epoch: string
  readonly signal: AbortSignal
  readonly limits?: Partial<AttachLimits>
  attach(): Promise<Joined>
  gone?(): string | undefined
  away?(why: string | null): void
}

/**
 * Joins an image that was joined before and may not be reachable at this moment: tries until it is there, or has
 * ended, or `signal` aborts. Resolves with the kernel, or with why there will be none, as a sentence.
 */
export async function awaitImage<Joined extends Kernel>(
  awaiting: AwaitImageOptions<Joined>,
): Promise<Joined | string> {
  const { name, epoch, signal } = awaiting
  for (const wait of waits({ ...ATTACH, ...awaiting.limits })) {
    const gone = awaiting.gone?.()
    if (gone !== undefined) return gone
    try {
      const kernel = await awaiting.attach()
      if (kernel.identity.epoch === epoch && !signal.aborted) return kernel
      await kernel.close()
      if (!signal.aborted) return otherImage(name)
    } catch (error) {
      if (error instanceof WireError && LASTING.has(error.code)) return error.message
      awaiting.away?.(messageOf(error))
    }
    await pause(wait, signal)
    if (signal.aborted) return `${name} was let go of.`
  }
  throw new Error('the waits have no end')
}

/** What no later try changes. */
export const LASTING: ReadonlySet<string> = new Set(['NOT_AUTHENTICATED', 'VERSION_MISMATCH'])

interface BrokenLink {
  readonly kernel: FramedKernel
  readonly request: AttachRequest
  readonly limits: AttachLimits
  readonly why: string
}

/** Where the kernel was joined again; undefined once it has ended. */
async function joinAgain({ kernel, request, limits, why }: BrokenLink): Promise<string | undefined> {
  const over = new AbortController()
  void kernel.ended.then(() => over.abort())
  for (const wait of waits(limits)) {
    await pause(wait, over.signal)
    if (over.signal.aborted) return undefined
    const gone = request.gone?.()
    if (gone !== undefined) {
      kernel.lose({ reason: 'exited', message: gone })
      return undefined
    }
    let transport: Duplex | undefined
    try {
      const { address, secret } = request.reach()
      transport = await connect(address)
      if ((await kernel.rejoin({ transport, secret })) === 'joined') return address
      kernel.lose({ reason: 'lost', message: otherImage(request.name) })
      return undefined
    } catch (error) {
      transport?.destroy()
      request.away?.(`${why}; then: ${messageOf(error)}`)
    }
  }
}

export function* waits({ againMs, growth, mostMs }: AttachLimits): Generator<number, undefined> {
  for (let wait = againMs; ; wait = Math.min(mostMs, wait * growth)) yield wait
}

export const otherImage = (name: string) =>
  `${name} has begun anew, and what listens there now is another image.`

/** Resolves after so long, or as soon as the signal aborts. */
export const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  sleep(ms, undefined, { signal }).catch(() => {})
