import type { Ownership } from '../../tools/contract.ts'
import type { Suspension, SuspensionNews } from '../../wire/kernel.ts'

/** One suspended evaluation, as whoever asks may know of it. */
export interface SuspendedRow extends Suspension {
  readonly kernel: string
  /** The project of its kernel. */
  readonly root: string
  /** Whose it is, as seen from whoever asks; `anyone` are the agents of the project. */
  readonly holder: Ownership
  /** How long it waits for its owner from now on, in milliseconds. */
  readonly expires_in_ms: number
}

/** News of suspended evaluations, each of which says all that a line about it needs. `own`: the watcher's own doing. */
export type SuspensionEvent =
  | { readonly type: 'suspended'; readonly suspension: SuspendedRow }
  | {
      readonly type: 'ended'
      readonly suspension: SuspendedRow
      readonly how: EndedHow
      /** For people, a sentence. */
      readonly message: string
      /** Who resumed it, or left it; null where nobody did. */
      readonly by: string | null
      readonly own: boolean
    }
  /** A person has taken it over. `from`: who owned it before; null for the agents of its project. */
  | {
      readonly type: 'taken'
      readonly suspension: SuspendedRow
      readonly by: string
      readonly own: boolean
      readonly from: string | null
    }
  /** A person has put it before the agents of its project. */
  | {
      readonly type: 'handed'
      readonly suspension: SuspendedRow
      readonly by: string
      readonly own: boolean
      readonly to: null
    }
  /** An error that waited in a person's own debugger was put before the agents of its project. */
  | {
      readonly type: 'adopted'
      readonly suspension: SuspendedRow
      readonly by: string
      readonly own: boolean
    }

/** `expired`: its owner did not come in time, and it was given up. The rest as the images say. */
export type EndedHow = Extract<SuspensionNews, { type: 'ended' }>['how'] | 'expired'
