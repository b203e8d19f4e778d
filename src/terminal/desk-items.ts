import { oneLine } from '../../tools/text.ts'
import type { Grant, Pause, SeatAnswer, ShownPlan } from '../approvals/contract.ts'
import { Decisions } from '../front/hunks/decisions.ts'
import type { SeatWanted } from '../front/protocol.ts'
import type { Look } from './layout.ts'

/** What waits for a person: a plan, or a question of the seats. */
export type Item = PlanItem | SeatItem | TroubleItem

interface Waits {
  readonly id: string
  /** When it began to wait, by the clock of the desk. */
  readonly since: number
}

export interface PlanItem extends Waits {
  readonly type: 'plan'
  plan: ShownPlan
  /** Of a plan whose hunks are decided one by one. */
  readonly deciding: Decisions | undefined
  /** Whether the end of its text was on the screen. */
  seen: boolean
  /** Arguments that were written and could not be used, with the cause. */
  draft?: string
  /** What was answered, until it is known what became of that. */
  sent?: AnswerWords
}

/** An answer in words: `approving`, and then `approved`. */
export interface AnswerWords {
  readonly now: string
  readonly past: string
  readonly look: Look
}

export interface SeatItem extends Waits {
  readonly type: 'seat'
  readonly wanted: SeatWanted
}

export interface TroubleItem extends Waits {
  readonly type: 'trouble'
  readonly trouble: string
}

export function planItem(plan: ShownPlan, now: number): PlanItem {
  const deciding = plan.hunks.length > 0 ? new Decisions(plan.hunks) : undefined
  return { type: 'plan', id: plan.id, since: now - plan.waited_ms, plan, deciding, seen: false }
}

/** What waits, in the order of its turns, and which of it is looked at. That one never changes by itself. */
export class Items {
  readonly #items: Item[] = []
  #here: Item | undefined

  get all(): readonly Item[] {
    return this.#items
  }

  /** What is looked at. */
  get here(): Item | undefined {
    return this.#here
  }

  find(id: string): Item | undefined {
    return this.#items.find(item => item.id === id)
  }

  /** Beside those of its turn; else at the end. Looked at where nothing else is. */
  add(item: Item): void {
    const behind =
      item.type === 'plan' ? this.#items.findLastIndex(other => isOfTurn(other, item.plan.turn)) : -1
    this.#items.splice(behind < 0 ? this.#items.length : behind + 1, 0, item)
    this.#here ??= item
  }

  /** Decisions about hunks that were not sent. */
  get unsent(): number {
    return this.#items.reduce(
      (sum, item) =>
        sum + (item.type === 'plan' && item.sent === undefined ? (item.deciding?.tally.decided ?? 0) : 0),
      0,
    )
  }

  /** The plans of that turn, in order. */
  turn(turn: string): PlanItem[] {
    return this.#items.filter((item): item is PlanItem => isOfTurn(item, turn))
  }

  remove(id: string): void {
    const at = this.#items.findIndex(item => item.id === id)
    if (at < 0) return
    const [gone] = this.#items.splice(at, 1)
    if (this.#here !== gone) return
    // What belongs together is gone through together; then what has waited longest.
    const turn = gone?.type === 'plan' ? this.turn(gone.plan.turn)[0] : undefined
    this.#here = turn ?? this.#items[at] ?? this.#items[0]
  }

  go(by: -1 | 1): void {
    const at = this.#here === undefined ? -1 : this.#items.indexOf(this.#here)
    this.choose((at + by + this.#items.length) % Math.max(1, this.#items.length))
  }

  /** From 0; nothing where there are not so many. */
  choose(at: number): void {
    this.#here = this.#items[at] ?? this.#here
  }
}

export const isOfTurn = (item: Item, turn: string) => item.type === 'plan' && item.plan.turn === turn

/** What a person at a desk wants done that the desk cannot do by itself. */
export type Wish =
  /** Each is given as it is, and `Desk.answered` is told what became of it. */
  | { readonly type: 'answer'; readonly answers: readonly SeatAnswer[] }
  | { readonly type: 'admit'; readonly wanted: string; readonly admit: boolean }
  | { readonly type: 'acknowledge' }
  /** The text goes through the person's own editor, and `Desk.edited` is given what came of it. */
  | { readonly type: 'edit'; readonly text: string; readonly about: EditSubject }
  /** `Desk.stands` is told what is let through, and who is not asked about. */
  | { readonly type: 'look' }
  | { readonly type: 'revoke'; readonly grant: string }
  /** All pauses end. */
  | { readonly type: 'lift' }
  | { readonly type: 'leave' }

/** What a text is that a person edits. `suffix` is for the name of its file. */
export type EditSubject =
  | { readonly type: 'hunk'; readonly plan: string; readonly piece: number; readonly suffix: '.diff' }
  | { readonly type: 'arguments'; readonly plan: string; readonly suffix: '.json' }

/** A sentence that stays a while. */
export interface Note {
  readonly text: string
  readonly look: Look | undefined
}

/** What was said, for those who look it up. */
export interface PastNote {
  readonly text: string
  readonly at: number
}

interface QueuedNote extends Note {
  readonly at: number
  /** Since when all of it is on the screen. */
  since?: number
}

/** How a note says that a grant was given, before it is known by what name. */
export const letThrough = (pattern: string): string => `${oneLine(pattern)} is let through from now on`

/** How long a note stays on the screen, in milliseconds. */
const NOTE_MS = 8_000

/** The same while others wait for their turn. */
const BUSY_MS = 4_000

/** One that could not be shown for so long is looked up, if anybody wants it. */
const STALE_MS = 60_000

const MOST_WAITING = 20

const MOST_SAID = 50

/** The sentences for a person: each stands its while on the screen, those for which there is no room after the others. */
export class Notes {
  readonly #queue: QueuedNote[] = []
  readonly #said: PastNote[] = []
  /** What a key came to: it comes first, and the next key takes it away. */
  #brief: QueuedNote | undefined
  #count = 0

  /** Oldest first, those alone that are worth it. */
  get said(): readonly PastNote[] {
    return this.#said
  }

  /** How many were said by now. */
  get count(): number {
    return this.#count
  }

  /** What is to be shown, in order. */
  get all(): readonly Note[] {
    return this.#brief === undefined ? this.#queue : [this.#brief, ...this.#queue]
  }

  brief(note: Note, now: number): void {
    this.#brief = { ...note, at: now }
  }

  /** `kept`: it can be looked up later. */
  say(note: Note, { now, kept }: { now: number; kept: boolean }): void {
    this.#queue.push({ ...note, at: now })
    if (this.#queue.length > MOST_WAITING) this.#queue.shift()
    if (!kept) return
    this.#count++
    this.#said.push({ text: note.text, at: now })
    if (this.#said.length > MOST_SAID) this.#said.shift()
  }

  /** The first so many of them are on the screen. */
  shown(count: number, now: number): void {
    const all = this.#brief === undefined ? this.#queue : [this.#brief, ...this.#queue]
    for (const note of all.slice(0, count)) note.since ??= now
  }

  /** A key was pressed. */
  pressed(): void {
    this.#brief = undefined
  }

  /** A grant has ended: what is said of it is not so any more. It can still be looked up. */
  ended({ id, pattern }: { readonly id: string; readonly pattern?: string | undefined }): void {
    const given = pattern === undefined ? undefined : letThrough(pattern)
    this.#drop(
      ({ text }) => text.split(/[^\w-]/).includes(id) || (given !== undefined && text.includes(given)),
    )
  }

  tick(now: number): void {
    const long = this.#queue.some(({ since }) => since === undefined) ? BUSY_MS : NOTE_MS
    const isOver = ({ at, since }: QueuedNote) =>
      since === undefined ? now >= at + STALE_MS : now >= since + long
    if (this.#brief !== undefined && isOver(this.#brief)) this.#brief = undefined
    this.#drop(isOver)
  }

  #drop(goes: (note: QueuedNote) => boolean): void {
    for (let index = this.#queue.length - 1; index >= 0; index--) {
      const note = this.#queue[index]
      if (note !== undefined && goes(note)) this.#queue.splice(index, 1)
    }
  }
}

/** Signs that stand for something, where the terminal has Unicode and where it has not. */
export interface Signs {
  readonly here: string
  readonly accepted: string
  readonly refused: string
  readonly edited: string
  readonly open: string
  readonly rule: string
  /** Of plans that belong together: the first, those between, the last. */
  readonly group: readonly [string, string, string]
  readonly dot: string
}

const UNICODE: Signs = {
  here: '▸',
  accepted: '✓',
  refused: '✗',
  edited: '✎',
  open: '·',
  rule: '─',
  group: ['┌', '│', '└'],
  dot: '·',
}

const ASCII: Signs = {
  here: '>',
  accepted: 'y',
  refused: 'n',
  edited: 'e',
  open: '.',
  rule: '-',
  group: ['/', '|', '\\'],
  dot: '-',
}

export const signsFor = (unicode: boolean): Signs => (unicode ? UNICODE : ASCII)

/** Whether a terminal with this environment shows more than ASCII. */
export function showsUnicode(env: Readonly<Record<string, string | undefined>>): boolean {
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG || ''
  return env.TERM !== 'linux' && /utf-?8/i.test(locale)
}

/** What is said of a plan after it was settled. */
export interface Past {
  readonly id: string
  readonly title: string
  readonly what: string
  readonly at: number
}

/** What holds besides plans, as it was at that time of the desk. */
export interface InForce {
  readonly grants: readonly Grant[]
  readonly pauses: readonly Pause[]
  readonly at: number
  /** Another one whenever it was looked at anew. */
  readonly version: number
}
