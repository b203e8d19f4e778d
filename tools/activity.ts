import { z } from 'zod'
import type { LastError, Raised, RunHistory, RunHistoryEntry, RunHistoryQuery } from '../wire/kernel.ts'
import { defineTool } from './define.ts'
import { dataSize, fitting } from './fit.ts'
import { anExpression, lookUp } from './looked.ts'
import { given, placeOf } from './naming.ts'
import { ok } from './outcome.ts'
import { frameLines } from './stacks.ts'
import {
  duration,
  exceptionLine,
  indent,
  oneLine,
  reportOf,
  reportSetIn,
  restartLines,
  setIn,
} from './wording.ts'

export const getLastError = defineTool({
  name: 'get_last_error',
  description:
    'Show the error that was raised last in the live image: its message, traceback, and every frame with its ' +
    'locals as they were when it was raised, and who caused it. Runs no code. Use it when something failed that ' +
    'you did not run yourself, or to see more of a failure than its answer told; do not run the code again for it.',
  parameters: {},
  level: 'safe',
  profile: 'live',
  categories: ['introspection', 'debugging'],
  needs: ['last_error'],
  examples: [{ args: {}, shows: 'the last failure, frame by frame' }],

  handler: (_, context) => lookUp({ look: 'last_error', query: {} }, context),

  show: result => showLastError(result as LastError),
})

function showLastError({ error, who, call, at, seen }: LastError): string {
  if (error === null)
    return [
      'no error was raised in this image, as far as Imago could see',
      ...(seen.length === 0 ? [] : [`where it looks: ${seen.map(oneLine).join('; ')}`]),
    ].join('\n')
  const by = who === null ? '' : ` by ${oneLine(who)}`
  const caused =
    by === '' && at === null
      ? []
      : [`raised${by}${at === null ? '' : ` at ${at}`}${call === null ? '' : ` (call ${oneLine(call)})`}`]
  return [setIn(exceptionLine(error)), ...caused, ...raisedLines(error)].join('\n')
}

/** The report as the language prints it, and the frames with what their variables held. */
function raisedLines(raised: Raised): string[] {
  const { frames, frames_omitted } = raised
  const report = reportOf(raised)
  const said = report === '' ? [] : [reportSetIn(report)]
  const lines = [...said, ...restartLines(raised)]
  if (!frames.some(frame => frame.locals.length > 0)) return lines
  const cut = frames_omitted === 0 ? '' : ` (${frames_omitted} in the middle left out)`
  return [...lines, `frames, innermost last${cut}:`, ...frames.flatMap(frameLines).map(indent)]
}

export const getReplHistory = defineTool({
  name: 'get_repl_history',
  description:
    'List what was evaluated in the live image, newest first: the code, who ran it (a person or a client), when, ' +
    'and what came of it. Runs no code. Use it to learn what others, or you before, have changed in the program.',
  parameters: {
    limit: z.int().min(1).max(50).default(10).describe('How many entries are shown at most.'),
    before: z
      .int()
      .min(1)
      .optional()
      .describe('Only entries before this number, for the page after the newest.'),
  },
  level: 'safe',
  profile: 'full',
  categories: ['introspection', 'history'],
  needs: ['history'],
  examples: [
    { args: {}, shows: 'the last ten evaluations' },
    { args: { limit: 50, before: 120 }, shows: 'fifty that came before number 120' },
  ],

  async handler({ limit, before }, context) {
    const words = { ...anExpression(context.kernel), parameter: 'before' }
    const query = given<RunHistoryQuery>({ limit, before })
    const outcome = await lookUp({ look: 'history', query, words }, context)
    if (outcome.type !== 'ok') return outcome
    const { entries, total } = outcome.result
    return ok<RunHistory>({ entries: fitting(entries, dataSize), total })
  },

  show: result => showHistory(result as RunHistory),
})

function showHistory({ entries, total }: RunHistory): string {
  const last = entries.at(-1)
  if (last === undefined)
    return total === 0 ? 'nothing was evaluated' : `nothing is remembered before that; ${total} in all`
  const more = last.number > 1 ? `; for more: before ${last.number}` : ''
  return [`${entries.length} of ${total}, newest first${more}`, ...entries.flatMap(entryLines)].join('\n')
}

/** `running for 3 s`, `suspended after 4 ms`; all others have ended `in` it. */
const BEFORE_TIME: Partial<Record<RunHistoryEntry['outcome'], string>> = {
  running: 'for',
  suspended: 'after',
}

/** `#12 claude-code 2.1, 2026-10-02T09:00:00Z, done in 4 ms`, the code, and what it came to. */
function entryLines(entry: RunHistoryEntry): string[] {
  const { number, who, at, outcome, elapsed_ms, source, truncated, place, result } = entry
  const took =
    elapsed_ms === null ? outcome : `${outcome} ${BEFORE_TIME[outcome] ?? 'in'} ${duration(elapsed_ms)}`
  const where = place === null ? '' : placeOf(place)
  const words = [`#${number} ${oneLine(who)}`, at, took, ...(where === '' ? [] : [where])]
  const lines = [words.join(', '), indent(`${source.trimEnd()}${truncated ? ' … (cut)' : ''}`)]
  return result === null ? lines : [...lines, indent(`→ ${oneLine(result)}`)]
}
