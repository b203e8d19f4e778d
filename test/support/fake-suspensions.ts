import type { CallId, Evaluated, Raised, Suspension, SuspensionNews, Work } from '../../wire/kernel.ts'

type Ended = Extract<SuspensionNews, { type: 'ended' }>

/** An evaluation that was suspended, as a kernel tells it. */
export function suspendedAs(
  id: string,
  more: Partial<Suspension> = {},
): Extract<Evaluated, { type: 'suspended' }> {
  const type = { name: 'ValueError', module: 'builtins', qualified: 'ValueError' }
  const suspension: Suspension = {
    id,
    call: null,
    who: 'test',
    how: 'held',
    level: 1,
    within: null,
    type,
    message: 'no stock',
    at: '2026-10-02T09:00:00.000Z',
    busy: false,
    ...more,
  }
  const exception: Raised = {
    type: suspension.type,
    message: suspension.message,
    frames: [],
    frames_omitted: 0,
    traceback: `${suspension.type.qualified}: ${suspension.message}`,
  }
  return { type: 'suspended', suspension, exception, elapsed_ms: 1 }
}

/** The suspensions of a kernel that is played by a script: those that its scenes end with. */
export class FakeSuspensions {
  readonly #live = new Map<string, Suspension>()
  readonly #tell: (news: SuspensionNews) => void

  constructor(tell: (news: SuspensionNews) => void) {
    this.#tell = tell
  }

  /** Newest first. */
  get live(): readonly Suspension[] {
    return [...this.#live.values()].reverse()
  }

  /** What a scene has ended with, as the kernel answers it: with the call that it was. */
  came(evaluated: Evaluated, call: CallId): Evaluated {
    if (evaluated.type !== 'suspended') return evaluated
    const suspension = { ...evaluated.suspension, call: evaluated.suspension.call ?? call }
    this.#live.set(suspension.id, suspension)
    this.#tell({ type: 'suspended', suspension })
    return { ...evaluated, suspension }
  }

  /** A refusal of work at one that is not there. */
  refusal(work: Work): Evaluated | undefined {
    if (work.type !== 'frame' && work.type !== 'resume') return undefined
    const { suspension: what } = work
    if (this.#live.has(what)) return undefined
    const nearest = this.live.map(({ id }) => id)
    const message = `There is no suspension ${what}: it has ended, or never was.`
    return { type: 'refused', reason: 'not_found', message, what, nearest }
  }

  /** It goes on, or is left; what stands on it ends with it. */
  resume(work: Work): void {
    if (work.type !== 'resume') return
    const left = work.way.type === 'leave'
    this.end(work.suspension, left ? 'left' : 'resumed', left ? 'It was left.' : 'It goes on.')
  }

  /** Ends one, if it lives, and what stands on it. */
  end(id: string, how: Ended['how'], message = 'It has ended.'): void {
    for (const { id: inner, within } of this.live)
      if (within === id) this.end(inner, 'within', `It stood on ${id}, which has ended.`)
    if (this.#live.delete(id)) this.#tell({ type: 'ended', id, how, message })
  }

  lose(message: string): void {
    for (const { id } of this.live) this.end(id, 'lost', message)
  }
}
