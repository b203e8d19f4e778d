import type { Refusal } from '../../wire/link/calls.ts'
import type { Seat } from '../approvals/contract.ts'
import type { Caller } from '../calls/contract.ts'
import type { KernelRow } from '../kernels/rows.ts'
import type { OPERATIONS } from './operations/index.ts'
import type { Method, Methods } from './protocol.ts'
import type { ThroughEditor } from './seat/through-editor.ts'
import type { ServeContext } from './server.ts'

/** A seat and the process behind the connection that it belongs to. */
export interface HeldSeat {
  readonly seat: Seat
  readonly who: string
  readonly command: string
  /** The folder of the project that its client works in. */
  readonly root: string
  /** Undefined for a page, whose process cannot be proved. */
  readonly process: { readonly pid: number; readonly started: string } | undefined
  /** Of a program without a terminal. */
  readonly editor: ThroughEditor | undefined
  /** Ends it. */
  lose(why: Refusal): void
}

/** What an operation knows of the client that asks. */
export interface OperationContext extends ServeContext {
  readonly caller: Caller
  /** The kernel that an attach only chooses: it joins no program. */
  readonly chosen: KernelRow | undefined
  /** The only folder whose programs it may attach to. Undefined: any. */
  readonly within: string | undefined
}

/** The same of one that only a seat may ask for. */
export interface SeatContext extends OperationContext {
  readonly seat: HeldSeat
}

type ContextOf<M extends Method> = (typeof OPERATIONS)[M] extends { act: unknown }
  ? SeatContext
  : OperationContext

export type Handlers = {
  readonly [M in Method]: (
    params: Methods[M]['params'],
    context: ContextOf<M>,
  ) => Methods[M]['result'] | Promise<Methods[M]['result']>
}
