import type { OutputLog, OutputSoFar } from '../../tools/define.ts'
import type { EvalEvent, Stream } from '../../wire/kernel.ts'
import { beginning, cutMark, ending } from './cut.ts'
import type { TextStore } from './texts.ts'

/**
 * Characters of output that an answer shows whole; of longer output it shows the beginning and the end. Output
 * stands in an answer twice, by stream and in order, so that both together stay below the 64 Ki of a result.
 */
export const SHOWN_CHARS = 28 * 1024

/** An empty log. `on` is told each event, after it was taken down. */
export function openOutput(o: { readonly texts: TextStore; on(event: EvalEvent): void }): OutputLog {
  const both = new Ends()
  const streams: Record<Stream, Ends> = { stdout: new Ends(), stderr: new Ends() }
  let dropped = 0
  let whole: ReturnType<TextStore['open']> | undefined
  /** Characters missing at the end of the whole text so far. */
  let gap = 0

  function keep(stream: Stream, text: string): void {
    if (whole === undefined && both.total + text.length > SHOWN_CHARS) whole = o.texts.open(both.all())
    if (whole !== undefined) keepWhole(whole, text)
    streams[stream].add(text)
    both.add(text)
  }

  function keepWhole({ add }: { add(text: string): number }, text: string): void {
    const mark = gap > 0 ? droppedMark(gap) : ''
    if (mark !== '' && add(mark) === mark.length) gap = 0
    const missing = text.length - (gap === 0 ? add(text) : 0)
    gap += missing
    dropped += missing
  }

  return {
    add(event) {
      switch (event.type) {
        case 'output':
          keep(event.stream, event.text)
          break
        case 'dropped':
          dropped += event.characters
          keep(event.stream, droppedMark(event.characters))
          break
        default:
          event satisfies never
      }
      o.on(event)
    },
    soFar: () => soFar({ both, streams, dropped, handle: whole?.handle }),
  }
}

function soFar(kept: {
  readonly both: Ends
  readonly streams: Readonly<Record<Stream, Ends>>
  readonly dropped: number
  readonly handle: string | undefined
}): OutputSoFar {
  const { both, streams, dropped, handle } = kept
  const most = handle === undefined ? SHOWN_CHARS : SHOWN_CHARS / 2
  const where = handle === undefined ? '' : `; all of the output: read_more ${handle}`
  return {
    stdout: streams.stdout.shown(most, where),
    stderr: streams.stderr.shown(most, where),
    output: both.shown(SHOWN_CHARS, where),
    truncated: handle !== undefined || dropped > 0,
    dropped,
    ...(handle !== undefined && { handle }),
  }
}

const droppedMark = (characters: number) =>
  `\n… [${characters.toLocaleString('en-US')} characters were dropped here: they came too fast] …\n`

const HALF = SHOWN_CHARS / 2

/** The two ends of a text that only grows: what an answer can show of it. */
class Ends {
  #head = ''
  #tail = ''
  total = 0

  add(text: string): void {
    this.total += text.length
    const room = this.#tail === '' ? HALF - this.#head.length : 0
    const first = room > 0 ? beginning(text, room) : ''
    this.#head += first
    const rest = text.slice(first.length)
    if (rest.length >= HALF) this.#tail = ending(rest, HALF)
    else this.#tail += rest
    // Cut now and then, not each time: a flood of short lines would be copied over and over.
    if (this.#tail.length > HALF * 4) this.#tail = ending(this.#tail, HALF)
  }

  /** The whole text, as long as it is not longer than an answer shows. */
  all(): string {
    return this.#head + this.#tail
  }

  shown(most: number, where: string): string {
    const kept = this.#head + this.#tail
    if (this.total <= most) return kept
    const head = beginning(kept, most / 2)
    const tail = ending(this.#tail === '' ? kept : this.#tail, most / 2)
    return head + cutMark(this.total - head.length - tail.length, where) + tail
  }
}
