/** What a line is in a text that may hold a unified diff. */
export type Role = 'text' | 'file' | 'section' | 'added' | 'removed' | 'context' | 'note'

/** Lines from `from` on and before `to`. */
export interface Block {
  readonly removed: { readonly from: number; readonly to: number }
  readonly added: { readonly from: number; readonly to: number }
}

/** The lines of a diff below one `@@`, that line included. */
interface Section {
  /** Where the headings of the file begin that stand above it; its own line where none do. */
  readonly headings: number
  readonly from: number
  readonly to: number
}

/** A text as its lines. */
interface LinesOfText {
  readonly count: number
  /** The first characters of a line are enough. */
  beginning(line: number): string
}

const SECTION = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/
const HEADING = /^(?:diff --git |index |--- |\+\+\+ |(?:new|deleted|old) (?:file )?mode |similarity |rename )/

/**
 * Which lines of a text belong to unified diffs. How many lines belong to a part is what its heading says, as it is for
 * the programs that apply one: whatever stands behind is text, and what a file holds makes no headings.
 */
export class DiffLines {
  readonly #lines: LinesOfText
  readonly #sections: Section[] = []

  constructor(lines: LinesOfText) {
    this.#lines = lines
    for (let line = 0; line < lines.count; ) {
      const counts = SECTION.exec(lines.beginning(line))
      if (counts === null) line++
      else {
        const to = this.#end(line + 1, Number(counts[1] ?? 1), Number(counts[2] ?? 1))
        this.#sections.push({ headings: this.#headings(line), from: line, to })
        line = to
      }
    }
  }

  /** The lines that belong to none. */
  *outside(): Generator<{ readonly from: number; readonly to: number }> {
    let from = 0
    for (const { headings, to } of this.#sections) {
      if (headings > from) yield { from, to: headings }
      from = to
    }
    if (from < this.#lines.count) yield { from, to: this.#lines.count }
  }

  role(line: number): Role {
    const section = this.#sectionAt(line)
    if (section === undefined) return 'text'
    if (line < section.from) return 'file'
    if (line === section.from) return 'section'
    return ROLES[this.#lines.beginning(line)[0] ?? ' '] ?? 'context'
  }

  /** The lines that were removed, and those that stand in their place, where this is one of not too many. */
  block(line: number): Block | undefined {
    const section = this.#sectionAt(line)
    const role = this.role(line)
    if (section === undefined || (role !== 'added' && role !== 'removed')) return undefined
    const isOf = (at: number, roles: readonly Role[]) =>
      at > section.from && at < section.to && roles.includes(this.role(at))
    const near = (at: number) => Math.abs(at - line) < MOST
    let middle = line
    if (role === 'removed') while (near(middle) && isOf(middle, ['removed', 'note'])) middle++
    else while (near(middle) && isOf(middle - 1, ['added'])) middle--
    if (!near(middle)) return undefined
    let [from, to] = [middle, middle]
    while (middle - from < MOST && isOf(from - 1, ['removed', 'note'])) from--
    while (to - middle < MOST && isOf(to, ['added'])) to++
    const last = this.role(middle - 1) === 'note' ? middle - 1 : middle
    return { removed: { from: Math.min(from, last), to: last }, added: { from: middle, to } }
  }

  #end(from: number, before: number, after: number): number {
    let line = from
    for (let [old, fresh] = [before, after]; line < this.#lines.count; line++) {
      const mark = this.#lines.beginning(line)[0]
      if (mark === '\\') continue
      if (old <= 0 && fresh <= 0) break
      if (mark !== '+') old--
      if (mark !== '-') fresh--
    }
    return line
  }

  #headings(from: number): number {
    const after = this.#sections.at(-1)?.to ?? 0
    let line = from
    while (line > after && HEADING.test(this.#lines.beginning(line - 1))) line--
    return line
  }

  #sectionAt(line: number): Section | undefined {
    let [low, high] = [0, this.#sections.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#sections[middle]?.to ?? 0) <= line) low = middle + 1
      else high = middle
    }
    const found = this.#sections[low]
    return found !== undefined && found.headings <= line ? found : undefined
  }
}

/** Of a longer block nobody sees the words; it is not looked at to its ends. */
const MOST = 301

const ROLES: Readonly<Record<string, Role>> = { '+': 'added', '-': 'removed', '\\': 'note', ' ': 'context' }
