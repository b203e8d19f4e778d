import { createInterface } from 'node:readline'
import type { Question } from '../../wire/kernel.ts'
import { openKeyboard } from './keyboard.ts'

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
