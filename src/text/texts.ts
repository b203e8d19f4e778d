import { close, mkdirSync, openSync, readSync, unlinkSync, write } from 'node:fs'
import { join } from 'node:path'
import type { OutputLog, OutputSoFar, Texts } from '../../tools/contract.ts'
import { beginning } from '../../tools/text.ts'
import type { Display, EvalEvent, Stream } from '../../wire/kernel.ts'
import { type DisplayFiles, filed, openDisplayFiles } from './display-files.ts'

/** The last characters of a text, at most `count`, without the half of a surrogate pair. */
export function ending(text: string, count: number): string {
  if (count <= 0) return ''
  if (text.length <= count) return text
  const from = text.length - count
  return text.slice(isLow(text.charCodeAt(from)) ? from + 1 : from)
}

/** What stands where a text was cut. `where` says how to get at the rest, and begins with a semicolon. */
export function cutMark(characters: number, where: string): string {
  return `\n… [${characters.toLocaleString('en-US')} characters cut here${where}] …\n`
}

const isLow = (unit: number) => unit >= 0xdc00 && unit <= 0xdfff

/** How many texts are kept, and how many characters in all (two bytes each on the disk). */
const MOST_TEXTS = 128

const MOST_CHARS = 256 * 1024 * 1024

/** Room for a text that grows is looked for each time it has grown by so much. */
const CHECK_CHARS = 1024 * 1024

/** The long texts of all projects. The least recently used go first, whosever they are. */
export interface TextStores {
  /** Those of one project: to it a text of another one is as one that has made room for newer ones. */
  of(root: string): TextStore
  /** Lets go of all texts and their files. */
  close(): void
}

/** Long texts by handle: `@txt.N` for results that were cut, `@out.N` for output. */
export interface TextStore extends Texts {
  /** Keeps a finished text, and answers its handle. */
  keep(text: string): string
  /** A text that will grow; `add` answers how many of the characters were taken. */
  open(beginning: string): { readonly handle: string; add(text: string): number }
  /** Whether it has not made room for others; asking does not count as use. */
  has(handle: string): boolean
  /** Lets go of one text and its file. */
  drop(handle: string): void
  /** Where pictures and pages are kept. */
  readonly files: DisplayFiles
}

interface TextStoreOptions {
  /** A directory of the daemon; files are made in `output` below it. */
  readonly stateDir: string
  readonly log: (message: string, error: unknown) => void
}

const HANDLE = /^@(txt|out)\.(\d+)$/

export function openTexts({ stateDir, log }: TextStoreOptions): TextStores {
  const directory = join(stateDir, 'output')
  const filesOf = openDisplayFiles({ stateDir, log })
  const texts = new Map<string, KeptText>()
  /** How many of each kind were made: their numbers count up from 1. */
  const made = { txt: 0, out: 0 }

  function keep(root: string, kind: 'txt' | 'out', whole: string): { handle: string; text: LongText } {
    const number = ++made[kind]
    makeDirectory()
    const handle = `@${kind}.${number}`
    const path = join(directory, `${process.pid}-${kind}-${number}`)
    const text = new LongText({ path, text: whole, log })
    texts.set(handle, { root, text })
    makeRoom()
    return { handle, text }
  }

  // A directory that cannot be made shows again when a file is made in it; until then nothing is lost.
  function makeDirectory(): void {
    try {
      mkdirSync(directory, { recursive: true, mode: 0o700 })
    } catch (error) {
      log('The directory for long output cannot be made.', error)
    }
  }

  function makeRoom(): void {
    let chars = 0
    for (const { text } of texts.values()) chars += text.total
    for (const [handle, { text }] of texts) {
      if (texts.size <= 1 || (texts.size <= MOST_TEXTS && chars <= MOST_CHARS)) return
      chars -= text.total
      texts.delete(handle)
      text.dispose()
    }
  }

  function touch(root: string, handle: string): LongText | undefined {
    const kept = texts.get(handle)
    if (kept?.root !== root) return undefined
    texts.delete(handle)
    texts.set(handle, kept)
    return kept.text
  }

  const of = (root: string): TextStore => ({
    owns: handle => HANDLE.test(handle),
    issued(handle) {
      const [, kind = '', digits = ''] = HANDLE.exec(handle) ?? []
      const number = Number(digits)
      return (kind === 'txt' || kind === 'out') && number >= 1 && number <= made[kind]
    },
    read({ handle, from, count }) {
      const text = touch(root, handle)
      if (text === undefined) return undefined
      const part = text.read(from, count)
      const end = from + part.length
      return { text: part, total: text.total, next: part !== '' && end < text.total ? end : null }
    },
    keep: whole => keep(root, 'txt', whole).handle,
    open(whole) {
      const { handle, text } = keep(root, 'out', whole)
      let unchecked = 0
      const add = (more: string) => {
        unchecked += more.length
        if (unchecked > CHECK_CHARS) {
          unchecked = 0
          touch(root, handle)
          makeRoom()
        }
        return text.add(more)
      }
      return { handle, add }
    },
    has: handle => texts.get(handle)?.root === root,
    drop(handle) {
      const kept = texts.get(handle)
      if (kept?.root !== root) return
      kept.text.dispose()
      texts.delete(handle)
    },
    files: filesOf(root),
  })

  return {
    of,
    close() {
      for (const { text } of texts.values()) text.dispose()
      texts.clear()
    },
  }
}

/** A text, and the project that may read it. */
interface KeptText {
  readonly root: string
  readonly text: LongText
}

/** Characters of one text; the file holds two bytes for each, so that any place in it is found without reading. */
const MOST_CHARS_IN_FILE = 32 * 1024 * 1024

/** So much is held in memory before a file is made, and then between two writes. */
const MEMORY_CHARS = 64 * 1024

/** So much may wait while the disk is slow; what comes then is refused. */
const WAITING_CHARS = 8 * 1024 * 1024

/** So much is written at a time, from one buffer. */
const BATCH_CHARS = 256 * 1024

/** Short texts are put together to pieces of about this length. */
const PIECE_CHARS = 16 * 1024

interface LongTextOptions {
  /** Where the file would be made. Its directory exists. */
  readonly path: string
  /** What the text begins with, however long it is: it is in memory already. */
  readonly text?: string
  readonly log: (message: string, error: unknown) => void
}

/**
 * A text that grows at its end and can be read anywhere. Up to 64 Ki characters stay in memory, the rest goes to a
 * file, in batches and without waiting for the disk. Nothing that was taken is lost, not even when the disk fails.
 */
class LongText {
  readonly #path: string
  readonly #log: LongTextOptions['log']
  #fd: number | undefined
  /** Characters that are in the file. Those after them are in memory, in pieces. */
  #filed = 0
  #pieces: string[] = []
  #waiting = 0
  /** Only while characters are being written. */
  #buffer: Buffer | undefined
  #state: 'open' | 'full' | 'disposed' = 'open'

  constructor({ path, text = '', log }: LongTextOptions) {
    this.#path = path
    this.#log = log
    this.#take(text)
  }

  /** Characters taken so far. */
  get total(): number {
    return this.#filed + this.#waiting
  }

  /** How many of the characters were taken; the others had to be dropped. */
  add(text: string): number {
    if (this.#state !== 'open') return 0
    const room = Math.max(0, Math.min(MOST_CHARS_IN_FILE - this.total, WAITING_CHARS - this.#waiting))
    const taken = text.length <= room ? text : text.slice(0, room)
    this.#take(taken)
    return taken.length
  }

  read(from: number, count: number): string {
    const to = Math.min(this.total, from + count)
    const filed = this.#readFile(from, Math.min(to, this.#filed))
    if (to <= this.#filed) return filed
    return filed + this.#pieces.join('').slice(Math.max(0, from - this.#filed), to - this.#filed)
  }

  /** Lets go of the text and of its file. */
  dispose(): void {
    this.#state = 'disposed'
    this.#pieces = []
    if (this.#buffer === undefined) this.#closeFile()
  }

  #take(text: string): void {
    const last = this.#pieces.length - 1
    const piece = this.#pieces[last]
    if (piece !== undefined && piece.length < PIECE_CHARS) this.#pieces[last] = piece + text
    else if (text !== '') this.#pieces.push(text)
    this.#waiting += text.length
    if (this.#waiting > MEMORY_CHARS && this.#buffer === undefined && this.#state === 'open') this.#spill()
  }

  #spill(): void {
    try {
      this.#fd ??= this.#openFile()
      this.#buffer ??= Buffer.allocUnsafe(BATCH_CHARS * 2)
      const bytes = this.#encode(this.#buffer)
      write(this.#fd, this.#buffer, 0, bytes, this.#filed * 2, (error, count) => this.#written(error, count))
    } catch (error) {
      this.#fail(error)
    }
  }

  /** As many of the first pieces as there is room for; answers how many bytes. */
  #encode(buffer: Buffer): number {
    let bytes = 0
    for (const piece of this.#pieces) {
      bytes += buffer.write(piece, bytes, 'utf16le')
      if (buffer.length - bytes < 2) break
    }
    return bytes
  }

  /** What is in the file is let go of in memory; a character that was cut in half is written again. */
  #written(error: Error | null, count: number): void {
    const characters = Math.floor(count / 2)
    if (this.#state === 'disposed') this.#closeFile()
    else if (error !== null || characters === 0) this.#fail(error ?? new Error('nothing was written'))
    else {
      this.#letGo(characters)
      if (this.#waiting > MEMORY_CHARS) this.#spill()
      else this.#buffer = undefined
    }
  }

  #letGo(characters: number): void {
    this.#filed += characters
    this.#waiting -= characters
    let left = characters
    let whole = 0
    for (const piece of this.#pieces) {
      if (piece.length > left) break
      left -= piece.length
      whole++
    }
    this.#pieces.splice(0, whole)
    const [first] = this.#pieces
    if (first !== undefined && left > 0) this.#pieces[0] = first.slice(left)
  }

  /** What is in memory stays there, and no more is taken. */
  #fail(error: unknown): void {
    this.#state = 'full'
    this.#buffer = undefined
    this.#log('Output could not be written to a file; the rest of it is dropped.', error)
  }

  /** The name goes at once: nobody else can open the file, and none is left behind when the daemon is killed. */
  #openFile(): number {
    const fd = openSync(this.#path, 'wx+', 0o600)
    unlinkSync(this.#path)
    return fd
  }

  #closeFile(): void {
    const fd = this.#fd
    this.#fd = undefined
    this.#buffer = undefined
    if (fd !== undefined) close(fd, () => undefined)
  }

  #readFile(from: number, to: number): string {
    if (this.#fd === undefined || from >= to) return ''
    const bytes = Buffer.alloc((to - from) * 2)
    let done = 0
    while (done < bytes.length) {
      const count = readSync(this.#fd, bytes, done, bytes.length - done, from * 2 + done)
      if (count === 0) break
      done += count
    }
    return bytes.toString('utf16le', 0, done)
  }
}

/**
 * Characters of output that an answer shows whole; of longer output it shows the beginning and the end. Prose of that
 * length fits into the answer that a model is given.
 */
export const SHOWN_CHARS = 16 * 1024

/** An empty log. `on` is told each event, after it was taken down. */
export function openOutput(o: { readonly texts: TextStore; on(event: EvalEvent): void }): OutputLog {
  return new Log(o.texts, o.on)
}

class Log implements OutputLog {
  readonly #texts: TextStore
  readonly #on: (event: EvalEvent) => void
  /** Undefined as long as nothing has come: of most calls nothing ever does. */
  #printed: PrintedText | undefined
  #displays: Pick<OutputSoFar, 'displays' | 'displaysOmitted'> = {}

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
    return { ...(this.#printed?.soFar() ?? NOTHING), ...this.#displays }
  }

  display(displays: readonly Display[], omitted: number): void {
    this.#displays = {
      displays: displays.map(one => filed(one, this.#texts.files)),
      ...(omitted > 0 && { displaysOmitted: omitted }),
    }
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

/** Deeper than this nothing is shown. */
const DEPTH = 32

/** What a walk over a value may still take, in characters of an answer. Below zero it has been given up. */
interface Budget {
  left: number
}

/**
 * Whether JSON would hold the value as it is, within the budget: no other prototypes, no numbers that are not finite,
 * no cycles, no nesting that is too deep. May throw what a getter throws.
 */
export function isPlain(value: unknown, budget: Budget, depth = 0): boolean {
  budget.left -= sizeOf(value)
  if (budget.left < 0) return false
  switch (typeof value) {
    case 'string':
    case 'boolean':
    case 'undefined':
      return true
    case 'number':
      return Number.isFinite(value)
    case 'object':
      return value === null || (depth < DEPTH && isPlainInside(value, budget, depth + 1))
    default:
      return false
  }
}

function isPlainInside(value: object, budget: Budget, depth: number): boolean {
  if (Array.isArray(value)) return value.every(item => isPlain(item, budget, depth))
  const prototype: unknown = Object.getPrototypeOf(value)
  if ((prototype !== Object.prototype && prototype !== null) || 'toJSON' in value) return false
  return Object.entries(value).every(([key, item]) => {
    budget.left -= key.length + 4
    return isPlain(item, budget, depth)
  })
}

/** How much of a value is shown. */
export interface PlainOptions {
  readonly budget: Budget
  /** Items of one list, or entries of one object. */
  readonly items: number
  /** A text as it is shown. */
  text(text: string): string
  /** What stands for so many more items. */
  missing(count: number): string
}

/** All of it. */
export const WHOLE: PlainOptions = {
  budget: { left: Number.POSITIVE_INFINITY },
  items: Number.POSITIVE_INFINITY,
  text: text => text,
  missing: () => '',
}

/** The value as data that JSON holds, as far as it is shown. What JSON cannot hold is written as text. Never throws. */
export function plain(value: unknown, showing: PlainOptions, above: readonly object[] = []): unknown {
  if (showing.budget.left < 0) return null
  const shown = attempt(() =>
    typeof value === 'object' && value !== null ? contents(value, showing, above) : scalar(value, showing),
  )
  showing.budget.left -= sizeOf(shown)
  return shown
}

/** Without what is in it: that is counted by itself. */
function sizeOf(value: unknown): number {
  return typeof value === 'string' ? value.length + 2 : 8
}

function scalar(value: unknown, showing: PlainOptions): unknown {
  switch (typeof value) {
    case 'string':
      return showing.text(value)
    case 'number':
      return Number.isFinite(value) ? value : String(value)
    case 'bigint':
      return showing.text(String(value))
    case 'function':
      return `[function ${value.name}]`.slice(0, 200)
    case 'symbol':
      return String(value).slice(0, 200)
    default:
      return value
  }
}

function contents(value: object, showing: PlainOptions, above: readonly object[]): unknown {
  if (above.includes(value)) return '[circular]'
  if (above.length === DEPTH) return '[deeper]'
  const here = [...above, value]
  if (Array.isArray(value)) return list(value, showing, here)
  if (value instanceof Map || value instanceof Set) return list([...value], showing, here)
  if (value instanceof Error) return showing.text(`${value.name}: ${value.message}`)
  if (value instanceof Date) return String(value)
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`
  return entries(value, showing, here)
}

function list(value: readonly unknown[], showing: PlainOptions, here: readonly object[]): unknown[] {
  const shown = value.slice(0, showing.items).map(item => plain(item, showing, here))
  return shown.length === value.length ? shown : [...shown, showing.missing(value.length - shown.length)]
}

function entries(value: object, showing: PlainOptions, here: readonly object[]): unknown {
  const keys = Object.keys(value)
  const shown: [string, unknown][] = keys.slice(0, showing.items).map(key => {
    showing.budget.left -= key.length + 4
    return [key, attempt(() => plain(Reflect.get(value, key), showing, here))]
  })
  if (shown.length < keys.length) shown.push(['…', showing.missing(keys.length - shown.length)])
  return Object.fromEntries(shown)
}

function attempt(read: () => unknown): unknown {
  try {
    return read()
  } catch (error) {
    return `[cannot be shown: ${error instanceof Error ? error.message.slice(0, 200) : 'it threw'}]`
  }
}
