import type { Preview } from '../../../tools/proposal.ts'
import type { Looked } from '../policy.ts'
import type { Loosening } from './settling.ts'
import {
  aboutInWords,
  keyOf,
  type NumberedRule,
  type PolicyPlace,
  tomlOf,
  type WrittenRule,
  yesOfRule,
} from './written.ts'

/** What a person is shown before what loosens holds: in words, and as the difference of the rules. */
export function previewOf(files: readonly Looked[]): Preview {
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
function changesOf(looked: Looked): Shown {
  const { place, waiting, text, acceptance } = looked
  const again = acceptance === undefined ? anew(looked) : []
  const ordered = [...waiting.filter(isAllowance), ...waiting.filter(one => !isAllowance(one))]
  if (ordered.length + again.length === 0) return { words: [], diff: [] }
  return {
    words: [
      ...ordered.map(one => looseningInWords(one, place)),
      ...again.map(
        ({ rule, number }) => `${holding(rule)}, ${wherein(rule, place)} (${nameOf(rule, number)}, written)`,
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

function anew({ text, waiting }: Looked): readonly NumberedRule[] {
  const shown = new Set(waiting.filter(isAllowance).map(({ rule }) => keyOf(rule)))
  return text.rules.filter(({ rule }) => !shown.has(keyOf(rule)))
}

const isAllowance = ({ what }: Loosening) => what === 'allows'

const VERBS = { allow: 'allows', ask: 'asks before', deny: 'denies' } as const

/** As a clause: `allows write_file that is dangerous at ~/notes without asking, in every project`. */
export function looseningInWords({ what, rule, number }: Loosening, place: PolicyPlace): string {
  const where = wherein(rule, place)
  if (what === 'removed') return `no longer ${holding(rule)}, ${where} (${nameOf(rule, number)}, taken out)`
  const without = rule.client === undefined ? ' without asking' : ''
  return `${holding(rule)}${without}, ${where} (${nameOf(rule, number)}, written)`
}

function holding(rule: WrittenRule): string {
  if (rule.client === undefined) return `${VERBS[rule.decision]} ${aboutInWords(rule)}`
  const whose = `the yes of a client that calls itself ${rule.client}`
  return yesOfRule(rule) === 'counts' ? `takes ${whose} for a person's` : `asks a seat beside ${whose}`
}

/** As in its file, where each kind is counted by itself. */
const nameOf = ({ client }: WrittenRule, number: number) =>
  `${client === undefined ? 'rule' : 'client'} ${number}`

function wherein({ path, file }: WrittenRule, place: PolicyPlace): string {
  if (place.type === 'project') return `in ${place.root}`
  return !/^[~/]/.test(path ?? file ?? '') ? 'in every project' : 'whichever project calls'
}

function hunk({ rule, number }: NumberedRule, mark: '+' | '-'): readonly string[] {
  const lines = tomlOf(rule).map(line => `${mark}${line}`)
  return [`@@ ${nameOf(rule, number)}${mark === '-' ? ', taken out' : ''} @@`, ...lines]
}
