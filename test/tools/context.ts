import type {
  CallerKernels,
  Job,
  Jobs,
  KernelContext,
  Leases,
  OutputLog,
  OutputSoFar,
  Sources,
  Texts,
  ToolContext,
} from '../../tools/contract.ts'
import type { Tool } from '../../tools/define.ts'
import type { Outcome, ToolError } from '../../tools/outcome.ts'
import type { Look, Looked, LookName, Looks } from '../../wire/contract/looks.ts'
import type { CallId, Epoch, Raised, Shown } from '../../wire/contract/values.ts'
import { ABILITIES, type Kernel } from '../../wire/kernel.ts'
import { outcomeAsSaid } from '../support/answers.ts'
import { NO_FILES } from '../support/no-files.ts'
import { NO_SOURCES } from '../support/no-sources.ts'

/** Where everybody owns all that is suspended, and nobody is shown a debugger. */
const NO_LEASES: Leases = {
  maySuspend: false,
  ownershipOf: () => ({ type: 'anyone' }),
  looked() {},
  expiresInMs: () => 0,
  endOf: () => undefined,
  own: suspension => ({ ...suspension, expires_in_ms: 0 }),
  acts: () => () => {},
}

/** What a handler is given, with a kernel that answers as a test says and fails for what the test did not expect. */
export interface Scripted {
  readonly kernel?: Answers
  readonly level?: KernelContext['level']
  readonly jobs?: readonly Job[]
  readonly texts?: Texts
  readonly output?: OutputLog
  readonly signal?: AbortSignal
  readonly leases?: Leases
  readonly canAsk?: boolean
  readonly others?: ReturnType<KernelContext['others']>
  readonly kernels?: Partial<CallerKernels>
  readonly sources?: Partial<Sources>
  readonly past?: ReturnType<KernelContext['past']>
}

export function context(script: Scripted = {}): KernelContext {
  return {
    call: callId('call-1'),
    who: 'test',
    caller: 'client-1',
    level: script.level ?? 'safe',
    signal: script.signal ?? new AbortController().signal,
    lookMs: 5_000,
    jobs: jobsOf(script.jobs ?? []),
    texts: script.texts ?? { owns: () => false, issued: () => false, read: () => undefined },
    kernel: kernel(script.kernel),
    kernelName: 'demo',
    kernels: {
      list: async () => ({ kernels: [], searched: '' }),
      choose: () => Promise.reject(new Error('there are no programs')),
      ...script.kernels,
    },
    others: () => script.others ?? [],
    output: script.output ?? outputLog(),
    leases: script.leases ?? NO_LEASES,
    again: false,
    ask: async () => 'an answer',
    canAsk: script.canAsk ?? true,
    pathOf: path => (path.startsWith('/') ? path : `/project/${path}`),
    files: NO_FILES.of('/project'),
    buffer: async () => undefined,
    sources: { ...NO_SOURCES, ...script.sources },
    past: () => script.past ?? { gone: [], skipped: [] },
  }
}

type Answer<Name extends LookName> = (
  query: Looks[Name]['query'],
  look: Look,
) => Promise<Looked<Looks[Name]['found']>>

/** Methods of a kernel, and answers to its looks by their names. */
export type Answers = Partial<Omit<Kernel, 'look'>> & {
  readonly [Name in LookName]?: Answer<Name>
}

export function kernel(answers: Answers = {}): Kernel {
  const unexpected = async () => {
    throw new Error('the test did not expect this question to the kernel')
  }
  const answerTo = <Name extends LookName>(name: Name) =>
    (answers[name] as Answer<Name> | undefined) ?? unexpected
  return {
    identity: {
      language: 'python',
      implementation: 'CPython 3.11.7',
      pid: 4711,
      epoch: 'ab12cd34' as Epoch,
      abilities: new Set(ABILITIES),
    },
    health: 'responsive',
    watchHealth: () => () => undefined,
    watchSuspensions: () => () => undefined,
    ended: new Promise(() => undefined),
    evaluate: unexpected,
    look: (name, query, look) => answerTo(name)(query, look),
    interrupt: unexpected,
    status: unexpected,
    close: async () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
    ...answers,
  }
}

/** An answer to a look that finds this, and what it was asked. */
export function finding<Found>(value: Found) {
  const queries: unknown[] = []
  const look = async (query: unknown): Promise<Looked<Found>> => {
    queries.push(query)
    return { type: 'found', value }
  }
  return { look, queries }
}

export function outputLog(soFar: Partial<OutputSoFar> = {}): OutputLog {
  let stdout = ''
  let stderr = ''
  let output = ''
  let dropped = 0
  return {
    add(event) {
      if (event.type === 'dropped') dropped += event.characters
      if (event.type !== 'output') return
      if (event.stream === 'stdout') stdout += event.text
      else stderr += event.text
      output += event.text
    },
    soFar: () => ({ stdout, stderr, output, truncated: false, dropped, ...soFar }),
    display: () => {},
  }
}

export function job(given: Partial<Job> = {}): Job {
  return {
    name: 'job-1',
    call: callId('call-7'),
    tool: 'eval_expr',
    kernelName: 'demo',
    kernel: kernel(),
    elapsedMs: 61_000,
    outcome: undefined,
    asking: undefined,
    output: outputLog(),
    wait: async () => undefined,
    ...given,
  }
}

function jobsOf(jobs: readonly Job[]): Jobs {
  return { find: name => jobs.find(one => one.name === name), names: () => jobs.map(one => one.name) }
}

export const callId = (text: string): CallId => text as CallId

export function shown(text: string, more: Partial<Shown> = {}): Shown {
  const type = { name: 'int', module: 'builtins', qualified: 'builtins.int' }
  return { repr: { text, truncated: false, original_len: text.length }, type, ...more }
}

export const RAISED: Raised = {
  type: { name: 'ZeroDivisionError', module: 'builtins', qualified: 'builtins.ZeroDivisionError' },
  message: 'division by zero',
  frames: [
    { function: '<module>', file: 'app.py', line: 9, source: 'ratio(0)', locals: [], locals_omitted: 0 },
    {
      function: 'ratio',
      file: 'app.py',
      line: 3,
      source: 'return 1 / n',
      locals: [{ name: 'n', type_name: 'int', repr: '0' }],
      locals_omitted: 2,
    },
  ],
  frames_omitted: 0,
  traceback: 'Traceback (most recent call last):\n  …\nZeroDivisionError: division by zero\n',
}

/** The tool with these arguments as the call path would run it: checked first, with defaults filled in. */
export function run(tool: Tool, args: unknown, script: Scripted = {}): Promise<Outcome> {
  return handled(tool, tool.parameters.parse(args) as Record<string, unknown>, context(script))
}

/** What the handler makes of checked arguments, which is known to be what the tool says of it. */
export async function handled(
  tool: Tool,
  args: Readonly<Record<string, unknown>>,
  given: ToolContext,
): Promise<Outcome> {
  return outcomeAsSaid(tool, await tool.handler(args, given))
}

export function resultOf(outcome: Outcome): Record<string, unknown> {
  if (outcome.type !== 'ok') throw new Error(`expected a result, got ${JSON.stringify(outcome)}`)
  return outcome.result as Record<string, unknown>
}

export function errorOf(outcome: Outcome): ToolError {
  if (outcome.type !== 'failed') throw new Error(`expected a failure, got ${JSON.stringify(outcome)}`)
  return outcome.error
}
