import type { Loaded, Suspension } from '../wire/kernel.ts'
import { type Evaluation, showEvaluation } from './evaluate.ts'
import { loadedLines } from './load.ts'
import { type Printed, showPrinted } from './output.ts'
import { conditionLine } from './suspension-text.ts'
import { duration, oneLine } from './wording.ts'

/** What comes of a suspended evaluation that goes on, and how that is shown. */

/** What the evaluation came to in the end: its values, as of `eval_expr`, and what it has loaded. */
export interface Resumed extends Evaluation {
  /** The suspension that went on. */
  readonly acted_on: string
  /** It was an error of a person's own, whose value is shown where they had called. */
  readonly returned_to_owner?: true
  readonly loaded?: Loaded
}

/** It was given up, or left by a restart that leads to the top level: it has no value. */
export interface Left extends Printed {
  readonly status: 'left'
  readonly acted_on: string
  readonly message: string
  /** What is the caller's newest now; null where nothing of theirs is suspended any more. Left out: not known. */
  readonly newest?: Pick<Suspension, 'id' | 'level' | 'type' | 'message'> | null
  readonly elapsed_ms: number
}

/** The values, or that there are none, and which suspension it was. */
export function showResumed(result: Resumed | Left): string {
  if ('status' in result) return showLeft(result)
  const { loaded, elapsed_ms, acted_on, returned_to_owner } = result
  const lines = loaded === undefined ? [] : loadedLines(loaded, elapsed_ms)
  if (returned_to_owner === true)
    return [
      `${acted_on} goes on where its owner had called it; what it comes to is shown there, not here`,
      ...showPrinted(result),
    ].join('\n')
  return [...lines, showEvaluation(result, [`${acted_on} has gone on, and ended`])].join('\n')
}

function showLeft(left: Left): string {
  const { newest, elapsed_ms } = left
  return [
    `left: ${leftText(left)} (${duration(elapsed_ms)})`,
    ...newestLine(newest),
    ...showPrinted(left),
  ].join('\n')
}

/** Which one was left, and how. The image says what became of "it". */
export const leftText = ({ acted_on, message }: Pick<Left, 'acted_on' | 'message'>): string =>
  message.replace(/^It\b/, acted_on)

function newestLine(newest: Left['newest']): string[] {
  if (newest === undefined) return []
  if (newest === null) return ['nothing of yours is suspended here now']
  const level = newest.level === 1 ? '' : `, level ${newest.level}`
  return [`your newest is now ${newest.id}${level}: ${oneLine(conditionLine(newest))}`]
}
