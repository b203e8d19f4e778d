import type { Asking, Job } from './define.ts'
import { type Printed, printed, showPrinted } from './output.ts'
import { duration } from './wording.ts'

/** What a call is answered with that goes on after the patience of its caller. */
export interface Running extends Printed {
  /** `waiting`: nothing of it has run, and a person is asked whether it may. */
  readonly status: 'running' | 'waiting'
  readonly job: string
  readonly tool: string
  /** Null for a tool that works without one. */
  readonly kernel: string | null
  readonly elapsed_ms: number
  /** The plan that waits for a person. */
  readonly plan?: string
  readonly message?: string
  readonly next: string
}

export function running(job: Job): Running {
  const { name, tool, kernelName, elapsedMs, asking } = job
  if (asking !== undefined) return waiting(job, asking)
  return {
    status: 'running',
    job: name,
    tool,
    kernel: kernelName,
    elapsed_ms: Math.round(elapsedMs),
    ...printed(job.output.soFar()),
    next: `job ${JSON.stringify({ job: name, action: 'wait' })} waits for it; action "interrupt" stops it.`,
  }
}

/** Nobody but a person can hurry this, and asking again would be a second question to them. */
function waiting({ name, tool, kernelName, elapsedMs, output }: Job, { plan, waitedMs }: Asking): Running {
  return {
    status: 'waiting',
    job: name,
    tool,
    kernel: kernelName,
    elapsed_ms: Math.round(elapsedMs),
    plan,
    message: `${tool} waits for approval: ${plan} has been before a person for ${duration(waitedMs)}. Nothing ran yet.`,
    ...printed(output.soFar()),
    next: `job ${JSON.stringify({ job: name, action: 'wait' })} waits for the answer; action "interrupt" withdraws the plan. Do not make the call again, and do not try another way.`,
  }
}

export function isRunning(result: unknown): result is Running {
  if (typeof result !== 'object' || result === null || !('status' in result) || !('job' in result))
    return false
  return result.status === 'running' || result.status === 'waiting'
}

export function showRunning(result: Running): string {
  const { status, job, tool, kernel, elapsed_ms, message, next } = result
  const where = kernel === null ? tool : `${tool} in ${kernel}`
  const lines = [
    message === undefined
      ? `${status}: ${where} goes on as job ${job}, ${duration(elapsed_ms)} so far`
      : `${status}: ${message} It is job ${job}.`,
  ]
  return [...lines, `next: ${next}`, ...showPrinted(result)].join('\n')
}
