import { createHash } from 'node:crypto'
import type {
  Choice,
  Committed,
  FileChange,
  Planned,
  ProjectFiles,
  Proposal,
  SeenFile,
  TextEncoding,
  Undone,
} from '../../tools/contract.ts'
import type { Tool } from '../../tools/define.ts'
import { newlineOf } from '../../tools/newlines.ts'
import { type Failed, failed, type Outcome, ok, type ToolError } from '../../tools/outcome.ts'
import { context } from '../tools/context.ts'
import { NO_FOLDERS } from './no-folders.ts'

/** Files that tools work on, and what became of them. */
export interface FilesRig {
  readonly files: ProjectFiles
  commit(changes: readonly FileChange[]): Promise<Committed | Failed>
  /** The bytes of a file by its path from the root; undefined where there is none. */
  read(path: string): Buffer | undefined
  /** As another program would write it. */
  write(path: string, bytes: string | Uint8Array): void
  close(): void
}

/** Files in memory, in one folder and its subfolders, all of which are there. */
export function openMemoryFiles(): FilesRig {
  const disk = new Map<string, Buffer>()
  const kept = new Map<string, readonly FileChange[]>()
  const look = (path: string) => seen(path, disk)

  async function commit(changes: readonly FileChange[]): Promise<Committed | Failed> {
    const moved = changes.filter(change => !same(disk.get(change.shown), change.before))
    if (moved.length > 0) return stale(moved)
    for (const { shown, after } of changes)
      if (after === null) disk.delete(shown)
      else disk.set(shown, Buffer.from(after))
    const undo = `change-${kept.size + 1}`
    kept.set(undo, changes)
    const files = changes.map(({ shown, after }) => ({
      path: shown,
      bytes: after?.length ?? 0,
      sha256: after === null ? null : hash(after),
    }))
    return { type: 'committed', undo, files }
  }

  async function undone(name: string): Promise<Undone | Failed> {
    const changes = kept.get(name)
    if (changes === undefined) return failed('not_found', { message: `There is no change ${name}.` })
    const moved = changes.filter(change => !same(disk.get(change.shown), change.after))
    if (moved.length > 0) return stale(moved)
    return {
      type: 'undone',
      files: changes.map(({ shown }) => look(shown)),
      changes: changes.map(one => ({ ...one, before: one.after, after: one.before })),
    }
  }

  function changed(file: SeenFile, text: string): FileChange | Failed {
    const after = encoded(text, file.encoding)
    if (after === undefined) return failed('not_text', { message: `${file.encoding} cannot spell it.` })
    return { path: file.path, shown: file.shown, before: disk.get(file.shown) ?? null, after }
  }

  const removed = ({ path, shown }: SeenFile) => ({
    path,
    shown,
    before: disk.get(shown) ?? null,
    after: null,
  })

  return {
    files: {
      ...NO_FOLDERS,
      look: async path => look(path),
      lookForNew: async path => look(path),
      changed,
      removed,
      moved(file, { path, shown }) {
        const goes = removed(file)
        return [{ path, shown, before: null, after: goes.before }, goes]
      },
      undone,
      decoded: bytes => ({ ...decoded(Buffer.from(bytes)), sha256: hash(bytes) }),
    },
    commit,
    read: path => disk.get(path),
    write: (path, bytes) => void disk.set(path, Buffer.from(bytes as string)),
    close: () => undefined,
  }
}

function seen(shown: string, disk: ReadonlyMap<string, Buffer>): SeenFile {
  const bytes = disk.get(shown)
  const { text, encoding } = decoded(bytes ?? Buffer.alloc(0))
  const now = bytes === undefined ? '' : hash(bytes)
  return {
    type: 'seen',
    path: `/project/${shown}`,
    shown,
    exists: bytes !== undefined,
    text,
    encoding,
    newline: newlineOf(text ?? ''),
    bytes: bytes?.length ?? 0,
    sha256: bytes === undefined ? null : now,
    isLink: false,
    newFolders: [],
    remarks: [],
    evidence: {
      what: shown,
      hash: hash(now),
      moved: async () => (same(disk.get(shown), bytes ?? null) ? undefined : `${shown} was changed`),
    },
  }
}

function decoded(bytes: Buffer): { text: string | null; encoding: TextEncoding } {
  if (bytes[0] === 0xff && bytes[1] === 0xfe)
    return { text: bytes.toString('utf16le', 2), encoding: 'utf-16le' }
  if (bytes.includes(0)) return { text: null, encoding: 'binary' }
  const text = bytes.toString('utf8')
  if (text.includes('\ufffd')) return { text: bytes.toString('latin1'), encoding: 'latin-1' }
  return text.startsWith('\ufeff')
    ? { text: text.slice(1), encoding: 'utf-8-bom' }
    : { text, encoding: 'utf-8' }
}

function encoded(text: string, encoding: TextEncoding): Buffer | undefined {
  if (encoding === 'utf-16le') return Buffer.from(`\ufeff${text}`, 'utf16le')
  if (encoding === 'latin-1') return /[^\0-\xff]/.test(text) ? undefined : Buffer.from(text, 'latin1')
  return Buffer.from(encoding === 'utf-8-bom' ? `\ufeff${text}` : text)
}

const stale = (moved: readonly FileChange[]): Failed =>
  failed('stale_plan', { message: 'It has moved on.', details: { causes: moved.map(({ shown }) => shown) } })

function same(one: Uint8Array | undefined, other: Uint8Array | null): boolean {
  return one === undefined || other === null
    ? one === undefined && other === null
    : Buffer.compare(one, other) === 0
}

export const hash = (bytes: string | Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** A tool with these arguments as the call path would work it out, up to where somebody is asked. */
export function planned(
  tool: Tool,
  args: Readonly<Record<string, unknown>>,
  { files }: FilesRig,
): Promise<Planned> {
  return tool.plan(checked(tool, args), { ...context(), files })
}

export async function proposalOf(
  tool: Tool,
  args: Readonly<Record<string, unknown>>,
  rig: FilesRig,
): Promise<Proposal> {
  const proposal = await planned(tool, args, rig)
  if (proposal.type !== 'proposal') throw new Error(`expected a proposal, got ${JSON.stringify(proposal)}`)
  return proposal
}

/** Why it comes to nothing before anybody is asked. */
export async function refusalOf(
  tool: Tool,
  args: Readonly<Record<string, unknown>>,
  rig: FilesRig,
): Promise<ToolError> {
  const plan = await planned(tool, args, rig)
  if (plan.type !== 'failed') throw new Error(`expected a failure, got ${plan.type}`)
  return plan.error
}

/** The same, approved and carried out. `meanwhile` happens between the two. */
export async function approved(
  tool: Tool,
  args: Readonly<Record<string, unknown>>,
  rig: FilesRig,
  meanwhile?: () => void,
): Promise<Outcome> {
  const plan = await planned(tool, args, rig)
  if (plan.type !== 'proposal') return plan
  meanwhile?.()
  return carriedOut(plan, rig)
}

/** The same with what a person chose of its hunks. A failure where that makes no plan. */
export async function chosen(
  tool: Tool,
  args: Readonly<Record<string, unknown>>,
  rig: FilesRig,
  choices: readonly Choice[],
): Promise<Outcome> {
  const { hunks } = await proposalOf(tool, args, rig)
  const plan = hunks?.choose(choices) ?? failed('internal', { message: 'It has no hunks.' })
  if (plan.type === 'failed') return plan
  return carriedOut(plan, rig)
}

async function carriedOut({ changes, result }: Proposal, { commit }: FilesRig): Promise<Outcome> {
  const committed = await commit(changes)
  return committed.type === 'failed' ? committed : ok(result?.(committed))
}

function checked(tool: Tool, args: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return tool.parameters.parse(tool.renamed(args)) as Record<string, unknown>
}
