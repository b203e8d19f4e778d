import { conditionLine } from '../../../tools/suspension-text.ts'
import { beginning, counted, oneLine } from '../../../tools/text.ts'
import { escapeLine } from '../../text/escape.ts'
import { clock } from '../log/lines.ts'
import type { Topic } from '../operations/operation.ts'
import type { TopicRows } from '../protocol.ts'
import type { SubscriptionEvent, TopicChange } from '../subscriptions.ts'
import { changesIn } from '../topic-news.ts'

/** A row as a person reads it in a list. */
interface Words {
  readonly shown: string
  /** The row waits for a person. */
  readonly waits?: boolean
}

/** Characters of an error in a list. */
const ERROR_CHARS = 200

const WORDS: { readonly [T in Topic]?: (row: TopicRows[T]) => Words } = {
  approvals: row => ({ shown: planLine(row), waits: row.state !== 'ended' }),
  seats: row => ({ shown: seatLine(row), waits: 'id' in row && row.why === null }),
  suspensions: ({ id, kernel, news, ...error }) => ({
    shown: `${id}, ${kernel}: ${beginning(conditionLine(error), ERROR_CHARS)}`,
    waits: news.type !== 'ended',
  }),
  errors: row => ({ shown: `${row.what} (${[row.kernel, ...errorFacts(row)].join(', ')})` }),
}

/** Where and when an error came, its `age` in words, and how often if more than once. */
export const errorFacts = (
  { where, at, times }: Pick<TopicRows['errors'], 'where' | 'at' | 'times'>,
  age?: string,
) => [
  ...(where === null ? [] : [where]),
  clock(at),
  ...(age === undefined ? [] : [age]),
  ...(times === 1 ? [] : [`${times} times`]),
]

function planLine(row: TopicRows['approvals']): string {
  if (row.state === 'waits') return `${row.title}, asked by ${row.who}`
  if (row.state === 'held') return `${row.tool}, asked by ${row.who}, waits for somebody to sit`
  const { why, ended } = row
  if (ended === undefined) return why
  const back = ended.undo === null ? '' : ` To take it back: imago undo ${ended.undo}`
  const old = ended.notice === undefined ? '' : ` ${oneLine(ended.notice)}`
  return `${why} It ended: ${ended.outcome}.${old}${back}`
}

function seatLine(row: TopicRows['seats']): string {
  if ('text' in row) return row.text
  const started = row.command === '' ? '' : `, started with ${row.command}`
  if ('seat' in row) return row.who + started
  const { code, driver = null } = row.through ?? {}
  const shows = code === undefined ? '' : `, shows the code ${code}`
  return `${row.who} wants a seat${started}${shows}${driver === null ? '' : `, may be driven by ${driver}`}`
}

/** The same event, whose rows say what a person reads of them. */
export function inWords(event: SubscriptionEvent): SubscriptionEvent {
  const { rev } = event
  return 'snapshot' in event
    ? { rev, snapshot: event.snapshot.map(changeInWords) }
    : { rev, changes: event.changes.map(changeInWords) }
}

function changeInWords(change: TopicChange): TopicChange {
  const { topic, value } = change
  const words = value === null ? undefined : WORDS[topic]?.(value as never)
  if (words === undefined) return change
  const shown = escapeLine(words.shown)
  return { ...change, value: { ...(value as object), shown, ...(words.waits && { waits: true }) } }
}

const COUNTED: { readonly [T in Topic]?: (count: number) => string } = {
  approvals: count => counted(count, 'plan waits', 'plans wait'),
  seats: count => `${counted(count, 'seat')} wanted`,
  suspensions: count => `${count} suspended`,
}

/** What waits for a person of the rows that an editor follows. */
export class Waiting {
  /** Topics of the rows that wait, by topic and key. */
  readonly #rows = new Map<string, Topic>()
  #text = ''

  /** Takes an event with words. Answers what the editor is to be told, if anything is another than before. */
  after(
    event: SubscriptionEvent,
    isNews: (plan: string) => boolean,
  ): { readonly text: string; readonly news: boolean } | undefined {
    const before = new Set(this.#rows.keys())
    if ('snapshot' in event) this.#rows.clear()
    let news = false
    for (const { topic, key, value } of changesIn(event)) {
      const { waits, state } = (value ?? {}) as { readonly waits?: boolean; readonly state?: string }
      const name = `${topic} ${key}`
      if (!waits) this.#rows.delete(name)
      else if (this.#rows.set(name, topic) && state === 'waits' && !before.has(name)) news ||= isNews(key)
    }
    const topics = [...this.#rows.values()]
    const text = Object.entries(COUNTED)
      .map(([topic, said]) => [topics.filter(one => one === topic).length, said] as const)
      .flatMap(([count, said]) => (count === 0 ? [] : [said(count)]))
      .join(', ')
    if (text === this.#text && !news) return undefined
    this.#text = text
    return { text, news }
  }
}
