import { EXIT, type ExitCode, Failure } from '../../failure.ts'
import { findRoot } from '../../paths.ts'
import { connectDaemon } from '../client.ts'
import type { CommandInput } from '../commands.ts'
import { atTerminal, hasTerminal } from '../seat/sitting.ts'

/** `imago watch`: a seat at this terminal. Plans are put before the person there until it is left, or is lost. */
export async function watch({ printer }: CommandInput): Promise<ExitCode> {
  if (!hasTerminal())
    throw new Failure(
      'imago watch asks a person, and needs a terminal that it reads from and writes to. Run it in one, without redirecting its input or output. A script answers with imago approve and a code that is shown on a seat.',
      { exit: EXIT.usage },
    )
  await using client = await connectDaemon({
    name: 'imago watch',
    start: 'if-needed',
    root: findRoot(process.cwd()),
  })
  return await atTerminal({ client, printer }, async ({ seat, asker }) => {
    printer.out(`${seat.id}, ${seat.who}: plans that need approval are shown here. Ctrl-C leaves.\n`)
    for (const { seat: other, who } of seat.others) printer.out(`There is also ${other}, ${who}.\n`)
    const over = new AbortController()
    const ended = seat.ended.then(why => {
      over.abort()
      return why
    })
    await asker.run(seat, over.signal)
    await seat.leave()
    const why = await ended
    printer.out(why === undefined ? 'The seat was left. What waits goes on waiting.\n' : '')
    if (why !== undefined) throw new Failure(`The seat is lost: ${why} Take another one: imago watch`)
    return EXIT.done
  })
}
