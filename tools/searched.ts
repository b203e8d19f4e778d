import type { EntryKind } from './entries.ts'
import type { FoundLine } from './file-matches.ts'
import { nameWord } from './folders.ts'
import { type Counts, leftOutLine, sizeWord } from './left-out.ts'
import { counted } from './naming.ts'
import { oneLine } from './wording.ts'

/** What `search_files` answers with. */
export interface Searched {
  /** Where the search began, from the project's root. */
  readonly path: string
  /** What has the name that was asked for; with `text`, the files in which that occurs. */
  readonly found: readonly Found[]
  /** Lines with the text, in all files of this page; null where none was searched for. */
  readonly matches: number | null
  /** Files that were looked into for the text. */
  readonly searched: number
  /** Files that were not, and why. */
  readonly skipped: Readonly<Partial<Record<Skipped, number>>>
  /** How many names were passed over, and why. */
  readonly left_out: Counts
  readonly truncated: boolean
  /** The arguments that search on; null at the end. */
  readonly next: { readonly after: string } | null
  readonly notes: readonly string[]
}

export interface Found {
  readonly path: string
  readonly kind: EntryKind
  readonly bytes?: number
  readonly target?: string
  /** Lines of the file in which the text occurs. */
  readonly matches?: number
  /** The first of them, and the lines around them that were asked for. */
  readonly lines?: readonly FoundLine[]
  /** Lines with the text that are not among `lines`. */
  readonly more?: number
}

/** Why a file was not looked into. */
export type Skipped = 'binary' | 'too_large' | 'unreadable' | 'vanished'

const SKIPPED = {
  binary: 'binary',
  too_large: 'too large',
  unreadable: 'not readable',
  vanished: 'gone meanwhile',
} as const satisfies Record<Skipped, string>

/** How much was found, and then each file with its lines, as `grep` shows them. */
export function showSearched(result: Searched): string {
  const { path, found, left_out, next, notes } = result
  const more = next === null ? null : `for more: after ${JSON.stringify(next.after)}`
  const facts = [...counts(result), leftOutLine(left_out), more].filter(fact => fact !== null)
  return [`${oneLine(path)}: ${facts.join('; ')}`, ...notes, ...found.flatMap(foundLines)].join('\n')
}

function counts({ found, matches, searched, skipped }: Searched): (string | null)[] {
  if (matches === null) return [found.length === 0 ? 'no such name' : counted(found.length, 'name')]
  const parts = (Object.keys(SKIPPED) as Skipped[]).flatMap(why => {
    const count = skipped[why] ?? 0
    return count === 0 ? [] : [`${count} ${SKIPPED[why]}`]
  })
  const lines =
    matches === 0 ? 'not found' : `${counted(matches, 'line')} in ${counted(found.length, 'file')}`
  return [`${lines} of ${searched} searched`, parts.length === 0 ? null : `not searched: ${parts.join(', ')}`]
}

function foundLines({ path, kind, bytes, target, lines, more }: Found): string[] {
  const size = bytes === undefined || lines !== undefined ? '' : `  ${sizeWord(bytes)}`
  const name = nameWord({ name: path, kind, ...(target !== undefined && { target }) })
  const rest = more === undefined ? [] : [`  … ${counted(more, 'more line')}: search this file alone`]
  return [`${name}${size}`, ...(lines ?? []).flatMap(shownLine), ...rest]
}

/** `  12: the line` with the text in it, `  13- the next one`, and `  --` where lines are left out between them. */
function shownLine({ line, column, text }: FoundLine, index: number, all: readonly FoundLine[]): string[] {
  const before = all[index - 1]
  const hasContext = all.some(one => one.column === null)
  const gap = hasContext && before !== undefined && before.line < line - 1 ? ['  --'] : []
  return [...gap, `  ${line}${column === null ? '-' : ':'} ${visible(text)}`]
}

/** A tab stays; what would end the line, or move the cursor, is written as an escape. */
const visible = (text: string): string => text.split('\t').map(oneLine).join('\t')
