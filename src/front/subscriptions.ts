import type { CallerIdentity } from '../suspensions/owners.ts'
import { TOPICS, type Topic } from './operations/operation.ts'

/** One row of a topic, as a client is told it. */
export interface TopicRow {
  readonly key: string
  /** The project that it is of; null where it is of none, and everybody may know it. */
  readonly root: string | null
  /** `root` is no project, but a folder: the row is of each project that it belongs to. */
  readonly isFolder?: true
  readonly kernel: string | null
  readonly value: unknown
  /** It is told to those alone who sit. */
  readonly forSeats?: boolean
  /** The value as that client is told it; left out: as everybody is. */
  seenBy?(viewer: CallerIdentity): unknown
}

export interface TopicChange {
  readonly topic: Topic
  readonly key: string
  /** null: the row has gone. */
  readonly value: unknown
}

/** `rev` names the state after it: `INSTANCE:NUMBER`. The first event of a subscription is a snapshot, or what was missed. */
export type SubscriptionEvent =
  | { readonly rev: string; readonly snapshot: readonly TopicChange[] }
  | { readonly rev: string; readonly changes: readonly TopicChange[] }

interface Subscriber {
  /** Left out: it has no part in anything. */
  readonly viewer?: CallerIdentity
  readonly topics: readonly Topic[]
  /** As it was told before, perhaps by another daemon. Left out: it has nothing. */
  readonly since?: string | undefined
  mayBeTold(row: TopicRow): boolean
  tell(event: SubscriptionEvent): 'sent' | 'dropped'
  /** Calls that once, when a subscriber that did not read does. Left out: it always reads. */
  whenRead?(work: () => void): void
}

interface SubscriptionsOptions {
  /** Of the daemon: what another one was told is not continued. */
  readonly instance: string
  /** The rows as they are now. Asked for a topic only while somebody follows it. */
  readonly sources: Readonly<Partial<Record<Topic, () => readonly TopicRow[]>>>
  /** Somebody begins to follow that topic, whose rows may have to be asked for elsewhere. */
  followed?(topic: Topic): void
  /** Nobody follows that topic any more. */
  left?(topic: Topic): void
}

interface Kept {
  readonly row: TopicRow
  readonly text: string
  readonly rev: number
  readonly gone: boolean
}

/**
 * The most rows of one event; further rows come in further events. A subscriber that does not read has a bound of bytes and
 * a bound of events (`wire/link/calls.ts`), and so a bound of rows.
 */
const MOST_ROWS = 1_000

/** Rows that have gone are remembered for those who come back: so many of each topic. */
const MOST_GONE = 512

/** Fields that move by themselves: nothing has changed where only these differ. */
const MOVING: ReadonlySet<string> = new Set([
  'elapsed_ms',
  'expires_in_ms',
  'running_ms',
  'waited_ms',
  'ago_ms',
  'ends_ms',
  'left_ms',
])

const textOf = (value: unknown): string =>
  JSON.stringify(value, (key, inner: unknown) => (MOVING.has(key) ? undefined : inner)) ?? ''

/**
 * The rows of all topics, and who follows them. A part of the daemon says that a topic may have changed, and no more; rows
 * are read and compared once in a turn of the loop, and only where somebody follows. A subscriber that does not read loses
 * its changes. Once it reads again it gets the snapshot, or the changes after the last event that it was sent.
 */
export class Subscriptions {
  readonly #options: SubscriptionsOptions
  readonly #kept = new Map<Topic, Map<string, Kept>>()
  readonly #followers = new Set<Follower>()
  readonly #touched = new Set<Topic>()
  #rev = 0
  /** A client that knows only an older revision gets a snapshot: it cannot be told all rows that it lost. */
  #floor = 0
  /** The last revision at which a row became another project's. */
  #moved = 0
  #turn: NodeJS.Immediate | undefined

  constructor(options: SubscriptionsOptions) {
    this.#options = options
  }

  /** Rows of that topic may have changed. Costs nothing while nobody follows it. */
  touch(topic: Topic): void {
    if (!this.isFollowed(topic)) return
    this.#touched.add(topic)
    this.#turn ??= setImmediate(() => this.#flush())
  }

  /** Tells the subscriber the rows, or what it has missed, and then each change. The answer ends that. */
  follow(subscriber: Subscriber): () => void {
    this.#read(subscriber.topics)
    const follower: Follower = {
      ...subscriber,
      told: new Set(),
      heard: this.#numberOf(subscriber),
      isLost: false,
    }
    this.#followers.add(follower)
    for (const topic of subscriber.topics) this.#options.followed?.(topic)
    this.#tell(follower, 'first')
    return () => {
      this.#followers.delete(follower)
      for (const topic of subscriber.topics) if (!this.isFollowed(topic)) this.#options.left?.(topic)
    }
  }

  /** The number of a revision from which on nothing is missing here. */
  #numberOf({ since, topics }: Subscriber): number | undefined {
    const [, instance, number, heard = ''] = /^([^:]+):(\d{1,15}):(\w*)$/.exec(since ?? '') ?? []
    if (instance !== this.#options.instance) return undefined
    if (topics.some(topic => !heard.includes(letterOf(topic)))) return undefined
    const isKnown = Number(number) >= Math.max(this.#floor, this.#moved) && Number(number) <= this.#rev
    return isKnown ? Number(number) : undefined
  }

  isFollowed(topic: Topic): boolean {
    for (const { topics } of this.#followers) if (topics.includes(topic)) return true
    return false
  }

  #flush(): void {
    this.#turn = undefined
    for (const topic of this.#touched) this.#refresh(topic)
    this.#touched.clear()
    for (const follower of this.#followers)
      if (!follower.isLost && follower.heard !== this.#rev) this.#tell(follower)
  }

  /** Reads the rows for one follower. The other followers hear of the changes at the end of the turn. */
  #read(topics: readonly Topic[]): void {
    for (const topic of topics) this.#refresh(topic)
    if (this.#followers.size > 0) this.#turn ??= setImmediate(() => this.#flush())
  }

  /** Reads the rows of a topic, and gives those that differ a new revision. */
  #refresh(topic: Topic): void {
    const kept = this.#kept.get(topic) ?? new Map<string, Kept>()
    this.#kept.set(topic, kept)
    const rows = this.#options.sources[topic]?.() ?? []
    const keys = new Set(rows.map(({ key }) => key))
    for (const row of rows) {
      const text = textOf(row.value)
      const known = kept.get(row.key)
      const isSame = known?.gone === false && known.text === text && known.row.root === row.root
      if (!isSame) kept.delete(row.key)
      // A snapshot has what moves by itself as it is by then.
      kept.set(row.key, { row, text, rev: isSame ? known.rev : ++this.#rev, gone: false })
      // Who was away cannot be told that it has lost a row which is another project's now.
      if (known !== undefined && known.row.root !== row.root) this.#moved = this.#rev
    }
    for (const [key, { row, gone }] of [...kept]) {
      if (gone || keys.has(key)) continue
      kept.delete(key)
      kept.set(key, { row: { ...row, value: null }, text: '', rev: ++this.#rev, gone: true })
    }
    this.#forget(kept)
  }

  /** The oldest of too many rows that have gone. */
  #forget(kept: Map<string, Kept>): void {
    const gone = [...kept].filter(([, one]) => one.gone)
    for (const [key, { rev }] of gone.slice(0, -MOST_GONE || undefined)) {
      kept.delete(key)
      this.#floor = Math.max(this.#floor, rev)
    }
  }

  /** What a follower may know of the changes after that revision, oldest first. */
  #since(follower: Follower, after: number): readonly Found[] {
    const found: Found[] = []
    for (const topic of follower.topics)
      for (const { row, rev, gone } of this.#kept.get(topic)?.values() ?? []) {
        const { key } = row
        const name = `${topic} ${key}`
        // A row for seats is new to a client that has taken one since.
        if (rev <= after && (gone || row.forSeats !== true || follower.told.has(name))) continue
        if (!gone && follower.mayBeTold(row)) {
          follower.told.add(name)
          found.push({
            topic,
            key,
            value: (follower.viewer && row.seenBy?.(follower.viewer)) ?? row.value,
            rev,
          })
        } else if (follower.told.delete(name) || (gone && follower.mayBeTold(row)))
          found.push({ topic, key, value: null, rev })
      }
    return found.sort((one, other) => one.rev - other.rev)
  }

  /**
   * Tells a follower all rows, or the changes that it has not heard; an event without changes is sent the `first` time only. Each
   * event has the revision up to which the follower has heard all then.
   */
  #tell(follower: Follower, first?: 'first'): void {
    const { heard } = follower
    const isAll = heard === undefined || heard < this.#floor
    if (isAll) follower.told.clear()
    const found = this.#since(follower, isAll ? 0 : heard)
    const rows = isAll ? found.filter(({ value }) => value !== null) : found
    if (!isAll && first === undefined && rows.length === 0) {
      follower.heard = this.#rev
      return
    }
    for (let at = 0; at === 0 || at < rows.length; at += MOST_ROWS) {
      const some = rows.slice(at, at + MOST_ROWS)
      const to = some.length === MOST_ROWS ? (some.at(-1)?.rev ?? this.#rev) : this.#rev
      const rev = `${this.#options.instance}:${to}:${follower.topics.map(letterOf).join('')}`
      const changes = some.map(({ rev: _, ...change }) => change)
      if (follower.tell(isAll && at === 0 ? { rev, snapshot: changes } : { rev, changes }) === 'dropped') {
        this.#lose(follower, at === 0 ? undefined : rows.slice(at))
        return
      }
      follower.heard = to
    }
  }

  /** Once the follower reads again it is told all rows, or the rows that are `left` and the changes since. */
  #lose(follower: Follower, left?: readonly Found[]): void {
    if (left === undefined) follower.heard = undefined
    // The follower may have a row that is gone: it is to hear so.
    for (const { topic, key } of left ?? []) follower.told.add(`${topic} ${key}`)
    follower.isLost = true
    follower.whenRead?.(() => {
      if (!this.#followers.has(follower)) return
      this.#read(follower.topics)
      follower.isLost = false
      this.#tell(follower)
    })
  }
}

/** The mark of a topic in a revision. A client that comes back has heard nothing of a topic without its mark. */
const letterOf = (topic: Topic) => TOPICS.indexOf(topic).toString(36)

type Found = TopicChange & { readonly rev: number }

interface Follower extends Subscriber {
  /** Keys of rows that it was told, so that it hears when one is none of its any more. */
  readonly told: Set<string>
  /** The revision up to which it has heard all; undefined where it has to be told all. */
  heard: number | undefined
  /** It did not read, and is told nothing until it does. */
  isLost: boolean
}
