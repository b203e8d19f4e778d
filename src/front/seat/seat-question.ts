import { oneLine } from '../../../tools/wording.ts'
import { type LineQuestion, ownText, type Posed, printOwn, yesOrNo } from './line-question.ts'
import type { Question } from './questions.ts'

/** Whether somebody else may have a seat, too. */
export async function askSeat(
  { wanted, settle }: Extract<Question, { type: 'seat' }>,
  at: LineQuestion,
): Promise<Posed> {
  const [who, command] = [oneLine(wanted.who), oneLine(wanted.command)]
  printOwn(['', `==== Somebody else wants to approve, too: ${who}`, `  started with: ${command}`], at)
  const said = await yesOrNo('Is that you? Let it? [y]es [n]o ', at)
  if (said !== 'left') settle(said === 'yes')
  return said === 'yes' || said === 'no' ? 'done' : said
}

/** Whether the person takes note of trouble with the journal. */
export async function askTrouble(trouble: string, at: LineQuestion): Promise<Posed> {
  printOwn(['', `==== Dangerous calls are refused: ${oneLine(trouble)}`], at)
  const said = await yesOrNo('Take note of that, and let them be asked for again? [y]es [n]o ', at)
  if (said === 'yes') {
    await at.seat.acknowledge()
    at.typing.say(ownText(['Noted, and written down.'], at.terminal))
  }
  return said === 'yes' || said === 'no' ? 'done' : said
}
