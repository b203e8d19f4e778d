import { isDeepStrictEqual } from 'node:util'
import { conditionLine } from '../../tools/suspension-text.ts'
import { beginning, oneLine } from '../../tools/text.ts'
import type { SuspendedRow, SuspensionEvent, SuspensionTopicRow } from '../suspensions/rows.ts'
import { newsOf } from './topic-news.ts'

/** Tells what happens to suspended evaluations, for `heard` of a subscription to their topic. */
export const suspensionNews = (tell: (event: SuspensionEvent) => void) =>
  newsOf<SuspensionTopicRow>(({ row, before, isFirst }) => {
    if (isFirst || row === null) return
    const { news, own, ...suspension } = row
    if (!isDeepStrictEqual(news, before?.news)) tell({ ...news, own, suspension })
  })

/** Characters of an error in a line of news. */
const ERROR_CHARS = 200

/**
 * What became of a suspended evaluation, in a line for people: `s3@ab12 in shop, of claude-code: suspended by …`.
 * Undefined for what another line tells: the end of what stood on another one, and that an error of a person's own waits.
 */
export function newsText(event: SuspensionEvent): string | undefined {
  const { id, kernel, who, within } = event.suspension
  const about = `${oneLine(id)} in ${oneLine(kernel)}, of ${oneLine(who)}`
  switch (event.type) {
    case 'suspended':
      if (event.suspension.call === null) return undefined
      return `${about}: suspended${within === null ? '' : ` within ${oneLine(within)}`} by ${errorText(event)}`
    case 'ended':
      return event.how === 'within' ? undefined : `${about}: ${endText(event)}`
    case 'taken':
      return `${about}: taken over by ${oneLine(event.by)}`
    case 'handed':
      return `${about}: put before the agents of its project by ${oneLine(event.by)}`
    case 'adopted':
      return `${about}: ${errorText(event)}, put before the agents of its project by ${oneLine(event.by)}`
    default:
      return event satisfies never
  }
}

const errorText = ({ suspension }: SuspensionEvent): string =>
  beginning(oneLine(conditionLine(suspension)), ERROR_CHARS)

function endText({ how, by, message }: Extract<SuspensionEvent, { type: 'ended' }>): string {
  const whoDid = by === null ? 'somebody' : oneLine(by)
  switch (how) {
    case 'resumed':
      return `${whoDid} resumed it`
    case 'left':
      return `${whoDid} gave it up`
    case 'expired':
      return 'nobody came in time, and it was aborted'
    case 'within':
      return 'what it stood on has ended'
    case 'lost':
      return `lost${message === '' ? '' : `: ${oneLine(message)}`}`
    default:
      return how satisfies never
  }
}

/**
 * What is lost with images that somebody is about to end, a line each; empty where nothing waits there. `kernel` left
 * out: in all of them.
 */
export const lostText = (rows: readonly SuspendedRow[], kernel?: string): string =>
  rows
    .filter(row => kernel === undefined || row.kernel === kernel)
    .map(({ id, kernel: name, who, ...error }) => {
      const why = beginning(oneLine(conditionLine(error)), ERROR_CHARS)
      return `imago: ${oneLine(id)} in ${name}, of ${oneLine(who)}, is suspended and ends with it: ${why}\n`
    })
    .join('')
