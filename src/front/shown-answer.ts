import { basename } from 'node:path'
import type { FrameShown, ThreadsShown } from '../../tools/activity.ts'
import { type Envelope, isRunning, type JobStatus } from '../../tools/outcome.ts'
import { foldedWords, placeOf, stackLine } from '../../tools/text.ts'
import { escapeLine } from '../text/escape.ts'

/** A part of an answer, in one line. It can be looked into by its `expr`, where it has one. */
export interface Part {
  readonly label: string
  readonly expr?: string
  /** The place of a frame. */
  readonly file?: string
  readonly line?: number
  /** Of a frame: its function, and its place without folders. */
  readonly frame?: { readonly name: string; readonly place: string }
  /** Known already. */
  readonly parts?: readonly Part[]
}

/** What `inspect` answers, as far as it has parts. */
interface Inspected {
  readonly exprs?: Readonly<Record<string, string | null>>
  readonly sample?: { readonly items?: readonly string[]; readonly exprs?: readonly (string | null)[] }
  readonly fields?: { readonly rows?: readonly { readonly name: string; readonly value: string }[] }
  readonly members?: { readonly data?: readonly string[] }
}

/** What an evaluation answers, as far as it is told in one line. */
interface Evaluated {
  readonly value_repr?: string | null
  readonly output?: string
}

/** An answer as an editor shows it: where there is room for a line, and as rows that open: the parts of a value, or threads with frames. */
export interface ShownAnswer {
  readonly line: string
  readonly parts: readonly Part[]
}

/** UTF-16 units of an answer in one line. */
const LINE = 200

export function shownAnswer(tool: string, answer: Envelope): ShownAnswer {
  const line = escapeLine(answer.ok ? resultLine(answer.result) : `✗ ${answer.error.message.trimEnd()}`)
  const short = line.length > LINE ? `${line.slice(0, LINE).replace(/[\ud800-\udbff]$/, '')}…` : line
  return { line: short, parts: answer.ok ? (PARTS[tool]?.(answer.result) ?? []) : [] }
}

function resultLine(result: unknown): string {
  if (isRunning(result)) return jobLine(result)
  const { value_repr, output } = (result ?? {}) as Evaluated
  const told = [...(value_repr ? [value_repr] : []), ...(output ? [output.trimEnd()] : [])].join(' · ')
  return `⇒ ${told || (value_repr === null ? '(no value)' : 'done')}`
}

/** `… still runs (job-1)`: a job has not ended. */
const jobLine = ({ status, job }: Pick<JobStatus, 'status' | 'job'>): string =>
  status === 'running' ? `… still runs (${job})` : `… waits for a person (${job})`

/** By the tool that has answered. */
const PARTS: Readonly<Record<string, (result: unknown) => readonly Part[]>> = {
  inspect: result => partsOf(result as Inspected),
  threads: result => stacksOf(result as ThreadsShown),
}

/** Items, fields and members. */
function partsOf({ exprs = {}, sample, fields, members }: Inspected): readonly Part[] {
  const rows = fields?.rows ?? []
  const names = new Set(rows.map(({ name }) => name))
  const rest = (members?.data ?? []).filter(name => !names.has(name))
  const part = (label: string, expr: string | null = null) => ({
    label: escapeLine(label),
    ...(expr !== null && { expr }),
  })
  return [
    ...(sample?.items ?? []).map((item, at) => part(item, sample?.exprs?.[at])),
    ...rows.map(({ name, value }) => part(`${name} = ${value}`, exprs[name])),
    ...rest.map(name => part(name, exprs[name])),
  ]
}

/** Frames innermost last, with their variables. */
function stacksOf({ threads, tasks }: ThreadsShown): readonly Part[] {
  const rows = (kind: 'Thread' | 'Task', stacks: ThreadsShown['threads']) =>
    stacks.map(stack => ({
      label: escapeLine(stackLine(kind, stack)),
      parts: stack.frames.map(framePart),
    }))
  return [...rows('Thread', threads), ...rows('Task', tasks)]
}

function framePart(frame: FrameShown): Part {
  if ('folded' in frame) return { label: escapeLine(`… ${foldedWords(frame)}`) }
  const { file, line, locals } = frame
  return {
    frame: {
      name: escapeLine(frame.function),
      place: escapeLine(placeOf({ line, file: file && basename(file) })),
    },
    label: escapeLine(`${placeOf(frame)} in ${frame.function}`),
    ...(file !== null && line !== null && { file, line }),
    parts: locals.map(({ name, repr }) => ({ label: escapeLine(`${name} = ${repr}`) })),
  }
}
