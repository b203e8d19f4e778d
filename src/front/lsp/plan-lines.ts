import { counted } from '../../../tools/text.ts'
import type { PlanPreview, ShownHunk, WaitingPlan } from '../../approvals/contract.ts'
import { escapeLine } from '../../text/escape.ts'
import type { Methods } from '../protocol.ts'
import { whyNot } from '../seat/plan-text.ts'

/**
 * All that is to be known of a plan before an answer, warnings first: a line each, those of the preview behind a rule, so
 * that none of them is taken for one of ours. The difference is left out that the hunks show.
 */
export function planHeading(
  row: WaitingPlan,
  { body, hunks }: Pick<PlanPreview, 'body' | 'hunks'>,
): string[] {
  const { id, hash, tool, kernel, who, title, bytes, lines, times, warnings, notes } = row
  const again = times === 1 ? '' : `asked for ${times} times, `
  return [
    ...warnings.map(warning => `! ${escapeLine(warning)}`),
    ...[
      title,
      `  ${tool}${kernel === null ? '' : ` in ${kernel}`}, asked by ${who}`,
      `  ${id}: ${counted(lines, 'line')}, ${counted(bytes, 'byte')}, ${again}sha256 ${hash}`,
      ...notes.map(note => `  ${note}`),
    ].map(escapeLine),
    ...ruled(hunks.length === 0 ? body : withoutDifference(body)),
  ]
}

/** `hunk 2 of 3 · app.py:14: for speed` */
export const hunkHead = ({ number, shown, line, why }: ShownHunk, of: number): string =>
  escapeLine(`hunk ${number} of ${of} · ${shown}:${line}${why === null ? '' : `: ${why}`}`)

/** What became of an answer, with a sentence where it did not count. */
export const answerInWords = (became: Methods['answer']['result']) =>
  became.type === 'taken'
    ? became
    : { ...became, shown: escapeLine(`The answer did not count: ${whyNot(became)}`) }

function withoutDifference(body: string): string {
  const at = body.search(/^diff --git /m)
  return at < 0 ? body : body.slice(0, at).trimEnd()
}

const ruled = (text: string): string[] =>
  text === ''
    ? []
    : text
        .replace(/\n$/, '')
        .split('\n')
        .map(line => `│ ${line}`)
