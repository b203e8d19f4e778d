import type { Job } from './define.ts'
import { type Printed, printed, showPrinted } from './output.ts'
import { duration, oneLine } from './wording.ts'

/** What a call is answered with that goes on after the patience of its caller. */
export interface Running extends Printed {
  readonly status: 'running' | 'paused'
  readonly job: string
  readonly tool: string
  readonly kernel: string
  readonly elapsed_ms: number
  /** Where the code waits in the image's debugger. */
  readonly paused?: { readonly condition: string; readonly restarts: readonly string[] }
  readonly next: string
}

export function running(job: Job): Running {
  const { name, tool, kernelName, elapsedMs, paused } = job
  return {
    status: paused === undefined ? 'running' : 'paused',
    job: name,
    tool,
    kernel: kernelName,
    elapsed_ms: Math.round(elapsedMs),
    ...(paused !== undefined && { paused }),
    ...printed(job.output.soFar()),
    next: `job ${JSON.stringify({ job: name, action: 'wait' })} waits for it; action "interrupt" stops it.`,
  }
}

export function isRunning(result: unknown): result is Running {
  if (typeof result !== 'object' || result === null || !('status' in result) || !('job' in result))
    return false
  return result.status === 'running' || result.status === 'paused'
}

export function showRunning(result: Running): string {
  const { status, job, tool, kernel, elapsed_ms, paused, next } = result
  const lines = [`${status}: ${tool} in ${kernel} goes on as job ${job}, ${duration(elapsed_ms)} so far`]
  if (paused !== undefined)
    lines.push(`paused: ${oneLine(paused.condition)}; restarts: ${paused.restarts.map(oneLine).join(', ')}`)
  return [...lines, `next: ${next}`, ...showPrinted(result)].join('\n')
}
