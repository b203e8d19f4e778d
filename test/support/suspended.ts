import { randomUUID } from 'node:crypto'
import type {
  CallId,
  EvalEvent,
  Evaluated,
  Kernel,
  SuspendOptions,
  SuspensionNews,
  WayOn,
  Work,
} from '../../wire/kernel.ts'
import { until } from './rig.ts'

export type Suspended = Extract<Evaluated, { type: 'suspended' }>
export type Ended = Extract<SuspensionNews, { type: 'ended' }>

/** Looks may take as long as a busy machine needs. */
export const LOOK = { deadlineMs: 15_000 }

/** Work that was asked for, and what was heard of it. */
export interface Doing {
  readonly call: CallId
  readonly result: Promise<Evaluated>
  /** What it has printed. */
  text(): string
}

/** A kernel in which evaluations are suspended, and all news of that. */
export class SuspendingKernel {
  readonly kernel: Kernel
  readonly news: SuspensionNews[] = []

  constructor(kernel: Kernel) {
    this.kernel = kernel
    kernel.watchSuspensions(news => this.news.push(news))
  }

  /** Does work; errors suspend it, unless `suspend` is null. */
  do(work: Work, suspend: SuspendOptions | null = {}): Doing {
    // Several processes of a test may speak to one image, which knows a call by its name.
    const call = randomUUID() as CallId
    const texts: string[] = []
    const on = (event: EvalEvent) => event.type === 'output' && texts.push(event.text)
    const evaluation = { call, who: 'test', work, ...(suspend && { suspend }) }
    const result = this.kernel.evaluate(evaluation, { on })
    result.catch(() => {})
    return { call, result, text: () => texts.join('') }
  }

  run(source: string, suspend: SuspendOptions | null = {}): Doing {
    return this.do({ type: 'source', source }, suspend)
  }

  inFrame(suspension: string, frame: number, source: string): Doing {
    return this.do({ type: 'frame', suspension, frame, source })
  }

  resume(suspension: string, way: WayOn): Doing {
    return this.do({ type: 'resume', suspension, way })
  }

  async suspend(source: string, suspend: SuspendOptions = {}): Promise<Suspended['suspension']> {
    return suspensionIn(await this.run(source, suspend).result)
  }

  /** Takes the restart of that name. */
  async restart(suspension: string, name: string, value?: string): Promise<Doing> {
    const { restarts } = await this.state(suspension)
    const restart = restarts.findIndex(one => one.name === name)
    if (restart < 0) throw new Error(`no restart ${name} among ${restarts.map(one => one.name).join(', ')}`)
    return this.resume(suspension, { type: 'restart', restart, ...(value !== undefined && { value }) })
  }

  async leave(suspension: string): Promise<Evaluated> {
    return this.resume(suspension, { type: 'leave' }).result
  }

  async state(suspension: string, from = 0, count = 50) {
    const found = await this.kernel.look('suspension', { suspension, from, count }, LOOK)
    if (found.type !== 'found') throw new Error(`${suspension}: ${JSON.stringify(found)}`)
    return found.value
  }

  /** The number of the innermost frame of that function. */
  async frameOf(suspension: string, name: string): Promise<number> {
    const { frames } = await this.state(suspension)
    const found = frames.find(frame => frame.function === name)
    if (found === undefined)
      throw new Error(`no frame ${name} among ${frames.map(one => one.function).join(', ')}`)
    return found.number
  }

  /** All that are suspended, newest first. */
  async live(): Promise<readonly string[]> {
    const found = await this.kernel.look('suspensions', {}, LOOK)
    if (found.type !== 'found') throw new Error(found.type)
    return found.value.suspensions.map(({ id }) => id)
  }

  endsOf(id: string): readonly Ended['how'][] {
    return this.news.flatMap(one => (one.type === 'ended' && one.id === id ? [one.how] : []))
  }

  /** How it has ended; waits until it has. */
  async end(id: string): Promise<readonly Ended['how'][]> {
    await until(() => this.endsOf(id).length > 0, `${id} to end`)
    return this.endsOf(id)
  }

  /** Leaves all that are suspended. */
  async clear(): Promise<void> {
    for (const id of await this.live()) await this.leave(id)
  }
}

export function suspensionIn(evaluated: Evaluated): Suspended['suspension'] {
  if (evaluated.type === 'suspended') return evaluated.suspension
  throw new Error(`it did not suspend: ${JSON.stringify(evaluated)}`)
}

/** The values of an evaluation as they are written, or what else it came to. */
export function shownIn(evaluated: Evaluated): readonly string[] {
  return evaluated.type === 'done' ? evaluated.values.map(({ repr }) => repr.text) : [evaluated.type]
}
