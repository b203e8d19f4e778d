/**
 * The looks of things at the console. Colours are those that the terminal's own theme gives to the sixteen names, so
 * that they are readable wherever the person's own programs are.
 */

/** What is shown how: with colours, and without. Where a look carries meaning, it has one without colours too. */
const LOOKS = {
  prompt: ['32', ''],
  more: ['2', '2'],
  keyword: ['35', ''],
  text: ['32', ''],
  number: ['36', ''],
  comment: ['2;3', '2'],
  definition: ['1;34', '1'],
  builtin: ['36', ''],
  decorator: ['33', ''],
  bracket: ['1;33', '1;4'],
  error: ['31', ''],
  failure: ['1;31', '1'],
  place: ['36', ''],
  title: ['1', '1'],
  hint: ['2', '2'],
  strong: ['1;4', '1;4'],
  chosen: ['7', '7'],
  match: ['30;43', '7'],
  mark: ['7', '7'],
  added: ['32', ''],
  addedWord: ['1;7;32', '1;4'],
  removed: ['31', ''],
  removedWord: ['1;7;31', '1;4'],
  section: ['36', '2'],
  alarm: ['1;30;43', '1;7'],
  good: ['1;32', '1'],
  bar: ['7', '7'],
} as const

export type Look = keyof typeof LOOKS

/** A piece of text, and how it looks. The text may hold line ends. */
export interface Span {
  readonly text: string
  readonly look?: Look | undefined
  /** Sentences of ours, whose lines are broken between words. */
  readonly prose?: true
}

/** What stands before text of a look, and what after it. */
export interface Palette {
  readonly coloured: boolean
  begin(look: Look): string
  end(look: Look): string
}

export function openPalette({ coloured }: { readonly coloured: boolean }): Palette {
  const code = (look: Look) => LOOKS[look][coloured ? 0 : 1]
  return {
    coloured,
    begin: look => (code(look) === '' ? '' : `\x1b[${code(look)}m`),
    end: look => (code(look) === '' ? '' : '\x1b[0m'),
  }
}

/** Whether this person wants colours: `NO_COLOR`, with anything in it, says no. */
export const wantsColour = (env: Readonly<Record<string, string | undefined>>) => !env.NO_COLOR

export const plain = (text: string): Span => ({ text })
export const looking = (look: Look, text: string): Span => ({ text, look })
export const prose = (look: Look | undefined, text: string): Span => ({ text, look, prose: true })

/** The piece of a text between two places, with another look. */
export function restyled(
  spans: readonly Span[],
  { from, to, look }: { from: number; to: number; look: Look },
): Span[] {
  let at = 0
  return spans.flatMap(span => {
    const begin = at
    at += span.text.length
    if (at <= from || begin >= to) return [span]
    const cut = (start: number, end: number) => span.text.slice(Math.max(0, start), Math.max(0, end))
    return [
      { ...span, text: cut(0, from - begin) },
      { text: cut(from - begin, to - begin), look },
      { ...span, text: cut(to - begin, span.text.length) },
    ].filter(({ text }) => text !== '')
  })
}

export const beforeOf = (spans: readonly Span[], at: number): Span[] => pieceOf(spans, { from: 0, to: at })
export const afterOf = (spans: readonly Span[], at: number): Span[] =>
  pieceOf(spans, { from: at, to: Number.POSITIVE_INFINITY })

function pieceOf(spans: readonly Span[], { from, to }: { from: number; to: number }): Span[] {
  let at = 0
  return spans.flatMap(span => {
    const text = span.text.slice(Math.max(0, from - at), Math.max(0, to - at))
    at += span.text.length
    return text === '' ? [] : [{ ...span, text }]
  })
}

export const textOf = (spans: readonly Span[]): string => spans.map(({ text }) => text).join('')
