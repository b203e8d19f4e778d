import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { benchDaemon, pause } from '../../bench/daemon.ts'
import type { Envelope } from '../../tools/outcome.ts'
import { startOf } from '../../wire/process-start.ts'

/** Imago, attached to each Lisp that opens a door, and at work there all the while. */
export interface Companion {
  /** Ends it, and tells what it did. */
  close(): Promise<Done>
}

export interface Done {
  readonly images: number
  readonly calls: number
  /** What was answered that no busy image answers: each is a fault of Imago's, or of the image's under it. */
  readonly faults: readonly string[]
}

/**
 * What it asks of an image, one after the other: looks, values, output, errors that stay suspended for a while, calls
 * that are taken down, compiling, and what never ends.
 */
const CALLS = [
  ['eval_expr', { expr: '(+ 1 2)' }],
  ['list_globals', { package: 'SWANK', detail: 'docs' }],
  ['eval_expr', { expr: '(error "An error of an evaluation of Imago")' }],
  ['debug_state', {}],
  ['inspect', { expr: '*features*' }],
  ['eval_expr', { expr: '(dotimes (i 100) (print i))' }],
  ['threads', {}],
  ['compile_form', { form: '(defun cl-user::of-imago () (let ((x 1)) nil))' }],
  ['apropos_search', { pattern: 'string' }],
  ['trace_function', { name: 'cl-user::of-imago', calls: 2, seconds: 30 }],
  ['eval_expr', { expr: '(swank::no-such-function (cl-user::of-imago))' }],
  ['debug_frame', {}],
  ['debug_restart', { leave: true }],
  ['trace_calls', {}],
  ['debug_restart', { leave: true }],
  ['symbol_definition', { symbols: ['swank:create-server'] }],
  ['eval_expr', { expr: '(loop)', patience: 0.1 }],
] as const
const BETWEEN_MS = 100

/** Makes the file `ready` once it is attached to the first Lisp. The daemon is that of `npm run build`. */
export async function accompany({
  doors,
  ready,
}: {
  readonly doors: string
  readonly ready: string
}): Promise<Companion> {
  const daemon = await benchDaemon()
  const faults: string[] = []
  const lives: Promise<void>[] = []
  let calls = 0
  let over = false

  const live = async (pid: number) => {
    const name = `lisp-${pid}`
    const port = readFileSync(join(doors, `${pid}.port`), 'utf8')
    const there = () => !over && startOf(pid) !== undefined
    const fault = (what: string) => {
      if (there()) faults.push(what)
    }
    try {
      await daemon.link.call('attach', { target: `swank://127.0.0.1:${port}`, name, no_secret: true })
      writeFileSync(ready, '')
      for (let turn = 0; there(); turn++) {
        const [tool, args] = CALLS[turn % CALLS.length] ?? CALLS[0]
        const envelope = (await daemon.link.call('call', {
          tool,
          args: { ...args, kernel: name },
        })) as Envelope
        calls++
        if ('patience' in args) await daemon.link.call('interrupt', { name })
        else if (!envelope.ok && envelope.error.code !== 'exception')
          fault(`${tool}: ${envelope.error.code}: ${envelope.error.message}`)
        await pause(BETWEEN_MS)
      }
    } catch (error) {
      // An image that has ended says so a moment later to us than to the system.
      await pause(BETWEEN_MS)
      fault(String(error))
    }
  }

  const seen = new Set<number>()
  const look = () => {
    for (const name of readdirSync(doors)) {
      const pid = Number(/^(\d+)\.port$/.exec(name)?.[1])
      if (Number.isNaN(pid) || seen.has(pid)) continue
      seen.add(pid)
      lives.push(live(pid))
    }
  }
  const looking = setInterval(look, 20)
  return {
    async close() {
      over = true
      clearInterval(looking)
      await Promise.all(lives)
      await daemon.close()
      return { images: seen.size, calls, faults }
    },
  }
}
