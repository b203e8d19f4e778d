import type { CheckReport } from '../core/policy/checking.ts'
import type { ClientReport, FileReport, PolicyReport, RuleReport } from '../core/policy/report.ts'
import type { TestResult } from '../core/policy/tests.ts'
import { MATCHERS } from '../core/policy/written.ts'

/** `imago policy`: what is in force, each rule with its file and its number. */
export function policyText(report: PolicyReport): string {
  const waiting = report.files
    .flatMap(({ rules, clients }) => [...rules, ...clients])
    .filter(({ loosens }) => loosens !== null)
  const { safe, cautious, dangerous } = report.defaults
  return [
    ...(report.problem === null ? [] : [`Only looking is allowed: ${report.problem}`, '']),
    ...report.files.flatMap(file => fileLines(file, report.problem)),
    `Where no rule matches: safe ${safe}, cautious ${cautious}, dangerous ${dangerous}.`,
    ...(waiting.length === 0 ? [] : ['', ...waitingLines(waiting)]),
  ].join('\n')
}

/** `said`: the problem that stands above already. */
function fileLines(report: FileReport, said: string | null): string[] {
  const { file, exists, rules, clients, acceptance, problem, tests, warnings } = report
  const failing = tests.filter(test => test.problem !== undefined).length
  const heading = [
    exists ? file : `${file} (not there)`,
    acceptance?.how === 'first_sight' && rules.length + clients.length > 0
      ? `accepted at first sight, ${dayOf(acceptance.at)}`
      : '',
    acceptance?.how === 'person' ? `accepted by ${acceptance.by ?? 'a person'}, ${dayOf(acceptance.at)}` : '',
    tests.length === 0 ? '' : `${tests.length - failing} of ${tests.length} tests hold`,
    problem === null ? '' : 'not in order',
  ]
  const remarks = [...(problem === null || problem === said ? [] : [problem]), ...warnings].map(
    one => `  ${one}`,
  )
  const lines = [...rules.map(ruleLine), ...clients.map(clientLine)]
  return [heading.filter(Boolean).join('; '), ...lines, ...remarks, '']
}

const dayOf = (at: string) => `${at.slice(0, 16).replace('T', ' ')} UTC`

function ruleLine(rule: RuleReport): string {
  const about = MATCHERS.flatMap(word => (rule[word] === undefined ? [] : [`${word}=${rule[word]}`]))
  const what = about.length === 0 ? 'everything' : about.join(' ')
  return `  ${String(rule.number).padStart(3)}  ${rule.decision.padEnd(5)} ${what}${STATES[rule.state]}`
}

function clientLine({ number, name, yes, state }: ClientReport): string {
  const what = yes === 'counts' ? 'its yes counts' : 'a seat is asked'
  return `  client ${number}  ${name}: ${what}${STATES[state]}`
}

const STATES = {
  in_force: '',
  waits: '   (waits to be accepted)',
  kept: '   (not in the file as it stands; holds until that is accepted)',
  suspended: '   (allows nothing until the problem is mended)',
} as const

function waitingLines(waiting: readonly Pick<RuleReport, 'loosens'>[]): string[] {
  return [
    'Waits for a person (imago policy accept). Once accepted, the policy',
    ...waiting.map(({ loosens }) => `  ${loosens ?? ''}`),
  ]
}

/** `imago policy check`: every test of the two files, and what came of it. */
export function testsText({ files }: PolicyReport): string {
  const lines = files.flatMap(({ file, tests, problem }) => [
    ...(tests.length === 0 && problem === null ? [] : [file]),
    ...tests.map(testLine),
    ...(tests.length === 0 && problem !== null ? [`  ${problem}`] : []),
  ])
  return lines.length === 0 ? 'No tests: write them as [[test]] beside the rules.' : lines.join('\n')
}

function testLine({ number, call, expected, got, by, problem }: TestResult): string {
  const result = problem === undefined ? `${got}, by ${by}` : `expected ${expected}, got ${got}, by ${by}`
  return `  ${problem === undefined ? 'ok  ' : 'FAIL'} ${number}  ${call}: ${result}`
}

/** `imago policy check TOOL`: which rule decides, why, and which others speak about the call. */
export function checkText(report: CheckReport): string {
  const { tool, level, kernel, paths, effects, decision, by, why, matching, parts, notes } = report
  const call = [`${tool} (${level})`, kernel && `in ${kernel}`, ...paths, ...effects].filter(Boolean)
  return [
    `${decision}: ${call.join(', ')}`,
    `${sentenceOf(by)} decides. ${why}`,
    ...(matching.length < 2 ? [] : ['All rules that speak about it:']),
    ...(matching.length < 2
      ? []
      : matching.map(one => `  ${one.decision.padEnd(5)} ${one.about}  (${one.by})`)),
    ...(parts.length < 2 ? [] : ['Its parts, each by itself:']),
    ...(parts.length < 2
      ? []
      : parts.map(
          part =>
            `  ${part.decision.padEnd(5)} ${[part.effect, part.path].filter(Boolean).join(' ')}  (${part.by})`,
        )),
    ...notes,
  ].join('\n')
}

const sentenceOf = (clause: string) => clause.charAt(0).toUpperCase() + clause.slice(1)
