import { timingSafeEqual } from 'node:crypto'
import type { Choice } from '../../tools/contract.ts'
import { LightSignal } from '../../wire/signal.ts'
import { plainName } from '../text/escape.ts'
import type { ClientAnswer, ClientAsker, CodedAnswer, SeatAnswer, ShownPlan } from './contract.ts'
import { type Answer, areAllAccepted, areAllRefused, fitOf, type Plan } from './plan.ts'

// Answers to plans, from seats, scripts, and the clients that calls come from.

/** Characters of a reason that are kept. */
const REASON_CHARS = 2_000

/** An answer as it was given, on a seat or with a code, once it is known to fit. */
export function answerOf(given: SeatAnswer | CodedAnswer, by: string): Answer {
  switch (given.decision) {
    case 'approve':
      return { type: 'approved', by }
    case 'edit':
      return { type: 'edited', by, args: given.args ?? {} }
    case 'choose':
      return { type: 'chosen', by, choices: (given.choices ?? []).map(bounded) }
    case 'deny':
      return { type: 'denied', by, reason: reasonOf(given.reason) }
    default:
      return given satisfies never
  }
}

/** A reason within bounds; an empty one is none. */
const reasonOf = (reason: string | null | undefined): string | null => reason?.slice(0, REASON_CHARS) || null

const bounded = (choice: Choice): Choice =>
  choice.decision === 'accept' ? choice : { ...choice, reason: reasonOf(choice.reason) }

/**
 * Why an answer does not fit the plan, as a sentence for whoever gave it; undefined where it does. `offered` are the
 * patterns that may be granted with it.
 */
export function misfitOf(plan: Plan, given: SeatAnswer, offered: readonly string[]): string | undefined {
  const { decision, choices = [], grant } = given
  if (decision === 'choose') {
    const misfit = fitOf(plan, choices)
    if (misfit !== undefined) return misfit
  }
  if (grant === undefined) return undefined
  if (decision !== 'approve') return 'Only with an approval can more be let through from now on.'
  if (offered.includes(grant)) return undefined
  return offered.length === 0
    ? 'Nothing of the kind can be let through without asking.'
    : `That cannot be let through without asking; what can is: ${offered.join(', ')}.`
}

/** What was done, after the name of whoever did it: for the others who sit. */
export function didOf({ decision, choices = [] }: Pick<SeatAnswer, 'decision' | 'choices'>): string {
  if (decision !== 'choose') return DID[decision]
  if (areAllAccepted(choices)) return DID.approve
  if (areAllRefused(choices)) return 'refused every part of it'
  const isPart = choices.some(choice => choice.decision === 'refuse')
  return isPart ? DID.choose : 'approved it with another text'
}

const DID = {
  approve: 'approved it',
  deny: 'denied it',
  edit: 'approved it with other arguments, which are a plan of their own',
  choose: 'approved a part of it',
} as const satisfies Record<SeatAnswer['decision'], string>

/** What the client that a call came from has made of the question. */
export type ClientVerdict =
  /** It counts. `why` is a sentence for those who sit. */
  | { readonly type: 'answer'; readonly answer: Answer; readonly why: string }
  /**
   * Nobody has said anything that counts. Where nobody sits, that is all there is, and `answer` is how it ends.
   * `doubted` is what is written down of a yes that counts for nothing.
   */
  | { readonly type: 'nothing'; readonly answer: Answer; readonly why: string; readonly doubted?: string }

/** Whether there is a client whose yes counts now, so that nobody needs to have a seat. */
export function counts(client: ClientAsker | undefined): client is ClientAsker {
  return client !== undefined && client.doubt() === undefined
}

/** As it stands in the journal, and is said to those who sit: a client names itself. */
export const nameOf = ({ who }: ClientAsker): string => plainName(who).slice(0, NAME_CHARS)

const NAME_CHARS = 120

/**
 * Asks the client that a call came from, once. It is shown what those who sit are shown, without the code and the
 * grants, which are theirs. `said` is called at most once, and never after the answer of this function was called,
 * which takes the question back.
 */
export function askClient(
  client: ClientAsker,
  plan: ShownPlan,
  said: (said: ClientVerdict) => void,
): () => void {
  const signal = new LightSignal()
  const heard = (answer: ClientAnswer) => {
    if (!signal.aborted) said(saidOf(client, plan, answer))
  }
  // Started later, so that a client which fails at once finds the plan waiting.
  void Promise.resolve()
    .then(() => (signal.aborted ? FAILED : client.ask({ ...plan, code: '', grants: [] }, signal)))
    .then(heard, () => heard(FAILED))
  return () => signal.abort()
}

const FAILED = { type: 'no', how: 'failed', reason: null } as const

function saidOf(client: ClientAsker, { id }: ShownPlan, given: ClientAnswer): ClientVerdict {
  const who = nameOf(client)
  const by = `client ${who}`
  if (given.type === 'yes') {
    const doubt = client.doubt()
    if (doubt === undefined)
      return { type: 'answer', answer: { type: 'approved', by }, why: `${asker(who)} approved it.` }
    return nothing({
      by,
      reason: `its yes may not be a person's: ${doubt}`,
      doubted: `It said yes to ${id}, which counts for nothing: ${doubt}.`,
    })
  }
  const reason = reasonOf(given.reason)
  switch (given.how) {
    case 'declined':
      return { type: 'answer', answer: { type: 'denied', by, reason }, why: `${asker(who)} denied it.` }
    case 'cancelled':
      return {
        type: 'nothing',
        answer: { type: 'dismissed', by, reason },
        why: `The dialog of ${who} was closed without a choice, and nobody sits.`,
      }
    case 'failed':
      return nothing({ by, reason: reason ?? 'the question could not be put there' })
    case 'silent':
      return nothing({ by, reason: reason ?? 'nobody answered there' })
    default:
      return given.how satisfies never
  }
}

/** For those who sit, and may not have been shown the plan yet: what was approved there, and what undoes it. */
export function approvedInWords({ who, title, plan }: ApprovedThere): string {
  const { id, changes } = plan
  const back = changes.length === 0 ? '' : `. To take it back: imago undo ${id}`
  return `The person at ${who} approved ${id} there: ${title}${back}`
}

interface ApprovedThere {
  readonly who: string
  /** Of the plan, as it is shown. */
  readonly title: string
  readonly plan: Pick<Plan, 'id' | 'changes'>
}

const asker = (who: string) => `The person at ${who}, which asks for it,`

function nothing(o: {
  readonly by: string
  readonly reason: string
  readonly doubted?: string
}): ClientVerdict {
  const { by, reason, doubted } = o
  const answer = { type: 'unavailable', by, reason } as const
  const why = `Nobody sits, and no answer that counts came from ${by}: ${reason}.`
  return { type: 'nothing', answer, why, ...(doubted !== undefined && { doubted }) }
}

/** Digits and letters of base 32 as Crockford has it: none of them looks like another. */
const LETTERS = '0123456789abcdefghjkmnpqrstvwxyz'

const GROUPS = 4

const GROUP_LETTERS = 4

/**
 * A code that cannot be guessed, of 80 random bits: `k7mp-3xqr-9tfw-2hjd`. `randomness` draws a whole number from 0
 * and below its limit.
 */
export function newCode(randomness: (limit: number) => number): string {
  const letter = () => LETTERS[randomness(LETTERS.length)]
  const group = () => Array.from({ length: GROUP_LETTERS }, letter).join('')
  return Array.from({ length: GROUPS }, group).join('-')
}

/**
 * Whether a code was given as it was typed: capitals count as small letters, hyphens and blanks for nothing, and
 * letters that look like digits as those. Takes as long whatever the difference is.
 */
export function isSameCode(code: string, given: string): boolean {
  const [one, other] = [Buffer.from(plain(code)), Buffer.from(plain(given))]
  return one.length === other.length && timingSafeEqual(one, other)
}

const plain = (code: string) =>
  code.toLowerCase().replace(/[\s-]/g, '').replace(/o/g, '0').replace(/[il]/g, '1')

/** Wrong codes after which one plan can be answered on a seat alone. */
const WRONG_FOR_ONE = 3

/** Wrong codes, of whatever plans, after which none is taken until somebody on a seat answers a plan. */
const WRONG_IN_ALL = 10

/** For those who sit. */
const NO_CODE_WORKS = `${WRONG_IN_ALL} wrong codes were tried. No code works until a plan is answered on a seat.`

/** The code of one plan. */
export interface PlanCode {
  /** Empty once too many wrong ones were tried. */
  readonly text: string
  /** Whether that is it, and codes work. One that is not ends this code, or all of them, sooner or later. */
  isRight(given: string): boolean
  /** What there is to know of codes that ended, for whoever is shown the plan. */
  warnings(): readonly string[]
}

interface PlanCodesOptions {
  /** A whole number from 0 and below the limit, that nobody can guess. */
  randomness(limit: number): number
  /** Called when codes end to work, with why: that of the one plan, or of all. */
  ended(of: 'plan' | 'all', why: string): void
}

/** The codes of plans, each for one of them, and how many wrong ones may be tried. */
interface PlanCodes {
  draw(plan: string): PlanCode
  /** A plan was answered on a seat: codes work again. */
  answeredOnSeat(): void
}

export function openPlanCodes({ randomness, ended }: PlanCodesOptions): PlanCodes {
  /** Since a seat answered last. */
  let wrongInAll = 0
  const work = () => wrongInAll < WRONG_IN_ALL

  return {
    draw(plan) {
      let text = newCode(randomness)
      let wrong = 0
      return {
        get text() {
          return text
        },
        isRight(given) {
          if (text !== '' && work() && isSameCode(text, given)) return true
          if (++wrong === WRONG_FOR_ONE) {
            text = ''
            ended('plan', `${WRONG_FOR_ONE} wrong codes were tried for ${plan}`)
          }
          if (++wrongInAll === WRONG_IN_ALL) ended('all', NO_CODE_WORKS)
          return false
        },
        warnings: () => [...(text === '' ? [ENDED] : []), ...(work() ? [] : [NO_CODE_WORKS])],
      }
    },
    answeredOnSeat() {
      wrongInAll = 0
    },
  }
}

const ENDED = `${WRONG_FOR_ONE} wrong codes were tried for this plan. It can be answered on a seat alone.`
