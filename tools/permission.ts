import { z } from 'zod'
import { defineTool } from './define.ts'
import { wholeDiff } from './diff.ts'
import { ok, type ToolError } from './outcome.ts'
import { isRecord } from './record.ts'
import { beginning, oneLine } from './text.ts'

/** The one of those tools that Claude Code names so; undefined for any other. Our server is known to it as `imago`. */
export function ownToolAmong(own: ReadonlySet<string>, name: string): string | undefined {
  const [, tool = ''] = /^mcp__(?:plugin_imago_)?imago__(\w+)$/.exec(name) ?? []
  return own.has(tool) ? tool : undefined
}

const INPUT = z.record(z.string(), z.unknown())

/** What is seen of a call of the host's own tools is that it was allowed. The host does it. `own`: all other tools of ours. */
export const permissionPromptBeside = (own: ReadonlySet<string>) =>
  defineTool({
    name: 'permission_prompt',
    description:
      'For the host of a model, never for the model: a person is shown a call of one of the tools of the host, such ' +
      'as a shell command or an edit, and allows or denies it. Claude Code asks here if it was started with ' +
      '--permission-prompt-tool mcp__imago__permission_prompt.',
    parameters: {
      tool_name: z.string().min(1).max(256).describe('The tool, as the host names it.'),
      input: INPUT.describe('The arguments of the tool.'),
      tool_use_id: z.string().max(256).describe('The call, as the host names it.').optional(),
    },
    // A tool of Imago asks by itself when it is called.
    level: 'cautious',
    raise: ({ tool_name }) => (ownToolAmong(own, tool_name) === undefined ? 'dangerous' : 'cautious'),
    profile: 'desk',
    categories: ['approvals'],
    needs: [],
    result: z.object({ allowed: z.literal(true) }),
    examples: [
      {
        args: { tool_name: 'Bash', input: { command: 'pytest -q' } },
        shows: 'a command that the host is about to run',
      },
    ],

    preview: ({ tool_name, input }) => ({
      title: `Allow ${oneLine(tool_name)}${about(input)}`,
      body: [
        `The client does this by itself if it is allowed: the tool ${oneLine(tool_name)} with`,
        '',
        ...membersOf(input),
        '',
      ].join('\n'),
    }),
    handler: () => ok({ allowed: true } as const),
    forHost: (envelope, { tool_name, input }) =>
      envelope.ok
        ? decisionFrom(envelope.result, INPUT.safeParse(input).data)
        : denied(`${oneLine(String(tool_name))} was not allowed. ${reasonIn(envelope.error)}`),
  })

const TITLE_CHARS = 80

/** The first text among the arguments, which is the command or the file for most tools. */
function about(input: Readonly<Record<string, unknown>>): string {
  const first = Object.values(input).find(value => typeof value === 'string')
  if (first === undefined) return ''
  const text = oneLine(first)
  return `: ${text.length > TITLE_CHARS ? `${beginning(text, TITLE_CHARS)}…` : text}`
}

/** All members of an object, each under its name. An old text and the new one beside it are a difference. */
function membersOf(object: Readonly<Record<string, unknown>>): string[] {
  const { old_string: before, new_string: after, ...others } = object
  if (typeof before !== 'string' || typeof after !== 'string')
    return Object.entries(object).flatMap(([name, value]) => shownAs(name, value))
  return [...membersOf(others), ...set('old_string (-) and new_string (+)', wholeDiff(before, after))]
}

/** Nothing in a text reads as a name: what has several lines is set in below it. */
function shownAs(name: string, value: unknown): string[] {
  const label = /^\w+$/.test(name) ? name : JSON.stringify(name)
  if (typeof value === 'string' && value.includes('\n')) return set(label, value.split('\n'))
  if (typeof value === 'string' && value !== '') return [`${label}: ${value}`]
  if (isRecord(value) && Object.keys(value).length > 0) return set(label, membersOf(value))
  if (Array.isArray(value) && value.length > 0)
    return set(
      label,
      value.flatMap((item, at) => shownAs(String(at + 1), item)),
    )
  return [`${label}: ${JSON.stringify(value) ?? 'null'}`]
}

const set = (label: string, lines: readonly string[]) => [`${label}:`, ...lines.map(line => `    ${line}`)]

type PermissionDecision =
  | { readonly behavior: 'allow'; readonly updatedInput: Readonly<Record<string, unknown>> }
  | { readonly behavior: 'deny'; readonly message: string }

const denied = (message: string): PermissionDecision => ({ behavior: 'deny', message })

/** No rule is named where nobody can be asked: the rule would let through all that the host does. */
function reasonIn({ code, message, next }: ToolError): string {
  const reason = code === 'approval_unavailable' ? NOBODY : message
  return [reason, next].filter(Boolean).join(' ')
}

const NOBODY =
  'Nobody can be asked, and nothing ran. A person who takes a seat (imago watch, in a terminal) is asked when the call ' +
  'is made again.'

/** Allowed is what a person saw, or what they have put in its place. */
function decisionFrom(
  result: unknown,
  input: Readonly<Record<string, unknown>> | undefined,
): PermissionDecision {
  const { allowed, edited = {}, truncated } = isRecord(result) ? result : {}
  const { input: updated = input, ...others } = isRecord(edited) ? edited : {}
  const isWhole = truncated !== true && Object.keys(others).length === 0
  return allowed === true && isWhole && isRecord(updated)
    ? { behavior: 'allow', updatedInput: updated }
    : denied(UNUSABLE)
}

const UNUSABLE =
  'What a person answered cannot be handed on: they changed more than the input, or made it too long. Nothing ran. ' +
  'Tell them, and make the call again.'
