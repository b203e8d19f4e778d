import type { Level, OutputLog, Tool } from '../../tools/define.ts'
import type { Failed, Outcome } from '../../tools/outcome.ts'
import type { Choice, Committed } from '../../tools/proposal.ts'
import type { Signal } from '../../wire/signal.ts'
import { noticeOf } from './answer.ts'
import type { CallsOptions } from './call.ts'
import type { Clock } from './clock.ts'
import { Context, ContextOnKernel, type Place } from './context.ts'
import { faultOf, kernelFault, withdrawn } from './faults.ts'
import type { Shows } from './files/ground.ts'
import type { Files } from './files.ts'
import type { Flight } from './flight.ts'
import { asksByDefault, type Decision, decide, type Effect, type Verdict } from './gate.ts'
import type { JobBook, TrackedJob } from './jobs.ts'
import { judgedPaths } from './judged-paths.ts'
import type { Wanted } from './kernels.ts'
import type { LeaseBook } from './leases.ts'
import { openOutput } from './output.ts'
import type { Rules } from './policy.ts'
import { recalling } from './recalling.ts'
import * as refusals from './refusals.ts'
import { shownPaths } from './shown-paths.ts'
import type { TextStore } from './texts.ts'
import type { Checked } from './validate.ts'

export interface PathOptions extends CallsOptions {
  readonly jobs: JobBook
  readonly texts: TextStore
  readonly files: Files
  readonly leases: LeaseBook
  readonly clock: Clock
  readonly lookMs: number
  /** Plans of one caller that may wait for a person. */
  readonly pendingPlans: number
  /** Plans that were carried out, or begun to be: none of them can be again. */
  readonly consumed: Set<string>
}

/** How far a call came: `decision` is null where the gate was not asked. */
export interface Judged {
  readonly level: Level
  readonly decision: Decision | null
}

/** What is known of a call when the gate is asked. */
export interface Known {
  readonly level: Level
  /** Real paths. */
  readonly paths?: readonly string[]
  readonly effects?: readonly Effect[]
}

export type Arguments = Readonly<Record<string, unknown>>

export type Refusal = Outcome<never>

/** What the gate says of a call. */
export type Judgement =
  | {
      readonly decision: 'allow' | 'ask'
      readonly verdict: Verdict
      readonly policy: Rules
      /** A person is to be asked, and no rule says so: a grant of theirs may stand for their answer. */
      readonly byDefault: boolean
    }
  | { readonly decision: 'deny'; readonly refusal: Refusal }

/** How the handler of a call is run. */
interface Run {
  readonly level: Level
  readonly args: Arguments
  readonly choices?: readonly Choice[]
  commit?(): Promise<Committed | Failed>
  /** The image was given the call before: it is asked what became of it. */
  readonly again?: boolean
}

/** One call on its way: what is known of it, and what every part of the way needs. */
export class Passage {
  readonly options: PathOptions
  readonly flight: Flight
  readonly tool: Tool
  readonly checked: Checked
  /** Found once, and kept when the call rises. */
  #place: Place | undefined
  /** Made only where something is printed, or asked of it. */
  #output: OutputLog | undefined
  #announced = false

  constructor(o: { options: PathOptions; flight: Flight; tool: Tool; checked: Checked }) {
    this.options = o.options
    this.flight = o.flight
    this.tool = o.tool
    this.checked = o.checked
  }

  get place(): Place | undefined {
    return this.#place
  }

  get kernelName(): string | null {
    return this.#place?.name ?? this.checked.kernel ?? null
  }

  /** The rules for a call about these real paths; `fresh` as the files say at this moment. */
  policyOn(paths: readonly string[] = [], how: { readonly fresh?: boolean } = {}): Rules {
    const { fresh = false } = how
    return this.options.policy.rulesFor(this.flight.caller.root, { fresh, paths })
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
    const { tool, kernelName: kernel, flight, options } = this
    const { level, verdict, policy, paths = tool.paths } = judged
    const root = options.files.realPath({ root: flight.caller.root, path: flight.caller.root })
    const inside = paths.length > 0 && tool.paths.every(({ confined }) => confined)
    const within = inside && typeof root === 'string' ? { within: root } : {}
    return refusals.unavailable({ tool, level, kernel, verdict, policy, ...within })
  }

  /** The real paths of the arguments that name files, for the gate; or why one of them may not be touched. */
  realPaths(args: Arguments): readonly string[] | Refusal {
    const { flight, tool, options } = this
    return judgedPaths({ paths: tool.paths, args, root: flight.caller.root, files: options.files })
  }

  /** Whether the call has what it needs, which costs no waiting for a kernel that lives. */
  placed(): boolean {
    const { needs } = this.tool
    if (needs.length === 0 || this.#place !== undefined) return true
    if (this.flight.cancelled) return false
    const place = this.options.kernels.living?.(this.#wanted())
    if (place === undefined || !needs.every(need => place.kernel.identity.abilities.has(need))) return false
    this.#place = place
    return true
  }

  /** Finds the kernel, or has it started unless only a living one will do. Answers why there is none. */
  async findPlace(how: Pick<Wanted, 'onlyLiving'> = {}): Promise<Refusal | undefined> {
    const wanted = { ...this.#wanted(), ...how }
    try {
      this.#place = await unlessAborted(this.options.kernels.resolve(wanted), this.flight.signal)
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
    const { root, env } = this.flight.caller
    const living = { onlyLiving: true, mayName: (name: string) => this.#mayLook(name) }
    return { name: this.checked.kernel, root, env, ...(this.tool.onlyLiving && living) }
  }

  /** The kernels of the project besides, as far as the call could have looked into them by their names. */
  #others(name: string) {
    const { root } = this.flight.caller
    const others = this.options.kernels.besides?.({ name, root }) ?? []
    return others.filter(one => this.#mayLook(one.name))
  }

  /** Nobody is asked about a kernel that the call does not name. */
  #mayLook(kernel: string): boolean {
    const { rules } = this.policyOn()
    return decide({ tool: this.tool.name, level: 'safe', kernel, rules }).decision === 'allow'
  }

  /** From now on the call goes on without its callers. */
  track(): TrackedJob {
    if (this.flight.job !== undefined) return this.flight.job
    const { call } = this.flight
    const { name: kernelName = null, kernel = null } = this.#place ?? {}
    const given = { call, tool: this.tool, kernelName, kernel, output: this.#printed() }
    const job = this.options.jobs.begin({ ...given, notice: noticeOf(this.#place) })
    this.flight.track(job)
    return job
  }

  /** Runs the handler, and never rejects. */
  async attempt(run: Run): Promise<Outcome> {
    try {
      return await this.tool.handler(run.args, this.context(run.level, run))
    } catch (error) {
      return this.fault(error, run.level)
    }
  }

  fault(error: unknown, level: Level): Refusal {
    const { cancelled } = this.flight
    const attached = this.#place?.kernel.identity.attached === true
    const { log } = this.options
    return faultOf({ error, tool: this.tool.name, kernel: this.kernelName, attached, level, cancelled, log })
  }

  context(level: Level, { choices, commit, again }: Omit<Run, 'level' | 'args'> = {}): Context {
    const { flight, options } = this
    const files = () => options.files.of(flight.caller.root, this.#shows())
    const given = { flight, options, level, files, choices, commit }
    const place = this.#place
    if (place === undefined) return new Context(given)
    const { leases } = options
    const calls = { caller: flight.caller, tool: this.tool, level }
    const kernel = again === true ? recalling(place.kernel) : leases.kernelFor(place, calls)
    return new ContextOnKernel({
      ...given,
      place: { ...place, kernel },
      output: () => this.#printed(),
      leases: () => leases.of(place, flight),
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
    const { flight } = this
    this.#output ??= openOutput({
      texts: this.options.texts,
      on: event => {
        if (event.type === 'output') flight.emit(event)
      },
    })
    return this.#output
  }

  /** Something of it may run from now on; whoever waits for the call is told once. */
  begin(): void {
    this.flight.ran = true
    if (this.#announced) return
    this.#announced = true
    this.flight.emit({ type: 'dispatched', call: this.flight.call, kernel: this.#place?.name ?? null })
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
    this.flight.ran = true
    this.options.journal.later({ type: 'looked', ...call, outcome: codeOf(outcome), elapsed_ms })
  }

  /** What the journal says of the call in every entry that begins one. `args` where they are others by now. */
  journalled<J extends Judged>({ level, decision }: J, args: Arguments = this.checked.args) {
    const { call, caller } = this.flight
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

  get elapsedMs(): number {
    return Math.round(this.options.clock.now() - this.flight.began)
  }
}

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
