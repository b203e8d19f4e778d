import { z } from 'zod'
import type { Piece } from '../wire/kernel.ts'
import { defineTool } from './define.ts'
import { fitting } from './fit.ts'
import { stale, unfound } from './looked.ts'
import { failed, type Outcome, ok } from './outcome.ts'

export const readMore = defineTool({
  name: 'read_more',
  description:
    'Read on in something that was cut: pass the handle that came with it. Texts are counted in characters, ' +
    'samples in items, both from 0; `next` of the answer is the `from` of the next call. Runs no code. ' +
    'For a closer look at a value itself, pass its handle to inspect instead.',
  parameters: {
    handle: z
      .string()
      .max(64)
      .regex(/^@[0-9a-z]+\.[0-9]+$/)
      .describe('A handle from an earlier answer, such as `@ab12.3` or `@out.7`.'),
    from: z.int().min(0).default(0).describe('Where to begin.'),
    count: z.int().min(1).max(40_000).default(4_000).describe('How much to read at most.'),
  },
  level: 'safe',
  profile: 'live',
  categories: ['introspection'],
  needs: ['more'],
  examples: [
    { args: { handle: '@out.7', from: 4_000 }, shows: 'the second part of a long output' },
    { args: { handle: '@ab12.4', from: 16, count: 100 }, shows: 'the next hundred items of a sample' },
  ],

  // Output outlives the kernel that printed it, and is then most wanted.
  withoutKernel({ handle, from, count }, { texts }) {
    if (!texts.owns(handle)) return undefined
    const part = texts.read({ handle, from, count })
    if (part === undefined)
      return texts.issued(handle) ? stale(handle, 'that text has made room for newer ones') : unknown(handle)
    const { text, total, next } = part
    return ok<Piece>({ type: 'text', text, from, total, next })
  },

  async handler({ handle, from, count }, { kernel, lookMs, signal, jobs }) {
    const looked = await kernel.look('more', { handle, from, count }, { deadlineMs: lookMs, signal })
    return looked.type === 'found' ? ok(fitted(looked.value)) : unfound(looked, { jobs })
  },

  show: result => showPiece(result as Piece),
})

/** Made up, or of a daemon that is gone. */
function unknown(handle: string): Outcome<never> {
  return failed('not_found', {
    message: `No text is known as ${handle}: this daemon has not given out that handle.`,
    details: { what: handle, nearest: [] },
    next: 'Use a handle as the answer of an earlier call has it.',
  })
}

/** The piece, ended earlier where its items are long. */
function fitted(piece: Piece): Piece {
  if (piece.type === 'text') return piece
  const items = fitting(piece.items, item => item.length + 3)
  return items.length === piece.items.length ? piece : { ...piece, items, next: piece.from + items.length }
}

function showPiece(piece: Piece): string {
  const { from, total, next } = piece
  const unit = piece.type === 'text' ? 'characters' : 'items'
  const length = piece.type === 'text' ? piece.text.length : piece.items.length
  const of = total === null ? '' : ` of ${total}`
  const more = next === null ? 'the end' : `for more: from ${next}`
  const heading = `${unit} ${from} to ${from + length}${of}; ${more}`
  return [heading, ...(piece.type === 'text' ? [piece.text] : piece.items)].join('\n')
}
