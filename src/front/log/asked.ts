import { LEVELS } from '../../../tools/define.ts'
import { TOOL_ERRORS } from '../../../tools/errors.ts'
import { nearest } from '../../core/nearest.ts'
import { EXIT, Failure } from '../../failure.ts'
import type { Options } from '../commands.ts'
import type { Story } from './stories.ts'
import { parseTime, TIMES } from './times.ts'

/** Which part of the journal is wanted. What is left out leaves nothing out. */
export interface Asked {
  readonly kernel: readonly string[]
  readonly tool: readonly string[]
  readonly level: readonly string[]
  readonly outcome: readonly string[]
  readonly since?: Date
  readonly until?: Date
  /** The last so many. */
  readonly count?: number
  /** What else has to be so of a story. */
  also?(story: Story): boolean
}

/** Leaves nothing out. */
export const EVERYTHING: Asked = { kernel: [], tool: [], level: [], outcome: [] }

/** How many calls are shown where nothing else is said. */
const COUNT = 50
/** With `--follow`, of what was before. */
const BEFORE = 10

const OUTCOMES = ['ok', 'failed', 'open', ...Object.keys(TOOL_ERRORS)]

/** What a command line asks for; throws a `Failure` that says what of it is wrong. */
export function askedFor(options: Options, now: Date): Asked {
  const since = timeOf('since', options.since, now)
  const until = timeOf('until', options.until, now)
  if (since !== undefined && until !== undefined && since > until)
    throw misused(`--since ${options.since} is later than --until ${options.until}.`)
  if (options.follow && until !== undefined)
    throw misused('--follow waits for what comes, and --until ends before it. Leave one out.')
  const count = countOf(options, since)
  return {
    kernel: words(options.kernel),
    tool: words(options.tool),
    level: known('level', words(options.level), LEVELS),
    outcome: known('outcome', words(options.outcome), OUTCOMES),
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
    ...(count !== undefined && { count }),
  }
}

/** For a program, all of it; for a person, what can be taken in. */
function countOf({ count, follow, json }: Options, since: Date | undefined): number | undefined {
  if (count === 'all') return undefined
  if (count !== undefined) {
    if (/^\d{1,9}$/.test(count)) return Number(count)
    throw misused(`--count takes a number or all, not ${count}.`)
  }
  if (since !== undefined) return undefined
  if (follow) return BEFORE
  return json ? undefined : COUNT
}

function timeOf(option: string, text: string | undefined, now: Date): Date | undefined {
  if (text === undefined) return undefined
  const time = parseTime(text, now)
  if (time === undefined) throw misused(`--${option} takes a time, not ${text}. Times: ${TIMES}.`)
  return time
}

/** Several are divided by commas. */
const words = (text: string | undefined) => (text ?? '').split(',').filter(word => word !== '')

function known(option: string, given: readonly string[], all: readonly string[]): readonly string[] {
  for (const word of given)
    if (!all.includes(word)) {
      const [close] = nearest(word, all)
      const hint = close === undefined ? '' : ` Did you mean ${close}?`
      throw misused(`There is no ${option} ${word}.${hint} Known: ${all.join(', ')}.`)
    }
  return given
}

const misused = (message: string) => new Failure(message, { exit: EXIT.usage })

/** Whether that part of a call is asked for at all, so that what says nothing of it is left out. */
export const isFiltered = ({ kernel, tool, level, outcome }: Asked) =>
  kernel.length + tool.length + level.length + outcome.length > 0

/** Whether a story is in the part that is wanted. */
export function isWanted(story: Story, asked: Asked): boolean {
  if (asked.also?.(story) === false) return false
  if (story.type === 'unreadable') return !isFiltered(asked)
  const time = story.type === 'call' ? story.time : story.entry.time
  if (asked.since !== undefined && time < asked.since.toISOString()) return false
  if (asked.until !== undefined && time > asked.until.toISOString()) return false
  if (story.type === 'note') return isWantedNote(story.entry, asked)
  // What began before the part that is read has no name here.
  if (story.began === undefined) return asked.since === undefined && !isFiltered(asked)
  const { tool = '', kernel, level } = story.began
  return (
    matches(asked.tool, tool) &&
    matches(asked.kernel, kernel) &&
    matches(asked.level, level) &&
    matchesOutcome(asked.outcome, story.outcome)
  )
}

/** The life of a kernel belongs to what is said of it. Headers of files are of no use to a person. */
function isWantedNote(
  { type, kernel }: { type: string; kernel?: string | null | undefined },
  asked: Asked,
): boolean {
  if (type === 'segment') return false
  if (!isFiltered(asked)) return true
  const { tool, level, outcome } = asked
  return tool.length + level.length + outcome.length === 0 && matches(asked.kernel, kernel)
}

/** A last `*` stands for any end, as in the policy. */
export function matches(wanted: readonly string[], value: string | null | undefined): boolean {
  if (wanted.length === 0) return true
  if (value === null || value === undefined) return false
  return wanted.some(name => (name.endsWith('*') ? value.startsWith(name.slice(0, -1)) : name === value))
}

export function matchesOutcome(wanted: readonly string[], outcome: string | undefined): boolean {
  if (wanted.length === 0) return true
  if (outcome === undefined) return wanted.includes('open')
  return wanted.includes(outcome) || (outcome !== 'ok' && wanted.includes('failed'))
}
