import { closeSync } from 'node:fs'
import { type Key, openDecoder } from './keys.ts'
import type { Size } from './screen.ts'

/** The terminal of this process: the one place that changes how it behaves, and puts it back. */
export interface Tty {
  size(): Size
  write(text: string): void
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
