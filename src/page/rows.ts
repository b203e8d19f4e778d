import type { Methods, PlanRow, SeatTopicRow } from '../front/protocol.ts'

export type KernelRow = Methods['kernels']['result']['kernels'][number]
export type SuspensionRow = Methods['suspensions']['result']['suspensions'][number]

/** The rows of each topic, as `subscribe` tells them. */
interface Topics {
  readonly kernels: Omit<KernelRow, 'background'>
  readonly approvals: PlanRow
  readonly suspensions: SuspensionRow & { readonly news: { readonly type: string } }
  readonly errors: ErrorRow
  readonly seats: SeatTopicRow
  readonly calls: CallRow
}

export interface ErrorRow {
  readonly kernel: string
  readonly number: number
  readonly at: string
  readonly where: string | null
  readonly times: number
  readonly what: string
  readonly file: string | null
  readonly line: number | null
}

export interface CallRow {
  readonly job: string
  readonly tool: string
  readonly kernel: string | null
  readonly elapsed_ms: number
  readonly plan: string | null
}

export type Topic = keyof Topics

export type RowsEvent =
  | { readonly rev: string; readonly snapshot: readonly Row[] }
  | { readonly rev: string; readonly changes: readonly Row[] }

interface Row {
  readonly topic: Topic
  readonly key: string
  readonly value: never
}

/** What the daemon has told of these topics: the whole state of the page, but for what a person does on it. */
export class Rows {
  readonly #topics = new Map<Topic, Map<string, never>>()
  readonly #changes = new Map<Topic, number>()

  of<T extends Topic>(topic: T): readonly Topics[T][] {
    return [...(this.#topics.get(topic)?.values() ?? [])]
  }

  find<T extends Topic>(topic: T, key: string): Topics[T] | undefined {
    return this.#topics.get(topic)?.get(key)
  }

  /** How often rows of these topics have changed by now. */
  changesOf(topics: readonly Topic[]): number {
    return topics.reduce((sum, topic) => sum + (this.#changes.get(topic) ?? 0), 0)
  }

  /** A snapshot has all rows of `topics`; what is not in it has gone. */
  take(event: RowsEvent, topics: readonly Topic[]): void {
    if ('snapshot' in event) for (const topic of topics) this.#topics.delete(topic)
    for (const { topic, key, value } of 'snapshot' in event ? event.snapshot : event.changes) {
      let rows = this.#topics.get(topic)
      if (rows === undefined) {
        rows = new Map<string, never>()
        this.#topics.set(topic, rows)
      }
      this.#changes.set(topic, (this.#changes.get(topic) ?? 0) + 1)
      if (value === null) rows.delete(key)
      else rows.set(key, value)
    }
  }
}
