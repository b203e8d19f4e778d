import { z } from 'zod'
import type { Envelope } from '../../../tools/outcome.ts'
import { isRunning } from '../../../tools/running.ts'
import { isSuspendedDetails, withoutRestarts } from '../../../tools/suspension-text.ts'
import { linesOf, REPORT_MARGIN, setIn } from '../../../tools/wording.ts'
import { highlightTraceback } from './highlight.ts'
import { looking, plain, prose, type Span } from './style.ts'

/** What the console shows of an answer, and what of it was too long to be shown. */
export interface Answer {
  readonly spans: readonly Span[]
  /** There is no value. */
  readonly failed: boolean
  /** A value of which the image holds more. */
  readonly rest?: Rest
}

export interface Rest {
  readonly handle: string
  readonly begun: string
  /** Characters of the whole, where that is known. */
  readonly length: number | null
}

const TEXT = z.object({
  text: z.string(),
  truncated: z.boolean().optional(),
  original_len: z.number().nullable().optional(),
  handle: z.string().optional(),
})
const SHOWN = z.object({ repr: TEXT, type: z.object({ name: z.string(), module: z.string().nullable() }) })
const EVALUATION = z.object({ values: z.array(SHOWN) })
const LEFT = z.object({
  status: z.literal('left'),
  acted_on: z.string(),
  newest: z.object({ id: z.string() }).nullish(),
})
const RETURNED = z.object({ acted_on: z.string(), returned_to_owner: z.literal(true) })
const NOTICE = z.object({ notice: z.string() })
const RAISED = z.object({
  exception: z.object({ traceback: z.string().min(1) }),
})

/** What came of an evaluation; `highlight` colours its values. */
export function evaluated(envelope: Envelope, highlight: (text: string) => Span[]): Answer {
  const notice = NOTICE.safeParse(envelope.ok ? envelope.result : envelope.error.details)
  const first = notice.success ? [prose('hint', `${notice.data.notice}\n`)] : []
  if (!envelope.ok) return { spans: [...first, ...failureSpans(envelope)], failed: true }
  if (isRunning(envelope.result)) {
    const { job, kernel } = envelope.result
    return { spans: [...first, prose('error', stillRuns(job, kernel))], failed: true }
  }
  const left = LEFT.safeParse(envelope.result)
  if (left.success) return { spans: [...first, prose('hint', `${leftLine(left.data)}\n`)], failed: false }
  const returned = RETURNED.safeParse(envelope.result)
  if (returned.success) first.push(prose('hint', `${returned.data.acted_on} ${ELSEWHERE}\n`))
  const read = EVALUATION.safeParse(envelope.result)
  const values = read.success ? read.data.values.filter(value => !isNothing(value)) : []
  const cut = values.find(({ repr }) => repr.truncated && repr.handle !== undefined)?.repr
  return {
    failed: false,
    spans: [...first, ...values.flatMap(({ repr }) => [...highlight(repr.text), plain('\n')])],
    ...(cut?.handle !== undefined && {
      rest: { handle: cut.handle, begun: cut.text, length: cut.original_len ?? null },
    }),
  }
}

/** Which one it was, and which the newest is now. */
function leftLine(left: z.output<typeof LEFT>): string {
  const next = left.newest?.id === undefined ? '' : ` ${left.newest.id} is the newest now.`
  return `${left.acted_on} was given up.${next}`
}

const ELSEWHERE = 'goes on where it was called; what it comes to is shown there.'

const stillRuns = (job: string, kernel: string | null) =>
  `It was interrupted and still runs (${job}). ` +
  `:job ${job} action=wait waits for it, :restart ${kernel ?? 'NAME'} ends the image and all that is in it.\n`

/** Python's `None` says nothing. */
const isNothing = ({ type }: z.output<typeof SHOWN>) => type.name === 'NoneType' && type.module === 'builtins'

/** The language's own report, where there is one; it says more than our sentence does. */
export function failureSpans({ error }: Extract<Envelope, { ok: false }>): Span[] {
  const raised = RAISED.safeParse(error.details)
  const { suspension } = error.details
  const restarts = isSuspendedDetails(suspension) ? suspension.restarts : []
  const text = raised.success ? withoutRestarts(raised.data.exception.traceback.trimEnd(), restarts) : ''
  // Its messages are the program's: set in, none of their lines reads as one of ours.
  const report = text === '' ? [] : highlightTraceback(linesOf(text).join('\n'), REPORT_MARGIN)
  if (report.length > 0 && error.code === 'exception') return [...report, plain('\n')]
  const message = error.code === 'exception' ? setIn(error.message) : error.message
  return [
    ...report,
    ...(report.length > 0 ? [plain('\n')] : []),
    ...(error.code === 'interrupted'
      ? [prose('hint', `${message}\n`)]
      : [looking('failure', error.code), prose(undefined, `: ${message}\n`)]),
    ...(error.next === null ? [] : [prose('hint', `${error.next}\n`)]),
  ]
}
