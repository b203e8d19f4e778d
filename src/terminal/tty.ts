import { closeSync } from 'node:fs'
import type { Size } from './layout.ts'

/**
 * What a person does at a keyboard. A key bears the name that emacs users would give it: `ctrl-a`, `alt-f`, `up`,
 * `ctrl-right`, `shift-tab`, `enter`.
 */
export type Key =
  | { readonly type: 'key'; readonly name: string }
  /** Characters that stand for themselves. */
  | { readonly type: 'text'; readonly text: string }
  /** Whatever was pasted at once, its line ends as line feeds. */
  | { readonly type: 'paste'; readonly text: string }

/** From what a terminal sends to keys. Sequences may come in any pieces; what no key is known for is dropped. */
interface Decoder {
  push(chunk: string): Key[]
  /** Whether a sequence has begun that nothing may follow: the escape key alone. */
  readonly waits: boolean
  /** Nothing followed. */
  settle(): Key[]
}

export function openDecoder(): Decoder {
  let rest = ''
  let pasting = false

  function* keys(): Generator<Key> {
    while (rest !== '') {
      if (pasting) {
        const end = rest.indexOf(PASTE_END)
        if (end < 0) return
        yield pasteOf(rest.slice(0, end))
        rest = rest.slice(end + PASTE_END.length)
        pasting = false
        continue
      }
      const found = readOne(rest)
      if (found === undefined) return
      rest = rest.slice(found.length)
      if (found.key === 'paste') pasting = true
      else if (found.key !== undefined) yield found.key
    }
  }

  return {
    push(chunk) {
      rest += chunk
      return [...keys()]
    },
    get waits() {
      return rest !== '' && !pasting
    },
    settle() {
      if (pasting || rest === '') return []
      const [first = '', ...others] = rest
      rest = ''
      if (first === ESC && others.length === 1) return [named(`alt-${others[0]}`)]
      // An escape alone, or one in front of what is no sequence.
      const after = others.join('')
      return [named(first === ESC ? 'escape' : first), ...openDecoder().push(after)]
    },
  }
}

const ESC = '\x1b'
const PASTE_BEGIN = `${ESC}[200~`
const PASTE_END = `${ESC}[201~`
/** A sequence that has not ended by then is none. */
const LONGEST = 1_024

interface Found {
  readonly length: number
  /** Undefined for what says nothing, such as an answer of the terminal. */
  readonly key: Key | 'paste' | undefined
}

/** The first key of what has been sent; undefined while it is not complete. */
function readOne(sent: string): Found | undefined {
  const text = TEXT.exec(sent)?.[0]
  if (text !== undefined) return { length: text.length, key: { type: 'text', text } }
  if (!sent.startsWith(ESC)) return { length: 1, key: named(controlName(sent.charCodeAt(0))) }
  if (sent.startsWith(PASTE_BEGIN)) return { length: PASTE_BEGIN.length, key: 'paste' }
  const rest = sent.slice(1)
  for (const { whole, begun, read } of SEQUENCES) {
    const match = whole.exec(rest)
    if (match !== null) return { length: 1 + match[0].length, key: read(match) }
    if (begun.test(rest)) return sent.length < LONGEST ? undefined : { length: sent.length, key: undefined }
  }
  if (sent.length === 1) return undefined
  return afterEscape(sent)
}

/** Alt is sent as an escape in front. */
function afterEscape(sent: string): Found | undefined {
  const [character = ''] = sent.slice(1)
  if (character === ESC) {
    const inner = readOne(sent.slice(1))
    if (inner === undefined) return undefined
    const { key, length } = inner
    const pressed = typeof key === 'object' && key.type === 'key' ? named(`alt-${key.name}`) : undefined
    return { length: length + 1, key: pressed }
  }
  const code = character.charCodeAt(0)
  const name = code < 0x20 || code === 0x7f ? controlName(code) : character
  return { length: 1 + character.length, key: named(`alt-${name}`) }
}

/** What may follow an escape. */
interface Sequence {
  readonly whole: RegExp
  readonly begun: RegExp
  read(match: RegExpExecArray): Key | undefined
}

const TEXT = /^\P{Cc}+/u

const SEQUENCES: readonly Sequence[] = [
  // The first function keys of the Linux console.
  { whole: /^\[\[./s, begun: /^\[\[$/, read: () => undefined },
  {
    whole: /^\[([0-?]*)[ -/]*([@-Z\\-~])/,
    begun: /^\[[0-?]*[ -/]*$/,
    read: ([, parameters = '', final = '']) => keyOf(parameters, final),
  },
  {
    whole: /^O([0-9;]*)([@-~])/,
    begun: /^O[0-9;]*$/,
    // That of the number pad.
    read: ([, parameters = '', final = '']) => (final === 'M' ? named('enter') : keyOf(parameters, final)),
  },
  // What a terminal answers to questions that were asked of it by somebody.
  { whole: /^[\]P^_X]\P{Cc}*(?:\cG|\p{Cc}\\)/u, begun: /^[\]P^_X]\P{Cc}*\p{Cc}?$/u, read: () => undefined },
]

const BY_LETTER: Readonly<Record<string, string>> = {
  A: 'up',
  B: 'down',
  C: 'right',
  D: 'left',
  F: 'end',
  H: 'home',
  Z: 'shift-tab',
}

const BY_NUMBER: Readonly<Record<string, string>> = {
  1: 'home',
  2: 'insert',
  3: 'delete',
  4: 'end',
  5: 'page-up',
  6: 'page-down',
  7: 'home',
  8: 'end',
}

function keyOf(parameters: string, final: string): Key | undefined {
  const [first = '', second = '', third = ''] = parameters.split(';')
  // The two ways in which terminals send any character with modifiers.
  if (final === 'u') return modified(characterName(first), second)
  if (final === '~' && first === '27') return modified(characterName(third), second)
  const name = final === '~' ? BY_NUMBER[first] : BY_LETTER[final]
  return modified(name, second || (final === '~' ? '' : first))
}

function modified(name: string | undefined, modifiers: string): Key | undefined {
  if (name === undefined) return undefined
  const bits = Math.max(0, (Number.parseInt(modifiers, 10) || 1) - 1)
  if (bits === 0 && /^.$/u.test(name)) return { type: 'text', text: name }
  if (bits === 1 && /^\p{Letter}$/u.test(name)) return { type: 'text', text: name.toUpperCase() }
  const held = [bits & 4 && 'ctrl-', bits & 2 && 'alt-', bits & 1 && 'shift-'].filter(Boolean).join('')
  return named(`${held}${name}`)
}

function characterName(code: string): string | undefined {
  const number = Number.parseInt(code, 10)
  if (!(number >= 0 && number <= 0x10ffff)) return undefined
  return number < 0x20 || number === 0x7f ? controlName(number) : String.fromCodePoint(number)
}

const CONTROLS: Readonly<Record<number, string>> = {
  0: 'ctrl-space',
  8: 'backspace',
  9: 'tab',
  10: 'ctrl-j',
  13: 'enter',
  27: 'escape',
  28: 'ctrl-\\',
  29: 'ctrl-]',
  30: 'ctrl-^',
  31: 'ctrl-_',
  127: 'backspace',
}

const controlName = (code: number) => CONTROLS[code] ?? `ctrl-${String.fromCharCode(code + 0x60)}`

const named = (name: string): Key => ({ type: 'key', name })

const pasteOf = (text: string): Key => ({ type: 'paste', text: text.replace(/\r\n?/g, '\n') })

/** The terminal of this process: the one place that changes how it behaves, and puts it back. */
export interface Tty {
  size(): Size
  write(text: string): void
  /** Calls back once all that was written is on its way to the terminal; at once where it is. */
  flushed(done: () => void): void
  /** All keys, one after the other. */
  onKey(listener: (key: Key) => void): void
  onResize(listener: () => void): void
  /** The process was stopped, and goes on; something else may have written to the terminal. */
  onResume(listener: () => void): void
  /** Stops this process, as Ctrl-Z does, with the terminal as it was found. */
  suspend(): void
  /** Lets another program have the terminal until `work` has settled. What is a signal there is none for this process. */
  lend<Result>(work: () => Promise<Result>): Promise<Result>
  close(): void
}

/** Asks the terminal to mark where a paste begins and ends. */
const BEGIN = '\x1b[?2004h'
/** All that was asked for is taken back, and the cursor and the wrapping of lines are what they are everywhere else. */
const LEAVE = '\x1b[?2004l\x1b[?7h\x1b[?25h\x1b[0m'
/** What follows an escape within this time belongs to it, in milliseconds. */
const ESCAPE_MS = 50

export function openTty(input: NodeJS.ReadStream, output: NodeJS.WriteStream): Tty {
  let keyed = (_key: Key) => {}
  let resized = () => {}
  let resumed = () => {}
  let open = true
  let suspended = false
  let lent = false
  let timer: NodeJS.Timeout | undefined
  const decoder = openDecoder()

  const write = (text: string) => {
    if (text !== '') output.write(text)
  }

  function enter() {
    // First off: after a stop, this process believes that nothing has changed.
    input.setRawMode(false)
    input.setRawMode(true)
    write(BEGIN)
  }

  function leave() {
    write(LEAVE)
    // A terminal that has gone cannot be put back, and need not.
    try {
      input.setRawMode(false)
    } catch {}
  }

  function close() {
    if (!open) return
    open = false
    clearTimeout(timer)
    leave()
    input.off('data', hear).off('end', hangUp).off('error', hangUp)
    output.off('resize', resize)
    for (const [signal, listener] of LISTENERS) process.off(signal, listener)
    process.off('exit', close).off('uncaughtExceptionMonitor', close)
    input.pause()
  }

  function hear(chunk: string) {
    clearTimeout(timer)
    for (const key of decoder.push(chunk)) keyed(key)
    if (!decoder.waits) return
    timer = setTimeout(() => {
      for (const key of decoder.settle()) keyed(key)
    }, ESCAPE_MS)
  }

  const resize = () => lent || resized()
  const endBy = (code: number) => () => {
    close()
    process.exit(code)
  }
  const hangUp = () => {
    close()
    // At its end Node puts back how terminals behave, and aborts where that fails: one that has gone has to be closed.
    for (const fd of [0, 1, 2])
      try {
        closeSync(fd)
      } catch {}
    process.exit(129)
  }

  function resume() {
    if (!open || lent) return
    suspended = false
    enter()
    resumed()
  }

  const LISTENERS = [
    ['SIGTERM', endBy(143)],
    ['SIGHUP', hangUp],
    ['SIGINT', () => lent || keyed({ type: 'key', name: 'ctrl-c' })],
    ['SIGCONT', resume],
  ] as const

  input.setEncoding('utf8')
  input.on('data', hear).on('end', hangUp).on('error', hangUp)
  output.on('resize', resize).on('error', () => {})
  for (const [signal, listener] of LISTENERS) process.on(signal, listener)
  process.on('exit', close).on('uncaughtExceptionMonitor', close)
  enter()

  return {
    size: () => ({ columns: output.columns || 80, rows: output.rows || 24 }),
    write,
    flushed: done => (output.writableLength === 0 ? done() : void output.write('', () => done())),
    onKey(listener) {
      keyed = listener
      input.resume()
    },
    onResize(listener) {
      resized = listener
    },
    onResume(listener) {
      resumed = listener
    },
    suspend() {
      suspended = true
      leave()
      // The whole job, as the terminal itself would: whoever started this process stops with it.
      process.kill(0, 'SIGTSTP')
      // Where no shell could ever wake it, the system does not stop it, and nothing else says that it goes on.
      setTimeout(() => setImmediate(() => suspended && resume()), ESCAPE_MS)
    },
    async lend(work) {
      leave()
      input.pause()
      lent = true
      try {
        return await work()
      } finally {
        lent = false
        if (open) {
          enter()
          input.resume()
        }
      }
    },
    close,
  }
}
