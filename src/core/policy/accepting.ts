import { createHash } from 'node:crypto'
import { failed, type Outcome, ok } from '../../../tools/outcome.ts'
import type { Evidence } from '../../../tools/proposal.ts'
import type { CallId } from '../../../wire/kernel.ts'
import type { Signal } from '../../../wire/signal.ts'
import type { Approvals } from '../approvals.ts'
import { freeze, journalPlan } from '../freezing.ts'
import { type Journal, JournalError } from '../journal.ts'
import type { Answer, Plan } from '../plan.ts'
import { tooManyWait } from '../plan-refusals.ts'
import { type Looked, needsAccepting, type OpenPolicy, type Standing } from '../policy.ts'
import { journalUnavailable, policyBroken } from '../refusals.ts'
import { looseningInWords, previewOf } from './preview.ts'

/** What a person is asked to accept, and by whose request. */
export interface AcceptRequest {
  readonly call: CallId
  readonly root: string
  /** Who asks, for people, and by the name of the connection. */
  readonly who: string
  readonly caller: string
  /** Aborts when the caller gives up. */
  readonly signal: Signal
}

export interface Accepted {
  /** Empty where nothing waited: what each rule means, as clauses. */
  readonly accepted: readonly string[]
  readonly message: string
}

export interface AcceptingOptions {
  readonly policy: OpenPolicy
  readonly approvals: Approvals
  readonly journal: Journal
}

/** Plans of this kind that one caller may have waiting. */
const MOST_WAITING = 8

/** No tool of the registry: nothing that a model can name, and no rule, decides whether a person is asked here. */
const NAME = 'accept_policy'
const TOOL_HASH = createHash('sha256').update(`${NAME} 1`).digest('hex')

/**
 * Puts before the seats what waits in the files of a project, and lets it hold once a person approves exactly that.
 * Whatever the rules say, it always asks. Rejects for faults alone.
 */
export async function acceptPolicy(
  request: AcceptRequest,
  { policy, approvals, journal }: AcceptingOptions,
): Promise<Outcome<Accepted>> {
  const shown = policy.standing(request.root)
  const files = [shown.user, shown.project]
  const broken = files.find(({ text }) => text.problem !== undefined)
  if (broken?.text.problem !== undefined) return policyBroken(broken.text.problem)
  const wanting = files.filter(needsAccepting)
  if (wanting.length === 0)
    return ok({ accepted: [], message: 'Nothing waits: what stands in the files holds.' })
  if (journal.trouble !== undefined) return troubled(journal.trouble)
  if (approvals.full) return tooManyWait()
  if (approvals.countOf(request.caller) >= MOST_WAITING) return tooMany()
  const plan = planOf({ request, shown, wanting, policy })
  try {
    journal.write({ type: 'requested', ...journalled(plan), plan: journalPlan(plan) })
    const answer = await approvals.ask(plan, request.signal)
    await noteAnswer(journal, plan, answer)
    if (answer.type !== 'approved') return notApproved(answer)
    return await carryOut({ plan, shown, wanting, by: answer.by, policy, journal, approvals })
  } catch (error) {
    if (error instanceof JournalError) return journalUnavailable(error)
    throw error
  }
}

interface Planned {
  readonly request: AcceptRequest
  readonly shown: Standing
  readonly wanting: readonly Looked[]
  readonly policy: OpenPolicy
}

function planOf({ request, shown, wanting, policy }: Planned): Plan {
  const { call, root, who, caller } = request
  const evidence = (['user', 'project'] as const).map(file => evidenceOf(file, shown, policy))
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
    proposal: { type: 'proposal', preview: previewOf(wanting), evidence, changes: [] },
  })
}

/** The bytes of the file, and what is accepted of it already. */
function evidenceOf(file: 'user' | 'project', shown: Standing, policy: OpenPolicy): Evidence {
  const looked = shown[file]
  const { text, waiting, held, place } = looked
  const seen = JSON.stringify([place.file, text.sha256, waiting, held])
  return {
    what: place.file,
    hash: createHash('sha256').update(seen).digest('hex'),
    moved: async () =>
      policy.standing(shown.root)[file] === looked
        ? undefined
        : `${place.file} is not what was shown any more`,
  }
}

interface Approved extends Omit<Planned, 'request'> {
  readonly plan: Plan
  readonly by: string
  readonly journal: Journal
  readonly approvals: Approvals
}

/** The approval is used up on the disk before anything holds; what was shown is compared at the last moment. */
async function carryOut({ plan, journal, approvals, ...approved }: Approved): Promise<Outcome<Accepted>> {
  const { call } = plan
  const moved = (await Promise.all(plan.evidence.map(one => one.moved()))).filter(
    cause => cause !== undefined,
  )
  if (moved.length > 0) return stale(moved)
  if (journal.trouble !== undefined) return troubled(journal.trouble)
  if (approvals.expired(plan)) return notApproved({ type: 'timed_out', afterMs: 0 })
  await journal.sync({ type: 'dispatched', plan: plan.id, ...journalled(plan), decision: 'ask' })
  const outcome = accepted(approved)
  const ended = outcome.type === 'failed' ? outcome.error.code : outcome.type
  journal.later({ type: 'ended', call, outcome: ended, elapsed_ms: null })
  return outcome
}

function accepted({
  shown,
  wanting,
  by,
  policy,
}: Omit<Approved, 'plan' | 'journal' | 'approvals'>): Outcome<Accepted> {
  try {
    const moved = policy.accept(shown, by)
    if (moved !== undefined) return stale(moved.causes)
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

function journalled({ call, tool, level, caller }: Plan) {
  return { call, tool, level, kernel: null, epoch: null, caller, args: {} }
}

async function noteAnswer(journal: Journal, plan: Plan, answer: Answer): Promise<void> {
  const by = 'by' in answer ? answer.by : null
  const reason = 'reason' in answer ? answer.reason : null
  const entry = { type: 'decided', call: plan.call, plan: plan.id, answer: answer.type, by, reason } as const
  if (answer.type === 'approved') await journal.sync(entry)
  else journal.later(entry)
}

const STAYS = 'The policy is as it was.'

function notApproved(answer: Exclude<Answer, { type: 'approved' }>): Outcome<never> {
  switch (answer.type) {
    case 'denied': {
      const why = answer.reason === null ? '' : `: ${answer.reason}`
      return failed('denied', { message: `A person refused to accept these rules${why} ${STAYS}` })
    }
    case 'edited':
      return failed('denied', {
        message: `These rules can be accepted or refused, and not edited by an answer. ${STAYS}`,
        next: 'Edit the file itself, then: imago policy accept',
      })
    case 'stale':
      return stale(answer.causes)
    case 'timed_out':
      return failed('approval_timed_out', { message: `Nobody answered in time. ${STAYS}` })
    case 'cancelled':
      return failed('withdrawn', { message: `It was cancelled before anybody answered. ${STAYS}` })
    case 'unavailable':
      return failed('approval_unavailable', {
        message: `Nobody has a seat, so nobody can be asked. ${STAYS}`,
        next: 'A person runs imago watch in a terminal, and then imago policy accept.',
      })
    default:
      return answer satisfies never
  }
}

function stale(causes: readonly string[]): Outcome<never> {
  return failed('stale_plan', {
    message: `${causes.join('; ')}. ${STAYS}`,
    details: { causes },
    next: 'imago policy shows what stands there now; imago policy accept asks about that.',
  })
}

function troubled(trouble: string): Outcome<never> {
  return failed('denied', {
    message: `Nothing is accepted while the journal cannot be relied on: ${trouble} ${STAYS}`,
    next: 'A person has to look at imago log verify first.',
  })
}

function tooMany(): Outcome<never> {
  return failed('busy', { message: `${MOST_WAITING} plans of this caller wait for a person already.` })
}
