import { randomUUID } from 'node:crypto'
import { resolve } from 'node:path'
import {
  type Leases as CallLeases,
  type Jobs,
  type KernelContext,
  type Level,
  type OtherKernel,
  type OutputLog,
  type ProjectFiles,
  stricter,
  type Texts,
  type ToolContext,
} from '../../tools/contract.ts'
import type { Tool } from '../../tools/define.ts'
import type { Envelope, Outcome } from '../../tools/outcome.ts'
import type { CallId, Kernel, Question } from '../../wire/kernel.ts'
import { LightSignal, type Signal } from '../../wire/signal.ts'
import type { Approvals } from '../approvals/contract.ts'
import type { Arguments } from '../approvals/plan.ts'
import type { Clock } from '../clock.ts'
import type { Files } from '../files/files.ts'
import type { Shows } from '../files/list.ts'
import type { Decision, Earlier } from '../journal/entries.ts'
import type { Journal } from '../journal/journal.ts'
import type { Kernels, Wanted } from '../kernels/kernels.ts'
import { judgedPaths, shownPaths } from '../policy/judged-paths.ts'
import type { Policy, Rules } from '../policy/policy.ts'
import { asksByDefault, decide, type Effect, type Verdict } from '../policy/rules.ts'
import type { Checked, Registry } from '../registry/registry.ts'
import type { Leases } from '../suspensions/leases.ts'
import { openOutput, type TextStore } from '../text/texts.ts'
import { bounded, type Ended, enveloped, noticed, noticeOf } from './answer.ts'
import type { CallEvent, Caller, CallRequest } from './contract.ts'
import { faultOf, kernelFault, withdrawn } from './faults.ts'
import type { JobBook, TrackedJob } from './jobs.ts'
import * as refusals from './refusals.ts'

/** What all calls of a daemon have in common. */
export interface RunOptions {
  readonly registry: Registry
  /** Of the package: the tools of another build are other tools. */
  readonly version?: string
  readonly kernels: Pick<Kernels, 'resolve'> & Partial<Pick<Kernels, 'living' | 'besides'>>
  readonly policy: Policy
  readonly journal: Journal
  /** Who is asked. Left out: nobody. */
  readonly approvals?: Approvals
  readonly files: Files
  /** Who holds what is suspended. */
  readonly leases: Leases
  readonly jobs: JobBook
  readonly texts: TextStore
  readonly clock: Clock
  /** Faults, with their stacks; they are not for callers. */
  readonly log: (message: string, error: unknown) => void
  /** How long a caller waits for running code before it is answered with a job, in milliseconds. */
  readonly patienceMs: number
  /** How long a look may take, in milliseconds. */
  readonly lookMs: number
  /** Carries out a call that is dangerous, or that a person is to be asked about. `paths`: of its arguments. */
  planned(run: Run, given: Planning): Promise<Outcome>
}

/** A call that is planned before it runs: how far the gate let it through, and about which real paths. */
export interface Planning {
  readonly level: Level
  readonly judged: Asked
  readonly paths: readonly string[]
}

/** How far a call came: `decision` is null where the gate was not asked. */
interface Judged {
  readonly level: Level
  readonly decision: Decision | null
}

/** What is known of a call when the gate is asked. */
interface Known {
  readonly level: Level
  /** Real paths. */
  readonly paths?: readonly string[]
  readonly effects?: readonly Effect[]
}

export type Refusal = Outcome<never>

/** What the gate says of a call. */
type Judgement = Asked | { readonly decision: 'deny'; readonly refusal: Refusal }

/** A call that is let through, or that a person is asked about. */
export interface Asked {
  readonly decision: 'allow' | 'ask'
  readonly verdict: Verdict
  readonly policy: Rules
  /** A person is to be asked, and no rule says so: a grant of theirs may stand for their answer. */
  readonly byDefault: boolean
}

/** How the handler of a call is run. */
interface Attempt {
  readonly level: Level
  readonly args: Arguments
  /** The image was given the call before: it is asked what became of it. */
  readonly again?: boolean
}

/** A level at which the call was let through. */
interface Passed {
  readonly level: Level
  readonly decision: Decision
}

/**
 * One call, from the moment it is admitted to its one answer: level, gate, journal, kernel, handler, bounds. Whoever asks
 * for it again under the same name joins it: everybody is told what happens, and gets the one answer. It ends by itself
 * and never because a caller went away.
 */
export class Run {
  readonly options: RunOptions
  readonly call: CallId
  readonly caller: Caller
  readonly tool: Tool
  readonly checked: Checked
  /** The answer of the call itself, however long it takes. Never rejects. */
  readonly done: Promise<Envelope>
  /** How long a caller waits once it is a job, in milliseconds. */
  readonly patienceMs: number
  /** Aborts when the call is cancelled. */
  readonly signal = new LightSignal()
  /**
   * Whether it was dispatched or answered by a look, so that asking for it again must not run it. A refused call that
   * was neither may be tried again under its name.
   */
  ran = false
  readonly #began: number
  /** False while an earlier daemon may have run it under the same name. */
  #isNew: boolean
  /** What an earlier daemon gave to an image that may remember it. */
  #before: Earlier | undefined
  #joined: readonly CallRequest[] = []
  #announced = false
  #job: TrackedJob | undefined
  #whenTracked: readonly ((job: TrackedJob) => void)[] = []
  /** Found once, and kept when the call rises. */
  #place: Place | undefined
  /** Made only where something is printed, or asked of it. */
  #output: OutputLog | undefined

  /** It begins after the code that makes it has come to its end, so that nothing is missed. */
  constructor(
    options: RunOptions,
    {
      request,
      tool,
      checked,
    }: { readonly request: CallRequest; readonly tool: Tool; readonly checked: Checked },
  ) {
    this.options = options
    this.call = request.call ?? (randomUUID() as CallId)
    this.caller = request.caller
    this.tool = tool
    this.checked = checked
    this.patienceMs = checked.patience === undefined ? options.patienceMs : checked.patience * 1_000
    this.#began = options.clock.now()
    this.#isNew = request.call === undefined
    this.done = Promise.resolve().then(() => this.#answer())
  }

  get cancelled(): boolean {
    return this.signal.aborted
  }

  get elapsedMs(): number {
    return Math.round(this.options.clock.now() - this.#began)
  }

  get place(): Place | undefined {
    return this.#place
  }

  get kernelName(): string | null {
    return this.#place?.name ?? this.checked.kernel ?? null
  }

  get job(): TrackedJob | undefined {
    return this.#job
  }

  /** Has running code interrupted; what has not begun is withdrawn. */
  cancel(): void {
    this.signal.abort()
  }

  // Those who wait for it.

  /** Sends this caller the events, and the questions, until the answer is called. */
  join(request: CallRequest): () => void {
    this.#joined = [...this.#joined, request]
    return () => this.#leave(request)
  }

  #leave(request: CallRequest): void {
    this.#joined = this.#joined.filter(one => one !== request)
  }

  emit(event: CallEvent): void {
    for (const request of this.#joined) this.emitTo(request, event)
  }

  /** A listener that throws is one that has gone; the call must not notice. */
  emitTo(request: CallRequest, event: CallEvent): void {
    try {
      if (this.#joined.includes(request)) request.on?.(event)
    } catch {
      this.#leave(request)
    }
  }

  get canAsk(): boolean {
    return this.#joined.some(request => request.ask !== undefined)
  }

  /** Asks whoever joined last and can be asked; rejects where nobody is. */
  async ask(question: Question): Promise<string> {
    const asked = this.#joined.findLast(request => request.ask !== undefined)
    if (asked?.ask === undefined) throw new Error('Nobody who waits for this call can be asked.')
    return asked.ask(question)
  }

  /** Calls with the job once there is one, or at once; the answer takes it back. */
  whenTracked(watcher: (job: TrackedJob) => void): () => void {
    if (this.#job !== undefined) watcher(this.#job)
    else this.#whenTracked = [...this.#whenTracked, watcher]
    return () => {
      this.#whenTracked = this.#whenTracked.filter(one => one !== watcher)
    }
  }

  /** From now on the call goes on without its callers. */
  track(): TrackedJob {
    if (this.#job !== undefined) return this.#job
    const { name: kernelName = null, kernel = null } = this.#place ?? {}
    const given = { call: this.call, tool: this.tool, kernelName, kernel, output: this.#printed() }
    const job = this.options.jobs.begin({ ...given, notice: noticeOf(this.#place) })
    this.#job = job
    const waiting = this.#whenTracked
    this.#whenTracked = []
    for (const watcher of waiting) watcher(job)
    return job
  }

  // Its way.

  /** Whatever happens on the way, a call that was tracked as a job comes to the end of it. */
  async #answer(): Promise<Envelope> {
    const { texts } = this.options
    let ended: Ended
    try {
      ended = bounded(await this.#rounds(), texts)
    } catch (error) {
      ended = bounded(this.fault(error, this.#job === undefined ? 'safe' : 'cautious'), texts)
    }
    ended = noticed(ended, noticeOf(this.#place))
    this.#job?.end(ended)
    return enveloped(ended)
  }

  /** Begins again at a higher level as often as the call turns out to need one. */
  async #rounds(): Promise<Outcome> {
    const { tool, checked } = this
    let level = stricter(tool.level, tool.raise(checked.args))
    let because = 'its arguments ask for more than a look'
    for (;;) {
      const outcome = await this.#round(level, because)
      if (outcome.type !== 'rises') return outcome
      if (stricter(level, outcome.level) === level)
        throw new Error(`it asked to rise to ${outcome.level}, and was there already`)
      // A look that has to rise ran nothing; whatever was dispatched is in the journal under its name.
      if (level === 'safe') this.ran = false
      level = outcome.level
      because = outcome.because
    }
  }

  async #round(level: Level, because: string): Promise<Outcome> {
    const { tool, checked } = this
    if (this.caller.readOnlyPromised && tool.level === 'safe' && level !== 'safe')
      return this.noted(refusals.needsEvaluation(tool, because), { level, decision: null })
    const known = level === 'safe' || this.#isNew ? undefined : await this.#earlier()
    // The journal has the end of it already, and a call ends once.
    if (known !== undefined) return known
    const before = this.#before
    if (before !== undefined) {
      // Where the kernel cannot be had, nobody can say how the call ended. None is started to be asked that.
      const missing = this.placed() ? undefined : await this.findPlace({ onlyLiving: true })
      if (missing !== undefined) return this.#ranEarlier(before)
    }
    const paths = tool.paths.length === 0 ? NO_PATHS : this.realPaths(checked.args)
    if ('type' in paths) return this.noted(paths, { level, decision: null })
    const policy = this.policyOn(paths)
    // A refused call must not start a kernel, so it is found first only where the policy names kernels.
    if (this.#needsName(policy)) {
      const missing = this.placed() ? undefined : await this.findPlace()
      if (missing !== undefined) return this.noted(missing, { level, decision: null })
    }
    const judged = this.judge({ level, paths }, policy)
    if (before !== undefined && (level === 'dangerous' || judged.decision !== 'allow'))
      return this.#ranEarlier(before)
    if (judged.decision === 'deny') return this.noted(judged.refusal, { level, decision: 'deny' })
    if (level === 'dangerous' || judged.decision === 'ask')
      return this.options.planned(this, { level, judged, paths })
    const passed = { level, decision: judged.decision }
    if (level === 'safe') {
      const outcome = await tool.withoutKernel(checked.args, this.context(level))
      if (outcome !== undefined) return this.#looked(passed, outcome)
    }
    const missing = this.placed() ? undefined : await this.findPlace()
    if (missing !== undefined) return this.noted(missing, passed)
    return level === 'safe' ? this.#look(passed) : this.#change(passed)
  }

  /** What a daemon before this one was given under the same name does not run again. */
  async #earlier(): Promise<Refusal | undefined> {
    const { options } = this
    try {
      const known = await options.journal.earlier(this.call)
      if (known !== undefined && !this.#mayBeRemembered(known)) return this.#ranEarlier(known)
      this.#before = known
      this.#isNew = true
      return undefined
    } catch (error) {
      options.log('a call was refused because the journal could not be read', error)
      return refusals.journalUnavailable(error)
    }
  }

  /** A call of which nobody wrote down how it ended, in an image that may live on. */
  #mayBeRemembered({ tool, outcome, epoch }: Earlier): boolean {
    return tool === this.tool.name && outcome === 'outcome_unknown' && epoch !== undefined
  }

  #ranEarlier(known: Earlier): Refusal {
    return refusals.ranEarlier(String(this.call), known)
  }

  #needsName({ rules }: Rules): boolean {
    const { tool, kernelName } = this
    if (tool.needs.length === 0 || kernelName !== null) return false
    return rules.some(rule => rule.kernel !== undefined)
  }

  /** Runs what changes nothing; its one line in the journal may come a moment later. */
  async #look(passed: Passed): Promise<Outcome> {
    this.begin()
    return this.#looked(passed, await this.attempt({ level: passed.level, args: this.checked.args }))
  }

  #looked(passed: Passed, outcome: Outcome): Outcome {
    if (outcome.type !== 'rises') this.looked(passed, outcome)
    return outcome
  }

  /** Runs what may change something, once that is in the journal; from then on it is a job. */
  async #change(passed: Passed): Promise<Outcome> {
    const { options, place, checked } = this
    if (this.cancelled) return this.noted(withdrawn(), passed)
    if (this.#before !== undefined) return this.#recall(passed, this.#before)
    if (place?.kernel.health === 'ended') return this.noted(refusals.kernelGone(place), passed)
    try {
      options.journal.write({ type: 'dispatched', ...this.journalled(passed) })
    } catch (error) {
      options.log('a call was refused because the journal could not be written', error)
      return this.noted(refusals.journalUnavailable(error), passed)
    }
    this.begin()
    if (place !== undefined) this.track()
    const outcome = await this.attempt({ level: passed.level, args: checked.args })
    const { elapsedMs: elapsed_ms } = this
    options.journal.later({ type: 'ended', call: this.call, outcome: codeOf(outcome), elapsed_ms })
    return outcome
  }

  /** What the image remembers of it is the answer. Nothing is begun, and in the journal it has ended. */
  async #recall({ level }: Passed, known: Earlier): Promise<Outcome> {
    const { options, place, checked } = this
    if (place === undefined || place.kernel.identity.epoch !== known.epoch) return this.#ranEarlier(known)
    this.begin()
    this.track()
    const outcome = await this.attempt({ level, args: checked.args, again: true })
    options.journal.later({ type: 'recalled', call: this.call, outcome: codeOf(outcome) })
    return outcome
  }

  // What each step of the way needs.

  /** The rules for a call about these real paths; `fresh` as the files say at this moment. */
  policyOn(paths: readonly string[] = [], how: { readonly fresh?: boolean } = {}): Rules {
    const { fresh = false } = how
    return this.options.policy.rulesFor(this.caller.root, { fresh, paths })
  }

  /** What the gate says, by the rules that hold now. A policy that cannot be relied on denies all but looking. */
  judge({ level, paths, effects }: Known, policy: Rules = this.policyOn(paths)): Judgement {
    const { tool, kernelName: kernel } = this
    if (policy.problem !== undefined && level !== 'safe')
      return { decision: 'deny', refusal: refusals.policyBroken(policy.problem) }
    const about = { ...(paths && { paths }), ...(effects && { effects }) }
    const asked = { tool: tool.name, level, kernel, rules: policy.rules, ...about }
    const verdict = decide(asked)
    const { decision } = verdict
    if (decision !== 'deny')
      return { decision, verdict, policy, byDefault: decision === 'ask' && asksByDefault(asked) }
    return { decision, refusal: refusals.denied({ tool, level, kernel, verdict, policy }) }
  }

  /** That somebody would have to be asked, and nobody can be. `paths` are real ones, as far as they are known. */
  unavailable(judged: Known & Pick<refusals.Judged, 'verdict' | 'policy'>): Refusal {
    const { tool, kernelName: kernel, caller, options } = this
    const { level, verdict, policy, paths = tool.paths } = judged
    const root = options.files.realPath({ root: caller.root, path: caller.root })
    const inside = paths.length > 0 && tool.paths.every(({ confined }) => confined)
    const within = inside && typeof root === 'string' ? { within: root } : {}
    return refusals.unavailable({ tool, level, kernel, verdict, policy, ...within })
  }

  /** The real paths of the arguments that name files, for the gate; or why one of them may not be touched. */
  realPaths(args: Arguments): readonly string[] | Refusal {
    const { caller, tool, options } = this
    return judgedPaths({ paths: tool.paths, args, root: caller.root, files: options.files })
  }

  /** Whether the call has what it needs, which costs no waiting for a kernel that lives. */
  placed(): boolean {
    const { needs } = this.tool
    if (needs.length === 0 || this.#place !== undefined) return true
    if (this.cancelled) return false
    const place = this.options.kernels.living?.(this.#wanted())
    if (place === undefined || !needs.every(need => place.kernel.identity.abilities.has(need))) return false
    this.#place = place
    return true
  }

  /** Finds the kernel, or has it started unless only a living one will do. Answers why there is none. */
  async findPlace(how: Pick<Wanted, 'onlyLiving'> = {}): Promise<Refusal | undefined> {
    const wanted = { ...this.#wanted(), ...how }
    try {
      this.#place = await unlessAborted(this.options.kernels.resolve(wanted), this.signal)
    } catch (error) {
      return kernelFault(error, wanted.name)
    }
    if (this.#place === undefined) return withdrawn()
    const { name, kernel } = this.#place
    const missing = this.tool.needs.filter(need => !kernel.identity.abilities.has(need))
    if (missing.length > 0) return refusals.lacksAbility({ tool: this.tool, kernel: name, missing })
    return undefined
  }

  /** Why the image is not the one that was found any more, as a clause for a person; undefined while it is. */
  imageMoved(): string | undefined {
    if (this.#place === undefined) return undefined
    const { name, kernel } = this.#place
    const now = this.options.kernels.living?.({ ...this.#wanted(), name })
    const same = kernel.health !== 'ended' && (now === undefined || now.kernel === kernel)
    return same ? undefined : `the image of ${name} has ended or was begun anew`
  }

  #wanted(): Wanted {
    const { root, env } = this.caller
    const living = { onlyLiving: true, mayName: (name: string) => this.#mayLook(name) }
    return { name: this.checked.kernel, root, env, ...(this.tool.onlyLiving && living) }
  }

  /** The kernels of the project besides, as far as the call could have looked into them by their names. */
  #others(name: string) {
    const { root } = this.caller
    const others = this.options.kernels.besides?.({ name, root }) ?? []
    return others.filter(one => this.#mayLook(one.name))
  }

  /** Nobody is asked about a kernel that the call does not name. */
  #mayLook(kernel: string): boolean {
    const { rules } = this.policyOn()
    return decide({ tool: this.tool.name, level: 'safe', kernel, rules }).decision === 'allow'
  }

  /** Runs the handler, and never rejects. */
  async attempt(run: Attempt): Promise<Outcome> {
    try {
      return await this.tool.handler(run.args, this.context(run.level, run))
    } catch (error) {
      return this.fault(error, run.level)
    }
  }

  fault(error: unknown, level: Level): Refusal {
    const { cancelled } = this
    const attached = this.#place?.kernel.identity.attached === true
    const { log } = this.options
    return faultOf({ error, tool: this.tool.name, kernel: this.kernelName, attached, level, cancelled, log })
  }

  context(level: Level, { again }: Pick<Attempt, 'again'> = {}): Context {
    const { caller, options } = this
    const files = () => options.files.of(caller.root, this.#shows())
    const given = { run: this, options, level, files }
    const place = this.#place
    if (place === undefined) return new Context(given)
    const { leases } = options
    return new ContextOnKernel({
      ...given,
      place,
      again: again === true,
      output: () => this.#printed(),
      leases: () => leases.of(place, this),
      others: () => this.#others(place.name),
    })
  }

  /** What an answer may show of files that the call does not name. */
  #shows(): Shows {
    const { tool, kernelName: kernel, checked } = this
    const rulesOn = (paths: readonly string[]) => this.policyOn(paths).rules
    const rules = () => {
      const named = this.realPaths(checked.args)
      return rulesOn('type' in named ? [] : named)
    }
    return shownPaths({ tool: tool.name, kernel, rules, rulesOn: folder => rulesOn([folder]) })
  }

  #printed(): OutputLog {
    this.#output ??= openOutput({
      texts: this.options.texts,
      on: event => {
        if (event.type === 'output') this.emit(event)
      },
    })
    return this.#output
  }

  /** Something of it may run from now on; whoever waits for the call is told once. */
  begin(): void {
    this.ran = true
    if (this.#announced) return
    this.#announced = true
    this.emit({ type: 'dispatched', call: this.call, kernel: this.#place?.name ?? null })
  }

  /** A refusal, which the journal remembers too. */
  noted(refusal: Refusal, judged: Judged, args?: Arguments): Refusal {
    const outcome = codeOf(refusal)
    this.options.journal.later({ type: 'refused', ...this.journalled(judged, args), outcome })
    return refusal
  }

  /** The one line of a call that changed nothing; it may come a moment later. */
  looked(judged: { readonly level: Level; readonly decision: Decision }, outcome: Outcome): void {
    const call = this.journalled(judged)
    const { elapsedMs: elapsed_ms } = this
    // Whoever asks again under this name is given the same answer: a call has one end.
    this.ran = true
    this.options.journal.later({ type: 'looked', ...call, outcome: codeOf(outcome), elapsed_ms })
  }

  /** What the journal says of the call in every entry that begins one. `args` where they are others by now. */
  journalled<J extends Judged>({ level, decision }: J, args: Arguments = this.checked.args) {
    const { call, caller } = this
    return {
      call,
      tool: this.tool.name,
      level: level as J['level'],
      kernel: this.kernelName,
      epoch: this.#place?.kernel.identity.epoch ?? null,
      caller: caller.id,
      args: this.tool.journalled(args),
      decision: decision as J['decision'],
    }
  }
}

const NO_PATHS: readonly string[] = []

export function codeOf(outcome: Outcome): string {
  return outcome.type === 'failed' ? outcome.error.code : outcome.type
}

/** What was promised, or `undefined` as soon as the caller gives up; the promise goes on unseen. */
function unlessAborted<Value>(promise: Promise<Value>, signal: Signal): Promise<Value | undefined> {
  return new Promise((resolve, reject) => {
    const stop = () => resolve(undefined)
    if (signal.aborted) return stop()
    signal.addEventListener('abort', stop)
    promise.then(resolve, reject).then(() => signal.removeEventListener('abort', stop))
  })
}

/** A kernel, and the name under which it is known. */
interface Place {
  readonly name: string
  readonly kernel: Kernel
  /** How the image before was lost, if this one was started for this call in its place. */
  readonly replaces?: string
}

/** The call that a handler runs for. */
interface Calling {
  readonly call: CallId
  readonly caller: Pick<Caller, 'who' | 'root'>
  readonly signal: Signal
  readonly canAsk: boolean
  ask(question: Question): Promise<string>
}

interface Given {
  readonly run: Calling
  readonly level: Level
  readonly options: {
    readonly jobs: Jobs
    readonly texts: Texts
    readonly lookMs: number
  }
  /** The files of the caller's project, as far as the policy lets the call see them. */
  files(): ProjectFiles
}

/** What a handler is given. */
export class Context implements ToolContext {
  readonly call: CallId
  readonly who: string
  readonly level: Level
  readonly lookMs: number
  readonly jobs: Jobs
  readonly texts: Texts
  readonly pathOf: (path: string) => string
  readonly signal: Signal
  readonly #filesOf: () => ProjectFiles
  #files: ProjectFiles | undefined

  constructor({ run, level, options, files }: Given) {
    this.call = run.call
    this.who = run.caller.who
    this.level = level
    this.lookMs = options.lookMs
    this.jobs = options.jobs
    this.texts = options.texts
    this.pathOf = path => resolve(run.caller.root, path)
    this.signal = run.signal
    this.#filesOf = files
  }

  get files(): ProjectFiles {
    this.#files ??= this.#filesOf()
    return this.#files
  }
}

interface OnKernel {
  readonly place: Place
  /** The image was given the call before: it is asked what became of it, and begins nothing. */
  readonly again: boolean
  output(): OutputLog
  leases(): CallLeases
  others(): readonly OtherKernel[]
}

/** The same on a kernel, whose output is kept from when it is first asked for. */
export class ContextOnKernel extends Context implements KernelContext {
  readonly kernel: Kernel
  readonly kernelName: string
  readonly again: boolean
  readonly ask: (question: Question) => Promise<string>
  readonly others: () => readonly OtherKernel[]
  readonly #calling: Calling
  readonly #output: () => OutputLog
  readonly #leasesOf: () => CallLeases
  #leases: CallLeases | undefined

  constructor(given: Given & OnKernel) {
    super(given)
    this.kernel = given.place.kernel
    this.kernelName = given.place.name
    this.again = given.again
    this.ask = question => given.run.ask(question)
    this.#calling = given.run
    this.#output = given.output
    this.others = given.others
    this.#leasesOf = given.leases
  }

  get leases(): CallLeases {
    this.#leases ??= this.#leasesOf()
    return this.#leases
  }

  get canAsk(): boolean {
    return this.#calling.canAsk
  }

  get output(): OutputLog {
    return this.#output()
  }
}
