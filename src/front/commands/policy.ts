import { resolve } from 'node:path'
import { text as readAll } from 'node:stream/consumers'
import { LEVELS } from '../../../tools/define.ts'
import type { Accepted } from '../../core/policy/accepting.ts'
import type { CheckReport } from '../../core/policy/checking.ts'
import { EXIT, type ExitCode, Failure, messageOf } from '../../failure.ts'
import { findRoot } from '../../paths.ts'
import { connectDaemon } from '../client.ts'
import type { CommandInput } from '../commands.ts'
import { exitOf, printEnvelope, printError } from '../envelopes.ts'
import { checkText, policyText, testsText } from '../policy-text.ts'
import type { Methods } from '../protocol.ts'
import { askHere } from '../seat/sitting.ts'
import { print, request } from './kernels.ts'

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
  if (!envelope.ok) return printFailed(input, envelope)
  const report = envelope.result as CheckReport
  print(input, { result: report, text: checkText(report) })
  return report.decision === 'deny' ? EXIT.denied : EXIT.done
}

async function askedOf({ operands, options }: CommandInput): Promise<Methods['check_policy']['params']> {
  const [, tool = '', given] = operands
  const { kernel, path } = options
  const level = LEVELS.find(known => known === options.level)
  if (options.level !== undefined && level === undefined)
    return misused(`There is no level ${options.level}. Levels: ${LEVELS.join(', ')}.`)
  return {
    tool,
    ...(given !== undefined && { args: parsed(given === '-' ? await readAll(process.stdin) : given) }),
    ...(kernel !== undefined && { kernel }),
    ...(path !== undefined && { path: resolve(path) }),
    ...(level !== undefined && { level }),
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Failure(`The arguments are not JSON: ${messageOf(error)}`, { exit: EXIT.usage, cause: error })
  }
}

/** `imago policy accept`: waits for the answer of a person, on a seat or else at this terminal. */
async function accept(input: CommandInput): Promise<ExitCode> {
  const { printer, options } = input
  await using client = await connectDaemon({
    name: 'imago policy',
    start: 'if-needed',
    root: findRoot(process.cwd()),
  })
  const asked = () => client.request('accept_policy', {})
  const envelope = options.json
    ? await asked()
    : await askHere({ client, printer }, left => unless(left, asked()))
  if (!envelope.ok) return printFailed(input, envelope)
  const result = envelope.result as Accepted
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

type Failing = Parameters<typeof exitOf>[0] & { readonly ok: false }

function printFailed({ options, printer }: CommandInput, envelope: Failing): ExitCode {
  if (options.json) printEnvelope(printer, envelope)
  else printError(printer, envelope.error)
  return exitOf(envelope)
}
