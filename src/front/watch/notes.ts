import { oneLine } from '../../../tools/wording.ts'
import type { Look } from '../console/style.ts'

/** A sentence that stays a while. */
export interface Note {
  readonly text: string
  readonly look: Look | undefined
}

/** What was said, for those who look it up. */
export interface Said {
  readonly text: string
  readonly at: number
}

interface Waiting extends Note {
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
  readonly #queue: Waiting[] = []
  readonly #said: Said[] = []
  /** What a key came to: it comes first, and the next key takes it away. */
  #brief: Waiting | undefined
  #count = 0

  /** Oldest first, those alone that are worth it. */
  get said(): readonly Said[] {
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
    const isOver = ({ at, since }: Waiting) =>
      since === undefined ? now >= at + STALE_MS : now >= since + long
    if (this.#brief !== undefined && isOver(this.#brief)) this.#brief = undefined
    this.#drop(isOver)
  }

  #drop(goes: (note: Waiting) => boolean): void {
    for (let index = this.#queue.length - 1; index >= 0; index--) {
      const note = this.#queue[index]
      if (note !== undefined && goes(note)) this.#queue.splice(index, 1)
    }
  }
}
