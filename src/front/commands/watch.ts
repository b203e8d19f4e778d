import { duration, oneLine } from '../../../tools/text.ts'
import type { WaitingPlan } from '../../approvals/contract.ts'
import { readConfig } from '../../config.ts'
import { EXIT, type ExitCode, Failure } from '../../failure.ts'
import { findPaths } from '../../paths.ts'
import { connectHere, type DaemonClient } from '../client.ts'
import type { CommandInput } from '../command.ts'
import { openNotifier } from '../notify.ts'
import { isCapable, type Printer } from '../print.ts'
import { atTerminal, hasTerminal } from '../seat/at-terminal.ts'
import { multiplexed, openToldSeat } from '../seat/open-seat.ts'
import { planEnd } from '../seat/plan-text.ts'
import { newsText } from '../suspension-news.ts'
import { planNews, type ToldEnd } from '../topic-news.ts'

/**
 * `imago watch`: a seat at this terminal. Plans are put before the person there until it is left, or is lost: on the
 * whole screen, or line by line where the terminal can do no more. Without a terminal it lists them, and answers none.
 */
export async function watch({ printer, options }: CommandInput): Promise<ExitCode> {
  const desktop = readConfig(findPaths().configDir).watch.notify
  await using client = await connectHere('imago watch')
  if (!hasTerminal()) return await list({ client, printer })
  if (options.plain === true || !isCapable(process.env)) return await lineByLine({ client, printer, desktop })
  return await onScreen({ client, printer, desktop })
}

interface Parts {
  readonly client: DaemonClient
  readonly printer: Printer
}

async function onScreen({ client, printer, desktop }: Parts & { desktop: boolean }): Promise<ExitCode> {
  const { watchHere } = await import('../../terminal/desk-page.ts')
  const { lost, past } = await watchHere({
    desktop,
    sit: options => openToldSeat(client, options),
    follow: ({ tell, signal }) => void followSuspended({ client, tell, signal }),
  })
  for (const one of past) printer.out(`${planEnd(one).join('')}\n`)
  return ended(printer, lost)
}

async function lineByLine({ client, printer, desktop }: Parts & { desktop: boolean }): Promise<ExitCode> {
  const notifier = openNotifier({
    desktop,
    bell: () => void process.stdout.write('\x07'),
    failed: why => printer.err(`${why}\n`),
  })
  const ring = (text: string) => notifier.notify(text)
  return await atTerminal({ client, printer, ring }, async ({ seat, asker }) => {
    printer.out(`${seat.id}, ${seat.who}: plans that need approval are shown here. Ctrl-C leaves.\n`)
    for (const text of multiplexed()) printer.out(`${text}\n`)
    for (const { seat: other, who } of seat.others) printer.out(`There is also ${other}, ${who}.\n`)
    const over = new AbortController()
    const lost = seat.ended.then(why => {
      over.abort()
      return why
    })
    const tell = (text: string) => asker.tell({ type: 'notice', text })
    void followSuspended({ client, tell, signal: over.signal })
    await asker.run(seat, over.signal)
    await seat.leave()
    return ended(printer, await lost)
  })
}

interface NewsOptions {
  readonly client: Pick<DaemonClient, 'watchSuspensions'>
  readonly signal: AbortSignal
  tell(text: string): void
}

/** What becomes of suspended evaluations, in all projects: nobody is asked anything by it. */
function followSuspended({ client, signal, tell }: NewsOptions): Promise<void> {
  return client.watchSuspensions({
    everywhere: true,
    signal,
    heard(event) {
      const text = newsText(event)
      if (text !== undefined) tell(text)
    },
  })
}

/** A daemon is started where there is none. */
const AGAIN = 'To start again: imago watch'

function ended(printer: Printer, lost: string | undefined): ExitCode {
  if (lost !== undefined) throw new Failure(`The seat is lost: ${lost} ${AGAIN}`)
  printer.out('The seat was left. What waits goes on waiting.\n')
  return EXIT.done
}

async function list({ client, printer }: Parts): Promise<ExitCode> {
  const [input, output] = [process.stdin.isTTY === true, process.stdout.isTTY === true]
  const why = output
    ? 'its input is no terminal'
    : input
      ? 'its output is no terminal'
      : 'neither its input nor its output is a terminal'
  printer.out(
    `This is a list, and answers nothing: ${why}. A person answers in a terminal of their own, with imago watch; a script with imago approve, and a code that is shown there.\n`,
  )
  const over = new AbortController()
  const stop = () => over.abort()
  process.on('SIGINT', stop).on('SIGTERM', stop)
  process.stdout.on('error', stop).on('close', stop)
  const tell = (text: string) => printer.out(`suspended  ${text}\n`)
  void followSuspended({ client, tell, signal: over.signal })
  await followPlans({ client, printer, signal: over.signal })
  if (!over.signal.aborted) throw new Failure(`The daemon has ended. ${AGAIN}`)
  return EXIT.done
}

export interface FollowOptions {
  readonly client: Pick<DaemonClient, 'subscribe'>
  readonly printer: Pick<Printer, 'out'>
  /** Aborts when nobody reads it any more. */
  readonly signal: AbortSignal
}

/**
 * Prints a line for each plan that comes, and a line that says how the plan ended.
 * Answers nothing.
 */
export async function followPlans({ client, printer, signal }: FollowOptions): Promise<void> {
  const heard = planNews({
    waits(plan, isNew) {
      if (isNew) printer.out(`${waitingLine(plan)}\n`)
    },
    ended: end => printer.out(`${endLine(end)}\n`),
  })
  await client.subscribe({ topics: ['approvals'], signal, heard })
}

function endLine({ id, tool, title, outcome, why }: ToldEnd): string {
  const cells = ['settled', id, outcome.replaceAll('_', ' '), oneLine(tool), oneLine(title), oneLine(why)]
  return cells.filter(cell => cell !== '').join('  ')
}

function waitingLine({ id, tool, kernel, who, waited_ms, title }: WaitingPlan): string {
  const where = kernel === null ? '' : ` on ${oneLine(kernel)}`
  const since = waited_ms < 1_000 ? '' : `, who has waited ${duration(Math.floor(waited_ms / 1_000) * 1_000)}`
  return `waits    ${id}  ${oneLine(tool)}${where} for ${oneLine(who)}${since}  ${oneLine(title)}`
}
