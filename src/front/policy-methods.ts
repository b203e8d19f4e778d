import { randomUUID } from 'node:crypto'
import type { CallId } from '../../wire/kernel.ts'
import { originOf } from '../approvals/contract.ts'
import { enveloped } from '../calls/answer.ts'
import type { PolicyDesk } from '../calls/policy-desk.ts'
import type { Methods } from './protocol.ts'
import type { ServeContext } from './server.ts'

type PolicyMethod = 'policy' | 'check_policy' | 'accept_policy'

export type PolicyMethods = {
  readonly [M in PolicyMethod]: (
    params: Methods[M]['params'],
    context: ServeContext,
  ) => Methods[M]['result'] | Promise<Methods[M]['result']>
}

/** The methods about the policy. None takes what is to be accepted: that stands in the files, and is shown. */
export function openPolicyMethods(desk: PolicyDesk): PolicyMethods {
  return {
    policy: (_, { session }) => desk.report(session.root),
    check_policy: async (params, { session }) => {
      const outcome = desk.check({ ...params, root: session.root })
      if (outcome.type === 'rises') throw new Error('a check asked to rise')
      return enveloped(outcome)
    },
    // Whoever asked and went away does not want an answer any more: the plan is withdrawn.
    accept_policy: async (_, { session, served }) => {
      const { id: caller, name: who, root } = session
      const call = randomUUID() as CallId
      const origin = originOf({ kind: 'cli', root })
      const outcome = await desk.accept({ call, root, who, caller, origin, signal: served.signal })
      if (outcome.type === 'rises') throw new Error('accepting asked to rise')
      return enveloped(outcome)
    },
  }
}
