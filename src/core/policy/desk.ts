import type { Outcome } from '../../../tools/outcome.ts'
import { type Accepted, type AcceptingOptions, type AcceptRequest, acceptPolicy } from './accepting.ts'
import { type CheckingOptions, type CheckReport, type CheckRequest, checkPolicy } from './checking.ts'
import { type PolicyReport, reportPolicy } from './report.ts'

/** What a person can ask about the policy, and the one way in which it is loosened. */
export interface PolicyDesk {
  report(root: string): PolicyReport
  check(request: CheckRequest): Outcome<CheckReport>
  accept(request: AcceptRequest): Promise<Outcome<Accepted>>
}

export function openPolicyDesk(options: CheckingOptions & AcceptingOptions): PolicyDesk {
  return {
    report: root => reportPolicy(options.policy, root),
    check: request => checkPolicy(request, options),
    accept: request => acceptPolicy(request, options),
  }
}
