import { WireError } from '../errors.ts'
import type { Look } from '../kernel.ts'
import { within } from '../signal.ts'
import type { SwankConnection } from '../swank/connection.ts'
import type { Arguments, SwankPeer } from '../swank/peer.ts'
import { symbol } from '../swank/sexp.ts'

/** No thread has it: a request for it is answered by the thread that reads requests, and starts none. */
const NO_THREAD = -1

/** The time ran out, while the image showed itself to be alive. */
export const TIMED_OUT = Symbol('timed out')

export interface LineOptions {
  /** For messages: the name of the kernel. */
  readonly name: string
  readonly connection: SwankConnection
  readonly peer: SwankPeer
}

/** Calls of one image over one connection, and when it was last heard. */
export class SwankLine {
  readonly #options: LineOptions
  /** In milliseconds of this process's clock. */
  lastHeard = performance.now()

  constructor(options: LineOptions) {
    this.#options = options
  }

  /** Something came. */
  heard(): void {
    this.lastHeard = performance.now()
  }

  /** What the image answers to a call of our peer, however long that takes. Throws `REMOTE_FAULT`, `LINK_CLOSED`. */
  async call(name: string, args: Arguments): Promise<unknown> {
    try {
      return await this.#options.peer.call(name, args)
    } finally {
      this.heard()
    }
  }

  /**
   * The same under a deadline: `TIMED_OUT` from an image that was heard in the meantime, and `UNRESPONSIVE` is thrown
   * where nothing was. Throws the reason of a signal that is aborted. The image itself is not told of either.
   */
  within(name: string, args: Arguments, look: Look): Promise<unknown> {
    return this.limited(name, this.call(name, args), look)
  }

  /** The same for a call that was made. */
  async limited(name: string, answer: Promise<unknown>, { deadlineMs, signal }: Look): Promise<unknown> {
    const asked = performance.now()
    answer.catch(() => {})
    if (signal?.aborted) throw signal.reason
    const timers: NodeJS.Timeout[] = []
    let aborted = () => {}
    const limits = new Promise<typeof TIMED_OUT>((resolve, reject) => {
      const doubt = () => {
        if (this.lastHeard < asked) this.ping(deadlineMs / 2).catch(() => {})
      }
      const late = () => {
        if (this.lastHeard >= asked) resolve(TIMED_OUT)
        else reject(this.#silent(name, deadlineMs))
      }
      // After this process itself was held up, timers run before the bytes that wait: let those be read first.
      timers.push(
        setTimeout(doubt, deadlineMs / 2),
        setTimeout(() => setImmediate(late), deadlineMs),
      )
      aborted = () => reject(signal?.reason)
    })
    signal?.addEventListener('abort', aborted, { once: true })
    try {
      return await Promise.race([answer, limits])
    } finally {
      for (const timer of timers) clearTimeout(timer)
      signal?.removeEventListener('abort', aborted)
    }
  }

  /** Resolves once the image has shown that it reads requests; it evaluates nothing for that. */
  async ping(deadlineMs: number): Promise<void> {
    const answer = this.#options.connection.rex([symbol('swank:ping'), null], NO_THREAD).then(
      () => this.heard(),
      error => {
        // That there is no such thread is the answer.
        if (error instanceof WireError && error.code === 'LINK_CLOSED') throw error
        this.heard()
      },
    )
    await within(deadlineMs, answer, () => {
      throw this.#silent('a ping', deadlineMs)
    })
  }

  #silent(what: string, ms: number): WireError {
    const { name } = this.#options
    return new WireError(
      'UNRESPONSIVE',
      `${name} did not answer ${what} within ${Math.round(ms)} ms: it is held by foreign code or a collection of ` +
        'garbage, or the process is frozen. Try again later.',
    )
  }
}

/** Whether a call of the peer was left in the image before it could answer, by whatever way. */
export const wasLeft = (error: unknown): error is WireError =>
  error instanceof WireError && error.code === 'REMOTE_FAULT' && error.remote?.code === 'aborted'
