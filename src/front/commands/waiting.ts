import { conditionLine } from '../../../tools/suspension-text.ts'
import { beginning, oneLine } from '../../../tools/wording.ts'
import type { SuspendedRow } from '../protocol.ts'

/** Characters of an error in a line. */
const ERROR_CHARS = 120

/**
 * What ends with images that somebody is about to end, a line each; empty where nothing waits there. `kernel` left out:
 * in all of them.
 */
export function endsWith(rows: readonly SuspendedRow[], kernel?: string): string {
  const there = rows.filter(row => kernel === undefined || row.kernel === kernel)
  return there.map(row => `${lineOf(row)}\n`).join('')
}

/** `imago: s3@ab12 in shop, of claude-code, is suspended and ends with it: KeyError: 'beer'` */
function lineOf({ id, kernel, who, ...error }: SuspendedRow): string {
  const why = beginning(oneLine(conditionLine(error)), ERROR_CHARS)
  return `imago: ${oneLine(id)} in ${kernel}, of ${oneLine(who)}, is suspended and ends with it: ${why}`
}
