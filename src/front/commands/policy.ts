import { resolve } from 'node:path'
import { LEVELS } from '../../../tools/contract.ts'
import type { AcceptResult } from '../../calls/policy-acceptance.ts'
import type { CheckReport } from '../../calls/policy-desk.ts'
import { EXIT, type ExitCode, Failure } from '../../failure.ts'
import { MATCHERS, type TestResult } from '../../policy/file.ts'
import type { ClientReport, FileReport, PolicyReport, RuleReport } from '../../policy/report.ts'
import { connectHere, request } from '../client.ts'
import type { CommandInput } from '../command.ts'
import { print, printFailed } from '../print.ts'
import type { Methods } from '../protocol.ts'
import { askHere } from '../seat/at-terminal.ts'
import { typed, wordsOf } from './call.ts'

/** `imago policy`: what is in force. Exit code 1 where something in it is not in order. */
export async function policy(input: CommandInput): Promise<ExitCode> {
  const [what, tool] = input.operands
  switch (what) {
    case undefined:
      return show(input)
    case 'check':
      return tool === undefined ? runTests(input) : check(input)
    case 'accept':
      return tool === undefined
        ? accept(input)
        : misused('imago policy accept takes nothing: it asks about all that waits.')
    default:
      return misused(`imago policy has check and accept, and no ${what}.`)
  }
}

function misused(sentence: string): never {
  throw new Failure(sentence, { exit: EXIT.usage })
}

async function show(input: CommandInput): Promise<ExitCode> {
  const report = await request('policy', {})
  print(input, { result: report, text: policyText(report) })
  return report.problem === null ? EXIT.done : EXIT.failed
}

/** `imago policy check`: the tests beside the rules. Exit code 1 where one fails, or cannot be read. */
async function runTests(input: CommandInput): Promise<ExitCode> {
  const report = await request('policy', {})
  const tests = report.files.flatMap(({ file, tests: some }) => some.map(test => ({ file, ...test })))
  const problem = report.files.find(file => file.problem !== null)?.problem ?? null
  print(input, { result: { tests, problem }, text: testsText(report) })
  return problem === null ? EXIT.done : EXIT.failed
}

/** `imago policy check TOOL`: answers, and runs nothing. Exit code 3 where the call would be denied. */
async function check(input: CommandInput): Promise<ExitCode> {
  const envelope = await request('check_policy', await askedOf(input))
  if (!envelope.ok) return printFailed(input, envelope.error)
  const report = envelope.result as CheckReport
  print(input, { result: report, text: checkText(report) })
  return report.decision === 'deny' ? EXIT.denied : EXIT.done
}

async function askedOf({ operands, options }: CommandInput): Promise<Methods['check_policy']['params']> {
  const [, tool = '', ...words] = operands
  const { kernel, path } = options
  const level = LEVELS.find(known => known === options.level)
  if (options.level !== undefined && level === undefined)
    return misused(`There is no level ${options.level}. Levels: ${LEVELS.join(', ')}.`)
  const asked = { as: 'imago policy check', tool, client: { request } }
  return {
    tool,
    ...(words.length > 0 && { args: await typed(await wordsOf(words), asked) }),
    ...(kernel !== undefined && { kernel }),
    ...(path !== undefined && { path: resolve(path) }),
    ...(level !== undefined && { level }),
  }
}

/** `imago policy accept`: waits for the answer of a person, on a seat or else at this terminal. */
async function accept(input: CommandInput): Promise<ExitCode> {
  const { printer, options } = input
  await using client = await connectHere('imago policy')
  const asked = () => client.request('accept_policy', {})
  const envelope = options.json
    ? await asked()
    : await askHere({ client, printer }, left => unless(left, asked()))
  if (!envelope.ok) return printFailed(input, envelope.error)
  const result = envelope.result as AcceptResult
  return print(input, { result, text: result.message })
}

/** To hang up withdraws what was asked for. */
function unless<Result>(left: AbortSignal | undefined, work: Promise<Result>): Promise<Result> {
  const gone = new Promise<never>((_, reject) =>
    left?.addEventListener('abort', () =>
      reject(new Failure('It was not answered. Nothing was accepted.', { exit: EXIT.denied })),
    ),
  )
  return Promise.race([work, gone])
}

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
  const what = rule.attach ?? (about.length === 0 ? 'everything' : about.join(' '))
  const decision = rule.attach === undefined ? rule.decision : 'join'
  return `  ${String(rule.number).padStart(3)}  ${decision.padEnd(5)} ${what}${STATES[rule.state]}`
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
function testsText({ files }: PolicyReport): string {
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
function checkText(report: CheckReport): string {
  const { tool, level, kernel, paths, effects, decision, by, why, matching, parts, projects, notes } = report
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
    ...(projects.length === 0 ? [] : ['The policies of these folders hold, and the strictest decides:']),
    ...projects.map(one => `  ${one.decision.padEnd(5)} in ${one.root}  (${one.by})`),
    ...notes,
  ].join('\n')
}

const sentenceOf = (clause: string) => clause.charAt(0).toUpperCase() + clause.slice(1)
