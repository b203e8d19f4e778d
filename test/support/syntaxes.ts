import { z } from 'zod'
import { openRegistry } from '../../src/registry/registry.ts'
import type { Call, Piece, TextSyntax } from '../../src/syntax/syntax.ts'
import { defineTool } from '../../tools/define.ts'
import { ok } from '../../tools/outcome.ts'

const text = z.string().describe('A text.')

const rest = {
  description: 'Takes {{what}}.',
  level: 'safe',
  profile: 'full',
  categories: ['test'],
  needs: [],
  result: z.null(),
  handler: () => ok(null),
} as const

/** Tools of every shape that a syntax tells apart, by what stands in a header and what below it. */
export const registry = openRegistry([
  defineTool({ ...rest, name: 'none', parameters: {}, examples: [{ args: {}, shows: 'nothing' }] }),
  defineTool({
    ...rest,
    name: 'one',
    parameters: { a: text, count: z.int().optional().describe('A number.') },
    examples: [{ args: { a: 'x' }, shows: 'one' }],
  }),
  defineTool({
    ...rest,
    name: 'two',
    parameters: { a: text, b: text, c: text.optional() },
    examples: [{ args: { a: 'x', b: 'y' }, shows: 'two' }],
  }),
  defineTool({
    ...rest,
    name: 'body',
    parameters: { a: text, b: text, mode: text.optional() },
    multiline: ['b'],
    examples: [{ args: { a: 'x', b: 'for {{what}}' }, shows: 'a placeholder in a text' }],
    finalizeDocumentation: (documentation, { what = 'all' }) => documentation.replaceAll('{{what}}', what),
  }),
  defineTool({
    ...rest,
    name: 'bodies',
    parameters: { a: text, b: text, c: text.optional() },
    multiline: ['b', 'c'],
    examples: [{ args: { a: 'x', b: '1', c: '2' }, shows: 'two texts' }],
  }),
])

export const TOOL_NAMES = ['none', 'one', 'two', 'body', 'bodies'] as const

/** A text read in pieces: `cuts` are where it is cut, in any order. */
export function readCut(syntax: TextSyntax, whole: string, cuts: readonly number[] = []): Piece[] {
  const reader = syntax.reader(registry)
  const ends = [...cuts.map(cut => Math.min(cut, whole.length)), whole.length].sort(
    (one, other) => one - other,
  )
  const pieces = ends.flatMap((end, index) => reader.push(whole.slice(ends[index - 1] ?? 0, end)))
  return [...pieces, ...reader.end()]
}

export const callsOf = (pieces: readonly Piece[]): Call[] =>
  pieces.flatMap(piece => (piece.type === 'call' ? [piece.call] : []))

export const textOf = (pieces: readonly Piece[]): string =>
  pieces.map(piece => (piece.type === 'text' ? piece.text : '')).join('')

export const reasoningOf = (pieces: readonly Piece[]): string =>
  pieces.map(piece => (piece.type === 'reasoning' ? piece.text : '')).join('')
