import { z } from 'zod'
import type { TraceQuery } from '../wire/kernel.ts'
import { defineTool } from './define.ts'
import { aName, lookUp, lookUpName, type Words } from './looked.ts'
import { counted, given, NAME_LENGTH, NAMED_IN } from './naming.ts'
import { type Failed, failed, ok } from './outcome.ts'
import { type Tracing, tracepointLines } from './traces-text.ts'
import { oneLine } from './wording.ts'

/** The longest that a tracepoint stays, in seconds. */
const LONGEST = 86_400

export const traceFunction = defineTool({
  name: 'trace_function',
  description:
    'Take down the next calls of one function as the running program makes them: arguments, result or error, time, ' +
    'thread and caller. The function does what it did before; the tracepoint is out of the program by itself after ' +
    'that many calls or seconds. Use it to see what a function is really given, instead of adding prints to its ' +
    'file. trace_calls shows what was taken down; `remove` ends it early. To see where the program stands now use ' +
    'threads.',
  parameters: {
    name: z
      .string()
      .min(1)
      .max(NAME_LENGTH)
      .optional()
      .describe('The function, such as `shop.orders.total` or `shop:total`.'),
    package: NAMED_IN,
    calls: z.int().min(1).max(1_000).default(10).describe('How many calls are taken down.'),
    seconds: z
      .int()
      .min(1)
      .max(LONGEST)
      .default(300)
      .describe('For how long at most, however few calls there were.'),
    remove: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe('Instead of a name: the tracepoint to take out now, such as `t1@ab12`. Its calls are kept.'),
  },
  level: 'cautious',
  profile: 'full',
  categories: ['debugging'],
  needs: ['trace', 'untrace'],
  examples: [
    { args: { name: 'shop.orders.total' }, shows: 'the next ten calls of a Python function' },
    { args: { name: 'total', package: 'SHOP', calls: 3, seconds: 60 }, shows: 'three of a Lisp function' },
    { args: { remove: 't1@ab12' }, shows: 'an end to it' },
  ],

  preview: ({ name, package: inside, calls, seconds, remove }) =>
    remove === undefined
      ? {
          title: `Trace ${oneLine(name ?? 'nothing')}`,
          body:
            `Arguments and results of the next ${counted(calls, 'call')} of ${name ?? 'nothing'}` +
            `${inside === undefined ? '' : `, read in the package ${inside},`} are taken down, ` +
            `for ${counted(seconds, 'second')} at most.`,
        }
      : { title: `End the tracepoint ${oneLine(remove)}`, body: remove },

  async handler({ name, package: inside, calls, seconds, remove }, context) {
    if ((name === undefined) === (remove === undefined)) return oneOf(name)
    if (remove !== undefined) {
      const words = aTracepoint(aName(context.kernel))
      const removed = await lookUp({ look: 'untrace', query: { tracepoint: remove }, words }, context)
      return removed.type === 'failed' ? removed : ok<Tracing>({ tracepoint: removed.result })
    }
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

const oneOf = (name: string | undefined): Failed =>
  failed('invalid_args', {
    message: `${name === undefined ? 'Neither name nor remove was given' : 'Both name and remove were given'}: name sets a tracepoint, remove takes one out. Nothing was done.`,
    next: 'Give exactly one of them.',
  })

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
