import { type Level, stricter, type Tool } from '../../tools/define.ts'
import type { Outcome } from '../../tools/outcome.ts'
import { bounded, type Ended, noticed, noticeOf } from './answer.ts'
import { withdrawn } from './faults.ts'
import type { Flight } from './flight.ts'
import type { Decision } from './gate.ts'
import type { Earlier } from './journal.ts'
import { codeOf, Passage, type PathOptions, type Refusal } from './passage.ts'
import { PlannedCall } from './planned-call.ts'
import type { Rules } from './policy.ts'
import * as refusals from './refusals.ts'
import type { Checked } from './validate.ts'

/** A level at which the call was let through. */
interface Passed {
  readonly level: Level
  readonly decision: Decision
}

/** One call whose arguments fit, on its way through the gate and the journal to its end. */
export class Walk {
  readonly #passage: Passage
  /** Set once no earlier daemon is known to have run it. */
  #isNew: boolean
  /** What an earlier daemon gave to an image that may remember it. */
  #before: Earlier | undefined

  constructor(o: { options: PathOptions; flight: Flight; tool: Tool; checked: Checked }) {
    this.#passage = new Passage(o)
    this.#isNew = !o.flight.named
    if (o.checked.patience !== undefined) o.flight.patienceMs = o.checked.patience * 1_000
  }

  /** Whatever happens on the way, a call that was tracked as a job comes to the end of it. */
  async toItsEnd(): Promise<Ended> {
    const { options, flight } = this.#passage
    try {
      return this.#ended(bounded(await this.#rounds(), options.texts))
    } catch (error) {
      const level = flight.job === undefined ? 'safe' : 'cautious'
      return this.#ended(bounded(this.#passage.fault(error, level), options.texts))
    }
  }

  #ended(outcome: Ended): Ended {
    const ended = noticed(outcome, noticeOf(this.#passage.place))
    this.#passage.flight.job?.end(ended)
    return ended
  }

  /** Begins again at a higher level as often as the call turns out to need one. */
  async #rounds(): Promise<Outcome> {
    const { tool, checked, flight } = this.#passage
    let level = stricter(tool.level, tool.raise(checked.args))
    let because = 'its arguments ask for more than a look'
    for (;;) {
      const outcome = await this.#round(level, because)
      if (outcome.type !== 'rises') return outcome
      if (stricter(level, outcome.level) === level)
        throw new Error(`it asked to rise to ${outcome.level}, and was there already`)
      // A look that has to rise ran nothing; whatever was dispatched is in the journal under its name.
      if (level === 'safe') flight.ran = false
      level = outcome.level
      because = outcome.because
    }
  }

  async #round(level: Level, because: string): Promise<Outcome> {
    const passage = this.#passage
    const { tool, checked, flight } = passage
    if (flight.caller.readOnlyPromised && tool.level === 'safe' && level !== 'safe')
      return passage.noted(refusals.needsEvaluation(tool, because), { level, decision: null })
    const known = level === 'safe' || this.#isNew ? undefined : await this.#earlier()
    // The journal has the end of it already, and a call ends once.
    if (known !== undefined) return known
    const before = this.#before
    if (before !== undefined) {
      // Where the kernel cannot be had, nobody can say how the call ended. None is started to be asked that.
      const missing = passage.placed() ? undefined : await passage.findPlace({ onlyLiving: true })
      if (missing !== undefined) return this.#ran(before)
    }
    const paths = tool.paths.length === 0 ? NONE : passage.realPaths(checked.args)
    if ('type' in paths) return passage.noted(paths, { level, decision: null })
    const policy = passage.policyOn(paths)
    // A refused call must not start a kernel, so it is found first only where the policy names kernels.
    if (this.#needsName(policy)) {
      const missing = passage.placed() ? undefined : await passage.findPlace()
      if (missing !== undefined) return passage.noted(missing, { level, decision: null })
    }
    const judged = passage.judge({ level, paths }, policy)
    if (before !== undefined && (level === 'dangerous' || judged.decision !== 'allow')) return this.#ran(before)
    if (judged.decision === 'deny') return passage.noted(judged.refusal, { level, decision: 'deny' })
    if (level === 'dangerous' || judged.decision === 'ask')
      return new PlannedCall(passage, level, judged).toItsEnd(judged)
    const passed = { level, decision: judged.decision }
    if (level === 'safe') {
      const outcome = await tool.withoutKernel(checked.args, passage.context(level))
      if (outcome !== undefined) return this.#looked(passed, outcome)
    }
    const missing = passage.placed() ? undefined : await passage.findPlace()
    if (missing !== undefined) return passage.noted(missing, passed)
    return level === 'safe' ? this.#look(passed) : this.#change(passed)
  }

  /** What a daemon before this one was given under the same name does not run again. */
  async #earlier(): Promise<Refusal | undefined> {
    const { options, flight } = this.#passage
    try {
      const known = await options.journal.earlier(flight.call)
      if (known !== undefined && !this.#mayBeRemembered(known)) return this.#ran(known)
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
    return tool === this.#passage.tool.name && outcome === 'outcome_unknown' && epoch !== undefined
  }

  #ran(known: Earlier): Refusal {
    return refusals.ranEarlier(String(this.#passage.flight.call), known)
  }

  #needsName({ rules }: Rules): boolean {
    const { tool, kernelName } = this.#passage
    if (tool.needs.length === 0 || kernelName !== null) return false
    return rules.some(rule => rule.kernel !== undefined)
  }

  /** Runs what changes nothing; its one line in the journal may come a moment later. */
  async #look(passed: Passed): Promise<Outcome> {
    const passage = this.#passage
    passage.begin()
    return this.#looked(passed, await passage.attempt({ level: passed.level, args: passage.checked.args }))
  }

  #looked(passed: Passed, outcome: Outcome): Outcome {
    if (outcome.type !== 'rises') this.#passage.looked(passed, outcome)
    return outcome
  }

  /** Runs what may change something, once that is in the journal; from then on it is a job. */
  async #change(passed: Passed): Promise<Outcome> {
    const passage = this.#passage
    const { options, flight, place, checked } = passage
    if (flight.cancelled) return passage.noted(withdrawn(), passed)
    if (this.#before !== undefined) return this.#recall(passed, this.#before)
    if (place?.kernel.health === 'ended') return passage.noted(refusals.kernelGone(place), passed)
    try {
      options.journal.write({ type: 'dispatched', ...passage.journalled(passed) })
    } catch (error) {
      options.log('a call was refused because the journal could not be written', error)
      return passage.noted(refusals.journalUnavailable(error), passed)
    }
    passage.begin()
    if (place !== undefined) passage.track()
    const outcome = await passage.attempt({ level: passed.level, args: checked.args })
    const { elapsedMs: elapsed_ms } = passage
    options.journal.later({ type: 'ended', call: flight.call, outcome: codeOf(outcome), elapsed_ms })
    return outcome
  }

  /** What the image remembers of it is the answer. Nothing is begun, and in the journal it has ended. */
  async #recall({ level }: Passed, known: Earlier): Promise<Outcome> {
    const passage = this.#passage
    const { options, flight, place, checked } = passage
    if (place === undefined || place.kernel.identity.epoch !== known.epoch) return this.#ran(known)
    passage.begin()
    passage.track()
    const outcome = await passage.attempt({ level, args: checked.args, again: true })
    options.journal.later({ type: 'recalled', call: flight.call, outcome: codeOf(outcome) })
    return outcome
  }
}

const NONE: readonly string[] = []
