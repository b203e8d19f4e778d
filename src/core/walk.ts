import { LEVELS, type Level, type Tool } from '../../tools/define.ts'
import type { Outcome } from '../../tools/outcome.ts'
import type { Signal } from '../../wire/signal.ts'
import { bounded, type Ended, noticed, noticeOf } from './answer.ts'
import type { CallsOptions } from './call.ts'
import type { Clock } from './clock.ts'
import { Context, ContextOnKernel, type Place } from './context.ts'
import { faultOf, kernelFault, withdrawn } from './faults.ts'
import type { Files } from './files.ts'
import type { Flight } from './flight.ts'
import { type Decision, decide } from './gate.ts'
import type { JobBook } from './jobs.ts'
import type { Wanted } from './kernels.ts'
import { type Output, openOutput } from './output.ts'
import type { Rules } from './policy.ts'
import * as refusals from './refusals.ts'
import type { TextStore } from './texts.ts'
import type { Checked } from './validate.ts'

export interface PathOptions extends CallsOptions {
  readonly jobs: JobBook
  readonly texts: TextStore
  readonly clock: Clock
  readonly lookMs: number
  filesOf: Files['of']
}

/** A level at which the call was let through. */
interface Passed {
  readonly type: 'passed'
  readonly level: Level
  readonly decision: 'allow'
}

/** How far a call came: `decision` is null where the gate was not asked. */
interface Judged {
  readonly level: Level
  readonly decision: Decision | null
}

export type Refusal = Outcome<never>

/** One call whose arguments fit, on its way through the gate and the journal to its end. */
export class Walk {
  readonly #options: PathOptions
  readonly #flight: Flight
  readonly #tool: Tool
  readonly #checked: Checked
  /** Found once, and kept when the call rises. */
  #place: Place | undefined
  /** Made only where something is printed, or asked of it. */
  #output: Output | undefined
  #announced = false

  constructor(o: { options: PathOptions; flight: Flight; tool: Tool; checked: Checked }) {
    this.#options = o.options
    this.#flight = o.flight
    this.#tool = o.tool
    this.#checked = o.checked
    if (o.checked.patience !== undefined) o.flight.patienceMs = o.checked.patience * 1_000
  }

  /** Whatever happens on the way, a call that was tracked as a job comes to the end of it. */
  async toItsEnd(): Promise<Ended> {
    const { texts } = this.#options
    try {
      return this.#ended(bounded(await this.#rounds(), texts))
    } catch (error) {
      const level = this.#flight.job === undefined ? 'safe' : 'cautious'
      return this.#ended(bounded(this.#fault(error, level), texts))
    }
  }

  #ended(outcome: Ended): Ended {
    const ended = noticed(outcome, noticeOf(this.#place))
    this.#flight.job?.end(ended)
    return ended
  }

  /** Begins again at a higher level as often as the call turns out to need one. */
  async #rounds(): Promise<Outcome> {
    let level = stricter(this.#tool.level, this.#tool.raise(this.#checked.args))
    let because = 'its arguments ask for more than a look'
    for (;;) {
      const outcome = await this.#round(level, because)
      if (outcome.type !== 'rises') return outcome
      if (stricter(level, outcome.level) === level)
        throw new Error(`it asked to rise to ${outcome.level}, and was there already`)
      level = outcome.level
      because = outcome.because
      this.#flight.ran = false
    }
  }

  async #round(level: Level, because: string): Promise<Outcome> {
    const tool = this.#tool
    if (this.#flight.caller.readOnlyPromised && tool.level === 'safe' && level !== 'safe')
      return this.#noted(refusals.needsEvaluation(tool, because), { level, decision: null })
    const policy = this.#options.policy.rulesFor(this.#flight.caller.root)
    // A refused call must not start a kernel, so it is found first only where the policy names kernels.
    if (this.#needsName(policy)) {
      const missing = this.#placed() ? undefined : await this.#findPlace()
      if (missing !== undefined) return this.#noted(missing, { level, decision: null })
    }
    const passed = this.#gate(level, policy)
    if (passed.type !== 'passed') return passed
    if (level === 'safe') {
      const outcome = await tool.withoutKernel(this.#checked.args, this.#context(level))
      if (outcome !== undefined) return this.#looked(passed, outcome)
    }
    const missing = this.#placed() ? undefined : await this.#findPlace()
    if (missing !== undefined) return this.#noted(missing, passed)
    return level === 'safe' ? this.#look(passed) : this.#change(passed)
  }

  #gate(level: Level, policy: Rules): Passed | Refusal {
    const tool = this.#tool
    if (policy.problem !== undefined && level !== 'safe')
      return this.#noted(refusals.policyBroken(policy.problem), { level, decision: 'deny' })
    const kernel = this.#kernelName()
    const verdict = decide({ tool: tool.name, level, kernel, rules: policy.rules })
    const { decision } = verdict
    if (decision === 'allow') return { type: 'passed', level, decision }
    return this.#noted(refusals.refused({ tool, level, kernel, verdict, policy }), { level, decision })
  }

  #needsName({ rules }: Rules): boolean {
    if (this.#tool.needs.length === 0 || this.#kernelName() !== null) return false
    return rules.some(rule => rule.kernel !== undefined)
  }

  #kernelName(): string | null {
    return this.#place?.name ?? this.#checked.kernel ?? null
  }

  /** Whether the call has what it needs, which costs no waiting for a kernel that lives. */
  #placed(): boolean {
    const { needs } = this.#tool
    if (needs.length === 0 || this.#place !== undefined) return true
    if (this.#flight.cancelled) return false
    const place = this.#options.kernels.living?.(this.#wanted())
    if (place === undefined || !needs.every(need => place.kernel.identity.abilities.has(need))) return false
    this.#place = place
    return true
  }

  /** Finds the kernel, or has it started. Answers why there is none. */
  async #findPlace(): Promise<Refusal | undefined> {
    const wanted = this.#wanted()
    try {
      this.#place = await unlessAborted(this.#options.kernels.resolve(wanted), this.#flight.signal)
    } catch (error) {
      return kernelFault(error, wanted.name)
    }
    if (this.#place === undefined) return withdrawn()
    const { name, kernel } = this.#place
    const missing = this.#tool.needs.filter(need => !kernel.identity.abilities.has(need))
    if (missing.length > 0) return refusals.lacksAbility({ tool: this.#tool, kernel: name, missing })
    return undefined
  }

  #wanted(): Wanted {
    const { root, env } = this.#flight.caller
    return { name: this.#checked.kernel, root, env }
  }

  /** Runs what changes nothing; its one line in the journal may come a moment later. */
  async #look(passed: Passed): Promise<Outcome> {
    this.#flight.ran = true
    this.#dispatched()
    return this.#looked(passed, await this.#attempt(passed.level))
  }

  #looked(passed: Passed, outcome: Outcome): Outcome {
    if (outcome.type !== 'rises')
      this.#options.journal.later({
        type: 'looked',
        ...this.#journalled(passed),
        outcome: codeOf(outcome),
        elapsed_ms: this.#elapsed(),
      })
    return outcome
  }

  /** Runs what may change something, once that is in the journal; from then on it is a job. */
  async #change(passed: Passed): Promise<Outcome> {
    const { journal, jobs, log } = this.#options
    const { call } = this.#flight
    if (this.#flight.cancelled) return this.#noted(withdrawn(), passed)
    if (this.#place?.kernel.health === 'ended') return this.#noted(refusals.kernelGone(this.#place), passed)
    try {
      journal.write({ type: 'dispatched', ...this.#journalled(passed) })
    } catch (error) {
      log('a call was refused because the journal could not be written', error)
      return this.#noted(refusals.journalUnavailable(error), passed)
    }
    this.#flight.ran = true
    this.#dispatched()
    if (this.#place !== undefined && this.#flight.job === undefined) {
      const { name: kernelName, kernel } = this.#place
      const given = { call, tool: this.#tool, kernelName, kernel, output: this.#printed() }
      this.#flight.track(jobs.begin({ ...given, notice: noticeOf(this.#place) }))
    }
    const outcome = await this.#attempt(passed.level)
    journal.later({ type: 'ended', call, outcome: codeOf(outcome), elapsed_ms: this.#elapsed() })
    return outcome
  }

  async #attempt(level: Level): Promise<Outcome> {
    try {
      return await this.#tool.handler(this.#checked.args, this.#context(level))
    } catch (error) {
      return this.#fault(error, level)
    }
  }

  #fault(error: unknown, level: Level): Refusal {
    const { cancelled } = this.#flight
    const { log } = this.#options
    const attached = this.#place?.kernel.identity.attached === true
    return faultOf({
      error,
      tool: this.#tool.name,
      kernel: this.#kernelName(),
      attached,
      level,
      cancelled,
      log,
    })
  }

  #context(level: Level): Context {
    const flight = this.#flight
    const options = this.#options
    const place = this.#place
    if (place === undefined) return new Context({ flight, options, level })
    return new ContextOnKernel({ flight, options, level, place, output: () => this.#printed() })
  }

  #printed(): Output {
    const { texts } = this.#options
    const flight = this.#flight
    this.#output ??= openOutput({
      texts,
      on: event => {
        if (event.type === 'output') flight.emit(event)
      },
    })
    return this.#output
  }

  #dispatched(): void {
    const { call } = this.#flight
    if (this.#announced) return
    this.#announced = true
    this.#flight.emit({ type: 'dispatched', call, kernel: this.#place?.name ?? null })
  }

  /** A refusal, which the journal remembers too. */
  #noted(refusal: Refusal, judged: Judged): Refusal {
    const entry = { type: 'refused', ...this.#journalled(judged), outcome: codeOf(refusal) } as const
    this.#options.journal.later(entry)
    return refusal
  }

  #journalled<J extends Judged>({ level, decision }: J) {
    const { call, caller } = this.#flight
    return {
      call,
      tool: this.#tool.name,
      level: level as J['level'],
      kernel: this.#kernelName(),
      epoch: this.#place?.kernel.identity.epoch ?? null,
      caller: caller.id,
      args: this.#tool.journalled(this.#checked.args),
      decision: decision as J['decision'],
    }
  }

  #elapsed(): number {
    return Math.round(this.#options.clock.now() - this.#flight.began)
  }
}

function stricter(one: Level, other: Level): Level {
  return LEVELS.indexOf(other) > LEVELS.indexOf(one) ? other : one
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
