import type { Holder } from '../../tools/define.ts'
import type { Suspension, SuspensionNews } from '../../wire/kernel.ts'

/** One suspended evaluation, as whoever asks may know of it. */
export interface SuspendedRow extends Omit<Suspension, 'expires_in_ms' | 'busy'> {
  readonly kernel: string
  /** The project of its kernel. */
  readonly root: string
  /** Who may have it go on, as seen from whoever asks. */
  readonly holder: Holder
  /** Null where its image has not said in time, as in news. */
  readonly expires_in_ms: number | null
  /** Null as above. */
  readonly busy: boolean | null
}

/** Somebody before whom a suspended evaluation can be put: all connections of one program, or of one project. */
export interface CallerRow {
  /** `caller-1`, the same for as long as the daemon lives. */
  readonly caller: string
  /** As its last connection names itself. */
  readonly who: string
  readonly root: string
}

/** News of suspended evaluations, each of which says all that a line about it needs. */
export type SuspensionEvent =
  | { readonly type: 'suspended'; readonly suspension: SuspendedRow }
  | {
      readonly type: 'ended'
      readonly suspension: SuspendedRow
      readonly how: EndedHow
      /** For people, a sentence. */
      readonly message: string
      /** Who had it go on, or left it; null where nobody did. */
      readonly by: string | null
    }
  /** A person has taken it over. `from`: who held it before; null where anybody could have had it. */
  | {
      readonly type: 'taken'
      readonly suspension: SuspendedRow
      readonly by: string
      readonly from: string | null
    }
  /** A person has put it before somebody; `to` null: before whoever comes first. */
  | {
      readonly type: 'handed'
      readonly suspension: SuspendedRow
      readonly by: string
      readonly to: string | null
    }
  /** An error that waited in a person's own debugger was put before whoever comes first. */
  | { readonly type: 'adopted'; readonly suspension: SuspendedRow; readonly by: string }

export type EndedHow = Extract<SuspensionNews, { type: 'ended' }>['how']
