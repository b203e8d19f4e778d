import { z } from 'zod'
import type { Completion, Completions } from '../wire/kernel.ts'
import { defineTool } from './define.ts'
import { characters } from './definition-text.ts'
import { type Terms, type Told, termsOf } from './languages.ts'
import { anExpression, lookUp } from './looked.ts'
import { failed } from './outcome.ts'
import { SOURCE_LENGTH } from './source.ts'
import { oneLine } from './wording.ts'

export const complete = defineTool({
  name: 'complete',
  description:
    'Tell how a piece of code might go on at the cursor, from the names that the live image really has, and which ' +
    'parameter of a call comes next. Runs no code, so what only running it could tell is not offered. Meant for ' +
    'editors and consoles; to understand a value use inspect.',
  parameters: {
    text: z.string().max(SOURCE_LENGTH).describe('The code so far, and what stands after the cursor.'),
    cursor: z
      .int()
      .min(0)
      .max(SOURCE_LENGTH)
      .optional()
      .describe('Where the cursor is: characters before it. Left out: at the end of the text.'),
    limit: z.int().min(1).max(500).default(50).describe('How many completions are given at most.'),
  },
  level: 'safe',
  typed: ['text'],
  profile: 'full',
  categories: ['introspection', 'editing'],
  needs: ['complete'],
  examples: [
    { args: { text: 'orders[0].cust' }, shows: 'attributes that begin with “cust”' },
    { args: { text: 'total = sum(x)', cursor: 11 }, shows: 'what may stand at a place within the code' },
  ],

  handler({ text, cursor, limit }, context) {
    const length = characters(text)
    if (cursor !== undefined && cursor > length)
      return failed('invalid_args', {
        message: `The cursor is at ${cursor}, and the text has ${length} characters.`,
        details: { parameter: 'cursor' },
        next: 'Leave cursor out to complete at the end of the text.',
      })
    const words = { ...anExpression(context.kernel), parameter: 'text', wanted: 'code that can be completed' }
    return lookUp({ look: 'complete', query: { text, cursor: cursor ?? length, limit }, words }, context)
  },

  show: result => showCompletions(result as Completions & Told),
})

function showCompletions(found: Completions & Told): string {
  const { from, to, completions, total, call, because } = found
  const terms = termsOf(found)
  const lines = []
  if (call !== null) {
    const parameter = call.parameter === null ? '' : `, at parameter ${call.parameter + 1}`
    lines.push(`in ${oneLine(call.call ?? `${call.name}${call.signature}`)}${parameter}`)
  }
  if (because !== null) lines.push(`nothing is offered: ${oneLine(because)}`)
  else if (completions.length === 0) lines.push('no completions')
  else {
    const cut = completions.length === total ? '' : ` of ${total}`
    lines.push(`${completions.length}${cut}, each in place of characters ${from} to ${to}:`)
  }
  return [...lines, ...completions.map(one => completionLine(one, terms))].join('\n')
}

/** The type is worth saying of a value only. */
function completionLine({ text, kind, type_name }: Completion, terms: Terms): string {
  const typed = (kind === 'variable' || kind === 'constant') && type_name !== null
  return `${oneLine(text)}  ${terms.kind(kind)}${typed ? `, ${oneLine(type_name)}` : ''}`
}
