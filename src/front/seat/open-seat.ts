import { messageOf, WireError } from '../../../wire/errors.ts'
import type { AnswerOutcome, SeatAnswer, ShownPlan, WaitingPlan } from '../../approvals/contract.ts'
import { refuseDebugger } from '../../debugger.ts'
import type { DaemonClient } from '../client.ts'
import type { Methods, SeatEvent, SeatRow, SeatTopicRow, SeatWanted } from '../protocol.ts'
import { newsOf, planNews } from '../topic-news.ts'

/** What somebody who sits is told, in order. */
export type SeatTold =
  | { readonly type: 'asked'; readonly seats: readonly SeatRow[] }
  | { readonly type: 'plan'; readonly plan: ShownPlan }
  /** Somebody else wants a seat, and `admit` answers that. */
  | { readonly type: 'wanted'; readonly wanted: SeatWanted }
  /** A plan, or somebody who wanted a seat, needs no answer any more; `id` names it. */
  | { readonly type: 'settled'; readonly id: string; readonly why: string }
  | { readonly type: 'notice'; readonly text: string }

export interface SeatOptions {
  /** Only where nobody sits; else it rejects with `seat_taken`. */
  readonly alone?: boolean
  tell(told: SeatTold): void
  /** Aborting gives up waiting to be admitted, and leaves a seat that was granted. */
  readonly signal?: AbortSignal
}

/** The right to answer, for as long as this connection lasts. */
export interface OpenSeat extends AsyncDisposable {
  /** `seat-1` */
  readonly id: string
  readonly who: string
  readonly others: readonly SeatRow[]
  /** Why dangerous calls are refused until somebody has acknowledged it; null while the journal is in order. */
  readonly trouble: string | null
  answer(answer: SeatAnswer): Promise<AnswerOutcome>
  /** Lets somebody else sit, or not; `wanted` names them. */
  admit(wanted: string, admit: boolean): Promise<void>
  acknowledge(): Promise<void>
  /** What is let through without asking, and who is not asked about for a while. */
  standing(): Promise<Pick<Methods['approvals']['result'], 'grants' | 'pauses'>>
  /** Ends a grant; false where there is none of that name. */
  revoke(grant: string): Promise<boolean>
  /** Ends all pauses. How many there were. */
  lift(): Promise<number>
  leave(): Promise<void>
  /** Settles when the seat is over: undefined if it was left, else why. */
  readonly ended: Promise<string | undefined>
}

/**
 * Takes a seat for this process, which has to run in the foreground of a terminal, and where others sit already,
 * waits until one of them admits it. Rejects with a `WireError` that says why it gets none, and has the code
 * `seat_refused` or `seat_taken`; and with a `Failure` where a debugger can connect to this process.
 */
export async function openSeat(client: DaemonClient, options: SeatOptions): Promise<OpenSeat> {
  refuseDebugger()
  const leaving = new AbortController()
  options.signal?.addEventListener('abort', () => leaving.abort())
  return new Promise((resolve, reject) => {
    const over = client.sit({
      wanted: { alone: options.alone ?? false },
      signal: leaving.signal,
      heard(event) {
        if (event.type === 'asked') return options.tell(event)
        follow()
        resolve(seatOf(event))
      },
    })
    const ended = over.then(
      () => undefined,
      (error: unknown) => (isEnd(error) ? 'The daemon has ended.' : messageOf(error)),
    )
    over.then(() => reject(new WireError('LINK_CLOSED', 'The seat was left before it was granted.')), reject)
    const inOrder = queue()
    /** Plans that were answered here, which is told by what the answer came to. */
    const answered = new Set<string>()

    function follow() {
      const { signal } = leaving
      const plans = planNews({
        waits: plan => inOrder(() => show(plan)),
        ended({ id, why }) {
          if (answered.delete(id)) return
          inOrder(() => options.tell({ type: 'settled', id, why: why || 'It has ended.' }))
        },
      })
      const seats = newsOf<SeatTopicRow>(({ row, before, isFirst }) => {
        if (row === null || 'seat' in row) return
        const isNew = before === undefined
        if ('text' in row) {
          const { text } = row
          if (isNew && !isFirst) inOrder(() => options.tell({ type: 'notice', text }))
          return
        }
        const { id, why } = row
        if (why !== null) inOrder(() => options.tell({ type: 'settled', id, why }))
        else if (isNew) options.tell({ type: 'wanted', wanted: row })
      })
      void client.subscribe({ topics: ['approvals'], everywhere: true, signal, heard: plans }).catch(() => {})
      void client.subscribe({ topics: ['seats'], signal, heard: seats }).catch(() => {})
    }

    async function show(plan: WaitingPlan) {
      const {
        body,
        failed,
        files: _,
        ...shown
      } = await client.request('plan', { plan: plan.id }).then(bodyThere, bodyMissing)
      if (failed !== undefined)
        options.tell({ type: 'notice', text: `${plan.id} waits, and cannot be shown here: ${failed}` })
      else if (body !== null) options.tell({ type: 'plan', plan: { ...plan, ...shown, body } })
    }

    async function answer(given: SeatAnswer) {
      answered.add(given.plan)
      const taken = await client.request('answer', given)
      if (taken.type !== 'taken' && taken.type !== 'late') answered.delete(given.plan)
      return taken
    }

    function seatOf({ seat, who, others, trouble }: Extract<SeatEvent, { type: 'seated' }>): OpenSeat {
      const leave = async () => {
        leaving.abort()
        await ended
      }
      return {
        id: seat,
        who,
        others,
        trouble,
        answer,
        admit: async (wanted, admit) => void (await client.request('admit', { wanted, admit })),
        acknowledge: async () => void (await client.request('acknowledge', {})),
        standing: () => client.request('approvals', {}),
        revoke: async grant => (await client.request('revoke', { grant })).revoked,
        lift: async () => (await client.request('lift', {})).lifted,
        leave,
        ended,
        [Symbol.asyncDispose]: leave,
      }
    }
  })
}

/** The same, which also tells who else can answer there. */
export async function openToldSeat(client: DaemonClient, options: SeatOptions): Promise<OpenSeat> {
  const seat = await openSeat(client, options)
  for (const text of multiplexed()) options.tell({ type: 'notice', text })
  return seat
}

/** Who else can type at this terminal, where another program makes it: a line for the person. */
export const multiplexed = (): readonly string[] =>
  MULTIPLEXERS.filter(([, variable]) => process.env[variable]).map(
    ([name]) => `This terminal is in ${name}: any program of yours that can drive ${name} can answer here.`,
  )

const MULTIPLEXERS = [
  ['tmux', 'TMUX'],
  ['screen', 'STY'],
  ['zellij', 'ZELLIJ'],
] as const

/** Whether it is how the end of the daemon is learned. */
const isEnd = (error: unknown) => error instanceof WireError && error.code === 'LINK_CLOSED'

const bodyThere = (found: Methods['plan']['result']) => ({ ...found, failed: undefined })

const bodyMissing = (error: unknown) => ({ ...NOTHING, failed: messageOf(error) })

const NOTHING: Methods['plan']['result'] = { body: null, hunks: [], files: [], args: null, code: '' }

/** One after the other. What fails is passed over: its seat is over too. */
function queue(): (work: () => void | Promise<void>) => void {
  let last = Promise.resolve()
  return work => {
    last = last.then(work).catch(() => {})
  }
}
