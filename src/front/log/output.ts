import { escapeJson, escapeText } from '../../core/escape.ts'
import { isCapable } from '../terminal.ts'
import { type Piece, painted } from './paint.ts'

/** Where lines go: collected, since a system call for each of a million would be most of the work. */
export interface Output {
  /** Width of the terminal; undefined where there is none. */
  readonly columns: number | undefined
  /** Aborted when nobody wants more: Ctrl-C, or the reader has gone. */
  readonly ended: AbortSignal
  pieces(pieces: readonly Piece[]): void
  /** A line of the journal, without its end: in a pipe as it is in the file, since its hash is over those bytes. */
  json(text: string): void
  /** A sentence for the person, on standard error. */
  beside(sentence: string): void
  flush(): void
}

const FLUSHED_CHARS = 32 * 1024

export function openOutput({ stdout, stderr, env } = process): Output {
  const ended = new AbortController()
  const end = () => ended.abort()
  process.once('SIGINT', end)
  stdout.on('error', end)
  const terminal = stdout.isTTY === true
  const coloured = terminal && isCapable(env) && !env.NO_COLOR
  let waiting = ''

  function flush() {
    if (waiting !== '' && !ended.signal.aborted) stdout.write(waiting)
    waiting = ''
  }

  function add(text: string) {
    waiting += text
    if (waiting.length >= FLUSHED_CHARS) flush()
  }

  return {
    get columns() {
      return terminal ? stdout.columns : undefined
    },
    ended: ended.signal,
    pieces: pieces => add(painted(pieces, { coloured })),
    json: text => add(`${terminal ? escapeJson(text) : text}\n`),
    beside: sentence => void stderr.write(escapeText(`imago: ${sentence}\n`)),
    flush,
  }
}
