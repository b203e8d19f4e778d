import { type Link, Refusal } from '../../../wire/link/link.ts'
import type { Approvals, Seat, Taken } from '../../core/approvals.ts'
import { type Clock, SYSTEM_CLOCK } from '../../core/clock.ts'
import type { Journal } from '../../core/journal.ts'
import { startOf } from '../../instance.ts'
import type { FailureData, Methods, SeatEvent, SeatRow, TerminalChallenge } from '../protocol.ts'
import type { ServeContext } from '../server.ts'
import { Admissions } from './admissions.ts'
import type { Proof } from './proof.ts'

export interface SeatsOptions {
  readonly approvals: Approvals
  readonly journal: Pick<Journal, 'later' | 'trouble' | 'acknowledge'>
  /** Looks whether a person runs the client at a terminal; `challenge` puts the question to it. */
  prove(challenge: (told: TerminalChallenge) => Promise<number>): Promise<Proof>
  readonly clock?: Clock
}

/** The methods about seats. Who may do what is told by the connection that a message came on, never by the message. */
export type Seats = {
  readonly [M in SeatMethod]: (
    params: Methods[M]['params'],
    context: ServeContext,
  ) => Methods[M]['result'] | Promise<Methods[M]['result']>
}

export type SeatMethod =
  | 'sit'
  | 'admit'
  | 'answer'
  | 'plan'
  | 'approvals'
  | 'approve'
  | 'deny'
  | 'acknowledge'
  | 'lift'
  | 'revoke'

/** A seat and the connection that it belongs to. */
interface Held {
  readonly seat: Seat
  readonly who: string
  readonly process: { readonly pid: number; readonly started: string }
  tell(event: SeatEvent): void
}

/**
 * Who sits, and what they may do. A seat is granted after the proof, and where others sit already, after one of them
 * has admitted it. It lives in memory and ends with its call or its connection. Each grant, refusal and leaving, and
 * each try to do without a seat what only a seat may, is in the journal and told to whoever sits.
 */
export function openSeats({ approvals, journal, prove, clock = SYSTEM_CLOCK }: SeatsOptions): Seats {
  const held = new Map<Link, Held>()
  const sitting = new Set<Link>()
  const told = new WeakSet<Link>()
  const admissions = new Admissions(clock)

  const tellAll = (event: SeatEvent) => {
    for (const one of held.values()) one.tell(event)
  }
  const rows = (): SeatRow[] => [...held.values()].map(({ seat, who }) => ({ seat: seat.id, who }))

  function refuse(who: string, { why, next }: { why: string; next: string }): Refusal {
    journal.later({ type: 'seat', what: 'refused', seat: null, who, why })
    tellAll({ type: 'notice', text: `${who} wanted a seat and did not get it. ${why}` })
    return refusal('seat_refused', `No seat: ${why}`, next)
  }

  async function prepared({ alone = false }: Methods['sit']['params'], { link, served }: ServeContext) {
    if (sitting.has(link)) throw refusal('seat_refused', 'This connection has a seat already.', null)
    if (alone && held.size > 0) throw taken(rows())
    const proof = await prove(challenge => challenged(link, challenge))
    if (proof.type === 'unproved') throw refuse(proof.who, proof)
    if (alone && held.size > 0) throw taken(rows())
    if (held.size === 0) return proof
    served.event({ type: 'asked', seats: rows() } satisfies SeatEvent)
    const { pid, who, terminal, command } = proof
    const refused = await admissions.ask({
      wanted: { type: 'seat_wanted', who, terminal, pid, command },
      signal: served.signal,
      tell: tellAll,
    })
    if (refused !== undefined) throw refuse(who, { why: refused, next: whoSits(rows()) })
    return proof
  }

  /** Until the client cancels it, goes away, or does not read what it is told. */
  async function sit(params: Methods['sit']['params'], context: ServeContext) {
    const { link, served } = context
    const proof = await prepared(params, context)
    const { who, pid, started } = proof
    if (served.signal.aborted) return {}
    return await new Promise<Methods['sit']['result']>((resolve, reject) => {
      let seat: Seat | undefined
      const early: SeatEvent[] = []
      const tell = (event: SeatEvent) => {
        if (seat === undefined) early.push(event)
        else if (served.event(event) === 'dropped' && !served.signal.aborted)
          over(refusal('seat_refused', 'The seat is over: it did not read what it was told.', AT_A_TERMINAL))
      }
      const over = (error?: Refusal) => {
        if (!held.delete(link)) return
        seat?.leave()
        tellAll({ type: 'notice', text: `${seat?.id}, ${who}, has left.` })
        if (held.size === 0) admissions.close('The seat that was asked has left. Try again.')
        if (error === undefined) resolve({})
        else reject(error)
      }
      const sat = approvals.sit({ who, tell: news => tell(eventOf(news)) })
      tellAll({ type: 'notice', text: `${sat.id} was taken by ${who}.` })
      const others = rows()
      held.set(link, { seat: sat, who, process: { pid, started }, tell })
      seat = sat
      tell({ type: 'seated', seat: sat.id, who, others, trouble: journal.trouble ?? null })
      for (const event of early) tell(event)
      admissions.tellAgain(tell)
      served.signal.addEventListener('abort', () => over())
    })
  }

  /** The seat of this connection, or a refusal that everybody hears of. */
  function seatOf(what: string, { link, session }: ServeContext): Held {
    const found = held.get(link)
    if (found !== undefined && startOf(found.process.pid) === found.process.started) return found
    const who = `${session.name} (${session.id})`
    const why = `It tried to ${what}, and has no seat.`
    journal.later({ type: 'seat', what: 'refused', seat: null, who, why })
    // Once for each connection: the journal has the others.
    if (!told.has(link)) tellAll({ type: 'notice', text: `${who}: ${why}` })
    told.add(link)
    throw refusal('no_seat', `Only a seat may ${what}, and this connection has none.`, AT_A_TERMINAL)
  }

  function withCode(
    given: { plan: string; code: string; decision: 'approve' | 'deny'; reason?: string },
    { session }: ServeContext,
  ): Taken {
    const answer = approvals.answerWithCode(given)
    if (answer.type === 'wrong_code') {
      const who = `${session.name} (${session.id})`
      const why = `It gave a wrong code for ${given.plan}.`
      journal.later({ type: 'seat', what: 'refused', seat: null, who, why })
      tellAll({ type: 'notice', text: `${who}: ${why}` })
    }
    return answer
  }

  return {
    async sit(params, context) {
      const { link } = context
      try {
        const ended = sit(params, context)
        sitting.add(link)
        return await ended
      } finally {
        sitting.delete(link)
      }
    },
    admit({ wanted, admit }, context) {
      const { seat, who } = seatOf('admit somebody', context)
      return { taken: admissions.answer(wanted, { admit, by: `${seat.id}, ${who}` }) }
    },
    answer: (answer, context) => seatOf(`answer ${answer.plan}`, context).seat.answer(answer),
    plan({ plan }, context) {
      seatOf(`read ${plan}`, context)
      const { body = null, hunks = [], args = null } = approvals.previewOf(plan) ?? {}
      return { body, hunks, args }
    },
    approvals: () => ({
      seats: rows(),
      approvals: approvals.waiting(),
      grants: approvals.grants(),
      pauses: approvals.pauses(),
      ends: approvals.ends(),
    }),
    revoke: ({ grant }, { session }) => ({
      revoked: approvals.revoke(grant, `${session.name} (${session.id})`),
    }),
    approve: ({ plan, code }, context) => withCode({ plan, code, decision: 'approve' }, context),
    deny: ({ plan, code, reason }, context) =>
      withCode({ plan, code, decision: 'deny', ...(reason === undefined ? {} : { reason }) }, context),
    lift: (_, context) => ({ lifted: seatOf('end a pause', context).seat.lift() }),
    async acknowledge(_, context) {
      const { seat, who } = seatOf('take note of trouble with the journal', context)
      await journal.acknowledge(`${seat.id}, ${who}`)
      return {}
    },
  }
}

const AT_A_TERMINAL = 'A person takes a seat with: imago watch'

/** How long a client may take to show its terminal, in milliseconds. */
const CHALLENGE_MS = 10_000

async function challenged(link: Link, challenge: TerminalChallenge): Promise<number> {
  const answer = await link.call('prove', challenge, { deadlineMs: CHALLENGE_MS })
  if (typeof answer === 'object' && answer !== null && 'pid' in answer && Number.isSafeInteger(answer.pid))
    return Number(answer.pid)
  throw new Refusal('invalid_params', 'The client did not say its process number.')
}

/** The body of a plan may be large, and is asked for. */
function eventOf(news: Parameters<Parameters<Approvals['sit']>[0]['tell']>[0]): SeatEvent {
  if (news.type !== 'plan') return news
  const { body: _, hunks: __, args: ___, ...plan } = news.plan
  return { type: 'plan', plan }
}

function refusal(code: 'seat_refused' | 'seat_taken' | 'no_seat', message: string, next: string | null) {
  return new Refusal(code, message, { details: {}, next, retryable: false } satisfies FailureData)
}

const taken = (seats: readonly SeatRow[]) =>
  refusal('seat_taken', `There is a seat already: ${whoSits(seats)}`, null)

const whoSits = (seats: readonly SeatRow[]) =>
  seats.length === 0
    ? 'Run imago watch again.'
    : `It has to be admitted by ${seats.map(({ seat, who }) => `${seat}, ${who}`).join(', or by ')}. If that is not you, end that process.`
