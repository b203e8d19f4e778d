import { z } from 'zod'
import type { Preview } from '../../tools/contract.ts'
import type { Of } from '../../wire/kernel.ts'
import { DECISIONS } from '../journal/entries.ts'
import {
  aboutInWords,
  KEPT_RULE,
  keyOf,
  type NumberedRule,
  type PolicyPlace,
  TEST_RESULT,
  tomlOf,
  type WrittenRule,
  YESES,
  yesOfRule,
} from './file.ts'
import type { FileRules, OpenPolicy } from './policy.ts'
import { ACCEPTANCE, type Loosening } from './records.ts'
import { DEFAULTS } from './rules.ts'

/** Where it is in its file, and whether it holds. */
const RULE_STATE = {
  number: z.int().describe('In its file, where rules and clients are counted each by themselves, from 1.'),
  state: z
    .enum(['in_force', 'waits', 'kept', 'suspended'])
    .describe(
      'waits: it would loosen, and has no effect until a person accepts it. kept: it is in the file no more, and holds until a person accepts that. suspended: it allows nothing while there is a problem.',
    ),
  loosens: z
    .string()
    .nullable()
    .describe('What accepting would do, as a clause; null for a rule that is in force.'),
}

const RULE_REPORT = KEPT_RULE.omit({ client: true }).extend(RULE_STATE)

const CLIENT_REPORT = z.strictObject({
  name: z.string().describe('What the client calls itself, or the beginning of it before a last *.'),
  yes: z.enum(YESES),
  ...RULE_STATE,
})

const FILE_REPORT = z.strictObject({
  type: z.enum(['user', 'project']),
  file: z.string(),
  exists: z.boolean(),
  problem: z.string().nullable(),
  acceptance: ACCEPTANCE.nullable().describe(
    'null where the record of what was accepted cannot be relied on.',
  ),
  rules: z.array(RULE_REPORT),
  clients: z.array(CLIENT_REPORT).describe('What it says of the yes of clients.'),
  tests: z.array(TEST_RESULT),
  warnings: z.array(z.string()).describe('Likely slips, which forbid nothing.'),
})

const decision = z.enum(DECISIONS)

/** The rules that are in force in one project, and where each comes from; all of it data. */
export const POLICY_REPORT = z.strictObject({
  root: z.string(),
  problem: z.string().nullable().describe('Why nothing but looking runs.'),
  files: z.array(FILE_REPORT),
  defaults: z
    .strictObject({ safe: decision, cautious: decision, dangerous: decision })
    .describe('Holds where no rule matches.'),
})

export type PolicyReport = Of<typeof POLICY_REPORT>
export type FileReport = Of<typeof FILE_REPORT>
export type RuleReport = Of<typeof RULE_REPORT>
export type ClientReport = Of<typeof CLIENT_REPORT>

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
