import { z } from 'zod'
import { ALLOWED } from '../../journal/entries.ts'
import { type EntryRead, type LineRead, type ReadOptions, readEntries } from '../../journal/reader.ts'

/** All that the journal says of one call, which stands there in up to six lines. */
export type CallStory = Readonly<Omit<CallSoFar, 'add'>>

/** A line that is about no call. */
export interface Note {
  readonly type: 'note'
  readonly entry: EntryRead
}

/** A line that is damaged, or of a later version. */
export type Unreadable = Extract<LineRead, { type: 'unreadable' }>

export type Story = CallStory | Note | Unreadable

const PLAN = z.looseObject({ id: z.string(), title: z.string().optional() })

type PlanRead = z.output<typeof PLAN>

/** What a person chose of one hunk. Other versions may write other decisions. */
const CHOICE = z.object({
  hunk: z.number(),
  decision: z.string(),
  reason: z.string().nullish(),
  bytes: z.number().optional(),
  in_part: z.boolean().optional(),
})

export type ChoiceRead = z.output<typeof CHOICE>

const DECISION = z.object({
  answer: z.string(),
  by: z.string().nullish(),
  reason: z.string().nullish(),
  choices: z.array(CHOICE).optional().catch(undefined),
  becomes: z.object({ plan: z.string() }).optional().catch(undefined),
})

export type DecisionRead = z.output<typeof DECISION>

const STEPS = new Set(['requested', 'decided', 'dispatched', 'ended', 'looked', 'refused'])

/** Joins the lines of a journal, in the order in which they come, into stories. Calls that are over are forgotten. */
export class Stories {
  readonly #open = new Map<string, CallSoFar>()

  /** The story that the line belongs to; the same object for each line of one call. */
  add(line: LineRead): Story {
    if (line.type === 'unreadable') return line
    const { entry } = line
    if (entry.call === undefined || !STEPS.has(entry.type)) return { type: 'note', entry }
    const known = this.#open.get(entry.call)
    const story = known ?? new CallSoFar(entry.call, entry)
    story.add(entry)
    if (story.outcome === undefined) this.#open.set(entry.call, story)
    else this.#open.delete(entry.call)
    return story
  }
}

class CallSoFar {
  readonly type = 'call'
  readonly call: string
  /** Of its first line, as it is written there. */
  readonly time: string
  /** Undefined where its first line was not read: it began before. */
  began: EntryRead | undefined
  /** The last plan of it. */
  plan: PlanRead | undefined
  /** How asking ended, once it has. */
  decided: DecisionRead | undefined
  dispatched = false
  /** Undefined while no line says how it ended. */
  outcome: string | undefined
  elapsedMs: number | undefined
  /** The name under which its changes can be taken back. */
  undo: string | undefined

  constructor(call: string, { time }: EntryRead) {
    this.call = call
    this.time = time
  }

  add(entry: EntryRead): void {
    // A call that was approved with other arguments was carried out with those.
    if (entry.tool !== undefined) this.began = entry
    const plan = PLAN.safeParse(typeof entry.plan === 'string' ? { id: entry.plan } : entry.plan)
    // What a person chose of a plan has a name of its own, and was shown under that of the plan.
    const isKnown = plan.data?.id === this.plan?.id || plan.data?.id === this.decided?.becomes?.plan
    if (plan.success && !isKnown) this.plan = plan.data
    if (entry.type === 'decided') {
      const decision = DECISION.safeParse(entry)
      if (decision.success) this.decided = decision.data
    }
    if (entry.type === 'dispatched') this.dispatched = true
    if (typeof entry.undo === 'string') this.undo = entry.undo
    this.outcome = entry.outcome ?? this.outcome
    this.elapsedMs = entry.elapsed_ms ?? this.elapsedMs
  }
}

/** How many stories wait at most for one before them that has no end yet. */
const WAITING = 10_000

/**
 * The stories in the order in which they began. One without an end stands where it began, as far as it came; where very
 * many come after it, it is told as it is then, and once more when it ends.
 */
async function* storiesOf(
  lines: AsyncIterable<LineRead>,
  stories: Stories = new Stories(),
): AsyncGenerator<Story> {
  const queued = new Set<Story>()
  for await (const line of lines) {
    queued.add(stories.add(line))
    // A set keeps the order in which its members came.
    for (const next of queued) {
      if (!isOver(next) && queued.size <= WAITING) break
      queued.delete(next)
      yield next
    }
  }
  yield* queued
}

/** Whether nothing more can come of it. */
const isOver = (story: Story) => story.type !== 'call' || story.outcome !== undefined

/** Where the journal is, and until when it is read. */
export interface Place {
  readonly dir: string
  readonly signal: AbortSignal
}

/** How far reading has come. */
export class Mark {
  lines = 0
  last: LineRead | undefined
  #time: string | undefined
  readonly #place: Place

  constructor(place: Place) {
    this.#place = place
  }

  /** The same lines, noticed as they pass. */
  async *passing(lines: AsyncIterable<LineRead>): AsyncGenerator<LineRead> {
    for await (const line of lines) {
      this.lines++
      // An unreadable file says nothing about how far the other files were read.
      if (line.type === 'entry' || line.why === undefined) this.last = line
      if (line.type === 'entry') this.#time = line.entry.time
      yield line
      if (this.#place.signal.aborted) return
    }
  }

  /** All that is written after it, as it comes, until the signal aborts. */
  async *after(): AsyncGenerator<LineRead> {
    const { last } = this
    const { dir, signal } = this.#place
    const from = this.#time === undefined ? Number.NaN : Date.parse(this.#time) - CLOCK_MS
    const options: ReadOptions = { follow: true, signal, ...(from > 0 && { from: new Date(from) }) }
    let past = last === undefined
    for await (const line of readEntries(dir, options)) {
      past ||= last === undefined || isLater(line, last)
      if (past) yield line
    }
  }
}

/** A clock may have been set back by less than that. */
const CLOCK_MS = 3_600_000

function isLater(line: LineRead, last: LineRead): boolean {
  const [one, other] = [Number.parseInt(line.file, 10), Number.parseInt(last.file, 10)]
  return one > other || (one === other && line.line > last.line)
}

/** How much more is read with each try. */
const FURTHER = 8

/**
 * Reads the end of the journal, further and further back, until `enough` says that it is, or all of it was read. A try
 * gets the lines, and begins anew each time.
 */
export async function readingBack<Found>(
  place: Place,
  o: {
    readonly lines: number
    attempt(lines: AsyncIterable<LineRead>): Promise<Found>
    enough(found: Found): boolean
  },
): Promise<{ found: Found; mark: Mark }> {
  const { dir, signal } = place
  for (let last = o.lines; ; last *= FURTHER) {
    const mark = new Mark(place)
    const found = await o.attempt(mark.passing(readEntries(dir, { last, signal })))
    if (mark.lines < last || signal.aborted || o.enough(found)) return { found, mark }
  }
}

/** Lines of calls that began before are looked for this much further back. */
const MARGIN = 64

/** A call that nobody was asked about has two. */
const LINES_OF_CALL = 4

/** What goes on from where showing has come to. */
interface Progress {
  readonly mark: Mark
  readonly stories: Stories
}

/**
 * Shows the stories that are wanted, in the order in which they began. Of a long journal only the end is read, as far
 * back as the last ones that are wanted lie.
 */
export async function showStories(
  place: Place,
  { filter, show }: { filter: Filter; show: (story: Story) => void },
): Promise<Progress> {
  if (filter.count !== undefined) return showLast(place, { filter, show, count: filter.count })
  const { dir, signal } = place
  const [mark, stories] = [new Mark(place), new Stories()]
  const lines = readEntries(dir, { signal, ...(filter.since && { from: filter.since }) })
  for await (const story of storiesOf(mark.passing(lines), stories)) if (isWanted(story, filter)) show(story)
  return { mark, stories }
}

async function showLast(
  place: Place,
  { filter, show, count }: { filter: Filter; show: (story: Story) => void; count: number },
): Promise<Progress> {
  const { found, mark } = await readingBack(place, {
    lines: count * LINES_OF_CALL + MARGIN,
    attempt: lines => lastStories(lines, { filter, count }),
    enough: ({ last }) => last.length === count && last.every(isNamed),
  })
  for (const story of found.last) show(story)
  return { mark, stories: found.stories }
}

async function lastStories(
  lines: AsyncIterable<LineRead>,
  { filter, count }: { filter: Filter; count: number },
): Promise<{ last: Story[]; stories: Stories }> {
  const stories = new Stories()
  const last: Story[] = []
  for await (const story of storiesOf(lines, stories)) {
    if (isWanted(story, filter)) last.push(story)
    if (last.length >= 2 * count + MARGIN) last.splice(0, last.length - count)
  }
  return { last: count === 0 ? [] : last.slice(-count), stories }
}

/** Whether its first line was read. */
const isNamed = (story: Story) => story.type !== 'call' || story.began !== undefined

/** How long a call may go on before it is shown without its end, in milliseconds. */
const SHOWN_OPEN_MS = 700

interface FollowStoriesOptions {
  readonly filter: Filter
  readonly from: Progress
  show(story: Story): void
}

/**
 * Shows all that comes, until the signal aborts: a call when it ends, and before that when it asks a person, or takes
 * its time.
 */
export async function followStories({ filter, show, from }: FollowStoriesOptions): Promise<void> {
  const waiting = new Map<Story, NodeJS.Timeout>()
  const tell = (story: Story) => {
    clearTimeout(waiting.get(story))
    waiting.delete(story)
    if (isWanted(story, filter)) show(story)
  }
  try {
    for await (const line of from.mark.after()) {
      const story = from.stories.add(line)
      if (isOver(story) || asksNow(line)) tell(story)
      else if (!waiting.has(story)) waiting.set(story, setTimeout(tell, SHOWN_OPEN_MS, story))
    }
  } finally {
    for (const timer of waiting.values()) clearTimeout(timer)
  }
}

const asksNow = (line: LineRead) => line.type === 'entry' && line.entry.type === 'requested'

/** Which part of the journal is wanted. What is left out leaves nothing out. */
export interface Filter {
  readonly kernel: readonly string[]
  readonly tool: readonly string[]
  /** All names of what was called. Left out: the one in the journal. */
  toolNames?(tool: string, args: unknown): readonly string[]
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
export const EVERYTHING: Filter = { kernel: [], tool: [], level: [], outcome: [] }

/** Whether that part of a call is asked for at all, so that what says nothing of it is left out. */
export const isFiltered = ({ kernel, tool, level, outcome }: Filter) =>
  kernel.length + tool.length + level.length + outcome.length > 0

/** Whether a story is in the part that is wanted. */
function isWanted(story: Story, filter: Filter): boolean {
  if (filter.also?.(story) === false) return false
  if (story.type === 'unreadable') return story.why !== undefined || !isFiltered(filter)
  const time = story.type === 'call' ? story.time : story.entry.time
  if (filter.since !== undefined && time < filter.since.toISOString()) return false
  if (filter.until !== undefined && time > filter.until.toISOString()) return false
  if (story.type === 'note') return isWantedNote(story.entry, filter)
  // What began before the part that is read has no name here.
  if (story.began === undefined) return filter.since === undefined && !isFiltered(filter)
  const { kernel, members = [], level } = story.began
  const kernels = [kernel, ...members.map(one => one.kernel)]
  return (
    matchesTool(filter, story.began) &&
    kernels.some(one => matches(filter.kernel, one)) &&
    matches(filter.level, level) &&
    matchesOutcome(filter.outcome, story.outcome)
  )
}

/** The life of a kernel belongs to what is said of it. Headers of files are of no use to a person. */
function isWantedNote(
  { type, kernel }: { type: string; kernel?: string | null | undefined },
  filter: Filter,
): boolean {
  if (type === 'segment') return false
  if (!isFiltered(filter)) return true
  const { tool, level, outcome } = filter
  return tool.length + level.length + outcome.length === 0 && matches(filter.kernel, kernel)
}

/** A last `*` stands for any end, as in the policy. */
export function matches(wanted: readonly string[], value: string | null | undefined): boolean {
  if (wanted.length === 0) return true
  if (value === null || value === undefined) return false
  return wanted.some(name => (name.endsWith('*') ? value.startsWith(name.slice(0, -1)) : name === value))
}

/** Whether a call is of a tool that is wanted, by any name of it. */
export function matchesTool(filter: Filter, { tool, args }: Partial<EntryRead>): boolean {
  if (filter.tool.length === 0) return true
  return (filter.toolNames?.(tool ?? '', args) ?? [tool]).some(name => matches(filter.tool, name))
}

export const isWell = (outcome: string) => outcome === 'ok' || outcome === ALLOWED

export function matchesOutcome(wanted: readonly string[], outcome: string | undefined): boolean {
  if (wanted.length === 0) return true
  if (outcome === undefined) return wanted.includes('open')
  return wanted.includes(outcome) || (!isWell(outcome) && wanted.includes('failed'))
}
