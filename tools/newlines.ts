/** How the lines of a text end; `none` where no line of it ends, which is one line at most. */
export const NEWLINES = ['\n', '\r\n', '\r', 'mixed', 'none'] as const

export type Newline = (typeof NEWLINES)[number]

/** One pass over the text. A CR LF is one line end, never two. */
export function newlineOf(text: string): Newline {
  const lf = text.includes('\n')
  const cr = text.includes('\r')
  if (!cr) return lf ? '\n' : 'none'
  if (!lf) return '\r'
  return /(^|[^\r])\n|\r(?!\n)/.test(text) ? 'mixed' : '\r\n'
}

/**
 * A text as a file of that line end spells it: where all lines of the file end with CR LF, or all with CR, so do those
 * of the text. Other files have no one way, or the usual one, and the text is left as it is.
 */
export function spelled(text: string, newline: Newline): string {
  return newline === '\r\n' || newline === '\r' ? text.replace(/\r?\n/g, newline) : text
}

/** The other way round: a text of a file of that line end, with LF for CR LF or CR. Mixed line ends stay as they are. */
export function unspelled(text: string, newline: Newline): string {
  return newline === '\r\n' || newline === '\r' ? text.replaceAll(newline, '\n') : text
}

/** The lines of a text, each with the LF that ends it; the last may have none. An empty text has no lines. */
export function linesOf(text: string): string[] {
  const lines: string[] = []
  for (let from = 0; from < text.length; ) {
    const at = text.indexOf('\n', from)
    const to = at === -1 ? text.length : at + 1
    lines.push(text.slice(from, to))
    from = to
  }
  return lines
}

/** For a sentence: `CR LF`. */
export function newlineWord(newline: Newline): string {
  switch (newline) {
    case '\n':
      return 'LF'
    case '\r\n':
      return 'CR LF'
    case '\r':
      return 'CR'
    case 'mixed':
      return 'some with CR LF or CR and some with LF'
    case 'none':
      return 'no line end'
    default:
      return newline satisfies never
  }
}
