import { randomBytes } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import { text as readAll } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Profile } from '../../../tools/contract.ts'
import { TOOLS } from '../../../tools/index.ts'
import { type Envelope, isRunning, toolError } from '../../../tools/outcome.ts'
import { isRecord } from '../../../tools/record.ts'
import { oneLine } from '../../../tools/text.ts'
import { readBounded } from '../../../wire/bounded-file.ts'
import { messageOf, WireError } from '../../../wire/errors.ts'
import { conversationOf } from '../../agent/conversation.ts'
import type { AskedCall, Entry, EntryOf } from '../../agent/entries.ts'
import { guidance, marked, unmarked } from '../../agent/guidance.ts'
import { KEY_VARIABLES, type KeyVariable } from '../../agent/keys.ts'
import { NoModel, type OpenModel, openModel } from '../../agent/providers.ts'
import { type AgentTools, type CallEnd, type RunEnd, work } from '../../agent/run.ts'
import { AtWork, beginRun, openRun, type RunFile } from '../../agent/run-file.ts'
import { callsInText } from '../../agent/text-tools.ts'
import { SYSTEM_CLOCK } from '../../clock.ts'
import { type Config, readConfig } from '../../config.ts'
import { EXIT, type ExitCode, Failure } from '../../failure.ts'
import { isWithin, realOf } from '../../files/roots.ts'
import { findPaths, findRoot } from '../../paths.ts'
import { describeTool } from '../../registry/descriptions.ts'
import { openRegistry, type Registry } from '../../registry/registry.ts'
import type { SyntaxName } from '../../syntax/syntax.ts'
import { documentation, SYNTAXES } from '../../syntax/syntaxes.ts'
import { escapeJson } from '../../text/escape.ts'
import { connectDaemon, type DaemonClient, WAIT_SECONDS } from '../client.ts'
import { type CommandInput, profileOf } from '../command.ts'
import { type Printer, printFailed, untilLeft } from '../print.ts'
import { callLines } from '../run-text.ts'
import { askHere, hasTerminal } from '../seat/at-terminal.ts'
import { type Woken, wantedErrors, whenRaised, wokenBefore } from './ask-when.ts'

/** `imago ask`: a run of the agent on the project of this folder, from a question to its answer; or each time that `--when` says. */
export async function ask(input: CommandInput): Promise<ExitCode> {
  const [given = ''] = input.operands
  const text = given === '-' ? await readAll(process.stdin) : given
  if (text.trim() === '') throw new Failure('The question is empty.', { exit: EXIT.usage })
  const { agent, tools } = readConfig(findPaths().configDir)
  const profile = profileOf(input.options.profile) ?? agent.profile
  // It asks about commands of the one that calls it, and the agent has none.
  if (profile === 'desk')
    throw new Failure('The agent has the profiles core, live and full.', { exit: EXIT.usage })
  const root = findRoot(process.cwd())
  const { when } = input.options
  if (when !== undefined && input.options.wait)
    throw new Failure('A run that an error wakes goes on by itself: leave --wait out.', { exit: EXIT.usage })
  const wanted = when === undefined ? undefined : wantedErrors(when)
  const left = untilLeft(LEAVES)
  return withModel(input, { settings: () => agent, left }, async model => {
    const settings = { root, agent, profile, syntax: tools.syntax, model, left }
    if (wanted === undefined) {
      await using client = await connect(root)
      return await begin(input, { ...settings, client }, { text })
    }
    const { printer } = input
    const waking = { connect: () => connect(root), wanted, most: agent.woken_a_day, printer, left }
    return await whenRaised(waking, (client, woken) => begin(input, { ...settings, client }, { text, woken }))
  })
}

/** The signals that cancel a run. */
const LEAVES = ['SIGINT', 'SIGTERM'] as const

interface Settings {
  readonly root: string
  readonly agent: Config['agent']
  readonly profile: Profile
  readonly syntax: SyntaxName | undefined
  readonly model: OpenModel
  readonly client: DaemonClient
  /** Cancels the run. */
  readonly left: AbortSignal
}

interface Asked {
  readonly text: string
  readonly woken?: Woken
}

async function begin(
  input: CommandInput,
  { root, agent, profile, syntax, model, client, left }: Settings,
  { text: question, woken }: Asked,
): Promise<ExitCode> {
  const registry = openRegistry(TOOLS)
  const programs = await programsOf(client, root)
  const file = await beginRun(findPaths().stateDir, run => {
    const id = `${run}-${randomBytes(6).toString('hex')}`
    const told = guidance({
      root,
      programs,
      instructions: instructionsIn(root, input.printer),
      mark: id,
      isWoken: woken !== undefined,
      tools: syntax && documentation(described(registry, profile), { syntax: SYNTAXES[syntax], registry }),
    })
    const text = woken === undefined ? question : `${question}\n\nThe error:\n${marked(id, woken.text)}`
    const chosen = { text, guidance: told, model: model.model.modelId, profile }
    const { variable: key } = model.key ?? {}
    const more = {
      ...(syntax && { syntax }),
      ...(woken && { woken: woken.what, kind: woken.kind }),
      ...(key && { key }),
    }
    return { type: 'begun', at: Date.now(), run, id, root, ...chosen, ...more }
  })
  try {
    // Two that wait for one error have begun at the same time.
    if (woken !== undefined && wokenBefore(woken.kind, file.run)) file.remove()
    else return await drive(input, { file, client, model, agent, registry, left })
    return EXIT.done
  } finally {
    file.close()
  }
}

/** `imago runs resume`: goes on with a run that waits, or that failed. */
export async function resume(input: CommandInput, run: string): Promise<ExitCode> {
  const file = await takeUp(run)
  try {
    const conversation = conversationOf(file.entries)
    const { begun, over } = conversation
    // It may just have come to its end.
    if (over !== undefined && over.why !== 'failed') {
      if (input.options.json) input.printer.out(`${escapeJson(JSON.stringify(over))}\n`)
      return tellEnd(input, over, run)
    }
    const left = untilLeft(LEAVES)
    const settings = () => readConfig(findPaths().configDir).agent
    const keepWhy = (error: Failure) => {
      const at = Date.now()
      if (error instanceof NoModel) file.keep({ type: 'waits', at, for: error.variable })
      else file.keep({ type: 'over', at, why: 'failed', text: error.message })
    }
    return await withModel(
      input,
      { settings, left, needs: begun.key, lacks: keepWhy },
      async (model, agent) => {
        const { modelId } = model.model
        if (modelId !== conversation.model) file.keep({ type: 'model', at: Date.now(), model: modelId })
        await using client = await connect(begun.root)
        return await drive(input, { file, client, model, agent, registry: openRegistry(TOOLS), left })
      },
    )
  } finally {
    file.close()
  }
}

/** How long a process may take that has just left the run to a person, in milliseconds. */
const LEAVING_MS = 10_000

async function takeUp(run: string): Promise<RunFile> {
  for (const deadline = performance.now() + LEAVING_MS; ; await sleep(100))
    try {
      return await openRun(findPaths().stateDir, run)
    } catch (error) {
      if (!(error instanceof AtWork) || performance.now() > deadline) throw error
    }
}

interface Needed {
  /** May throw a `Failure`. */
  settings(): Config['agent']
  readonly left: AbortSignal
  /** The variable that had the key when the run began. */
  readonly needs?: KeyVariable | undefined
  /** Told why there is no model. */
  lacks?(error: Failure): void
}

/** Does `work` with the model of the configuration; without one, says what is missing. */
async function withModel(
  input: CommandInput,
  { settings, left, needs, lacks = () => {} }: Needed,
  work: (model: OpenModel, agent: Config['agent']) => Promise<ExitCode>,
): Promise<ExitCode> {
  let agent: Config['agent']
  let model: OpenModel
  try {
    agent = settings()
    model = await openModel(agent, { env: process.env, needs, signal: left })
  } catch (error) {
    if (error instanceof Failure) lacks(error)
    if (!(error instanceof NoModel)) throw error
    if (input.options.json) printFailed(input, toolError('invalid_args', { message: error.message }))
    else input.printer.err(`imago ask: ${error.message}\n`)
    return EXIT.usage
  }
  return await work(model, agent)
}

/** The key of the model stays in this process. */
function connect(root: string): Promise<DaemonClient> {
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !KEY_VARIABLES.some(key => key === name)),
  )
  return connectDaemon({ name: 'imago ask', start: 'if-needed', root, env })
}

interface Driven {
  readonly file: RunFile
  readonly client: DaemonClient
  readonly model: OpenModel
  readonly agent: Config['agent']
  readonly registry: Registry
  readonly left: AbortSignal
}

/** Works at the run until it is over, or waits for a person; what it does is told meanwhile. */
async function drive(
  input: CommandInput,
  { file, client, model, agent, registry, left }: Driven,
): Promise<ExitCode> {
  const { printer, options } = input
  const conversation = conversationOf(file.entries)
  const tools = toolsOf({ run: file.run, input, client, registry, begun: conversation.begun })
  if (options.json && file.entries.length === 1) for (const entry of file.entries) printEntry(entry)
  if (model.key !== undefined) await client.request('keep_key', { run: file.run, ...model.key })
  const end = await work({
    conversation,
    model,
    tools,
    budget: agent,
    clock: SYSTEM_CLOCK,
    signal: left,
    keep(entry) {
      file.keep(entry)
      if (options.json) printEntry(entry)
      else tell(entry)
    },
    say: text => printer.err(`imago: ${text}\n`),
  }).catch(error => {
    if (!(error instanceof WireError) || error.code !== 'LINK_CLOSED') throw error
    const words = `The daemon ended while ${file.run} was at work.`
    throw new Failure(`${words} Go on with: imago runs resume ${file.run}`, { cause: error })
  })
  return tellEnd(input, end, file.run)

  function printEntry(entry: Entry) {
    printer.out(`${escapeJson(JSON.stringify(entry))}\n`)
  }

  function tell(entry: Entry) {
    if (entry.type === 'answered') for (const line of callLines(entry)) printer.err(`${line}\n`)
    else if (entry.type === 'ended' && entry.outcome !== 'ok')
      printer.err(`  ${oneLine(unmarked(entry.text).split('\n', 1)[0] ?? '').slice(0, 200)}\n`)
    else if (entry.type === 'room') printer.err(`imago: ${entry.calls.length} old results made room\n`)
  }
}

/** How the run ended, or what it waits for; its answer alone is on standard output. */
function tellEnd({ printer, options }: CommandInput, end: RunEnd, run: string): ExitCode {
  if (end.type === 'waits') {
    printer.err(`${run} waits for a person: ${end.for}. It goes on once they have answered: imago watch\n`)
    return EXIT.stillRunning
  }
  if (!options.json && (end.why === 'done' || end.why === 'partial')) printer.out(`${end.text.trimEnd()}\n`)
  if (end.why === 'failed')
    printer.err(`imago: ${run} failed: ${end.text}. Go on with: imago runs resume ${run}\n`)
  if (end.why === 'cancelled') printer.err(`imago: ${run} was cancelled\n`)
  return end.why === 'done' ? EXIT.done : EXIT.failed
}

interface ToolParts {
  readonly run: string
  readonly input: CommandInput
  readonly client: DaemonClient
  readonly registry: Registry
  readonly begun: EntryOf<'begun'>
}

function toolsOf({ run, input, client, registry, begun }: ToolParts): AgentTools {
  const { id, profile, syntax, woken } = begun
  // Nothing of this profile can wait for a job.
  const patience = profile === 'core' ? { patience: WAIT_SECONDS } : {}
  const isWoken = woken !== undefined
  const isSafe = (tool: string) => registry.find(tool)?.level === 'safe'
  const shown = registry.list(profile)

  async function callOnce({ call, tool, args }: AskedCall, signal: AbortSignal): Promise<CallEnd> {
    const known = registry.find(tool)
    // A model may know it from elsewhere.
    if (known !== undefined && !shown.includes(known)) {
      const message = `${known.name} is not among the tools of profile ${profile}. Nothing ran.`
      return { type: 'ended', outcome: 'unknown_function', text: marked(id, `unknown_function: ${message}`) }
    }
    const needsKernel = (known?.needs.length ?? 0) > 0
    const given = needsKernel && isRecord(args) ? { ...patience, ...args } : args
    // A person at this terminal is asked here. Nobody is at the one of a run that an error has woken.
    const isHere = hasTerminal() && !isWoken
    // A look of a run that was woken may turn out to be more.
    const isHeld = isWoken || !isSafe(tool)
    const made = (leave: boolean) => {
      const held = { leave, run, ...(isWoken && { cautious: true }) }
      return client.call({ tool, args: given, call, signal, ...(isHeld && { held }) })
    }
    const asked = () =>
      askHere({ client, printer: input.printer }, left => orLeft(made(false), { tool, left, signal }))
    const first = isHere && isHeld ? await asked() : await made(true)
    const title = heldTitle(first)
    if (title !== undefined && (isHere || isWoken || !input.options.wait)) return { type: 'waits', title }
    if (title !== undefined) input.printer.err(`imago: ${run} waits for a person, at imago watch: ${title}\n`)
    const envelope = title === undefined ? first : await made(false)
    const { text } = await client.request('show', { tool, envelope })
    const outcome = envelope.ok ? (isRunning(envelope.result) ? 'running' : 'ok') : envelope.error.code
    return { type: 'ended', outcome, text: marked(id, text) }
  }

  return {
    listed: syntax === undefined ? described(registry, profile).map(functionTool) : [],
    isSafe,
    call: callOnce,
    ...(syntax && { read: text => callsInText(text, { syntax: SYNTAXES[syntax], registry }) }),
  }
}

/** Of a question that waits; undefined for any other answer. */
const heldTitle = (envelope: Envelope): string | undefined =>
  !envelope.ok && envelope.error.code === 'approval_held' ? String(envelope.error.details.title) : undefined

/** What the call comes to, unless the person here leaves its question to others. Ctrl-C cancels it instead, with the run. */
function orLeft(
  made: Promise<Envelope>,
  {
    tool,
    left,
    signal,
  }: { readonly tool: string; readonly left: AbortSignal | undefined; readonly signal: AbortSignal },
): Promise<Envelope> {
  if (left === undefined) return made
  const leaves = new Promise<Envelope>(resolve => {
    const error = toolError('approval_held', { message: 'The question was left.', details: { title: tool } })
    left.addEventListener('abort', () => signal.aborted || resolve({ ok: false, error }), { once: true })
  })
  return Promise.race([made, leaves])
}

const described = (registry: Registry, profile: Profile) =>
  registry.list(profile).map(tool => describeTool({ registry, tool }))

const functionTool = ({ tool, description, schema }: ReturnType<typeof describeTool>) => ({
  type: 'function' as const,
  name: tool.name,
  description,
  inputSchema: schema,
})

/** A line for each program of the project, and each that could be joined. */
async function programsOf(client: DaemonClient, root: string): Promise<string[]> {
  const { kernels, announced } = await client.request('kernels', {})
  const own = kernels.filter(one => one.root === root && one.state !== 'ended')
  const joins = announced.filter(({ cwd }) => cwd === root || cwd.startsWith(`${root}/`))
  return [
    ...own.map(({ name, language }) => `${name} (${language})`),
    ...joins.map(({ name, language }) => `${name} (${language}), which the first call joins`),
  ].map(oneLine)
}

const INSTRUCTION_BYTES = 32 * 1024

function instructionsIn(root: string, printer: Printer): string | undefined {
  try {
    const path = realpathSync(join(root, 'AGENTS.md'))
    if (!isWithin(path, realOf(root))) throw new Error('it leads out of the project.')
    return readBounded(path, { most: INSTRUCTION_BYTES }).toString('utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    printer.err(`imago: AGENTS.md is not used: ${messageOf(error)}\n`)
    return undefined
  }
}
