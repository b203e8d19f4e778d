import { createHash, randomUUID } from 'node:crypto'
import { type Jobs, stricter } from '../../tools/contract.ts'
import type { Tool } from '../../tools/define.ts'
import { type Progress, running } from '../../tools/job.ts'
import type { Envelope, Outcome } from '../../tools/outcome.ts'
import { duration, oneLine } from '../../tools/text.ts'
import type { CallId } from '../../wire/kernel.ts'
import type { Signal } from '../../wire/signal.ts'
import type { Clock } from '../clock.ts'
import { ALL_OF_GROUP } from '../kernels/programs.ts'
import { type Checked, validate } from '../registry/registry.ts'
import { bounded, codeOf, enveloped, noticed } from './answer.ts'
import { Choices } from './caller-kernels.ts'
import type { Caller, CallRequest, Calls } from './contract.ts'
import { faultOf } from './faults.ts'
import { GroupRun } from './group-run.ts'
import { openJobs, type TrackedJob } from './jobs.ts'
import { plannedCall } from './planned-call.ts'
import * as refusals from './refusals.ts'
import { type Place, Run, type RunOptions } from './run.ts'

export type CallsOptions = Omit<RunOptions, 'planned' | 'jobs' | 'choices'> & {
  /** What `underWay` answers has changed. */
  changed?(): void
}

/** Calls of one caller that may be under way, jobs included. */
const MOST_PENDING = 32

/** A handle, or a suspension: its epoch begins so. */
const HANDLE = /@([0-9a-f]{4})\b/

/** How long a cancelled call is watched for its end before its caller is answered, in milliseconds. */
const CANCEL_MS = 5_000

/** The one path for every call: find, validate, and then what a `Run` does. */
export function openCalls(options: CallsOptions): Calls {
  const { registry, journal, clock, texts, log } = options
  const jobs = openJobs(clock, options.changed)
  const once = openOnce()
  const pending = new Map<string, number>()
  /** Callers whose connections have ended, while calls of theirs go on. */
  const gone = new Set<string>()
  const lives = openLives()
  const choices = new Choices(options.kernels)
  const all: RunOptions = { ...options, jobs, choices, planned: plannedCall }
  const answered = (outcome: Outcome, { caller }: CallRequest) =>
    enveloped(bounded(outcome, texts.of(caller.root)))

  /** Counts the call with its caller until it ends, however long that takes. */
  function begin(tool: Tool, checked: Checked, request: CallRequest): Run {
    const { id } = request.caller
    const run = runFor(tool, checked, request)
    if (request.call !== undefined) once.begin(run, request)
    pending.set(id, (pending.get(id) ?? 0) + 1)
    void run.done.then(() => {
      const left = (pending.get(id) ?? 1) - 1
      if (left > 0) pending.set(id, left)
      else {
        pending.delete(id)
        if (gone.delete(id)) choices.forget(id)
      }
      once.end(run)
    })
    return run
  }

  /** A look that names no kernel where several could be meant is for the owner of its handle, or else for all of them. */
  function runFor(tool: Tool, checked: Checked, request: CallRequest): Run {
    const { root } = request.caller
    const { kernel, args } = checked
    const isLook = kernel === undefined && stricter(tool.level, tool.raise(args)) === 'safe'
    if (!isLook || tool.needs.length === 0 || !isForSeveral(request.caller)) {
      const isForAll = kernel?.endsWith(ALL_OF_GROUP) === true
      return new (isForAll ? GroupRun : Run)(all, { request, tool, checked })
    }
    const epochs = Object.values(args).flatMap(value => HANDLE.exec(String(value))?.[1] ?? [])
    const owner = options.kernels
      .besides({ name: '', root })
      .find(one => epochs.some(epoch => one.kernel.identity.epoch.startsWith(epoch)))
    if (owner === undefined) return new GroupRun(all, { request, tool, checked })
    return new Run(all, { request, tool, checked: { ...checked, kernel: owner.name } })
  }

  const isForSeveral = (caller: Caller) =>
    options.kernels.areSeveral({ root: caller.root, chosen: choices.of(caller).chosen })

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
      who: caller.who,
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
        if (count >= MOST_PENDING) return refusals.tooManyPending({ pending: count, most: MOST_PENDING })
        const { tool: name, args = {} } = request
        const tool = registry.find(name)
        if (tool === undefined)
          return turnedAway(name.slice(0, 128), refusals.unknownTool(name, registry), request)
        const checked = validate(tool, args, registry, name)
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
        if (!(admitted instanceof Run)) return answered(admitted, request)
        const answer = await waitFor({ run: admitted, jobs, request, clock })
        const told = admitted.places.map(place => lives.told(admitted, place, answer.ok))
        const others = (await Promise.all(told)).flat()
        return others.length === 0 ? answer : withNotices(answer, others)
      } catch (error) {
        const { tool } = request
        const fault = faultOf({ error, tool, kernel: null, level: 'safe', cancelled: false, log })
        return answered(fault, request)
      }
    },
    choose: (caller, kernel) => choices.set(caller, { chosen: kernel }),
    left(connection) {
      choices.forget(connection)
      for (const id of pending.keys()) if (id === connection || id.startsWith(`${connection} `)) gone.add(id)
    },
    busy: () => [...pending.values()].reduce((sum, count) => sum + count, 0),
    jobs,
    underWay: () => jobs.running(),
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

interface CallWait {
  readonly run: Run
  readonly jobs: Jobs
  readonly request: CallRequest
  readonly clock: Clock
}

/**
 * What one caller is answered: how the call ended or, once its patience is over, that it goes on as a job. An
 * aborted request has the call cancelled, and waits a little for what comes of that. Never rejects.
 */
function waitFor({ run, jobs, request, clock }: CallWait): Promise<Envelope> {
  return new Promise(resolve => {
    const endings = [run.join(request), progress({ run, request, clock })]
    const answer = (envelope: Envelope) => {
      for (const end of endings.splice(0)) end()
      resolve(envelope)
    }
    const goOn = (job: TrackedJob) => {
      job.told()
      answer({ ok: true, result: goesOn(job, jobs) })
    }
    const isHeld = (job: TrackedJob) => request.held !== undefined && job.asking !== undefined
    const wait = (ms: number) => {
      let takeBack = () => {}
      const begin = (job: TrackedJob) => {
        if (job.outcome !== undefined) return
        if (isHeld(job)) takeBack = clock.after(PROGRESS_MS, () => begin(job))
        else if (ms === 0) goOn(job)
        else takeBack = clock.after(ms, () => (isHeld(job) ? begin(job) : goOn(job)))
      }
      const untrack = run.whenTracked(begin)
      return () => {
        untrack()
        takeBack()
      }
    }

    void run.done.then(answer)
    if (request.untilDone === true) return
    endings.push(
      run.whenTracked(() => endings.push(wait(run.patienceMs))),
      onAbort(request.signal, () => {
        run.cancel()
        endings.push(wait(CANCEL_MS))
      }),
      onAbort(request.gone, () => endings.push(wait(0))),
    )
  })
}

/** How a job stands. That its kernel does not answer is said, since it may be frozen rather than busy. */
function goesOn(job: TrackedJob, jobs: Jobs): Progress {
  const { notice } = job
  const now = { ...running(job, jobs), ...(notice !== undefined && { notice }) }
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
function progress({ run, request, clock }: Omit<CallWait, 'jobs'>): () => void {
  if (request.on === undefined) return () => undefined
  const tick = () => {
    const plan = run.job?.asking?.plan
    const behind = plan === undefined ? run.behind : undefined
    const now = {
      message: behind ?? stateOf(run),
      elapsed_ms: run.elapsedMs,
      ...(plan !== undefined && { plan }),
      ...(behind !== undefined && { behind }),
    }
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

/** Callers whose kernels are remembered. */
const CALLERS = 1_000

/** Which life of which program each caller has met last. */
function openLives() {
  const met = new Map<string, Map<string, Met>>()

  /** What to tell the caller once, where it comes to a program, or another process has taken the place of the one it knows. */
  function changed({ caller, checked }: Run, place: Place): string | undefined {
    const { epoch, pid } = place.kernel.identity
    const known = met.get(caller.id) ?? new Map<string, Met>()
    const before = known.get(place.name)
    if (before?.epoch === epoch) return undefined
    known.set(place.name, { epoch, pid, isTold: false })
    met.set(caller.id, known)
    const [oldest = caller.id] = met.keys()
    if (met.size > CALLERS) met.delete(oldest)
    if (before !== undefined)
      return (
        `${place.name} is another process since your last call (${before.pid} has ended, ${pid} took its place): ` +
        'handles, traces and suspended evaluations of the one before are gone.'
      )
    const isSaid = place.joined !== undefined || caller.kind !== 'mcp' || checked.kernel !== undefined
    return isSaid ? undefined : `Calls without a kernel go to ${place.name} (process ${pid}).`
  }

  /** Why a call may have failed in what lives: a reloader keeps the process of a program that does not load. */
  async function broken({ caller, tool }: Run, { name, kernel }: Place) {
    const known = met.get(caller.id)?.get(name)
    if (known === undefined || known.isTold || !kernel.identity.abilities.has('errors')) return undefined
    const looked = await kernel
      .look('errors', { count: PROGRAM_ERRORS }, { deadlineMs: LOOK_MS })
      .catch(() => undefined)
    if (looked?.type !== 'found') return undefined
    const error = looked.value.errors.find(({ kind }) => kind === 'uncaught')
    if (error === undefined) return undefined
    known.isTold = true
    if (tool.name === 'get_last_error') return undefined
    const { type, message } = error.error
    return `${name}: ${error.where ?? 'its code'} has ended with ${oneLine(`${type.name}: ${message}`)}. get_last_error shows it.`
  }

  return {
    async told(run: Run, place: Place, ok: boolean): Promise<readonly string[]> {
      if (place.kernel.identity.attached !== true) return []
      const notices = [changed(run, place), ok ? undefined : await broken(run, place)]
      return notices.filter(one => one !== undefined)
    },
  }
}

/** What a caller knows of a program that it has called into. */
interface Met {
  readonly epoch: string
  readonly pid: number | undefined
  /** An error of the program that nothing caught has been told of. */
  isTold: boolean
}

const PROGRAM_ERRORS = 5

/** How long an answer waits for that, in ms. */
const LOOK_MS = 250

function withNotices(answer: Envelope, notices: readonly string[]): Envelope {
  const ended = answer.ok
    ? ({ type: 'ok', result: answer.result } as const)
    : ({ type: 'failed', error: answer.error } as const)
  return enveloped(notices.reduceRight(noticed, ended))
}
