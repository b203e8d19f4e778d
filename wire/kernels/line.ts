import type { Duplex } from 'node:stream'
import type { Limits } from '../codec/messages.ts'
import { WireError } from '../errors.ts'
import type { KernelEnd } from '../kernel.ts'
import { acceptKernel, type KernelHello, openKernel } from '../link/handshake.ts'
import type { Link } from '../link/link.ts'
import { within } from '../signal.ts'

export interface LineOptions {
  /** For messages: the name of the kernel. */
  readonly name: string
  readonly transport: Duplex
  readonly secret: string
  /** Which end has made the connections; the peer, unless told otherwise. */
  readonly opener?: 'peer' | 'daemon' | undefined
  /** How long a peer whose link broke may take to come back, in ms; 0 where it cannot, Infinity while it is not lost. */
  readonly rejoinMs?: number | undefined
  /** The link broke, and its peer may come back. */
  broken?: ((why: string) => void) | undefined
  /** It has. */
  joined?: (() => void) | undefined
  readonly limits?: Partial<Limits> | undefined
  serve(method: string, params: unknown): Promise<unknown>
  note(name: string, params: unknown): void
}

/**
 * The line to one image: a link, and after that link broke the next one, for as long as the image lives.
 *
 * Whether the other end is the same image is decided by the secret and by the epoch of its hello, never by where the
 * connection came from.
 */
export class Line {
  readonly hello: KernelHello
  readonly ended: Promise<KernelEnd>
  readonly #options: LineOptions
  #link: Link
  #end: KernelEnd | undefined
  #settleEnded: (end: KernelEnd) => void = () => {}
  #absence: Absence | undefined
  #expected: KernelEnd | undefined
  #dropped: string | undefined

  /** Waits for the handshake, and throws what `acceptKernel` or `openKernel` throws. */
  static async open(options: LineOptions): Promise<Line> {
    return new Line(options, await shakeHands(options, options))
  }

  private constructor(options: LineOptions, { hello, link }: { hello: KernelHello; link: Link }) {
    this.#options = options
    this.hello = hello
    this.ended = new Promise(resolve => {
      this.#settleEnded = resolve
    })
    this.#link = link
    this.#follow(link)
  }

  /** The latest link; it may be broken, and its calls then throw `LINK_CLOSED`. */
  get link(): Link {
    return this.#link
  }

  /** The link, where `present` would not have to wait. */
  get here(): Link | undefined {
    return this.#absence === undefined && this.#end === undefined ? this.#link : undefined
  }

  /**
   * A link that is there, at once or when the peer has come back. Throws `LINK_CLOSED` once it is gone for good, and
   * `UNRESPONSIVE` if it is not back within `limitMs`.
   */
  async present(limitMs?: number): Promise<Link> {
    if (this.#absence) await this.#absence.wait(limitMs)
    if (this.#end) throw this.gone(this.#end)
    if (this.#absence)
      throw new WireError('UNRESPONSIVE', `${this.#options.name} has lost its link. Try again.`)
    return this.#link
  }

  /** Takes back a peer over a new transport. Whoever else comes is turned away, and nothing changes. */
  async rejoin({
    transport,
    secret = this.#options.secret,
  }: PeerConnection): Promise<'joined' | 'other_image'> {
    const { hello, link } = await shakeHands(this.#options, { transport, secret })
    if (this.#end || hello.epoch !== this.hello.epoch) {
      await link.close({ code: 'other_image', message: 'This line belongs to another image.' })
      return 'other_image'
    }
    this.#dropped = undefined
    const former = this.#link
    this.#link = link
    this.#follow(link)
    this.#absence?.finish()
    this.#absence = undefined
    this.#options.joined?.()
    await former.close()
    return 'joined'
  }

  /** Gives up the present link, of which nothing is heard: as if it had broken. */
  drop(why: string): void {
    this.#dropped = why
    void this.#link.close({ code: 'unresponsive', message: why })
  }

  /** The image is being let go of: the next break of its link is its end, and nothing comes back after it. */
  expectEnd(how: string): void {
    this.#expected ??= { reason: 'closed', message: `${this.#options.name} was ${how}.` }
  }

  /** The image is gone: closes the link, and settles `ended`, once. An end that was expected goes before the one told here. */
  lose(end: KernelEnd): void {
    if (this.#end) return
    this.#end = this.#expected ?? end
    this.#absence?.finish()
    this.#absence = undefined
    this.#settleEnded(this.#end)
    void this.#link.close()
  }

  /** What calls of an image that is gone throw. */
  gone(end: KernelEnd | undefined = this.#end): WireError {
    return new WireError('LINK_CLOSED', end?.message ?? `The link to ${this.#options.name} broke.`)
  }

  #follow(link: Link): void {
    void link.closed.then(fault => this.#broken(link, fault))
  }

  /** The link ended. Where its peer may come back, calls wait for that; else this is the end of the image for us. */
  #broken(link: Link, fault: WireError | undefined): void {
    if (link !== this.#link || this.#end) return
    const { name, rejoinMs = 0 } = this.#options
    const why = this.#dropped ?? fault?.message ?? 'the other end closed the link'
    if (this.#expected) this.lose(this.#expected)
    else if (rejoinMs === 0) this.lose({ reason: 'lost', message: `${name} was lost: ${why}` })
    else {
      const message = `${name} was lost, and did not come back within ${rejoinMs} ms: ${why}`
      this.#absence = new Absence(rejoinMs, () => this.lose({ reason: 'lost', message }))
      this.#options.broken?.(why)
    }
  }
}

/** A new connection to the peer; its secret, where it has another one than before. */
export interface PeerConnection {
  readonly transport: Duplex
  readonly secret?: string
}

function shakeHands(
  { serve, note, limits, opener }: LineOptions,
  { transport, secret }: { readonly transport: Duplex; readonly secret: string },
): Promise<{ hello: KernelHello; link: Link }> {
  const shaking = { transport, secret, serve, note, ...(limits && { limits }) }
  return opener === 'daemon' ? openKernel(shaking) : acceptKernel(shaking)
}

/** A peer that is away, and may come back. */
class Absence {
  readonly #over: Promise<void>
  #finish: () => void = () => {}
  readonly #limit: NodeJS.Timeout | undefined

  constructor(limitMs: number, expired: () => void) {
    if (limitMs !== Number.POSITIVE_INFINITY) this.#limit = setTimeout(expired, limitMs)
    this.#over = new Promise(resolve => {
      this.#finish = resolve
    })
  }

  finish(): void {
    clearTimeout(this.#limit)
    this.#finish()
  }

  /** Resolves when the absence is over, or after `limitMs`. */
  async wait(limitMs: number | undefined): Promise<void> {
    if (limitMs === undefined) return this.#over
    await within(limitMs, this.#over, () => {})
  }
}
