import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import pTimeout from 'p-timeout'
import { ownTool } from '../../../tools/index.ts'
import { isRecord } from '../../../tools/record.ts'
import { daemonEnvironment } from '../../environment.ts'
import { EXIT, Failure } from '../../failure.ts'
import { LineSplitter } from '../../journal/entries.ts'
import { findRoot, PROGRAM } from '../../paths.ts'
import { connectDaemon } from '../client.ts'
import type { CommandInput } from '../command.ts'
import { exitOf, NotBegun } from './run.ts'

/** How long an agent may take to end by itself once its client has gone, and to heed a signal, in ms. */
const GRACE_MS = 2_000

/** How often it is looked whether processes of the agent have ended, in ms. */
const LOOK_MS = 50

const SIGNALS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT']

/**
 * `imago acp -- AGENT`: carries lines between an ACP client and an agent, whose exit code is its own. Each session is given the
 * MCP server of Imago, and all other lines pass as they are, but for questions that our gate asks as well. The agent ends
 * with its client, and so does what it has started.
 */
export async function acp({ rest, printer }: CommandInput): Promise<number> {
  const [command, ...args] = rest
  if (command === undefined)
    throw new Failure('Say which agent: imago acp -- AGENT [ARGS]', { exit: EXIT.usage })
  // A process group of its own: what it has started can be ended with it.
  const agent = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'], detached: true })
  const exit = exitOf(command, agent)
  const end = (signal?: NodeJS.Signals) => void endGroup(agent, signal)
  for (const signal of SIGNALS) process.on(signal, end)
  const sessions = new Sessions(answer => void agent.stdin.write(answer))
  const clientGone = async () => {
    agent.stdin.end()
    await sleep(GRACE_MS, undefined, { ref: false })
    end()
  }
  agent.stdin.on('error', () => {})
  process.stdout.on('error', clientGone)
  void carry(process.stdin, agent.stdin, async line => sessions.fromClient(line)).then(clientGone, clientGone)
  const told = carry(agent.stdout, process.stdout, line => sessions.fromAgent(line)).catch(clientGone)
  try {
    const code = await exit
    await endGroup(agent)
    // Only a process that has left the group can hold its output open.
    await pTimeout(told, { milliseconds: GRACE_MS, fallback: () => {} })
    return code
  } catch (error) {
    if (!(error instanceof NotBegun)) throw error
    printer.err(`imago acp: ${error.message}\n`)
    return error.exit
  } finally {
    for (const signal of SIGNALS) process.off(signal, end)
  }
}

/** Ends all processes of the agent's group: asks them first. */
async function endGroup({ pid }: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  if (pid === undefined || !signalled(pid, signal)) return
  for (let waited = 0; waited < GRACE_MS; waited += LOOK_MS) {
    await sleep(LOOK_MS)
    if (!signalled(pid, 0)) return
  }
  signalled(pid, 'SIGKILL')
}

/** Whether a process of the group was there to get it. */
function signalled(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, signal)
  } catch {
    return false
  }
}

/** Each line as `change` has it, no faster than its reader; one that it answers with nothing is left out. */
async function carry(
  from: Readable,
  to: Writable,
  change: (line: Buffer) => Promise<Buffer | string | undefined>,
): Promise<void> {
  const lines = new LineSplitter()
  for await (const chunk of from)
    for (const line of lines.push(chunk)) {
      const changed = await change(line)
      if (changed === undefined) continue
      to.write(changed)
      if (!to.write('\n')) await once(to, 'drain')
    }
  to.write(lines.rest)
}

/** A request of the client that opens a session. */
const OPENS = /^session\/(new|load|resume|fork)$/

const SERVER = 'imago'

/** Calls of our tools that are remembered until they are asked about. */
const MOST_CALLS = 1_000

/** The sessions of one agent, as far as they were given our server. */
class Sessions {
  readonly #answer: (line: string) => void
  /** By the id of the request that opens it. */
  readonly #opening = new Map<string, { readonly cwd: string; readonly session: unknown }>()
  /** The folders of those that are open. */
  readonly #cwds = new Map<unknown, string>()
  /** The name of the tool, by session and call: a question about a call may leave it out. */
  readonly #calls = new Map<string, string>()

  /** `answer`: takes a line for the agent. */
  constructor(answer: (line: string) => void) {
    this.#answer = answer
  }

  /** A session that has a server of that name already is left as it is. */
  fromClient(line: Buffer): Buffer | string {
    const { id, method, params, ...message } = messageIn(line)
    if (typeof method !== 'string' || !OPENS.test(method) || !isRecord(params)) return line
    const { cwd = process.cwd(), mcpServers, sessionId } = params
    const servers: readonly unknown[] = Array.isArray(mcpServers) ? mcpServers : []
    this.#cwds.delete(sessionId)
    if (typeof cwd !== 'string' || servers.some(one => isRecord(one) && one.name === SERVER)) return line
    this.#opening.set(JSON.stringify(id), { cwd, session: sessionId })
    const given = { ...params, mcpServers: [...servers, serverFor(cwd)] }
    return JSON.stringify({ ...message, id, method, params: given })
  }

  async fromAgent(line: Buffer): Promise<Buffer | undefined> {
    const { id, method, params, result } = messageIn(line)
    if (method === undefined) this.#opened(JSON.stringify(id), result)
    if (!isRecord(params)) return line
    if (method === 'session/update') this.#noteCall(params)
    const option = method === 'session/request_permission' ? await this.#optionFor(params) : undefined
    if (option === undefined) return line
    const outcome = { outcome: 'selected', optionId: option }
    this.#answer(`${JSON.stringify({ jsonrpc: '2.0', id, result: { outcome } })}\n`)
    return undefined
  }

  #opened(request: string, result: unknown): void {
    const opening = this.#opening.get(request)
    if (opening === undefined) return
    this.#opening.delete(request)
    if (isRecord(result)) this.#cwds.set(result.sessionId ?? opening.session, opening.cwd)
  }

  #noteCall({ sessionId, update }: Readonly<Record<string, unknown>>): void {
    const name = toolName(update)
    if (!isRecord(update) || name === undefined) return
    this.#calls.set(callKey(sessionId, update), name)
    const [oldest = ''] = this.#calls.keys()
    if (this.#calls.size > MOST_CALLS) this.#calls.delete(oldest)
  }

  /**
   * The answer to a question about a tool of ours about which our gate asks too, or which only looks. Undefined for all
   * others, which the person at the client answers. By the name that the agent gives the tool, never by the title, in
   * which a model can write what it likes.
   */
  async #optionFor(params: Readonly<Record<string, unknown>>): Promise<string | undefined> {
    const { sessionId, toolCall, options } = params
    const cwd = this.#cwds.get(sessionId)
    if (cwd === undefined || !isRecord(toolCall) || !Array.isArray(options)) return undefined
    const tool = ownTool(toolName(toolCall) ?? this.#calls.get(callKey(sessionId, toolCall)) ?? '')
    const allows: unknown = options.find(one => isRecord(one) && one.kind === 'allow_once')
    const option = isRecord(allows) ? allows.optionId : undefined
    if (tool === undefined || typeof option !== 'string' || toolCall.rawInput === undefined) return undefined
    return (await needsNoQuestion({ cwd, tool, args: toolCall.rawInput })) ? option : undefined
  }
}

const callKey = (session: unknown, { toolCallId }: Readonly<Record<string, unknown>>) =>
  JSON.stringify([session, toolCallId])

/** As the agent names it: by the field of the protocol, or as the adapter of Claude Code does. */
function toolName(call: unknown): string | undefined {
  if (!isRecord(call)) return undefined
  const { name, _meta: meta } = call
  if (typeof name === 'string') return name
  const own = isRecord(meta) && isRecord(meta.claudeCode) ? meta.claudeCode.toolName : undefined
  return typeof own === 'string' ? own : undefined
}

/** How long the daemon may take to say what its gate would do, in ms. */
const CHECK_MS = 2_000

/** Whether our gate asks about that call, forbids it, or only looks. */
async function needsNoQuestion(call: { cwd: string; tool: string; args: unknown }): Promise<boolean> {
  const check = async () => {
    const root = findRoot(call.cwd)
    await using client = await connectDaemon({ name: 'imago acp', start: 'never', root, terminal: false })
    const checked = await client.request('check_policy', { tool: call.tool, args: call.args })
    if (!checked.ok || !isRecord(checked.result)) return false
    const { level, decision } = checked.result
    return level === 'safe' || decision === 'ask' || decision === 'deny'
  }
  return pTimeout(check(), { milliseconds: CHECK_MS }).catch(() => false)
}

function serverFor(cwd: string) {
  const env = Object.entries(daemonEnvironment(process.env)).map(([name, value]) => ({ name, value }))
  return { name: SERVER, command: process.execPath, args: [PROGRAM, 'mcp', '--root', cwd], env }
}

/** What is no object, or no JSON, is nobody's message here, and passes as it is. */
function messageIn(line: Buffer): Readonly<Record<string, unknown>> {
  try {
    const message: unknown = JSON.parse(line.toString('utf8'))
    return isRecord(message) ? message : {}
  } catch {
    return {}
  }
}
