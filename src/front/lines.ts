import { createInterface, type Interface, type Key } from 'node:readline'
import { Writable } from 'node:stream'
import type { Question } from '../../wire/kernel.ts'
import { escapeText } from '../text/escape.ts'
import { isCapable } from './print.ts'

/** Lines that a person types, or that standard input holds, one at a time as they are asked for. */
export interface Lines {
  /** Whether a person is there. */
  readonly terminal: boolean
  /** The next line without its end; `undefined` at the end of input. The prompt is shown to a person only. */
  next(prompt: string, options?: { readonly secret: boolean }): Promise<string | undefined>
  /** The same for code: a line, or all lines of what was pasted at once. */
  entry(prompt: string): Promise<readonly string[] | undefined>
  /** Called when Ctrl-C is typed. A question that waits for its answer then is dropped. */
  onInterrupt(listener: () => void): void
  /** Drops what is being typed, says why, and shows another prompt for it. */
  again(why: string, prompt: string): void
  close(): void
}

export function openLines(input: NodeJS.ReadStream, output: NodeJS.WriteStream): Lines {
  return input.isTTY && output.isTTY ? openKeyboard(input, output) : openInput(input)
}

function openInput(input: NodeJS.ReadStream): Lines {
  const reader = createInterface({ input, terminal: false })
  const waiting: string[] = []
  let ended = false
  let wake = () => {}

  reader.on('line', line => {
    waiting.push(line)
    wake()
  })
  reader.on('close', () => {
    ended = true
    wake()
  })

  async function next() {
    if (waiting.length === 0 && !ended)
      await new Promise<void>(resolve => {
        wake = resolve
      })
    return waiting.shift()
  }

  return {
    terminal: false,
    next,
    async entry() {
      const line = await next()
      return line === undefined ? undefined : [line]
    },
    onInterrupt() {},
    again() {},
    close: () => reader.close(),
  }
}

/** Answers a question of running code with the next line; rejects when there is none. */
export async function askPerson(lines: Lines, { prompt, secret }: Question): Promise<string> {
  const answer = await lines.next(prompt, { secret })
  if (answer === undefined) throw new Error('There is no more standard input.')
  return answer
}

/** Asks the terminal to mark where a paste begins and ends. */
const MARK_PASTES = '\x1b[?2004h'

const LEAVE_PASTES = '\x1b[?2004l'

/** Entered with Ctrl-D. */
const END: readonly string[] = []

interface LineQuestion {
  readonly what: 'code' | 'answer'
  readonly prompt: string
  readonly secret: boolean
}

/** Lines that a person types or pastes at a terminal. They are echoed to `output`, except while a secret is typed. */
function openKeyboard(input: NodeJS.ReadStream, output: NodeJS.WriteStream): Lines {
  /** What was entered before it was asked for: a line, or the lines of a paste, or none for Ctrl-D. */
  const entered: (readonly string[])[] = []
  /** Lines of a paste whose last line is still being typed. */
  let pasted: string[] = []
  let pasting = false
  let owesPrompt = false
  let asked: (LineQuestion & { settle(lines: readonly string[]): void }) | undefined
  let interrupted = () => {}
  let hidden = false
  let marksPastes = false
  let over = false
  let history: string[] = []
  const echo = new Writable({
    // At once, so that the prompt of a secret is out before what follows it is hidden.
    write(chunk, encoding, done) {
      if (!hidden) output.write(chunk, encoding)
      done()
    },
  })
  let reader = open()
  // Before the reader's own, which is added whenever one is opened.
  input.prependListener('keypress', heard)

  function open(): Interface {
    const opened = createInterface({ input, output: echo, terminal: true, history, completer: indent })
    opened.on('line', line => {
      if (!pasting || asked?.what === 'answer') return enter([...pasted, line])
      pasted.push(line)
      owesPrompt = true
    })
    opened.on('history', lines => {
      // Answers may be secrets, and are no code.
      if (asked?.what === 'answer') lines.shift()
      history = lines
    })
    opened.on('SIGINT', () => {
      if (asked?.what === 'answer') dropQuestion()
      interrupted()
    })
    opened.on('close', () => {
      // Ctrl-D ends what is asked for, and nothing else.
      if (input.readableEnded) over = true
      else if (!over) reader = open()
      enter(END)
    })
    return opened
  }

  function heard(_text: string | undefined, { name }: Key) {
    if (name === 'paste-start') pasting = true
    else if (name === 'paste-end') {
      pasting = false
      if (pasted.length > 0 && reader.line === '') enter(pasted)
    } else if (owesPrompt) {
      owesPrompt = false
      show('... ')
    }
  }

  function indent(_line: string, done: (error: null, found: [string[], string]) => void) {
    const tab = pasting || asked?.what === 'answer' ? '\t' : '    '
    done(null, [[tab], ''])
  }

  function enter(lines: readonly string[]) {
    pasted = []
    owesPrompt = false
    entered.push(lines)
    if (asked === undefined) return
    const { what, settle } = asked
    asked = undefined
    settle(take(what) ?? END)
  }

  /** A question is answered with one line of a paste; the others are for whoever asks next. */
  function take(what: LineQuestion['what']): readonly string[] | undefined {
    const lines = entered.shift()
    if (lines === undefined || what === 'code' || lines.length <= 1) return lines
    entered.unshift(lines.slice(1))
    return lines.slice(0, 1)
  }

  async function ask(question: LineQuestion): Promise<readonly string[] | undefined> {
    const lines = take(question.what) ?? (over ? END : await typed(question))
    if (hidden || lines === END) output.write('\n')
    hidden = false
    return lines === END ? undefined : lines
  }

  function typed(question: LineQuestion): Promise<readonly string[]> {
    show(escapeText(question.prompt))
    hidden = question.secret
    return new Promise(settle => {
      asked = { ...question, settle }
    })
  }

  function show(prompt: string) {
    reader.setPrompt(prompt)
    reader.prompt(true)
  }

  /** Leaves what was typed on the screen, and begins anew below it. */
  function drop() {
    pasted = []
    owesPrompt = false
    reader.write(null, { ctrl: true, name: 'e' })
    hidden = true
    reader.write(null, { ctrl: true, name: 'u' })
    // A terminal that can only print lines has no such key.
    Reflect.set(reader, 'line', '')
    hidden = false
    output.write('\n')
  }

  /** The code that asked is interrupted, and no longer waits for an answer. */
  function dropQuestion() {
    drop()
    asked = undefined
  }

  return {
    terminal: true,
    async next(prompt, { secret } = { secret: false }) {
      return (await ask({ what: 'answer', prompt, secret }))?.[0]
    },
    async entry(prompt) {
      if (!marksPastes && isCapable(process.env)) {
        output.write(MARK_PASTES)
        marksPastes = true
      }
      return ask({ what: 'code', prompt, secret: false })
    },
    onInterrupt(listener) {
      interrupted = listener
    },
    again(why, prompt) {
      drop()
      output.write(`${why}\n`)
      show(prompt)
    },
    close() {
      over = true
      input.off('keypress', heard)
      reader.close()
      if (marksPastes) output.write(LEAVE_PASTES)
    },
  }
}
