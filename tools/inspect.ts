import { z } from 'zod'
import type { Inspected } from '../wire/kernel.ts'
import { defineTool } from './define.ts'
import { showInspected } from './inspected.ts'
import { type Told, told } from './languages.ts'
import { anExpression, unfound } from './looked.ts'
import { NAMED_IN } from './naming.ts'
import { ok, rises } from './outcome.ts'
import { insideWord, packageRefused, SOURCE_LENGTH } from './source.ts'

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
    package: NAMED_IN,
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

  preview: ({ expr, package: inside }) => ({
    title: `Evaluate this expression${insideWord(inside)}, to look at its value`,
    body: expr,
  }),

  async handler({ expr, package: inside }, { kernel, level, lookMs, signal, jobs }) {
    const refused = packageRefused(inside, kernel, 'package says in what names are read')
    if (refused !== undefined) return refused
    const evaluate = level !== 'safe'
    const query = { expr, evaluate, ...(inside !== undefined && { package: inside }) }
    const looked = await kernel.look('inspect', query, { deadlineMs: lookMs, signal })
    if (looked.type === 'found') return ok({ ...looked.value, ...told(kernel) })
    if (looked.type === 'needs_evaluation' && !evaluate) return rises('cautious', looked.because)
    return unfound(looked, { jobs, words: anExpression(kernel) })
  },

  show: result => showInspected(result as Inspected & Told),
})
