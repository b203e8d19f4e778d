import { z } from 'zod'
import type { CallId } from '../../../wire/kernel.ts'
import type { OpenCall } from './entries.ts'
import { OpenSuspensions } from './open-suspensions.ts'

/** What a line says of a call. */
interface Said {
  readonly type: string
  readonly call?: string | undefined
  readonly tool?: string | undefined
  readonly epoch?: string | null | undefined
  readonly outcome?: string | undefined
}

/** A header names no more open calls than this; with more, the segment before has to be read for them. */
const MOST_IN_HEADER = 1_000

/** The calls that have begun and not ended, as the lines of a journal say one by one. */
export class OpenCalls {
  readonly #calls = new Map<string, OpenCall>()

  /** What a header carries on; null where that would be too much. */
  get list(): readonly OpenCall[] | null {
    return this.#calls.size <= MOST_IN_HEADER ? [...this.#calls.values()] : null
  }

  get all(): readonly OpenCall[] {
    return [...this.#calls.values()]
  }

  add(calls: Iterable<OpenCall>): void {
    for (const call of calls) this.#calls.set(call.call, call)
  }

  /** The call that ends with this, where one does. */
  note({ type, call, tool, epoch }: Said): OpenCall | undefined {
    if (call === undefined) return undefined
    if ((type === 'requested' || type === 'dispatched') && tool !== undefined) {
      const where = typeof epoch === 'string' ? { epoch } : {}
      this.#calls.set(call, { call: call as CallId, tool, since: type, ...where })
    } else if (ENDS.has(type)) {
      const open = this.#calls.get(call)
      this.#calls.delete(call)
      return open
    }
    return undefined
  }
}

/** What a call ends with, once it has begun. Each begins and ends once. */
const ENDS = new Set(['ended', 'looked', 'refused'])

/** What becomes of a call that its daemon never ended: nothing ran, or nobody knows. */
export const lastWord = ({ since }: OpenCall) => (since === 'dispatched' ? 'outcome_unknown' : 'withdrawn')

/**
 * How a call ended that an earlier daemon was given: a code, `outcome_unknown` where it was dispatched and its end was
 * never written, `withdrawn` where it was never dispatched.
 */
export interface Earlier {
  readonly tool: string
  readonly outcome: string
  /** The life of the kernel that it was given to; undefined without one. */
  readonly epoch?: string | undefined
}

/** How many ended calls are kept in memory: the last ones. */
const HISTORY = 10_000

const SAID = z.object({
  type: z.string(),
  call: z.string().optional(),
  tool: z.string().optional(),
  epoch: z.string().nullish(),
  outcome: z.string().optional(),
})

/** What earlier daemons wrote of their last calls, and of what was suspended, as their lines are read in order. */
export class CallHistory {
  readonly open = new OpenCalls()
  readonly suspended = new OpenSuspensions()
  readonly #ended = new Map<string, Earlier>()

  /** A line that is none is passed over: what is wrong with it is found elsewhere. */
  read(line: Buffer): void {
    const parsed = parsedIn(line)
    const read = SAID.safeParse(parsed)
    if (!read.success) return
    const said: Said = read.data
    if (said.type === 'suspension') this.suspended.note(parsed)
    const ended = this.open.note(said)
    if (ended !== undefined) this.end(ended, said.outcome ?? 'outcome_unknown')
  }

  end({ call, tool, epoch }: OpenCall, outcome: string): void {
    this.#ended.delete(call)
    this.#ended.set(call, { tool, outcome, epoch })
    const [oldest] = this.#ended.keys()
    if (this.#ended.size > HISTORY && oldest !== undefined) this.#ended.delete(oldest)
  }

  of(call: CallId): Earlier | undefined {
    return this.#ended.get(call)
  }
}

function parsedIn(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString())
  } catch {
    return undefined
  }
}
