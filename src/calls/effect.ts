import { type Outcome, ok } from '../../tools/outcome.ts'
import { type Arguments, causesOf, isIntact, type Plan, toolHash } from '../approvals/plan.ts'
import { JournalError } from '../journal/journal.ts'
import { codeOf } from './answer.ts'
import { withdrawn } from './faults.ts'
import * as refusals from './refusals.ts'
import type { Refusal, Run } from './run.ts'

/** A plan that was let through, by a person or by a rule. */
export interface LetThrough {
  readonly run: Run
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

/** It is not what was let through any more; nothing was changed, and its end is in the journal. */
interface Stale {
  readonly type: 'stale'
  readonly causes: readonly string[]
}

/**
 * Carries a plan out, once. It waits for its turn at the files. Then the approval is used up on the disk, everything that
 * the plan stands on is looked at once more, and the effect follows. Nothing can come between that look and the
 * replacement of a file: `Files.commit` compares the file once more at the rename.
 */
export async function carryOut(through: LetThrough): Promise<Outcome | Stale> {
  const { run, paths } = through
  const unlock = paths.length === 0 ? undefined : await run.options.files.lock(paths)
  try {
    return (await unusable(through)) ?? (await carriedOut(through))
  } finally {
    unlock?.()
  }
}

/** Uses the approval up. From then on asking again under this name is not another attempt, whatever comes of this one. */
async function unusable({ run, plan, args, approved }: LetThrough): Promise<Refusal | undefined> {
  const { journal, log } = run.options
  const judged = { level: plan.level, decision: approved ? 'ask' : 'allow' } as const
  try {
    await journal.sync({ type: 'dispatched', ...run.journalled(judged, args), plan: plan.id })
    run.ran = true
    return undefined
  } catch (error) {
    log('a plan was not carried out because the journal could not be written', error)
    const refusal = refusals.journalUnavailable(error)
    // What the journal does not say was dispatched does not end there either.
    if (!(error instanceof JournalError && error.written)) return run.noted(refusal, judged, args)
    run.ran = true
    return ended(run, refusal)
  }
}

async function carriedOut(through: LetThrough): Promise<Outcome | Stale> {
  const { run, plan, asked = plan } = through
  try {
    const stop = await moved(through)
    if (stop === undefined) return await effect(through)
    if (stop.type !== 'stale') return ended(run, stop)
    ended(run, refusals.stale({ plan: asked, causes: stop.causes }))
    return stop
  } catch (error) {
    return ended(run, run.fault(error, 'dangerous'))
  }
}

/** What has to hold at the moment of the effect and does not. Nothing is awaited after the evidence. */
async function moved(through: LetThrough): Promise<Refusal | Stale | undefined> {
  const { run, plan, asked = plan, args, paths, approved, granted } = through
  const { journal, approvals } = run.options
  const causes = await causesOf(plan)
  if (run.cancelled) return withdrawn()
  if (journal.trouble !== undefined) return refusals.journalInTrouble(journal.trouble)
  if (approvals.expired(asked)) return refusals.expired(asked)
  const policy = run.policyOn(paths, { fresh: true })
  const judged = run.judge({ level: plan.level, args, paths, effects: effectsOf(plan) }, policy)
  if (judged.decision === 'deny') return judged.refusal
  if (judged.decision === 'ask' && (!approved || (granted === true && !judged.byDefault)))
    causes.push('the policy asks for approval now, and did not before')
  if (!isIntact(plan) || !isIntact(asked))
    causes.push(`the plan of ${run.tool.name} differs from the one that was approved`)
  return causes.length === 0 ? undefined : { type: 'stale', causes }
}

/** Why the tool is not what it was when the plan was made, as a clause for a person; undefined while it is. */
export function toolMoved({ options, tool }: Run, plan: Pick<Plan, 'toolHash'>): string | undefined {
  const now = options.registry.find(tool.name)
  if (now !== undefined && toolHash(now, options.version) === plan.toolHash) return undefined
  return `the definition of the tool ${tool.name} has changed`
}

export function effectsOf({ changes }: Pick<Plan, 'changes'>) {
  return changes.length === 0 ? [] : (['write_file'] as const)
}

/** Changes the files, or runs the handler of a tool that changes none. */
async function effect({ run, plan, args }: LetThrough): Promise<Outcome> {
  const { level, changes } = plan
  run.begin()
  run.job?.asks(undefined)
  if (run.place !== undefined) run.track()
  if (changes.length === 0) return ended(run, await run.attempt({ level, args }))
  const done = await run.options.files.commit({ change: plan.id, changes })
  if (done.type === 'failed') return ended(run, done)
  run.undo = done.undo
  if (plan.undoes !== null) run.options.approvals.tookBack(plan.undoes, done.undo)
  let outcome: Outcome
  try {
    outcome = ok(plan.result?.(done))
  } catch (error) {
    outcome = run.fault(error, level)
  }
  return ended(run, outcome)
}

/** The end of what was dispatched. It stands in the file before anybody is answered, if the file can be written. */
function ended<End extends Outcome>(run: Run, outcome: End): End {
  const { undo, options } = run
  const { journal, log } = options
  const entry = {
    type: 'ended',
    call: run.call,
    outcome: codeOf(outcome, run.tool),
    elapsed_ms: run.elapsedMs,
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
