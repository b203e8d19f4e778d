import { type Link, Refusal } from '../../../wire/link/link.ts'
import type { Approvals, Seat } from '../../core/approvals.ts'
import type { Journal } from '../../core/journal.ts'
import type { Methods, SeatEvent, TerminalChallenge } from '../protocol.ts'
import type { ServeContext } from '../server.ts'
import type { Admissions } from './admissions.ts'
import type { HeldSeats } from './held-seats.ts'
import type { Proof } from './proof.ts'
import { AT_A_TERMINAL, refusal, taken, whoSits } from './seat-refusals.ts'

export interface TakingOptions {
  readonly held: HeldSeats
  readonly admissions: Admissions
  readonly approvals: Pick<Approvals, 'sit'>
  readonly journal: Pick<Journal, 'later' | 'trouble'>
  /** Looks whether a person runs the client at a terminal; `challenge` puts the question to it. */
  prove(challenge: (told: TerminalChallenge) => Promise<number>): Promise<Proof>
}

/** Takes a seat, and settles when it is over. */
export type Take = (
  params: Methods['sit']['params'],
  context: ServeContext,
) => Promise<Methods['sit']['result']>

type Proved = Extract<Proof, { type: 'proved' }>

/**
 * How a seat is taken: after the proof, and where others sit already, after one of them has admitted it. One at a time
 * for each connection. Each that is refused is in the journal and told to whoever sits.
 */
export function openTaking({ held, admissions, approvals, journal, prove }: TakingOptions): Take {
  const sitting = new Set<Link>()

  function refuse(who: string, { why, next }: { why: string; next: string }): Refusal {
    journal.later({ type: 'seat', what: 'refused', seat: null, who, why })
    held.notice(`${who} wanted a seat and did not get it. ${why}`)
    return refusal('seat_refused', `No seat: ${why}`, next)
  }

  async function proved({ alone = false }: Methods['sit']['params'], link: Link): Promise<Proved> {
    if (alone && held.size > 0) throw taken(held.rows())
    const proof = await prove(challenge => challenged(link, challenge))
    if (proof.type === 'unproved') throw refuse(proof.who, proof)
    if (alone && held.size > 0) throw taken(held.rows())
    return proof
  }

  async function admitted(proof: Proved, { served }: ServeContext): Promise<void> {
    if (held.size === 0) return
    served.event({ type: 'asked', seats: held.rows() } satisfies SeatEvent)
    const { pid, who, terminal, command } = proof
    const refused = await admissions.ask({
      wanted: { type: 'seat_wanted', who, terminal, pid, command },
      signal: served.signal,
      tell: event => held.tellAll(event),
    })
    if (refused !== undefined) throw refuse(who, { why: refused, next: whoSits(held.rows()) })
  }

  /** Until the client cancels it, goes away, or does not read what it is told. */
  function seated({ who, pid, started }: Proved, { link, served }: ServeContext) {
    return new Promise<Methods['sit']['result']>((resolve, reject) => {
      let seat: Seat | undefined
      const early: SeatEvent[] = []
      const tell = (event: SeatEvent) => {
        if (seat === undefined) early.push(event)
        else if (served.event(event) === 'dropped' && !served.signal.aborted)
          over(refusal('seat_refused', 'The seat is over: it did not read what it was told.', AT_A_TERMINAL))
      }
      const over = (error?: Refusal) => {
        if (!held.remove(link)) return
        seat?.leave()
        held.notice(`${seat?.id}, ${who}, has left.`)
        if (held.size === 0) admissions.close('The seat that was asked has left. Try again.')
        if (error === undefined) resolve({})
        else reject(error)
      }
      const sat = approvals.sit({ who, tell: news => tell(eventOf(news)) })
      held.notice(`${sat.id} was taken by ${who}.`)
      const others = held.rows()
      held.add(link, { seat: sat, who, process: { pid, started }, tell })
      seat = sat
      tell({ type: 'seated', seat: sat.id, who, others, trouble: journal.trouble ?? null })
      for (const event of early) tell(event)
      admissions.tellAgain(tell)
      served.signal.addEventListener('abort', () => over())
    })
  }

  async function sit(params: Methods['sit']['params'], context: ServeContext) {
    const proof = await proved(params, context.link)
    await admitted(proof, context)
    return context.served.signal.aborted ? {} : await seated(proof, context)
  }

  return async (params, context) => {
    const { link } = context
    if (sitting.has(link)) throw refusal('seat_refused', 'This connection has a seat already.', null)
    sitting.add(link)
    try {
      return await sit(params, context)
    } finally {
      sitting.delete(link)
    }
  }
}

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
