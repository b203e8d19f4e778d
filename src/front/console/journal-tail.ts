import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { z } from 'zod'
import { duration, oneLine } from '../../../tools/wording.ts'
import { NODE_FILES } from '../../core/journal/disk.ts'
import { journalDir, segmentsIn } from '../../core/journal/segments.ts'
import { messageOf } from '../../failure.ts'
import { looking, plain, type Span } from './style.ts'
import { fitted, widthOf } from './width.ts'

/** How much of the end of the journal is read at most, in bytes. */
const TAIL = 4 * 1024 * 1024
/** Characters of the arguments that a line shows. */
const ARGUMENTS = 200

const LINE = z.object({
  time: z.string(),
  type: z.string(),
  call: z.string().optional(),
  tool: z.string().optional(),
  kernel: z.string().nullish(),
  args: z.unknown().optional(),
  outcome: z.string().optional(),
  elapsed_ms: z.number().optional(),
})
type Line = z.output<typeof LINE>

interface Wanted {
  readonly stateDir: string
  readonly count: number
  readonly columns: number
}

/** The last calls of the journal, one in a line, oldest first. What the console asks while one types is left out. */
export function journalSpans({ stateDir, count, columns }: Wanted): Span[] {
  let text: string
  try {
    text = tail(journalDir(stateDir))
  } catch (error) {
    return [looking('error', `The journal cannot be read: ${messageOf(error)}\n`)]
  }
  const lines = text.split('\n').flatMap(parsed)
  const ends = new Map(lines.filter(({ type }) => type === 'ended').map(line => [line.call, line]))
  const calls = lines.filter(
    ({ type, tool }) => type !== 'ended' && tool !== undefined && tool !== 'complete',
  )
  if (calls.length === 0) return [looking('hint', 'Nothing was called yet.\n')]
  return calls.slice(-count).flatMap(line => lineSpans(line, { end: ends.get(line.call), columns }))
}

/** Of the last two segments: the last one may only just have begun. */
function tail(dir: string): string {
  const paths = segmentsIn(dir, NODE_FILES).slice(-2)
  return paths.map(({ path }) => tailOf(path)).join('')
}

function tailOf(path: string): string {
  const file = openSync(path, 'r')
  try {
    const { size } = fstatSync(file)
    const bytes = Buffer.alloc(Math.min(size, TAIL))
    readSync(file, bytes, 0, bytes.length, size - bytes.length)
    return bytes.toString()
  } finally {
    closeSync(file)
  }
}

/** The first line may be cut, and lines of later versions may have another form: they are left out. */
function parsed(line: string): Line[] {
  try {
    const read = LINE.safeParse(JSON.parse(line))
    return read.success ? [read.data] : []
  } catch {
    return []
  }
}

function lineSpans(line: Line, { end, columns }: { end: Line | undefined; columns: number }): Span[] {
  const { time, type, tool = '', kernel, args } = line
  const outcome = line.outcome ?? end?.outcome ?? (type === 'dispatched' ? 'under way' : type)
  const elapsed = line.elapsed_ms ?? end?.elapsed_ms
  const good = outcome === 'ok' || outcome === 'under way'
  const took = elapsed === undefined ? '' : duration(elapsed)
  const head = `${clock(time)} ${tool.padEnd(14)} ${outcome.padEnd(9)} ${took.padStart(7)} ${kernel ?? '-'} `
  const room = Math.max(8, columns - widthOf(head) - 1)
  return [
    looking('hint', head.slice(0, 9)),
    plain(head.slice(9, 9 + tool.padEnd(14).length + 1)),
    looking(good ? 'hint' : 'error', head.slice(9 + tool.padEnd(14).length + 1)),
    plain(`${fitted(shortened(args), room)}\n`),
  ]
}

/** A single text stands for itself. */
function shortened(args: unknown): string {
  const values = typeof args === 'object' && args !== null ? Object.values(args) : []
  const text = typeof values[0] === 'string' && isAlone(args) ? values[0] : (JSON.stringify(args) ?? '')
  return oneLine(text.slice(0, ARGUMENTS))
}

const isAlone = (args: unknown) =>
  Object.keys(args as object).filter(name => name !== 'patience' && name !== 'kernel').length === 1

/** In the person's own time. */
function clock(time: string): string {
  const date = new Date(time)
  return Number.isNaN(date.getTime()) ? time : date.toTimeString().slice(0, 8)
}
