import { randomInt } from 'node:crypto'
import { openAges } from './ages.ts'
import type { Approvals, Asking, CodedAnswer, SeatAnswer, SeatNews, ShownPlan, Taken } from './approvals.ts'
import { Audience, type Seated } from './audience.ts'
import { askClient, type ClientSaid, counts, nameOf } from './client-asking.ts'
import type { Clock } from './clock.ts'
import { isSameCode, NO_CODE_WORKS, newCode, WRONG_FOR_ONE, WRONG_IN_ALL } from './codes.ts'
import { answerOf, didOf, misfitOf, saidBy } from './given-answers.ts'
import type { Journal } from './journal.ts'
import { markedLine } from './marks.ts'
import { openPauses, pauseInWords } from './pauses.ts'
import { type Answer, causesOf, type Plan } from './plan.ts'
import { type Shown, shownPlan } from './shown-plan.ts'
import { openTurns } from './turns.ts'

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

/** Plans and seats in the memory of one daemon, and nowhere else: what waited before it began is unknown to it. */
export function openApprovals(options: ApprovalsOptions): Approvals {
  const { clock, expiryMs, journal, log, randomness = randomInt } = options
  const waiting = new Map<string, Waiting>()
  const settled = new Map<string, string>()
  const ages = openAges(options)
  const turns = openTurns(clock)
  const pauses = openPauses(clock)
  const audience = new Audience({ journal, log, left: () => undefined })
  /** Since a seat answered last. */
  let wrongInAll = 0
  let stopPolling: (() => void) | undefined

  /** The answer, once; and why it needs none any more, for every seat but the one that knows. */
  function settle(one: Waiting, answer: Answer, how: { readonly why: string; readonly except?: Seated }) {
    const { plan } = one
    if (!waiting.delete(plan.id)) return
    settled.set(plan.id, how.why)
    const [oldest] = settled.keys()
    if (settled.size > SETTLED && oldest !== undefined) settled.delete(oldest)
    turns.left(plan)
    if (waiting.size === 0) {
      stopPolling?.()
      stopPolling = undefined
    }
    one.end(answer)
    audience.tellAll(() => ({ type: 'settled', id: plan.id, why: how.why }), how.except)
    count(plan, answer)
  }

  /** What people say no to, and who is let be for a while by it. */
  function count({ origin, who }: Plan, answer: Answer): void {
    const said = saidBy(answer)
    if (said === 'yes') pauses.approved(origin)
    const paused = said === 'no' ? pauses.refused(origin) : undefined
    if (paused !== undefined) audience.notice(pauseInWords(paused, markedLine(who)))
  }

  /** A seat may answer while it is told: then the others have heard already that it is settled. */
  const newsOf = (one: Waiting) => (): SeatNews | undefined =>
    waiting.has(one.plan.id) ? { type: 'plan', plan: shown(one) } : undefined

  function expired(plan: Plan): boolean {
    const since = ages.began(plan)
    return since !== undefined && ages.passed(since, expiryMs)
  }

  const codesWork = () => wrongInAll < WRONG_IN_ALL

  const shown = ({ plan, preview, code = '', wrongCodes }: Waiting): ShownPlan => {
    const ended = `${WRONG_FOR_ONE} wrong codes were tried for this plan. It can be answered on a seat alone.`
    const warnings = [...(wrongCodes < WRONG_FOR_ONE ? [] : [ended]), ...(codesWork() ? [] : [NO_CODE_WORKS])]
    const waited_ms = Math.round(ages.waitedMs(plan))
    return { ...preview, warnings: [...preview.warnings, ...warnings], waited_ms, code }
  }

  function expire(one: Waiting): void {
    const afterMs = Math.round(ages.waitedMs(one.plan))
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
    const left = [...waiting.values()].map(({ plan }) => expiryMs - ages.waitedMs(plan))
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
    if (!audience.has(seat)) return { type: 'unknown' }
    const one = open(given.plan)
    if ('type' in one) return one
    if (given.hash !== one.plan.hash) return { type: 'wrong_hash' }
    const misfit = misfitOf(one.plan, given, one.preview.grants)
    if (misfit !== undefined) return { type: 'unfit', why: misfit }
    wrongInAll = 0
    settle(one, answerOf(given, seat.id), {
      why: `${seat.listener.who} ${didOf(given)}.`,
      except: seat,
    })
    return { type: 'taken' }
  }

  function answeredWithCode(given: CodedAnswer): Taken {
    const one = open(given.plan)
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
    if ('type' in open(one.plan.id)) return
    if (said.type === 'nothing' && said.doubted !== undefined) {
      journal.later({ type: 'seat', what: 'doubted', seat: null, who, why: said.doubted })
      audience.notice(`${who}: ${said.doubted}`)
    }
    if (said.type === 'answer' || audience.size === 0) settle(one, said.answer, said)
  }

  /** Puts it before whoever sits, and the client that it came from. */
  function put(plan: Plan, { signal, client }: Asking): Promise<Answer> {
    return new Promise<Answer>(resolve => {
      let takeBack: (() => void) | undefined
      const cancel = () => settle(one, { type: 'cancelled' }, { why: 'Its caller gave up.' })
      const end = (answer: Answer) => {
        signal.removeEventListener('abort', cancel)
        takeBack?.()
        resolve(answer)
      }
      const preview = { ...shownPlan(plan), turn: turns.joined(plan) }
      const one: Waiting = { plan, preview, code: newCode(randomness), wrongCodes: 0, looking: false, end }
      ages.begin(plan)
      waiting.set(plan.id, one)
      signal.addEventListener('abort', cancel)
      schedule()
      audience.tellAll(newsOf(one))
      if (client !== undefined && waiting.has(plan.id))
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
      return put(plan, how)
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
      const seat = audience.sit(listener)
      for (const one of [...waiting.values()]) {
        const news = newsOf(one)()
        if (news !== undefined) audience.tell(seat, news)
      }
      return { id: seat.id, answer: given => answered(seat, given), leave: () => audience.leave(seat, null) }
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
