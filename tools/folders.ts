import { z } from 'zod'
import { defineTool } from './define.ts'
import type { Entry, EntryKind, Listed } from './entries.ts'
import { FOLDER, INCLUDE_IGNORED, OF_LOOK } from './folder-arguments.ts'
import { type Counts, countsOf, cutLine, leftOutLine, minute } from './left-out.ts'
import { ok } from './outcome.ts'
import { oneLine } from './wording.ts'

/** What `list_directory` answers with. */
export interface Directory {
  /** From the project's root; `.` is the root itself. */
  readonly path: string
  readonly entries: readonly DirectoryEntry[]
  /** All names in the folder, also those that are left out; null where they were not all counted. */
  readonly total: number | null
  /** How many names were passed over on this page, and why. */
  readonly left_out: Counts
  readonly truncated: boolean
  /** The arguments of the next page; null where there is none. */
  readonly next: { readonly after: string } | null
  readonly notes: readonly string[]
}

/** What is not there does not apply to that kind, or could not be told. */
export interface DirectoryEntry {
  readonly name: string
  readonly kind: EntryKind
  readonly bytes?: number
  /** When its content last changed, in UTC: `2026-11-20T09:12:30.000Z`. */
  readonly modified?: string
  /** Where a link leads, as it stands in it. */
  readonly target?: string
  readonly ignored?: true
  /** Its name is no UTF-8 and shown with U+FFFD: no tool can name it. */
  readonly unnameable?: true
}

export const listDirectory = defineTool({
  name: 'list_directory',
  description:
    'List the names in one folder of the project, a page at a time, with kind, size and time of the last change. ' +
    'What ignore files leave out is not shown, but counted. Links are shown and not followed. Runs no code. For a ' +
    'folder with what is below it use directory_tree, to find a file or a text search_files.',
  parameters: {
    path: FOLDER,
    show_hidden: z.boolean().default(true).describe('Whether to show names that begin with a dot.'),
    sort_by: z
      .enum(['name', 'size', 'modified'])
      .default('name')
      .describe('By size or time the largest or latest come first; then there is one page only.'),
    include_ignored: INCLUDE_IGNORED,
    after: z
      .string()
      .min(1)
      .max(1_024)
      .optional()
      .describe('Only names after this one: the `next` of the page before.'),
    limit: z.int().min(1).max(1_000).default(200).describe('How many names to show at most.'),
  },
  parameterAliases: { directory: 'path', dir: 'path', folder: 'path' },
  level: 'safe',
  profile: 'full',
  categories: ['files'],
  needs: [],
  paths: ['path'],
  examples: [
    { args: {}, shows: 'the root of the project' },
    { args: { path: 'shop', sort_by: 'modified', limit: 10 }, shows: 'what was changed last in a folder' },
  ],

  async handler({ path, show_hidden, sort_by, include_ignored, after, limit }, { files, signal, lookMs }) {
    const listed = await files.list(path, {
      by: sort_by,
      limit,
      after: sort_by === 'name' ? after : undefined,
      ignored: include_ignored,
      hidden: show_hidden,
      signal,
      ms: lookMs * OF_LOOK,
    })
    if (listed.type === 'failed') return listed
    return ok<Directory>({
      path: listed.shown,
      entries: listed.entries.map(directoryEntry),
      total: listed.total,
      left_out: countsOf(listed.left),
      truncated: isPart(listed, sort_by),
      next: listed.next === null ? null : { after: listed.next },
      notes: [...listed.remarks, ...[cutLine(listed.cut)].filter(line => line !== null)],
    })
  },

  show: result => showDirectory(result as Directory),
})

function isPart({ next, cut, total, entries, left }: Listed, by: string): boolean {
  if (next !== null || cut !== null) return true
  const passed = Object.values(left).reduce((sum, count) => sum + count, 0)
  return by !== 'name' && total !== null && total > entries.length + passed
}

function directoryEntry(entry: Entry): DirectoryEntry {
  const { name, kind, bytes, changedMs, target, ignored, isNameable } = entry
  return {
    name,
    kind,
    ...(bytes !== null && { bytes }),
    ...(changedMs !== null && { modified: new Date(changedMs).toISOString() }),
    ...(target !== null && { target }),
    ...(ignored && { ignored: true }),
    ...(!isNameable && { unnameable: true }),
  }
}

function showDirectory({ path, entries, total, left_out, next, notes, truncated }: Directory): string {
  const count = total === null ? `${entries.length}` : `${entries.length} of ${total}`
  const more =
    next !== null ? `for more: after ${JSON.stringify(next.after)}` : truncated ? 'there are more' : null
  const facts = [`${count} ${total === 1 ? 'name' : 'names'}`, leftOutLine(left_out), more]
  const heading = `${oneLine(path)}: ${facts.filter(fact => fact !== null).join('; ')}`
  return [heading, ...notes, ...entries.map(entryLine)].join('\n')
}

function entryLine(entry: DirectoryEntry): string {
  const { bytes, modified } = entry
  const size = bytes === undefined ? '-' : bytes.toLocaleString('en-US')
  const time = modified === undefined ? '-' : minute(Date.parse(modified))
  return `${size.padStart(13)}  ${time.padEnd(16)}  ${nameWord(entry)}`
}

/** `shop/`, `latest -> v2`, `queue (pipe)`: the name so that its kind can be seen. */
export function nameWord(entry: Omit<DirectoryEntry, 'bytes' | 'modified'>): string {
  const { name, kind, target, ignored, unnameable } = entry
  const marks = [
    ...(ignored === true ? ['ignored'] : []),
    ...(unnameable === true ? ['not UTF-8, cannot be named'] : []),
  ]
  return `${kindWord(oneLine(name), kind, target)}${marks.length === 0 ? '' : ` (${marks.join(', ')})`}`
}

function kindWord(name: string, kind: EntryKind, target: string | undefined): string {
  switch (kind) {
    case 'file':
      return name
    case 'folder':
      return `${name}/`
    case 'link':
      return `${name} -> ${oneLine(target ?? '')}`
    case 'pipe':
    case 'socket':
    case 'device':
    case 'unknown':
      return `${name} (${kind === 'unknown' ? 'of unknown kind' : kind})`
    default:
      return kind satisfies never
  }
}
