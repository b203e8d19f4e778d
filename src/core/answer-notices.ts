import type { Envelope } from '../../tools/outcome.ts'
import { enveloped, noticed } from './answer.ts'
import type { CallRequest } from './call.ts'
import type { Registry } from './registry.ts'
import type { Leases } from './suspensions/leases.ts'

/**
 * Adds to an answer what its caller is to be told besides: how evaluations of theirs have ended that wait no more, and what a person
 * has put before them. Nothing is told with an answer that cannot carry it, that nobody reads, or that only completes
 * what is being typed: then it waits for the next one.
 */
export function openAnswerNotices(
  registry: Registry,
  leases: Leases,
): (answer: Envelope, request: CallRequest) => Envelope {
  return (answer, { caller, tool, gone }) => {
    const isTyped = (registry.find(tool)?.typed.length ?? 0) > 0
    if (isTyped || gone?.aborted === true || !carriesNotices(answer)) return answer
    const notices = leases.noticesFor(caller)
    return notices.length === 0 ? answer : withNotices(answer, notices)
  }
}

const carriesNotices = (answer: Envelope): boolean =>
  !answer.ok || (typeof answer.result === 'object' && answer.result !== null && !Array.isArray(answer.result))

function withNotices(answer: Envelope, notices: readonly string[]): Envelope {
  const ended = answer.ok
    ? ({ type: 'ok', result: answer.result } as const)
    : ({ type: 'failed', error: answer.error } as const)
  return enveloped(notices.reduceRight(noticed, ended))
}
