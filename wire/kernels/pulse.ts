import { WireError } from '../errors.ts'
import type { Health } from '../kernel.ts'
import type { Link } from '../link/link.ts'

/** How long a peer with something to do may say nothing before it is pinged, and how long a ping may take, in ms. */
export interface PulseTimes {
  readonly quietMs: number
  readonly pongMs: number
  /** How often a silent peer is looked at again. */
  readonly againMs: number
}

export const PULSE: PulseTimes = { quietMs: 1_000, pongMs: 2_000, againMs: 250 }

/** What is watched: the present link to a peer. */
interface WatchedLink {
  /** When anything was heard last, in milliseconds of this process's clock. */
  readonly lastHeard: number
  /** Throws `UNRESPONSIVE` where no answer comes in time. */
  ping(deadlineMs: number): Promise<void>
}

/**
 * Whether the control channel of a peer answers. It is watched only while something is pending: an idle kernel costs
 * no timer and no traffic. Any frame counts as a sign of life, so a working one is hardly ever pinged.
 */
export class Pulse {
  readonly #link: () => WatchedLink
  readonly #changed: (health: Health) => void
  readonly #times: PulseTimes
  #pending = 0
  #since = 0
  #timer: NodeJS.Timeout | undefined
  #pinging = false
  #silentSince: number | undefined
  #stopped = false

  constructor(options: { link(): WatchedLink; changed(health: Health): void; times: PulseTimes }) {
    this.#link = options.link
    this.#changed = options.changed
    this.#times = options.times
  }

  /** What is known right now; a frame that came since the last look is taken into account. */
  get health(): Health {
    if (this.#stopped) return 'ended'
    this.#notice()
    return this.#silentSince === undefined ? 'responsive' : 'unresponsive'
  }

  /** Something was asked of the peer. Each `begin` is followed by one `end`. */
  begin(): void {
    if (this.#pending++ === 0) this.#since = performance.now()
    this.#timer ??= this.#later(this.#times.quietMs)
  }

  end(): void {
    this.#pending--
  }

  /** The peer is gone for good, or let go of. Announces `ended`, once. */
  stop(): void {
    if (this.#stopped) return
    this.#stopped = true
    clearTimeout(this.#timer)
    this.#changed('ended')
  }

  #later(ms: number): NodeJS.Timeout {
    return setTimeout(() => {
      this.#timer = undefined
      this.#look()
    }, ms).unref()
  }

  #look(): void {
    if (this.#stopped) return
    this.#notice()
    const silent = this.#silentSince !== undefined
    if (this.#pending === 0 && !silent) return
    const quiet = performance.now() - Math.max(this.#link().lastHeard, this.#since)
    if (silent) this.#timer = this.#later(this.#times.againMs)
    else if (quiet < this.#times.quietMs) this.#timer = this.#later(this.#times.quietMs - quiet)
    else void this.#ping()
  }

  /** One ping is enough for a peer that is silent: what it answers on waking up is a frame like any other. */
  async #ping(): Promise<void> {
    if (this.#pinging) return
    this.#pinging = true
    const asked = performance.now()
    try {
      await this.#link().ping(this.#times.pongMs)
    } catch (error) {
      // After this process itself was held up, timers run before the bytes that wait: let those be read first.
      await new Promise(resolve => setImmediate(resolve))
      const late = error instanceof WireError && error.code === 'UNRESPONSIVE'
      if (late && !this.#stopped && this.#link().lastHeard < asked) this.#fallSilent()
    }
    this.#pinging = false
    this.#timer ??= this.#later(this.#times.againMs)
  }

  #fallSilent(): void {
    this.#silentSince = performance.now()
    this.#changed('unresponsive')
  }

  #notice(): void {
    if (this.#silentSince === undefined || this.#link().lastHeard < this.#silentSince) return
    this.#silentSince = undefined
    // What is pending has been waiting since before the silence; it gets the whole quiet time again.
    this.#since = performance.now()
    this.#changed('responsive')
  }
}

interface HeartOptions {
  /** The present link. */
  link(): Link
  /** After so much silence the other end is asked for a sign of life, and has as long for it. In milliseconds. */
  readonly ms: number
  /** Nothing came; `why` is a sentence without its end. */
  still(why: string): void
}

/**
 * Finds out that nothing comes through a link any more, though nobody has closed it: something in between swallows
 * all of it. Only a link that is silent by itself is asked. A socket within one machine needs none of this.
 */
export class Heart {
  readonly #options: HeartOptions
  #timer: NodeJS.Timeout | undefined

  constructor(options: HeartOptions) {
    this.#options = options
  }

  begin(): void {
    this.stop()
    this.#later(this.#options.ms)
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #later(ms: number): void {
    this.#timer = setTimeout(() => void this.#beat(), ms).unref()
  }

  async #beat(): Promise<void> {
    const { ms, link, still } = this.#options
    const timer = this.#timer
    const asked = link()
    const silentMs = performance.now() - asked.lastHeard
    if (silentMs < ms) return this.#later(ms - silentMs)
    const heard = await asked.ping(ms).then(
      () => true,
      // After this process itself was held up, timers run before the bytes that wait: let those be read first.
      () => new Promise<false>(resolve => setImmediate(resolve, false)),
    )
    // In the meantime it may have been stopped, or have a new link to listen to.
    if (this.#timer !== timer) return
    if (heard || performance.now() - asked.lastHeard < ms) this.#later(ms)
    else still(`nothing came for ${Math.round(2 * ms)} ms`)
  }
}
