import type { Shown, TracedCall, Tracepoint } from '../wire/kernel.ts'
import { type Told, termsOf } from './languages.ts'
import { counted, placeOf } from './naming.ts'
import { cutNote, duration, indent, oneLine, typeWord } from './wording.ts'

/** Tracepoints and what they took down as text: calls as their language writes them. */

/** What `trace_function` and `untrace_function` answer with. */
export interface Tracing {
  readonly tracepoint: Tracepoint
  readonly next?: string
}

/** All of them, a line each, and what is to be known of them once. */
export function listOf(tracepoints: readonly Tracepoint[]): string[] {
  const notes = new Set(tracepoints.flatMap(tracepoint => tracepoint.notes))
  return [...tracepoints.map(tracepointLine), ...[...notes].map(noteLine)]
}

/** `t1@ab12 shop.total: 3 of 10 calls so far, by sys.monitoring, for claude-code; ends in 5 min` and its notes. */
export function tracepointLines(tracepoint: Tracepoint): string[] {
  return [tracepointLine(tracepoint), ...tracepoint.notes.map(noteLine)]
}

function tracepointLine(tracepoint: Tracepoint): string {
  const { id, name, who, by } = tracepoint
  return `${oneLine(id)} ${oneLine(name)}: ${stateOf(tracepoint)} (by ${oneLine(by)}, for ${oneLine(who)})`
}

const noteLine = (note: string): string => indent(`note: ${oneLine(note)}`)

function stateOf({ state, seen, wanted, expires_in_ms }: Tracepoint): string {
  const calls = `${counted(seen, 'call')} of ${wanted}`
  switch (state) {
    case 'on':
      return `on, ${calls} so far${expires_in_ms === null ? '' : `; ends in ${duration(expires_in_ms)} at the latest`}`
    case 'full':
      return `full, ${calls}; it is out of the program`
    case 'expired':
      return `its time is over, ${calls}; it is out of the program`
    case 'removed':
      return `removed, ${calls}`
    default:
      return state satisfies never
  }
}

/** `#1 total(order=<Order>) → 3, 2 ms`, set in as deep as it was called, and below it where and when that was. */
export function callLines(
  call: TracedCall,
  { name, told }: { readonly name: string; readonly told: Told },
): string[] {
  const { number, at, thread, depth, caller, elapsed_ms } = call
  const took = elapsed_ms === null ? '' : `, ${shortly(elapsed_ms)}`
  const place = caller === null ? '' : placeOf(caller)
  const from = caller === null ? '' : `, from ${oneLine(caller.function)}${place === '' ? '' : ` (${place})`}`
  const lines = [
    `#${number} ${written(call, { name, told })} ${ended(call)}${took}`,
    indent(`${at}, thread ${JSON.stringify(thread)}${from}`),
    ...handleLines(call),
  ]
  return lines.map(line => `${'  '.repeat(Math.min(depth, 20))}${line}`)
}

/** Most calls take less than a millisecond. */
const shortly = (ms: number): string => (ms < 1 ? `${Math.max(1, Math.round(ms * 1_000))} µs` : duration(ms))

/** `(shop::total #<ORDER>)` in Lisp, `total(order=<Order>)` elsewhere. */
function written(
  { arguments: given, arguments_omitted }: TracedCall,
  { name, told }: { readonly name: string; readonly told: Told },
): string {
  const texts = given.map(one => ({ name: oneLine(one.name), text: valueText(one.value) }))
  const more = arguments_omitted === 0 ? '' : ` and ${counted(arguments_omitted, 'more argument')}`
  return `${termsOf(told).call(oneLine(name), texts)}${more}`
}

function ended({ outcome }: TracedCall): string {
  switch (outcome.type) {
    case 'running':
      return 'has not returned yet'
    case 'returned':
      return outcome.values.length === 0 ? '→ no value' : `→ ${outcome.values.map(valueText).join(', ')}`
    case 'raised': {
      const { type, message } = outcome.exception
      return `raised ${oneLine(message === '' ? typeWord(type) : `${typeWord(type)}: ${message}`)}`
    }
    case 'left':
      return 'was left without a value'
    default:
      return outcome satisfies never
  }
}

const valueText = ({ repr }: Shown): string =>
  `${oneLine(repr.text)}${repr.truncated ? ` (${cutNote(repr)})` : ''}`

/** `inspect: order @ab12.3, result @ab12.4` */
function handleLines({ arguments: given, outcome }: TracedCall): string[] {
  const results = outcome.type === 'returned' ? outcome.values : []
  const handles = [
    ...given.flatMap(({ name, value }) =>
      value.handle === undefined ? [] : [`${oneLine(name)} ${value.handle}`],
    ),
    ...results.flatMap(({ handle }) => (handle === undefined ? [] : [`result ${handle}`])),
  ]
  return handles.length === 0 ? [] : [indent(`inspect: ${handles.join(', ')}`)]
}
