import { randomInt } from 'node:crypto'
import { openAges } from './ages.ts'
import type { Approvals, Asking, CodedAnswer, SeatAnswer, SeatNews, ShownPlan, Taken } from './approvals.ts'
import { Audience, type Seated } from './audience.ts'
import { approvedInWords, askClient, type ClientSaid, counts, nameOf } from './client-asking.ts'
import type { Clock } from './clock.ts'
import { isSameCode, NO_CODE_WORKS, newCode, WRONG_FOR_ONE, WRONG_IN_ALL } from './codes.ts'
import { crowdInWords, openCrowds } from './crowds.ts'
import { openEnds } from './ends.ts'
import { answerOf, didOf, misfitOf, saidBy } from './given-answers.ts'
import { type Pattern, patternsOf } from './grant-patterns.ts'
import { openGranting } from './granting.ts'
import type { Journal } from './journal.ts'
import { markedLine } from './marks.ts'
import { type AnsweredAt, openPauses, pauseInWords } from './pauses.ts'
import { openPendingPlans, type Pending } from './pending-plans.ts'
import type { Answer, Plan } from './plan.ts'
import { noteOf, openRepeated, ruleAgainst } from './repeated.ts'
import { type Shown, shownPlan } from './shown-plan.ts'
import { openTurns } from './turns.ts'

export interface ApprovalsOptions {
  readonly clock: Clock
  /** Milliseconds since 1970, as the machine believes. */
  wallClock(): number
  /** How long a plan may wait, and an approval be used, in milliseconds. */
  readonly expiryMs: number
  /**
   * Whether as many bytes more can be kept for undoing, and nothing that was changed in the last day goes for them: past
   * that a person is asked, whatever was granted. Left out: there always is as much room.
   */
  roomToUndo?(bytes: number): boolean
  /** Where seats are written down. */
  readonly journal: Pick<Journal, 'later'>
  readonly log: (message: string, error: unknown) => void
  /** A whole number from 0 and below the limit, that nobody can guess. Left out: that of `node:crypto`. */
  randomness?(limit: number): number
}

/** The book, and how much it remembers. */
export interface OpenApprovals extends Approvals {
  /** Entries of whatever kind: however many plans were asked about, there is a bound. */
  kept(): number
}

/** Plans that may wait at once. One program can make as many connections, each a caller, as it likes. */
const MOST_WAITING = 64

/** What those who sit hear of an answer. */
interface Settling {
  /** A sentence. */
  readonly why: string
  /** Who knows already. */
  readonly except?: Seated
  /** Where it was given. Left out: on a seat. */
  readonly at?: AnsweredAt
}

/** One plan that waits. */
interface Waiting extends Pending {
  readonly preview: Shown
  /** What may be granted with its approval. */
  readonly patterns: readonly Pattern[]
  /** Undefined once too many wrong ones were tried. */
  code: string | undefined
  wrongCodes: number
}

/** Plans and seats in the memory of one daemon, and nowhere else: what waited before it began is unknown to it. */
export function openApprovals(options: ApprovalsOptions): OpenApprovals {
  const { clock, expiryMs, journal, log, randomness = randomInt } = options
  const ages = openAges(options)
  const turns = openTurns(clock)
  const pauses = openPauses(clock)
  const repeated = openRepeated()
  const ends = openEnds(clock)
  const notes = new WeakMap<Plan, string>()
  const audience: Audience = new Audience({ journal, log, left: seat => granting.left(seat) })
  const { roomToUndo = () => true } = options
  const granting = openGranting({ ages, clock, journal, audience, expiryMs, roomToUndo })
  const pending = openPendingPlans<Waiting>({ clock, ages, expired, expiryMs, ended }, (one, answer, why) =>
    toldOf(one, answer, { why }),
  )
  const crowds = openCrowds({
    waiting: () => pending.all().map(({ plan }) => plan),
    crowded: ({ who }, waiting) => audience.notice(crowdInWords(markedLine(who), waiting)),
  })
  /** Since a seat answered last. */
  let wrongInAll = 0

  function ended({ plan }: Waiting): void {
    turns.left(plan)
    crowds.left(plan.origin)
  }

  /** The answer, once; and why it needs none any more, for every seat but the one that knows. */
  function settle(one: Waiting, answer: Answer, how: Settling) {
    if (pending.settle(one, answer, how.why)) toldOf(one, answer, how)
  }

  function toldOf({ plan, preview }: Waiting, answer: Answer, { why, except, at = 'seat' }: Settling) {
    ends.add(preview, answer, why)
    audience.tellAll(() => ({ type: 'settled', id: plan.id, why }), except)
    count(plan, answer, at)
  }

  /** What people say no to, and who is let be for a while by it. A turn that is refused is one refusal. */
  function count(plan: Plan, answer: Answer, at: AnsweredAt): void {
    const said = saidBy(answer)
    if (said === 'yes') pauses.approved(plan.origin, at)
    if (said !== 'no' || !turns.refused(plan)) return
    const who = markedLine(plan.who)
    const paused = pauses.refused({ origin: plan.origin, who }, at)
    if (paused === undefined) return
    const why = pauseInWords(paused, who)
    journal.later({ type: 'seat', what: 'paused', seat: null, who, why })
    audience.notice(why)
  }

  /** All pauses; how many there were. */
  function lift({ id: seat, listener: { who } }: Seated): number {
    const lifted = pauses.lift()
    if (lifted === 0) return 0
    journal.later({ type: 'seat', what: 'lifted', seat, who, why: null })
    audience.notice(`${who} wants to be asked again: no caller is kept waiting any more.`)
    return lifted
  }

  /** A seat may answer while it is told: then the others have heard already that it is settled. */
  const newsOf = (one: Waiting) => (): SeatNews | undefined =>
    pending.get(one.plan.id) === undefined ? undefined : { type: 'plan', plan: shown(one) }

  function expired(plan: Plan): boolean {
    const since = ages.began(plan)
    return (since !== undefined && ages.passed(since, expiryMs)) || granting.hasEndedFor(plan)
  }

  const codesWork = () => wrongInAll < WRONG_IN_ALL

  const shown = ({ plan, preview, code = '', wrongCodes }: Waiting): ShownPlan => {
    const ended = `${WRONG_FOR_ONE} wrong codes were tried for this plan. It can be answered on a seat alone.`
    const warnings = [...(wrongCodes < WRONG_FOR_ONE ? [] : [ended]), ...(codesWork() ? [] : [NO_CODE_WORKS])]
    const waited_ms = Math.round(ages.waitedMs(plan))
    return { ...preview, warnings: [...preview.warnings, ...warnings], waited_ms, code }
  }

  function answered(seat: Seated, given: SeatAnswer): Taken {
    if (!audience.has(seat)) return { type: 'unknown' }
    const one = pending.open(given.plan)
    if ('type' in one) return one
    if (given.hash !== one.plan.hash) return { type: 'wrong_hash' }
    const misfit = misfitOf(one.plan, given, one.preview.grants)
    if (misfit !== undefined) return { type: 'unfit', why: misfit }
    wrongInAll = 0
    settle(one, answerOf(given, seat.id), {
      why: `${seat.listener.who} ${didOf(given)}.`,
      except: seat,
    })
    const pattern = one.patterns.find(({ text }) => text === given.grant)
    if (pattern !== undefined) grant(seat, one.plan, pattern)
    return { type: 'taken' }
  }

  /** From now on, and for what waits already. */
  function grant(seat: Seated, plan: Plan, pattern: Pattern): void {
    granting.give(seat, plan, pattern)
    for (const one of pending.all()) {
      const answer = one.patterns.length > 0 ? granting.letThrough(one.plan, one.preview) : undefined
      if (answer?.type === 'approved') settle(one, answer, { why: `It is let through by ${answer.by}.` })
    }
  }

  function answeredWithCode(given: CodedAnswer): Taken {
    const one = pending.open(given.plan)
    if ('type' in one) return one
    if (one.code === undefined || !codesWork() || !isSameCode(one.code, given.code)) return wrongCode(one)
    const by = `code of ${given.plan}`
    settle(one, answerOf(given, by), { why: `A script that had its code ${didOf(given)}.` })
    return { type: 'taken' }
  }

  function wrongCode(one: Waiting): Taken {
    one.wrongCodes++
    if (one.wrongCodes === WRONG_FOR_ONE) {
      one.code = undefined
      refusedScript(`${WRONG_FOR_ONE} wrong codes were tried for ${one.plan.id}`)
      audience.tellAll(newsOf(one))
    }
    if (++wrongInAll === WRONG_IN_ALL) {
      refusedScript(NO_CODE_WORKS)
      audience.notice(NO_CODE_WORKS)
    }
    return { type: 'wrong_code' }
  }

  function refusedScript(why: string): void {
    journal.later({ type: 'seat', what: 'refused', seat: null, who: 'a script', why })
  }

  /** What comes when the plan is settled, or too old, changes nothing any more. */
  function clientSaid(one: Waiting, who: string, said: ClientSaid): void {
    if ('type' in pending.open(one.plan.id)) return
    if (said.type === 'nothing' && said.doubted !== undefined) {
      journal.later({ type: 'seat', what: 'doubted', seat: null, who, why: said.doubted })
      audience.notice(`${who}: ${said.doubted}`)
    }
    if (said.type !== 'answer' && audience.size > 0) return
    settle(one, said.answer, { why: said.why, at: 'client' })
    const { plan, preview } = one
    if (said.answer.type === 'approved') audience.notice(approvedInWords({ who, title: preview.title, plan }))
  }

  /** How often a person was asked the same, and from when on which rule would end that. */
  function repetition(plan: Plan, { byDefault }: Asking): Pick<Shown, 'times' | 'rule'> {
    const times = repeated.count(plan)
    const rule = byDefault === undefined ? null : ruleAgainst(plan, times)
    if (byDefault !== undefined && rule !== null)
      notes.set(plan, noteOf({ plan, times, rule, policyFile: byDefault.policyFile }))
    return { times, rule }
  }

  /** Puts it before whoever sits, and the client that it came from. */
  function put(plan: Plan, how: Asking, told: Pick<Waiting, 'preview' | 'patterns'>): Promise<Answer> {
    const { signal, client } = how
    return new Promise<Answer>(resolve => {
      let takeBack: (() => void) | undefined
      const cancel = () => settle(one, { type: 'cancelled' }, { why: 'Its caller gave up.' })
      const end = (answer: Answer) => {
        signal.removeEventListener('abort', cancel)
        takeBack?.()
        resolve(answer)
      }
      const one = { plan, ...told, code: newCode(randomness), wrongCodes: 0, looking: false, end }
      ages.begin(plan)
      pending.add(one)
      signal.addEventListener('abort', cancel)
      audience.tellAll(newsOf(one))
      if (client !== undefined && pending.get(plan.id) !== undefined)
        takeBack = askClient(client, shown(one), said => clientSaid(one, nameOf(client), said))
    })
  }

  return {
    get seated() {
      return audience.size > 0
    },
    ask(plan, how) {
      if (how.signal.aborted) return Promise.resolve({ type: 'cancelled' })
      if (audience.size === 0 && !counts(how.client)) return Promise.resolve({ type: 'unavailable' })
      const plain = shownPlan(plan)
      const patterns = how.byDefault === undefined ? [] : patternsOf(plan, plain)
      const granted = patterns.length > 0 ? granting.letThrough(plan, plain) : undefined
      if (granted?.type === 'approved') return Promise.resolve(granted)
      const warnings = granted === undefined ? plain.warnings : [...plain.warnings, granted.why]
      const turn = turns.joined(plan)
      const grants = patterns.map(({ text }) => text)
      return put(plan, how, {
        preview: { ...plain, warnings, turn, grants, ...repetition(plan, how) },
        patterns,
      })
    },
    waiting: () =>
      pending.all().map(one => {
        const { code: _, body: __, hunks: ___, args: ____, ...plan } = shown(one)
        return plan
      }),
    previewOf: plan => pending.get(plan)?.preview,
    crowding: (of, most) => crowds.before(of, most),
    get full() {
      return pending.all().length >= MOST_WAITING
    },
    paused: origin => pauses.paused(origin),
    pauses: () => pauses.list(),
    ends: () => ends.list(),
    expired,
    sit(listener) {
      pauses.lift()
      const seat = audience.sit(listener)
      for (const one of pending.all()) {
        const news = newsOf(one)()
        if (news !== undefined) audience.tell(seat, news)
      }
      return {
        id: seat.id,
        answer: given => answered(seat, given),
        lift: () => (audience.has(seat) ? lift(seat) : 0),
        leave: () => audience.leave(seat, null),
      }
    },
    answerWithCode: answeredWithCode,
    noteOn: plan => notes.get(plan),
    grants: () => granting.list(),
    revoke: granting.revoke,
    kept: () => sum([pending, turns, crowds, granting, repeated, ends, audience]),
    close() {
      for (const one of pending.all()) settle(one, DAEMON_ENDED, { why: 'The daemon ends.' })
      granting.close()
    },
  }
}

const sum = (parts: readonly { readonly size: number }[]) => parts.reduce((all, { size }) => all + size, 0)

/** Its caller may wait for the answer still, and is told why there is none. */
const DAEMON_ENDED = { type: 'cancelled', reason: 'the daemon ended' } as const
