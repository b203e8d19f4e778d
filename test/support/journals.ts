import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import type { JournalEntry } from '../../src/journal/entries.ts'
import { type JournalFiles, NODE_FILES } from '../../src/journal/files.ts'
import { type JournalOptions, type OpenJournal, openJournal } from '../../src/journal/journal.ts'
import { readEntries } from '../../src/journal/reader.ts'
import type { CallId } from '../../wire/contract/values.ts'
import type { Suite } from './harness.ts'

/** Journals of one suite, in a folder of its own for each test. */
export interface Journals {
  /** The state directory, and that of its journal. */
  readonly folder: string
  readonly dir: string
  open(options?: Partial<JournalOptions>): OpenJournal
  /** What a daemon wrote that then ended; calls of `begun` have no end. */
  earlierDaemon(calls: number, begun?: readonly string[], segmentBytes?: number): Promise<void>
  /** A state directory more. */
  another(): { readonly folder: string; readonly dir: string }
  /** The names of the files, and what is in one. */
  names(): string[]
  bytes(name: string): Buffer
  /** What all lines say, in order, once everything is written. */
  entries(dir?: string): Promise<Record<string, unknown>[]>
}

export function journalsOf(test: Suite): Journals {
  let folder = ''
  const open: OpenJournal[] = []
  test.before.each(() => {
    folder = mkdtempSync(join(tmpdir(), 'imago-journal-'))
  })
  test.after.each(async () => {
    for (const journal of open.splice(0)) await journal.close().catch(() => undefined)
    rmSync(folder, { recursive: true, force: true })
  })
  const dir = () => join(folder, 'journal')
  return {
    get folder() {
      return folder
    },
    get dir() {
      return dir()
    },
    open(options = {}) {
      const journal = openJournal({ stateDir: folder, ...options })
      open.push(journal)
      return journal
    },
    async earlierDaemon(calls, begun = [], segmentBytes = 1_000_000) {
      const journal = openJournal({ stateDir: folder, segmentBytes })
      for (let index = 0; index < calls; index++) {
        journal.write(dispatched(`call-${index}`, { expr: 'naïve → 日本' }))
        journal.write(ended(`call-${index}`))
      }
      for (const call of begun) journal.write(dispatched(call))
      await journal.close()
    },
    names: () => readdirSync(dir()).sort(),
    bytes: name => readFileSync(join(dir(), name)),
    entries: (of = dir()) => entriesIn(of),
    another() {
      const more = mkdtempSync(join(folder, 'more-'))
      return { folder: more, dir: join(more, 'journal') }
    },
  }
}

export async function entriesIn(dir: string): Promise<Record<string, unknown>[]> {
  const entries: Record<string, unknown>[] = []
  for await (const line of readEntries(dir)) {
    if (line.type === 'unreadable')
      throw new Error(`${line.file}, line ${line.line} cannot be read: ${line.text}`)
    entries.push(line.entry)
  }
  return entries
}

export function dispatched(call: string, args: unknown = {}): JournalEntry {
  const where = { level: 'cautious', kernel: 'main', epoch: 'e', decision: 'allow' } as const
  return { type: 'dispatched', call: call as CallId, tool: 't', caller: 'c', args, ...where }
}

export function ended(call: string, outcome = 'ok'): JournalEntry {
  return { type: 'ended', call: call as CallId, outcome, elapsed_ms: 1 }
}

export function requested(call: string): JournalEntry {
  const plan = { id: `plan-${call}`, hash: 'h', title: 't', preview_sha256: 's', preview_bytes: 1, paths: [] }
  const where = { level: 'dangerous', kernel: 'main', epoch: 'e' } as const
  return { type: 'requested', call: call as CallId, tool: 't', caller: 'c', args: {}, plan, ...where }
}

export function decided(call: string, answer: 'approved' | 'denied' = 'approved'): JournalEntry {
  return {
    type: 'decided',
    call: call as CallId,
    plan: `plan-${call}`,
    answer,
    by: 'seat-1',
    reason: null,
  }
}

/** Names of what a journal does with the file system, in the order in which it does it. */
export type DiskCall = keyof JournalFiles

/** The file system, with something done before each call: an error thrown there is the error of the call. */
export function watched(before: (call: DiskCall, args: readonly unknown[]) => void): JournalFiles {
  return new Proxy(NODE_FILES, {
    get(files, name: DiskCall) {
      const call = files[name] as (...args: unknown[]) => unknown
      const later = name === 'readLater' || name === 'sync' || name === 'syncDirectory' || name === 'remove'
      return (...args: unknown[]) => {
        try {
          before(name, args)
        } catch (error) {
          if (later) return Promise.reject(error)
          throw error
        }
        return call(...args)
      }
    },
  })
}

/** Files that are only read, from memory: what a file system would be too slow for. */
export function remembered(contents: ReadonlyMap<string, Buffer>): JournalFiles {
  const open: Buffer[] = []
  const read = (fd: number, into: Uint8Array, at: number) => open[fd]?.copy(into, 0, at) ?? 0
  return {
    ...NODE_FILES,
    list: () => [...contents.keys()],
    openToRead(path) {
      const bytes = contents.get(basename(path))
      if (bytes === undefined) throw new Error(`ENOENT: ${path}`)
      return open.push(bytes) - 1
    },
    stat: fd => ({ size: open[fd]?.length ?? 0, links: 1, id: String(fd) }),
    read,
    readLater: async (fd, into, at) => read(fd, into, at),
    close: () => {},
  }
}

export function systemError(code: string): Error {
  return Object.assign(new Error(`${code}: made by a test`), { code })
}
