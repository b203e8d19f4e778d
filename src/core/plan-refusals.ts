import type { Tool } from '../../tools/define.ts'
import type { Fate } from '../../tools/hunks.ts'
import { type Failed, failed, type Outcome } from '../../tools/outcome.ts'
import { duration } from '../../tools/wording.ts'
import type { Limit } from './approvals.ts'
import { reasonsIn } from './chosen.ts'
import type { Verdict } from './gate.ts'
import type { Plan } from './plan.ts'
import { STOP } from './refusals.ts'

/** What a caller is told of a plan that was not carried out. Each says whether anything ran, and what not to try. */

export function deniedByPerson({ plan, reason }: { plan: Plan; reason: string | null }): Failed {
  const why = reason === null ? ', and gave no reason.' : `: ${reason}`
  return failed('denied', {
    message: `A person refused ${plan.tool} (${plan.id}). Nothing ran. They refused it${why}`,
    details: { plan: plan.id, tool: plan.tool, by: 'person', reason },
    next: `${STOP} Tell the person what you make of it, and wait for what they say.`,
  })
}

/** Only the client that the call came from could be asked, and no answer that counts came from there. */
export function unanswered({ plan, reason }: { plan: Plan; reason: string | null }): Failed {
  return failed('denied', {
    message: `No person has approved ${plan.tool} (${plan.id}), which counts as a refusal: ${reason ?? 'nobody answered'}. Nothing ran.`,
    details: { plan: plan.id, tool: plan.tool, by: 'nobody', reason },
    next: `${STOP} Tell the person what you wanted to do, and that they are asked in a terminal of their own with imago watch.`,
  })
}

export function timedOut({ plan, afterMs }: { plan: Plan; afterMs: number }): Failed {
  return failed('approval_timed_out', {
    message: `Nobody answered ${plan.id} (${plan.tool}) within ${duration(afterMs)}, which counts as a refusal. Nothing ran.`,
    details: { reason: 'nobody_answered', plan: plan.id, tool: plan.tool, waited_ms: afterMs },
    next: `${STOP} Tell the person what you wanted to do: they were not there, and can ask for it when they are.`,
  })
}

/** It was approved, and the machine slept or waited for so long that this counts no more. */
export function expired(plan: Plan): Failed {
  return failed('approval_timed_out', {
    message: `The approval of ${plan.id} (${plan.tool}) expired before it could be used, and counts no more. Nothing ran.`,
    details: { reason: 'approval_expired', plan: plan.id, tool: plan.tool },
    next: `${STOP} Tell the person that their approval came to nothing: they can ask for it again.`,
  })
}

/** Without a reason it was the caller that gave up. */
export function planWithdrawn(plan: Plan, reason = 'the call was cancelled'): Failed {
  const why = `${reason.charAt(0).toUpperCase()}${reason.slice(1)}`
  return failed('withdrawn', {
    message: `${why} while ${plan.id} (${plan.tool}) waited for a person. Nobody can approve it any more. Nothing ran.`,
    details: { plan: plan.id, tool: plan.tool, reason },
    next: 'Make the call again only if it is wanted still: a person is asked anew.',
  })
}

/** `preview` is what the same call would come to now; null where it cannot be worked out any more. */
export function stale(o: { plan: Plan; causes: readonly string[]; preview?: unknown }): Failed {
  const { plan, causes, preview } = o
  return failed('stale_plan', {
    message: `${plan.id} (${plan.tool}) is out of date: ${causes.join('; ')}. Nothing was changed.`,
    details: { plan: plan.id, tool: plan.tool, causes, ...(preview !== undefined && { preview }) },
    next: `Look at what is there now${preview === undefined ? '.' : '; details.preview shows what the same call would do to it.'} If that is still right, call again: a person is asked anew.`,
  })
}

/**
 * It comes to nothing, or to what nobody can be asked about, by files that `read_file` may not show: `reading` is why.
 * The same whatever it comes to, and whatever is there: there is nothing in it to guess by.
 */
export function untold({ name }: Tool, { decision, rule }: Verdict): Failed {
  const asks = decision === 'ask'
  const kept = asks ? 'a person is asked about before read_file shows it' : 'read_file may not show'
  return failed('denied', {
    message: `${name} comes to nothing, and why is not told: that is to be seen only in what ${kept}. Nothing was changed.`,
    details: { tool: name, by: 'policy', reason: 'not_shown', rule },
    next: asks
      ? 'Call read_file, which a person is asked about, and then this with what stands there.'
      : `${STOP} Tell the person what you wanted to do, and why.`,
  })
}

/** So many plans wait, or a person has said no so often, that nobody is asked about yet another one. */
export function notNow(limit: Limit): Failed {
  switch (limit.type) {
    case 'waiting':
      return tooManyWait(limit)
    case 'paused':
      return pausedFor(limit)
    default:
      return limit satisfies never
  }
}

function tooManyWait({ of, waiting, most }: Extract<Limit, { type: 'waiting' }>): Failed {
  const whose = of === 'caller' ? 'of this caller, or of where it comes from, ' : ''
  return failed('busy', {
    message: `${waiting} plans ${whose}wait for a person, and ${most} is the most. Nobody was asked, and nothing ran.`,
    details: { waiting, most },
    next: 'Wait until the person at imago watch has answered some of them; job waits with action "wait", and gives plans of yours up with action "interrupt".',
  })
}

function pausedFor({ refusals, leftMs }: Extract<Limit, { type: 'paused' }>): Failed {
  return failed('busy', {
    message: `A person has refused ${refusals} plans of yours in a row. Nobody is asked about another one for ${duration(leftMs)}. Nothing ran.`,
    details: { refused_in_a_row: refusals, of: 'this caller', left_ms: Math.round(leftMs) },
    next: `${STOP} Tell the person what you wanted to do, and why. Nobody is asked sooner unless they approve a plan that waits, or end the pause: in imago watch with r and then l.`,
    retryable: false,
  })
}

/** What a person put in the place of the arguments would need a level that they were not asked about. */
export function editRises(tool: Tool, because: string): Failed {
  return failed('denied', {
    message: `A person changed the arguments of ${tool.name} while approving it, and with those it would have to do more than it was approved for: ${because.replace(/\.$/, '')}. Nothing ran.`,
    details: { tool: tool.name, by: 'person', reason: 'the changed arguments ask for more' },
    next: `${STOP} Tell the person that their arguments ask for more, and wait for what they say.`,
  })
}

/** A person approved something, but not something that the tool can be asked for. */
export function badEdit(tool: Tool, refusal?: Outcome<never>): Failed {
  const why =
    refusal?.type === 'failed' ? refusal.error.message : 'they name another kernel than the call did.'
  return failed('denied', {
    message: `A person changed the arguments of ${tool.name} while approving it, and they cannot be used: ${why} Nothing ran.`,
    details: { tool: tool.name, by: 'person', reason: 'the changed arguments cannot be used' },
    next: `${STOP} Tell the person why their arguments cannot be used, and wait for what they say.`,
  })
}

/** A person chose among its parts, and nothing can be done as they chose; `why` is a sentence. */
export function badChoice({ id, tool }: Plan, why: string): Failed {
  return failed('denied', {
    message: `A person approved ${tool} (${id}) in part, and it cannot be done so: ${why} Nothing ran.`,
    details: { plan: id, tool, by: 'person', reason: 'it cannot be done as they chose' },
    next: `${STOP} Tell the person why it could not be done as they chose, and wait for what they say.`,
  })
}

/** A person went through all of its parts, and refused each. */
export function allRefused({ id, tool }: Plan, fates: readonly Fate[]): Failed {
  return failed('denied', {
    message: `A person refused every hunk of ${tool} (${id}). Nothing ran. They refused ${reasonsIn(fates)}.`,
    details: { plan: id, tool, by: 'person', reason: null, hunks: fates },
    next: `${STOP} Tell the person what you make of it, and wait for what they say.`,
  })
}
