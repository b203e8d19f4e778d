import type { Preview } from '../../tools/contract.ts'
import type { Decision } from '../journal/entries.ts'
import {
  aboutInWords,
  keyOf,
  type NumberedRule,
  type PolicyPlace,
  type TestResult,
  tomlOf,
  type WrittenRule,
  type Yes,
  yesOfRule,
} from './file.ts'
import type { FileRules, OpenPolicy } from './policy.ts'
import type { Acceptance, Loosening } from './records.ts'
import { DEFAULTS } from './rules.ts'

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

export interface RuleReport extends Omit<WrittenRule, 'client'>, RuleState {}

export interface ClientReport extends RuleState {
  /** What the client calls itself, or the beginning of it before a last `*`. */
  readonly name: string
  readonly yes: Yes
}

interface RuleState {
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

function fileReport(looked: FileRules, inTrouble: boolean): FileReport {
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

/** What a person is shown before what loosens holds: in words, and as the difference of the rules. */
export function previewOf(files: readonly FileRules[]): Preview {
  const shown = files.map(changesOf).filter(({ words }) => words.length > 0)
  const count = shown.reduce((sum, { words }) => sum + words.length, 0)
  return {
    title: `Accept ${count === 1 ? 'a rule' : `${count} rules`} of ${files.map(({ place }) => place.file).join(' and ')}`,
    body: [
      ...files.flatMap(({ problem, text }) =>
        problem === undefined || text.problem !== undefined ? [] : [problem, ''],
      ),
      'From now on, until these files are changed again, the policy',
      ...shown.flatMap(({ words }) => words.map(line => `  ${line}`)),
      '',
      ...shown.flatMap(({ diff }) => diff),
      '',
    ].join('\n'),
  }
}

interface Shown {
  readonly words: readonly string[]
  readonly diff: readonly string[]
}

/** What loosens comes first; where the record is broken, what else stands in the file follows. */
function changesOf(looked: FileRules): Shown {
  const { place, waiting, text, acceptance } = looked
  const again = acceptance === undefined ? anew(looked) : []
  const ordered = [...waiting.filter(isAllowance), ...waiting.filter(one => !isAllowance(one))]
  if (ordered.length + again.length === 0) return { words: [], diff: [] }
  return {
    words: [
      ...ordered.map(one => looseningInWords(one, place)),
      ...again.map(
        ({ rule, number }) =>
          `${holding(rule)}, ${wherein(rule, place)} (${ruleLabel(rule, number)}, written)`,
      ),
    ],
    diff: [
      `--- ${place.file}, as accepted`,
      `+++ ${place.file}, as it stands${text.sha256 === null ? ' (it is gone)' : ''}`,
      ...ordered.flatMap(one => hunk(one, isAllowance(one) ? '+' : '-')),
      ...again.flatMap(one => hunk(one, '+')),
    ],
  }
}

function anew({ text, waiting }: FileRules): readonly NumberedRule[] {
  const shown = new Set(waiting.filter(isAllowance).map(({ rule }) => keyOf(rule)))
  return text.rules.filter(({ rule }) => !shown.has(keyOf(rule)))
}

const isAllowance = ({ what }: Loosening) => what === 'allows'

const VERBS = { allow: 'allows', ask: 'asks before', deny: 'denies' } as const

/** As a clause: `allows write_file that is dangerous at ~/notes without asking, in every project`. */
export function looseningInWords({ what, rule, number }: Loosening, place: PolicyPlace): string {
  const where = wherein(rule, place)
  if (what === 'removed')
    return `no longer ${holding(rule)}, ${where} (${ruleLabel(rule, number)}, taken out)`
  const without = rule.client === undefined ? ' without asking' : ''
  return `${holding(rule)}${without}, ${where} (${ruleLabel(rule, number)}, written)`
}

function holding(rule: WrittenRule): string {
  if (rule.client === undefined) return `${VERBS[rule.decision]} ${aboutInWords(rule)}`
  const whose = `the yes of a client that calls itself ${rule.client}`
  return yesOfRule(rule) === 'counts' ? `takes ${whose} for a person's` : `asks a seat beside ${whose}`
}

/** As in its file, where each kind is counted by itself. */
const ruleLabel = ({ client, attach }: WrittenRule, number: number) =>
  `${client !== undefined ? 'client' : attach !== undefined ? 'attach' : 'rule'} ${number}`

function wherein({ path, file }: WrittenRule, place: PolicyPlace): string {
  if (place.type === 'project') return `in ${place.root}`
  return !/^[~/]/.test(path ?? file ?? '') ? 'in every project' : 'whichever project calls'
}

function hunk({ rule, number }: NumberedRule, mark: '+' | '-'): readonly string[] {
  const lines = tomlOf(rule).map(line => `${mark}${line}`)
  return [`@@ ${ruleLabel(rule, number)}${mark === '-' ? ', taken out' : ''} @@`, ...lines]
}
