import { z } from 'zod'
import type { CallId } from '../../../wire/kernel.ts'
import type { JournalEntry } from './entries.ts'

/** What the lines say of an evaluation that was suspended when the daemon that wrote them was lost. */
const SAID = z.object({
  what: z.string(),
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

/** One that has begun to wait and of whose end there is no line. `why` is its error. */
export type OpenSuspension = Omit<z.infer<typeof SAID>, 'what'>

/** Lines that say of one that it waits, or of whom it is now. Every other one says how it ended. */
const WAITS = new Set(['suspended', 'adopted', 'taken', 'handed'])

/** The evaluations that are suspended, as the lines of a journal say one by one. */
export class OpenSuspensions {
  /** By the life of its image, and its id. */
  readonly #open = new Map<string, OpenSuspension>()

  get all(): readonly OpenSuspension[] {
    return [...this.#open.values()]
  }

  /** A line of type `suspension`. One that cannot be read is passed over. */
  note(line: unknown): void {
    const read = SAID.safeParse(line)
    if (!read.success) return
    const { what, ...said } = read.data
    const key = `${said.epoch} ${said.suspension}`
    const { why = said.why } = this.#open.get(key) ?? {}
    this.#open.delete(key)
    if (WAITS.has(what)) this.#open.set(key, { ...said, ...(why !== undefined && { why }) })
  }
}

/** How one ended whose daemon was lost: images leave none waiting for a daemon that is not there. */
export const lostWith = ({ call, ...open }: OpenSuspension): JournalEntry => ({
  ...open,
  type: 'suspension',
  what: 'lost',
  ...(call !== undefined && { call }),
  by: null,
  why: 'The daemon that kept it has ended, and it with that one.',
})
