import { randomUUID } from 'node:crypto'
import { type Level, type OutputLog, type PastErrors, type Sources, stricter } from '../../tools/contract.ts'
import type { Tool } from '../../tools/define.ts'
import type { Envelope, Outcome } from '../../tools/outcome.ts'
import { duration } from '../../tools/text.ts'
import { WireError } from '../../wire/errors.ts'
import type { Ability, CallId, Question } from '../../wire/kernel.ts'
import { LightSignal, unlessAborted } from '../../wire/signal.ts'
import type { Arguments } from '../approvals/plan.ts'
import type { Approvals } from '../approvals/queue.ts'
import type { Clock } from '../clock.ts'
import type { Files } from '../files/files.ts'
import type { Shows } from '../files/list.ts'
import type { Decision, Earlier } from '../journal/entries.ts'
import type { Journal } from '../journal/journal.ts'
import type { Kernels } from '../kernels/kernels.ts'
import { KernelLife } from '../kernels/owned-kernel.ts'
import { endInShort } from '../kernels/rows.ts'
import type { Attachable, MeantKernel, ResolvedKernel, Wanted } from '../kernels/wanted.ts'
import { judgedPaths, shownPaths } from '../policy/judged-paths.ts'
import type { Policy, Rules } from '../policy/policy.ts'
import { asksByDefault, decide, forAttaching } from '../policy/rules.ts'
import type { Checked, Registry } from '../registry/registry.ts'
import type { Leases } from '../suspensions/leases.ts'
import { openOutput, type TextStore, type TextStores } from '../text/texts.ts'
import { bounded, codeOf, enveloped, type FinalOutcome, noticed, noticeOf } from './answer.ts'
import { type Choices, elsewhereOf, targetOf, wantedBy } from './caller-kernels.ts'
import { Context, ContextOnKernel, type OpenBuffers } from './context.ts'
import type { CallEvent, Caller, CallFacts, CallRequest, Judgement, Ruling } from './contract.ts'
import { faultOf, kernelFault, saysNoneLives, withdrawn } from './faults.ts'
import type { JobBook, TrackedJob } from './jobs.ts'
import * as refusals from './refusals.ts'

/** A kernel, and the name under which it is known. */
export type Place = ResolvedKernel

/** What all calls of a daemon have in common. */
export interface RunOptions {
  readonly choices: Choices
  readonly registry: Registry
  /** Of the package: the tools of another build are other tools. */
  readonly version: string
  readonly kernels: Kernels
  readonly policy: Policy
  readonly journal: Journal
  /** Who is asked. */
  readonly approvals: Approvals
  readonly files: Files
  /** Who holds what is suspended. */
  readonly leases: Leases
  readonly jobs: JobBook
  readonly texts: TextStores
  readonly sources: Pick<Sources, 'prove'>
  /** Left out: no editor offers any. */
  readonly buffers?: OpenBuffers
  /** What processes have left of their errors that ran in such folders. Left out: nothing. */
  readonly past?: (isWanted: (cwd: string) => boolean) => PastErrors
  readonly clock: Clock
  /** Faults, with their stacks; they are not for callers. */
  readonly log: (message: string, error: unknown) => void
  /** How long a caller waits for running code before it is answered with a job, in milliseconds. */
  readonly patienceMs: number
  /** How long a look may take, in milliseconds. */
  readonly lookMs: number
  /** Carries out a call that is dangerous, or that a person is to be asked about. `paths`: of its arguments. */
  planned(run: Run, given: PlanRequest): Promise<Outcome>
}

/** A call that is planned before it runs: how far the gate let it through, and about which real paths. */
export interface PlanRequest {
  readonly level: Level
  readonly judged: Ruling
  readonly paths: readonly string[]
}

/** Which rules are meant: `kernel`: those of the projects that it belongs to. Left out: the kernel of the call. */
interface PolicyAsked {
  readonly fresh?: boolean
  readonly kernel?: Pick<MeantKernel, 'roots'> | undefined
}

/** How far a call came: `decision` is null where the gate was not asked. */
interface Stage {
  readonly level: Level
  readonly decision: Decision | null
}

export type Refusal = Outcome<never>

/** How the handler of a call is run. */
export interface Attempt {
  readonly level: Level
  readonly args: Arguments
  /** The image was given the call before: it is asked what became of it. */
  readonly again?: boolean
}

/** A level at which the call was let through. */
interface Clearance extends Stage {
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
  readonly held: CallRequest['held']
  readonly #asksCautious: boolean
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
  /** The name to undo it by, once it has changed files. */
  undo: string | undefined
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
  /** What was found for the gate: a kernel that lives, or what would be attached to or started. */
  #present: Place | undefined
  #meant: MeantKernel | undefined
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
    this.held = request.held
    this.#asksCautious = request.asksCautious === true
    this.tool = tool
    this.checked = checked
    this.patienceMs = patienceOf(tool, checked) ?? options.patienceMs
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

  /** What it waits behind, as a sentence without its full stop, where code of another call runs in its kernel. */
  get behind(): string | undefined {
    const { name = '', kernel } = this.#place ?? {}
    const before = kernel instanceof KernelLife ? kernel.before(this.call) : null
    if (before === null) return undefined
    const { jobs } = this.options
    const job = jobs.names().find(one => jobs.find(one)?.call === before.call)
    return `it waits its turn behind ${job ?? 'another evaluation'}, which has run in ${name} for ${duration(before.elapsed_ms)}; imago interrupt ${name} stops that`
  }

  /** All that it is for: one kernel, or the members of a group. */
  get places(): readonly Place[] {
    return this.#place === undefined ? [] : [this.#place]
  }

  get kernelName(): string | null {
    return this.#place?.name ?? this.checked.kernel ?? null
  }

  get job(): TrackedJob | undefined {
    return this.#job
  }

  /** The long texts of the caller's project. */
  get texts(): TextStore {
    return this.options.texts.of(this.caller.root)
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
    const { caller } = this
    const given = { caller, call: this.call, tool: this.tool, kernelName, kernel, output: this.#printed() }
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
    const { texts } = this
    let ended: FinalOutcome
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
    if (targetOf(this)?.elsewhere === true) level = 'dangerous'
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
    const unfit = this.unfit(level)
    if (unfit !== undefined) return this.noted(unfit, { level, decision: null })
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
    this.#lookAhead()
    const judged = this.judge({ level, paths })
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
    const found = this.#place
    const missing = this.placed() ? undefined : await this.findPlace()
    if (missing !== undefined) {
      const isAsked = level === 'safe' && saysNoneLives(missing)
      const left = isAsked && tool.withNoneLiving(checked.args, this.context(level), checked.kernel)
      return left ? this.#looked(passed, left) : this.noted(missing, passed)
    }
    if (found === undefined && this.#place !== undefined) {
      // It may be another one than the gate was told of.
      const again = this.judge({ level, paths })
      if (again.decision === 'deny') return this.noted(again.refusal, { level, decision: 'deny' })
      if (again.decision === 'ask') return this.options.planned(this, { level, judged: again, paths })
    }
    return level === 'safe' ? this.#look(passed) : this.#change(passed)
  }

  /** Why it can never be for what it names, whatever the gate says. */
  unfit(_level: Level): Refusal | undefined {
    return undefined
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

  /** Finds what the gate is to judge. A refused call must start nothing, so nothing is started or attached to for it. */
  #lookAhead(): void {
    if (this.tool.needs.length === 0 || this.#place !== undefined) return
    const { kernels } = this.options
    const wanted = this.wanted()
    this.#present = kernels.living(wanted)
    if (this.#present === undefined) this.#meant = kernels.meant(wanted)
  }

  /** As rules can name it: the kernel that it is for, as far as that was found. */
  get #kernel(): MeantKernel | undefined {
    const place = this.#place ?? this.#present
    return place === undefined ? this.#meant : this.options.kernels.ruled(place.name)
  }

  /** The same, or what it would attach to. */
  get #subject(): MeantKernel | Attachable | undefined {
    return this.#kernel ?? targetOf(this)
  }

  /** Runs what changes nothing; its one line in the journal may come a moment later. */
  async #look(passed: Clearance): Promise<Outcome> {
    this.begin()
    return this.#looked(passed, await this.attempt({ level: passed.level, args: this.checked.args }))
  }

  #looked(passed: Clearance, outcome: Outcome): Outcome {
    if (outcome.type !== 'rises') this.looked(passed, outcome)
    return outcome
  }

  /** Runs what may change something, once that is in the journal; from then on it is a job. */
  async #change(passed: Clearance): Promise<Outcome> {
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
    const ended = { call: this.call, outcome: codeOf(outcome, this.tool), elapsed_ms }
    options.journal.later({ type: 'ended', ...ended })
    return outcome
  }

  /** What the image remembers of it is the answer. Nothing is begun, and in the journal it has ended. */
  async #recall({ level }: Clearance, known: Earlier): Promise<Outcome> {
    const { options, place, checked } = this
    if (place === undefined || place.kernel.identity.epoch !== known.epoch) return this.#ranEarlier(known)
    this.begin()
    this.track()
    const outcome = await this.attempt({ level, args: checked.args, again: true })
    options.journal.later({ type: 'recalled', call: this.call, outcome: codeOf(outcome) })
    return outcome
  }

  // What each step of the way needs.

  /**
   * The rules for a call about these real paths, those of the projects that its kernel belongs to among them; `fresh` as
   * the files say at this moment.
   */
  policyOn(
    paths: readonly string[] = [],
    { fresh = false, kernel = this.#subject }: PolicyAsked = {},
  ): Rules {
    const roots = (kernel?.roots ?? []).filter(root => root !== this.caller.root)
    return this.options.policy.rulesFor(this.caller.root, {
      fresh,
      paths,
      ...(roots.length > 0 && { roots }),
    })
  }

  /** The project whose kernel it is, where the caller is not at home there and was not let in. */
  get elsewhere(): string | undefined {
    return elsewhereOf(this, this.#kernel)
  }

  /** By which names rules may speak about the call. */
  named(args: Arguments = this.checked.args) {
    return { tool: this.tool.name, as: this.tool.judgedAs(args) }
  }

  /** What the gate says, by the rules that hold now. A policy that cannot be relied on denies all but looking. */
  judge(
    { level, args, paths, effects }: CallFacts,
    policy: Rules = this.policyOn(paths),
    ruled: MeantKernel | Attachable | undefined = this.#subject,
  ): Judgement {
    const { tool } = this
    const { name: kernel = null, otherNames = [] } = ruled ?? {}
    if (policy.problem !== undefined && level !== 'safe')
      return { decision: 'deny', refusal: refusals.policyBroken(policy.problem) }
    const about = { ...(paths && { paths }), ...(effects && { effects }) }
    const elsewhere = this.elsewhere !== undefined
    const rules = tool.attaches === undefined ? policy.rules : forAttaching(policy.rules)
    const asked = { ...this.named(args), level, kernel, otherNames, elsewhere, rules, ...about }
    const given = decide(asked)
    const isLoose = level === 'cautious' && given.decision === 'allow' && given.rule.from.type === 'default'
    const verdict = this.#asksCautious && isLoose ? ({ ...given, decision: 'ask' } as const) : given
    const { decision } = verdict
    if (decision !== 'deny')
      return { decision, verdict, policy, byDefault: decision === 'ask' && asksByDefault(asked) }
    return { decision, refusal: refusals.denied({ tool, as: asked.as, level, kernel, verdict, policy }) }
  }

  /** That somebody would have to be asked, and nobody can be. `paths` are real ones, as far as they are known. */
  unavailable(judged: CallFacts & Pick<refusals.JudgedCall, 'verdict' | 'policy'>): Refusal {
    const { tool, caller, options } = this
    const kernel = this.#subject?.name ?? null
    const { level, args, verdict, policy, paths = tool.paths } = judged
    const { as } = this.named(args)
    const root = options.files.realPath({ root: caller.root, path: caller.root })
    const inside = paths.length > 0 && tool.paths.every(({ confined }) => confined)
    const within = inside && typeof root === 'string' ? { within: root } : {}
    const client = caller.client?.mayCount?.() ? { client: caller.client } : {}
    return refusals.unavailable({ tool, as, level, kernel, verdict, policy, ...within, ...client })
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
    const { kernels } = this.options
    const place =
      this.#present?.kernel.health === 'responsive' ? this.#present : kernels.living(this.wanted())
    if (place === undefined || !needs.every(need => place.kernel.identity.abilities.has(need))) return false
    this.#place = place
    this.#went(place)
    return true
  }

  /** Further calls of this caller that name no kernel go there too, whatever begins to listen besides. */
  #went({ name }: Place): void {
    if (this.checked.kernel === undefined) this.options.choices.set(this.caller, { lately: name })
  }

  /** Finds the kernel, or has it started unless only a living one will do. Answers why there is none. */
  async findPlace(how: Pick<Wanted, 'onlyLiving'> = {}): Promise<Refusal | undefined> {
    const wanted = { ...this.wanted(), ...how }
    try {
      this.#place = await unlessAborted(this.options.kernels.resolve(wanted), this.signal)
    } catch (error) {
      const { error: why } = kernelFault(error, wanted.name)
      const end = this.tool.needs.includes('suspensions') && this.options.leases.endFor(this.caller)
      return { type: 'failed', error: end ? { ...why, message: `${why.message} ${end}` } : why }
    }
    if (this.#place === undefined) return withdrawn()
    this.#went(this.#place)
    const { name, kernel } = this.#place
    const missing = this.tool.needs.filter(need => !kernel.identity.abilities.has(need))
    if (missing.length > 0) return refusals.lacksAbility({ tool: this.tool, kernel: name, missing })
    return undefined
  }

  /** Why the image is not the one that was found any more, as a clause for a person; undefined while it is. */
  imageMoved({ name, kernel }: Place): string | undefined {
    const now = this.options.kernels.living({ ...this.wanted(), name })
    const same = kernel.health !== 'ended' && (now === undefined || now.kernel === kernel)
    return same ? undefined : `the image of ${name} has ended or was begun anew`
  }

  /** Which kernel it is for. */
  wanted(): Wanted {
    return wantedBy(this)
  }

  /** Nobody is asked about a kernel that the call does not name. */
  mayLook(kernel: string): boolean {
    return this.mayLookInto(this.options.kernels.ruled(kernel))
  }

  mayLookInto({ name: kernel, otherNames, roots }: MeantKernel): boolean {
    const { rules } = this.policyOn([], { kernel: { roots } })
    return decide({ ...this.named(), level: 'safe', kernel, otherNames, rules }).decision === 'allow'
  }

  /** Runs the handler, and never rejects. A name that is not there yet in a program that has just begun is waited for. */
  async attempt(run: Attempt, place = this.#place): Promise<Outcome> {
    const isOfCode = !this.tool.needs.some(need => OF_A_PROCESS.includes(need))
    for (;;) {
      const outcome = await this.#attempt(run, place)
      const isMissing = outcome.type === 'failed' && outcome.error.code === 'not_found'
      if (!isMissing || !isOfCode || this.cancelled || place === undefined) return outcome
      const { kernels } = this.options
      if (!kernels.mayBeLoading(place.name)) {
        const script = kernels.runningScript(place.name)
        if (script === null) return outcome
        return noticed(outcome, `${script} has not returned yet: what it defines later is missing.`)
      }
      await new Promise(resolve => setTimeout(resolve, LOADING_MS))
    }
  }

  async #attempt(run: Attempt, place: Place | undefined): Promise<Outcome> {
    try {
      return await this.tool.handler(run.args, this.context(run.level, run, place))
    } catch (error) {
      return this.fault(error, run.level, place)
    }
  }

  fault(error: unknown, level: Level, place = this.#place): Refusal {
    const { cancelled } = this
    const attached = place?.kernel.identity.attached === true
    const kernel = place?.name ?? this.kernelName
    const { log, kernels } = this.options
    const isEnd = error instanceof WireError && error.code === 'LINK_CLOSED' && kernel !== null
    const told =
      isEnd && kernels.withholds(kernel) ? new WireError(error.code, endInShort(error.message)) : error
    const stopped = kernel === null ? null : kernels.stopped(kernel)
    return faultOf({ error: told, tool: this.tool.name, kernel, attached, stopped, level, cancelled, log })
  }

  context(level: Level, { again }: Pick<Attempt, 'again'> = {}, place = this.#place): Context {
    const { caller, options } = this
    const files = () => options.files.of(caller.root, this.#shows())
    const given = { run: this, level, files }
    if (place === undefined) return new Context(given)
    return new ContextOnKernel({
      ...given,
      place,
      again: again === true,
      output: () => this.#printed(),
      leases: () => options.leases.of(place, this),
    })
  }

  /** What an answer may show of files that the call does not name. */
  #shows(): Shows {
    const { kernelName: kernel, checked } = this
    const rulesOn = (paths: readonly string[]) => this.policyOn(paths).rules
    const rules = () => {
      const named = this.realPaths(checked.args)
      return rulesOn('type' in named ? [] : named)
    }
    return shownPaths({ ...this.named(), kernel, rules, rulesOn: folder => rulesOn([folder]) })
  }

  #printed(): OutputLog {
    this.#output ??= openOutput({
      texts: this.texts,
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
  noted(refusal: Refusal, judged: Stage, args?: Arguments): Refusal {
    const outcome = codeOf(refusal)
    const kernel = this.#kernel?.name ?? this.kernelName
    this.options.journal.later({ type: 'refused', ...this.journalled(judged, args), kernel, outcome })
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
  journalled<J extends Stage>({ level, decision }: J, args: Arguments = this.checked.args) {
    const { call, caller } = this
    return {
      call,
      tool: this.tool.name,
      level: level as J['level'],
      kernel: this.kernelName,
      epoch: this.#place?.kernel.identity.epoch ?? null,
      caller: caller.id,
      who: caller.who,
      args: this.tool.journalled(args),
      decision: decision as J['decision'],
    }
  }
}

/** Longer than any plan waits, and as much as a timer takes. */
const HOST_MS = 2 ** 31 - 1

const patienceOf = ({ forHost }: Tool, { patience }: Checked) =>
  forHost === undefined ? patience && patience * 1_000 : HOST_MS

const NO_PATHS: readonly string[] = []

/** What a process comes to have while it runs: what has just begun has none. */
const OF_A_PROCESS: readonly Ability[] = ['suspensions', 'traces', 'last_error']

/** How often a program that has just begun is looked into again, in ms. */
const LOADING_MS = 100
