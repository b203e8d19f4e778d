import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'
import type { Draft, DraftResult } from '../person-editor.ts'
import { ownRows } from './plan-text.ts'

/** Where a person is asked line by line. */
export interface LineTerminal {
  readonly input: Pick<LineInput, 'ask' | 'say' | 'left'>
  print(text: string): void
  /** Its size now; undefined where it does not tell. */
  readonly terminal: Pick<NodeJS.WriteStream, 'columns' | 'rows'>
  /** Gives the terminal to the person's own editor. Absent: nothing is edited here. */
  edit?(draft: Draft): Promise<DraftResult>
}

/** What came of a question: what was typed, that it was taken back, or that the person leaves. */
export type LineResult =
  | { readonly type: 'line'; readonly text: string }
  | { readonly type: 'dropped' }
  | { readonly type: 'left' }

export interface LineInput {
  /**
   * Shows the prompt and takes one line, which is edited as the terminal edits lines. Nothing that was typed before
   * the prompt stood there counts: it is read and thrown away first. `drop` takes the question back.
   */
  ask(prompt: string, drop?: AbortSignal): Promise<LineResult>
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
export function openLineInput(input: NodeJS.ReadStream, print: (text: string) => void): LineInput {
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
      const typed = await new Promise<LineResult>(resolve => {
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

/** A question has ended without an answer: it was taken back, or the person leaves. */
export class NoAnswer extends Error {
  readonly how: 'dropped' | 'left'

  constructor(how: 'dropped' | 'left') {
    super(`The question was ${how}.`)
    this.how = how
  }
}

/** Where one question is asked. All that waits for a line throws `NoAnswer` where none comes. */
export interface LineQuestion extends LineTerminal {
  /** Aborted when it needs no answer any more. */
  readonly drop: AbortSignal
}

export async function lineOf(prompt: string, { input, drop }: LineQuestion): Promise<string> {
  const typed = await input.ask(prompt, drop)
  if (typed.type !== 'line') throw new NoAnswer(typed.type)
  return typed.text
}

/** What was typed: `n because it is wrong` is an answer and its reason. */
interface Word {
  readonly word: string
  readonly rest: string
}

/** In small letters, but for single capitals that are among these keys. */
function wordOf(text: string, keys: readonly string[] = []): Word {
  const [, word = '', rest = ''] = /^\s*(\S*)\s*(.*?)\s*$/.exec(text) ?? []
  if (keys.includes(word)) return { word, rest }
  const small = word.toLowerCase()
  return { word: WORDS[small] ?? small, rest }
}

const WORDS: Readonly<Record<string, string>> = {
  yes: 'y',
  no: 'n',
  quit: 'q',
  edit: 'e',
  grant: 'g',
  all: 'a',
}

/** One of the keys that can be typed, in order, with what they do; anything else explains them. */
export async function keyOf<Key extends string>(
  prompt: string,
  { keys, at }: { readonly keys: readonly (readonly [Key, words: string])[]; readonly at: LineQuestion },
): Promise<{ readonly key: Key; readonly rest: string }> {
  for (;;) {
    const { word, rest } = wordOf(
      await lineOf(prompt, at),
      keys.map(([key]) => key),
    )
    const found = keys.find(([key]) => key === word && (rest === '' || TAKE_REASONS.has(key)))
    if (found !== undefined) return { key: found[0], rest }
    at.print(keys.map(([key, words]) => `${key}  ${words}\n`).join(''))
  }
}

/** A reason may stand behind these keys. */
const TAKE_REASONS: ReadonlySet<string> = new Set(['n', 'd', 'D'])

/** A reason that was typed with the answer, or else is asked for; null for none. */
export async function reasonOf(rest: string, at: LineQuestion): Promise<string | null> {
  const reason = rest === '' ? (await lineOf('Why? (Enter: no reason) ', at)).trim() : rest
  return reason === '' ? null : reason
}

/** `q` leaves. */
export async function isYes(prompt: string, at: LineQuestion): Promise<boolean> {
  for (;;) {
    const { word } = wordOf(await lineOf(prompt, at))
    if (word === 'q') throw new NoAnswer('left')
    if (word === 'y' || word === 'n') return word === 'y'
  }
}

/** More rows as they are printed, or more bytes, are shown page by page, so that nothing rolls by unseen. */
const ROLLED_ROWS = 200
const ROLLED_BYTES = 16_384

/** Prints rows, page by page where they are many; `cut` where the person stops before the end. */
export async function showRows(rows: readonly string[], at: LineQuestion): Promise<'shown' | 'cut'> {
  const bytes = rows.reduce((sum, row) => sum + Buffer.byteLength(row), 0)
  const rolls = rows.length <= ROLLED_ROWS && bytes <= ROLLED_BYTES + 3 * rows.length
  const page = rolls ? rows.length : Math.max(10, (at.terminal.rows || 24) - 1)
  for (let from = 0; from < rows.length; from += page) {
    at.print(`${rows.slice(from, from + page).join('\n')}\n`)
    if (from + page >= rows.length) break
    const typed = await lineOf(`(${from + page} of ${rows.length}; Enter goes on, s stops here) `, at)
    if (typed.trim().toLowerCase() === 's') return 'cut'
  }
  return 'shown'
}

export const columnsOf = ({ terminal }: Pick<LineTerminal, 'terminal'>): number => terminal.columns || 80

/** Lines of ours in which others have named something, in rows that the terminal does not break. */
export function ownText(lines: readonly string[], at: Pick<LineTerminal, 'terminal'>): string {
  return lines.flatMap(line => ownRows(line, columnsOf(at)).map(row => `${row}\n`)).join('')
}

export function printOwn(lines: readonly string[], at: Pick<LineTerminal, 'print' | 'terminal'>): void {
  at.print(ownText(lines, at))
}
