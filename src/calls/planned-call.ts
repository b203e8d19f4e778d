import {
  type Evidence,
  type Level,
  type PlanImage,
  type ProjectFiles,
  type Proposal,
  stricter,
} from '../../tools/contract.ts'
import type { Fate } from '../../tools/hunks.ts'
import type { Failed, Outcome } from '../../tools/outcome.ts'
import { originOf } from '../approvals/contract.ts'
import {
  type Answer,
  type Arguments,
  type AskResult,
  type ChoiceResult,
  chosenOf,
  copied,
  fatesIn,
  freeze,
  journalChoices,
  journalPlan,
  type Plan,
  toolHash,
  withChoices,
  withEdits,
  withFates,
} from '../approvals/plan.ts'
import { counts } from '../approvals/plan-answers.ts'
import { unshowable } from '../approvals/preview.ts'
import type { Decision } from '../journal/entries.ts'
import type { Rules } from '../policy/policy.ts'
import { decide, isAboutFiles, type Verdict } from '../policy/rules.ts'
import { validate } from '../registry/registry.ts'
import { sha256 } from '../sha256.ts'
import { codeOf, withNotice } from './answer.ts'
import { type Context, ContextOnKernel } from './context.ts'
import type { Ruling } from './contract.ts'
import { carryOut, effectsOf, type LetThrough, toolMoved } from './effect.ts'
import { withdrawn } from './faults.ts'
import { runsOldText } from './old-text.ts'
import * as refusals from './refusals.ts'
import type { PlanRequest, Refusal, Run } from './run.ts'

/** See `PlannedCall`. What is thrown on the way had no effect: from the moment of the effect on, nothing throws. */
export const plannedCall = (run: Run, planning: PlanRequest): Promise<Outcome> =>
  new PlannedCall(run, planning).outcome()

/** What is to be planned: the arguments of the caller, or those that a person put in their place. */
interface Wish {
  readonly args: Arguments
  /** Real paths of the arguments that name files. */
  readonly paths: readonly string[]
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
type About = Pick<Wish, 'level'> & Pick<Drawn, 'paths'> & Partial<Pick<Wish, 'args'>>

/**
 * A call that is planned to the last byte before it runs: every dangerous one, and each that a rule wants a person to
 * be asked about. It is carried out exactly as planned, once, or not at all.
 *
 * On a kernel a plan binds the image, by its epoch, and not what is defined in it: the same code can mean something else
 * when it runs, and whoever is asked is told so. A tool whose preview shows a live definition brings that as evidence.
 */
class PlannedCall {
  readonly #run: Run
  readonly #early: Ruling
  readonly #paths: readonly string[]
  readonly #level: Level
  /** How far the gate has come, for the journal. */
  #decision: Decision
  /** What the caller may be told of what it was worked out from. */
  readonly #disclosure: Disclosure
  /** The plans of it that were put before a person. */
  readonly #asked: Plan[] = []
  /** What the answer has to say besides. */
  #note: string | undefined
  /** Which programs still run what the change has replaced. */
  #oldText: string | undefined

  constructor(run: Run, { level, judged, paths }: PlanRequest) {
    this.#run = run
    this.#early = judged
    this.#paths = paths
    this.#level = level
    this.#decision = judged.decision
    this.#disclosure = new Disclosure(run)
  }

  async outcome(): Promise<Outcome> {
    let outcome: Outcome
    try {
      outcome = withNotice(await this.#planned(), this.#note)
    } catch (error) {
      outcome = this.#refuse(this.#run.fault(error, 'safe'))
    }
    const notice = this.#oldText !== undefined && { notice: this.#oldText }
    const how = { outcome: codeOf(outcome), undo: this.#run.undo ?? null, ...notice }
    for (const { id } of this.#asked) this.#run.options.approvals.ended(id, how)
    return outcome
  }

  async #planned(): Promise<Outcome> {
    const run = this.#run
    const hopeless = this.#hopeless(this.#early)
    if (hopeless !== undefined) return this.#refuse(hopeless)
    const missing = run.placed() ? undefined : await run.findPlace()
    if (missing !== undefined) return this.#refuse(missing)
    // Whose kernel it is may be known only now, and planning looks into it.
    const placed = run.judge({ level: this.#level, paths: this.#paths })
    if (placed.decision === 'deny') return this.#refuse(placed.refusal)
    let wish: Wish = {
      args: copied(run.checked.args),
      paths: this.#paths,
      level: this.#level,
      edited: false,
    }
    for (;;) {
      const drawn = await this.#draw(wish)
      if (drawn.type !== 'drawn') return this.#undrawn(drawn, wish)
      const { plan, paths } = drawn
      const judged = run.judge({ level: wish.level, args: wish.args, paths, effects: effectsOf(plan) })
      this.#decision = judged.decision
      if (judged.decision === 'deny') return this.#refuse(judged.refusal, wish)
      const through = { run, plan, paths, args: wish.args, approved: judged.decision === 'ask' }
      if (judged.decision === 'allow') return this.#carryOut(through, wish)
      this.#asked.push(plan)
      const answer = await this.#ask(plan, judged)
      if (answer.type === 'approved')
        return this.#carryOut({ ...through, granted: answer.granted === true }, wish)
      if (answer.type === 'chosen') return this.#carryOutChosen(through, { plan: answer.becomes, wish })
      if (answer.type !== 'edited')
        return this.#refuse(await this.#unapproved(answer, { plan, judged, wish }), wish)
      const edited = this.#edited(answer)
      if ('type' in edited) return this.#refuse(edited, wish)
      wish = edited
    }
  }

  /** What is known to come to nothing already, before a kernel is started and a file is read for it. */
  #hopeless(early: Ruling): Refusal | undefined {
    const { options, cancelled } = this.#run
    if (cancelled) return withdrawn()
    if (options.journal.trouble !== undefined) return refusals.journalInTrouble(options.journal.trouble)
    const hope = early.verdict.rule.from.type === 'default' && this.#mayBeAllowed(early.policy)
    const isHeld = this.#run.held !== undefined
    return early.decision === 'ask' && !hope && !isHeld ? this.#unasked(early) : undefined
  }

  /** Whether a rule may allow it, or a person be told of one, once it is known which files it would change. */
  #mayBeAllowed({ rules }: Rules): boolean {
    const { needs, paths } = this.#run.tool
    const filesUnknown = paths.length === 0
    if (filesUnknown && needs.length === 0) return true
    return rules.some(
      rule =>
        rule.decision === 'allow' && (rule.effect !== undefined || (isAboutFiles(rule) && filesUnknown)),
    )
  }

  /** Why nobody can be asked, or must not be asked yet another thing. */
  #unasked(judged: Ruling, about?: About): Refusal | undefined {
    const { caller, options } = this.#run
    const { approvals } = options
    if (!approvals.seated && !counts(caller.client)) return this.#unavailable(judged, about)
    const limit = approvals.limit(originOf(caller))
    return limit && refusals.notNow(limit)
  }

  #unavailable(
    { verdict, policy }: Ruling,
    { level, paths, args = this.#run.checked.args }: About = { level: this.#level, paths: [] },
  ) {
    return this.#run.unavailable({ level, args, verdict, policy, ...(paths.length > 0 && { paths }) })
  }

  /** Works it out, with nothing done yet. What is not a plan is the answer of the call. */
  async #draw({ args, paths, level }: Wish): Promise<Drawn | Outcome> {
    const run = this.#run
    const proposal = await this.#propose(args)
    if (proposal.type !== 'proposal') return proposal
    const plan = planOf(run, { args, level, proposal })
    const about = [...new Set([...paths, ...pathsOf(plan)])]
    this.#disclosure.meets(about)
    return { type: 'drawn', plan, paths: about }
  }

  async #propose(args: Arguments): Promise<Proposal | Outcome> {
    const context = this.#run.context('safe')
    const { files, pathOf } = context
    const image = imageOf(context)
    return this.#run.tool.plan(args, {
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
    this.#run.looked({ level: wish.level, decision: this.#decision }, outcome)
    return outcome
  }

  /** Where there were something to ask about, and nobody would be asked, the answer is the same as then. */
  #unaskedFirst(untold: Failed, { level, args }: Wish): Refusal {
    const { paths } = this.#disclosure
    // What has no kernel is planned because it changes files.
    const effects = this.#run.tool.needs.length === 0 ? (['write_file'] as const) : []
    const judged = this.#run.judge({ level, args, paths, effects })
    this.#decision = judged.decision
    if (judged.decision === 'deny') return judged.refusal
    const unasked = judged.decision === 'ask' ? this.#unasked(judged, { level, args, paths }) : undefined
    return unasked === undefined ? untold : (this.#held(unasked) ?? unasked)
  }

  /** Puts it before a person. */
  async #ask(plan: Plan, judged: Ruling): Promise<AskResult | Refusal> {
    const run = this.#run
    const tooLong = unshowable(plan)
    const unasked = this.#unasked(judged, aboutOf(plan))
    const held = tooLong === undefined ? this.#held(unasked, plan) : undefined
    if (held !== undefined) return held
    if (unasked !== undefined) return unasked
    if (tooLong !== undefined) return this.#disclosure.untold() ?? tooLong
    const settled = await askedAbout({ run, plan, judged })
    // It names the files, by their real paths.
    if (this.#disclosure.closed === undefined) this.#note = run.options.approvals.noteOn(plan) ?? this.#note
    return settled
  }

  /** That it waits, where it is asked held and `unasked`; otherwise undefined, also once it is put before a person. */
  #held(unasked: Refusal | undefined, plan?: Plan): Refusal | undefined {
    const { held, tool } = this.#run
    const title = this.#titleOf(plan)
    const refused = held?.(title)
    if (held === undefined || refused !== undefined) return refused
    return unasked && refusals.held({ tool: tool.name, title })
  }

  /** What a caller may be told of it. */
  #titleOf(plan: Plan | undefined): string {
    const isTold = plan !== undefined && this.#disclosure.closed === undefined
    return isTold ? plan.preview.title : this.#run.tool.name
  }

  async #unapproved(
    answer: Exclude<AskResult | Refusal, { type: 'approved' | 'edited' | 'chosen' }>,
    { plan, judged, wish }: { readonly plan: Plan; readonly judged: Ruling; readonly wish: Wish },
  ): Promise<Refusal> {
    switch (answer.type) {
      case 'denied':
        return refusals.deniedByPerson({ plan, by: answer.by, reason: answer.reason })
      case 'dismissed':
        return refusals.dismissed({ plan, by: answer.by })
      case 'stale':
        return this.#stale(plan, { causes: answer.causes, wish })
      case 'timed_out':
        return refusals.timedOut({ plan, afterMs: answer.afterMs })
      case 'refused':
        return refusals.allRefused(plan, this.#disclosure.fates(fatesIn(plan, answer.choices)))
      case 'unusable':
        return this.#disclosure.unusable(plan, answer.why)
      case 'cancelled':
        return refusals.planWithdrawn(plan, answer.reason)
      case 'unavailable':
        if (this.#run.held !== undefined)
          return refusals.held({ tool: plan.tool, title: this.#titleOf(plan) })
        if (answer.by !== undefined)
          return refusals.unanswered({ plan, by: answer.by, reason: answer.reason })
        return this.#unavailable(judged, aboutOf(plan))
      default:
        return answer
    }
  }

  /** The arguments that a person approved instead: for the same tool in the same image, checked like any others. */
  #edited({ args }: Extract<Answer, { type: 'edited' }>): Wish | Refusal {
    const { tool, options, kernelName } = this.#run
    const checked = validate(tool, args, options.registry)
    if (checked.type === 'invalid') return refusals.badEdit(tool, checked.refusal)
    if (checked.kernel !== undefined && checked.kernel !== kernelName) return refusals.badEdit(tool)
    const paths = this.#run.realPaths(checked.args)
    if ('type' in paths) return paths
    const level = stricter(this.#level, tool.raise(checked.args))
    return { args: copied(checked.args), paths, level, edited: true }
  }

  async #carryOut(through: LetThrough, wish: Wish): Promise<Outcome> {
    const { run, asked: plan = through.plan } = through
    const outcome = await carryOut(through)
    if (outcome.type === 'stale') return this.#stale(plan, { causes: outcome.causes, wish })
    if (outcome.type === 'failed' && outcome.error.code === 'stale_plan') {
      const { error } = outcome
      const preview = await this.#preview(wish)
      if (this.#disclosure.closed !== undefined) return this.#disclosure.stale({ plan, causes: [], preview })
      const details = { preview, plan: plan.id, ...error.details }
      return { type: 'failed', error: { ...error, details } }
    }
    // What would begin again at a higher level would begin with the arguments that nobody approved.
    if (wish.edited && outcome.type === 'rises') return refusals.editRises(run.tool, outcome.because)
    if (outcome.type === 'ok') this.#oldText = await runsOldText(run, through.plan.changes)
    const told = withNotice(outcome, this.#oldText)
    return wish.edited ? withEdits(told, { asked: run.checked.args, approved: wish.args }) : told
  }

  /** What a person made of a plan is carried out as they chose, and the caller is told how that differs. */
  async #carryOutChosen(
    through: LetThrough,
    { plan, wish }: { readonly plan: Plan; readonly wish: Wish },
  ): Promise<Outcome> {
    const { plan: asked } = through
    const outcome = await this.#carryOut({ ...through, plan, asked }, wish)
    if (outcome.type === 'rises') return refusals.badChoice(asked, outcome.because)
    const fates = fatesIn(asked, plan.choices)
    return withChoices(this.#disclosure.withFates(outcome, fates), fates)
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

  #refuse(refusal: Refusal, wish?: Wish): Refusal {
    const { level = this.#level, args } = wish ?? {}
    return this.#run.noted(refusal, { level, decision: this.#decision }, args)
  }
}

const pathsOf = ({ changes }: Pick<Proposal, 'changes'>) => changes.map(({ path }) => path)

const aboutOf = (plan: Plan): About => ({
  level: plan.level,
  args: plan.args as Arguments,
  paths: pathsOf(plan),
})

interface PlanQuestion {
  readonly run: Run
  readonly plan: Plan
  readonly judged: Ruling
}

/** Puts a plan before a person, waits for the answer, and writes down both. A refusal where that cannot be written. */
async function askedAbout({ run, plan, judged }: PlanQuestion): Promise<AskResult | Refusal> {
  const { options, signal, caller } = run
  const { approvals, journal } = options
  const { level } = plan
  try {
    const { decision: _, ...call } = run.journalled({ level, decision: null }, plan.args as Arguments)
    journal.write({ type: 'requested', ...call, level, plan: journalPlan(plan) })
  } catch (error) {
    return unwritten(run, error)
  }
  run.track().asks({ plan: plan.id, withdraw: () => run.cancel() })
  const { byDefault, policy } = judged
  const given = byDefault ? { byDefault: { policyFile: policy.userFile } } : {}
  const answer = await approvals.ask(plan, {
    signal,
    client: caller.client,
    held: run.held !== undefined,
    ...given,
  })
  const settled = answer.type === 'chosen' ? chosenIn(run, { plan, answer }) : answer
  return (await decided(run, plan, settled)) ?? settled
}

type ChosenAnswer = Extract<Answer, { type: 'chosen' }>

/** The tool makes a plan of the choices, and whatever comes of that, the answer is written down. */
function chosenIn({ options }: Run, { plan, answer }: { plan: Plan; answer: ChosenAnswer }): ChoiceResult {
  try {
    return chosenOf(plan, answer)
  } catch (error) {
    options.log(`${plan.tool} failed over the choices of a person`, error)
    const { by, choices } = answer
    return { type: 'unusable', by, choices, why: `${plan.tool} itself failed over it.` }
  }
}

/** An approval counts once it is on the disk; that nobody approved is written as soon as possible. */
async function decided(run: Run, plan: Plan, settled: AskResult): Promise<Refusal | undefined> {
  const { journal, log } = run.options
  const entry = entryOf(plan, settled)
  const approves = settled.type === 'approved' || settled.type === 'edited' || settled.type === 'chosen'
  try {
    if (approves) await journal.sync(entry)
    else journal.write(entry)
    return undefined
  } catch (error) {
    if (approves) return unwritten(run, error)
    log('how asking ended could not be written to the journal', error)
    return undefined
  }
}

/** All of its hunks refused is a denial; choices that make no plan approve nothing, and are not told from it here. */
function entryOf(plan: Plan, settled: AskResult) {
  const { type } = settled
  return {
    type: 'decided',
    call: plan.call,
    plan: plan.id,
    answer: type === 'refused' ? 'denied' : type === 'unusable' ? 'chosen' : type,
    by: 'by' in settled ? settled.by : null,
    reason: 'reason' in settled ? settled.reason : null,
    ...('choices' in settled && { choices: journalChoices(settled.choices) }),
    ...(settled.type === 'chosen' && {
      becomes: { plan: settled.becomes.id, hash: settled.becomes.hash },
    }),
  } as const
}

function unwritten({ options }: Run, error: unknown): Refusal {
  options.log('a call was refused because the journal could not be written', error)
  return refusals.journalUnavailable(error)
}

/** What its tool proposes for a call, as a plan. */
function planOf(
  run: Run,
  { args, level, proposal }: { readonly args: Arguments; readonly level: Level; readonly proposal: Proposal },
): Plan {
  const { caller, tool, place, options } = run
  const hash = toolHash(tool, options.version)
  return freeze({
    call: run.call,
    // What is granted for a call that has a name of its own lets no other call of the tool through.
    tool: tool.judgedAs(args),
    level,
    toolHash: hash,
    args,
    kernel: run.kernelName,
    epoch: place?.kernel.identity.epoch ?? null,
    root: caller.root,
    who: caller.who,
    caller: caller.id,
    origin: originOf(caller),
    proposal: {
      ...proposal,
      preview: previewIn(run, proposal),
      evidence: [...proposal.evidence, ...ownEvidence(run, hash)],
    },
  })
}

/** Whoever is asked has to know which kernels are meant, and that one is not of the project that asks. */
function previewIn({ elsewhere, kernelName, places }: Run, { preview }: Proposal): Proposal['preview'] {
  const names = places.map(({ name }) => name)
  if (names.length > 1) return { ...preview, title: `${preview.title}, in ${names.join(', ')}` }
  if (elsewhere === undefined) return preview
  return {
    ...preview,
    title: `${preview.title}, in ${kernelName}, a kernel of another project (${elsewhere})`,
  }
}

/** The image that a tool may look at to work a call out. */
function imageOf(context: Context): PlanImage | undefined {
  if (!(context instanceof ContextOnKernel)) return undefined
  const { kernel, kernelName, leases, lookMs, signal, jobs, others } = context
  const seen: PlanImage['seen'] = ({ what, text, moved }) => ({ what, hash: sha256(text), moved })
  return { kernel, kernelName, leases, lookMs, signal, jobs, others, seen }
}

/** Any plan stands on its tool, of that hash, and on the image that it is for: they are watched like files. */
function ownEvidence(run: Run, toolHash: string): Evidence[] {
  const { tool, places } = run
  const own: Evidence[] = [
    { what: `the tool ${tool.name}`, hash: toolHash, moved: async () => toolMoved(run, { toolHash }) },
  ]
  const images = places.map(place => ({
    what: `the image of ${place.name}`,
    hash: sha256(place.kernel.identity.epoch),
    moved: async () => run.imageMoved(place),
  }))
  return [...own, ...images]
}

/** The tool whose rules say whether a caller may be told what is in a file. */
const READING = 'read_file'

/**
 * What a caller may be told of a call that was worked out from files, where no person has let it through: why it fails,
 * that there is nothing to do, what it would come to now. All of that can hold lines of those files, and tells what is
 * in them to whoever guesses. So it is told where `read_file` would be let at each of them without more ado; elsewhere
 * the caller learns that there is something which is not told, and nothing else.
 */
class Disclosure {
  readonly #run: Run
  readonly #met = new Set<string>()

  constructor(run: Run) {
    this.#run = run
  }

  /** The real paths of all that was looked at so far. */
  get paths(): readonly string[] {
    return [...this.#met]
  }

  /** Those are what it is about, too. */
  meets(paths: readonly string[]): void {
    for (const path of paths) this.#met.add(path)
  }

  /** The same files; whatever is looked at through them is remembered. */
  over(files: ProjectFiles): ProjectFiles {
    const looking =
      (look: ProjectFiles['look']): ProjectFiles['look'] =>
      async path => {
        const seen = await look(path)
        this.meets(seen.type === 'failed' ? this.#realPath(path) : [seen.path])
        return seen
      }
    return {
      ...files,
      look: looking(files.look),
      lookForNew: looking(files.lookForNew),
      undone: async change => {
        const undone = await files.undone(change)
        const paths = undone.type === 'failed' ? undone.about : undone.files.map(({ path }) => path)
        this.meets(paths ?? [])
        return undone
      },
    }
  }

  /** What keeps `read_file` from one of them, by the rules that hold now; undefined where nothing does. */
  get closed(): Verdict | undefined {
    const { paths } = this
    if (paths.length === 0) return undefined
    const { rules } = this.#run.policyOn(paths)
    const verdict = decide({ tool: READING, level: 'safe', kernel: null, paths, rules })
    return verdict.decision === 'allow' ? undefined : verdict
  }

  /** Instead of what tells of one of them; undefined where it may be told. */
  untold(): Failed | undefined {
    const { closed } = this
    return closed === undefined ? undefined : refusals.untold(this.#run.tool, closed)
  }

  /** A plan that is out of date. */
  stale(o: { readonly plan: Plan; readonly causes: readonly string[]; readonly preview: unknown }): Failed {
    return refusals.stale(this.closed === undefined ? o : { plan: o.plan, causes: [MOVED] })
  }

  /** Choices of a person that make no plan; `why` is a sentence of the tool. */
  unusable(plan: Plan, why: string): Failed {
    return refusals.badChoice(plan, this.closed === undefined ? why : 'why is not told.')
  }

  /** Fates of hunks: where one was that a person refused is told of no file that is closed. */
  fates(fates: readonly Fate[]): readonly Fate[] {
    if (this.closed === undefined) return fates
    return fates.map(fate => (fate.outcome === 'refused' ? { ...fate, line: null } : fate))
  }

  /** The same in the result of the tool. */
  withFates(outcome: Outcome, fates: readonly Fate[]): Outcome {
    return this.closed === undefined ? outcome : withFates(outcome, this.fates(fates))
  }

  #realPath(path: string): string[] {
    const { options, caller } = this.#run
    const real = options.files.realPath({ root: caller.root, path })
    return typeof real === 'string' ? [real] : []
  }
}

const MOVED = 'something that the plan depends on has changed; this caller may not be told what'
