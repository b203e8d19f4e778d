import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'

/** What came of a question: what was typed, that it was taken back, or that the person leaves. */
export type Typed =
  | { readonly type: 'line'; readonly text: string }
  | { readonly type: 'dropped' }
  | { readonly type: 'left' }

export interface Typing {
  /**
   * Shows the prompt and takes one line, which is edited as the terminal edits lines. Nothing that was typed before
   * the prompt stood there counts: it is read and thrown away first. `drop` takes the question back.
   */
  ask(prompt: string, drop?: AbortSignal): Promise<Typed>
  /** Prints whole lines; a question that stands is shown again below them. */
  say(text: string): void
  /** Lets another program have the terminal, between two questions, until `work` has settled. */
  lend<Result>(work: () => Promise<Result>): Promise<Result>
  /** Aborted when Ctrl-C or Ctrl-D is typed, or the terminal goes away, whether a question stands or not. */
  readonly left: AbortSignal
  close(): void
}

/** How long no key may have been pressed before a question is shown, in milliseconds. */
const REST_MS = 150
const INTERRUPT = 0x03
const END = 0x04

/**
 * Lines that a person types at a terminal, only as answers to questions. Between questions the terminal is raw and
 * echoes nothing, and what is typed is dropped.
 */
export function openTyping(input: NodeJS.ReadStream, print: (text: string) => void): Typing {
  const left = new AbortController()
  let heard = 0
  let asked = ''
  let line: ((bytes: Buffer) => void) | undefined
  let lent = false
  let withheld = ''

  const leave = () => left.abort()
  // What is a signal for the program that has the terminal is none for this one.
  const interrupted = () => lent || leave()
  const take = (bytes: Buffer) => {
    heard++
    if (line !== undefined) line(bytes)
    else if (bytes.includes(INTERRUPT) || bytes.includes(END)) leave()
  }
  input.setRawMode(true)
  input.on('data', take).on('end', leave).on('error', leave)
  // While a line is edited, the terminal makes a signal of Ctrl-C.
  process.on('SIGINT', interrupted)
  process.on('SIGHUP', leave)

  /** A turn of the event loop reads whatever lies in the terminal, however late this process is run. */
  async function rested() {
    for (let before = -1; before !== heard && !left.signal.aborted; ) {
      before = heard
      await pause(REST_MS)
      await turn()
      await turn()
    }
  }

  return {
    left: left.signal,
    async ask(prompt, drop) {
      await rested()
      if (left.signal.aborted) return { type: 'left' }
      if (drop?.aborted) return { type: 'dropped' }
      let forget = () => {}
      const typed = await new Promise<Typed>(resolve => {
        let text = ''
        line = bytes => {
          text += bytes.toString('utf8')
          const end = text.indexOf('\n')
          if (end >= 0) resolve({ type: 'line', text: text.slice(0, end).replace(/\r$/, '') })
        }
        const gone = () => resolve({ type: 'left' })
        const dropped = () => resolve({ type: 'dropped' })
        left.signal.addEventListener('abort', gone)
        drop?.addEventListener('abort', dropped)
        forget = () => {
          left.signal.removeEventListener('abort', gone)
          drop?.removeEventListener('abort', dropped)
        }
        input.setRawMode(false)
        asked = prompt
        print(prompt)
      })
      forget()
      line = undefined
      asked = ''
      input.setRawMode(true)
      if (typed.type !== 'line') print('\n')
      return typed
    },
    say(text) {
      if (lent) withheld += text
      else print(asked === '' ? text : `\n${text}${asked}`)
    },
    async lend(work) {
      input.setRawMode(false)
      input.pause()
      lent = true
      try {
        return await work()
      } finally {
        lent = false
        input.setRawMode(true)
        input.resume()
        if (withheld !== '') print(withheld)
        withheld = ''
      }
    },
    close() {
      process.off('SIGINT', interrupted)
      process.off('SIGHUP', leave)
      input.off('data', take).off('end', leave).off('error', leave)
      input.setRawMode(false)
      input.pause()
    },
  }
}
