import type { Envelope } from '../../tools/outcome.ts'

/** What tools say of debugging, which they say to models, as a person at the console can do it. */

const COMMANDS: readonly (readonly [RegExp, string])[] = [
  [/\b(?:Correct the arguments and )?call (debug_\w+|trace_\w+) again\b/g, 'try $1 again'],
  [/\bdebug_(?:state|frame) \{"suspension":"([^"]+)"[^}]*\}/g, ':debug $1'],
  [/\btrace_calls \{"tracepoint":"([^"]+)"[^}]*\}/g, ':calls $1'],
  [/\b(debug_state|trace_calls) without arguments\b/g, '$1'],
  [/\b(?:debug_restart )?\{"restart_frame":(\d+)\}/g, ':again $1'],
  [/\bdebug_state\b/g, ':debug'],
  [/\bdebug_frame\b/g, ':frame'],
  [/\bdebug_eval\b/g, ':in'],
  [/\bdebug_restart\b/g, ':resume'],
  [/\btrace_function\b/g, ':trace'],
  [/\buntrace_function\b/g, ':untrace'],
  [/\btrace_calls\b/g, ':calls'],
  [/\breturn_from\b/g, ':return'],
  [/\brestart_frame\b/g, ':again'],
  [/\bget_last_error\b/g, ':get_last_error'],
  [/\b(or|use) leave\b/g, '$1 :leave'],
  [/^leave gives it up/, ':leave gives it up'],
]

/** The same with commands of the console in place of tools. */
export const inCommands = (text: string): string =>
  COMMANDS.reduce((said, [tool, command]) => said.replace(tool, command), text)

/** An answer of a tool for debugging, whose own sentences name commands; what code has printed or raised is as it was. */
export function forPerson(envelope: Envelope): Envelope {
  if (envelope.ok) {
    const next: unknown = Reflect.get(Object(envelope.result), 'next')
    return typeof next === 'string'
      ? { ok: true, result: { ...(envelope.result as object), next: inCommands(next) } }
      : envelope
  }
  const { error } = envelope
  if (error.code === 'exception') return envelope
  const next = error.code === 'held_by_other' ? takeIt(error.details) : error.next && inCommands(error.next)
  // Other messages may quote the program.
  const message = error.code === 'invalid_args' ? inCommands(error.message) : error.message
  return { ok: false, error: { ...error, message, next } }
}

/** Said to the one who can. */
function takeIt({ suspension }: Readonly<Record<string, unknown>>): string {
  const id = typeof suspension === 'string' ? suspension : 'ID'
  return `:take ${id} takes it over. Anybody may look: :debug ${id}.`
}
