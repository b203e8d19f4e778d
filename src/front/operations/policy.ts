import { z } from 'zod'
import { LEVELS } from '../../../tools/contract.ts'
import { POLICY_REPORT } from '../../policy/report.ts'
import { CALL_OPERATIONS } from './calls.ts'
import { operation } from './operation.ts'
import { kernelName } from './values.ts'

const envelope = CALL_OPERATIONS.call.result

/** Operations on the policy. None takes the rules that are to be accepted: they are in the files, and are shown. */
export const POLICY_OPERATIONS = {
  policy: operation({
    does: 'Answers with the rules that are in force in the project, and where each comes from.',
    result: POLICY_REPORT,
    level: 'safe',
  }),
  check_policy: operation({
    does: 'Answers with what the gate would say of a call, and why. Nothing runs.',
    params: z.strictObject({
      tool: z.string().max(256),
      args: z.unknown().optional(),
      kernel: kernelName.exactOptional(),
      path: z.string().min(1).max(4_096).exactOptional(),
      level: z.enum(LEVELS).exactOptional(),
    }),
    result: envelope,
    level: 'safe',
  }),
  accept_policy: operation({
    does: 'Puts the rules that wait in the files of the policy before the seats, and answers once a person has. Cancelling takes the question back.',
    result: envelope,
    level: 'dangerous',
    topics: ['approvals'],
  }),
} as const
