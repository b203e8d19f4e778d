import { z } from 'zod'
import { defineTool, type ToolContext } from './define.ts'
import type { Cut, Entry, EntryKind, LeftOut, Listed } from './entries.ts'
import { EXCLUDE, FOLDER, INCLUDE_IGNORED, OF_LOOK } from './folder-arguments.ts'
import { nameWord } from './folders.ts'
import { type Counts, countsOf, cutLine, entriesWord, leftOutLine, sizeWord } from './left-out.ts'
import { type Failed, type Outcome, ok } from './outcome.ts'
import { oneLine } from './wording.ts'

/** Entries of one folder that are drawn, so that a large one does not take the place of all others. */
const OF_ONE_FOLDER = 60

/** What `directory_tree` answers with. */
export interface Tree {
  /** From the project's root; `.` is the root itself. */
  readonly path: string
  readonly children: readonly TreeNode[]
  /** Names in the folder itself that are not drawn; null where that is not known. */
  readonly more: number | null
  /** How many are drawn in all. */
  readonly entries: number
  readonly left_out: Counts
  /** Whether a folder was not opened, or not all of it drawn. */
  readonly truncated: boolean
  readonly notes: readonly string[]
}

export interface TreeNode {
  readonly name: string
  readonly kind: EntryKind
  readonly bytes?: number
  readonly target?: string
  readonly ignored?: true
  readonly unnameable?: true
  /** Of a folder that was opened. */
  readonly children?: readonly TreeNode[]
  /** Names in the folder that are not drawn, where there are any; null where that is not known. */
  readonly more?: number | null
  /** Why a folder was not opened. */
  readonly unopened?: 'depth' | 'limit' | 'time' | 'unreadable' | 'git'
}

export const directoryTree = defineTool({
  name: 'directory_tree',
  description:
    'Draw a folder of the project with what is below it, near things before deep ones: folders that do not fit are ' +
    'shown and not opened. What ignore files leave out is not shown, but counted. Links are shown and not followed. ' +
    'Runs no code. For all names of one folder use list_directory, to find a file or a text search_files.',
  parameters: {
    path: FOLDER,
    depth: z.int().min(1).max(16).default(3).describe('How many levels to draw at most.'),
    limit: z.int().min(1).max(2_000).default(300).describe('How many names to draw at most.'),
    exclude_patterns: EXCLUDE,
    include_ignored: INCLUDE_IGNORED,
  },
  parameterAliases: { directory: 'path', dir: 'path', folder: 'path', max_depth: 'depth' },
  level: 'safe',
  profile: 'full',
  categories: ['files'],
  needs: [],
  paths: ['path'],
  examples: [
    { args: {}, shows: 'the project, three levels deep' },
    {
      args: { path: 'shop', depth: 2, exclude_patterns: ['tests/'] },
      shows: 'a part of it, without its tests',
    },
  ],

  handler: (args, context) => drawn(args, context),
  show: result => showTree(result as Tree),
})

interface Arguments {
  readonly path: string
  readonly depth: number
  readonly limit: number
  readonly exclude_patterns: readonly string[]
  readonly include_ignored: boolean
}

/** A node while the tree grows. */
interface Growing {
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
    truncated: cut !== null || more !== 0 || children.some(isPart),
    notes: [...notes, ...[cutLine(cut)].filter(line => line !== null)],
  })
}

class Growth {
  readonly root: Growing
  readonly left: Partial<LeftOut> = {}
  readonly notes = new Set<string>()
  /** The root as the answer has it. */
  shown: string
  entries = 0
  cut: Cut | null = null
  readonly #args: Arguments
  readonly #context: ToolContext
  readonly #end: number
  readonly #queue: Growing[]

  constructor(args: Arguments, context: ToolContext) {
    this.#args = args
    this.#context = context
    this.#end = performance.now() + context.lookMs * OF_LOOK
    this.shown = args.path
    this.root = { path: args.path, level: 0, node: { name: args.path, kind: 'folder' } }
    this.#queue = [this.root]
  }

  /** The next folder to open; those that are passed over are told why. */
  next(): Growing | undefined {
    for (let at = this.#queue.shift(); at !== undefined; at = this.#queue.shift()) {
      const why = this.#closed(at)
      if (why === undefined) return at
      at.node.unopened = why
    }
    return undefined
  }

  #closed({ level }: Growing): TreeNode['unopened'] {
    if (this.cut !== null) return 'time'
    if (level >= this.#args.depth) return 'depth'
    return this.entries >= this.#args.limit ? 'limit' : undefined
  }

  async open(at: Growing): Promise<Failed | undefined> {
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

function isPart({ unopened, more = 0, children = [] }: TreeNode): boolean {
  return (unopened !== undefined && unopened !== 'git') || more !== 0 || children.some(isPart)
}

function nodeOf({ name, kind, bytes, target, ignored, isNameable }: Entry): Growing['node'] {
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
