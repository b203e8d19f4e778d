import { defineTool } from './define.ts'
import type { EntryKind, FileInfo } from './entries.ts'
import { PATH } from './file-arguments.ts'
import { OF_LOOK } from './folder-arguments.ts'
import { minute } from './left-out.ts'
import { counted } from './naming.ts'
import { type Newline, newlineWord } from './newlines.ts'
import { ok } from './outcome.ts'
import type { TextEncoding } from './proposal.ts'
import { encodingWord } from './remarks.ts'
import { oneLine } from './wording.ts'

/** What `get_file_info` answers with. */
export interface FileFacts {
  /** From the project's root; links are resolved. */
  readonly path: string
  /** Absolute. */
  readonly real_path: string
  readonly kind: EntryKind
  /** Of a file; null otherwise. */
  readonly bytes: number | null
  /** Permissions in octal digits, as in `chmod`. */
  readonly mode: string
  /** When its content last changed, in UTC. */
  readonly modified: string
  /** Of a file that is text and not too large to be looked at; null otherwise, as are the next two. */
  readonly encoding: TextEncoding | null
  readonly newline: Newline | null
  readonly lines: number | null
  /** Names in a folder; null otherwise, and where they are too many to be counted in time. */
  readonly names: number | null
  readonly ignored: boolean
  /** The line that leaves it out: `.gitignore:3: *.log`. */
  readonly ignored_by: string | null
  /** Whether tools can change its text, with approval. */
  readonly editable: boolean
  readonly not_editable_because: string | null
  readonly notes: readonly string[]
}

export const getFileInfo = defineTool({
  name: 'get_file_info',
  description:
    'Tell all about one file or folder of the project without showing its content: kind, size, permissions, time of ' +
    'the last change, encoding, line ends, number of lines, whether an ignore file leaves it out, and whether tools ' +
    'can edit it. Pipes, sockets and devices are not opened. Runs no code.',
  parameters: {
    path: PATH.describe('The file or folder; a relative path is one from the root of the project.'),
  },
  parameterAliases: { file_path: 'path' },
  level: 'safe',
  profile: 'full',
  categories: ['files'],
  needs: [],
  paths: ['path'],
  examples: [{ args: { path: 'shop/orders.py' }, shows: 'what kind of text a file holds' }],

  async handler({ path }, { files, signal, lookMs }) {
    const info = await files.info(path, { signal, ms: lookMs * OF_LOOK })
    return info.type === 'failed' ? info : ok(factsOf(info))
  },

  show: result => showFacts(result as FileFacts),
})

function factsOf(info: FileInfo): FileFacts {
  const { shown, path, kind, bytes, mode, changedMs, content, names, ignoredBy, unchangeable } = info
  return {
    path: shown,
    real_path: path,
    kind,
    bytes,
    mode: mode.toString(8).padStart(3, '0'),
    modified: new Date(changedMs).toISOString(),
    encoding: content?.encoding ?? null,
    newline: content?.newline ?? null,
    lines: content?.lines ?? null,
    names,
    ignored: ignoredBy !== null,
    ignored_by: ignoredBy,
    editable: unchangeable === null,
    not_editable_because: unchangeable,
    notes: info.remarks,
  }
}

function showFacts(facts: FileFacts): string {
  const { path, kind, bytes, mode, modified, names, ignored_by, not_editable_because, notes } = facts
  const size = bytes === null ? [] : [counted(bytes, 'byte')]
  const inside = names === null ? [] : [counted(names, 'name')]
  const first = [
    kind,
    ...size,
    ...inside,
    ...contentFacts(facts),
    `mode ${mode}`,
    `changed ${minute(Date.parse(modified))} UTC`,
  ]
  return [
    `${oneLine(path)}: ${first.join('; ')}`,
    ...(ignored_by === null ? [] : [`ignored: ${oneLine(ignored_by)}`]),
    ...(not_editable_because === null ? [] : [`not editable: ${not_editable_because}`]),
    ...notes,
  ].join('\n')
}

function contentFacts({ encoding, newline, lines }: FileFacts): string[] {
  if (encoding === null || newline === null || lines === null) return []
  const ends = newline === 'none' ? 'no line end' : `lines end with ${newlineWord(newline)}`
  return [encodingWord(encoding) ?? 'UTF-8', counted(lines, 'line'), ends]
}

/** What `get_project_root` answers with. */
export interface ProjectRoot {
  /** Absolute, links resolved. Relative paths count from here. */
  readonly root: string
  /** Folders besides it that the user let tools work in. */
  readonly further_roots: readonly string[]
}

export const getProjectRoot = defineTool({
  name: 'get_project_root',
  description:
    'Tell the folder from which relative paths count, and the folders besides it that file tools may work in. Runs ' +
    'no code. For what is in it use directory_tree.',
  parameters: {},
  level: 'safe',
  profile: 'full',
  categories: ['files'],
  needs: [],
  examples: [{ args: {}, shows: 'where relative paths begin' }],

  async handler(_, { files }) {
    const roots = await files.roots()
    if (roots.type === 'failed') return roots
    return ok<ProjectRoot>({ root: roots.root, further_roots: roots.further })
  },

  show: result => showRoots(result as ProjectRoot),
})

function showRoots({ root, further_roots }: ProjectRoot): string {
  return [oneLine(root), ...further_roots.map(each => `also: ${oneLine(each)}`)].join('\n')
}
