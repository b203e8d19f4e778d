import { type Level, stricter } from '../../tools/define.ts'
import type { Failed, Outcome } from '../../tools/outcome.ts'
import type { Proposal } from '../../tools/proposal.ts'
import { withNotice } from './answer.ts'
import { type Asked, askedAbout } from './asked.ts'
import { fatesIn, type Settled, withChoices } from './chosen.ts'
import { counts } from './client-asking.ts'
import { Disclosure } from './disclosure.ts'
import { withEdits } from './edits.ts'
import { carryOut, effectsOf, type LetThrough, type Stale } from './effect.ts'
import { withdrawn } from './faults.ts'
import { copied } from './freezing.ts'
import { type Decision, isAboutFiles } from './gate.ts'
import { imageOf, planOf } from './own-evidence.ts'
import type { Arguments, Passage, Refusal } from './passage.ts'
import { originOf } from './pauses.ts'
import type { Answer, Plan } from './plan.ts'
import * as planRefusals from './plan-refusals.ts'
import type { Rules } from './policy.ts'
import * as refusals from './refusals.ts'
import { unshowable } from './shown-plan.ts'
import { validate } from './validate.ts'

/** What is to be planned: the arguments of the caller, or those that a person put in their place. */
interface Wish {
  readonly args: Arguments
  readonly level: Level
  /** A person put them there. */
  readonly edited: boolean
}

/** What was planned, with the real paths that it is about. */
interface Drawn {
  readonly type: 'drawn'
  readonly plan: Plan
  readonly paths: readonly string[]
}

/** What nobody can be asked about. */
type About = Pick<Plan, 'level'> & Pick<Drawn, 'paths'>

/**
 * A call that is planned to the last byte before it runs: every dangerous one, and each that a rule wants a person to
 * be asked about. It is carried out exactly as planned, once, or not at all.
 *
 * On a kernel a plan binds the image, by its epoch, and not what is defined in it: the same code can mean something else
 * when it runs, and whoever is asked is told so. A tool whose preview shows a live definition brings that as evidence.
 */
export class PlannedCall {
  readonly #passage: Passage
  readonly #level: Level
  /** How far the gate has come, for the journal. */
  #decision: Decision
  /** A person wants to see it again, with their arguments. */
  #again = false
  /** What the caller may be told of what it was worked out from. */
  readonly #disclosure: Disclosure
  /** What the answer has to say besides. */
  #note: string | undefined

  constructor(passage: Passage, level: Level, early: Asked) {
    this.#passage = passage
    this.#level = level
    this.#decision = early.decision
    this.#disclosure = new Disclosure(passage)
  }

  /** What is thrown on the way had no effect: from the moment of the effect on, nothing throws. */
  async toItsEnd(early: Asked): Promise<Outcome> {
    try {
      return withNotice(await this.#planned(early), this.#note)
    } catch (error) {
      return this.#refuse(this.#passage.fault(error, 'safe'))
    }
  }

  async #planned(early: Asked): Promise<Outcome> {
    const passage = this.#passage
    const hopeless = this.#hopeless(early)
    if (hopeless !== undefined) return this.#refuse(hopeless)
    const missing = passage.placed() ? undefined : await passage.findPlace()
    if (missing !== undefined) return this.#refuse(missing)
    let wish: Wish = { args: copied(passage.checked.args), level: this.#level, edited: false }
    for (;;) {
      const drawn = await this.#draw(wish)
      if (drawn.type !== 'drawn') return this.#undrawn(drawn, wish)
      const { plan, paths } = drawn
      const judged = passage.judge({ level: wish.level, paths, effects: effectsOf(plan) })
      this.#decision = judged.decision
      if (judged.decision === 'deny') return this.#refuse(judged.refusal, wish)
      const through = { passage, plan, paths, args: wish.args, approved: judged.decision === 'ask' }
      if (judged.decision === 'allow') return this.#carryOut(through, wish)
      const answer = await this.#ask(plan, judged)
      if (answer.type === 'approved')
        return this.#carryOut({ ...through, granted: answer.granted === true }, wish)
      if (answer.type === 'chosen') return this.#carryOutChosen(through, { plan: answer.becomes, wish })
      if (answer.type !== 'edited')
        return this.#refuse(await this.#unapproved(answer, { plan, judged, wish }), wish)
      const edited = this.#edited(answer)
      if ('type' in edited) return this.#refuse(edited, wish)
      wish = edited
      this.#again = true
    }
  }

  /** What is known to come to nothing already, before a kernel is started and a file is read for it. */
  #hopeless(early: Asked): Refusal | undefined {
    const { options, flight } = this.#passage
    if (flight.cancelled) return withdrawn()
    if (options.journal.trouble !== undefined) return refusals.journalInTrouble(options.journal.trouble)
    const hope = early.verdict.rule.from.type === 'default' && this.#mayBeAllowed(early.policy)
    return early.decision === 'ask' && !hope ? this.#unasked(early) : undefined
  }

  /** Whether a rule may allow it, or a person be told of one, once it is known which files it would change. */
  #mayBeAllowed({ rules }: Rules): boolean {
    const { needs, paths } = this.#passage.tool
    const filesUnknown = paths.length === 0
    if (filesUnknown && needs.length === 0) return true
    return rules.some(
      rule =>
        rule.decision === 'allow' && (rule.effect !== undefined || (isAboutFiles(rule) && filesUnknown)),
    )
  }

  /** Why nobody can be asked, or must not be asked yet another thing. */
  #unasked(judged: Asked, about?: About): Refusal | undefined {
    const { options, flight } = this.#passage
    const { approvals, pendingPlans: most } = options
    const reachable = approvals?.seated === true || counts(flight.caller.client)
    if (approvals === undefined || !reachable) return this.#unavailable(judged, about)
    const origin = originOf(flight.caller)
    const paused = approvals.paused(origin)
    if (paused !== undefined) return planRefusals.pausedFor(paused)
    if (approvals.full) return refusals.tooManyWait()
    const { id: caller, who } = flight.caller
    const waiting = this.#again ? undefined : approvals.crowding({ caller, origin, who }, most)
    return waiting === undefined ? undefined : planRefusals.tooManyPlans({ waiting, most })
  }

  #unavailable({ verdict, policy }: Asked, { level, paths }: About = { level: this.#level, paths: [] }) {
    return this.#passage.unavailable({ level, verdict, policy, ...(paths.length > 0 && { paths }) })
  }

  /** Works it out, with nothing done yet. What is not a plan is the answer of the call. */
  async #draw({ args, level }: Wish): Promise<Drawn | Outcome> {
    const passage = this.#passage
    const paths = passage.realPaths(args)
    if ('type' in paths) return paths
    const proposal = await this.#propose(args)
    if (proposal.type !== 'proposal') return proposal
    const plan = planOf(passage, { args, level, proposal })
    const about = [...new Set([...paths, ...pathsOf(plan)])]
    this.#disclosure.meets(about)
    return { type: 'drawn', plan, paths: about }
  }

  async #propose(args: Arguments): Promise<Proposal | Outcome> {
    const context = this.#passage.context('safe')
    const { files, pathOf } = context
    const image = imageOf(context)
    return this.#passage.tool.plan(args, {
      files: this.#disclosure.over(files),
      pathOf,
      ...(image && { image }),
    })
  }

  #undrawn(outcome: Outcome, wish: Wish): Outcome {
    const untold = this.#disclosure.untold()
    if (untold !== undefined) return this.#refuse(this.#unaskedFirst(untold, wish), wish)
    if (outcome.type === 'failed') return this.#refuse(outcome, wish)
    // There was nothing to do, and nothing was done.
    this.#passage.looked({ level: wish.level, decision: this.#decision }, outcome)
    return outcome
  }

  /** Where there were something to ask about, and nobody would be asked, the answer is the same as then. */
  #unaskedFirst(untold: Failed, { level }: Wish): Refusal {
    const { paths } = this.#disclosure
    // What has no kernel is planned because it changes files.
    const effects = this.#passage.tool.needs.length === 0 ? (['write_file'] as const) : []
    const judged = this.#passage.judge({ level, paths, effects })
    this.#decision = judged.decision
    if (judged.decision === 'deny') return judged.refusal
    const unasked = judged.decision === 'ask' ? this.#unasked(judged, { level, paths }) : undefined
    return unasked ?? untold
  }

  /** Puts it before a person. */
  async #ask(plan: Plan, judged: Asked): Promise<Settled | Refusal> {
    const passage = this.#passage
    const unasked = this.#unasked(judged, aboutOf(plan))
    if (unasked !== undefined) return unasked
    const tooLong = unshowable(plan)
    if (tooLong !== undefined) return this.#disclosure.untold() ?? tooLong
    const settled = await askedAbout({ passage, plan, judged })
    // It names the files, by their real paths.
    if (this.#disclosure.closed === undefined)
      this.#note = passage.options.approvals?.noteOn(plan) ?? this.#note
    return settled
  }

  async #unapproved(
    answer: Exclude<Settled | Refusal, { type: 'approved' | 'edited' | 'chosen' }>,
    { plan, judged, wish }: { readonly plan: Plan; readonly judged: Asked; readonly wish: Wish },
  ): Promise<Refusal> {
    switch (answer.type) {
      case 'denied':
        if (answer.unanswered === true) return planRefusals.unanswered({ plan, reason: answer.reason })
        return planRefusals.deniedByPerson({ plan, reason: answer.reason })
      case 'stale':
        return this.#stale(plan, { causes: answer.causes, wish })
      case 'timed_out':
        return planRefusals.timedOut({ plan, afterMs: answer.afterMs })
      case 'refused':
        return planRefusals.allRefused(plan, this.#disclosure.fates(fatesIn(plan, answer.choices)))
      case 'unusable':
        return this.#disclosure.unusable(plan, answer.why)
      case 'cancelled':
        return planRefusals.planWithdrawn(plan, answer.reason)
      case 'unavailable':
        return this.#unavailable(judged, aboutOf(plan))
      default:
        return answer
    }
  }

  /** The arguments that a person approved instead: for the same tool in the same image, checked like any others. */
  #edited({ args }: Extract<Answer, { type: 'edited' }>): Wish | Refusal {
    const { tool, options, kernelName } = this.#passage
    const checked = validate(tool, args, options.registry)
    if (checked.type === 'invalid') return planRefusals.badEdit(tool, checked.refusal)
    if (checked.kernel !== undefined && checked.kernel !== kernelName) return planRefusals.badEdit(tool)
    const level = stricter(this.#level, tool.raise(checked.args))
    return { args: copied(checked.args), level, edited: true }
  }

  async #carryOut(through: LetThrough, wish: Wish): Promise<Outcome> {
    const { passage, asked: plan = through.plan } = through
    const outcome = await carryOut(through)
    if (outcome.type === 'stale') return this.#staleAtEffect(plan, { stale: outcome, wish })
    if (outcome.type === 'failed' && outcome.error.code === 'stale_plan') {
      const { error } = outcome
      const preview = await this.#preview(wish)
      if (this.#disclosure.closed !== undefined) return this.#disclosure.stale({ plan, causes: [], preview })
      const details = { preview, plan: plan.id, ...error.details }
      return { type: 'failed', error: { ...error, details } }
    }
    // What would begin again at a higher level would begin with the arguments that nobody approved.
    if (wish.edited && outcome.type === 'rises') return planRefusals.editRises(passage.tool, outcome.because)
    return wish.edited ? withEdits(outcome, { asked: passage.checked.args, approved: wish.args }) : outcome
  }

  /** What a person made of a plan is carried out as they chose, and the caller is told how that differs. */
  async #carryOutChosen(
    through: LetThrough,
    { plan, wish }: { readonly plan: Plan; readonly wish: Wish },
  ): Promise<Outcome> {
    const { plan: asked } = through
    const outcome = await this.#carryOut({ ...through, plan, asked }, wish)
    if (outcome.type === 'rises') return planRefusals.badChoice(asked, outcome.because)
    const fates = fatesIn(asked, plan.choices)
    return withChoices(this.#disclosure.withFates(outcome, fates), fates)
  }

  async #staleAtEffect(plan: Plan, o: { readonly stale: Stale; readonly wish: Wish }): Promise<Refusal> {
    const { causes, ended } = o.stale
    const refusal = await this.#stale(plan, { causes, wish: o.wish })
    return ended ? refusal : this.#refuse(refusal, o.wish)
  }

  async #stale(
    plan: Plan,
    { causes, wish }: { readonly causes: readonly string[]; readonly wish: Wish },
  ): Promise<Refusal> {
    return this.#disclosure.stale({ plan, causes, preview: await this.#preview(wish) })
  }

  /** What the same call would come to now. Nobody is asked about it: that is for the caller to decide. */
  async #preview({ args }: Wish): Promise<unknown> {
    try {
      const proposal = await this.#propose(args)
      if (proposal.type !== 'proposal')
        return proposal.type === 'failed' ? { failed: proposal.error.message } : null
      this.#disclosure.meets(pathsOf(proposal))
      return proposal.preview
    } catch {
      return null
    }
  }

  #judged() {
    return { level: this.#level, decision: this.#decision }
  }

  #refuse(refusal: Refusal, wish?: Wish): Refusal {
    return this.#passage.noted(refusal, { ...this.#judged(), level: wish?.level ?? this.#level }, wish?.args)
  }
}

const pathsOf = ({ changes }: Pick<Proposal, 'changes'>) => changes.map(({ path }) => path)
const aboutOf = (plan: Plan): About => ({ level: plan.level, paths: pathsOf(plan) })
