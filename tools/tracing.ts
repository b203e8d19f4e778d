import { z } from 'zod'
import type { TraceQuery } from '../wire/kernel.ts'
import { defineTool, type KernelContext } from './define.ts'
import { ALL_TRACEPOINTS, idsOf, isShortId, orElsewhere } from './ids.ts'
import { aName, type Looking, lookUp, lookUpName, unfound, type Words } from './looked.ts'
import { counted, given, NAME_LENGTH, NAMED_IN } from './naming.ts'
import { type Failed, failed, type Outcome, ok } from './outcome.ts'
import { type Tracing, tracepointLines } from './traces-text.ts'
import { oneLine } from './wording.ts'

/** The parameter that says which tracepoint. */
export const TRACEPOINT = z
  .string()
  .min(1)
  .max(200)
  .describe('Which one, as the answer that set it names it: `t1@ab12`, or `t1`.')

/** The longest that a tracepoint stays, in seconds. */
const LONGEST = 86_400

export const traceFunction = defineTool({
  name: 'trace_function',
  description:
    'Take down the next calls of one function as the running program makes them: arguments, result or error, time, ' +
    'thread and caller. The function does what it did before; the tracepoint is out of the program by itself after ' +
    'that many calls or seconds. Use it to see what a function is really given, instead of adding prints to its ' +
    'file. trace_calls shows what was taken down; untrace_function ends it early. To see where the program stands ' +
    'now use threads.',
  parameters: {
    name: z
      .string()
      .min(1)
      .max(NAME_LENGTH)
      .describe('The function, such as `shop.orders.total` or `shop:total`.'),
    package: NAMED_IN,
    calls: z.int().min(1).max(1_000).default(10).describe('How many calls are taken down.'),
    seconds: z
      .int()
      .min(1)
      .max(LONGEST)
      .default(300)
      .describe('For how long at most, however few calls there were.'),
  },
  level: 'cautious',
  profile: 'full',
  categories: ['debugging'],
  needs: ['trace'],
  examples: [
    { args: { name: 'shop.orders.total' }, shows: 'the next ten calls of a Python function' },
    { args: { name: 'total', package: 'SHOP', calls: 3, seconds: 60 }, shows: 'three of a Lisp function' },
  ],

  preview: ({ name, package: inside, calls, seconds }) => ({
    title: `Trace ${oneLine(name)}`,
    body:
      `Arguments and results of the next ${counted(calls, 'call')} of ${name}` +
      `${inside === undefined ? '' : `, read in the package ${inside},`} are taken down, ` +
      `for ${counted(seconds, 'second')} at most.`,
  }),

  async handler({ name, package: inside, calls, seconds }, context) {
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
    const next = `trace_calls ${JSON.stringify({ tracepoint: set.result.id })} shows what was taken down by then.`
    return ok<Tracing>({ tracepoint: set.result, next })
  },

  show: result => showTracing(result as Tracing),
})

const A_FUNCTION = {
  wanted: 'a function whose calls can be seen',
  reread: 'Name a function of the program; apropos_search finds names by a part of them.',
}

export const untraceFunction = defineTool({
  name: 'untrace_function',
  description:
    'Take a tracepoint out of the running program before its calls or its time are over. The function is as it was ' +
    'before, and the calls that were taken down are kept: trace_calls shows them. To set one use trace_function.',
  parameters: { tracepoint: TRACEPOINT },
  level: 'cautious',
  profile: 'full',
  categories: ['debugging'],
  needs: ['untrace', 'traces'],
  onlyLiving: true,
  examples: [{ args: { tracepoint: 't1@ab12' }, shows: 'an end to it' }],

  preview: ({ tracepoint }) => ({ title: `End the tracepoint ${oneLine(tracepoint)}`, body: tracepoint }),

  async handler({ tracepoint: named }, context) {
    const meant = await tracepointMeant(named, context)
    const removed = meant.type === 'failed' ? meant : await removedOf(meant.id, context)
    return orElsewhere(removed, { given: named, look: 'traces' }, context)
  },

  show: result => showTracing(result as Tracing),
})

async function removedOf(tracepoint: string, context: KernelContext): Promise<Outcome<Tracing>> {
  const words = aTracepoint(aName(context.kernel))
  const removed = await lookUp({ look: 'untrace', query: { tracepoint }, words }, context)
  return removed.type === 'failed' ? removed : ok<Tracing>({ tracepoint: removed.result })
}

/** The tracepoint of that name, which may be the number alone. That there is one of a whole name is not looked at. */
export async function tracepointMeant(
  named: string,
  context: Looking & Pick<KernelContext, 'kernelName'>,
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
export const aTracepoint = (words: Words): Words => ({
  ...words,
  parameter: 'tracepoint',
  wanted: 'a tracepoint',
  reread: 'trace_calls without arguments lists the tracepoints.',
  search: 'trace_calls without arguments lists the tracepoints.',
  absent: what => `There is no tracepoint ${oneLine(what.replace(/^tracepoint /, ''))}.`,
})

function showTracing({ tracepoint, next }: Tracing): string {
  return [...tracepointLines(tracepoint), ...(next === undefined ? [] : [`next: ${next}`])].join('\n')
}
