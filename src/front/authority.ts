import { Refusal } from '../../wire/link/calls.ts'
import type { CheckReport, PolicyDesk } from '../calls/policy-desk.ts'
import { isOfProject } from '../files/roots.ts'
import type { Kernels } from '../kernels/kernels.ts'
import type { KernelRow } from '../kernels/rows.ts'
import { chosenBy } from './attach.ts'
import type { HeldSeat, OperationContext } from './handlers.ts'
import { OPERATIONS } from './operations/index.ts'
import type { Operation } from './operations/operation.ts'
import type { FailureData, Method } from './protocol.ts'
import type { Seats } from './seat/seats.ts'
import type { ServeContext } from './server.ts'
import type { TopicRow } from './subscriptions.ts'

interface AuthorityParts {
  readonly kernels: Kernels
  readonly policy: PolicyDesk
  readonly seats: Pick<Seats, 'seatOf' | 'isPerson'>
}

/** Who may do and see what of other projects, by the rows of `OPERATIONS`: nothing, unless a rule or a person lets them. */
export interface Authority {
  /**
   * How far an operation is let in. Throws the `KernelError` of a kernel that is not there, the `Refusal` `no_seat` where it
   * is for seats, and the `Refusal` `denied` where a rule denies it on its kernel, or asks about it: a method asks nobody. A
   * person is let in. In the client's own project, an operation that no rule mentions is allowed. Of one that attaches, its
   * target is judged, and the `Refusal` is `kernel_unavailable`.
   */
  admit(method: Method, params: never, context: ServeContext): Promise<Admission>
  /** Whether the client may see a row of that project: its own, or that of a kernel that a rule shows it. */
  mayBeTold(
    method: Method,
    row: { readonly root: string; readonly kernel: string },
    context: ServeContext,
  ): boolean
  /** Whether the client may be told of the kernel: one of its project, or one that a rule shows it. */
  mayBeToldOf(kernel: string, method: Method, context: ServeContext): boolean
  /** Which of the rows the client is told of: all where each `isOwn`, or where a person is at it, who is asked for only then. */
  told<Row>(
    rows: readonly Row[],
    isOwn: (row: Row) => boolean,
    context: ServeContext,
  ): Promise<(row: Row) => boolean>
  /** Which rows a client that subscribes is told of. `everywhere`: of all projects, where a person is at it. */
  followed(everywhere: boolean, context: OperationContext): Promise<(row: TopicRow) => boolean>
}

/** How far an operation is let in. */
export interface Admission {
  /** Of the client, where the operation is for seats. */
  readonly seat?: HeldSeat | undefined
  /** The kernel that an attach only chooses: it joins no program. */
  readonly chosen?: KernelRow | undefined
  /** The only folder whose programs it may attach to. Left out: any. */
  readonly within?: string | undefined
}

export function openAuthority({ kernels, policy, seats: { seatOf, isPerson } }: AuthorityParts): Authority {
  const isAllowed = (root: string, method: Method, kernel: string) =>
    policy.judge({ root, method, level: OPERATIONS[method].level, kernel }).decision === 'allow'

  const mayBeToldOf: Authority['mayBeToldOf'] = (kernel, method, { session: { root } }) => {
    const roots = kernels.rootsOf(kernel)
    return roots.includes(root) || (roots.length > 0 && isAllowed(root, method, kernel))
  }

  async function judgeTarget(target: string, context: ServeContext): Promise<Admission> {
    const { root } = context.session
    if (await isPerson(context)) return {}
    const { elsewhere } = kernels.attachable(target, root)
    const judged = policy.check({ root, tool: 'attach', kernel: target })
    if (judged.type !== 'ok') throw new Error('attaching could not be judged')
    const { decision, by } = judged.result
    if (decision === 'allow') return elsewhere ? {} : { within: root }
    if (elsewhere && decision === 'ask') throw kernels.unknownIn(root, target)
    throw refused('kernel_unavailable', `To attach to ${JSON.stringify(target)}`, { decision, by })
  }

  return {
    mayBeToldOf,
    async admit(method, params, context) {
      const { kernel: nameIn, target: targetIn, calls, act, level }: Operation = OPERATIONS[method]
      const { root } = context.session
      const [kernel, wanted, called] = [nameIn?.(params), targetIn?.(params), calls?.(params)]
      // The gate of calls knows a person by what was seen before.
      if (called !== undefined && kernels.rootsOf(called)[0] !== root) await isPerson(context)
      if (wanted !== undefined) {
        const chosen = chosenBy(wanted, { kernels, root })
        return chosen === undefined ? judgeTarget(wanted.target, context) : { chosen }
      }
      if (kernel !== undefined && !mayBeToldOf(kernel, method, context) && !(await isPerson(context)))
        throw kernels.unknownIn(root, kernel)
      const seat = act === undefined ? undefined : seatOf(act(params), context)
      if (kernel === undefined) return { seat }
      const { decision, by } = policy.judge({ root, method, level, kernel })
      if (decision === 'allow' || (await isPerson(context))) return { seat }
      throw refused('denied', `${method} of ${kernel}`, { decision, by })
    },
    mayBeTold: (method, row, { session: { root } }) =>
      row.root === root || isAllowed(root, method, row.kernel),
    async told(rows, isOwn, context) {
      return rows.every(isOwn) || (await isPerson(context)) ? () => true : isOwn
    },
    async followed(everywhere, context) {
      const isAll = everywhere && (await isPerson(context))
      const { root: own } = context.session
      return ({ root, isFolder, kernel, forSeats }) =>
        forSeats === true
          ? context.caller.seat?.() !== undefined
          : isAll ||
            root === null ||
            root === own ||
            (isFolder === true && isOfProject(root, own)) ||
            (kernel !== null && mayBeToldOf(kernel, 'subscribe', context))
    },
  }
}

function refused(
  code: 'denied' | 'kernel_unavailable',
  subject: string,
  { decision, by }: Pick<CheckReport, 'decision' | 'by'>,
): Refusal {
  const isDenied = decision === 'deny' ? 'is denied' : 'has to be asked about'
  const next = 'A person does it at a terminal, by the same command.'
  return new Refusal(code, `${subject} ${isDenied} by ${by}. Nothing was done.`, {
    ...{ details: { reason: decision, by }, next },
    retryable: false,
  } satisfies FailureData)
}
