import { messageOf, WireError } from '../errors.ts'
import {
  type Health,
  type Kernel,
  type KernelEnd,
  type KernelIdentity,
  NEWS,
  type NewsOf,
  type SuspensionNews,
} from '../kernel.ts'
import { ATTACH, type AttachLimits, LASTING, otherImage, pause, waits } from './attach.ts'
import { Listeners } from './listeners.ts'
import type { SwankKernel } from './swank.ts'

interface ReconnectOptions {
  /** For messages: the name of the kernel. */
  readonly name: string
  /** Connects to the image, anew for each connection. Throws why it cannot. */
  open(): Promise<SwankKernel>
  /** How the process has ended, as a sentence, where that is certain. */
  gone?(): string | undefined
  /** The connection broke, or a try to make it again failed, and why; null once it is there again. */
  away?(why: string | null): void
  /** How long it is tried to connect again, in ms; left out: as long as the image may live. */
  readonly limitMs?: number
  readonly limits?: Partial<AttachLimits>
}

/** Connects for the first time. Throws what `open` throws. */
export async function reconnectingKernel(options: ReconnectOptions): Promise<ReconnectingKernel> {
  return new ReconnectingKernel(options, await options.open())
}

/**
 * One image, over one connection after the other.
 *
 * When a connection breaks while the image lives, what was pending is `LINK_CLOSED`, and whether it ran is not known;
 * the same image is then joined again, and handles of before are stale. Another image in its place is not.
 */
export class ReconnectingKernel implements Kernel {
  readonly identity: KernelIdentity
  readonly ended: Promise<KernelEnd>
  readonly #options: ReconnectOptions
  readonly #health = new Listeners<Health>()
  readonly #suspensions = new Listeners<SuspensionNews>()
  readonly #news = new Listeners<NewsOf>()
  readonly #over = new AbortController()
  #present: SwankKernel
  /** Why it cannot be spoken to at this moment. */
  #away: string | undefined
  #end: KernelEnd | undefined
  #settleEnded: (end: KernelEnd) => void = () => {}

  constructor(options: ReconnectOptions, first: SwankKernel) {
    this.#options = options
    this.#present = first
    this.identity = first.identity
    this.ended = new Promise(resolve => {
      this.#settleEnded = resolve
    })
    this.#follow(first)
  }

  get health(): Health {
    if (this.#end !== undefined) return 'ended'
    return this.#away === undefined ? this.#present.health : 'unresponsive'
  }

  watchHealth(listener: (health: Health) => void): () => void {
    return this.#health.add(listener)
  }

  watchSuspensions(listener: (news: SuspensionNews) => void): () => void {
    return this.#suspensions.add(listener)
  }

  watchNews(of: NewsOf, listener: () => void): () => void {
    return this.#news.add(told => told === of && listener())
  }

  readonly evaluate: Kernel['evaluate'] = async (...asked) => this.#there().evaluate(...asked)

  readonly look: Kernel['look'] = async (...asked) => this.#there().look(...asked)

  readonly interrupt: Kernel['interrupt'] = async call => this.#there().interrupt(call)

  readonly status: Kernel['status'] = async look => this.#there().status(look)

  /** Lets go of the image. */
  async close(): Promise<void> {
    this.#over.abort()
    if (this.#away === undefined) await this.#present.close()
    this.lose({ reason: 'closed', message: `${this.#options.name} was let go of.` })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** The image is gone: settles everything that is pending, and `ended`. Later ends change nothing. */
  lose(end: KernelEnd): void {
    if (this.#end !== undefined) return
    this.#end = end
    this.#over.abort()
    this.#present.lose(end)
    this.#health.tell('ended')
    this.#settleEnded(end)
  }

  #follow(kernel: SwankKernel): void {
    kernel.watchHealth(health => {
      if (health !== 'ended') this.#health.tell(health)
    })
    kernel.watchSuspensions(news => this.#suspensions.tell(news))
    for (const of of NEWS) {
      kernel.watchNews(of, () => this.#news.tell(of))
      // Those of the connection before are gone.
      this.#news.tell(of)
    }
    void kernel.ended.then(end => {
      if (end.reason === 'lost' && !this.#over.signal.aborted) void this.#join(end.message)
      else this.lose(end)
    })
  }

  /** Connects again, until that is done, or the image is known to have ended. */
  async #join(why: string): Promise<void> {
    this.#leave(why)
    const begun = performance.now()
    const { limitMs = Number.POSITIVE_INFINITY, limits } = this.#options
    for (const wait of waits({ ...ATTACH, ...limits })) {
      await pause(wait, this.#over.signal)
      if (this.#over.signal.aborted) return
      const gone = this.#options.gone?.()
      if (gone !== undefined) return this.lose({ reason: 'exited', message: gone })
      try {
        return await this.#adopt(await this.#options.open())
      } catch (error) {
        const lasting = error instanceof WireError && LASTING.has(error.code)
        if (lasting || performance.now() - begun > limitMs)
          return this.lose({ reason: 'lost', message: messageOf(error) })
        this.#leave(`${why.replace(/\.$/, '')}; then: ${messageOf(error)}`)
      }
    }
  }

  async #adopt(kernel: SwankKernel): Promise<void> {
    if (this.#over.signal.aborted) return kernel.close()
    if (kernel.identity.epoch !== this.identity.epoch) {
      await kernel.close()
      return this.lose({ reason: 'lost', message: otherImage(this.#options.name) })
    }
    this.#present = kernel
    this.#away = undefined
    this.#follow(kernel)
    this.#options.away?.(null)
    this.#health.tell(kernel.health)
  }

  #leave(why: string): void {
    this.#away = why
    this.#options.away?.(why)
    this.#health.tell('unresponsive')
  }

  #there(): SwankKernel {
    if (this.#end !== undefined) throw new WireError('LINK_CLOSED', this.#end.message)
    if (this.#away === undefined) return this.#present
    const { name } = this.#options
    throw new WireError('LINK_CLOSED', `The link to ${name} broke and is being made again: ${this.#away}`)
  }
}
