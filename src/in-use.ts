import { counted } from '../tools/naming.ts'
import { duration } from '../tools/wording.ts'
import type { KernelRow } from './core/kernels.ts'

/** Who and what needs the daemon at this moment. */
export interface Uses {
  /** Calls under way, jobs that go on by themselves included. */
  readonly running: number
  readonly kernels: readonly KernelRow[]
  /** Connected clients, without the one that asks. */
  readonly clients: number
}

export type Unless = 'unused' | 'nothing_runs' | 'always'

const lives = ({ state }: KernelRow) => state !== 'ended' && state !== 'crash_loop'

/** The names of the kernels that end when the daemon does. */
export const living = ({ kernels }: Uses) =>
  kernels.filter(row => row.owned && lives(row)).map(({ name }) => name)

/** The names of those that do not notice its end: programs that it is attached to, which the next one joins again. */
export const attached = ({ kernels }: Uses) =>
  kernels.filter(row => !row.owned && lives(row)).map(({ name }) => name)

/** Evaluations that wait in them where an error happened. */
export const suspendedIn = (kernels: readonly KernelRow[]) =>
  kernels.reduce((sum, { suspended }) => sum + suspended, 0)

/** Why the daemon may not be ended now, as a sentence; `undefined` if it may. */
export function reasonToStay(uses: Uses, when: Unless): string | undefined {
  if (when === 'always') return undefined
  const reasons = runningReasons(uses)
  if (when === 'unused') {
    // An error that waits does not run: whoever ends the images on purpose ends it with them.
    reasons.push(...suspendedReasons(uses))
    const names = living(uses)
    if (names.length > 0) reasons.push(`these images would be lost: ${names.join(', ')}`)
    if (uses.clients > 0) reasons.push(`other clients are connected (${uses.clients})`)
  }
  return reasons.length === 0 ? undefined : sentence(reasons.join('; '))
}

function suspendedReasons({ kernels }: Uses): string[] {
  return kernels.flatMap(({ name, suspended }) =>
    suspended === 0
      ? []
      : [`${counted(suspended, 'suspended evaluation')} of the kernel ${name} would be lost`],
  )
}

function runningReasons({ running, kernels }: Uses): string[] {
  const busy = kernels.flatMap(({ name, running: call }) =>
    call === null ? [] : [`the kernel ${name} has run a call for ${duration(call.elapsed_ms)}`],
  )
  const programs = kernels.flatMap(({ name, script, script_state }) =>
    script_state === 'running' ? [`the kernel ${name} still runs ${script}`] : [],
  )
  if (busy.length + programs.length > 0) return [...busy, ...programs]
  return running === 0 ? [] : [running === 1 ? 'a call is under way' : `${running} calls are under way`]
}

const sentence = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`

interface Idling {
  readonly idleMs: number
  uses(): Uses
  /** Called once, when nothing has used the daemon for `idleMs`. */
  end(): void
}

/** Watches for a daemon that nobody needs any more. Returns what stops watching. */
export function watchIdle({ idleMs, uses, end }: Idling): () => void {
  let needed = performance.now()
  const timer = setInterval(
    () => {
      const now = uses()
      const goesOn = now.running > 0 || suspendedIn(now.kernels) > 0
      if (now.clients > 0 || goesOn || living(now).length > 0) needed = performance.now()
      if (performance.now() - needed < idleMs) return
      clearInterval(timer)
      end()
    },
    Math.min(30_000, idleMs / 4),
  )
  return () => clearInterval(timer)
}
