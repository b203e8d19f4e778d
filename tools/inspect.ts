import { z } from 'zod'
import type { Inspected } from '../wire/kernel.ts'
import { defineTool } from './define.ts'
import { showInspected } from './inspected.ts'
import { unfound } from './looked.ts'
import { ok, rises } from './outcome.ts'
import { SOURCE_LENGTH } from './source.ts'

export const inspect = defineTool({
  name: 'inspect',
  description:
    'Look at one value: its type and kind, repr, size, first items, members and doc; for a callable also its ' +
    'signature, place and source; for an exception its message and traceback. Prefer it over eval_expr for ' +
    'understanding a value, a function or a class: one inspect replaces many probes. ' +
    'Takes a name, a path such as `orders[0].customer.name`, in Lisp a place such as ' +
    "`(slot-value (gethash 7 *orders*) 'lines)`, a literal, or a handle such as `@ab12.3` from an " +
    'earlier answer; these are read from stored fields and run no code. Any other expression would have ' +
    'to be run: it is then treated like eval_expr, or you are told to use that. Iterators are never advanced.',
  parameters: {
    expr: z
      .string()
      .min(1)
      .max(SOURCE_LENGTH)
      .describe('A name, a path of attributes, indexes and keys, a handle, or any other expression.'),
  },
  level: 'safe',
  profile: 'core',
  categories: ['introspection'],
  needs: ['inspect'],
  examples: [
    { args: { expr: 'next' }, shows: 'a function, with its signature and source' },
    { args: { expr: 'orders[0].customer' }, shows: 'a value within another, read without running code' },
    { args: { expr: '@ab12.3' }, shows: 'the value behind a handle' },
  ],

  preview: ({ expr }) => ({ title: 'Evaluate this expression, to look at its value', body: expr }),

  async handler({ expr }, { kernel, level, lookMs, signal, jobs }) {
    const evaluate = level !== 'safe'
    const looked = await kernel.look('inspect', { expr, evaluate }, { deadlineMs: lookMs, signal })
    if (looked.type === 'found') return ok(looked.value)
    if (looked.type === 'needs_evaluation' && !evaluate) return rises('cautious', looked.because)
    return unfound(looked, { jobs })
  },

  show: result => showInspected(result as Inspected),
})
