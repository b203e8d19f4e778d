import type { Envelope } from '../../tools/outcome.ts'
import { running } from '../../tools/running.ts'
import { duration } from '../../tools/wording.ts'
import type { Signal } from '../../wire/signal.ts'
import type { CallRequest } from './call.ts'
import type { Clock } from './clock.ts'
import type { Flight } from './flight.ts'
import type { TrackedJob } from './jobs.ts'

/** How often a caller is told that its call still runs, in milliseconds. */
const PROGRESS_MS = 1_000

export interface Waiting {
  readonly flight: Flight
  readonly request: CallRequest
  readonly clock: Clock
  /** How long after a cancel the caller waits to see the code stop, in milliseconds. */
  readonly cancelMs: number
}

/**
 * What one caller is answered: how the call ended or, once its patience is over, that it goes on as a job. An
 * aborted request has the call cancelled, and waits a little for what comes of that. Never rejects.
 */
export function waitFor({ flight, request, clock, cancelMs }: Waiting): Promise<Envelope> {
  return new Promise(resolve => {
    const endings = [flight.join(request), progress({ flight, request, clock })]
    const answer = (envelope: Envelope) => {
      for (const end of endings.splice(0)) end()
      resolve(envelope)
    }
    const goOn = (job: TrackedJob) => {
      job.told()
      answer({ ok: true, result: goesOn(job) })
    }
    const wait = (ms: number) =>
      flight.whenTracked(job => {
        if (job.outcome !== undefined) return
        if (ms === 0) goOn(job)
        else endings.push(clock.after(ms, () => goOn(job)))
      })

    void flight.done.then(answer)
    if (request.toItsEnd === true) return
    endings.push(
      flight.whenTracked(() => endings.push(wait(flight.patienceMs))),
      onAbort(request.signal, () => {
        flight.cancel()
        endings.push(wait(cancelMs))
      }),
      onAbort(request.gone, () => endings.push(wait(0))),
    )
  })
}

/** How a job stands. That its kernel does not answer is said, since it may be frozen rather than busy. */
function goesOn(job: TrackedJob): unknown {
  const { notice } = job
  const now = { ...running(job), ...(notice !== undefined && { notice }) }
  if (job.kernel === null || job.kernel.health === 'responsive' || job.asking !== undefined) return now
  const next = `${job.kernelName} does not answer at the moment: it is frozen, or held by code that lets nothing else run. ${now.next}`
  return { ...now, kernel_health: job.kernel.health, next }
}

function onAbort(signal: Signal | undefined, run: () => void): () => void {
  if (signal === undefined) return () => undefined
  if (signal.aborted) run()
  else signal.addEventListener('abort', run, { once: true })
  return () => signal.removeEventListener('abort', run)
}

/** News that nothing is new, for whoever listens. */
function progress({ flight, request, clock }: Omit<Waiting, 'cancelMs'>): () => void {
  if (request.on === undefined) return () => undefined
  const tick = () => {
    const elapsed_ms = Math.round(clock.now() - flight.began)
    const plan = flight.job?.asking?.plan
    const now = { message: stateOf(flight), elapsed_ms, ...(plan !== undefined && { plan }) }
    flight.emitTo(request, { type: 'progress', ...now })
    takeBack = clock.after(PROGRESS_MS, tick)
  }
  let takeBack = clock.after(PROGRESS_MS, tick)
  return () => takeBack()
}

function stateOf({ tool, job }: Flight): string {
  if (job?.asking !== undefined)
    return `${tool} waits for approval of ${job.asking.plan}, ${duration(job.asking.waitedMs)} so far`
  const kernel = job?.kernelName ?? null
  return kernel === null ? `${tool} goes on` : `${tool} goes on in ${kernel}`
}
