import { closeSync, fdatasync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { JournalEntry } from '../../src/journal/entries.ts'
import { type OpenJournal, openJournal } from '../../src/journal/journal.ts'
import type { CallId } from '../../wire/contract/values.ts'
import { interleaved, median, type Row } from '../row.ts'

let folder = ''

const folders = new Set<string>()

// A round that fails leaves nothing behind either.
process.once('exit', () => {
  for (const path of folders) rmSync(path, { recursive: true, force: true })
})

function makeFolder(): string {
  const path = mkdtempSync(join(tmpdir(), 'imago-bench-journal-'))
  folders.add(path)
  return path
}

function removeFolder(path: string): void {
  rmSync(path, { recursive: true, force: true })
  folders.delete(path)
}

function entry(number: number): JournalEntry {
  const call = `call-${number >> 1}` as CallId
  if (number % 2 === 1) return { type: 'ended', call, outcome: 'ok', elapsed_ms: 1.25 }
  const where = { level: 'cautious', kernel: 'python', epoch: '0123456789abcdef', decision: 'allow' } as const
  return { type: 'dispatched', call, tool: 'eval_expr', caller: 'client-1', args: { expr: '1+2' }, ...where }
}

/** A state directory whose journal holds so many entries. */
async function journalOf(entries: number): Promise<string> {
  const stateDir = join(folder, String(entries))
  const journal = openJournal({ stateDir })
  for (let number = 0; number < entries; number++) journal.write(entry(number))
  await journal.close()
  return stateDir
}

/** What is begun in the background ends with `close`, so only the opening counts. */
async function opening(stateDir: string): Promise<number> {
  const begun = performance.now()
  const journal = openJournal({ stateDir })
  const elapsed = (performance.now() - begun) * 1_000
  await journal.close()
  return elapsed
}

const made: string[] = []

export const journalOpen: Row = {
  what: 'opening a journal of 10⁶ entries, against one of 10³',
  how: 'median of 100 openings of each, one of each in turn',
  bar: { relation: '≤', limit: 1.5, unit: '×' },
  async setUp() {
    folder = makeFolder()
    for (const entries of [1_000, 1_000_000]) made.push(await journalOf(entries))
  },
  async measure() {
    const times = made.map((): number[] => [])
    for (let turn = 0; turn < 100; turn++)
      for (const [index, stateDir] of made.entries()) times[index]?.push(await opening(stateDir))
    const [small_us = Number.NaN, large_us = Number.NaN] = times.map(median)
    return { figure: large_us / small_us, parts: { small_us, large_us } }
  },
  async tearDown() {
    made.length = 0
    removeFolder(folder)
  },
}

const fileSync = promisify(fdatasync)

/** About what a dispatched call takes in the journal. */
const BYTES = Buffer.alloc(290, 'x')

let synced: { folder: string; journal: OpenJournal; fd: number; calls: number } | undefined

export const journalSync: Row = {
  what: 'one entry of the journal that is on the disk before anything happens, against a bare `fdatasync`',
  how: 'the line of a dispatched call, 200 times each in alternating blocks of 10, against as many bytes appended to a file of its own on the same disk',
  bar: { relation: '≤', limit: 1.5, unit: '×' },
  async setUp() {
    const dir = makeFolder()
    const fd = openSync(join(dir, 'bare'), 'a')
    synced = { folder: dir, journal: openJournal({ stateDir: dir }), fd, calls: 0 }
  },
  async measure() {
    if (synced === undefined) throw new Error('the row was not set up')
    const place = synced
    const ours = () => place.journal.sync(entry(2 * place.calls++))
    const bare = async () => {
      writeSync(place.fd, BYTES)
      await fileSync(place.fd)
    }
    const [one = [], other = []] = await interleaved({ blocks: 20, each: 10 }, ours, bare)
    const [ours_us, fdatasync_us] = [median(one), median(other)]
    return { figure: ours_us / fdatasync_us, parts: { ours_us, fdatasync_us } }
  },
  async tearDown() {
    if (synced === undefined) return
    await synced.journal.close()
    closeSync(synced.fd)
    removeFolder(synced.folder)
  },
}
