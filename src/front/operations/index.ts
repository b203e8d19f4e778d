import { CALL_OPERATIONS } from './calls.ts'
import { DAEMON_OPERATIONS } from './daemon.ts'
import { HISTORY_OPERATIONS } from './history.ts'
import { KERNEL_OPERATIONS } from './kernels.ts'
import { POLICY_OPERATIONS } from './policy.ts'
import { SEAT_OPERATIONS } from './seats.ts'
import { SUBSCRIPTION_OPERATIONS } from './subscription.ts'
import { SUSPENSION_OPERATIONS } from './suspensions.ts'

/** All that a client can ask of the daemon, by name. A tool is asked for by `call`. */
export const OPERATIONS = {
  ...CALL_OPERATIONS,
  ...KERNEL_OPERATIONS,
  ...SEAT_OPERATIONS,
  ...POLICY_OPERATIONS,
  ...SUSPENSION_OPERATIONS,
  ...SUBSCRIPTION_OPERATIONS,
  ...HISTORY_OPERATIONS,
  ...DAEMON_OPERATIONS,
} as const
