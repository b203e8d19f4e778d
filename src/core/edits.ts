import type { Outcome } from '../../tools/outcome.ts'
import { canonical } from './freezing.ts'
import type { Arguments } from './run.ts'

/** What a call was asked for with, and what a person approved in its place. */
export interface Edit {
  readonly asked: Arguments
  readonly approved: Arguments
}

/**
 * How a call ended that was done with the arguments of a person. Whoever called has to know that it did something else
 * than was asked for: `approval` says so, and `edited` has each argument that differs, as it was approved; null where
 * it was taken away. A result that is no object becomes `result` beside them.
 */
export function withEdits(outcome: Outcome, edit: Edit): Outcome {
  const edited = differing(edit)
  const names = Object.keys(edited)
  const changed = names.length === 0 ? 'no argument' : names.join(', ')
  const approval = `A person approved this with other arguments than were asked for: ${changed}. It was done with theirs.`
  return withSaid(outcome, { edited, approval })
}

/** What is said of an outcome besides: in sentences, and as data. */
interface Said {
  readonly approval: string
  readonly edited?: Arguments
}

/** The outcome with that beside its result, or among the details of its error; after what was said of it before. */
export function withSaid(outcome: Outcome, said: Said): Outcome {
  switch (outcome.type) {
    case 'ok': {
      const { result } = outcome
      const open = typeof result === 'object' && result !== null && !Array.isArray(result)
      return { type: 'ok', result: both(open ? { ...result } : { result }, said) }
    }
    case 'failed': {
      const { error } = outcome
      return { type: 'failed', error: { ...error, details: both(error.details, said) } }
    }
    case 'rises':
      return outcome
    default:
      return outcome satisfies never
  }
}

function both(facts: Readonly<Record<string, unknown>>, said: Said): Readonly<Record<string, unknown>> {
  const before = typeof facts.approval === 'string' ? `${facts.approval} ` : ''
  return { ...facts, ...said, approval: before + said.approval }
}

function differing({ asked, approved }: Edit): Arguments {
  const names = [...new Set([...Object.keys(asked), ...Object.keys(approved)])]
  const changed = names.filter(name => canonical([asked[name]]) !== canonical([approved[name]]))
  return Object.fromEntries(changed.map(name => [name, approved[name] ?? null]))
}
