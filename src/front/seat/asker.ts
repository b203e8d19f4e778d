import { oneLine } from '../../../tools/text.ts'
import type { SeatAnswer, ShownPlan } from '../../approvals/contract.ts'
import { argumentsDraft, readArguments } from '../person-editor.ts'
import type { Printer } from '../print.ts'
import type { SeatWanted } from '../protocol.ts'
import { askHunks } from './hunk-asker.ts'
import {
  columnsOf,
  isYes,
  keyOf,
  type LineQuestion,
  type LineTerminal,
  lineOf,
  NoAnswer,
  ownText,
  printOwn,
  reasonOf,
  showRows,
} from './line-terminal.ts'
import type { OpenSeat, SeatTold } from './open-seat.ts'
import { editorNotes, KEY_WORDS, planText, seatText, whyNot } from './plan-text.ts'

interface AskerOptions extends Pick<LineTerminal, 'input' | 'terminal' | 'edit'> {
  readonly printer: Printer
}

/** Puts before a person, line by line, what comes to a seat. */
export interface Asker {
  tell(told: SeatTold): void
  /** Asks, until the person leaves the seat or `over` aborts. */
  run(seat: OpenSeat, over: AbortSignal): Promise<void>
}

export function openAsker({ printer, ...terminal }: AskerOptions): Asker {
  return new LineAsker({ ...terminal, print: text => printer.out(text) })
}

/** What a person is asked. `draft`: arguments that they wrote and that could not be used. */
type Question =
  | { readonly type: 'plan'; readonly id: string; readonly plan: ShownPlan; draft?: string }
  | { readonly type: 'seat'; readonly id: string; readonly wanted: SeatWanted }
  | { readonly type: 'trouble'; readonly id: 'trouble'; readonly trouble: string }

type PlanQuestion = Extract<Question, { type: 'plan' }>

/** How a question ended. `next` and `previous`: it waits on, and another one is looked at first. */
type Outcome = 'done' | 'next' | 'previous'

/** What is asked now. */
interface Current {
  readonly question: Question
  readonly withdrawn: AbortController
  /** Why it needs no answer any more. */
  why?: string
}

class LineAsker implements Asker {
  readonly #line: LineTerminal
  /** In the order in which they are asked, without the current one. */
  #waiting: Question[] = []
  #wake = () => {}
  #current: Current | undefined

  constructor(line: LineTerminal) {
    this.#line = line
  }

  tell = (told: SeatTold): void => {
    if (told.type === 'plan') this.#put({ type: 'plan', id: told.plan.id, plan: told.plan })
    else if (told.type === 'wanted') this.#put({ type: 'seat', id: told.wanted.id, wanted: told.wanted })
    else if (told.type === 'settled') this.#settled(told.id, told.why)
    else if (told.type === 'notice') this.#say(`! ${oneLine(told.text)}`)
    else if (told.type === 'asked') {
      const names = told.seats.map(seatText).join('; ')
      this.#say(`There is a seat already. Waiting up to a minute to be let in by: ${names}. ${HOW_TO_LET_IN}`)
    }
  }

  run = async (seat: OpenSeat, over: AbortSignal): Promise<void> => {
    const { trouble } = seat
    if (trouble !== null) this.#put({ type: 'trouble', id: 'trouble', trouble })
    const ended = AbortSignal.any([over, this.#line.input.left])
    ended.addEventListener('abort', () => this.#wake())
    while (!ended.aborted) {
      const question = this.#waiting.shift()
      if (question === undefined) {
        await new Promise<void>(resolve => {
          this.#wake = resolve
        })
        continue
      }
      const how = await this.#ask(question, { seat, over })
      if (how === 'left') return
      // It comes again once all others were looked at, or behind the last of them, which comes first.
      if (how === 'next') this.#waiting.push(question)
      if (how === 'previous') this.#waiting = [...this.#waiting.splice(-1), question, ...this.#waiting]
    }
  }

  #say(text: string): void {
    this.#line.input.say(ownText(text.split('\n'), this.#line))
  }

  /** At the end, or in place of the one of that name. What is asked now stays as it was shown, but for new warnings. */
  #put(question: Question): void {
    const at = this.#waiting.findIndex(({ id }) => id === question.id)
    if (question.type === 'plan' && question.id === this.#current?.question.id)
      this.#say(question.plan.warnings.map(warning => `! ${oneLine(warning)}`).join('\n'))
    else if (at < 0) this.#waiting.push(question)
    else this.#waiting[at] = { ...this.#waiting[at], ...question }
    this.#wake()
  }

  #remove(id: string): Question | undefined {
    const gone = this.#waiting.find(question => question.id === id)
    this.#waiting = this.#waiting.filter(question => question !== gone)
    return gone
  }

  #settled(id: string, why: string): void {
    const gone = this.#remove(id)
    if (gone?.type === 'plan') this.#say(overText(id, why))
    if (this.#current?.question.id !== id) return
    this.#current.why = why
    this.#current.withdrawn.abort()
  }

  async #ask(
    question: Question,
    { seat, over }: { readonly seat: OpenSeat; readonly over: AbortSignal },
  ): Promise<Outcome | NoAnswer['how']> {
    const withdrawn = new AbortController()
    const current: Current = { question, withdrawn }
    this.#current = current
    const drop = AbortSignal.any([over, withdrawn.signal])
    try {
      return await ask(question, this.#placed(seat, drop))
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error
      if (error.how === 'dropped' && current.why !== undefined)
        printOwn([overText(question.id, current.why)], this.#line)
      return error.how
    } finally {
      this.#current = undefined
    }
  }

  /** A question, with what else waits by then. */
  #placed(seat: OpenSeat, drop: AbortSignal): SeatQuestion {
    const waiting = () => this.#waiting
    return {
      ...this.#line,
      drop,
      seat,
      together: turn =>
        waiting().flatMap(one => (one.type === 'plan' && one.plan.turn === turn ? [one.plan] : [])),
      get others() {
        return waiting().length > 0
      },
      answered: plan => void this.#remove(plan),
    }
  }
}

/** What the person does there to let another seat in. */
export const HOW_TO_LET_IN =
  'In that terminal press y (at the console Ctrl-T first). Or leave that seat, and run this again.'

const overText = (id: string, why: string) => `${id} needs no answer any more: ${oneLine(why)}`

/** One question, and what else waits. */
interface SeatQuestion extends LineQuestion {
  readonly seat: OpenSeat
  /** The other plans of that turn that wait here, in order. */
  together(turn: string): readonly ShownPlan[]
  /** Whether something else waits. */
  readonly others: boolean
  /** A plan of those was answered here, and is not asked about any more. */
  answered(plan: string): void
}

async function ask(question: Question, at: SeatQuestion): Promise<Outcome> {
  switch (question.type) {
    case 'plan':
      if (question.plan.hunks.length === 0) return await askPlan(question, at)
      await askHunks(question.plan, { at, give: (answer, did) => give(answer, { did, at }) })
      return 'done'
    case 'seat':
      await askSeat(question, at)
      return 'done'
    case 'trouble':
      await askTrouble(question.trouble, at)
      return 'done'
    default:
      return question satisfies never
  }
}

/** Whether somebody else may have a seat, too. */
async function askSeat({ wanted }: Extract<Question, { type: 'seat' }>, at: SeatQuestion) {
  const [who, command] = [oneLine(wanted.who), oneLine(wanted.command)]
  const notes = editorNotes(wanted).map(note => `  ${oneLine(note)}`)
  printOwn(
    ['', `==== Somebody else wants to approve, too: ${who}`, `  started with: ${command}`, ...notes],
    at,
  )
  await at.seat.admit(wanted.id, await isYes('Is that you? Let it? [y]es [n]o ', at))
}

/** Whether the person takes note of trouble with the journal. */
async function askTrouble(trouble: string, at: SeatQuestion): Promise<void> {
  printOwn(['', `==== Dangerous calls are refused: ${oneLine(trouble)}`], at)
  if (!(await isYes('Take note of that, and let them be asked for again? [y]es [n]o ', at))) return
  await at.seat.acknowledge()
  at.input.say(ownText(['Noted, and written down.'], at))
}

/** Gives the answer, and says what became of it. False where the plan waits for another one. */
async function give(
  answer: SeatAnswer,
  { did, at }: { readonly did: string; readonly at: SeatQuestion },
): Promise<boolean> {
  const taken = await at.seat.answer(answer)
  const came = taken.type === 'taken' ? did : `your answer did not count: ${oneLine(whyNot(taken))}`
  printOwn([`${answer.plan}: ${came}`], at)
  return taken.type !== 'unfit'
}

/** What can be typed about a plan, in order, and how it is offered. */
type Offer = readonly [key: keyof typeof KEY_WORDS.plan, shown: string, is: boolean]

/** Asks about a plan that is taken or left as a whole, once all of it was printed. */
async function askPlan(question: PlanQuestion, at: SeatQuestion): Promise<Outcome> {
  const { plan } = question
  const yes = (await showPlan(plan, at)) === 'shown'
  const lead = yes ? 'Approve?' : 'Not all was shown.'
  for (;;) {
    const all = at.together(plan.turn).length + 1
    const every: readonly Offer[] = [
      ['y', '[y]es', yes],
      ['n', '[n]o', true],
      ['e', '[e]dit', yes && at.edit !== undefined && plan.args !== null],
      ['g', '[g]rant', yes && plan.grants.length > 0],
      ['a', `[a]ll ${all}`, yes && all > 1],
      ['d', `[d]eny ${all}`, all > 1],
      ['j', '[j]', at.others],
      ['k', '[k]', at.others],
      ['q', '[q]uit', true],
    ]
    const offers = every.filter(([, , is]) => is)
    const prompt = `${[lead, ...offers.map(([, shown]) => shown)].join(' ')} [?] `
    const keys = offers.map(([key]) => [key, KEY_WORDS.plan[key]] as const)
    const { key, rest } = await keyOf(prompt, { keys, at })
    const ended = await obey({ key, rest }, { question, at })
    if (ended !== undefined) return ended
  }
}

/** Undefined: the question is put again. */
async function obey(
  { key, rest }: { readonly key: Offer[0]; readonly rest: string },
  { question, at }: { readonly question: PlanQuestion; readonly at: SeatQuestion },
): Promise<Outcome | undefined> {
  const { plan } = question
  const { id, hash } = plan
  const done = (isDone: boolean) => (isDone ? 'done' : undefined)
  switch (key) {
    case 'y':
      return done(await give({ plan: id, hash, decision: 'approve' }, { did: 'approved', at }))
    case 'n':
      return deny([plan], { rest, at })
    case 'd':
      return deny([plan, ...at.together(plan.turn)], { rest, at })
    case 'e':
      return done(await edit(question, at))
    case 'g':
      return done(await grant(plan, at))
    case 'a':
      return done(await approveAll(plan, at))
    case 'j':
      return 'next'
    case 'k':
      return 'previous'
    case 'q':
      throw new NoAnswer('left')
    default:
      return key satisfies never
  }
}

/** The whole plan; page by page where it is long, and then the person may stop before its end. */
async function showPlan(plan: ShownPlan, at: SeatQuestion): Promise<'shown' | 'cut'> {
  const { head, body, foot } = planText(plan, columnsOf(at))
  at.print(`\n${head}`)
  const shown = await showRows(body, at)
  if (shown === 'shown') at.print(foot)
  return shown
}

async function deny(
  plans: readonly ShownPlan[],
  { rest, at }: { readonly rest: string; readonly at: SeatQuestion },
): Promise<'done'> {
  const reason = await reasonOf(rest, at)
  for (const { id, hash } of plans) {
    await give(
      { plan: id, hash, decision: 'deny', ...(reason !== null && { reason }) },
      { did: 'denied', at },
    )
    at.answered(id)
  }
  return 'done'
}

/** Those of its turn are shown first, each whole; one that is not is not among them. */
async function approveAll(plan: ShownPlan, at: SeatQuestion): Promise<boolean> {
  const plans = [plan]
  for (const other of at.together(plan.turn)) if ((await showPlan(other, at)) === 'shown') plans.push(other)
  if (!(await isYes(`Approve these ${plans.length}, as shown? [y]es [n]o `, at))) return false
  const still = new Map(at.together(plan.turn).map(one => [one.id, one.hash]))
  for (const { id, hash } of plans) {
    if (id !== plan.id && still.get(id) !== hash) continue
    await give({ plan: id, hash, decision: 'approve' }, { did: 'approved', at })
    at.answered(id)
  }
  return true
}

async function grant({ id, hash, tool, who, grants }: ShownPlan, at: SeatQuestion): Promise<boolean> {
  const width = String(grants.length).length
  printOwn(
    [
      `From now on ${oneLine(tool)} is done without asking, for ${oneLine(who)}, in:`,
      ...grants.map((pattern, index) => `  ${String(index + 1).padStart(width)}  ${oneLine(pattern)}`),
      'That ends with this seat, or with: imago revoke',
    ],
    at,
  )
  const typed = await lineOf(
    `Which one? [1${grants.length > 1 ? `-${grants.length}` : ''}, Enter: none] `,
    at,
  )
  const chosen = /^\s*\d+\s*$/.test(typed) ? grants[Number(typed) - 1] : undefined
  if (chosen === undefined) return false
  const did = `approved, and so is the like in ${oneLine(chosen)}`
  return await give({ plan: id, hash, decision: 'approve', grant: chosen }, { did, at })
}

async function edit(question: PlanQuestion, at: SeatQuestion): Promise<boolean> {
  const { id, hash, args } = question.plan
  if (args === null) return false
  const came = await at.edit?.({ text: question.draft ?? argumentsDraft(args), name: 'arguments.json' })
  if (at.drop.aborted) throw new NoAnswer('dropped')
  if (came?.type === 'failed') printOwn([oneLine(came.why)], at)
  if (came?.type !== 'text') return false
  const read = readArguments(came.text)
  if (read.type === 'bad') {
    question.draft = read.draft
    printOwn([`${oneLine(read.why)} e goes on with what you wrote.`], at)
    return false
  }
  delete question.draft
  const did = 'edited; what comes of that is asked about anew'
  return await give({ plan: id, hash, decision: 'edit', args: read.args }, { did, at })
}
