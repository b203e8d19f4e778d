import { type Failed, failed } from '../../../tools/outcome.ts'
import { duration } from '../../../tools/wording.ts'
import type { Answer, Plan } from '../plan.ts'
import { STOP } from '../refusals.ts'

/** What is answered where rules were not accepted. Each says that nothing loosened, and what not to try. */

const STAYS = 'The policy is as it was.'

export function notApproved(plan: Plan, answer: Exclude<Answer, { type: 'approved' }>): Failed {
  switch (answer.type) {
    case 'denied':
      return denied(plan, answer.reason)
    case 'edited':
    case 'chosen':
      return failed('denied', {
        message: `These rules can be accepted or refused, and not edited by an answer. ${STAYS}`,
        details: { plan: plan.id, by: 'person' },
        next: 'A person edits the file itself, and then runs imago policy accept.',
      })
    case 'stale':
      return stale(plan, answer.causes)
    case 'timed_out':
      return failed('approval_timed_out', {
        message: `Nobody answered ${plan.id} within ${duration(answer.afterMs)}, which counts as a refusal. ${STAYS}`,
        details: { plan: plan.id, waited_ms: answer.afterMs },
        next: `${STOP} Whoever was not there can run imago policy accept when they are.`,
      })
    case 'cancelled':
      return failed('withdrawn', {
        message: `${answer.reason === undefined ? 'It was cancelled' : 'The daemon ended'} while ${plan.id} waited for a person. Nobody can approve it any more. ${STAYS}`,
        details: { plan: plan.id },
        next: 'Run imago policy accept again only if it is wanted again.',
      })
    case 'unavailable':
      return failed('approval_unavailable', {
        message: `Nobody has a seat, so nobody can be asked. ${STAYS}`,
        next: 'A person runs imago watch in a terminal, and then imago policy accept.',
      })
    default:
      return answer satisfies never
  }
}

function denied(plan: Plan, reason: string | null): Failed {
  const why = reason === null ? ', and gave no reason.' : `: ${reason}`
  return failed('denied', {
    message: `A person refused to accept these rules. ${STAYS} They refused it${why}`,
    details: { plan: plan.id, by: 'person', reason },
    next: STOP,
  })
}

/** It was approved, and whoever asked does not want it any more. */
export function withdrawnLate(plan: Plan): Failed {
  return failed('withdrawn', {
    message: `It was cancelled after ${plan.id} had been approved, and before that held. ${STAYS}`,
    details: { plan: plan.id },
    next: 'Run imago policy accept again only if it is wanted again.',
  })
}

/** It was approved, and the machine slept or waited for so long that this counts no more. */
export function expired(plan: Plan): Failed {
  return failed('approval_timed_out', {
    message: `The approval of ${plan.id} expired before it could be used. ${STAYS}`,
    details: { plan: plan.id },
    next: 'A person runs imago policy accept again, and is asked anew.',
  })
}

export function stale(plan: Plan, causes: readonly string[]): Failed {
  return failed('stale_plan', {
    message: `${plan.id} is out of date: ${causes.join('; ')}. ${STAYS}`,
    details: { plan: plan.id, causes },
    next: 'imago policy shows what stands there now; imago policy accept asks about that.',
  })
}

export function troubled(trouble: string): Failed {
  return failed('denied', {
    message: `Nothing is accepted while the journal cannot be relied on: ${trouble} ${STAYS}`,
    next: 'A person has to look at imago log verify first.',
  })
}
