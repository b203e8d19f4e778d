import { z } from 'zod'
import type { EntryRead, LineRead } from '../../core/journal/reading.ts'

/** All that the journal says of one call, which stands there in up to six lines. */
export interface CallStory {
  readonly type: 'call'
  readonly call: string
  /** Of its first line, as it is written there. */
  readonly time: string
  /** Undefined where its first line was not read: it began before. */
  readonly began: EntryRead | undefined
  /** The last plan of it. */
  readonly plan: PlanRead | undefined
  /** How asking ended, once it has. */
  readonly decided: DecisionRead | undefined
  readonly dispatched: boolean
  /** Undefined while no line says how it ended. */
  readonly outcome: string | undefined
  readonly elapsedMs: number | undefined
  /** The name under which its changes can be taken back. */
  readonly undo: string | undefined
}

/** A line that is about no call. */
export interface Note {
  readonly type: 'note'
  readonly entry: EntryRead
}

/** A line that is damaged, or of a later version. */
export type Unreadable = Extract<LineRead, { type: 'unreadable' }>

export type Story = CallStory | Note | Unreadable

const PLAN = z.looseObject({ id: z.string(), title: z.string().optional() })
export type PlanRead = z.output<typeof PLAN>

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
  readonly #open = new Map<string, Told>()

  /** The story that the line belongs to; the same object for each line of one call. */
  add(line: LineRead): Story {
    if (line.type === 'unreadable') return line
    const { entry } = line
    if (entry.call === undefined || !STEPS.has(entry.type)) return { type: 'note', entry }
    const known = this.#open.get(entry.call)
    const story = known ?? new Told(entry.call, entry)
    story.add(entry)
    if (story.outcome === undefined) this.#open.set(entry.call, story)
    else this.#open.delete(entry.call)
    return story
  }
}

class Told implements CallStory {
  readonly type = 'call'
  readonly call: string
  readonly time: string
  began: EntryRead | undefined
  plan: PlanRead | undefined
  decided: DecisionRead | undefined
  dispatched = false
  outcome: string | undefined
  elapsedMs: number | undefined
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
export async function* storiesOf(
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
export const isOver = (story: Story) => story.type !== 'call' || story.outcome !== undefined
