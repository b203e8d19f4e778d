import { WireError } from '../errors.ts'
import type { CallId, EvalEvent, Evaluated, Evaluation, Raised, Watcher } from '../kernel.ts'
import { busy, outcomeUnknown, QUEUE } from './answers.ts'
import type { Exiting } from './swank-messages.ts'

/** Results of evaluations that have ended, at most, for whoever asks for the same call again. */
const REMEMBERED = 256

/** One evaluation, from when it is asked for until it has settled. */
export class Turn {
  readonly evaluation: Evaluation
  /** Everybody who asked for it. */
  readonly watchers: Watcher[]
  state: 'waiting' | 'running' | 'ended' = 'waiting'
  /** When it began, in milliseconds of this process's clock. */
  begun = 0
  /** The thread that runs it, by Swank's number, once that is known. */
  thread: number | undefined
  /** Thrown in place of its result. */
  fault: unknown
  /** How often it was asked to stop. */
  asked = 0
  /** What it was seen to enter Swank's debugger with. */
  entered: Raised | undefined
  /** That its code has begun to end the image. */
  exits: Exiting | undefined
  /** How often it was helped out of it. */
  releases = 0
  /** What the image answers in the end to its request, or to that of the evaluation that it resumes. */
  request: Promise<unknown> | undefined
  isSuspended = false
  /** Resolves with the suspension that it has come to, if it does. */
  readonly suspended: Promise<Evaluated>
  readonly result: Promise<Evaluated>
  /** Resolves, and never rejects, when it has settled. */
  readonly over: Promise<void>
  #suspend: (outcome: Promise<Evaluated>) => void = () => {}
  #resolve: (result: Evaluated) => void = () => {}
  #reject: (fault: unknown) => void = () => {}

  constructor(evaluation: Evaluation, watcher: Watcher) {
    this.evaluation = evaluation
    this.watchers = [watcher]
    this.suspended = new Promise(resolve => {
      this.#suspend = resolve
    })
    this.suspended.catch(() => {})
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    this.over = this.result.then(
      () => {},
      () => {},
    )
  }

  get call(): CallId {
    return this.evaluation.call
  }

  get elapsedMs(): number {
    return this.state === 'waiting' ? 0 : performance.now() - this.begun
  }

  /** It has ended for whoever asked, although its request is not answered. */
  suspend(outcome: Promise<Evaluated>): void {
    this.isSuspended = true
    this.#suspend(outcome)
  }

  hear(event: EvalEvent): void {
    for (const watcher of this.watchers) watcher.on?.(event)
  }

  end(result: Evaluated): void {
    this.state = 'ended'
    this.#resolve(result)
  }

  fail(fault: unknown): void {
    this.state = 'ended'
    this.#reject(fault)
  }
}

interface TurnOptions {
  /** For messages: the name of the kernel. */
  readonly name: string
  /** Has the image run it, and resolves with what it came to. */
  run(turn: Turn): Promise<Evaluated>
}

/**
 * The evaluations of one image that can take only one at a time: they wait here, in the order in which they were
 * asked for, and what became of the last of them is remembered.
 */
export class Turns {
  readonly #options: TurnOptions
  /** The first is the one that runs. */
  readonly #queue: Turn[] = []
  readonly #past = new Map<CallId, Promise<Evaluated>>()
  #closed: WireError | undefined

  constructor(options: TurnOptions) {
    this.#options = options
  }

  /** The one that has the place, or will have it next. */
  get first(): Turn | undefined {
    return this.#queue[0]
  }

  get running(): Turn | undefined {
    return this.first?.state === 'running' ? this.first : undefined
  }

  /** How many wait. */
  get waiting(): number {
    return this.#queue.length - (this.running === undefined ? 0 : 1)
  }

  find(call: CallId): Turn | undefined {
    return this.#queue.find(turn => turn.call === call)
  }

  /** The one that runs on that thread. */
  on(thread: number): Turn | undefined {
    return this.running?.thread === thread ? this.running : undefined
  }

  /** What a call that has ended came to, its fault included. */
  resultOf(call: CallId): Promise<Evaluated> | undefined {
    return this.#past.get(call)
  }

  /**
   * Takes an evaluation in: one that runs or waits already is joined, and not run again. Throws `BUSY` where too many
   * wait, and what stands for an unknown outcome for one that was begun by somebody else and is not known.
   */
  add(evaluation: Evaluation, watcher: Watcher): Turn {
    const { name } = this.#options
    if (this.#closed) throw this.#closed
    const known = this.find(evaluation.call)
    if (known !== undefined) {
      known.watchers.push(watcher)
      return known
    }
    if (evaluation.again) throw outcomeUnknown(name, forgotten(evaluation.call))
    if (this.#queue.length >= QUEUE) throw busy(name)
    const turn = new Turn(evaluation, watcher)
    this.#queue.push(turn)
    this.#begin()
    return turn
  }

  /** Ends one that waits, which then never runs; false where it does not wait. */
  withdraw(turn: Turn): boolean {
    if (turn.state !== 'waiting') return false
    this.#queue.splice(this.#queue.indexOf(turn), 1)
    turn.end({ type: 'withdrawn' })
    return true
  }

  /** Ends those that wait with `fault`. */
  failWaiting(fault: WireError): void {
    for (const turn of this.#queue.splice(this.running === undefined ? 0 : 1)) turn.fail(fault)
  }

  /** Nothing is run any more: whatever has not ended throws `fault`, and so does what is asked for later. */
  close(fault: WireError): void {
    this.#closed ??= fault
    for (const turn of this.#queue.splice(0)) turn.fail(fault)
  }

  #begin(): void {
    const { first } = this
    if (first === undefined || first.state !== 'waiting') return
    first.state = 'running'
    first.begun = performance.now()
    void this.#run(first)
  }

  async #run(turn: Turn): Promise<void> {
    try {
      const result = await this.#options.run(turn)
      if (turn.fault) throw turn.fault
      turn.end(result)
    } catch (fault) {
      turn.fail(fault)
    }
    this.#remember(turn)
    if (this.first === turn) this.#queue.shift()
    this.#begin()
  }

  #remember(turn: Turn): void {
    if (this.#past.size >= REMEMBERED) {
      const [oldest] = this.#past.keys()
      if (oldest !== undefined) this.#past.delete(oldest)
    }
    this.#past.set(turn.call, turn.result)
  }
}

const forgotten = (call: CallId) =>
  new WireError(
    'REMOTE_FAULT',
    `Swank remembers no calls beyond a connection, and ${call} was not asked for over this one.`,
  )
