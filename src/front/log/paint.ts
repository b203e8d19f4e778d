import { escapeText } from '../../core/escape.ts'

/** How a piece of a line looks. Each stands for itself without colours too. */
const LOOKS = { plain: '', faint: '2', strong: '1', bad: '1;31', doubt: '1;33' } as const
type Look = keyof typeof LOOKS

/** A piece of text, and how it looks. */
export interface Piece {
  readonly text: string
  readonly look: Look
}

export const piece = (text: string, look: Look = 'plain'): Piece => ({ text, look })

/** Text for a terminal or a file. What would steer a terminal is a mark in it, wherever it goes. */
export function painted(pieces: readonly Piece[], { coloured }: { coloured: boolean }): string {
  return pieces
    .map(({ text, look }) => {
      const safe = escapeText(text)
      return coloured && LOOKS[look] !== '' && safe !== '' ? `\x1b[${LOOKS[look]}m${safe}\x1b[0m` : safe
    })
    .join('')
}

export const lengthOf = (pieces: readonly Piece[]) => pieces.reduce((sum, { text }) => sum + text.length, 0)
