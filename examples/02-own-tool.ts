/**
 * A tool of one's own: data and one handler. From the same definition come its usage, the schemas of the model
 * providers and the MCP listing; this prints three of them, and then a definition that is refused, by name.
 *
 *     node dist/examples/02-own-tool.js
 */

import { z } from 'zod'
import { describe } from '../src/registry/descriptions.ts'
import { openRegistry } from '../src/registry/registry.ts'
import { DefinitionError, defineTool } from '../tools/define.ts'
import { ok } from '../tools/outcome.ts'

const countGlobals = defineTool({
  name: 'count_globals',
  description: 'Count the names at the top level of an image. Runs no user code.',
  level: 'safe',
  profile: 'full',
  categories: ['looking'],
  needs: ['globals'],
  parameters: { filter: z.string().max(100).describe('only names that contain this text').optional() },
  examples: [{ args: { filter: 'order' }, shows: 'how many names speak of orders' }],
  result: z.object({ total: z.number().nullable() }),
  async handler({ filter }, { kernel, lookMs }) {
    const query = { modules: false, limit: 0, ...(filter !== undefined && { filter }) }
    const looked = await kernel.look('globals', query, { deadlineMs: lookMs })
    return ok(looked.type === 'found' ? { total: looked.value.total } : { total: null })
  },
})

const registry = openRegistry([countGlobals])

for (const format of ['text', 'mcp', 'anthropic'] as const) {
  const described = describe({ registry, profile: 'full', format })
  if (described.type === 'described') console.log(`${format}:\n${described.text}\n`)
}

try {
  defineTool({
    name: 'countGlobals',
    description: 'Named as JavaScript would name it, where models write snake_case.',
    profile: 'full',
    categories: [],
    needs: [],
    parameters: {},
    examples: [],
    result: z.null(),
    handler: () => ok(null),
  })
} catch (error) {
  if (!(error instanceof DefinitionError)) throw error
  console.log(`refused (${error.invariant}): ${error.message}`)
}
