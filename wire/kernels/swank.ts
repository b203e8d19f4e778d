import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { z } from 'zod'
import { LOOK_ANSWERS } from '../contract/looks.ts'
import { WireError } from '../errors.ts'
import type {
  CallId,
  Evaluated,
  Evaluation,
  Health,
  InterruptReport,
  Kernel,
  KernelEnd,
  KernelIdentity,
  KernelStatus,
  Look,
  Looked,
  LookName,
  Looks,
  NewsOf,
  Stream,
  SuspensionNews,
  Watcher,
} from '../kernel.ts'
import type { SwankConnection } from '../swank/connection.ts'
import { SwankPeer } from '../swank/peer.ts'
import { parseAnswer, underDeadline, unresponsive } from './answers.ts'
import { Listeners } from './listeners.ts'
import { PULSE, Pulse, type PulseTimes } from './pulse.ts'
import { identityOf, identityShape, leftResult, queryArguments } from './swank-encoding.ts'
import { type Turn, Turns } from './swank-evaluations.ts'
import { Inbox } from './swank-inbox.ts'
import { type InterruptSeen, interruptSeen, Ladder, type LadderTimes } from './swank-interrupt.ts'
import { SwankLine, TIMED_OUT, wasLeft } from './swank-line.ts'
import type { Exiting } from './swank-messages.ts'
import { Suspended } from './swank-suspended.ts'

/** The sources of our far end in Lisp. */
const PEER = join(import.meta.dirname, '../peers/lisp')

/** How long whoever started the process has to say how it ended, once the connection has. In milliseconds. */
const END_MS = 1_000

/** How long the image has to take down that a call is to stop, in ms. */
const ASK_MS = 2_000

/** How long an image may take to end that was told to, in ms: its other threads are ended first, and its hooks run. */
const EXIT_MS = 10_000

export interface SwankOptions {
  /** For messages: `lisp`, `myproject`. */
  readonly name: string
  /** As `connectSwank` gives it. Whatever is heard over it goes to the kernel from then on. */
  readonly connection: SwankConnection
  /** What the server said of itself. `style` tells whether it hears anything while code runs: only `spawn` does. */
  readonly info: { readonly style: 'spawn' | 'sigio' | 'fd-handler' | null }
  /** It is the user's own image: it is never ended or signalled by us. */
  readonly attached: boolean
  /** Where the sources of the peer are, if not where they belong. */
  readonly folder?: string
  /** The errors that servers of the program catch are to be noted. */
  readonly errors?: boolean
  /** Ends the process of an image that is ours. Left out: closing the connection is all there is to do. */
  release?(): Promise<void>
  /** Output that belongs to no evaluation. */
  background?(stream: Stream, text: string): void
  readonly pulse?: PulseTimes
  readonly ladder?: LadderTimes
}

/**
 * A kernel in a Common Lisp image, over a connection to its Swank server. Our system is loaded there first, unless it
 * was before, and a session is opened. Throws `KERNEL_START_FAILED` where the image refuses that.
 *
 * Evaluations wait here, and each runs on a thread of its own there; looks run on others, at any time. Where Swank
 * serves one request at a time (`fd-handler`, none), looks answer `busy` while something runs.
 */
export async function swankKernel(options: SwankOptions): Promise<SwankKernel> {
  const peer = new SwankPeer(options.connection)
  await peer.install(options.folder ?? PEER)
  const told = await peer.call('identity', { errors: options.errors })
  const identity = parseAnswer(identityShape, told, `What ${options.name} said of itself`)
  return new SwankKernel({ options, peer, identity })
}

export class SwankKernel implements Kernel {
  readonly identity: KernelIdentity
  readonly ended: Promise<KernelEnd>
  readonly #options: SwankOptions
  readonly #peer: SwankPeer
  readonly #line: SwankLine
  readonly #turns: Turns
  readonly #suspended: Suspended
  readonly #ladder: Ladder
  readonly #pulse: Pulse
  /** Whether the image hears anything while code runs. */
  readonly #hears: boolean
  readonly #health = new Listeners<Health>()
  readonly #news = new Listeners<NewsOf>()
  #end: KernelEnd | undefined
  #expected: KernelEnd | undefined
  #settleEnded: (end: KernelEnd) => void = () => {}
  #closing: Promise<void> | undefined

  constructor(parts: {
    options: SwankOptions
    peer: SwankPeer
    identity: z.infer<typeof identityShape>
  }) {
    const { options, identity } = parts
    const { name, connection, attached, background } = options
    this.#options = options
    this.#peer = parts.peer
    this.#hears = identity.style === 'spawn'
    this.identity = identityOf(identity, { attached, interruptible: this.#hears })
    this.ended = new Promise(resolve => {
      this.#settleEnded = resolve
    })
    this.#line = new SwankLine({ name, connection, peer: parts.peer })
    this.#turns = new Turns({ name, run: turn => this.#run(turn) })
    const suspends = this.identity.abilities.has('suspend')
    this.#suspended = new Suspended({ name, line: this.#line, suspends })
    const [turns, suspended] = [this.#turns, this.#suspended]
    const news = (of: NewsOf) => this.#news.tell(of)
    const inbox = new Inbox({ name, connection, turns, suspended, background, news })
    this.#ladder = new Ladder({
      name,
      hears: this.#hears,
      owned: !attached,
      times: options.ladder,
      ask: (turn, how) => this.#askToStop(turn.call, how),
    })
    this.#pulse = new Pulse({
      link: () => this.#line,
      changed: health => this.#health.tell(health),
      times: options.pulse ?? PULSE,
    })
    connection.listen(message => {
      this.#line.heard()
      inbox.hear(message)
    })
    void connection.closed.then(why => void this.#lost(why))
  }

  get health(): Health {
    return this.#pulse.health
  }

  watchHealth(listener: (health: Health) => void): () => void {
    return this.#health.add(listener)
  }

  watchSuspensions(listener: (news: SuspensionNews) => void): () => void {
    return this.#suspended.watch(listener)
  }

  watchNews(of: NewsOf, listener: () => void): () => void {
    return this.#news.add(told => told === of && listener())
  }

  async evaluate(evaluation: Evaluation, watcher: Watcher): Promise<Evaluated> {
    this.#refuse()
    const past = this.#turns.resultOf(evaluation.call)
    if (past !== undefined) return past
    if (this.health === 'unresponsive') throw unresponsive(this.#options.name)
    if (watcher.signal?.aborted) return { type: 'withdrawn' }
    const turn = this.#turns.add(evaluation, watcher)
    const aborted = () => void this.#stop(turn).catch(() => {})
    watcher.signal?.addEventListener('abort', aborted, { once: true })
    try {
      return await turn.result
    } finally {
      watcher.signal?.removeEventListener('abort', aborted)
    }
  }

  async look<Name extends LookName>(
    name: Name,
    query: Looks[Name]['query'],
    look: Look,
  ): Promise<Looked<Looks[Name]['found']>> {
    this.#refuse()
    const { running } = this.#turns
    if (running !== undefined && !this.#hears)
      return { type: 'busy', call: running.call, elapsed_ms: running.elapsedMs }
    const { deadlineMs } = look
    this.#pulse.begin()
    try {
      const told = await this.#line.limited(name, this.#line.call(name, queryArguments(query, look)), look)
      if (told === TIMED_OUT) return { type: 'timed_out', deadline_ms: deadlineMs }
      const found = parseAnswer(LOOK_ANSWERS[name], told, `What ${this.#options.name} answered to ${name}`)
      this.#suspended.looked(name, found)
      return underDeadline(found, deadlineMs)
    } catch (error) {
      throw await this.#explained(error)
    } finally {
      this.#pulse.end()
    }
  }

  /** Has the image interrupt one call, and no other. Undefined where it lives and does not answer in time. */
  async #askToStop(call: CallId, how: 'stop' | 'leave'): Promise<InterruptSeen | undefined> {
    const answer = await this.#line.within('interrupt', { call, how }, { deadlineMs: ASK_MS })
    if (answer === TIMED_OUT) return undefined
    return parseAnswer(interruptSeen, answer, `What ${this.#options.name} answered to interrupt`)
  }

  /** What this end of the line knows: whatever runs there for us was sent from here. */
  async status(_look: Look): Promise<KernelStatus> {
    this.#refuse()
    if (this.health === 'unresponsive') throw unresponsive(this.#options.name)
    const { running, waiting } = this.#turns
    return {
      running: running === undefined ? null : { call: running.call, elapsed_ms: running.elapsedMs },
      queued: waiting,
    }
  }

  async interrupt(call: CallId): Promise<InterruptReport> {
    this.#refuse()
    const turn = this.#turns.find(call)
    if (turn !== undefined) return this.#stop(turn)
    const message = 'it had ended before it could be interrupted, or is not known'
    return this.#suspended.notRunning(call) ?? { outcome: 'not_running', message }
  }

  /**
   * Lets go of the image. What runs in one that goes on living is interrupted first, and waited for as long as the
   * ladder takes; what cannot be stopped runs on there, and nobody hears of it any more.
   */
  async close(): Promise<void> {
    this.#closing ??= this.#letGo()
    await this.#closing
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** The image is gone: settles everything that is pending, and `ended`. Later ends change nothing. */
  lose(end: KernelEnd): void {
    if (this.#end !== undefined) return
    this.#end = this.#expected ?? end
    this.#turns.close(this.#gone())
    this.#suspended.lose(this.#end.message)
    this.#pulse.stop()
    this.#options.connection.end()
    this.#settleEnded(this.#end)
  }

  async #letGo(): Promise<void> {
    const { name, release } = this.#options
    this.#expected = { reason: 'closed', message: `${name} was let go of.` }
    const { running } = this.#turns
    this.#turns.failWaiting(this.#gone())
    this.#suspended.lose(this.#expected.message)
    if (release === undefined) {
      if (running !== undefined && this.identity.abilities.has('interrupt'))
        await this.#ladder.climb(running).catch(() => {})
      await this.#peer.leave()
    } else await release()
    this.lose(this.#expected)
  }

  /** The connection has ended. Whoever started the process may know better how. */
  async #lost(why: WireError): Promise<void> {
    const { name, attached } = this.#options
    if (!attached && this.#expected === undefined)
      await Promise.race([this.ended, delay(END_MS, undefined, { ref: false })])
    const exits = this.#turns.running?.exits
    const how = exits === undefined ? `${name} was lost: ${why.message}` : `${toldToEnd(name, exits)}.`
    this.lose({ reason: 'lost', message: how })
  }

  /** What calls of an image that is gone throw. */
  #gone(): WireError {
    const end = this.#end ?? this.#expected
    return new WireError('LINK_CLOSED', end?.message ?? `The connection to ${this.#options.name} broke.`)
  }

  #refuse(): void {
    if (this.#end !== undefined || this.#expected !== undefined) throw this.#gone()
  }

  /** An end of the connection, once it is known how that came about; any other fault as it is. */
  async #explained(error: unknown): Promise<unknown> {
    const { closed } = this.#options.connection
    if (error !== (await Promise.race([closed, new Promise(resolve => setImmediate(resolve))]))) return error
    await this.ended
    return this.#gone()
  }

  async #run(turn: Turn): Promise<Evaluated> {
    if (this.#hears) this.#pulse.begin()
    try {
      return await this.#suspended.run(turn)
    } catch (error) {
      if (wasLeft(error) && turn.exits === undefined) return leftResult(turn)
      if (turn.exits !== undefined) throw await this.#exited(turn.exits)
      throw await this.#explained(error)
    } finally {
      if (this.#hears) this.#pulse.end()
    }
  }

  /** The code has had its own process end: once that is so, or has not come about for a while. */
  async #exited(exits: Exiting): Promise<WireError> {
    await Promise.race([this.ended, delay(EXIT_MS, undefined, { ref: false })])
    if (this.#end !== undefined) return this.#gone()
    const message = `${toldToEnd(this.#options.name, exits)}, and it still runs ${EXIT_MS / 1_000} s later.`
    return new WireError('LINK_CLOSED', message)
  }

  #stop(turn: Turn): Promise<InterruptReport> {
    if (!this.#turns.withdraw(turn)) return this.#ladder.climb(turn)
    return Promise.resolve({ outcome: 'withdrawn', message: 'it was withdrawn before it ran' })
  }
}

const toldToEnd = (name: string, { code }: Exiting) =>
  `The code has told ${name} to end${code === null ? '' : ` with exit code ${code}`}`
