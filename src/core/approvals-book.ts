import { randomInt } from 'node:crypto'
import type {
  Approvals,
  Asking,
  CodedAnswer,
  SeatAnswer,
  SeatListener,
  SeatNews,
  ShownPlan,
  Taken,
} from './approvals.ts'
import type { Clock } from './clock.ts'
import { isSameCode, NO_CODE_WORKS, newCode, WRONG_FOR_ONE, WRONG_IN_ALL } from './codes.ts'
import type { Journal } from './journal.ts'
import { markedLine } from './marks.ts'
import { openPauses, pauseInWords } from './pauses.ts'
import { type Answer, causesOf, type Plan } from './plan.ts'
import { type Shown, shownPlan } from './shown-plan.ts'

export interface ApprovalsOptions {
  readonly clock: Clock
  /** Milliseconds since 1970, as the machine believes. */
  wallClock(): number
  /** How long a plan may wait, and an approval be used, in milliseconds. */
  readonly expiryMs: number
  /** Where seats are written down. */
  readonly journal: Pick<Journal, 'later'>
  readonly log: (message: string, error: unknown) => void
  /** A whole number from 0 and below the limit, that nobody can guess. Left out: that of `node:crypto`. */
  randomness?(limit: number): number
}

/** How often plans that wait are looked at, in milliseconds. */
const POLL_MS = 1_000
/** Settled plans whose end is still known to whoever answers late. */
const SETTLED = 256
/** Plans that may wait at once. One program can make as many connections, each a caller, as it likes. */
const MOST_WAITING = 64
const REASON_CHARS = 2_000

/** One plan that waits. */
interface Waiting {
  readonly plan: Plan
  readonly preview: Shown
  /** Undefined once too many wrong ones were tried. */
  code: string | undefined
  wrongCodes: number
  /** Its evidence is being looked at. */
  looking: boolean
  end(answer: Answer): void
}

interface Seated {
  readonly id: string
  readonly listener: SeatListener
}

interface Moment {
  readonly clock: number
  readonly wall: number
}

/** Plans and seats in the memory of one daemon, and nowhere else: what waited before it began is unknown to it. */
export function openApprovals(options: ApprovalsOptions): Approvals {
  const { clock, wallClock, expiryMs, journal, log, randomness = randomInt } = options
  const waiting = new Map<string, Waiting>()
  const settled = new Map<string, string>()
  const began = new WeakMap<Plan, Moment>()
  const seats = new Set<Seated>()
  const pauses = openPauses(clock)
  let seatsTaken = 0
  /** Since a seat answered last. */
  let wrongInAll = 0
  let stopPolling: (() => void) | undefined

  /** The answer, once; and why it needs none any more, for every seat but the one that knows. */
  function settle(one: Waiting, answer: Answer, how: { readonly why: string; readonly except?: Seated }) {
    if (!waiting.delete(one.plan.id)) return
    settled.set(one.plan.id, how.why)
    const [oldest] = settled.keys()
    if (settled.size > SETTLED && oldest !== undefined) settled.delete(oldest)
    if (waiting.size === 0) {
      stopPolling?.()
      stopPolling = undefined
    }
    one.end(answer)
    for (const seat of seats)
      if (seat !== how.except) tell(seat, { type: 'settled', id: one.plan.id, why: how.why })
    count(one.plan, answer)
  }

  /** What people say no to, and who is let be for a while by it. */
  function count({ origin, who }: Plan, { type }: Answer): void {
    if (type === 'approved' || type === 'edited') pauses.approved(origin)
    const paused = type === 'denied' ? pauses.refused(origin) : undefined
    if (paused === undefined) return
    for (const seat of seats) tell(seat, { type: 'notice', text: pauseInWords(paused, markedLine(who)) })
  }

  function tell(seat: Seated, news: SeatNews): void {
    try {
      seat.listener.tell(news)
    } catch (error) {
      log(`${seat.id} could not be told of a plan, and has lost its seat`, error)
      leave(seat, 'it could not be told of a plan')
    }
  }

  /** A seat may answer while it is told: then the others have heard already that it is settled. */
  function tellIfOpen(seat: Seated, one: Waiting): void {
    if (waiting.has(one.plan.id)) tell(seat, { type: 'plan', plan: shown(one) })
  }

  function tellAll(one: Waiting): void {
    for (const seat of seats) tellIfOpen(seat, one)
  }

  function leave(seat: Seated, why: string | null): void {
    if (!seats.delete(seat)) return
    journal.later({ type: 'seat', what: 'left', seat: seat.id, who: seat.listener.who, why })
  }

  const ageOf = (moment: Moment) => ({
    clock: clock.now() - moment.clock,
    wall: wallClock() - moment.wall,
  })

  function expired(plan: Plan): boolean {
    const moment = began.get(plan)
    if (moment === undefined) return false
    const age = ageOf(moment)
    return age.clock >= expiryMs || age.wall >= expiryMs
  }

  const waitedMs = (plan: Plan): number => {
    const moment = began.get(plan)
    return moment === undefined ? 0 : ageOf(moment).clock
  }

  const codesWork = () => wrongInAll < WRONG_IN_ALL

  const shown = ({ plan, preview, code = '', wrongCodes }: Waiting): ShownPlan => {
    const ended = `${WRONG_FOR_ONE} wrong codes were tried for this plan. It can be answered on a seat alone.`
    const warnings = [...(wrongCodes < WRONG_FOR_ONE ? [] : [ended]), ...(codesWork() ? [] : [NO_CODE_WORKS])]
    const waited_ms = Math.round(waitedMs(plan))
    return { ...preview, warnings: [...preview.warnings, ...warnings], waited_ms, code }
  }

  function expire(one: Waiting): void {
    const afterMs = Math.round(waitedMs(one.plan))
    settle(one, { type: 'timed_out', afterMs }, { why: 'Nobody answered in time; it counts as denied.' })
  }

  /** Looks at all that waits about once a second, and when the next one expires. */
  function poll(): void {
    for (const one of [...waiting.values()])
      if (expired(one.plan)) expire(one)
      else void look(one)
    stopPolling = undefined
    schedule()
  }

  function schedule(): void {
    if (stopPolling !== undefined || waiting.size === 0) return
    const left = [...waiting.values()].map(({ plan }) => expiryMs - waitedMs(plan))
    stopPolling = clock.after(Math.max(0, Math.min(POLL_MS, ...left)), poll)
  }

  async function look(one: Waiting): Promise<void> {
    if (one.looking) return
    one.looking = true
    const causes = await causesOf(one.plan)
    one.looking = false
    if (causes.length > 0)
      settle(one, { type: 'stale', causes }, { why: `It is out of date: ${causes.join('; ')}.` })
  }

  /** What waits under that name and may still be answered, or what its answer has come to. */
  function open(id: string): Waiting | Taken {
    const one = waiting.get(id)
    if (one !== undefined && expired(one.plan)) expire(one)
    const why = settled.get(id)
    if (why !== undefined) return { type: 'late', why }
    return one ?? { type: 'unknown' }
  }

  function answered(seat: Seated, given: SeatAnswer): Taken {
    if (!seats.has(seat)) return { type: 'unknown' }
    const one = open(given.plan)
    if ('type' in one) return one
    if (given.hash !== one.plan.hash) return { type: 'wrong_hash' }
    wrongInAll = 0
    settle(one, answerOf(given, seat.id), {
      why: `${seat.listener.who} ${DID[given.decision]}.`,
      except: seat,
    })
    return { type: 'taken' }
  }

  function answeredWithCode(given: CodedAnswer): Taken {
    const one = open(given.plan)
    if ('type' in one) return one
    if (one.code === undefined || !codesWork() || !isSameCode(one.code, given.code)) return wrongCode(one)
    const by = `code of ${given.plan}`
    settle(one, answerOf(given, by), { why: `A script that had its code ${DID[given.decision]}.` })
    return { type: 'taken' }
  }

  function wrongCode(one: Waiting): Taken {
    one.wrongCodes++
    if (one.wrongCodes === WRONG_FOR_ONE) {
      one.code = undefined
      refusedScript(`${WRONG_FOR_ONE} wrong codes were tried for ${one.plan.id}`)
      tellAll(one)
    }
    if (++wrongInAll === WRONG_IN_ALL) {
      refusedScript(NO_CODE_WORKS)
      for (const seat of seats) tell(seat, { type: 'notice', text: NO_CODE_WORKS })
    }
    return { type: 'wrong_code' }
  }

  function refusedScript(why: string): void {
    journal.later({ type: 'seat', what: 'refused', seat: null, who: 'a script', why })
  }

  return {
    get seated() {
      return seats.size > 0
    },
    ask(plan: Plan, { signal }: Asking) {
      if (signal.aborted) return Promise.resolve({ type: 'cancelled' })
      if (seats.size === 0) return Promise.resolve({ type: 'unavailable' })
      return new Promise<Answer>(resolve => {
        const cancel = () => settle(one, { type: 'cancelled' }, { why: 'Its caller gave up.' })
        const end = (answer: Answer) => {
          signal.removeEventListener('abort', cancel)
          resolve(answer)
        }
        const [preview, code] = [shownPlan(plan), newCode(randomness)]
        const one: Waiting = { plan, preview, code, wrongCodes: 0, looking: false, end }
        began.set(plan, { clock: clock.now(), wall: wallClock() })
        waiting.set(plan.id, one)
        signal.addEventListener('abort', cancel)
        schedule()
        tellAll(one)
      })
    },
    waiting: () =>
      [...waiting.values()].map(one => {
        const { code: _, body: __, hunks: ___, ...plan } = shown(one)
        return plan
      }),
    previewOf: plan => waiting.get(plan)?.preview,
    countOf: caller => [...waiting.values()].filter(({ plan }) => plan.caller === caller).length,
    get full() {
      return waiting.size >= MOST_WAITING
    },
    paused: origin => pauses.paused(origin),
    expired,
    sit(listener) {
      pauses.lift()
      const seat: Seated = { id: `seat-${++seatsTaken}`, listener }
      seats.add(seat)
      journal.later({ type: 'seat', what: 'taken', seat: seat.id, who: listener.who, why: null })
      for (const one of [...waiting.values()]) tellIfOpen(seat, one)
      return { id: seat.id, answer: given => answered(seat, given), leave: () => leave(seat, null) }
    },
    answerWithCode: answeredWithCode,
    grants: () => [],
    revoke: () => false,
    close() {
      for (const one of [...waiting.values()]) settle(one, DAEMON_ENDED, { why: 'The daemon ends.' })
    },
  }
}

/** Its caller may wait for the answer still, and is told why there is none. */
const DAEMON_ENDED = { type: 'cancelled', reason: 'the daemon ended' } as const

const DID = {
  approve: 'approved it',
  deny: 'denied it',
  edit: 'approved it with other arguments, which are a plan of their own',
  choose: 'approved a part of it',
} as const satisfies Record<SeatAnswer['decision'], string>

function answerOf(given: SeatAnswer | CodedAnswer, by: string): Answer {
  switch (given.decision) {
    case 'approve':
      return { type: 'approved', by }
    case 'edit':
      return { type: 'edited', by, args: given.args ?? {} }
    case 'choose':
      return { type: 'chosen', by, choices: given.choices ?? [] }
    case 'deny':
      return { type: 'denied', by, reason: given.reason?.slice(0, REASON_CHARS) || null }
    default:
      return given satisfies never
  }
}
