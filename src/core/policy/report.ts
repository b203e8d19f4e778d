import { DEFAULTS, type Decision } from '../gate.ts'
import type { Looked, OpenPolicy } from '../policy.ts'
import { looseningInWords } from './preview.ts'
import type { Acceptance } from './records.ts'
import type { TestResult } from './tests.ts'
import { keyOf, type WrittenRule, type Yes, yesOfRule } from './written.ts'

/** What is in force in one project, and from where; all of it data. */
export interface PolicyReport {
  readonly root: string
  /** Why nothing but looking runs. */
  readonly problem: string | null
  readonly files: readonly FileReport[]
  /** What holds where no rule matches. */
  readonly defaults: Readonly<Record<'safe' | 'cautious' | 'dangerous', Decision>>
}

export interface FileReport {
  readonly type: 'user' | 'project'
  readonly file: string
  readonly exists: boolean
  readonly problem: string | null
  /** Null where the record of what was accepted cannot be relied on. */
  readonly acceptance: Acceptance | null
  readonly rules: readonly RuleReport[]
  /** What it says of the yes of clients. */
  readonly clients: readonly ClientReport[]
  readonly tests: readonly TestResult[]
  /** What is likely to be a slip, and forbids nothing. */
  readonly warnings: readonly string[]
}

export interface RuleReport extends Omit<WrittenRule, 'client'>, Standing {}

export interface ClientReport extends Standing {
  /** What the client calls itself, or the beginning of it before a last `*`. */
  readonly name: string
  readonly yes: Yes
}

interface Standing {
  /** In its file, where rules and clients are counted each by themselves, from 1. */
  readonly number: number
  /**
   * `waits`: it would loosen, and has no effect until a person accepts it. `kept`: it does not stand in the file any more,
   * and holds until a person accepts that. `suspended`: it allows nothing while there is a problem.
   */
  readonly state: 'in_force' | 'waits' | 'kept' | 'suspended'
  /** What accepting would do, as a clause; null for what is in force. */
  readonly loosens: string | null
}

/** What `imago policy` prints. */
export function reportPolicy(policy: OpenPolicy, asked: string): PolicyReport {
  const { root, rules, files } = policy.standing(asked)
  return {
    root,
    problem: rules.problem ?? null,
    files: files.map(looked => fileReport(looked, rules.problem !== undefined)),
    defaults: {
      safe: DEFAULTS.safe.decision,
      cautious: DEFAULTS.cautious.decision,
      dangerous: DEFAULTS.dangerous.decision,
    },
  }
}

function fileReport(looked: Looked, inTrouble: boolean): FileReport {
  const { place, text, held, waiting, problem, acceptance } = looked
  const loosening = new Map(waiting.map(one => [keyOf(one.rule), looseningInWords(one, place)]))
  const waits = waiting
    .filter(({ what }) => what === 'allows')
    .map(one => ({ ...one, state: 'waits' as const }))
  const holds = held.map(one => ({
    ...one,
    state: one.removed ? ('kept' as const) : stateOf(one.rule, inTrouble),
  }))
  const written = [...holds.filter(({ state }) => state !== 'kept'), ...waits]
  const ordered = written.sort((one, other) => one.number - other.number)
  const all = [...ordered, ...holds.filter(({ state }) => state === 'kept')].map(
    ({ rule, number, state }) => ({
      rule,
      standing: { number, state, loosens: loosening.get(keyOf(rule)) ?? null },
    }),
  )
  return {
    type: place.type,
    file: place.file,
    exists: text.sha256 !== null,
    problem: problem ?? null,
    acceptance: acceptance ?? null,
    rules: all.flatMap(({ rule: { client, ...rule }, standing }) =>
      client === undefined ? [{ ...rule, ...standing }] : [],
    ),
    clients: all.flatMap(({ rule, standing }) =>
      rule.client === undefined ? [] : [{ name: rule.client, yes: yesOfRule(rule), ...standing }],
    ),
    tests: text.tests,
    warnings: text.warnings,
  }
}

function stateOf({ decision }: WrittenRule, inTrouble: boolean): RuleReport['state'] {
  return inTrouble && decision === 'allow' ? 'suspended' : 'in_force'
}
