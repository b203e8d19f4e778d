import { z } from 'zod'
import {
  LOOKS,
  type Of,
  type Shown,
  type TracedCall,
  type Tracepoint,
  type TraceQuery,
  type Traces,
  type TracesQuery,
} from '../wire/kernel.ts'
import type { KernelContext, LookContext } from './contract.ts'
import { defineTool } from './define.ts'
import { type Told, termsOf } from './languages.ts'
import {
  ALL_TRACEPOINTS,
  aName,
  idsOf,
  isShortId,
  lookUp,
  lookUpName,
  orElsewhere,
  unfound,
  type Words,
} from './look.ts'
import { type Failed, failed, type Outcome, ok } from './outcome.ts'
import { NAME_LENGTH, NAMED_IN } from './parameters.ts'
import {
  counted,
  cutNote,
  dataTokens,
  duration,
  fitting,
  given,
  indent,
  oneLine,
  placeOf,
  typeWord,
} from './text.ts'

/** The parameter that says which tracepoint. */
const TRACEPOINT = z
  .string()
  .min(1)
  .max(200)
  .describe('Which one, as the answer that set it names it: `t1@ab12`, or `t1`.')

/** The longest that a tracepoint stays, in seconds. */
const LONGEST = 86_400

/** What `trace_function` and `untrace_function` answer with. */
const tracepointAnswer = z.object({ tracepoint: LOOKS.trace.found, next: z.string().exactOptional() })
type TracepointAnswer = Of<typeof tracepointAnswer>

export const traceFunction = defineTool({
  name: 'trace_function',
  description:
    'Record the next calls of one function in the running program: arguments, result or error, time, ' +
    'thread and caller. The function works as before, and the tracepoint ends by itself after that many ' +
    'calls or seconds. Use it to see what a function is really given, instead of adding prints to its file. ' +
    'trace_calls shows the calls; untrace_function ends it early.',
  parameters: {
    name: z
      .string()
      .min(1)
      .max(NAME_LENGTH)
      .describe('The function, such as `shop.orders.total` or `shop:total`.'),
    package: NAMED_IN,
    limit: z.int().min(1).max(1_000).default(10).describe('How many calls are recorded at most.'),
    seconds: z
      .int()
      .min(1)
      .max(LONGEST)
      .default(300)
      .describe('For how long at most, however few calls there were.'),
  },
  parameterAliases: { calls: 'limit' },
  level: 'cautious',
  profile: 'full',
  categories: ['debugging'],
  needs: ['trace'],
  result: tracepointAnswer,
  examples: [
    { args: { name: 'shop.orders.total' }, shows: 'the next ten calls of a Python function' },
    { args: { name: 'total', package: 'SHOP', limit: 3, seconds: 60 }, shows: 'three of a Lisp function' },
  ],

  preview: ({ name, package: inside, limit: calls, seconds }) => ({
    title: `Trace ${oneLine(name)}`,
    body:
      `Arguments and results of the next ${counted(calls, 'call')} of ${name}` +
      `${inside === undefined ? '' : `, read in the package ${inside},`} are recorded, ` +
      `for ${counted(seconds, 'second')} at most.`,
  }),

  async handler({ name, package: inside, limit: calls, seconds }, context) {
    const query = given<TraceQuery>({
      name,
      package: inside,
      calls,
      expires_ms: seconds * 1_000,
      who: context.who,
    })
    const words = { ...aName(context.kernel), ...A_FUNCTION }
    const set = await lookUpName({ look: 'trace', query, words }, context)
    if (set.type === 'failed') return set
    const where = context.others().length === 0 ? {} : { kernel: context.kernelName }
    const asking = JSON.stringify({ tracepoint: set.result.id, ...where })
    const next = `trace_calls ${asking} shows what was recorded by then.`
    return answerWith(set.result, { next })
  },

  show: showTracing,
})

const A_FUNCTION = {
  wanted: 'a function whose calls can be seen',
  reread: 'Name a function of the program; apropos_search finds names by a part of them.',
}

export const untraceFunction = defineTool({
  name: 'untrace_function',
  description:
    'Take a tracepoint out of the running program before its calls or its time are over. The calls that it ' +
    'has recorded are kept: trace_calls shows them.',
  parameters: { tracepoint: TRACEPOINT },
  level: 'cautious',
  profile: 'full',
  categories: ['debugging'],
  needs: ['untrace', 'traces'],
  result: tracepointAnswer,
  examples: [{ args: { tracepoint: 't1@ab12' }, shows: 'an end to it' }],

  preview: ({ tracepoint }) => ({ title: `End the tracepoint ${oneLine(tracepoint)}`, body: tracepoint }),

  async handler({ tracepoint: named }, context) {
    const meant = await tracepointMeant(named, context)
    const removed = meant.type === 'failed' ? meant : await removedOf(meant.id, context)
    return orElsewhere(removed, { given: named, look: 'traces' }, context)
  },

  show: showTracing,
})

async function removedOf(tracepoint: string, context: KernelContext): Promise<Outcome<TracepointAnswer>> {
  const words = aTracepoint(aName(context.kernel))
  const removed = await lookUp({ look: 'untrace', query: { tracepoint }, words }, context)
  return removed.type === 'failed' ? removed : answerWith(removed.result)
}

const answerWith = (
  { language, ...tracepoint }: TracepointAnswer['tracepoint'] & Told,
  more: Pick<TracepointAnswer, 'next'> = {},
): Outcome<TracepointAnswer & Told> => ok({ tracepoint, ...more, ...given({ language }) })

/** The tracepoint of that name, which may be the number alone. That there is one of a whole name is not looked at. */
async function tracepointMeant(
  named: string,
  context: LookContext & Pick<KernelContext, 'kernelName'>,
): Promise<{ readonly type: 'meant'; readonly id: string } | Failed> {
  if (!isShortId(named)) return { type: 'meant', id: named }
  const words = aTracepoint(aName(context.kernel))
  const looked = await lookUp({ look: 'traces', query: ALL_TRACEPOINTS, words }, context)
  if (looked.type === 'failed') return looked
  const ids = looked.result.tracepoints.map(({ id }) => id)
  const [id, ...more] = idsOf(named, ids)
  if (id === undefined)
    return unfound({ type: 'not_found', what: named, nearest: ids }, { jobs: context.jobs, words })
  if (more.length === 0) return { type: 'meant', id }
  return failed('invalid_args', {
    message: `tracepoint is not one alone: ${[id, ...more].join(', ')} begin so.`,
    details: { parameter: 'tracepoint' },
    next: 'Give the whole name.',
  })
}

/** How a tool speaks of a tracepoint. */
const aTracepoint = (words: Words): Words => ({
  ...words,
  parameter: 'tracepoint',
  wanted: 'a tracepoint',
  reread: 'trace_calls without arguments lists the tracepoints.',
  search: 'trace_calls without arguments lists the tracepoints.',
  absent: what => `There is no tracepoint ${oneLine(what.replace(/^tracepoint /, ''))}.`,
})

function showTracing({ tracepoint, next }: TracepointAnswer): string {
  return [...tracepointLines(tracepoint), ...(next === undefined ? [] : [`next: ${next}`])].join('\n')
}

export const traceCalls = defineTool({
  name: 'trace_calls',
  description:
    'Show the calls that a tracepoint has recorded, in the order in which they began: arguments, result or ' +
    'error, time, thread and caller, with handles that inspect accepts. Values are shown as they were then. ' +
    'Without a tracepoint it lists all there are. Runs no code. trace_function sets one.',
  parameters: {
    tracepoint: TRACEPOINT.optional().describe(
      'Which one, such as `t1@ab12`, or `t1`. Left out: a list of all; of the only one its calls.',
    ),
    from: z.int().min(1).max(1_000_000).default(1).describe('The first call that is shown.'),
    limit: z.int().min(1).max(200).default(20).describe('How many calls are shown at most.'),
  },
  level: 'safe',
  profile: 'full',
  categories: ['debugging'],
  needs: ['traces'],
  result: LOOKS.traces.found,
  examples: [
    { args: {}, shows: 'the tracepoints there are' },
    { args: { tracepoint: 't1@ab12' }, shows: 'its first calls' },
    { args: { tracepoint: 't1@ab12', from: 21 }, shows: 'the page after' },
  ],

  async handler({ tracepoint: named, from, limit: count }, context) {
    const meant = named === undefined ? undefined : await tracepointMeant(named, context)
    const ask = (tracepoint?: string) => tracesOf(given<TracesQuery>({ tracepoint, from, count }), context)
    let found = meant?.type === 'failed' ? meant : await ask(meant?.id)
    const [only, ...more] = meant === undefined && found.type === 'ok' ? found.result.tracepoints : []
    if (only !== undefined && more.length === 0) found = await ask(only.id)
    return orElsewhere(found, { given: named, look: 'traces' }, context)
  },

  show: showTraces,
})

async function tracesOf(query: TracesQuery, context: KernelContext): Promise<Outcome<Traces & Told>> {
  const words = aTracepoint(aName(context.kernel))
  const looked = await lookUp({ look: 'traces', query, words }, context)
  if (looked.type === 'failed') return looked
  const { calls: found, next } = looked.result
  const calls = fitting(found, dataTokens)
  const last = calls.at(-1)
  const cut = calls.length < found.length && last !== undefined
  return ok<Traces & Told>({ ...looked.result, calls, next: cut ? last.number + 1 : next })
}

function showTraces(traces: Traces & Told): string {
  const { tracepoints, calls, next } = traces
  if (tracepoints.length === 0) return 'no tracepoints; trace_function sets one'
  const [only, ...more] = tracepoints
  if (only === undefined || more.length > 0) return listOf(tracepoints).join('\n')
  const lines = [...tracepointLines(only), ...calls.flatMap(call => tracedLines(call, traces))]
  if (next !== null) lines.push(`for more: from ${next}`)
  return lines.join('\n')
}

/** All of them, a line each, and what is to be known of them once. */
function listOf(tracepoints: readonly Tracepoint[]): string[] {
  const notes = new Set(tracepoints.flatMap(tracepoint => tracepoint.notes))
  return [...tracepoints.map(tracepointLine), ...[...notes].map(noteLine)]
}

/** One line of a tracepoint, and its notes. */
function tracepointLines(tracepoint: Tracepoint): string[] {
  return [tracepointLine(tracepoint), ...tracepoint.notes.map(noteLine)]
}

/** `t1@ab12 shop.total: on, 3 calls of 10 so far; ends in 5 min at the latest (by sys.monitoring, for claude-code)` */
export function tracepointLine(tracepoint: Tracepoint): string {
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
      return seen === 0
        ? 'its time is over, and nothing has called it; it is out of the program'
        : `its time is over, ${calls}; it is out of the program`
    case 'removed':
      return `removed, ${calls}`
    default:
      return state satisfies never
  }
}

/** What can be read of one call of an answer that tells of one tracepoint. */
export const tracedLines = (call: TracedCall, traces: Traces & Told): string[] =>
  callLines(call, { name: traces.tracepoints[0]?.name ?? '', told: traces })

/** `#1 total(order=<Order>) → 3, 2 ms`, set in as deep as it was called, and below it where and when that was. */
function callLines(
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
