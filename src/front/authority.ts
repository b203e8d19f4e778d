import { Refusal } from '../../wire/link/calls.ts'
import type { PolicyDesk } from '../calls/policy-desk.ts'
import { isOfProject, realOf } from '../files/roots.ts'
import type { Kernels } from '../kernels/kernels.ts'
import type { HeldSeat } from './handlers.ts'
import { OPERATIONS } from './operations/index.ts'
import type { Operation } from './operations/operation.ts'
import type { FailureData, Method, Methods } from './protocol.ts'
import type { Seats } from './seat/seats.ts'
import type { ServeContext } from './server.ts'

interface AuthorityParts {
  readonly kernels: Kernels
  readonly policy: PolicyDesk
  readonly seats: Pick<Seats, 'seatOf' | 'isPerson' | 'wasSeen'>
}

/** Who may do and see what of other projects, by the rows of `OPERATIONS`: nothing, unless a rule or a person lets them. */
export interface Authority extends Pick<Seats, 'isPerson' | 'wasSeen'> {
  /**
   * The seat of the client, where the operation is for seats. Throws the `KernelError` of a kernel that is not there, or the
   * `Refusal` `no_seat`.
   */
  admit(method: Method, params: never, context: ServeContext): Promise<HeldSeat | undefined>
  /**
   * Throws the `Refusal` `denied` where a rule denies the operation on its kernel, or asks about it: a method asks nobody. A
   * person is let in. In the client's own project, an operation that no rule mentions is allowed.
   */
  judge(method: Method, params: never, context: ServeContext): Promise<void>
  /** Whether it would be admitted without asking whether a person is there. */
  isLetIn(method: Method, kernel: string, context: ServeContext): boolean
  /** Whether the client may see a row of that project: its own, or that of a kernel that a rule shows it. */
  mayBeTold(
    method: Method,
    row: { readonly root: string; readonly kernel: string },
    context: ServeContext,
  ): boolean
  /** The kernels that the client may be told of. */
  told(
    all: Omit<Methods['kernels']['result'], 'others'>,
    context: ServeContext,
  ): Promise<Methods['kernels']['result']>
  /** Throws where the client may not attach to the target. `within`: the only folder whose programs it may attach to. */
  mayAttach(target: string, context: ServeContext): Promise<{ readonly within?: string }>
}

export function openAuthority({ kernels, policy, seats }: AuthorityParts): Authority {
  const isPerson = seats.isPerson

  const isLetIn: Authority['isLetIn'] = (method, kernel, { session: { root } }) => {
    const roots = kernels.rootsOf(kernel)
    if (roots.includes(root)) return true
    return roots.length > 0 && isAllowed(root, method, kernel)
  }
  const isAllowed = (root: string, method: Method, kernel: string) =>
    policy.judge({ root, method, level: OPERATIONS[method].level, kernel }).decision === 'allow'

  return {
    isPerson,
    wasSeen: seats.wasSeen,
    isLetIn,
    async admit(method, params, context) {
      const { kernel: nameIn, act }: Operation = OPERATIONS[method]
      const kernel = nameIn?.(params)
      if (kernel !== undefined && !isLetIn(method, kernel, context) && !(await isPerson(context)))
        throw kernels.unknownIn(context.session.root, kernel)
      return act === undefined ? undefined : seats.seatOf(act(params), context)
    },
    async judge(method, params, context) {
      const { kernel: nameIn, level }: Operation = OPERATIONS[method]
      const kernel = nameIn?.(params)
      if (kernel === undefined) return
      const { decision, by } = policy.judge({ root: context.session.root, method, level, kernel })
      if (decision === 'allow' || (await isPerson(context))) return
      const isDenied = decision === 'deny' ? 'is denied' : 'has to be asked about'
      const details = { reason: decision, by }
      const next = 'A person does it at a terminal, by the same command.'
      throw new Refusal('denied', `${method} of ${kernel} ${isDenied} by ${by}. Nothing was done.`, {
        ...{ details, next },
        retryable: false,
      } satisfies FailureData)
    },
    mayBeTold: (method, row, { session: { root } }) =>
      row.root === root || isAllowed(root, method, row.kernel),
    async told(all, context) {
      const { root } = context.session
      const own = {
        ...all,
        kernels: all.kernels.filter(({ name }) => isLetIn('kernels', name, context)),
        announced: all.announced.filter(({ cwd }) => isOfProject(realOf(cwd), root)),
      }
      const isAll =
        own.kernels.length + own.announced.length === all.kernels.length + all.announced.length ||
        (await isPerson(context))
      return isAll ? { ...all, others: false } : { ...own, others: true }
    },
    async mayAttach(target, context) {
      const { root } = context.session
      if (await isPerson(context)) return {}
      const { elsewhere } = kernels.attachable(target, root)
      const judged = policy.check({ root, tool: 'attach', kernel: target })
      if (judged.type !== 'ok') throw new Error('attaching could not be judged')
      const { decision, by } = judged.result
      if (decision === 'allow') return elsewhere ? {} : { within: root }
      if (elsewhere && decision === 'ask') throw kernels.unknownIn(root, target)
      throw new Refusal(
        'kernel_unavailable',
        `To attach to ${JSON.stringify(target)} ${decision === 'deny' ? 'is denied' : 'has to be asked about'} by ${by}.`,
        { details: { reason: decision, by }, next: ATTACH_BY_PERSON, retryable: false } satisfies FailureData,
      )
    },
  }
}

const ATTACH_BY_PERSON = 'A person attaches at a terminal, by the same command.'
