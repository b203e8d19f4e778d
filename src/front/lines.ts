import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import type { Question } from '../../wire/kernel.ts'
import { escapeControls } from './terminal.ts'

/** Lines that a person types, or that standard input holds, one at a time as they are asked for. */
export interface Lines {
  /** Whether a person is there. */
  readonly terminal: boolean
  /** The next line without its end; `undefined` at the end of input. The prompt is shown to a person only. */
  next(prompt: string, options?: { readonly secret: boolean }): Promise<string | undefined>
  /** Called when Ctrl-C is typed. */
  onInterrupt(listener: () => void): void
  /** Drops what stands in the line being typed, and shows another prompt for it. */
  again(prompt: string): void
  close(): void
}

/** What is typed is echoed to `output`; while a secret is typed, nothing is. */
export function openLines(input: NodeJS.ReadStream, output: NodeJS.WriteStream): Lines {
  const terminal = Boolean(input.isTTY && output.isTTY)
  let hidden = false
  const echo = new Writable({
    // At once, so that the prompt of a secret is out before what follows it is hidden.
    write(chunk, encoding, done) {
      if (!hidden) output.write(chunk, encoding)
      done()
    },
  })
  const reader = createInterface({ input, ...(terminal ? { output: echo } : {}), terminal })
  const waiting: string[] = []
  let ended = false
  let asked: ((line: string | undefined) => void) | undefined

  reader.on('line', line => {
    if (asked === undefined) waiting.push(line)
    else settle(line)
  })
  reader.on('close', () => {
    ended = true
    settle(undefined)
  })

  function settle(line: string | undefined) {
    const answer = asked
    asked = undefined
    answer?.(line)
  }

  return {
    terminal,
    async next(prompt, { secret } = { secret: false }) {
      if (waiting.length > 0) return waiting.shift()
      if (ended) return undefined
      if (terminal) {
        reader.setPrompt(escapeControls(prompt))
        reader.prompt()
        hidden = secret
      }
      const line = await new Promise<string | undefined>(resolve => {
        asked = resolve
      })
      if (hidden) output.write('\n')
      hidden = false
      return line
    },
    onInterrupt: listener => void reader.on('SIGINT', listener),
    again(prompt) {
      if (!terminal) return
      reader.write(null, { ctrl: true, name: 'e' })
      reader.write(null, { ctrl: true, name: 'u' })
      output.write('\n')
      reader.setPrompt(prompt)
      reader.prompt()
    },
    close: () => reader.close(),
  }
}

/** Answers a question of running code with the next line; rejects when there is none. */
export async function askPerson(lines: Lines, { prompt, secret }: Question): Promise<string> {
  const answer = await lines.next(prompt, { secret })
  if (answer === undefined) throw new Error('There is no more standard input.')
  return answer
}
