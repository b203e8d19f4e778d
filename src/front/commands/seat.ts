import { oneLine } from '../../../tools/text.ts'
import { isSameCode } from '../../approvals/plan-answers.ts'
import { EXIT, type ExitCode, Failure } from '../../failure.ts'
import { findRoot } from '../../paths.ts'
import { connectDaemon } from '../client.ts'
import type { CommandInput } from '../command.ts'
import type { SeatWanted } from '../protocol.ts'
import { hasTerminal } from '../seat/at-terminal.ts'
import { isYes, NoAnswer, openLineInput, printOwn } from '../seat/line-terminal.ts'
import { openSeat } from '../seat/open-seat.ts'
import { editorNotes, seatText } from '../seat/plan-text.ts'

/**
 * `imago seat CODE`: takes a seat at this terminal for as long as it asks the person whether the editor that shows the code
 * may have one, too. The right to say so is that of the terminal; the code only names the editor.
 */
export async function seat({ operands: [code = ''], printer }: CommandInput): Promise<ExitCode> {
  if (!hasTerminal()) throw new Failure('A person types the code at a terminal: imago seat CODE')
  await using client = await connectDaemon({
    name: 'imago seat',
    start: 'if-needed',
    root: findRoot(process.cwd()),
  })
  const print = (text: string) => printer.out(text)
  const input = openLineInput(process.stdin, print)
  const at = { input, print, terminal: process.stdout, drop: input.left }
  const waiting: SeatWanted[] = []
  try {
    await using held = await openSeat(client, {
      tell(told) {
        // What this person was not asked about waits for others.
        if (told.type === 'wanted') waiting.push(told.wanted)
        if (told.type !== 'asked') return
        printOwn(['Waiting for those who sit:', ...told.seats.map(one => `  ${seatText(one)}`)], at)
      },
      signal: input.left,
    })
    // By the time of an answer this seat was told of all that waits.
    await held.standing()
    const found = waiting.find(({ through }) => through !== undefined && isSameCode(through.code, code))
    if (found === undefined)
      throw new Failure(
        `No editor waits with the code ${oneLine(code)}, and no page. A code holds for 60 s, and once.`,
      )
    const { who, command } = found
    const started = command === '' ? [] : [`started with: ${command}`]
    printOwn([who, ...started, ...editorNotes(found)].map(oneLine), at)
    const admit = await isYes('Let it have a seat? [y]es [n]o ', at)
    const { taken } = await client.request('admit', { wanted: found.id, admit })
    if (!taken) throw new Failure('That came too late: it does not wait any more. Have the editor ask again.')
    printer.out(admit ? 'It has a seat until it leaves or ends.\n' : 'It has no seat.\n')
    return EXIT.done
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error
    return EXIT.failed
  } finally {
    input.close()
  }
}
