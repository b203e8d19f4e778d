import { text as readAll } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { ownTool, permissionPrompt } from '../../../tools/index.ts'
import type { Envelope } from '../../../tools/outcome.ts'
import { messageOf } from '../../../wire/errors.ts'
import { EXIT, type ExitCode, Failure } from '../../failure.ts'
import { findRoot } from '../../paths.ts'
import { escapeJson } from '../../text/escape.ts'
import { connectDaemon } from '../client.ts'
import type { CommandInput } from '../command.ts'
import { SESSION, sessionRun } from '../operations/calls.ts'

/** What Claude Code tells a hook before it uses a tool. https://code.claude.com/docs/en/hooks#pretooluse */
const EVENT = z.object({
  hook_event_name: z.literal('PreToolUse'),
  session_id: z.string().regex(SESSION),
  cwd: z.string().min(1),
  tool_name: z.string().min(1).max(256),
  tool_input: z.record(z.string(), z.unknown()),
  tool_use_id: z.string().regex(/^[\w-]{1,60}$/),
  /** Of a subagent. */
  agent_id: z.string().optional(),
})

/** Below the minute after which Claude Code ends a hook, in seconds. */
const PATIENCE = 50

interface HookAnswer {
  readonly permissionDecision: 'allow' | 'deny' | 'ask' | 'defer'
  readonly permissionDecisionReason: string
  readonly updatedInput?: Readonly<Record<string, unknown>>
}

/**
 * `imago hook claude-code`: puts a call of the host's own tools before a person. Where they have not answered in time, the
 * host is told to put the call off: its session ends, the question is held, and the same call is answered at once where
 * the session goes on. A subagent's is denied instead. What cannot be asked is left to the host's own dialog, as is what
 * nobody answers where the host has one: it puts nothing off then, and the question would be left behind.
 */
export async function hook({ operands: [host], options, printer }: CommandInput): Promise<ExitCode> {
  if (host !== 'claude-code')
    throw new Failure(`There is no hook for ${host}. There is one for: claude-code.`, { exit: EXIT.usage })
  const seconds = options.patience === undefined ? PATIENCE : Number(options.patience)
  if (!Number.isFinite(seconds) || seconds < 0)
    throw new Failure(`--patience takes a number of seconds, not ${options.patience}.`, { exit: EXIT.usage })
  const answer = await answered(await readAll(process.stdin), seconds * 1_000)
  if (answer === undefined) return EXIT.done
  const said = { hookSpecificOutput: { hookEventName: 'PreToolUse', ...answer } }
  printer.out(`${escapeJson(JSON.stringify(said))}\n`)
  return EXIT.done
}

/** Undefined where our own gate asks: the tool is one of ours. */
async function answered(text: string, patienceMs: number): Promise<HookAnswer | undefined> {
  try {
    const event = EVENT.parse(JSON.parse(text))
    if (ownTool(event.tool_name) !== undefined) return undefined
    const args = { tool_name: event.tool_name, input: event.tool_input, tool_use_id: event.tool_use_id }
    const root = findRoot(process.env.CLAUDE_PROJECT_DIR || event.cwd)
    await using client = await connectDaemon({ name: 'claude-code (hook)', start: 'if-needed', root })
    const call = `claude-code.${event.session_id}.${event.tool_use_id}`
    const named = { tool: permissionPrompt.name, args, call }
    const hasDialog = !/^(sdk|$)/.test(process.env.CLAUDE_CODE_ENTRYPOINT ?? '')
    if (hasDialog || event.agent_id !== undefined) {
      const envelope = await client.call({ ...named, signal: AbortSignal.timeout(patienceMs) })
      return isUnanswered(envelope)
        ? { permissionDecision: hasDialog ? 'ask' : 'deny', permissionDecisionReason: UNANSWERED }
        : decided(envelope, args)
    }
    const run = sessionRun(event.session_id)
    const asks = (leave: boolean) => client.call({ ...named, held: { leave, run } })
    // An answer from before is there at once, however little patience there is.
    const first = await asks(true)
    if (!isHeld(first)) return decided(first, args)
    const { ANTHROPIC_API_KEY: value } = process.env
    if (value) await client.request('keep_key', { run, variable: 'ANTHROPIC_API_KEY', value })
    const over = new AbortController()
    const envelope = await Promise.race([
      asks(false),
      sleep(patienceMs, undefined, { signal: over.signal }),
    ]).finally(() => over.abort())
    return envelope === undefined || isHeld(envelope) ? LATER : decided(envelope, args)
  } catch (error) {
    return { permissionDecision: 'ask', permissionDecisionReason: `imago could not ask: ${messageOf(error)}` }
  }
}

const LATER: HookAnswer = {
  permissionDecision: 'defer',
  permissionDecisionReason:
    'It waits for a person, at imago watch. Go on with the session once they have answered.',
}

const UNANSWERED = 'Nobody has answered at imago watch, and the call cannot wait there. Nothing has run.'

const isHeld = (envelope: Envelope): boolean => !envelope.ok && envelope.error.code === 'approval_held'

const isUnanswered = (envelope: Envelope): boolean =>
  !envelope.ok && /^(withdrawn|approval_(unavailable|timed_out|dismissed))$/.test(envelope.error.code)

const DECISION = z.discriminatedUnion('behavior', [
  z.object({ behavior: z.literal('allow'), updatedInput: z.record(z.string(), z.unknown()) }),
  z.object({ behavior: z.literal('deny'), message: z.string() }),
])

function decided(envelope: Envelope, args: Readonly<Record<string, unknown>>): HookAnswer {
  const decision = DECISION.parse(permissionPrompt.forHost?.(envelope, args))
  return decision.behavior === 'allow'
    ? {
        permissionDecision: 'allow',
        permissionDecisionReason: 'A person allowed it, at imago watch.',
        updatedInput: decision.updatedInput,
      }
    : { permissionDecision: 'deny', permissionDecisionReason: decision.message }
}
