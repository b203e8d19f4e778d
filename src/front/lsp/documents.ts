import { fileURLToPath } from 'node:url'
import type { Position, Range, TextDocumentContentChangeEvent } from 'vscode-languageserver/node'
import { realOf } from '../../files/roots.ts'
import type { EditorLanguage } from '../languages.ts'

/** A line of a document that something is said of. It moves with the lines above it, and goes once its own text changes. */
export interface Mark {
  /** From 0; undefined: the line has another text now. */
  readonly line: number | undefined
}

/** The text around the cursor, as `complete` takes it. */
interface Block {
  readonly text: string
  /** Code points before the cursor. */
  readonly cursor: number
  /** A place in it, by the code points before that. */
  position(points: number): Position
}

/** Lines above the cursor that may belong to its definition, and characters of those that are read. */
const [BLOCK_LINES, BLOCK_LENGTH] = [200, 20_000]

/** Characters on each side of the cursor that may belong to one expression. */
export const EXPRESSION = 200

/** How far from its old place an unchanged line is looked for among those that were replaced. */
const NEAR = 1_000

/** An open document of an editor, by its lines. Columns are UTF-16 code units, as editors count. */
export class TextLines {
  readonly uri: string
  /** Where its file really is; undefined where it is none. */
  readonly path: string | undefined
  readonly language: EditorLanguage
  lines: readonly string[]
  readonly #marks = new Set<{ line: number | undefined; text: string }>()

  constructor(uri: string, language: EditorLanguage, text: string) {
    this.uri = uri
    this.path = pathOf(uri)
    this.language = language
    this.lines = linesOf(text)
  }

  mark(line: number): Mark {
    const mark = { line, text: this.lines[line] ?? '' }
    this.#marks.add(mark)
    return mark
  }

  forget(marks: Iterable<Mark>): void {
    for (const mark of marks) this.#marks.delete(mark as { line: number | undefined; text: string })
  }

  change(changes: readonly TextDocumentContentChangeEvent[]): void {
    for (const change of changes) {
      const last = this.lines.length - 1
      const { start, end } =
        'range' in change ? change.range : { start: ORIGIN, end: { line: last + 1, character: 0 } }
      const [from, to] = [Math.min(start.line, last + 1), Math.min(end.line, last + 1)]
      const before = (this.lines[from] ?? '').slice(0, start.character)
      const after = (this.lines[to] ?? '').slice(end.character)
      const put = linesOf(before + change.text + after)
      this.lines = this.lines.slice(0, from).concat(put, this.lines.slice(to + 1))
      for (const mark of this.#marks) this.#move(mark, { from, to, by: put.length - (to + 1 - from) })
    }
  }

  /** `from` to `to` were replaced, by as many lines and `by` more. */
  #move(
    mark: { line: number | undefined; text: string },
    { from, to, by }: { from: number; to: number; by: number },
  ) {
    const { line, text } = mark
    if (line === undefined || line < from) return
    if (line > to) mark.line = line + by
    else {
      mark.line = undefined
      for (let off = 0; off < NEAR && mark.line === undefined; off++)
        mark.line = [line - off, line + off].find(
          at => at >= from && at <= to + by && this.lines[at] === text,
        )
    }
  }

  /** The top-level definition that the cursor is in, up to it, and the rest of its line. */
  block({ line, character }: Position): Block {
    let first = Math.min(line, this.lines.length - 1)
    for (let up = 0; up < BLOCK_LINES && first > 0 && !/^[^\s)\]}]/.test(this.lines[first] ?? ''); up++)
      first--
    const whole = [...this.lines.slice(first, line), (this.lines[line] ?? '').slice(0, character)].join('\n')
    const left = whole.slice(-BLOCK_LENGTH).replace(/^[\udc00-\udfff]/, '')
    const text = left + (this.lines[line] ?? '').slice(character, character + EXPRESSION)
    const cut = whole.length - left.length
    return {
      text,
      cursor: [...left].length,
      position: points => {
        const lines = (whole.slice(0, cut) + [...text].slice(0, points).join('')).split('\n')
        return { line: first + lines.length - 1, character: lines.at(-1)?.length ?? 0 }
      },
    }
  }

  /** The expression that a place is in, from its beginning to the end of the name there; empty where there is none. */
  expressionAt({ line, character }: Position): string {
    const text = this.lines[line] ?? ''
    const { left, right } = this.language
    const [before = ''] = left.exec(text.slice(Math.max(0, character - EXPRESSION), character)) ?? []
    const [after = ''] = right.exec(text.slice(character, character + EXPRESSION)) ?? []
    return before + after
  }

  textIn({ start, end }: Range): string {
    const [first = '', ...rest] = this.lines.slice(start.line, end.line + 1)
    if (rest.length === 0) return first.slice(start.character, end.character)
    return [first.slice(start.character), ...rest.slice(0, -1), rest.at(-1)?.slice(0, end.character)].join(
      '\n',
    )
  }

  /** All of a line but the space around its text. */
  rangeOf(line: number): Range {
    const text = this.lines[line] ?? ''
    const end = text.trimEnd().length
    return { start: { line, character: Math.min(end, text.search(/\S|$/)) }, end: { line, character: end } }
  }
}

const ORIGIN: Position = { line: 0, character: 0 }

const linesOf = (text: string): readonly string[] => text.split(/\r\n|\n|\r/)

/** Where the file of a URI really is, also of one that is not on the disk yet; undefined for what is no file. */
export function pathOf(uri: string): string | undefined {
  try {
    return realOf(fileURLToPath(uri))
  } catch {
    return undefined
  }
}

/** A part of a block, without the margin that its first line has. */
export function withoutMargin(text: string): string {
  const [margin = ''] = /^[ \t]*/.exec(text) ?? []
  const lines = text.split('\n')
  return lines.every(line => line.startsWith(margin) || line.trim() === '')
    ? lines.map(line => line.slice(margin.length)).join('\n')
    : text
}
