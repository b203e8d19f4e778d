import { duration, oneLine } from '../../../tools/wording.ts'
import type { EntryRead } from '../../core/journal/reading.ts'
import { journalDir } from '../../core/journal/segments.ts'
import { messageOf } from '../../failure.ts'
import { EVERYTHING } from '../log/asked.ts'
import { noteText } from '../log/lines.ts'
import { showStories } from '../log/show.ts'
import type { CallStory, Note, Story } from '../log/stories.ts'
import { looking, plain, type Span } from './style.ts'
import { fitted, widthOf } from './width.ts'

/** Characters of the arguments that a line shows. */
const ARGUMENTS = 200

interface Wanted {
  readonly stateDir: string
  readonly count: number
  readonly columns: number
}

/**
 * The last calls of the journal and what became of suspended evaluations, one in a line, oldest first. What the console
 * asks while one types is left out.
 */
export async function journalSpans({ stateDir, count, columns }: Wanted): Promise<Span[]> {
  const place = { dir: journalDir(stateDir), signal: new AbortController().signal }
  const spans: Span[] = []
  const show = (story: Story) => {
    if (isCall(story)) spans.push(...lineSpans(story, columns))
    else if (isNews(story)) spans.push(...newsSpans(story.entry, columns))
  }
  const also = (story: Story) => isCall(story) || isNews(story)
  try {
    await showStories(place, { asked: { ...EVERYTHING, count, also }, show })
  } catch (error) {
    return [looking('error', `The journal cannot be read: ${messageOf(error)}\n`)]
  }
  return spans.length === 0 ? [looking('hint', 'Nothing was called yet.\n')] : spans
}

const isCall = (story: Story): story is CallStory =>
  story.type === 'call' && story.began !== undefined && story.began.tool !== 'complete'

const isNews = (story: Story): story is Note => story.type === 'note' && story.entry.type === 'suspension'

/** What became of a suspended evaluation, and by whom. */
function newsSpans(entry: EntryRead, columns: number): Span[] {
  const time = `${clock(entry.time)} `
  const text = fitted(oneLine(noteText(entry).text), Math.max(8, columns - time.length - 1))
  return [looking('hint', time), plain(`${text}\n`)]
}

/** Characters of the name of whoever has called. */
const CALLER = 14

function lineSpans(story: CallStory, columns: number): Span[] {
  const { time, began, elapsedMs } = story
  const tool = began?.tool ?? ''
  const outcome = story.outcome ?? (story.dispatched ? 'under way' : (story.decided?.answer ?? 'asks'))
  const good = outcome === 'ok' || outcome === 'under way'
  const took = elapsedMs === undefined ? '' : duration(elapsedMs)
  const kernel = began?.kernel ?? '-'
  const caller = fitted(oneLine(began?.caller ?? '-'), CALLER).padEnd(CALLER)
  const head = `${clock(time)} ${tool.padEnd(14)} ${outcome.padEnd(9)} ${took.padStart(7)} ${kernel} ${caller} `
  const room = Math.max(8, columns - widthOf(head) - 1)
  return [
    looking('hint', head.slice(0, 9)),
    plain(head.slice(9, 9 + tool.padEnd(14).length + 1)),
    looking(good ? 'hint' : 'error', head.slice(9 + tool.padEnd(14).length + 1)),
    plain(`${fitted(shortened(began?.args), room)}\n`),
  ]
}

/** A single text stands for itself. */
function shortened(args: unknown): string {
  const values = typeof args === 'object' && args !== null ? Object.values(args) : []
  const text = typeof values[0] === 'string' && isAlone(args) ? values[0] : (JSON.stringify(args) ?? '')
  return oneLine(text.slice(0, ARGUMENTS))
}

/** How it was called, and not what with. */
const BESIDES = ['patience', 'kernel']

const isAlone = (args: unknown) =>
  Object.keys(args as object).filter(name => !BESIDES.includes(name)).length === 1

/** In the person's own time. */
function clock(time: string): string {
  const date = new Date(time)
  return Number.isNaN(date.getTime()) ? time : date.toTimeString().slice(0, 8)
}
