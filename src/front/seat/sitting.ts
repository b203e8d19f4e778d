import { WireError } from '../../../wire/errors.ts'
import type { DaemonClient } from '../client.ts'
import type { Printer } from '../terminal.ts'
import { type Asker, openAsker } from './asker.ts'
import { type OpenSeat, openSeat } from './open-seat.ts'
import { openTyping, type Typing } from './typing.ts'

export interface SittingOptions {
  readonly client: DaemonClient
  readonly printer: Printer
  /** Only where nobody sits. */
  readonly alone?: boolean
}

/** A seat at the terminal of this process, and who asks there. */
export interface AtTerminal {
  readonly seat: OpenSeat
  readonly asker: Asker
  readonly typing: Typing
}

/** Whether this process has a terminal to ask at: it reads from one, and writes to it. */
export const hasTerminal = () => process.stdin.isTTY === true && process.stdout.isTTY === true

/**
 * Takes a seat for the terminal of this process, and does `work` while it has it. Rejects as `openSeat` does, and
 * gives the terminal back in any case.
 */
export async function atTerminal<Result>(
  { client, printer, alone = false }: SittingOptions,
  work: (at: AtTerminal) => Promise<Result>,
): Promise<Result> {
  const typing = openTyping(process.stdin, text => printer.out(text))
  try {
    const asker = openAsker({ typing, printer, terminal: process.stdout })
    const { tell, admit } = asker
    await using seat = await openSeat(client, { alone, tell, admit, signal: typing.left })
    return await work({ seat, asker, typing })
  } finally {
    typing.close()
  }
}

/**
 * Does `work`, such as a call that makes a plan, and asks whoever runs this process, at its terminal, about it. Where
 * somebody has a seat already they are asked as ever, and where there is no terminal nobody is asked here.
 */
export async function askHere<Result>(
  { client, printer }: Omit<SittingOptions, 'alone'>,
  work: () => Promise<Result>,
): Promise<Result> {
  if (!hasTerminal()) return work()
  try {
    return await atTerminal({ client, printer, alone: true }, async ({ seat, asker }) => {
      const over = new AbortController()
      const asking = asker.run(seat, over.signal)
      try {
        return await work()
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
