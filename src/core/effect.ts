import type { ToolErrorCode } from '../../tools/errors.ts'
import type { Failed, Outcome } from '../../tools/outcome.ts'
import type { Committed } from '../../tools/proposal.ts'
import { withdrawn } from './faults.ts'
import { isIntact, toolHash } from './freezing.ts'
import { JournalError } from './journal.ts'
import { type Arguments, codeOf, type Passage, type Refusal } from './passage.ts'
import { causesOf, type Plan } from './plan.ts'
import * as planRefusals from './plan-refusals.ts'
import * as refusals from './refusals.ts'

/** A plan that was let through, by a person or by a rule. */
export interface LetThrough {
  readonly passage: Passage
  readonly plan: Plan
  /** The one that a person was asked about, and made this one of by their choices. Left out: this one. */
  readonly asked?: Plan
  readonly args: Arguments
  /** Real paths of its arguments and of its changes. */
  readonly paths: readonly string[]
  /** A person approved it; a rule of the user's allowed it otherwise. */
  readonly approved: boolean
  /** That was before, by a grant: it stands for an answer only where no rule wants a person to be asked. */
  readonly granted?: boolean
}

/** It is not what was let through any more; nothing was changed. */
export interface Stale {
  readonly type: 'stale'
  readonly causes: readonly string[]
  /** Its end is in the journal already. */
  readonly ended: boolean
}

type Stop = Refusal | Omit<Stale, 'ended'>

/**
 * Carries a plan out, once: waits for its turn at the files, checks everything again, uses the plan up on the disk,
 * and runs the handler. Nothing can come between the last check of a file and its replacement: `commit` compares once
 * more. What stops it before the handler runs has had no effect.
 */
export async function carryOut(through: LetThrough): Promise<Outcome | Stale> {
  const { passage, paths } = through
  const unlock = paths.length === 0 ? undefined : await passage.options.files.lock(paths)
  try {
    return await underLock(through)
  } finally {
    unlock?.()
  }
}

async function underLock(through: LetThrough): Promise<Outcome | Stale> {
  const { passage, plan, args, approved } = through
  const { journal, consumed, log } = passage.options
  const { flight } = passage
  const judged = { level: plan.level, decision: approved ? 'ask' : 'allow' } as const
  const stop = consumed.has(plan.id) ? used(plan) : await checked(through)
  if (stop?.type === 'stale') return { ...stop, ended: false }
  if (stop !== undefined) return passage.noted(stop, judged, args)
  consumed.add(plan.id)
  try {
    await journal.sync({ type: 'dispatched', ...passage.journalled(judged, args), plan: plan.id })
  } catch (error) {
    log('a plan was not carried out because the journal could not be written', error)
    const refusal = refusals.journalUnavailable(error)
    // What the journal does not say was dispatched does not end there either.
    if (!(error instanceof JournalError && error.written)) return passage.noted(refusal, judged, args)
    flight.ran = true
    return ended(passage, refusal)
  }
  // The approval is used up: asking again under this name is not another attempt, whatever comes of this one.
  flight.ran = true
  return dispatched(through)
}

/** The disk took its time, and the approval is used up: what moved meanwhile ends the call all the same. */
async function dispatched(through: LetThrough): Promise<Outcome | Stale> {
  const { passage, asked = through.plan } = through
  try {
    const late = await checked(through)
    if (late === undefined) return await run(through)
    if (late.type !== 'stale') return ended(passage, late)
    ended(passage, planRefusals.stale({ plan: asked, causes: late.causes }))
    return { ...late, ended: true }
  } catch (error) {
    return ended(passage, passage.fault(error, 'dangerous'))
  }
}

/** All that has to hold at the moment of the effect, or why it does not. Nothing is awaited after the evidence. */
async function checked(through: LetThrough): Promise<Stop | undefined> {
  const { passage, plan, asked = plan, paths, approved, granted } = through
  const { options, flight, tool } = passage
  const causes = await causesOf(plan)
  if (flight.cancelled) return withdrawn()
  if (options.journal.trouble !== undefined) return refusals.journalInTrouble(options.journal.trouble)
  if (options.approvals?.expired(asked)) return planRefusals.expired(asked)
  const policy = passage.policyOn(paths, { fresh: true })
  const judged = passage.judge({ level: plan.level, paths, effects: effectsOf(plan) }, policy)
  if (judged.decision === 'deny') return judged.refusal
  if (judged.decision === 'ask' && (!approved || (granted === true && !judged.byDefault)))
    causes.push('the policy asks for approval now, and did not before')
  for (const cause of [passage.imageMoved(), toolMoved(passage, plan)])
    if (cause !== undefined && !causes.includes(cause)) causes.push(cause)
  if (!isIntact(plan) || !isIntact(asked))
    causes.push(`the plan of ${tool.name} is not to the last byte what was approved`)
  return causes.length === 0 ? undefined : { type: 'stale', causes }
}

/** Why the tool is not what it was when the plan was made, as a clause for a person; undefined while it is. */
export function toolMoved({ options, tool }: Passage, plan: Pick<Plan, 'toolHash'>): string | undefined {
  const now = options.registry.find(tool.name)
  if (now !== undefined && toolHash(now, options.version) === plan.toolHash) return undefined
  return `the tool ${tool.name} itself is not what it was`
}

export function effectsOf({ changes }: Pick<Plan, 'changes'>) {
  return changes.length === 0 ? [] : (['write_file'] as const)
}

const used = (plan: Plan): Stop => ({ type: 'stale', causes: [`${plan.id} was carried out before`] })

async function run({ passage, plan, asked, args }: LetThrough): Promise<Outcome | Stale> {
  const { flight, place } = passage
  passage.begin()
  flight.job?.asks(undefined)
  if (place !== undefined) passage.track()
  const effect = new FileEffect(passage, plan, asked)
  const { level, choices } = plan
  const outcome = await passage.attempt({ level, args, choices, commit: () => effect.commit() })
  const undo = await effect.end()
  const causes = effect.begun ? [] : await movedUnder(plan, outcome)
  if (causes.length === 0) return ended(passage, outcome, undo)
  ended(passage, planRefusals.stale({ plan: asked ?? plan, causes }))
  return { type: 'stale', causes, ended: true }
}

/** Why its handler, which worked it out once more, came to something else than was approved, and committed nothing. */
async function movedUnder(plan: Plan, outcome: Outcome): Promise<readonly string[]> {
  const isFault = outcome.type === 'failed' && NOT_BY_FILES.has(outcome.error.code)
  if (plan.changes.length === 0 || outcome.type === 'rises' || isFault) return []
  const causes = await causesOf(plan)
  // It may have moved and be back by now.
  return causes.length === 0 && outcome.type === 'failed' ? [CAME_BACK] : causes
}

const NOT_BY_FILES: ReadonlySet<string> = new Set(['internal', 'withdrawn'] satisfies ToolErrorCode[])
const CAME_BACK = 'what it was worked out from was something else for a moment'

/** The changes of one plan, which happen at most once, and only while its handler runs. */
class FileEffect {
  readonly #passage: Passage
  readonly #plan: Plan
  readonly #asked: Plan
  #committing: Promise<Committed | Failed> | undefined
  #over = false

  constructor(passage: Passage, plan: Plan, asked: Plan = plan) {
    this.#passage = passage
    this.#plan = plan
    this.#asked = asked
  }

  async commit(): Promise<Committed | Failed> {
    if (this.#over) throw new Error('the call is over, and changes nothing any more')
    if (this.#committing !== undefined) throw new Error('the approved changes were carried out before')
    this.#committing = this.#commit()
    return this.#committing
  }

  async #commit(): Promise<Committed | Failed> {
    const { id, changes } = this.#plan
    const causes = await causesOf(this.#plan)
    if (causes.length > 0) return planRefusals.stale({ plan: this.#asked, causes })
    return this.#passage.options.files.commit({ change: id, changes })
  }

  /** Whether the handler has asked for the changes. */
  get begun(): boolean {
    return this.#committing !== undefined
  }

  /** The name under which it can be undone, once a commit that a handler did not wait for is over as well. */
  async end(): Promise<string | undefined> {
    this.#over = true
    const done = await this.#committing?.catch(() => undefined)
    return done?.type === 'committed' ? done.undo : undefined
  }
}

/** The end of what was dispatched. It stands in the file before anybody is answered, if the file can be written. */
function ended<End extends Outcome>(passage: Passage, outcome: End, undo?: string): End {
  const { journal, log } = passage.options
  const entry = {
    type: 'ended',
    call: passage.flight.call,
    outcome: codeOf(outcome),
    elapsed_ms: passage.elapsedMs,
    ...(undo !== undefined && { undo }),
  } as const
  try {
    journal.write(entry)
  } catch (error) {
    log('the end of a call could not be written to the journal yet', error)
    journal.later(entry)
  }
  return outcome
}
