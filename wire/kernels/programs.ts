import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { readMost } from '../bounded-file.ts'
import { errorRecord } from '../contract/inspection.ts'
import { errnoOf, WireError } from '../errors.ts'
import type { ErrorRecord, Kernel } from '../kernel.ts'
import { connect } from '../link/transport.ts'
import { listensAt, startOf } from '../process-start.ts'
import type { Announcements, Joining, Program, ProgramEnd, Programs, SkippedFile } from '../programs.ts'
import { type AttachLimits, type AttachRequest, attachKernel, type Reach, rejoinKernel } from './attach.ts'
import { type KernelSettings, serverAt } from './languages.ts'
import { homeSecret } from './swank-secret.ts'

interface ProgramsOptions {
  readonly runtimeDir: string
  /** What a person has configured, where a kernel is spoken to by a process of ours. */
  readonly settings?: KernelSettings
  readonly limits?: Partial<AttachLimits>
  /** Told the secret of each program that is reached, so that it is kept out of what is written. */
  secret?(value: string): void
}

/** A program takes its announcement back when it ends as well: how long it then has to be gone, in ms. */
const ENDING_MS = 2_000

/** How many false announcements of one process are removed in one try to join it. */
const MOST_FALSE = 20

export function openPrograms({ runtimeDir, settings = {}, limits, secret }: ProgramsOptions): Programs {
  const requestOf = (joining: Joining): AttachRequest => ({
    name: joining.name,
    reach: () => {
      const reach = reachOf(joining, runtimeDir)
      secret?.(reach.secret)
      return reach
    },
    gone: watchFor(joining, runtimeDir),
    background: (_stream, text) => joining.background(text),
    away: why => joining.away(why),
    ...(limits && { limits }),
  })
  const servedOf = (joining: Joining) => ({
    joining,
    settings,
    runtimeDir,
    ...(secret && { secret: (value: string) => secret(value) }),
    ...(limits && { limits }),
  })
  /**
   * Joins a program that is the process it has announced itself as. An announcement that names another one is removed,
   * and the next one of that process is tried.
   */
  async function attach(joining: Joining, { tries = MOST_FALSE } = {}): Promise<Kernel> {
    // As it is before anybody answers: a process that answers late cannot have the announcement of another one removed.
    const announced = announcementOf(joining, runtimeDir)
    const kernel = await attachKernel(requestOf(joining))
    const { pid } = kernel.identity
    if (announced === undefined || (announced.pid === pid && listensItself(announced) !== false))
      return kernel
    await kernel.close()
    rmSync(announced.file, { force: true })
    if (tries > 1 && announcementOf(joining, runtimeDir) !== undefined)
      return attach(joining, { tries: tries - 1 })
    const who = announced.pid === pid ? 'another one' : `process ${pid}`
    throw new WireError(
      'LINK_REFUSED',
      `${announced.file} named process ${announced.pid}, and ${who} answers there. It was removed.`,
    )
  }
  return {
    read: () => readAnnouncements(runtimeDir),
    folder: programsFolder(runtimeDir),
    version: () => versionOf(programsFolder(runtimeDir)),
    lives: pid => startOf(pid) !== undefined,
    isReachable,
    homeSecret: () => homeSecret(),
    attach: joining => {
      const server = serverAt(joining.address)
      return server === undefined ? attach(joining) : server.attach(servedOf(joining))
    },
    rejoin: joining => {
      const { address, epoch, signal } = joining
      const server = serverAt(address)
      if (server === undefined) return rejoinKernel({ ...requestOf(joining), epoch, signal })
      return server.rejoin({ ...servedOf(joining), epoch, signal })
    },
  }
}

function reachOf(joining: Joining, runtimeDir: string): Reach {
  const { name, address, key } = joining
  const announced = announcementOf(joining, runtimeDir)
  if (key !== undefined) return { address: announced?.address ?? address, secret: key }
  if (announced !== undefined) return { address: announced.address, secret: secretOf(announced) }
  throw new WireError('LINK_REFUSED', `${name} has taken its announcement back.`)
}

/** A process that had to listen anew has announced another address than the one it was first joined at. */
function announcementOf({ address, process }: Joining, runtimeDir: string): Program | undefined {
  const { programs } = readAnnouncements(runtimeDir)
  return programs.find(one =>
    process === null ? one.address === address : one.pid === process.pid && one.started === process.started,
  )
}

/**
 * Asked now and then, says when its process is not there any more, or has taken back what it had announced, which comes
 * before it hangs up, and goes on nevertheless.
 */
function watchFor(joining: Joining, runtimeDir: string): () => string | undefined {
  const { name, process } = joining
  let silentSince: number | undefined
  return () => {
    if (process === null || !process.seen) return undefined
    const now = startOf(process.pid)
    if (now !== process.started) {
      const since = now === undefined ? '' : `, and ${process.pid} is the number of another one now`
      return `${name} has ended (process ${process.pid}${since}).`
    }
    if (announcementOf(joining, runtimeDir) !== undefined) {
      silentSince = undefined
      return undefined
    }
    silentSince ??= performance.now()
    if (performance.now() - silentSince < ENDING_MS) return undefined
    return `${name} has stopped listening (process ${process.pid} lives on).`
  }
}

/** A larger file is none of ours. */
const MOST_BYTES = 16 * 1024

/**
 * Reads what programs have announced in the runtime directory, and asks none of them.
 *
 * An announcement leads the daemon to an address, and holds the secret of it: one that others could have written, or
 * can read, is skipped, and so is a malformed one. A runtime directory that is not closed to others has none at all.
 */
export function readAnnouncements(runtimeDir: string): Announcements {
  const folder = programsFolder(runtimeDir)
  const programs: Program[] = []
  const ends: ProgramEnd[] = []
  const skipped: SkippedFile[] = []
  const wrong = flawOf(folder, 'directory')
  if (wrong === 'is not there') return { programs, ends, skipped }
  if (wrong !== undefined) return { programs, ends, skipped: [{ file: folder, reason: wrong }] }
  for (const name of readdirSync(folder).sort()) {
    if (!name.endsWith('.json')) continue
    const file = join(folder, name)
    const read = readOne(file)
    if (read === undefined) continue
    if ('reason' in read) skipped.push(read)
    else if (read.ended === undefined) programs.push(read.announcement)
    else ends.push({ program: read.announcement, ended: read.ended })
  }
  // Process numbers begin again from the lowest.
  const order = ({ name, announced_at }: Program) => `${name} ${announced_at}`
  programs.sort((a, b) => (order(a) < order(b) ? -1 : 1))
  // One that has replaced itself, or has had to listen once more, may not have taken back what it said before, and
  // another process may have named it: the one that listens there has said so itself.
  const isTrue = (one: Program) => {
    const others = programs.filter(other => other !== one && isSameProcess(other, one))
    if (others.length === 0) return true
    const [isOwn, ...own] = [one, ...others].map(each => listensItself(each) === true)
    const isNewest = !others.some((other, at) => own[at] === isOwn && isNewer(other, one))
    return isNewest && (isOwn || !own.includes(true))
  }
  ends.sort(({ program: a }, { program: b }) => (a.announced_at < b.announced_at ? -1 : 1))
  for (const { program } of ends.slice(0, -ENDS_KEPT)) remove(program)
  return { programs: programs.filter(isTrue), ends: ends.slice(-ENDS_KEPT), skipped }
}

const isSameProcess = (one: Program, other: Program) =>
  one.pid === other.pid &&
  (one.started === other.started || (one.process === 'lives' && other.process === 'lives'))

/** Of two of one time only one can be the newest. */
const isNewer = (one: Program, other: Program) =>
  one.announced_at === other.announced_at ? one.file > other.file : one.announced_at > other.announced_at

/** Whether the process that is named listens there; undefined where that cannot be seen. */
function listensItself({ address, pid, process }: Program): boolean | undefined {
  if (process !== 'lives' || !address.startsWith('unix:')) return undefined
  return listensAt(pid, address.slice('unix:'.length))
}

/** Words of programs that have ended, which nobody may ever ask for. */
const ENDS_KEPT = 20

/** Systems note the time of a change in steps of up to 10 ms: what has just changed can change again at the same time. */
const STEP_MS = 20

function versionOf(folder: string): string {
  const stat = statSync(folder, { bigint: true, throwIfNoEntry: false })
  if (stat === undefined) return ''
  const isSettled = Date.now() - Number(stat.mtimeMs) > STEP_MS
  return isSettled ? String(stat.mtimeNs) : `${stat.mtimeNs} ${performance.now()}`
}

/**
 * The secret of a program, read again each time it is needed. Throws `NOT_AUTHENTICATED` if the file does not hold
 * one: the program was given a key, which a person has to give us as well; `LINK_REFUSED` if it has gone.
 */
export function secretOf({ file, name, epoch }: Program): string {
  const read = readOne(file)
  if (read === undefined || 'reason' in read || read.announcement.epoch !== epoch)
    throw new WireError('LINK_REFUSED', `${name} has taken its announcement back.`)
  if (read.secret !== null) return read.secret
  throw new WireError('NOT_AUTHENTICATED', `${name} was given a key of its own, which is needed to attach.`)
}

/**
 * Whether somebody listens where a program has said. What is certainly left over by one that has ended is removed on
 * the way: its process is gone, and its socket has nobody behind it.
 */
export async function isReachable(announcement: Program): Promise<boolean> {
  try {
    const transport = await connect(announcement.address)
    transport.on('error', () => {})
    transport.destroy()
    return true
  } catch (error) {
    if (announcement.process !== 'lives' && isLeftOver(announcement, error)) removeLeftOver(announcement)
    return codeOf(error) === 'EAGAIN'
  }
}

/**
 * A socket's file that refuses, or is missing from the very folder of the announcement, has no listener anywhere. A port
 * is another's business as long as the program may run under another kernel, where it may have a listener.
 */
function isLeftOver({ address, file, started }: Program, error: unknown): boolean {
  if (!address.startsWith('unix:')) return codeOf(error) === 'ECONNREFUSED' && isOfThisBoot(started)
  const here = dirname(address.slice('unix:'.length)) === dirname(file)
  return codeOf(error) === 'ECONNREFUSED' || (codeOf(error) === 'ENOENT' && here)
}

/** Where the system tells no boot, there is none but this one. */
function isOfThisBoot(started: string): boolean {
  if (process.platform !== 'linux') return true
  const boot = startOf(process.pid)?.split(':')[0]
  return boot !== undefined && started.split(':')[0] === boot
}

/** It may have said in the meantime how it ended: that is kept. */
function removeLeftOver(announcement: Program): void {
  const read = readOne(announcement.file)
  if (read === undefined || 'reason' in read || read.ended === undefined) remove(announcement)
}

function remove({ address, file }: Program): void {
  rmSync(file, { force: true })
  if (!address.startsWith('unix:')) return
  const socket = address.slice('unix:'.length)
  if (dirname(socket) === dirname(file)) rmSync(socket, { force: true })
}

const codeOf = (error: unknown) => errnoOf(error instanceof Error ? error.cause : undefined)

const programsFolder = (runtimeDir: string) => join(runtimeDir, 'programs')

const TEXT = z.string().max(4_096)
const SHAPE = z.object({
  imago: z.literal(1),
  name: z.string().min(1).max(200),
  language: z.string().min(1).max(64),
  implementation: z.string().max(200),
  pid: z.int().positive(),
  started: z.string().max(200),
  parent: z.int().nonnegative().optional(),
  role: z.enum(['main', 'serves', 'helper', 'fork']).optional(),
  reloaded: z.boolean().optional(),
  works_for: z.array(z.string().max(200)).max(16).readonly().optional(),
  address: z.string().regex(/^(unix:\/.+|tcp:127\.0\.0\.1:\d{1,5})$/s),
  secret: z.string().min(32).max(1_024).nullish(),
  epoch: z.string().regex(/^[0-9a-f]{8}$/),
  cwd: TEXT,
  program: TEXT,
  announced_at: z.string().max(64),
  ended: z.string().max(4_096).optional(),
})

type Read =
  | { readonly announcement: Program; readonly secret: string | null; readonly ended: string | undefined }
  | SkippedFile

/** `undefined` for a file that has just gone. */
function readOne(file: string): Read | undefined {
  const skip = (reason: string): SkippedFile => ({ file, reason })
  const text = readPrivate(file, MOST_BYTES)
  if (typeof text !== 'string') return text
  const parsed = parse(text)
  if (parsed === undefined) return skip('is not JSON')
  if (typeof parsed === 'object' && parsed !== null && 'imago' in parsed && parsed.imago !== 1)
    return skip(`is of version ${JSON.stringify(parsed.imago)?.slice(0, 20)}, and this Imago knows version 1`)
  const shaped = SHAPE.safeParse(parsed)
  if (!shaped.success) return skip(`is no announcement: ${faultIn(shaped.error)}`)
  const { imago: _, secret = null, ended, ...said } = shaped.data
  const keyed = secret === null
  return { announcement: { ...said, keyed, file, process: processOf(said) }, secret, ended }
}

function faultIn({ issues: [issue] }: z.ZodError): string {
  return `${issue?.path.join('.') || 'it'}: ${issue?.message ?? 'is wrong'}`
}

function processOf({ pid, started }: { pid: number; started: string }): Program['process'] {
  const now = startOf(pid)
  if (now === undefined) return 'gone'
  return started === '' || now === started ? 'lives' : 'recycled'
}

/** What keeps a path from being trusted, as the end of a sentence about it. */
function flawOf(path: string, kind: 'file' | 'directory'): string | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found === undefined) return 'is not there'
  if (found.isSymbolicLink()) return 'is a symbolic link'
  if (kind === 'file' ? !found.isFile() : !found.isDirectory()) return `is no ${kind}`
  if (process.getuid !== undefined && found.uid !== process.getuid())
    return `belongs to user ${found.uid}, not to you`
  if ((found.mode & 0o077) !== 0)
    return `is open to others (mode ${(found.mode & 0o777).toString(8)}, and should be ${kind === 'file' ? '600' : '700'})`
  return undefined
}

/** The text of a file for its owner alone, or why it is not read; `undefined` for one that has just gone. */
function readPrivate(file: string, most: number): string | SkippedFile | undefined {
  const wrong = flawOf(file, 'file')
  if (wrong === 'is not there') return undefined
  if (wrong !== undefined) return { file, reason: wrong }
  try {
    const reason = `is larger than ${most} bytes, or was replaced while it was read`
    return textOf(file, most) ?? { file, reason }
  } catch (error) {
    const code = errnoOf(error)
    return code === 'ENOENT' ? undefined : { file, reason: `cannot be read (${code ?? 'an error'})` }
  }
}

/** That of a file that is still the private one that was looked at; undefined if it is not, or is too large. */
function textOf(path: string, most: number): string | undefined {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const { mode, uid } = fstatSync(fd)
    const ours = process.getuid === undefined || uid === process.getuid()
    if (!ours || (mode & 0o077) !== 0) return undefined
    return readMost(fd, most)?.toString('utf8')
  } finally {
    closeSync(fd)
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

// What processes that have gone have left.

/** What processes have left of their errors that have gone, and the file of each; newest first. */
export interface ErrorRecords {
  readonly gone: readonly (ErrorRecord & { readonly file: string })[]
  /** Files that are not read; `reason` goes on from their names. */
  readonly skipped: readonly SkippedFile[]
}

/** A larger file is none of ours: `error_record.py` ends before. */
const MOST_RECORD_BYTES = 1024 * 1024

/** `<folder>-<when it was begun>-<process>-<epoch>.json`, where `folder` is a digest of the folder that it ran in. */
const RECORD_NAME = /^([0-9a-f]{12})-(\d{8}T\d{6}-\d{1,10}-[0-9a-f]{8})\.json$/

/**
 * Reads the records of processes that ran in folders that are wanted. Of any other folder only the newest record is
 * read.
 */
export function readErrorRecords(stateDir: string, isWanted: (cwd: string) => boolean): ErrorRecords {
  const folder = join(stateDir, 'errors')
  const flaw = flawOf(folder, 'directory')
  if (flaw === 'is not there') return { gone: [], skipped: [] }
  if (flaw !== undefined) return { gone: [], skipped: [{ file: folder, reason: flaw }] }
  const names = readdirSync(folder).flatMap(name => {
    const [, of = '', when = ''] = RECORD_NAME.exec(name) ?? []
    return of === '' ? [] : [{ of, when, file: join(folder, name) }]
  })
  names.sort((one, other) => (one.when > other.when ? -1 : 1))
  const wanted = new Map<string, boolean>()
  const gone: (ErrorRecord & { file: string })[] = []
  const skipped: (SkippedFile & { of: string })[] = []
  for (const { of, file } of names) {
    if (wanted.get(of) === false) continue
    const read = readRecord(file)
    if (read === undefined) continue
    if ('reason' in read) {
      skipped.push({ ...read, of })
      continue
    }
    wanted.set(of, isWanted(read.cwd))
    if (isWanted(read.cwd) && processOf(read) !== 'lives') gone.push({ ...read, file })
  }
  // Of a folder none of whose records can be read, it is not known whether it is wanted.
  return { gone, skipped: skipped.flatMap(({ of, ...one }) => (wanted.get(of) === false ? [] : [one])) }
}

function readRecord(file: string): ErrorRecord | SkippedFile | undefined {
  const text = readPrivate(file, MOST_RECORD_BYTES)
  if (typeof text !== 'string') return text
  const parsed = parse(text)
  if (parsed === undefined) return { file, reason: 'is no whole record of errors: it was cut short' }
  const read = errorRecord.safeParse(parsed)
  if (read.success) return read.data as ErrorRecord
  return { file, reason: `is no record of errors: ${faultIn(read.error)}` }
}
