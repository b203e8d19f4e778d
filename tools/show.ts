import type { Raised } from '../wire/kernel.ts'
import type { Tool } from './define.ts'
import { type PrintedOutput, showDiagnosed, showPrinted } from './execution.ts'
import { isGroupAnswer, type MemberAnswer, showMembers } from './group.ts'
import { showRunning } from './job.ts'
import { type Envelope, isRunning, type ToolError } from './outcome.ts'
import { isRecord } from './record.ts'
import {
  isSuspendedDetails,
  restartChoices,
  type SuspendedDetails,
  suspensionLine,
  withoutRestarts,
} from './suspension-text.ts'
import {
  exceptionLine,
  frameLine,
  indent,
  oneLine,
  programFrame,
  reportOf,
  reportSetIn,
  restartLines,
  setIn,
} from './text.ts'

/** An answer as the text that a model, or a person at a terminal, reads. Code in it is not escaped. */
export function showEnvelope(envelope: Envelope, tool: Tool | undefined): string {
  // What was cut to fit can have lost the form that its tool knows; it is shown all the same.
  try {
    if (!envelope.ok) return showError(envelope.error)
    const { result } = envelope
    return [showResult(result, tool), ...noticeOf(result), ...showEdits(result)].join('\n')
  } catch {
    return envelope.ok ? asData(envelope.result) : plainError(envelope.error)
  }
}

/** What the call path has to say besides the tool's own result. */
function noticeOf(told: unknown): string[] {
  const notice = typeof told === 'object' && told !== null && 'notice' in told ? told.notice : undefined
  return typeof notice === 'string' ? [`notice: ${notice}`] : []
}

export function showResult(result: unknown, tool: Tool | undefined): string {
  if (isRunning(result)) return showRunning(result)
  if (isGroupAnswer(result)) return showMembers(result.members.map(one => textOf(one, tool)))
  const own = hasApprovalNote(result) && 'result' in result && isOnlyResult(result) ? result.result : result
  return tool?.show(own) ?? asData(own)
}

const textOf = (member: MemberAnswer, tool: Tool | undefined) => ({
  kernel: member.kernel,
  ok: member.ok,
  text: showEnvelope(member, tool),
})

/** Something else was done than was asked for, by what a person said. */
interface ApprovalNote {
  readonly approval: string
  /** What a person put in place of the arguments that they changed. */
  readonly edited?: object
}

function hasApprovalNote(told: unknown): told is ApprovalNote {
  if (typeof told !== 'object' || told === null || !('approval' in told)) return false
  const { approval, edited } = told as Record<string, unknown>
  return typeof approval === 'string' && ['object', 'undefined'].includes(typeof edited) && edited !== null
}

/** A result that is no object stands beside what was said. */
const isOnlyResult = (told: ApprovalNote): boolean =>
  Object.keys(told).every(name => ['result', 'approval', 'edited'].includes(name))

const withoutEdits = ({ approval: _, edited: __, ...facts }: ApprovalNote): object => facts

function showEdits(told: unknown): string[] {
  if (!hasApprovalNote(told)) return []
  const { approval, edited } = told
  return [`approval: ${approval}`, ...(edited === undefined ? [] : [`edited: ${JSON.stringify(edited)}`])]
}

function asData(result: unknown): string {
  return JSON.stringify(result, null, 2) ?? 'null'
}

/** Code, message and next step first; then the report, what the failure knows besides, and what was printed. */
export function showError({ code, message, next, details }: ToolError): string {
  const {
    exception,
    stdout = '',
    stderr = '',
    output = '',
    truncated,
    dropped,
    output_handle,
    displays,
    displays_omitted,
    diagnostics,
    diagnostics_omitted,
    suspension,
    acted_on,
    members,
    ...rest
  } = details
  const { elapsed_ms: _, notice: __, input_line: ___, ...known } = rest
  const told = {
    ...known,
    ...(suspension !== undefined && !isSuspendedDetails(suspension) && { suspension }),
    // Its message is by member already.
    ...(members !== undefined && !isGroupAnswer(details) && { members }),
  }
  const facts = unsaid(hasApprovalNote(told) ? withoutEdits(told) : told, `${message}\n${next ?? ''}`)
  const lines = [...firstLines({ code, message, next }), ...noticeOf(details), ...showEdits(details)]
  const waits = isSuspendedDetails(suspension) ? suspension : undefined
  if (typeof acted_on === 'string') lines.push(`acted on ${oneLine(acted_on)}`)
  if (waits !== undefined) lines.push(suspensionLine(waits))
  if (waits?.not_held !== undefined) lines.push(`note: ${waits.not_held}`)
  if (isRaised(exception)) lines.push(...showRaised(exception, waits))
  lines.push(
    ...showDiagnosed(
      { diagnostics, diagnostics_omitted, stdout, stderr, output } as Parameters<typeof showDiagnosed>[0],
      message,
    ),
  )
  if (facts.length > 0) lines.push(`details: ${JSON.stringify(Object.fromEntries(facts))}`)
  const text = {
    stdout,
    stderr,
    output,
    truncated,
    dropped,
    output_handle,
    displays,
    displays_omitted,
  } as PrintedOutput
  return [...lines, ...showPrinted(text)].join('\n')
}

/** The facts that the sentences above have not said. */
const unsaid = (facts: object, said: string): [name: string, value: unknown][] =>
  Object.entries(facts).filter(([, value]) => !isSaid(value, said))

/** A text that stands there, or a list of such or of records of them; nothing at all is said by silence. */
function isSaid(value: unknown, said: string): boolean {
  if (Array.isArray(value))
    return value.every(one => (isRecord(one) ? Object.values(one) : [one]).every(part => isSaid(part, said)))
  return value === null || (typeof value === 'string' && said.includes(value))
}

function firstLines({ code, message, next }: Pick<ToolError, 'code' | 'message' | 'next'>): string[] {
  // What the program says of its error may have lines that look like ours.
  const first = `${code}: ${code === 'exception' ? setIn(message) : message}`
  return next === null ? [first] : [first, `next: ${next}`]
}

function plainError(error: ToolError): string {
  return [...firstLines(error), `details: ${asData(error.details)}`].join('\n')
}

/** The report, as far as it says more than has been said; and what the program's innermost frame held. */
function showRaised(raised: Raised, waits: SuspendedDetails | undefined): string[] {
  const { frames } = raised
  // As the image wrote it: the heading of the restarts begins where the one above it ends.
  const traceback = withoutRestarts(raised.traceback.trimEnd(), waits?.restarts ?? [])
  const report = unsaidReport({ ...raised, traceback }).replace(/^\n+/, '')
  const lines = [...(report === '' ? [] : [reportSetIn(report)]), ...unsaidNotes(raised)]
  const at = programFrame(frames)
  if (at !== undefined && at.locals.length > 0) {
    lines.push(`locals of ${oneLine(frameLine(at))}:`)
    lines.push(...at.locals.map(local => indent(`${oneLine(local.name)} = ${oneLine(local.repr)}`)))
    if (at.locals_omitted > 0) lines.push(indent(`and ${at.locals_omitted} more`))
  }
  return [...lines, ...(waits === undefined ? restartLines(raised) : choices(waits))]
}

/**
 * The report without the line of the error itself, where the last one repeats what the first line of the answer says:
 * then there is no need of a heading above its frames either.
 */
function unsaidReport(raised: Raised): string {
  const report = reportOf(raised)
  const notes = (raised.notes ?? []).map(note => `\n${note}`).join('')
  const last = `\n${exceptionLine(raised)}${notes}`
  if (!report.endsWith(last)) return report
  return `${report.slice(0, -last.length)}${notes}`.replace(/^Traceback \(most recent call last\):\n/, '')
}

/** The restarts by their numbers, for those who can take one. */
const choices = ({ restarts }: SuspendedDetails): string[] =>
  restarts.length === 0 ? [] : ['restarts, for debug_restart:', ...restartChoices(restarts)]

/** What the image says of the error besides, as far as its report has not said it. */
const unsaidNotes = ({ notes = [], traceback }: Raised): string[] =>
  notes.filter(note => !traceback.includes(note)).map(note => `note: ${oneLine(note)}`)

function isRaised(value: unknown): value is Raised {
  return typeof value === 'object' && value !== null && 'traceback' in value && 'frames' in value
}
