import { randomBytes } from 'node:crypto'
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '../../wire/errors.ts'
import { EXIT, Failure } from '../failure.ts'
import { claimInstance, holderOf } from '../instance.ts'
import { VERSION } from '../paths.ts'
import { ENTRY, type Entry, type EntryOf } from './entries.ts'

/** A run that this process writes; no other can at the same time. */
export interface RunFile {
  readonly run: string
  /** Those that were written before, and since. */
  readonly entries: readonly Entry[]
  /** Appends it, so that it outlives this process; most outlive the machine too. Throws a `Failure` where that is not possible. */
  keep(entry: Entry): void
  /** It was not needed. */
  remove(): void
  close(): void
}

/** Another process works at it. */
export class AtWork extends Failure {
  constructor(run: string, pid: number | undefined) {
    super(`${run} is at work already, in process ${pid}. Follow it: imago runs show ${run} --follow`)
  }
}

/** What is known of a run from its file. */
export interface KeptRun {
  readonly run: string
  readonly entries: readonly Entry[]
  /** The process that works at it; undefined where none does. */
  readonly pid: number | undefined
}

/**
 * These need not outlive the machine, as no image does. A request is made again. A call is made again under its name, of
 * which the journal knows whether it ran.
 */
const UNSYNCED: readonly Entry['type'][] = ['asked', 'called', 'ended']

const folderOf = (stateDir: string) => join(stateDir, 'runs')
const fileOf = (stateDir: string, run: string) => join(folderOf(stateDir), `${run}.jsonl`)
const NAME = /^run-([1-9]\d{0,8})$/
const FILE = /^(run-[1-9]\d{0,8})\.jsonl$/

/** Begins a run under the next number. Nobody finds its file before that has the first entry. */
export async function beginRun(stateDir: string, begun: (run: string) => EntryOf<'begun'>): Promise<RunFile> {
  const folder = folderOf(stateDir)
  const draft = join(folder, `${randomBytes(6).toString('hex')}.new`)
  for (let number = highest(stateDir) + 1; ; number++) {
    const run = `run-${number}`
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      writeFileSync(draft, lineOf(begun(run)), { flag: 'wx', mode: 0o600 })
      linkSync(draft, fileOf(stateDir, run))
    } catch (error) {
      if (isCode(error, 'EEXIST')) continue
      throw unwritable(error, fileOf(stateDir, run))
    } finally {
      rmSync(draft, { force: true })
    }
    return openRun(stateDir, run)
  }
}

const lineOf = (entry: Entry) => `${JSON.stringify(entry)}\n`

/**
 * Takes a run up again. An entry that was cut short is taken away: the process that wrote it did nothing more. Throws a
 * `Failure` where the run is not there, where another process works at it, or where its file is not as we wrote it.
 */
export async function openRun(stateDir: string, run: string): Promise<RunFile> {
  const path = fileOf(stateDir, run)
  const file = openFile(stateDir, run, constants.O_RDWR | constants.O_APPEND)
  try {
    // Read once no other process can write.
    const read = () => {
      const { entries, whole } = entriesIn(file, path)
      ftruncateSync(file, whole)
      return entries
    }
    return await claimed({ stateDir, run, file, read })
  } catch (error) {
    throw unwritable(error, path)
  }
}

interface Claimed {
  readonly stateDir: string
  readonly run: string
  readonly file: number
  read(): readonly Entry[]
}

async function claimed({ stateDir, run, file, read }: Claimed): Promise<RunFile> {
  const dir = folderOf(stateDir)
  const claim = await claimInstance({ dir, name: run, version: VERSION, listens: async () => false })
  if (claim.type === 'taken') {
    closeSync(file)
    throw new AtWork(run, claim.by?.pid)
  }
  const all: Entry[] = []
  const close = () => {
    closeSync(file)
    removeLocks(dir, run)
  }
  try {
    all.push(...read())
  } catch (error) {
    close()
    throw error
  }
  let broken = false
  return {
    run,
    entries: all,
    keep(entry) {
      try {
        // Half of it may be there: what came after would not be an entry.
        if (broken) throw new Error('an entry before could not be written')
        const bytes = Buffer.from(lineOf(entry))
        for (let sent = 0; sent < bytes.length; ) sent += writeSync(file, bytes, sent)
        if (!UNSYNCED.includes(entry.type)) fsyncSync(file)
        all.push(entry)
      } catch (error) {
        broken = true
        throw unwritable(error, fileOf(stateDir, run))
      }
    },
    remove: () => rmSync(fileOf(stateDir, run), { force: true }),
    close,
  }
}

function removeLocks(dir: string, run: string): void {
  for (const name of readdirSync(dir))
    if (name.startsWith(`${run}.lock.`)) rmSync(join(dir, name), { force: true })
}

/** A run as its file has it. Throws a `Failure` as `openRun` does. */
export function keptRun(stateDir: string, run: string): KeptRun {
  const file = openFile(stateDir, run, constants.O_RDONLY)
  try {
    const { entries } = entriesIn(file, fileOf(stateDir, run))
    return { run, entries, pid: holderOf(folderOf(stateDir), run)?.pid }
  } finally {
    closeSync(file)
  }
}

/** Bytes of its file, which only grows while it is there; 0 where it is none. */
export const runSize = (stateDir: string, run: string): number =>
  statSync(fileOf(stateDir, run), { throwIfNoEntry: false })?.size ?? 0

export const isAtWork = (stateDir: string, run: string): boolean =>
  holderOf(folderOf(stateDir), run) !== undefined

/** The names of all runs, the newest first. */
export function runNames(stateDir: string): readonly string[] {
  return numbersOf(stateDir)
    .sort((one, other) => other - one)
    .map(number => `run-${number}`)
}

/** Removes the file of a run, also one that cannot be used. Throws a `Failure` where there is none, or a process works at it. */
export function removeRun(stateDir: string, run: string): void {
  if (!runNames(stateDir).includes(run)) throw noRun(run)
  const dir = folderOf(stateDir)
  const holder = holderOf(dir, run)
  if (holder !== undefined) throw new Failure(`${run} is at work, in process ${holder.pid}.`)
  rmSync(fileOf(stateDir, run), { force: true })
  removeLocks(dir, run)
}

const noRun = (run: string, options: ErrorOptions = {}) =>
  new Failure(`There is no ${run}. imago runs lists those that there are.`, options)

const highest = (stateDir: string) => Math.max(0, ...numbersOf(stateDir))

function numbersOf(stateDir: string): number[] {
  try {
    return readdirSync(folderOf(stateDir)).flatMap(name => {
      const [, run = ''] = FILE.exec(name) ?? []
      return run === '' ? [] : [Number(NAME.exec(run)?.[1])]
    })
  } catch (error) {
    if (isCode(error, 'ENOENT')) return []
    throw error
  }
}

function openFile(stateDir: string, run: string, flags: number): number {
  const path = fileOf(stateDir, run)
  if (!NAME.test(run))
    throw new Failure(`${run} is not the name of a run. imago runs lists them.`, { exit: EXIT.usage })
  try {
    return openSync(path, flags | constants.O_NOFOLLOW)
  } catch (error) {
    if (isCode(error, 'ENOENT')) throw noRun(run, { cause: error })
    throw new Failure(`${path} cannot be read: ${messageOf(error)}`, { cause: error })
  }
}

/** `whole`: the bytes of all entries that are whole. */
function entriesIn(file: number, path: string): { entries: Entry[]; whole: number } {
  const { uid, mode } = fstatSync(file)
  if (process.getuid !== undefined && uid !== process.getuid())
    throw new Failure(`${path} belongs to user ${uid}, not to you, and is not used.`)
  if ((mode & 0o022) !== 0)
    throw new Failure(`${path} can be written by others, and is not used. If nobody did: chmod 600 ${path}`)
  const bytes = readFileSync(file)
  const whole = bytes.lastIndexOf(0x0a) + 1
  const lines = bytes.subarray(0, whole).toString('utf8').split('\n').slice(0, -1)
  const entries = lines.map((line, index) => entryIn(line, `${path}, line ${index + 1}`))
  if (entries[0]?.type !== 'begun' || entries.slice(1).some(({ type }) => type === 'begun'))
    throw new Failure(`${path} does not begin as a run does, and is not used.`)
  return { entries, whole }
}

function entryIn(line: string, place: string): Entry {
  try {
    return ENTRY.parse(JSON.parse(line))
  } catch (error) {
    throw new Failure(`${place} is no entry of a run: it was changed, and the run is not used.`, {
      cause: error,
    })
  }
}

const unwritable = (error: unknown, path: string) =>
  error instanceof Failure
    ? error
    : new Failure(`${path} cannot be written: ${messageOf(error)}. Nothing more was done.`, { cause: error })

const isCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code
