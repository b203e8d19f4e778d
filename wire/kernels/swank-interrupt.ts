import { z } from 'zod'
import { count, orNull, text } from '../contract/values.ts'
import type { InterruptReport } from '../kernel.ts'
import type { Turn } from './swank-evaluations.ts'

/**
 * What an image answers to `interrupt`: whether that call still runs there; how often an interrupt has reached its code
 * since it began, and where that stood the last time. An interrupt that has not reached it is put off.
 */
export const interruptSeen = z.object({
  running: z.boolean(),
  reached: count,
  where: orNull(text),
})
export type InterruptSeen = z.infer<typeof interruptSeen>

/** When each step is taken, counted from the first, and when what was seen is reported. In milliseconds. */
export interface LadderTimes {
  readonly againMs: number
  readonly leaveMs: number
  readonly reportMs: number
}

const LADDER: LadderTimes = { againMs: 2_000, leaveMs: 4_000, reportMs: 5_000 }

interface LadderOptions {
  readonly name: string
  readonly times?: LadderTimes | undefined
  /** Whether the image hears anything while its code runs. */
  readonly hears: boolean
  /** The process is ours, and may be ended. */
  readonly owned: boolean
  /**
   * Has the image interrupt that call and no other: `leave` has it go to its top level at once. Undefined where the
   * image has not answered; it is not waited for longer than the step takes.
   */
  ask(turn: Turn, how: 'stop' | 'leave'): Promise<InterruptSeen | undefined>
}

/**
 * The steps by which one evaluation is brought to a stop: it is asked to, asked again, told to leave to the top level,
 * and what was seen is then reported. `stopped` is only said of one that was seen to end by it.
 */
export class Ladder {
  readonly #options: LadderOptions
  readonly #climbing = new Map<Turn, Promise<InterruptReport>>()

  constructor(options: LadderOptions) {
    this.#options = options
  }

  /** Interrupts one that runs. Whoever asks while that is under way gets the same report. */
  climb(turn: Turn): Promise<InterruptReport> {
    const under = this.#climbing.get(turn)
    if (under !== undefined) return under
    const climbing = this.#climb(turn).finally(() => this.#climbing.delete(turn))
    this.#climbing.set(turn, climbing)
    return climbing
  }

  async #climb(turn: Turn): Promise<InterruptReport> {
    const { againMs, leaveMs, reportMs } = this.#options.times ?? LADDER
    const began = performance.now()
    const until = (ms: number) => passed(turn, began + ms - performance.now())
    const seen: { last?: InterruptSeen | undefined } = {}
    for (const [how, endMs] of [
      ['stop', againMs],
      ['stop', leaveMs],
      ['leave', reportMs],
    ] as const) {
      turn.asked++
      this.#step(turn, how, seen)
      await until(endMs)
      if (turn.state === 'ended') return this.#ended(turn, performance.now() - began)
    }
    return this.#goesOn(seen.last)
  }

  #step(turn: Turn, how: 'stop' | 'leave', seen: { last?: InterruptSeen | undefined }): void {
    const { hears, ask } = this.#options
    if (!hears) return
    ask(turn, how).then(
      answer => {
        seen.last = answer ?? seen.last
      },
      () => {},
    )
  }

  async #ended(turn: Turn, waited: number): Promise<InterruptReport> {
    const result = await turn.result
    if (result.type === 'suspended') {
      const suspended = `an error suspended it as ${result.suspension.id} before the interrupt took effect`
      return { outcome: 'not_running', message: suspended }
    }
    if (result.type !== 'interrupted')
      return { outcome: 'not_running', message: 'it ended by itself before the interrupt took effect' }
    const message = `it was seen to stop, ${lasted(waited)} after it was asked to; it had run for ${lasted(result.elapsed_ms)}`
    return { outcome: 'stopped', message }
  }

  #goesOn(seen: InterruptSeen | undefined): InterruptReport {
    const { name, owned, hears } = this.#options
    const offer = owned ? { offer: 'restart' as const } : {}
    const where = seen?.where ? `, at ${seen.where}` : ''
    const asked = `it was asked to stop twice, then to leave to the top level, and still runs${where}; `
    if (!hears)
      return {
        outcome: 'still_running',
        message:
          `the Swank of ${name} serves one request at a time, and hears nothing while code runs; ` +
          'no signal is sent: Imago never signals a program that is not its own',
        ...offer,
      }
    if (seen === undefined)
      return { outcome: 'still_running', message: `${asked}${name} does not answer now`, ...offer }
    const message =
      seen.reached === 0
        ? 'no interrupt has reached it: it is inside without-interrupts or in foreign code, and is interrupted once ' +
          'that returns, if it ever does'
        : `${times(seen.reached)} an interrupt reached it, and it went on: its own cleanup forms hold it`
    return { outcome: 'still_running', message: asked + message, ...offer }
  }
}

/** Resolves when an evaluation has settled, or after so many milliseconds. */
export function passed(turn: Turn, ms: number): Promise<void> {
  return new Promise(resolve => {
    const timer = setTimeout(resolve, Math.max(0, ms))
    void turn.over.then(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}

/** `85 ms`, `7.4 s` or `3 min 5 s`. */
function lasted(ms: number): string {
  if (ms < 999.5) return `${Math.round(ms)} ms`
  if (ms < 59_950) return `${(ms / 1_000).toFixed(1)} s`
  const seconds = Math.round(ms / 1_000)
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}

const times = (count: number) => (count === 1 ? 'once' : count === 2 ? 'twice' : `${count} times`)
