import { z } from 'zod'
import type { Traces, TracesQuery } from '../wire/kernel.ts'
import { defineTool, type KernelContext } from './define.ts'
import { dataSize, fitting } from './fit.ts'
import { orElsewhere } from './ids.ts'
import type { Told } from './languages.ts'
import { aName, lookUp } from './looked.ts'
import { given } from './naming.ts'
import { type Outcome, ok } from './outcome.ts'
import { callLines, listOf, tracepointLines } from './traces-text.ts'
import { aTracepoint, TRACEPOINT, tracepointMeant } from './tracing.ts'

export const traceCalls = defineTool({
  name: 'trace_calls',
  description:
    'Show the calls that a tracepoint has taken down: arguments, result or error, time, thread and caller of each, ' +
    'in the order in which they began, with handles that inspect accepts. Values are shown as they were then. ' +
    'Without a tracepoint: all there are, with how many calls each has seen. Runs no code. trace_function sets one.',
  parameters: {
    tracepoint: TRACEPOINT.optional().describe(
      'Which one, such as `t1@ab12`, or `t1`. Left out: a list of all, without their calls.',
    ),
    from: z.int().min(1).max(1_000_000).default(1).describe('The first call that is shown.'),
    count: z.int().min(1).max(200).default(20).describe('How many calls are shown at most.'),
  },
  level: 'safe',
  profile: 'full',
  categories: ['debugging'],
  needs: ['traces'],
  onlyLiving: true,
  examples: [
    { args: {}, shows: 'the tracepoints there are' },
    { args: { tracepoint: 't1@ab12' }, shows: 'its first calls' },
    { args: { tracepoint: 't1@ab12', from: 21 }, shows: 'the page after' },
  ],

  async handler({ tracepoint: named, from, count }, context) {
    const meant = named === undefined ? undefined : await tracepointMeant(named, context)
    const query = (tracepoint?: string) => given<TracesQuery>({ tracepoint, from, count })
    const found = meant?.type === 'failed' ? meant : await tracesOf(query(meant?.id), context)
    return orElsewhere(found, { given: named, look: 'traces' }, context)
  },

  show: result => showTraces(result as Traces & Told),
})

async function tracesOf(query: TracesQuery, context: KernelContext): Promise<Outcome<Traces & Told>> {
  const words = aTracepoint(aName(context.kernel))
  const looked = await lookUp({ look: 'traces', query, words }, context)
  if (looked.type === 'failed') return looked
  const { calls: found, next } = looked.result
  const calls = fitting(found, dataSize)
  const last = calls.at(-1)
  const cut = calls.length < found.length && last !== undefined
  return ok<Traces & Told>({ ...looked.result, calls, next: cut ? last.number + 1 : next })
}

function showTraces(traces: Traces & Told): string {
  const { tracepoints, calls, next } = traces
  if (tracepoints.length === 0) return 'no tracepoints; trace_function sets one'
  const [only, ...more] = tracepoints
  if (only === undefined || more.length > 0) return listOf(tracepoints).join('\n')
  const lines = tracepointLines(only)
  lines.push(...calls.flatMap(call => callLines(call, { name: only.name, told: traces })))
  if (next !== null) lines.push(`for more: from ${next}`)
  return lines.join('\n')
}
