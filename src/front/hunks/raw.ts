import { linesOf, newlineOf, spelled, unspelled } from '../../../tools/newlines.ts'
import type { ShownHunk } from '../../core/approvals.ts'

/** A hunk as the lines that it is made of, each with the LF that ends it; the last of a file may have none. */
export interface RawHunk {
  readonly before: readonly string[]
  readonly after: readonly string[]
  /** Text of these lines as the file spells it, and the other way round. */
  spell(text: string): string
  unspell(text: string): string
}

/** Where all of its lines end with CR LF, or all with CR, they end with LF here. Mixed line ends stay as they are. */
export function rawOf({ before, after }: Pick<ShownHunk, 'before' | 'after'>): RawHunk {
  const newline = newlineOf(before + after)
  return {
    before: linesOf(unspelled(before, newline)),
    after: linesOf(unspelled(after, newline)),
    spell: text => spelled(text, newline),
    unspell: text => unspelled(text, newline),
  }
}

/** The lines of a patch that stand for this line of a file: one, or two where nothing ends it. */
export function patchLines(mark: ' ' | '-' | '+', line: string): string[] {
  return line.endsWith('\n') ? [mark + line.slice(0, -1)] : [mark + line, '\\ No newline at end of file']
}

/** The head of a part of a patch. Lines are counted from 1, and nothing begins after the line before it, as in git. */
export function patchHead(o: { line: number; before: number; newLine: number; after: number }): string {
  const range = (line: number, count: number) => `${count === 0 ? line - 1 : line},${count}`
  return `@@ -${range(o.line, o.before)} +${range(o.newLine, o.after)} @@`
}
