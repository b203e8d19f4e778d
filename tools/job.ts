import { z } from 'zod'
import { HEALTH, type InterruptReport, interruptReport, type Of } from '../wire/kernel.ts'
import type { Signal } from '../wire/signal.ts'
import { compileForm, macroexpandForm } from './compile.ts'
import type { Asking, Job, Jobs } from './contract.ts'
import { defineTool, type Tool } from './define.ts'
import { evalExpr } from './evaluate.ts'
import { printed, printedOutput, showPrinted } from './execution.ts'
import { inspect } from './inspect.ts'
import { loadFile, loadSystem, reload, runTests } from './load.ts'
import { failed, isRunning, type JobStatus, type Outcome, ok } from './outcome.ts'
import { isRecord } from './record.ts'
import { jobStatus } from './shapes.ts'
import { duration } from './text.ts'

/** How long an interrupted job may take to hand over its last output, in milliseconds. */
const LAST_WORDS_MS = 1_000

/** What was seen of an interrupt. */
const interruptAnswer = z.object({
  ...printedOutput.shape,
  status: interruptReport.shape.outcome,
  job: z.string(),
  message: z.string(),
  elapsed_ms: z.number(),
  next: z.string().exactOptional(),
})
type InterruptAnswer = Of<typeof interruptAnswer>

/** A job in a list. */
const listedJob = z.object({
  job: z.string(),
  tool: z.string(),
  kernel: z.string().nullable(),
  status: z.enum(['running', 'waiting', 'done', 'failed']),
  /** The plan, or the job of its kernel, that it waits for. */
  behind: z.string().exactOptional(),
  elapsed_ms: z.number(),
})

const jobList = z.object({ jobs: z.array(listedJob) })
type JobList = Of<typeof jobList>

/** How far a job is: what its call is answered with. */
export const progress = z.object({
  ...jobStatus.shape,
  ...printedOutput.shape,
  elapsed_ms: z.number(),
  /** The plan that waits for a person. */
  plan: z.string().exactOptional(),
  message: z.string().exactOptional(),
  /** What it waits for, before it begins: the job that its kernel works on. */
  behind: z.string().exactOptional(),
  /** Where its kernel does not answer. */
  kernel_health: z.enum(HEALTH).exactOptional(),
  next: z.string(),
})
export type Progress = Of<typeof progress>

/** The result of its tool, with what says that it is one. */
const jobDone = z.looseObject({ status: z.literal('done'), job: z.string(), tool: z.string() })

const jobAnswer = z.union([jobList, z.discriminatedUnion('status', [progress, jobDone])])

export const job = defineTool({
  name: 'job',
  description:
    'Follow a long call, by the job that its answer named: `status` tells how far it is and what it has printed, ' +
    '`wait` waits for its end; both give the result once there is one. Without `job` it lists the jobs.',
  parameters: {
    job: z.string().min(1).max(100).optional().describe('Its name.'),
    action: z
      .enum(['status', 'wait', 'interrupt'])
      .default('status')
      // The older way to `interrupt_job`: answered with that name, never listed.
      .meta({ enum: ['status', 'wait'] })
      .describe('What to do.'),
    seconds: z
      .number()
      .min(0)
      .max(3_600)
      .default(30)
      .describe('How long `wait` waits at most; the job goes on.'),
  },
  level: 'safe',
  profile: 'live',
  categories: ['execution'],
  needs: [],
  result: jobAnswer,
  examples: [
    { args: {}, shows: 'the jobs that run, or have ended' },
    { args: { job: 'job-1' }, shows: 'how far it is' },
    {
      args: { job: 'job-1', action: 'wait', seconds: 50 },
      shows: 'its result, or how far it is after that time',
    },
  ],

  preview: ({ job = 'all', action }) => ({ title: `Job ${job}: ${action}`, body: `${action} ${job}` }),

  async handler({ job: name, action, seconds }, { jobs, signal }) {
    if (name === undefined) return action === 'status' ? ok(listOf(jobs)) : unnamed(action, jobs)
    const found = jobs.find(name)
    if (found === undefined) return unknownJob(name, jobs)
    switch (action) {
      case 'status':
        return soFar(found, jobs)
      case 'wait':
        await found.wait({ ms: seconds * 1_000, signal })
        return soFar(found, jobs)
      case 'interrupt':
        return failed('invalid_args', {
          message: 'job only reads: interrupt_job stops a job.',
          details: { parameter: 'action' },
          next: `interrupt_job ${JSON.stringify({ job: name })}`,
        })
      default:
        return action satisfies never
    }
  },

  show: showJob,
})

export const interruptJob = defineTool({
  name: 'interrupt_job',
  description: 'Stop a job, or withdraw what waits for a person.',
  parameters: { job: z.string().min(1).max(100).describe('Its name.') },
  level: 'cautious',
  profile: 'live',
  categories: ['execution'],
  needs: [],
  result: interruptAnswer,
  examples: [{ args: { job: 'job-1' }, shows: 'an end to it' }],

  preview: ({ job }) => ({ title: `Interrupt job ${job}`, body: `interrupt ${job}` }),

  async handler({ job }, { jobs, signal }) {
    const found = jobs.find(job)
    return found === undefined ? unknownJob(job, jobs) : interrupt(found, signal)
  },

  show: showJob,
})

const listOf = (jobs: Jobs): JobList => ({
  jobs: jobs.names().flatMap(name => {
    const found = jobs.find(name)
    return found === undefined ? [] : [listed(found, jobs)]
  }),
})

function listed(found: Job, jobs: Jobs): Of<typeof listedJob> {
  const { name: job, tool, kernelName: kernel, outcome, asking, elapsedMs } = found
  const known = { job, tool, kernel, elapsed_ms: Math.round(elapsedMs) }
  if (outcome !== undefined) return { ...known, status: outcome.type === 'ok' ? 'done' : 'failed' }
  const behind = asking?.plan ?? ahead(found, jobs)?.name
  return behind === undefined ? { ...known, status: 'running' } : { ...known, status: 'waiting', behind }
}

function showList({ jobs }: JobList): string {
  if (jobs.length === 0) return 'no jobs'
  return jobs
    .map(({ job, tool, kernel, status, behind, elapsed_ms }) => {
      const where = kernel === null ? tool : `${tool} in ${kernel}`
      const stands = behind === undefined ? status : `${status} for ${behind}`
      return `${job}  ${stands}: ${where}, ${duration(elapsed_ms)}`
    })
    .join('\n')
}

const isList = (result: unknown): result is JobList =>
  isRecord(result) && Array.isArray(result.jobs) && !('status' in result)

function unnamed(action: string, jobs: Jobs): Outcome<never> {
  return failed('invalid_args', {
    message: `${action} needs the name of a job.`,
    details: { parameter: 'job', known: jobs.names() },
    next: 'job {} lists the jobs.',
  })
}

/** Where a job stands: how far it is, or what its own tool answered. */
function soFar(found: Job, jobs: Jobs): Outcome<Of<typeof jobAnswer>> {
  const { outcome, name, tool } = found
  if (outcome === undefined) return ok(running(found, jobs))
  if (outcome.type !== 'ok') return outcome
  const result = isRecord(outcome.result) ? outcome.result : { result: outcome.result }
  return ok({ ...result, status: 'done', job: name, tool } as const)
}

async function interrupt(found: Job, signal: Signal): Promise<Outcome<InterruptAnswer>> {
  const { name, call, kernel, kernelName, outcome, asking } = found
  if (outcome !== undefined)
    return ok(reported(found, { outcome: 'not_running', message: 'It had ended by itself.' }))
  if (asking !== undefined) return withdraw(found, asking, signal)
  if (kernel === null)
    return failed('not_available', {
      message: `${found.tool} is past the point where it can be stopped; job ${name} ends by itself.`,
      details: { job: name },
      next: `job ${JSON.stringify({ job: name, action: 'wait' })} gives its result.`,
    })
  if (!kernel.identity.abilities.has('interrupt'))
    return failed('not_available', {
      message: `The kernel ${kernelName} cannot interrupt what runs in it; job ${name} goes on.`,
      details: { job: name, kernel: kernelName },
      next: `A person can end it with: imago stop ${kernelName}`,
    })
  const report = await kernel.interrupt(call)
  if (report.outcome !== 'still_running') await found.wait({ ms: LAST_WORDS_MS, signal })
  return ok(reported(found, report))
}

/** It can have been let through in the same moment, and then it is not claimed that it was not. */
async function withdraw(
  found: Job,
  { plan, withdraw }: Asking,
  signal: Signal,
): Promise<Outcome<InterruptAnswer>> {
  withdraw()
  await found.wait({ ms: LAST_WORDS_MS, signal })
  const { outcome } = found
  if (outcome?.type === 'failed' && outcome.error.code === 'withdrawn') {
    const message = `${plan} was withdrawn before it was carried out. Nothing ran.`
    return ok(reported(found, { outcome: 'withdrawn', message }))
  }
  const message = `${plan} could not be withdrawn any more.`
  return ok(reported(found, { outcome: outcome === undefined ? 'still_running' : 'not_running', message }))
}

function reported(found: Job, { outcome, message, offer }: InterruptReport): InterruptAnswer {
  const { name, kernelName, elapsedMs } = found
  const next = NEXT[outcome]({ job: name, kernel: kernelName, offer })
  return {
    status: outcome,
    job: name,
    message,
    elapsed_ms: Math.round(elapsedMs),
    ...printed(found.output.soFar()),
    ...(next !== undefined && { next }),
  }
}

const NEXT: Record<
  InterruptReport['outcome'],
  (known: { job: string; kernel: string | null; offer: InterruptReport['offer'] }) => string | undefined
> = {
  stopped: () => undefined,
  withdrawn: () => undefined,
  not_running: ({ job }) => `job ${JSON.stringify({ job })} gives its result.`,
  still_running: ({ kernel, offer }) =>
    offer === undefined
      ? 'Interrupt it again, or wait for it.'
      : `Interrupt it again, wait for it, or have a person end the image, which is then lost: imago restart ${kernel}`,
}

function unknownJob(name: string, jobs: Jobs): Outcome<never> {
  const known = jobs.names()
  return failed('unknown_job', {
    message: `There is no job ${JSON.stringify(name)}. Known: ${known.length === 0 ? 'none' : known.join(', ')}.`,
    details: { job: name, known },
    next: known.length === 0 ? 'Make the call again.' : 'Use the name of a known job.',
  })
}

/** The tools whose calls run long; the result of any other is shown as data. */
const LONG: readonly Tool[] = [
  evalExpr,
  compileForm,
  macroexpandForm,
  inspect,
  loadFile,
  reload,
  loadSystem,
  runTests,
]

function showJob(result: unknown): string {
  if (isList(result)) return showList(result)
  if (isRunning(result)) return showRunning(result)
  if (isRecord(result) && result.status === 'done')
    return LONG.find(tool => tool.name === result.tool)?.show(result) ?? JSON.stringify(result, null, 2)
  if (!isRecord(result) || !('message' in result)) return JSON.stringify(result, null, 2)
  return showInterrupted(result as unknown as InterruptAnswer)
}

function showInterrupted(result: InterruptAnswer): string {
  const { status, job, message, next } = result
  const said = [`${status}: job ${job}. ${message}`]
  if (next !== undefined) said.push(`next: ${next}`)
  return [...said, ...showPrinted(result)].join('\n')
}

/** How far a job is. A kernel works on one call at a time. */
export function running(job: Job, jobs: Jobs): Progress {
  const { name, tool, kernelName, elapsedMs, asking } = job
  if (asking !== undefined) return waiting(job, asking)
  const before = ahead(job, jobs)
  return {
    status: 'running',
    job: name,
    tool,
    kernel: kernelName,
    elapsed_ms: Math.round(elapsedMs),
    ...printed(job.output.soFar()),
    ...(before !== undefined && { behind: before.name, message: queuedWords(job, before) }),
    next: `job ${JSON.stringify({ job: name, action: 'wait' })} waits for it; interrupt_job ${JSON.stringify({ job: name })} stops it.`,
  }
}

/** The job that its kernel works on, or else the first that was dispatched there before it and has not ended. */
function ahead(job: Job, jobs: Jobs): Job | undefined {
  const { kernel } = job
  const running = kernel?.running?.call
  if (kernel === null || running === job.call) return undefined
  let isBefore = true
  let first: Job | undefined
  for (const name of jobs.names()) {
    if (name === job.name) isBefore = false
    const one = jobs.find(name)
    if (one?.kernel !== kernel || one.outcome !== undefined || one.asking !== undefined) continue
    if (one.call === running) return one
    if (isBefore) first ??= one
  }
  return first
}

const queuedWords = ({ tool, kernelName }: Job, { name, tool: other, elapsedMs }: Job): string =>
  `${tool} waits its turn in ${kernelName}, behind ${name} (${other}, ${duration(elapsedMs)} so far).`

/** Nobody but a person can hurry this, and asking again would be a second question to them. */
function waiting({ name, tool, kernelName, elapsedMs, output }: Job, { plan, waitedMs }: Asking): Progress {
  return {
    status: 'waiting',
    job: name,
    tool,
    kernel: kernelName,
    elapsed_ms: Math.round(elapsedMs),
    plan,
    message: `${tool} waits for approval: ${plan} has been before a person for ${duration(waitedMs)}. Nothing ran yet.`,
    ...printed(output.soFar()),
    next: `job ${JSON.stringify({ job: name, action: 'wait' })} waits for the answer; interrupt_job ${JSON.stringify({ job: name })} withdraws the plan. Do not make the call again, and do not try another way.`,
  }
}

export function showRunning(result: JobStatus): string {
  const progress = result as Progress
  const { status, job, tool, kernel, elapsed_ms, message, next } = progress
  const where = kernel === null ? tool : `${tool} in ${kernel}`
  const lines = [
    message === undefined
      ? `${status}: ${where} goes on as job ${job}, ${duration(elapsed_ms)} so far`
      : `${status}: ${message} It is job ${job}.`,
  ]
  return [...lines, `next: ${next}`, ...showPrinted(progress)].join('\n')
}
