import { type EntryRead, type LineRead, readEntries } from '../../core/journal/reading.ts'
import { type Asked, isFiltered, matches, matchesOutcome } from './asked.ts'
import { Mark, type Place, readingBack } from './place.ts'
import { Stories } from './stories.ts'

/** What a call was is told by its first line, which may lie before the last ones that are wanted. */
const MARGIN = 1_024

export interface Lines {
  readonly asked: Asked
  readonly follow: boolean
  show(line: LineRead): void
}

/** Shows the lines that are wanted as they stand there, in order. With `follow`, goes on until the signal aborts. */
export async function showLines(place: Place, { asked, follow, show }: Lines): Promise<void> {
  const choice = new Choice(asked)
  const mark = await showWhatIs(place, { choice, show })
  if (!follow) return
  for await (const line of mark.after()) if (choice.takes(line)) show(line)
}

async function showWhatIs(
  place: Place,
  { choice, show }: { choice: Choice; show(line: LineRead): void },
): Promise<Mark> {
  const { dir, signal } = place
  const { count, since } = choice.asked
  if (count === undefined) {
    const mark = new Mark(place)
    const lines = mark.passing(readEntries(dir, { signal, ...(since && { from: since }) }))
    for await (const line of lines) if (choice.takes(line)) show(line)
    return mark
  }
  const { found, mark } = await readingBack(place, {
    lines: count + (isFiltered(choice.asked) ? MARGIN : 0),
    async attempt(lines) {
      choice.forget()
      const last: LineRead[] = []
      for await (const line of lines) {
        if (choice.takes(line)) last.push(line)
        if (last.length >= 2 * count + MARGIN) last.splice(0, last.length - count)
      }
      return count === 0 ? [] : last.slice(-count)
    },
    enough: last => last.length === count,
  })
  for (const line of found) show(line)
  return mark
}

/** Which lines are wanted: a line that does not say what its call was is of the call that an earlier one told of. */
class Choice {
  readonly asked: Asked
  #stories = new Stories()

  constructor(asked: Asked) {
    this.asked = asked
  }

  forget(): void {
    this.#stories = new Stories()
  }

  takes(line: LineRead): boolean {
    const { asked } = this
    const story = this.#stories.add(line)
    if (line.type === 'unreadable') return !isFiltered(asked)
    const { entry } = line
    if (asked.since !== undefined && entry.time < asked.since.toISOString()) return false
    if (asked.until !== undefined && entry.time > asked.until.toISOString()) return false
    const call: Partial<EntryRead> = (story.type === 'call' ? story.began : undefined) ?? entry
    return (
      matches(asked.tool, call.tool) &&
      matches(asked.kernel, call.kernel) &&
      matches(asked.level, call.level) &&
      (asked.outcome.length === 0 ||
        (entry.outcome !== undefined && matchesOutcome(asked.outcome, entry.outcome)))
    )
  }
}
