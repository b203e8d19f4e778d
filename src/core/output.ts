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
  return new Log(o.texts, o.on)
}

class Log implements OutputLog {
  readonly #texts: TextStore
  readonly #on: (event: EvalEvent) => void
  /** Undefined as long as nothing has come: of most calls nothing ever does. */
  #printed: PrintedText | undefined

  constructor(texts: TextStore, on: (event: EvalEvent) => void) {
    this.#texts = texts
    this.#on = on
  }

  add(event: EvalEvent): void {
    this.#printed ??= new PrintedText(this.#texts)
    this.#printed.add(event)
    this.#on(event)
  }

  soFar(): OutputSoFar {
    return this.#printed?.soFar() ?? NOTHING
  }
}

const NOTHING: OutputSoFar = { stdout: '', stderr: '', output: '', truncated: false, dropped: 0 }

class PrintedText {
  readonly #texts: TextStore
  readonly #both = new Ends()
  readonly #streams: Readonly<Record<Stream, Ends>> = { stdout: new Ends(), stderr: new Ends() }
  #dropped = 0
  #whole: ReturnType<TextStore['open']> | undefined
  /** Characters missing at the end of the whole text so far. */
  #gap = 0

  constructor(texts: TextStore) {
    this.#texts = texts
  }

  add(event: EvalEvent): void {
    switch (event.type) {
      case 'output':
        this.#keep(event.stream, event.text)
        break
      case 'dropped':
        this.#dropped += event.characters
        this.#keep(event.stream, droppedMark(event.characters))
        break
      default:
        event satisfies never
    }
  }

  soFar(): OutputSoFar {
    const [both, streams, dropped] = [this.#both, this.#streams, this.#dropped]
    return soFar({ both, streams, dropped, handle: this.#whole?.handle })
  }

  #keep(stream: Stream, text: string): void {
    if (this.#whole === undefined && this.#both.total + text.length > SHOWN_CHARS)
      this.#whole = this.#texts.open(this.#both.all())
    if (this.#whole !== undefined) this.#keepWhole(this.#whole, text)
    this.#streams[stream].add(text)
    this.#both.add(text)
  }

  #keepWhole({ add }: { add(text: string): number }, text: string): void {
    const mark = this.#gap > 0 ? droppedMark(this.#gap) : ''
    if (mark !== '' && add(mark) === mark.length) this.#gap = 0
    const missing = text.length - (this.#gap === 0 ? add(text) : 0)
    this.#gap += missing
    this.#dropped += missing
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
