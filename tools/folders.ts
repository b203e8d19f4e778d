import { z } from 'zod'
import type { Of } from '../wire/kernel.ts'
import { type Cut, ENTRY_KINDS, type Entry, type LeftOut, type Listed, type ToolContext } from './contract.ts'
import { defineTool } from './define.ts'
import { type Failed, type Outcome, ok } from './outcome.ts'
import { EXCLUDE, FOLDER, INCLUDE_IGNORED, LOOKS_AT_PATH, OF_LOOK, PAGED } from './parameters.ts'
import { counted, oneLine } from './text.ts'

const WORDS = {
  ignored: 'ignored',
  excluded: 'excluded',
  hidden: 'hidden',
  own: 'Imago’s own',
  withheld: 'kept back by the policy',
  unreadable: 'not readable',
  deep: 'too deep',
  vanished: 'gone meanwhile',
} as const satisfies Record<keyof LeftOut, string>

/** Numbers by the reasons that have words, of those that are not zero. */
export const countsBy = <Reason extends string>(words: Readonly<Record<Reason, string>>) =>
  z.partialRecord(z.enum(Object.keys(words) as Reason[]), z.number())

/** How an answer about many names says what is not in it. */
export const leftOut = countsBy(WORDS)
type Counts = Of<typeof leftOut>

export function countsOf(left: Counts): Counts {
  return Object.fromEntries(Object.entries(left).filter(([, count]) => count > 0))
}

/** `left out: 3 ignored (include_ignored shows them), 1 Imago’s own`; null where nothing was. */
export function leftOutLine(counts: Counts): string | null {
  const parts = (Object.keys(WORDS) as (keyof LeftOut)[]).flatMap(reason => {
    const count = counts[reason] ?? 0
    return count === 0 ? [] : [`${count} ${WORDS[reason]}${hint(reason)}`]
  })
  return parts.length === 0 ? null : `left out: ${parts.join(', ')}`
}

function hint(reason: keyof LeftOut): string {
  if (reason === 'ignored') return ' (include_ignored shows them)'
  return reason === 'hidden' ? ' (show_hidden shows them)' : ''
}

/** Why an answer ends before its end; null where it does not. */
export function cutLine(cut: Cut | null): string | null {
  switch (cut) {
    case null:
      return null
    case 'time':
      return 'ended early: the time for a look was over. Ask about a folder below it, or leave more out.'
    case 'cancelled':
      return 'ended early: the call was cancelled.'
    case 'entries':
      return 'ended early: too many names. Ask about a folder below it.'
    default:
      return cut satisfies never
  }
}

/** `812 B`, `1.2 kB`, `3.4 MB`: powers of a thousand. */
export function sizeWord(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`
  const [unit = 'TB', size = 1e12] = SIZES.find(([, from]) => bytes < from * 999.95) ?? []
  return `${(bytes / size).toFixed(1)} ${unit}`
}

const SIZES = [
  ['kB', 1e3],
  ['MB', 1e6],
  ['GB', 1e9],
] as const

/** `2026-11-20 09:12`, in UTC. */
export function minute(ms: number): string {
  return new Date(ms).toISOString().slice(0, 16).replace('T', ' ')
}

const entriesWord = (count: number): string => counted(count, 'entry', 'entries')

/** What is not there does not apply to that kind, or could not be told. */
const listedEntry = z.object({
  name: z.string(),
  kind: z.enum(ENTRY_KINDS),
  bytes: z.number().exactOptional(),
  /** When its content last changed, in UTC: `2026-11-20T09:12:30.000Z`. */
  modified: z.string().exactOptional(),
  /** The target of a link, as the link spells it. */
  target: z.string().exactOptional(),
  ignored: z.literal(true).exactOptional(),
  /** Its name is no UTF-8 and shown with U+FFFD: no tool can name it. */
  unnameable: z.literal(true).exactOptional(),
})
type DirectoryEntry = Of<typeof listedEntry>

/** What `list_directory` answers with. */
const directory = z.object({
  /** From the project's root; `.` is the root itself. */
  path: z.string(),
  entries: z.array(listedEntry),
  /** All names in the folder, also those that are left out; null where they were not all counted. */
  total: z.number().nullable(),
  /** How many names were passed over on this page, and why. */
  left_out: leftOut,
  truncated: z.boolean(),
  /** The arguments of the next page; null where there is none. */
  next: z.object({ after: z.string() }).nullable(),
  notes: z.array(z.string()),
})
type Directory = Of<typeof directory>

export const listDirectory = defineTool({
  name: 'list_directory',
  description:
    'List the names in one folder of the project, a page at a time, with kind, size and time of the last ' +
    'change. What ignore files leave out is counted, not shown. Links are not followed. Runs no code. For ' +
    'what is below use directory_tree, to find a file or a text search_files.',
  parameters: {
    path: FOLDER,
    show_hidden: z.boolean().default(true).describe('Whether to show names that begin with a dot.'),
    sort_by: z
      .enum(['name', 'size', 'modified'])
      .default('name')
      .describe('By size or time the largest or latest come first; then there is one page only.'),
    include_ignored: INCLUDE_IGNORED,
    after: PAGED.after,
    limit: z.int().min(1).max(1_000).default(200).describe('How many names to show at most.'),
  },
  ...LOOKS_AT_PATH,
  result: directory,
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

  show: showDirectory,
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

function kindWord(name: string, kind: Entry['kind'], target: string | undefined): string {
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

/** Entries of one folder that are drawn, so that a large one does not take the place of all others. */
const OF_ONE_FOLDER = 60

const { name, kind, bytes, target, ignored, unnameable } = listedEntry.shape

const treeNode = z.object({
  name,
  kind,
  bytes,
  target,
  ignored,
  unnameable,
  /** Of a folder that was opened. */
  get children(): z.ZodExactOptional<z.ZodArray<typeof treeNode>> {
    return z.array(treeNode).exactOptional()
  },
  /** Names in the folder that are not drawn, where there are any; null where that is not known. */
  more: z.number().nullable().exactOptional(),
  /** Why a folder was not opened. */
  unopened: z.enum(['depth', 'limit', 'time', 'unreadable', 'git']).exactOptional(),
})
type TreeNode = Of<typeof treeNode>

/** What `directory_tree` answers with. */
const tree = z.object({
  /** From the project's root; `.` is the root itself. */
  path: z.string(),
  children: z.array(treeNode),
  /** Names in the folder itself that are not drawn; null where that is not known. */
  more: z.number().nullable(),
  /** How many are drawn in all. */
  entries: z.number(),
  left_out: leftOut,
  /** Whether a folder was not opened, or not all of it drawn. */
  truncated: z.boolean(),
  notes: z.array(z.string()),
})
type Tree = Of<typeof tree>

export const directoryTree = defineTool({
  name: 'directory_tree',
  description:
    'Draw a folder of the project with what is below it, near things before deep ones; folders that do not ' +
    'fit are not opened. What ignore files leave out is counted, not shown. Links are not followed. Runs no ' +
    'code. For all names of one folder use list_directory, to find a file or a text search_files.',
  parameters: {
    path: FOLDER,
    depth: z.int().min(1).max(16).default(3).describe('How many levels to draw at most.'),
    limit: z.int().min(1).max(2_000).default(300).describe('How many names to draw at most.'),
    exclude_patterns: EXCLUDE,
    include_ignored: INCLUDE_IGNORED,
  },
  parameterAliases: { max_depth: 'depth' },
  result: tree,
  ...LOOKS_AT_PATH,
  examples: [
    { args: {}, shows: 'the project, three levels deep' },
    {
      args: { path: 'shop', depth: 2, exclude_patterns: ['tests/'] },
      shows: 'a part of it, without its tests',
    },
  ],

  handler: (args, context) => drawn(args, context),
  show: showTree,
})

interface Arguments {
  readonly path: string
  readonly depth: number
  readonly limit: number
  readonly exclude_patterns: readonly string[]
  readonly include_ignored: boolean
}

/** A node while the tree grows. */
interface OpenNode {
  readonly path: string
  readonly level: number
  readonly node: { -readonly [Key in keyof TreeNode]: TreeNode[Key] }
}

/** Opens folder after folder, those near the root first, until there is no room or no time left. */
async function drawn(args: Arguments, context: ToolContext): Promise<Outcome<Tree>> {
  const growth = new Growth(args, context)
  const root = growth.root.node
  for (let at = growth.next(); at !== undefined; at = growth.next()) {
    const failure = await growth.open(at)
    if (failure === undefined) continue
    if (at === growth.root) return failure
    at.node.unopened = 'unreadable'
  }
  const { children = [], more = 0 } = root
  const { shown, entries, left, notes, cut } = growth
  return ok({
    path: shown,
    children,
    more,
    entries,
    left_out: countsOf(left),
    truncated: cut !== null || more !== 0 || children.some(isPartOfTree),
    notes: [...notes, ...[cutLine(cut)].filter(line => line !== null)],
  })
}

class Growth {
  readonly root: OpenNode
  readonly left: Partial<LeftOut> = {}
  readonly notes = new Set<string>()
  /** The root as the answer has it. */
  shown: string
  entries = 0
  cut: Cut | null = null
  readonly #args: Arguments
  readonly #context: ToolContext
  readonly #end: number
  readonly #queue: OpenNode[]

  constructor(args: Arguments, context: ToolContext) {
    this.#args = args
    this.#context = context
    this.#end = performance.now() + context.lookMs * OF_LOOK
    this.shown = args.path
    this.root = { path: args.path, level: 0, node: { name: args.path, kind: 'folder' } }
    this.#queue = [this.root]
  }

  /** The next folder to open; those that are passed over are told why. */
  next(): OpenNode | undefined {
    for (let at = this.#queue.shift(); at !== undefined; at = this.#queue.shift()) {
      const why = this.#closed(at)
      if (why === undefined) return at
      at.node.unopened = why
    }
    return undefined
  }

  #closed({ level }: OpenNode): TreeNode['unopened'] {
    if (this.cut !== null) return 'time'
    if (level >= this.#args.depth) return 'depth'
    return this.entries >= this.#args.limit ? 'limit' : undefined
  }

  async open(at: OpenNode): Promise<Failed | undefined> {
    const { include_ignored, exclude_patterns, limit } = this.#args
    const { files, signal } = this.#context
    const isRoot = at === this.root
    const listed = await files.list(at.path, {
      by: 'name',
      limit: Math.min(isRoot ? limit : OF_ONE_FOLDER, limit - this.entries),
      after: undefined,
      ignored: include_ignored,
      hidden: true,
      exclude: exclude_patterns,
      from: isRoot ? undefined : this.shown,
      signal,
      ms: this.#end - performance.now(),
    })
    if (listed.type === 'failed') return listed
    if (isRoot) this.shown = listed.shown
    this.#note(listed)
    at.node.more = restOf(listed)
    at.node.children = listed.entries.map(entry => this.#grown(entry, at.level + 1))
    return undefined
  }

  #note({ left, remarks, cut, entries }: Listed): void {
    for (const [reason, count] of Object.entries(left) as [keyof LeftOut, number][])
      this.left[reason] = (this.left[reason] ?? 0) + count
    for (const remark of remarks) this.notes.add(remark)
    this.cut ??= cut
    this.entries += entries.length
  }

  #grown(entry: Entry, level: number): TreeNode {
    const node = nodeOf(entry)
    if (entry.kind === 'folder' && entry.isNameable && node.unopened === undefined)
      this.#queue.push({ path: entry.shown, level, node })
    return node
  }
}

/** Names that were neither shown nor left out; null where that is not known. */
function restOf({ total, next, cut, entries, left }: Listed): number | null {
  if (total === null) return null
  if (next === null && cut === null) return 0
  return total - entries.length - Object.values(left).reduce((sum, count) => sum + count, 0)
}

function isPartOfTree({ unopened, more = 0, children = [] }: TreeNode): boolean {
  return (unopened !== undefined && unopened !== 'git') || more !== 0 || children.some(isPartOfTree)
}

function nodeOf({ name, kind, bytes, target, ignored, isNameable }: Entry): OpenNode['node'] {
  return {
    name,
    kind,
    ...(bytes !== null && { bytes }),
    ...(target !== null && { target }),
    ...(ignored && { ignored: true }),
    ...(!isNameable && { unnameable: true }),
    ...(name === '.git' && kind === 'folder' && { unopened: 'git' as const }),
  }
}

function showTree({ path, children, more, entries, left_out, notes }: Tree): string {
  const facts = [entriesWord(entries), leftOutLine(left_out)].filter(fact => fact !== null)
  return [`${oneLine(path)}: ${facts.join('; ')}`, ...notes, ...branches(children, more, '')].join('\n')
}

/** The lines of what is in one folder, each behind the lines that lead to its neighbours. */
function branches(children: readonly TreeNode[], more: number | null, lead: string): string[] {
  const rest = more === 0 ? [] : [`… ${more === null ? 'and more' : `${more} more`}`]
  return [...children, ...rest].flatMap((child, index, all) => {
    const isLast = index === all.length - 1
    const line = (text: string) => `${lead}${isLast ? '└── ' : '├── '}${text}`
    if (typeof child === 'string') return [line(child)]
    const under = branches(child.children ?? [], child.more ?? 0, `${lead}${isLast ? '    ' : '│   '}`)
    return [line(nodeLine(child)), ...under]
  })
}

function nodeLine(node: TreeNode): string {
  const size = node.bytes === undefined ? '' : `  ${sizeWord(node.bytes)}`
  const closed = node.unopened === undefined ? '' : `  ${UNOPENED[node.unopened]}`
  return `${nameWord(node)}${size}${closed}`
}

const UNOPENED = {
  depth: '…',
  limit: '… (not opened: limit)',
  time: '… (not opened: no time)',
  unreadable: '(cannot be opened)',
  git: '(never walked)',
} as const satisfies Record<NonNullable<TreeNode['unopened']>, string>
