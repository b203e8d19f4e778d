import type { PolicyText } from '../policy.ts'
import type { Accepted, Found } from './records.ts'
import { keyOf, type NumberedRule, subjectOf, type WrittenRule } from './written.ts'

/** A rule that holds. `removed`: it stands in the file no more, and holds until a person accepts that. */
export interface HeldRule extends NumberedRule {
  readonly removed?: true
}

/** Something in a file that would loosen, and has no effect until a person accepts it. */
export interface Loosening {
  /** `allows`: a rule that allows was written. `removed`: one that asks or denies was taken out. */
  readonly what: 'allows' | 'removed'
  readonly rule: WrittenRule
  readonly number: number
}

/** What holds of one file, between what it says and what was accepted of it. */
export interface Settled {
  readonly held: readonly HeldRule[]
  readonly waiting: readonly Loosening[]
  /** What is accepted from now on without asking, because it only tightens; undefined where nothing is new. */
  readonly tightened: Accepted['rules'] | undefined
}

/**
 * The rules in force: what allows, where it was accepted *and* stands in the file; what asks or denies, where it was
 * accepted *or* stands there. So tightening holds at once, and loosening waits. Of a file that is not in order nothing
 * is taken over, and nothing that was accepted is let go of.
 */
export function settle(text: PolicyText, found: Found): Settled {
  const accepted = found.type === 'accepted' ? found.accepted.rules : []
  const before = new Set(accepted.map(({ rule }) => keyOf(rule)))
  const written = new Set(text.rules.map(({ rule }) => keyOf(rule)))
  const added = text.rules.filter(({ rule }) => rule.decision === 'allow' && !before.has(keyOf(rule)))
  const stands = text.rules.filter(one => !added.includes(one))
  const removed = accepted.filter(({ rule }) => tightens(rule) && !written.has(keyOf(rule)))
  const missed =
    text.problem === undefined ? removed.filter(one => !tightened(one.rule, text.rules)) : removed
  const next = [...stands, ...missed]
  return {
    held: [...stands, ...missed.map(one => ({ ...one, removed: true as const }))],
    waiting:
      text.problem === undefined
        ? [...added.map(one => ({ what: 'allows' as const, ...one })), ...missed.map(takenOut)]
        : [],
    tightened:
      text.problem !== undefined || found.type === 'broken' || same(next, accepted) ? undefined : next,
  }
}

const tightens = ({ decision }: WrittenRule) => decision !== 'allow'

const takenOut = (one: NumberedRule) => ({ what: 'removed' as const, ...one })

/** Whether another rule about the same stands there, and is stricter. */
function tightened(rule: WrittenRule, rules: readonly NumberedRule[]): boolean {
  if (rule.decision !== 'ask') return false
  const subject = subjectOf(rule)
  return rules.some(other => other.rule.decision === 'deny' && subjectOf(other.rule) === subject)
}

/** The same rules, wherever they stand. */
function same(some: readonly NumberedRule[], others: readonly NumberedRule[]): boolean {
  const keys = (rules: readonly NumberedRule[]) => [...new Set(rules.map(({ rule }) => keyOf(rule)))].sort()
  return JSON.stringify(keys(some)) === JSON.stringify(keys(others))
}
