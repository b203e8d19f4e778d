import { createHash, randomUUID } from 'node:crypto'
import type { Tool } from '../../tools/define.ts'
import { running } from '../../tools/job.ts'
import type { Envelope, Outcome } from '../../tools/outcome.ts'
import { duration } from '../../tools/text.ts'
import type { CallId } from '../../wire/kernel.ts'
import type { Signal } from '../../wire/signal.ts'
import { type Clock, SYSTEM_CLOCK } from '../clock.ts'
import { NO_FILES } from '../files/files.ts'
import { type Checked, type Registry, validate } from '../registry/registry.ts'
import { Leases } from '../suspensions/leases.ts'
import { openTexts } from '../text/texts.ts'
import { bounded, enveloped, noticed } from './answer.ts'
import type { CallRequest, Calls } from './contract.ts'
import { faultOf } from './faults.ts'
import { openJobs, type TrackedJob } from './jobs.ts'
import { plannedCall } from './planned-call.ts'
import * as refusals from './refusals.ts'
import { codeOf, Run, type RunOptions } from './run.ts'

export interface CallsOptions
  extends Omit<RunOptions, 'planned' | 'jobs' | Defaulted>,
    Partial<Pick<RunOptions, Defaulted>> {
  /** Long output goes to files below it. */
  readonly stateDir: string
  /** Calls of one caller that may be under way, jobs included. */
  readonly pending?: number
}

/** Left out: no files, a book and texts of its own, the clock of the system, and the usual times. */
type Defaulted = 'files' | 'leases' | 'texts' | 'clock' | 'patienceMs' | 'lookMs'

/** How long a cancelled call is watched for its end before its caller is answered, in milliseconds. */
const CANCEL_MS = 5_000

const DEFAULTS = {
  patienceMs: 60_000,
  lookMs: 5_000,
  pending: 32,
  clock: SYSTEM_CLOCK,
  files: NO_FILES,
}

/** The one path for every call: find, validate, and then what a `Run` does. */
export function openCalls(given: CallsOptions): Calls {
  const options = { ...DEFAULTS, ...given }
  const { registry, journal, clock, log } = options
  const jobs = openJobs(clock)
  const texts = options.texts ?? openTexts(options)
  const leases = options.leases ?? new Leases(journal)
  const once = openOnce()
  const pending = new Map<string, number>()
  const all: RunOptions = { ...options, jobs, texts, leases, planned: plannedCall }
  const withNoticesFor = openNotices(registry, leases)
  const answered = (outcome: Outcome) => enveloped(bounded(outcome, texts))

  /** Counts the call with its caller until it ends, however long that takes. */
  function begin(tool: Tool, checked: Checked, request: CallRequest): Run {
    const { id } = request.caller
    const run = new Run(all, { request, tool, checked })
    if (request.call !== undefined) once.begin(run, request)
    pending.set(id, (pending.get(id) ?? 0) + 1)
    void run.done.then(() => {
      const left = (pending.get(id) ?? 1) - 1
      if (left === 0) pending.delete(id)
      else pending.set(id, left)
      once.end(run)
    })
    return run
  }

  /** A refusal of what does not get as far as the gate, which the journal remembers. */
  function turnedAway(tool: string, refusal: Outcome<never>, request: CallRequest): Outcome<never> {
    const { args = {}, caller, call = randomUUID() as CallId } = request
    const nowhere = { level: null, kernel: null, epoch: null, decision: null }
    journal.later({
      type: 'refused',
      call,
      tool,
      ...nowhere,
      caller: caller.id,
      args,
      outcome: codeOf(refusal),
    })
    return refusal
  }

  /** The call to wait for, new or known, or why there is none. */
  function admit(request: CallRequest): Run | Outcome<never> {
    const before = request.call === undefined ? NEW : once.before(request.call, request)
    switch (before.type) {
      case 'same':
        return before.run
      case 'other':
        return refusals.otherCall(String(request.call))
      case 'forgotten':
        return refusals.forgotten(String(request.call))
      case 'new': {
        const count = pending.get(request.caller.id) ?? 0
        if (count >= options.pending)
          return refusals.tooManyPending({ pending: count, most: options.pending })
        const { tool: name, args = {} } = request
        const tool = registry.find(name)
        if (tool === undefined)
          return turnedAway(name.slice(0, 128), refusals.unknownTool(name, registry), request)
        const checked = validate(tool, args, registry)
        if (checked.type === 'invalid') return turnedAway(tool.name, checked.refusal, request)
        return begin(tool, checked, request)
      }
      default:
        return before satisfies never
    }
  }

  return {
    async run(request) {
      try {
        const admitted = admit(request)
        const answer =
          admitted instanceof Run
            ? await waitFor({ run: admitted, request, clock, cancelMs: CANCEL_MS })
            : answered(admitted)
        return withNoticesFor(answer, request)
      } catch (error) {
        const { tool } = request
        return answered(faultOf({ error, tool, kernel: null, level: 'safe', cancelled: false, log }))
      }
    },
    busy: () => [...pending.values()].reduce((sum, count) => sum + count, 0),
    jobs,
    texts,
    close: () => texts.close(),
  }
}

const NEW = { type: 'new' } as const

/** Answers that are kept for a caller that asks again, and names of calls whose answers are not kept any more. */
const ANSWERS = 256

const NAMES = 10_000

type Before =
  | { readonly type: 'new' }
  | { readonly type: 'same'; readonly run: Run }
  /** The same name for another call. */
  | { readonly type: 'other' }
  | { readonly type: 'forgotten' }

/** Calls by the names that their callers gave them, so that none runs twice. */
interface Once {
  before(call: CallId, request: CallRequest): Before
  begin(run: Run, request: CallRequest): void
  /**
   * A call that was refused before it was dispatched is forgotten at once: asking for it again is a new attempt. Any
   * other keeps its name and, for a while, its answer.
   */
  end(run: Run): void
}

function openOnce(): Once {
  const runs = new Map<CallId, { readonly run: Run; readonly digest: string }>()
  const ended = new Set<CallId>()
  const names = new Set<CallId>()

  return {
    before(call, request) {
      const known = runs.get(call)
      if (known === undefined) return { type: names.has(call) ? 'forgotten' : 'new' }
      return known.digest === digest(request) ? { type: 'same', run: known.run } : { type: 'other' }
    },
    begin: (run, request) => void runs.set(run.call, { run, digest: digest(request) }),
    end({ call, ran }) {
      if (!runs.has(call)) return
      if (!ran) {
        runs.delete(call)
        return
      }
      ended.add(call)
      const oldest = overflow(ended, ANSWERS)
      if (oldest === undefined) return
      runs.delete(oldest)
      names.add(oldest)
      overflow(names, NAMES)
    },
  }
}

/** Takes the oldest out of a set that has grown too large, and answers it. */
function overflow(set: Set<CallId>, most: number): CallId | undefined {
  const [oldest] = set
  if (set.size <= most || oldest === undefined) return undefined
  set.delete(oldest)
  return oldest
}

/** What a call asks for and where, in few bytes: its arguments may be megabytes of source. */
function digest({ tool, args, caller }: CallRequest): string {
  const asked = [caller.root, caller.readOnlyPromised, tool, args]
  const text = JSON.stringify(asked, (_, value) => (typeof value === 'bigint' ? `${value}n` : value))
  return createHash('sha256').update(text).digest('base64')
}

/** How often a caller is told that its call still runs, in milliseconds. */
const PROGRESS_MS = 1_000

interface Waiting {
  readonly run: Run
  readonly request: CallRequest
  readonly clock: Clock
  /** How long after a cancel the caller waits to see the code stop, in milliseconds. */
  readonly cancelMs: number
}

/**
 * What one caller is answered: how the call ended or, once its patience is over, that it goes on as a job. An
 * aborted request has the call cancelled, and waits a little for what comes of that. Never rejects.
 */
function waitFor({ run, request, clock, cancelMs }: Waiting): Promise<Envelope> {
  return new Promise(resolve => {
    const endings = [run.join(request), progress({ run, request, clock })]
    const answer = (envelope: Envelope) => {
      for (const end of endings.splice(0)) end()
      resolve(envelope)
    }
    const goOn = (job: TrackedJob) => {
      job.told()
      answer({ ok: true, result: goesOn(job) })
    }
    const wait = (ms: number) =>
      run.whenTracked(job => {
        if (job.outcome !== undefined) return
        if (ms === 0) goOn(job)
        else endings.push(clock.after(ms, () => goOn(job)))
      })

    void run.done.then(answer)
    if (request.untilDone === true) return
    endings.push(
      run.whenTracked(() => endings.push(wait(run.patienceMs))),
      onAbort(request.signal, () => {
        run.cancel()
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
function progress({ run, request, clock }: Omit<Waiting, 'cancelMs'>): () => void {
  if (request.on === undefined) return () => undefined
  const tick = () => {
    const plan = run.job?.asking?.plan
    const now = { message: stateOf(run), elapsed_ms: run.elapsedMs, ...(plan !== undefined && { plan }) }
    run.emitTo(request, { type: 'progress', ...now })
    takeBack = clock.after(PROGRESS_MS, tick)
  }
  let takeBack = clock.after(PROGRESS_MS, tick)
  return () => takeBack()
}

function stateOf({ tool: { name: tool }, job }: Run): string {
  if (job?.asking !== undefined)
    return `${tool} waits for approval of ${job.asking.plan}, ${duration(job.asking.waitedMs)} so far`
  const kernel = job?.kernelName ?? null
  return kernel === null ? `${tool} goes on` : `${tool} goes on in ${kernel}`
}

/**
 * Adds to an answer what its caller is to be told besides: how evaluations of theirs have ended that wait no more, and what a person
 * has put before them. Nothing is told with an answer that cannot carry it, that nobody reads, or that only completes
 * what is being typed: then it waits for the next one.
 */
function openNotices(
  registry: Registry,
  leases: Leases,
): (answer: Envelope, request: CallRequest) => Envelope {
  return (answer, { caller, tool, gone }) => {
    const isTyped = (registry.find(tool)?.typed.length ?? 0) > 0
    if (isTyped || gone?.aborted === true || !carriesNotices(answer)) return answer
    const notices = leases.noticesFor(caller)
    return notices.length === 0 ? answer : withNotices(answer, notices)
  }
}

const carriesNotices = (answer: Envelope): boolean =>
  !answer.ok || (typeof answer.result === 'object' && answer.result !== null && !Array.isArray(answer.result))

function withNotices(answer: Envelope, notices: readonly string[]): Envelope {
  const ended = answer.ok
    ? ({ type: 'ok', result: answer.result } as const)
    : ({ type: 'failed', error: answer.error } as const)
  return enveloped(notices.reduceRight(noticed, ended))
}
