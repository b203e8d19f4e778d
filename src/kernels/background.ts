import { z } from 'zod'
import type { Of } from '../../wire/kernel.ts'
import { ending, type TextStore } from '../text/texts.ts'

/** What a row shows of it: so many lines and characters. */
const SHOWN_LINES = 10

const SHOWN_CHARS = 1_024

/** What the topic `output` has of it: so many rows at most, of so many characters. */
const ROWS = 16

const ROW_CHARS = 4_096

/** A log that has grown to so many characters begins anew with the last of them. */
const MOST_CHARS = 8 * 1024 * 1024

const KEPT_CHARS = 1024 * 1024

/** What a kernel printed while no evaluation ran: its script, threads, and children of either. */
export const BACKGROUND_ROW = z.strictObject({
  handle: z
    .string()
    .describe(
      'read_more has all of it, or the last mebi of characters at least. It can change while more is printed.',
    ),
  last: z.string().describe('The last lines of both streams, in the order in which they came.'),
  truncated: z.boolean().describe('There is more than last.'),
})

export type BackgroundRow = Of<typeof BACKGROUND_ROW>

/** A row of the topic `output`: a piece of what a kernel printed, which grows until it is full. */
export const OUTPUT_ROW = z.strictObject({ kernel: z.string(), handle: z.string(), text: z.string() })

export type OutputRow = Of<typeof OUTPUT_ROW>

/** The background output of one life of a kernel. Nothing is kept, and no handle made, before there is any. */
export class Background {
  readonly #texts: TextStore
  #text: ReturnType<TextStore['open']> | undefined
  #first = ''
  #taken = 0
  #total = 0
  #last = ''

  constructor(texts: TextStore) {
    this.#texts = texts
  }

  add(text: string): void {
    if (text === '') return
    this.#total += text.length
    this.#last += text
    if (this.#last.length > 2 * ROWS * ROW_CHARS) this.#last = this.#last.slice(-ROWS * ROW_CHARS)
    if (this.#text === undefined || this.#taken + text.length > MOST_CHARS || !this.#isKept())
      this.#begin(text)
    else this.#taken += this.#text.add(text)
  }

  row(): BackgroundRow | null {
    if (this.#text === undefined) return null
    const lines = ending(this.#last, SHOWN_CHARS).trimEnd().split('\n')
    const truncated = this.#total > SHOWN_CHARS || lines.length > SHOWN_LINES
    return { handle: this.#text.handle, last: lines.slice(-SHOWN_LINES).join('\n'), truncated }
  }

  /** The last of it, cut where pieces were cut before, between characters; a key names one piece of one life. */
  pieces(): readonly { readonly key: string; readonly handle: string; readonly text: string }[] {
    if (this.#text === undefined) return []
    const { handle } = this.#text
    const before = this.#total - this.#last.length
    const at = (place: number) => {
      const from = Math.max(0, place - before)
      return /^[\udc00-\udfff]/.test(this.#last.charAt(from)) ? from + 1 : from
    }
    const newest = Math.ceil(this.#total / ROW_CHARS)
    const oldest = Math.max(Math.ceil(before / ROW_CHARS), newest - ROWS)
    return Array.from({ length: newest - oldest }, (_, index) => {
      const number = oldest + index
      const text = this.#last.slice(at(number * ROW_CHARS), at((number + 1) * ROW_CHARS))
      return { key: `${this.#first}.${number}`, handle, text }
    })
  }

  /** Others may have needed the room of a log that nobody read. */
  #isKept(): boolean {
    return this.#text !== undefined && this.#texts.has(this.#text.handle)
  }

  #begin(text: string): void {
    const former = this.#text?.handle
    const from = Math.max(0, this.#taken - KEPT_CHARS)
    const kept = former && this.#texts.read({ handle: former, from, count: KEPT_CHARS })?.text
    const whole = (kept ?? '') + text.slice(-MOST_CHARS / 2)
    this.#text = this.#texts.open(whole)
    this.#taken = whole.length
    this.#first ||= this.#text.handle
    if (former !== undefined) this.#texts.drop(former)
  }
}
