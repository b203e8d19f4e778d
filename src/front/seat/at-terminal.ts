import type { Envelope } from '../../../tools/outcome.ts'
import { isRunning } from '../../../tools/outcome.ts'
import { WireError } from '../../../wire/errors.ts'
import type { DaemonClient } from '../client.ts'
import { asksText } from '../notify.ts'
import { redraft } from '../person-editor.ts'
import type { Printer } from '../print.ts'
import { type Asker, openAsker } from './asker.ts'
import { type LineInput, openLineInput } from './line-terminal.ts'
import { type OpenSeat, openSeat, type SeatTold } from './open-seat.ts'

interface TerminalSeatOptions {
  readonly client: DaemonClient
  readonly printer: Printer
  /** Only where nobody sits. */
  readonly alone?: boolean
  /** Told of the first plan of each turn, in a line of ours. */
  ring?(text: string): void
}

/** A seat at the terminal of this process, and who asks there. */
interface TerminalSeat {
  readonly seat: OpenSeat
  readonly asker: Asker
  readonly input: LineInput
}

/** Whether this process has a terminal to ask at: it reads from one, and writes to it. */
export const hasTerminal = () => process.stdin.isTTY === true && process.stdout.isTTY === true

/**
 * Takes a seat for the terminal of this process, and does `work` while it has it. Rejects as `openSeat` does, and
 * gives the terminal back in any case.
 */
export async function atTerminal<Result>(
  { client, printer, alone = false, ring }: TerminalSeatOptions,
  work: (at: TerminalSeat) => Promise<Result>,
): Promise<Result> {
  const input = openLineInput(process.stdin, text => printer.out(text))
  try {
    const asker = openAsker({
      input,
      printer,
      terminal: process.stdout,
      edit: draft => input.lend(() => redraft(draft)),
    })
    let rungFor = ''
    const tell = (told: SeatTold) => {
      if (told.type === 'plan' && told.plan.turn !== rungFor) {
        rungFor = told.plan.turn
        ring?.(asksText(told.plan))
      }
      asker.tell(told)
    }
    await using seat = await openSeat(client, { alone, tell, signal: input.left })
    return await work({ seat, asker, input })
  } finally {
    input.close()
  }
}

/**
 * Does `work`, such as a call that makes a plan, and asks whoever runs this process, at its terminal, about it. `left`
 * is aborted when they leave instead of answering. Where somebody has a seat already, those are asked as ever, and
 * where there is no terminal nobody is asked here; then there is no `left`.
 */
export async function askHere<Result>(
  { client, printer }: Omit<TerminalSeatOptions, 'alone'>,
  work: (left?: AbortSignal) => Promise<Result>,
): Promise<Result> {
  if (!hasTerminal()) return work()
  try {
    return await atTerminal({ client, printer, alone: true }, async ({ seat, asker }) => {
      const [over, left] = [new AbortController(), new AbortController()]
      const asking = asker.run(seat, over.signal).then(() => left.abort())
      try {
        return await work(left.signal)
      } finally {
        over.abort()
        await asking
      }
    })
  } catch (error) {
    if (!isNoSeat(error)) throw error
    if (error.remote?.code === 'seat_refused') printer.err(`${error.remote.message}\n`)
    return work()
  }
}

/** The seat was not granted, so `work` has not begun. */
const isNoSeat = (error: unknown): error is WireError =>
  error instanceof WireError && (error.remote?.code === 'seat_refused' || error.remote?.code === 'seat_taken')

/**
 * How a call ended about which somebody is asked at this terminal, however long they take: `first` is its first answer,
 * which may be that it waits. Where they leave, it is withdrawn.
 */
export async function untilAnswered(
  client: { call(call: { tool: string; args: Readonly<Record<string, unknown>> }): Promise<Envelope> },
  { first, left }: { readonly first: Envelope; readonly left: AbortSignal | undefined },
): Promise<Envelope> {
  if (left === undefined || !first.ok || !isRunning(first.result)) return first
  const { job } = first.result
  const withdraw = () => void client.call({ tool: 'interrupt_job', args: { job } }).catch(() => {})
  if (left.aborted) withdraw()
  else left.addEventListener('abort', withdraw)
  for (;;) {
    const answer = await client.call({ tool: 'job', args: { job, action: 'wait', seconds: 3_600 } })
    if (!answer.ok || !isRunning(answer.result)) return answer
  }
}
