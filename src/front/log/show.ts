import { type LineRead, readEntries } from '../../core/journal/reading.ts'
import { type Asked, isWanted } from './asked.ts'
import { Mark, type Place, readingBack } from './place.ts'
import { isOver, Stories, type Story, storiesOf } from './stories.ts'

/** Lines of calls that began before are looked for this much further back. */
const MARGIN = 64
/** A call that nobody was asked about has two. */
const LINES_OF_CALL = 4

/** What goes on from where showing has come to. */
interface Shown {
  readonly mark: Mark
  readonly stories: Stories
}

/**
 * Shows the stories that are wanted, in the order in which they began. Of a long journal only the end is read, as far
 * back as the last ones that are wanted lie.
 */
export async function showStories(
  place: Place,
  { asked, show }: { asked: Asked; show: (story: Story) => void },
): Promise<Shown> {
  if (asked.count !== undefined) return showLast(place, { asked, show, count: asked.count })
  const { dir, signal } = place
  const [mark, stories] = [new Mark(place), new Stories()]
  const lines = readEntries(dir, { signal, ...(asked.since && { from: asked.since }) })
  for await (const story of storiesOf(mark.passing(lines), stories)) if (isWanted(story, asked)) show(story)
  return { mark, stories }
}

async function showLast(
  place: Place,
  { asked, show, count }: { asked: Asked; show: (story: Story) => void; count: number },
): Promise<Shown> {
  const { found, mark } = await readingBack(place, {
    lines: count * LINES_OF_CALL + MARGIN,
    attempt: lines => lastStories(lines, { asked, count }),
    enough: ({ last }) => last.length === count && last.every(isNamed),
  })
  for (const story of found.last) show(story)
  return { mark, stories: found.stories }
}

async function lastStories(
  lines: AsyncIterable<LineRead>,
  { asked, count }: { asked: Asked; count: number },
): Promise<{ last: Story[]; stories: Stories }> {
  const stories = new Stories()
  const last: Story[] = []
  for await (const story of storiesOf(lines, stories)) {
    if (isWanted(story, asked)) last.push(story)
    if (last.length >= 2 * count + MARGIN) last.splice(0, last.length - count)
  }
  return { last: count === 0 ? [] : last.slice(-count), stories }
}

/** Whether its first line was read. */
const isNamed = (story: Story) => story.type !== 'call' || story.began !== undefined

/** How long a call may go on before it is shown without its end, in milliseconds. */
const SHOWN_OPEN_MS = 700

interface Following {
  readonly asked: Asked
  readonly from: Shown
  show(story: Story): void
}

/**
 * Shows all that comes, until the signal aborts: a call when it ends, and before that when it asks a person, or takes
 * its time.
 */
export async function followStories({ asked, show, from }: Following): Promise<void> {
  const waiting = new Map<Story, NodeJS.Timeout>()
  const tell = (story: Story) => {
    clearTimeout(waiting.get(story))
    waiting.delete(story)
    if (isWanted(story, asked)) show(story)
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
