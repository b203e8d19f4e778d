import { LEVELS } from '../../../tools/contract.ts'
import { nearest } from '../../../tools/nearest.ts'
import { TOOL_ERRORS } from '../../../tools/outcome.ts'
import { EXIT, Failure } from '../../failure.ts'
import { ALLOWED } from '../../journal/entries.ts'
import type { Options } from '../command.ts'
import type { Filter } from './stories.ts'

/** How many calls are shown where nothing else is said. */
const COUNT = 50

/** With `--follow`, of what was before. */
const BEFORE = 10

const OUTCOMES = ['ok', ALLOWED, 'failed', 'open', ...Object.keys(TOOL_ERRORS)]

/** What a command line asks for; throws a `Failure` that says what of it is wrong. */
export function filterOf(options: Options, now: Date): Filter {
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

/**
 * The filter that knows a tool by its older names, too: those that calls from before have in the journal, and `create_file`
 * of a `write_file` whose arguments fit it.
 */
export async function withOlderNames(filter: Filter): Promise<Filter> {
  const { TOOLS } = await import('../../../tools/index.ts')
  const known = new Map(
    TOOLS.flatMap(tool => [tool.name, ...tool.aliases].map(name => [name, tool] as const)),
  )
  const toolNames = (name: string, args: unknown): readonly string[] => {
    const tool = known.get(name)
    if (tool === undefined) return [name]
    const same = tool.aliases.filter(alias => tool.presets[alias] === undefined)
    return [name, tool.name, ...same, tool.judgedAs(Object(args))]
  }
  return { ...filter, toolNames }
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

/** What `parseTime` takes, for people. */
const TIMES = '10m, 2h, 3d (ago), today, yesterday, 14:30, 2026-07-18, or 2026-07-18T14:30:00Z'

const AGO = /^(\d{1,6})\s*(s|m|h|d|w)$/

const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const

const CLOCK = /^(\d{1,2}):(\d{2})(?::(\d{2}))?$/

const DAY = /^(\d{4})-(\d{2})-(\d{2})$/

const MOMENT = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?$/i

/**
 * A time as a person writes it. What names no zone is in the person's own; a day is its beginning, and a time of day
 * is today's. Undefined for what is none.
 */
export function parseTime(text: string, now: Date): Date | undefined {
  const [, count, unit] = AGO.exec(text) ?? []
  if (unit !== undefined)
    return new Date(now.getTime() - Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS])
  if (text === 'today') return midnight(now, 0)
  if (text === 'yesterday') return midnight(now, -1)
  const clock = CLOCK.exec(text)
  if (clock !== null) return timeOfDay(clock, now)
  const day = DAY.exec(text)
  if (day !== null) return dayOf(day)
  return MOMENT.test(text) ? valid(new Date(text.replace(' ', 'T'))) : undefined
}

function timeOfDay([, hours, minutes, seconds = '0']: RegExpExecArray, now: Date): Date | undefined {
  if (Number(hours) > 23 || Number(minutes) > 59 || Number(seconds) > 59) return undefined
  const time = new Date(now)
  time.setHours(Number(hours), Number(minutes), Number(seconds), 0)
  return time
}

/** The beginning of a day in the person's own zone; the language reads a bare date as one of Greenwich. */
function dayOf([, year, month, day]: RegExpExecArray): Date | undefined {
  const date = new Date(Number(year), Number(month) - 1, Number(day))
  return date.getMonth() === Number(month) - 1 && date.getDate() === Number(day) ? date : undefined
}

function midnight(now: Date, days: number): Date {
  const date = new Date(now)
  date.setHours(0, 0, 0, 0)
  date.setDate(date.getDate() + days)
  return date
}

const valid = (date: Date) => (Number.isNaN(date.getTime()) ? undefined : date)
