import { KernelError } from '../../src/kernels/kernel-error.ts'
import type { KernelListener, KernelRequest, StartedKernel } from '../../src/kernels/owned-kernel.ts'
import type { Evaluated, Evaluation, ScriptNews, Watcher } from '../../wire/contract/evaluation.ts'
import type { CallId, Epoch } from '../../wire/contract/values.ts'
import { ABILITIES, type Health, type Kernel, type KernelEnd } from '../../wire/kernel.ts'

/** A launcher without processes: kernels that do nothing, and live and die as a test says. */
export class FakeLauncher {
  readonly requests: KernelRequest[] = []
  readonly kernels: IdleKernel[] = []
  /** Thrown by the next starts, in this order; after them, starts succeed. */
  readonly failures: Error[] = []
  /** Starts wait for it. */
  gate: Promise<void> = Promise.resolve()

  /** What was given to the start that came last, to be told. */
  listener: KernelListener = { background: () => {}, doing: () => {}, scripted: () => {} }
  /** The next kernels that are given a script tell this of it, at once; nothing if undefined. */
  news: ScriptNews | undefined = { state: 'running', message: null }

  readonly launch = async (request: KernelRequest, listener: KernelListener): Promise<StartedKernel> => {
    this.requests.push(request)
    this.listener = listener
    await this.gate
    const failure = this.failures.shift()
    if (failure) throw failure
    const kernel = new IdleKernel(this.kernels.length + 1)
    this.kernels.push(kernel)
    if (request.script !== undefined && this.news) listener.scripted(this.news)
    return {
      kernel,
      pid: kernel.identity.pid,
      stop: () => kernel.close(),
      kill: () => kernel.die({ reason: 'killed', message: 'was killed' }),
    }
  }

  /** The one that was started last. */
  get latest(): IdleKernel {
    const kernel = this.kernels.at(-1)
    if (!kernel) throw new Error('nothing was started')
    return kernel
  }
}

/** Evaluations of an `IdleKernel` run until `finish` or its end; looking at it is not foreseen. */
export class IdleKernel implements Kernel {
  readonly identity
  readonly ended: Promise<KernelEnd>
  readonly interrupted: CallId[] = []
  health: Health = 'responsive'
  #settleEnded: (end: KernelEnd) => void = () => {}
  readonly #running = new Map<CallId, (evaluated: Evaluated) => void>()

  constructor(number: number, language = 'python') {
    this.identity = {
      language,
      implementation: 'CPython 3.11.7',
      pid: 1000 + number,
      epoch: `0000000${number}` as Epoch,
      abilities: new Set(ABILITIES),
    }
    this.ended = new Promise(resolve => {
      this.#settleEnded = resolve
    })
  }

  die(end: KernelEnd): void {
    this.health = 'ended'
    this.#settleEnded(end)
  }

  finish(call: CallId, evaluated: Evaluated = { type: 'done', values: [], elapsed_ms: 1 }): void {
    this.#running.get(call)?.(evaluated)
    this.#running.delete(call)
  }

  evaluate({ call }: Evaluation, _watcher: Watcher): Promise<Evaluated> {
    return new Promise(resolve => this.#running.set(call, resolve))
  }

  async interrupt(call: CallId) {
    this.interrupted.push(call)
    return { outcome: 'stopped' as const, message: `${call} was stopped.` }
  }

  async status() {
    return { running: null, queued: 0 }
  }

  async close(): Promise<void> {
    this.die({ reason: 'closed', message: 'was let go of' })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  watchHealth = () => () => {}
  watchSuspensions = () => () => {}
  look = () => unforeseen()
}

function unforeseen(): Promise<never> {
  throw new Error('an idle kernel is not looked at')
}

/** What a call is told in place of a kernel. */
export async function refusal(work: Promise<unknown>): Promise<KernelError> {
  try {
    await work
  } catch (error) {
    if (error instanceof KernelError) return error
    throw error
  }
  throw new Error('it was not refused')
}
