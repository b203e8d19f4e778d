import type { Link } from '../../../wire/link/link.ts'
import type { Approvals, CodedAnswer, Taken } from '../../core/approvals.ts'
import { type Clock, SYSTEM_CLOCK } from '../../core/clock.ts'
import type { Journal } from '../../core/journal.ts'
import type { Methods } from '../protocol.ts'
import type { ServeContext } from '../server.ts'
import { Admissions } from './admissions.ts'
import { type Held, HeldSeats } from './held-seats.ts'
import { AT_A_TERMINAL, refusal } from './seat-refusals.ts'
import { openTaking, type TakingOptions } from './taking.ts'

export interface SeatsOptions {
  readonly approvals: Approvals
  readonly journal: Pick<Journal, 'later' | 'trouble' | 'acknowledge'>
  readonly prove: TakingOptions['prove']
  readonly clock?: Clock
}

/** Who sits, for the methods about seats and for all others. */
export interface OpenSeats {
  readonly methods: Seats
  /** The seat of this connection, or the refusal `no_seat`, which everybody hears of. */
  seatOf(what: string, context: ServeContext): Held
  /** Undefined where nobody has a seat on that connection. */
  whoSits(link: Link): string | undefined
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

/**
 * Who sits, and what they may do. A seat lives in memory and ends with its call or its connection. Each grant, refusal
 * and leaving, and each try to do without a seat what only a seat may, is in the journal and told to whoever sits.
 */
export function openSeats({ approvals, journal, prove, clock = SYSTEM_CLOCK }: SeatsOptions): OpenSeats {
  const held = new HeldSeats()
  const admissions = new Admissions(clock)
  const { seatOf, withCode } = openRights({ held, approvals, journal })

  const methods: Seats = {
    sit: openTaking({ held, admissions, approvals, journal, prove }),
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
      seats: held.rows(),
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
  return {
    methods,
    seatOf,
    whoSits(link) {
      const found = held.of(link)
      return found && `${found.seat.id}, ${found.who}`
    },
  }
}

type RightsOptions = Pick<SeatsOptions, 'approvals' | 'journal'> & { readonly held: HeldSeats }

/** By what right a message may do something: the seat of its connection, or the code of a plan. */
function openRights({ held, approvals, journal }: RightsOptions) {
  const told = new WeakSet<Link>()

  function tried({ session }: ServeContext, why: string): string {
    const who = `${session.name} (${session.id})`
    journal.later({ type: 'seat', what: 'refused', seat: null, who, why })
    return `${who}: ${why}`
  }

  return {
    /** The seat of this connection, or a refusal that everybody hears of. */
    seatOf(what: string, context: ServeContext): Held {
      const { link } = context
      const found = held.of(link)
      if (found !== undefined) return found
      const notice = tried(context, `It tried to ${what}, and has no seat.`)
      // Once for each connection: the journal has the others.
      if (!told.has(link)) held.notice(notice)
      told.add(link)
      throw refusal('no_seat', `Only a seat may ${what}, and this connection has none.`, AT_A_TERMINAL)
    },
    withCode(given: CodedAnswer, context: ServeContext): Taken {
      const answer = approvals.answerWithCode(given)
      if (answer.type === 'wrong_code') held.notice(tried(context, `It gave a wrong code for ${given.plan}.`))
      return answer
    },
  }
}
