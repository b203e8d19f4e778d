import { characters } from '../../tools/definition.ts'
import type { Envelope } from '../../tools/outcome.ts'
import { Refusal } from '../../wire/link/calls.ts'
import type { OpenFiles } from '../files/files.ts'
import type { Serve } from './server.ts'

type Row = Record<string, unknown>

/**
 * The operation `call`, also for clients that count in units of UTF-16: all else here counts in code points. Throws
 * `invalid_params` for a cursor at which no character begins.
 */
export function inUnitsOfClient(serve: Serve, files: Pick<OpenFiles, 'of'>): Serve {
  return async (raw, context) => {
    const { options, root } = context.session
    if (options.positions !== 'utf-16') return serve(raw, context)
    const args = recordOf(recordOf(raw).args)
    const envelope = await serve(inCodePoints(raw, args), context)
    return inUtf16(envelope as Envelope, { args, files: files.of(root), known: new Map() })
  }
}

const recordOf = (value: unknown): Row => (typeof value === 'object' && value !== null ? (value as Row) : {})

function inCodePoints(raw: unknown, args: Row): unknown {
  const { text, cursor } = args
  if (typeof text !== 'string' || !Number.isInteger(cursor) || Number(cursor) < 0) return raw
  const units = Number(cursor)
  if (units > text.length)
    throw misplaced(`The cursor is at ${units}, and the text has ${text.length} units of UTF-16`)
  if (units > 0 && /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(units - 1, units + 1)))
    throw misplaced(`The cursor is at ${units}, in the middle of a surrogate pair`)
  return { ...recordOf(raw), args: { ...args, cursor: characters(text.slice(0, units)) } }
}

const misplaced = (what: string) =>
  new Refusal('invalid_params', `call does not take that. "args.cursor": ${what}.`)

interface Asked {
  readonly args: Row
  readonly files: ReturnType<OpenFiles['of']>
  /** The lines of files that were read for this answer. */
  readonly known: Map<string, readonly string[]>
}

/** The answer in units of UTF-16. A column is null where its line is neither in the call, in the answer nor in a file. */
async function inUtf16(envelope: Envelope, asked: Asked): Promise<Envelope> {
  const { text } = asked.args
  const answer = structuredClone(envelope)
  const told = recordOf(answer.ok ? answer.result : answer.error.details)
  if (typeof text === 'string' && 'completions' in told)
    for (const end of ['from', 'to']) told[end] = unitsOf(text, Number(told[end]))
  for (const one of rowsWithColumn(told, undefined)) {
    const line = await lineOf(one, asked)
    one.row.column = line === undefined ? null : unitsOf(line, Number(one.row.column) - 1) + 1
  }
  return answer
}

/** How many units the first `count` code points of a text have. */
function unitsOf(text: string, count: number): number {
  let [units, left] = [0, count]
  for (; left > 0 && units < text.length; left--) units += Number(text.codePointAt(units)) > 0xffff ? 2 : 1
  return units + left
}

interface Placed {
  readonly row: Row
  readonly file: string | undefined
}

/** All in an answer that has a line and a column, with the file that it is in. */
function* rowsWithColumn(value: unknown, outer: string | undefined): Generator<Placed> {
  if (typeof value !== 'object' || value === null) return
  const row = value as Row
  const named = row.file ?? row.path
  const file = typeof named === 'string' ? named : outer
  if (typeof row.line === 'number' && typeof row.column === 'number') yield { row, file }
  for (const part of Object.values(value)) yield* rowsWithColumn(part, file)
}

async function lineOf({ row, file }: Placed, asked: Asked): Promise<string | undefined> {
  const { args } = asked
  if (typeof row.text === 'string' && row.cut !== true) return row.text
  const code = args[typeof row.parameter === 'string' ? row.parameter : 'expr']
  const isOfCall = file === undefined || file === args.file || file.endsWith(`/${args.file}`)
  if (typeof code === 'string' && isOfCall) return linesOf(code)[Number(row.line) - Number(args.line ?? 1)]
  return file === undefined ? undefined : (await linesIn(file, asked))[Number(row.line) - 1]
}

async function linesIn(file: string, { files, known }: Asked): Promise<readonly string[]> {
  const seen = known.has(file) ? undefined : await files.look(file)
  if (seen !== undefined) known.set(file, linesOf(seen.type === 'failed' ? '' : (seen.text ?? '')))
  return known.get(file) ?? []
}

const linesOf = (text: string): readonly string[] => text.split(/\r\n|\n|\r/)
