import { WireError } from '../../../wire/errors.ts'
import { EXIT, type ExitCode, Failure } from '../../failure.ts'
import { findRoot } from '../../paths.ts'
import { connectDaemon } from '../client.ts'
import type { CommandInput } from '../commands.ts'
import { atTerminal, hasTerminal } from '../seat/at-terminal.ts'

/**
 * `imago log acknowledge`: a person takes note of what is wrong with the journal, so that dangerous calls are asked for
 * again. That takes a seat, as every answer of a person does; exit code 3 where none is granted, 1 if the person says no.
 */
export async function acknowledge({ printer }: CommandInput): Promise<ExitCode> {
  if (!hasTerminal())
    throw new Failure(
      'imago log acknowledge asks a person, and needs a terminal that it reads from and writes to. Run it in one.',
      { exit: EXIT.usage },
    )
  await using client = await connectDaemon({
    name: 'imago log acknowledge',
    start: 'if-needed',
    root: findRoot(process.cwd()),
  })
  try {
    return await atTerminal({ client, printer }, async ({ seat, input }) => {
      if (seat.trouble === null) {
        printer.out(
          'The journal is in order, as far as it has been looked through. There is nothing to acknowledge.\n',
        )
        return EXIT.done
      }
      printer.out(`Dangerous calls are refused: ${seat.trouble}\n`)
      const typed = await input.ask('Take note of that, and let them be asked for again? [y]es [n]o ')
      if (typed.type !== 'line' || !/^\s*y(es)?\s*$/i.test(typed.text)) {
        printer.out('Nothing was acknowledged. Dangerous calls are refused as before.\n')
        return EXIT.failed
      }
      await seat.acknowledge()
      printer.out('Noted, and written down in the journal.\n')
      return EXIT.done
    })
  } catch (error) {
    if (error instanceof WireError && error.remote?.code === 'seat_refused')
      throw new Failure(error.remote.message, { exit: EXIT.denied, cause: error })
    throw error
  }
}
