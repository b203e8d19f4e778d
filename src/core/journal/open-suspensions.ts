import { z } from 'zod'
import type { CallId } from '../../../wire/kernel.ts'

/** One that has begun to wait and of whose end there is no line, as headers carry it on. */
export const OPEN_SUSPENSION = z.object({
  suspension: z.string(),
  kernel: z.string(),
  epoch: z.string(),
  root: z.string().optional(),
  call: z
    .string()
    .transform(call => call as CallId)
    .optional(),
  who: z.string(),
  holder: z.string().nullable(),
  why: z.string().optional(),
})

/** `why` is its error. */
export type OpenSuspension = z.infer<typeof OPEN_SUSPENSION>

/** What the lines say of one. */
const SAID = OPEN_SUSPENSION.extend({ what: z.string() })

/** A header names no more than these; with more, the segment before has to be read for them. */
const MOST_IN_HEADER = 200

/** Lines that say of one that it waits, or of whom it is now. Every other one says how it ended. */
const WAITS = new Set(['suspended', 'adopted', 'taken', 'handed'])

/** The evaluations that are suspended, as the lines of a journal say one by one. */
export class OpenSuspensions {
  /** By the life of its image, and its id. */
  readonly #open = new Map<string, OpenSuspension>()

  /** What a header carries on; null where that would be too much. */
  get list(): readonly OpenSuspension[] | null {
    return this.#open.size <= MOST_IN_HEADER ? this.all : null
  }

  get all(): readonly OpenSuspension[] {
    return [...this.#open.values()]
  }

  add(open: Iterable<OpenSuspension>): void {
    for (const one of open) this.#open.set(keyOf(one), one)
  }

  /** A line of type `suspension`. One that cannot be read is passed over. */
  note(line: unknown): void {
    const read = SAID.safeParse(line)
    if (!read.success) return
    const { what, ...said } = read.data
    const key = keyOf(said)
    const { why = said.why } = this.#open.get(key) ?? {}
    this.#open.delete(key)
    if (WAITS.has(what)) this.#open.set(key, { ...said, ...(why !== undefined && { why }) })
  }
}

const keyOf = ({ epoch, suspension }: OpenSuspension): string => `${epoch} ${suspension}`
