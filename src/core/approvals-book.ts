import { randomInt } from 'node:crypto'
import { openAges } from './ages.ts'
import { openAnswering } from './answering.ts'
import type { Approvals, Asking, Seat, SeatListener, ShownPlan, WaitingPlan } from './approvals.ts'
import { Audience } from './audience.ts'
import { askClient, counts, nameOf } from './client-asking.ts'
import type { Clock } from './clock.ts'
import { patternsOf } from './grant-patterns.ts'
import { openGranting } from './granting.ts'
import type { Journal } from './journal.ts'
import { openPausing } from './pausing.ts'
import type { Answer, Plan } from './plan.ts'
import { openPlanCodes } from './plan-codes.ts'
import { noteOf, openRepeated, ruleAgainst } from './repeated.ts'
import { type Shown, shownPlan } from './shown-plan.ts'
import { openTurns } from './turns.ts'
import { openWaitingPlans, type Waiting } from './waiting-plans.ts'

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

/** Plans and seats in the memory of one daemon, and nowhere else: what waited before it began is unknown to it. */
export function openApprovals(options: ApprovalsOptions): OpenApprovals {
  const { clock, expiryMs, journal, log, randomness = randomInt, roomToUndo = () => true } = options
  const ages = openAges(options)
  const turns = openTurns(clock)
  const repeated = openRepeated()
  const notes = new WeakMap<Plan, string>()
  const audience: Audience = new Audience({ journal, log, left: seat => granting.left(seat) })
  const granting = openGranting({ ages, clock, journal, audience, expiryMs, roomToUndo })
  const codes = openPlanCodes({ randomness, ended: codeEnded })
  const pausing = openPausing({ clock, turns, journal, audience })
  const plans = openWaitingPlans({ clock, ages, expiryMs, expired, audience, turns, pausing })
  const answering = openAnswering({ plans, audience, granting, codes, journal })

  function expired(plan: Plan): boolean {
    const since = ages.began(plan)
    return (since !== undefined && ages.passed(since, expiryMs)) || granting.hasEndedFor(plan)
  }

  function codeEnded(of: 'plan' | 'all', why: string): void {
    journal.later({ type: 'seat', what: 'refused', seat: null, who: 'a script', why })
    if (of === 'all') audience.notice(why)
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
  function put(plan: Plan, { signal, client }: Asking, told: Pick<Waiting, 'preview' | 'patterns'>) {
    return new Promise<Answer>(resolve => {
      let takeBack: (() => void) | undefined
      const cancel = () => plans.settle(one, { type: 'cancelled' }, { why: 'Its caller gave up.' })
      const end = (answer: Answer) => {
        signal.removeEventListener('abort', cancel)
        takeBack?.()
        resolve(answer)
      }
      const one: Waiting = { plan, ...told, code: codes.draw(plan.id), looking: false, end }
      ages.begin(plan)
      plans.add(one)
      signal.addEventListener('abort', cancel)
      audience.tellAll(() => plans.newsOf(one))
      if (client !== undefined && plans.get(plan.id) !== undefined)
        takeBack = askClient(client, plans.shown(one), said => answering.byClient(one, nameOf(client), said))
    })
  }

  async function ask(plan: Plan, how: Asking): Promise<Answer> {
    if (how.signal.aborted) return { type: 'cancelled' }
    if (audience.size === 0 && !counts(how.client)) return { type: 'unavailable' }
    const plain = shownPlan(plan)
    const patterns = how.byDefault === undefined ? [] : patternsOf(plan, plain)
    const granted = patterns.length > 0 ? granting.letThrough(plan, plain) : undefined
    if (granted?.type === 'approved') return granted
    const warnings = granted === undefined ? plain.warnings : [...plain.warnings, granted.why]
    const turn = turns.joined(plan)
    const grants = patterns.map(({ text }) => text)
    const preview = { ...plain, warnings, turn, grants, ...repetition(plan, how) }
    return put(plan, how, { preview, patterns })
  }

  function sit(listener: SeatListener): Seat {
    pausing.sits()
    const seat = audience.sit(listener)
    for (const one of plans.all()) {
      const news = plans.newsOf(one)
      if (news !== undefined) audience.tell(seat, news)
    }
    return {
      id: seat.id,
      answer: given => answering.onSeat(seat, given),
      lift: () => (audience.has(seat) ? pausing.lift(seat) : 0),
      leave: () => audience.leave(seat, null),
    }
  }

  return {
    get seated() {
      return audience.size > 0
    },
    ask,
    waiting: () => plans.all().map(one => listed(plans.shown(one))),
    previewOf: plan => plans.get(plan)?.preview,
    crowding: (of, most) => plans.before(of, most),
    get full() {
      return plans.all().length >= MOST_WAITING
    },
    paused: origin => pausing.paused(origin),
    pauses: () => pausing.list(),
    ends: () => plans.ends(),
    expired,
    sit,
    answerWithCode: answering.withCode,
    noteOn: plan => notes.get(plan),
    grants: () => granting.list(),
    revoke: granting.revoke,
    kept: () => sum([plans, turns, granting, repeated, audience]),
    close() {
      for (const one of plans.all()) plans.settle(one, DAEMON_ENDED, { why: 'The daemon ends.' })
      granting.close()
    },
  }
}

/** Without its code, which is for seats alone, and its texts. */
function listed({ code: _, body: __, hunks: ___, args: ____, ...plan }: ShownPlan): WaitingPlan {
  return plan
}

const sum = (parts: readonly { readonly size: number }[]) => parts.reduce((all, { size }) => all + size, 0)

/** Its caller may wait for the answer still, and is told why there is none. */
const DAEMON_ENDED = { type: 'cancelled', reason: 'the daemon ended' } as const
