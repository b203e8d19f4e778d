import { createHash } from 'node:crypto'
import type { Evidence } from '../../tools/contract.ts'
import { type Failed, failed, type Outcome, ok } from '../../tools/outcome.ts'
import { duration } from '../../tools/text.ts'
import type { CallId } from '../../wire/kernel.ts'
import type { Signal } from '../../wire/signal.ts'
import { type Answer, freeze, journalPlan, type Plan } from '../approvals/plan.ts'
import type { Approvals } from '../approvals/queue.ts'
import { type Clock, SYSTEM_CLOCK } from '../clock.ts'
import { type Journal, JournalError } from '../journal/journal.ts'
import { type FileRules, needsAccepting, type OpenPolicy, type Standing } from '../policy/policy.ts'
import { looseningInWords, previewOf } from '../policy/report.ts'
import { journalUnavailable, notNow, policyBroken, STOP } from './refusals.ts'

/** What a person is asked to accept, and by whose request. */
export interface AcceptRequest {
  readonly call: CallId
  readonly root: string
  /** Who asks, for people, and by the name of the connection. */
  readonly who: string
  readonly caller: string
  /** Who asks, however often it connects anew. */
  readonly origin: string
  /** Aborts when the caller gives up. */
  readonly signal: Signal
}

export interface AcceptResult {
  /** Empty where nothing waited: what each rule means, as clauses. */
  readonly accepted: readonly string[]
  readonly message: string
}

export interface AcceptingOptions {
  readonly policy: OpenPolicy
  readonly approvals: Approvals
  readonly journal: Journal
  readonly clock?: Clock
}

/** No tool of the registry: nothing that a model can name, and no rule, decides whether a person is asked here. */
const NAME = 'accept_policy'

const TOOL_HASH = createHash('sha256').update(`${NAME} 1`).digest('hex')

/**
 * Puts before the seats what waits in the files of a project, and lets it hold once a person approves exactly that.
 * Whatever the rules say, it always asks. Once a person was asked the journal has one end of it, whatever the end is:
 * `refused` where the approval was not used up, `ended` where it was. Rejects for faults alone.
 */
export async function acceptPolicy(
  request: AcceptRequest,
  options: AcceptingOptions,
): Promise<Outcome<AcceptResult>> {
  const { policy, approvals, journal, clock = SYSTEM_CLOCK } = options
  const shown = policy.standing(request.root)
  const { files } = shown
  const broken = files.find(({ text }) => text.problem !== undefined)
  if (broken?.text.problem !== undefined) return policyBroken(broken.text.problem)
  const wanting = files.filter(needsAccepting)
  if (wanting.length === 0)
    return ok({ accepted: [], message: 'Nothing waits: the rules in the files are in force.' })
  if (journal.trouble !== undefined) return troubled(journal.trouble)
  const limit = approvals.limit(request.origin)
  if (limit !== undefined) return notNow(limit)
  const plan = planOf({ request, shown, wanting, policy })
  return new Acceptance({ plan, shown, wanting, signal: request.signal, options, clock }).toItsEnd()
}

interface AcceptDraft {
  readonly request: AcceptRequest
  readonly shown: Standing
  readonly wanting: readonly FileRules[]
  readonly policy: OpenPolicy
}

function planOf({ request, shown, wanting, policy }: AcceptDraft): Plan {
  const { call, root, who, caller, origin } = request
  const evidence = shown.files.map(looked => evidenceOf(looked, shown, policy))
  return freeze({
    call,
    tool: NAME,
    level: 'dangerous',
    toolHash: TOOL_HASH,
    args: {},
    kernel: null,
    epoch: null,
    root,
    who,
    caller,
    origin,
    proposal: { type: 'proposal', preview: previewOf(wanting), evidence, changes: [] },
  })
}

/** The bytes of the file, and what is accepted of it already. */
function evidenceOf(looked: FileRules, shown: Standing, policy: OpenPolicy): Evidence {
  const { text, waiting, held, place } = looked
  const seen = JSON.stringify([place.file, text.sha256, waiting, held])
  return {
    what: place.file,
    hash: createHash('sha256').update(seen).digest('hex'),
    moved: async () =>
      policy.standing(shown.root).files.includes(looked)
        ? undefined
        : `${place.file} is not what was shown any more`,
  }
}

interface AcceptanceParts {
  readonly plan: Plan
  readonly shown: Standing
  readonly wanting: readonly FileRules[]
  readonly signal: Signal
  readonly options: AcceptingOptions
  readonly clock: Clock
}

/** One plan of this kind, from the question to its end. */
class Acceptance {
  readonly #of: AcceptanceParts
  readonly #began: number
  /** Whether the journal says, or may say, that the approval was used up. */
  #dispatched = false

  constructor(accepting: AcceptanceParts) {
    this.#of = accepting
    this.#began = accepting.clock.now()
  }

  async toItsEnd(): Promise<Outcome<AcceptResult>> {
    try {
      return this.#ended(await this.#rounds())
    } catch (error) {
      if (error instanceof JournalError) return this.#ended(journalUnavailable(error))
      this.#end('internal')
      throw error
    }
  }

  async #rounds(): Promise<Outcome<AcceptResult>> {
    const { plan, signal, options } = this.#of
    const { journal, approvals } = options
    journal.write({ type: 'requested', ...journalled(plan), plan: journalPlan(plan) })
    const answer = await approvals.ask(plan, { signal })
    await noteAnswer(journal, plan, answer)
    if (answer.type !== 'approved') return notApproved(plan, answer)
    const stop = await this.#checked()
    if (stop !== undefined) return stop
    await this.#useUp()
    // The disk took its time, and the approval is used up: what happened meanwhile ends it all the same.
    return (await this.#checked()) ?? this.#accepted(answer.by)
  }

  /** Why it may not be carried out any more. Nothing is awaited after the evidence. */
  async #checked(): Promise<Outcome<never> | undefined> {
    const { plan, signal, options } = this.#of
    const found = await Promise.all(plan.evidence.map(one => one.moved()))
    const moved = found.filter(cause => cause !== undefined)
    if (signal.aborted) return withdrawnLate(plan)
    if (options.journal.trouble !== undefined) return troubled(options.journal.trouble)
    if (options.approvals.expired(plan)) return expired(plan)
    return moved.length === 0 ? undefined : stale(plan, moved)
  }

  /** On the disk before anything holds. */
  async #useUp(): Promise<void> {
    const { plan, options } = this.#of
    try {
      await options.journal.sync({
        type: 'dispatched',
        plan: plan.id,
        ...journalled(plan),
        decision: 'ask',
      })
      this.#dispatched = true
    } catch (error) {
      // What the journal does not say was dispatched does not end there either.
      this.#dispatched = error instanceof JournalError && error.written
      throw error
    }
  }

  /** What was shown is compared once more, with nothing in between. */
  #accepted(by: string): Outcome<AcceptResult> {
    const { plan, shown, wanting, options } = this.#of
    try {
      const moved = options.policy.accept(shown, by)
      if (moved !== undefined) return stale(plan, moved.causes)
    } catch (error) {
      return failed('file_failed', {
        message: `What was accepted cannot be recorded: ${error instanceof Error ? error.message : String(error)}`,
        next: 'Make the state directory writable, then: imago policy accept',
      })
    }
    const clauses = wanting.flatMap(({ waiting, place }) => waiting.map(one => looseningInWords(one, place)))
    return ok({
      accepted: clauses,
      message: `Accepted by ${by}. The policy ${clauses.join('; ') || 'holds as it stands'}.`,
    })
  }

  #ended(outcome: Outcome<AcceptResult>): Outcome<AcceptResult> {
    this.#end(outcome.type === 'failed' ? outcome.error.code : outcome.type)
    return outcome
  }

  #end(outcome: string): void {
    const { plan, options, clock } = this.#of
    const { call } = plan
    options.approvals.ended(plan.id, { outcome, undo: null })
    const elapsed_ms = Math.round(clock.now() - this.#began)
    if (this.#dispatched) options.journal.later({ type: 'ended', call, outcome, elapsed_ms })
    else options.journal.later({ type: 'refused', ...journalled(plan), decision: 'ask', outcome })
  }
}

function journalled({ call, tool, level, caller, who }: Plan) {
  return { call, tool, level, kernel: null, epoch: null, caller, who, args: {} }
}

/** An approval counts once it is on the disk. */
async function noteAnswer(journal: Journal, plan: Plan, answer: Answer): Promise<void> {
  const by = 'by' in answer ? answer.by : null
  const reason = 'reason' in answer ? answer.reason : null
  const entry = { type: 'decided', call: plan.call, plan: plan.id, answer: answer.type, by, reason } as const
  if (answer.type === 'approved') await journal.sync(entry)
  else journal.later(entry)
}

// What is answered where rules were not accepted. Each says that nothing loosened, and what not to try.

const STAYS = 'The policy is as it was.'

function notApproved(plan: Plan, answer: Exclude<Answer, { type: 'approved' }>): Failed {
  switch (answer.type) {
    case 'denied':
      return denied(plan, answer.reason)
    case 'edited':
    case 'chosen':
      return failed('denied', {
        message: `These rules can be accepted or refused, and not edited by an answer. ${STAYS}`,
        details: { plan: plan.id, by: 'person' },
        next: 'A person edits the file itself, and then runs imago policy accept.',
      })
    case 'stale':
      return stale(plan, answer.causes)
    case 'timed_out':
      return failed('approval_timed_out', {
        message: `Nobody answered ${plan.id} within ${duration(answer.afterMs)}, which counts as a refusal. ${STAYS}`,
        details: { plan: plan.id, waited_ms: answer.afterMs },
        next: `${STOP} Whoever was not there can run imago policy accept when they are.`,
      })
    case 'cancelled':
      return failed('withdrawn', {
        message: `${answer.reason === undefined ? 'It was cancelled' : 'The daemon ended'} while ${plan.id} waited for a person. Nobody can approve it any more. ${STAYS}`,
        details: { plan: plan.id },
        next: 'Run imago policy accept again only if it is wanted again.',
      })
    case 'dismissed':
    case 'unavailable':
      return failed('approval_unavailable', {
        message: `Nobody has a seat, so nobody can be asked. ${STAYS}`,
        next: 'A person runs imago policy accept in a terminal of their own, and is asked there.',
      })
    default:
      return answer satisfies never
  }
}

function denied(plan: Plan, reason: string | null): Failed {
  const why = reason === null ? ', and gave no reason.' : `: ${reason}`
  return failed('denied', {
    message: `A person refused to accept these rules. ${STAYS} They refused it${why}`,
    details: { plan: plan.id, by: 'person', reason },
    next: STOP,
  })
}

/** It was approved, and whoever asked does not want it any more. */
function withdrawnLate(plan: Plan): Failed {
  return failed('withdrawn', {
    message: `It was cancelled after ${plan.id} had been approved, and before that held. ${STAYS}`,
    details: { plan: plan.id },
    next: 'Run imago policy accept again only if it is wanted again.',
  })
}

/** It was approved, and the machine slept or waited for so long that this counts no more. */
function expired(plan: Plan): Failed {
  return failed('approval_timed_out', {
    message: `The approval of ${plan.id} expired before it could be used. ${STAYS}`,
    details: { plan: plan.id },
    next: 'A person runs imago policy accept again, and is asked anew.',
  })
}

function stale(plan: Plan, causes: readonly string[]): Failed {
  return failed('stale_plan', {
    message: `${plan.id} is out of date: ${causes.join('; ')}. ${STAYS}`,
    details: { plan: plan.id, causes },
    next: 'imago policy shows what stands there now; imago policy accept asks about that.',
  })
}

function troubled(trouble: string): Failed {
  return failed('denied', {
    message: `Nothing is accepted while the journal cannot be relied on: ${trouble} ${STAYS}`,
    next: 'A person has to look at imago log verify first.',
  })
}
