import { z } from 'zod'
import type { References } from '../wire/kernel.ts'
import { defineTool } from './define.ts'
import { NAMED_IN, named } from './naming.ts'
import { findReferences, showReferences } from './references.ts'

export const whoCalls = defineTool({
  name: 'who_calls',
  description:
    'Find the functions and methods of the live image that call a function, each with its place in a file. Runs no ' +
    'code. Says what was looked through: code that was never compiled, and calls through a variable, cannot be ' +
    'seen. For every other use of a name (who binds, sets or expands it, who specializes on a class) use ' +
    'who_references.',
  parameters: {
    name: named('A function, such as `shop::total`, or a handle.'),
    package: NAMED_IN,
    limit: z.int().min(1).max(500).default(50).describe('How many callers are shown at most.'),
  },
  parameterAliases: { symbol: 'name' },
  level: 'safe',
  profile: 'full',
  categories: ['introspection', 'xref'],
  needs: ['references', 'callers'],
  examples: [{ args: { name: 'shop:total' }, shows: 'who calls a Lisp function' }],

  handler: ({ name, package: inside, limit }, context) =>
    findReferences({ name, package: inside, limit, relations: ['calls'] }, context),

  show: result => showReferences(result as References, { one: 'caller', many: 'callers' }),
})
