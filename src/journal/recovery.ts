import { join } from 'node:path'
import { sha256 } from '../sha256.ts'
import { chainOf, follows, GENESIS, type JournalNote, type JournalTrouble } from './entries.ts'
import type { JournalFiles } from './files.ts'
import {
  headerOf,
  type Place,
  readHeader,
  readSegment,
  type Segment,
  segmentName,
  segmentsIn,
} from './segments.ts'
import { checkNow } from './verify.ts'
import { cannotOpen } from './writer.ts'

/** What was there when the journal was opened. */
export interface Recovery {
  readonly place: Place
  /** Oldest first. */
  readonly segments: readonly Segment[]
  /** Not acknowledged by anybody before the last daemon ended. */
  readonly troubles: readonly JournalTrouble[]
  /** The last segment does not end as it was written, and is to be set aside. */
  readonly corrupt: { readonly segment: Segment; readonly trouble: JournalTrouble } | undefined
  /** To be written down. */
  readonly notes: readonly JournalNote[]
}

/**
 * Finds where writing goes on: from the beginning and the end of the last segment, whatever lies between and before.
 * Makes the directory and the first file, for their owner only; throws `AppendError` where that cannot be.
 */
export function recover(dir: string, files: JournalFiles): Recovery {
  const segments = prepared(dir, files)
  const last = segments.at(-1)
  const rest = { segments, troubles: [], corrupt: undefined, notes: [] }
  if (last === undefined) {
    const path = join(dir, segmentName(1))
    const fd = opened(path, () => files.create(path))
    return { ...rest, place: { number: 1, fd, size: 0, chain: GENESIS, why: 'first' } }
  }
  const troubles = lastTroubles(segments, files)
  if (last.aside) {
    const { number } = last
    const what = 'No segment follows it, although one was begun when it was set aside'
    const place = { number, fd: undefined, size: 0, chain: endOf(last, files), why: 'quarantine' } as const
    return { ...rest, place, troubles: [...troubles, { file: last.name, line: null, byte: null, what }] }
  }
  const fd = opened(last.path, () => files.open(last.path))
  try {
    return { ...rest, troubles, ...recoveredIn(last, { fd, files, before: segments.at(-2) }) }
  } catch (cause) {
    files.close(fd)
    throw cannotOpen(last.path, cause)
  }
}

function prepared(dir: string, files: JournalFiles): Segment[] {
  return opened(dir, () => {
    files.makeDirectory(dir)
    return segmentsIn(dir, files)
  })
}

function opened<Result>(path: string, open: () => Result): Result {
  try {
    return open()
  } catch (cause) {
    throw cannotOpen(path, cause)
  }
}

interface OpenSegment {
  readonly fd: number
  readonly files: JournalFiles
  readonly before: Segment | undefined
}

function recoveredIn(
  segment: Segment,
  { fd, files, before }: OpenSegment,
): Omit<Recovery, 'segments' | 'troubles'> {
  const { number, name } = segment
  const tail = readTail(fd, files)
  const torn = tail.torn.length > 0 ? [recoveredNote(name, tail.torn)] : []
  const none = { corrupt: undefined, notes: torn }
  if (tail.type === 'empty') {
    const chain = before === undefined ? GENESIS : endOf(before, files)
    const why = before === undefined ? 'first' : before.aside ? 'quarantine' : 'full'
    return { ...none, place: { number, fd, size: 0, chain, why } }
  }
  const { chain, size } = tail
  const header = readHeader(fd, files)
  if (tail.type === 'whole' && header?.number === number)
    return { ...none, place: { number, fd, size, chain, why: undefined } }
  const check = checkNow(segment, { fd, files })
  files.close(fd)
  const what = 'It does not end as it was written'
  const trouble = check.problem ?? { file: name, line: null, byte: null, what }
  const place = { number, fd: undefined, size, chain: check.chain || chain, why: 'quarantine' } as const
  return { place, corrupt: { segment, trouble }, notes: [] }
}

const recoveredNote = (file: string, torn: Buffer) =>
  ({
    type: 'recovered',
    file,
    bytes: torn.length,
    sha256: sha256(torn),
  }) as const

/** The end of a file: its last whole line, whether that follows the line before it, and what comes after it. */
type Tail =
  | { readonly type: 'empty'; readonly torn: Buffer }
  | { readonly type: 'whole' | 'wrong'; readonly size: number; readonly chain: string; readonly torn: Buffer }

/** What is read of the end at first; more only where two lines do not fit into it. */
const FIRST_READ = 16 * 1024

function readTail(fd: number, files: JournalFiles): Tail {
  const { size } = files.stat(fd)
  for (let length = Math.min(size, FIRST_READ); ; length = Math.min(size, length * 4)) {
    const bytes = Buffer.alloc(length)
    readWhole(fd, { bytes, at: size - length, files })
    const tail = tailIn(bytes, { at: size - length })
    if (tail !== undefined) return tail
  }
}

/** Undefined where more has to be read; `at` is where these bytes begin in the file. */
function tailIn(bytes: Buffer, { at }: { at: number }): Tail | undefined {
  const end = bytes.lastIndexOf(0x0a)
  if (end === -1) return at === 0 ? { type: 'empty', torn: bytes } : undefined
  const begin = lineBegin(bytes, end)
  const first = at === 0 && begin === 0
  const beginBefore = first ? 0 : lineBegin(bytes, begin - 1)
  if (at > 0 && (begin === 0 || beginBefore === 0)) return undefined
  const line = bytes.subarray(begin, end)
  const torn = bytes.subarray(end + 1)
  const previous = first ? previousIn(line) : chainOf(bytes.subarray(beginBefore, begin - 1))
  const chain = chainOf(line)
  const whole = chain !== undefined && previous !== undefined && follows(line, previous)
  // A whole line with something else in place of its newline: writing it was not cut short.
  const overwritten = torn.length > 1 && chain !== undefined && follows(torn.subarray(0, -1), chain)
  const type = whole && !overwritten ? 'whole' : 'wrong'
  return { type, size: at + end + 1, chain: chain ?? GENESIS, torn }
}

/** Where the line begins whose newline is at `end`. */
const lineBegin = (bytes: Buffer, end: number) => (end <= 0 ? 0 : bytes.lastIndexOf(0x0a, end - 1) + 1)

const PREVIOUS = /"previous":"([0-9a-f]{32})"/

const previousIn = (header: Buffer) => PREVIOUS.exec(header.toString())?.[1]

/** The chain that the last line of a segment bears, right or wrong. */
function endOf(segment: Segment, files: JournalFiles): string {
  const tail = readSegment(segment, files, fd => readTail(fd, files))
  return tail === undefined || tail.type === 'empty' ? GENESIS : tail.chain
}

/** What the newest header says; a segment that was begun and has none yet says nothing. */
function lastTroubles(segments: readonly Segment[], files: JournalFiles): readonly JournalTrouble[] {
  for (const segment of segments.slice(-2).toReversed()) {
    const header = headerOf(segment, files)
    if (header !== undefined) return header.trouble
  }
  return []
}

function readWhole(
  fd: number,
  { bytes, at, files }: { bytes: Buffer; at: number; files: JournalFiles },
): void {
  for (let done = 0; done < bytes.length; ) {
    const count = files.read(fd, bytes.subarray(done), at + done)
    if (count === 0) return
    done += count
  }
}
