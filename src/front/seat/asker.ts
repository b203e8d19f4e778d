import { oneLine } from '../../../tools/wording.ts'
import type { ShownPlan, Taken } from '../../core/approvals.ts'
import type { SeatWanted } from '../protocol.ts'
import type { Printer } from '../terminal.ts'
import type { OpenSeat, SeatTold } from './open-seat.ts'
import { planText } from './plan-text.ts'
import type { Typed, Typing } from './typing.ts'

/** A question that a person is asked, one after the other in the order in which they came. */
type Question =
  | { readonly type: 'plan'; readonly id: string; readonly plan: ShownPlan }
  | { readonly type: 'seat'; readonly id: string; readonly wanted: SeatWanted; settle(admit: boolean): void }
  | { readonly type: 'trouble'; readonly id: 'trouble'; readonly trouble: string }

export interface AskerOptions {
  readonly typing: Typing
  readonly printer: Printer
  /** Its size now; undefined where it does not tell. */
  readonly terminal: Pick<NodeJS.WriteStream, 'columns' | 'rows'>
}

/** Puts before a person, line by line, what comes to a seat. */
export interface Asker {
  tell(told: SeatTold): void
  admit(wanted: SeatWanted): Promise<boolean>
  /** Asks, until the person leaves the seat or `over` aborts. */
  run(seat: OpenSeat, over: AbortSignal): Promise<void>
}

/**
 * A preview of more rows as they are printed, or of more bytes, is shown page by page, so that nothing rolls by unseen:
 * approving is offered after the last page alone.
 */
const ROLLED_ROWS = 200
const ROLLED_BYTES = 16_384

const HELP = `y  it is done exactly as shown, once
n  it is not done; then a reason, which the model is told
q  leave the seat; what waits goes on waiting
`

export function openAsker({ typing, printer, terminal }: AskerOptions): Asker {
  const questions: Question[] = []
  let wake = () => {}
  let asking: { readonly id: string; readonly withdrawn: AbortController } | undefined

  const say = (text: string) => typing.say(`${text}\n`)

  function put(question: Question) {
    if (question.type === 'plan' && question.id === asking?.id)
      return say(question.plan.warnings.map(warning => `! ${oneLine(warning)}`).join('\n'))
    const known = questions.findIndex(({ id }) => id === question.id)
    if (known < 0) questions.push(question)
    else questions[known] = question
    wake()
  }

  function settled(id: string, why: string) {
    const index = questions.findIndex(question => question.id === id)
    const [gone] = index < 0 ? [] : questions.splice(index, 1)
    if (gone?.type === 'seat') gone.settle(false)
    const mine = asking?.id === id
    if (mine) asking?.withdrawn.abort()
    if (mine || gone?.type === 'plan')
      printer.out(`${mine ? '\n' : ''}${id} needs no answer any more: ${oneLine(why)}\n`)
  }

  async function next(over: AbortSignal): Promise<Question | undefined> {
    const stop = () => wake()
    over.addEventListener('abort', stop)
    typing.left.addEventListener('abort', stop)
    while (questions.length === 0 && !over.aborted && !typing.left.aborted)
      await new Promise<void>(resolve => {
        wake = resolve
      })
    over.removeEventListener('abort', stop)
    typing.left.removeEventListener('abort', stop)
    return over.aborted || typing.left.aborted ? undefined : questions.shift()
  }

  /** `left` where the person leaves; else the question is done with. */
  async function pose(question: Question, seat: OpenSeat, over: AbortSignal): Promise<'left' | 'done'> {
    const withdrawn = new AbortController()
    const stop = () => withdrawn.abort()
    over.addEventListener('abort', stop)
    asking = { id: question.id, withdrawn }
    try {
      const drop = withdrawn.signal
      switch (question.type) {
        case 'plan':
          return await askPlan(question.plan, { seat, drop })
        case 'seat':
          return await askSeat(question, drop)
        case 'trouble':
          return await askTrouble(question.trouble, { seat, drop })
        default:
          return question satisfies never
      }
    } finally {
      asking = undefined
      over.removeEventListener('abort', stop)
    }
  }

  interface Asked {
    readonly seat: OpenSeat
    readonly drop: AbortSignal
  }

  async function askPlan(plan: ShownPlan, { seat, drop }: Asked): Promise<'left' | 'done'> {
    const whole = await show(plan, drop)
    if (whole === 'left' || whole === 'dropped') return whole === 'left' ? 'left' : 'done'
    const prompt =
      whole === 'shown' ? 'Approve? [y]es [n]o [q]uit [?] ' : 'Not all was shown. [n]o [q]uit [?] '
    for (;;) {
      const typed = await typing.ask(prompt, drop)
      if (typed.type !== 'line') return typed.type === 'left' ? 'left' : 'done'
      const { word, rest } = wordOf(typed.text)
      const { id, hash } = plan
      if (word === 'y' && whole === 'shown' && rest === '')
        return report(id, await seat.answer({ plan: id, hash, decision: 'approve' }), 'approved')
      if (word === 'n') {
        const reason = rest === '' ? await typing.ask('Why? (Enter: no reason) ', drop) : line(rest)
        if (reason.type !== 'line') return reason.type === 'left' ? 'left' : 'done'
        const why = reason.text.trim() === '' ? {} : { reason: reason.text.trim() }
        return report(id, await seat.answer({ plan: id, hash, decision: 'deny', ...why }), 'denied')
      }
      if (word === 'q' && rest === '') return 'left'
      printer.out(HELP)
    }
  }

  /** The whole plan; page by page where it is long, and then the person may stop before its end. */
  async function show(plan: ShownPlan, drop: AbortSignal): Promise<'shown' | 'cut' | 'dropped' | 'left'> {
    const { head, body, foot } = planText(plan, terminal.columns || 80)
    printer.out(`\n${head}`)
    const rolls = body.length <= ROLLED_ROWS && plan.bytes <= ROLLED_BYTES
    const page = rolls ? body.length : Math.max(10, (terminal.rows || 24) - 1)
    for (let at = 0; at < body.length; at += page) {
      printer.out(`${body.slice(at, at + page).join('\n')}\n`)
      if (at + page >= body.length) break
      const typed = await typing.ask(`(${at + page} of ${body.length}; Enter goes on, s stops here) `, drop)
      if (typed.type !== 'line') return typed.type
      if (typed.text.trim().toLowerCase() === 's') return 'cut'
    }
    printer.out(foot)
    return 'shown'
  }

  async function askSeat({ wanted, settle }: Extract<Question, { type: 'seat' }>, drop: AbortSignal) {
    const [who, command] = [oneLine(wanted.who), oneLine(wanted.command)]
    printer.out(`\n==== Somebody else wants to approve, too: ${who}\n  started with: ${command}\n`)
    const typed = await yesOrNo('Is that you? Let it? [y]es [n]o ', drop)
    if (typed !== 'left') settle(typed === 'yes')
    return typed === 'left' ? typed : 'done'
  }

  async function askTrouble(trouble: string, { seat, drop }: Asked) {
    printer.out(`\n==== Dangerous calls are refused: ${oneLine(trouble)}\n`)
    const typed = await yesOrNo('Take note of that, and let them be asked for again? [y]es [n]o ', drop)
    if (typed === 'yes') {
      await seat.acknowledge()
      say('Noted, and written down.')
    }
    return typed === 'left' ? typed : 'done'
  }

  async function yesOrNo(prompt: string, drop: AbortSignal): Promise<'yes' | 'no' | 'left'> {
    for (;;) {
      const typed: Typed = await typing.ask(prompt, drop)
      if (typed.type !== 'line') return typed.type === 'left' ? 'left' : 'no'
      const { word } = wordOf(typed.text)
      if (word === 'q') return 'left'
      if (word === 'y' || word === 'n') return word === 'y' ? 'yes' : 'no'
    }
  }

  function report(id: string, taken: Taken, did: string): 'done' {
    printer.out(
      `${id}: ${taken.type === 'taken' ? did : `your answer did not count: ${oneLine(whyNot(taken))}`}\n`,
    )
    return 'done'
  }

  return {
    tell(told) {
      if (told.type === 'plan') put({ type: 'plan', id: told.plan.id, plan: told.plan })
      else if (told.type === 'settled') settled(told.id, told.why)
      else if (told.type === 'notice') say(`! ${oneLine(told.text)}`)
      else {
        const names = told.seats.map(({ seat, who }) => `${seat}, ${who}`).join('; ')
        say(`There is a seat already. Waiting up to a minute to be let in by: ${oneLine(names)}`)
      }
    },
    admit: wanted =>
      new Promise(settle => {
        put({ type: 'seat', id: wanted.id, wanted, settle })
      }),
    async run(seat, over) {
      if (seat.trouble !== null) put({ type: 'trouble', id: 'trouble', trouble: seat.trouble })
      for (;;) {
        const question = await next(over)
        if (question === undefined) return
        if ((await pose(question, seat, over)) === 'left') return
      }
    },
  }
}

const line = (text: string): Typed => ({ type: 'line', text })

/** `n because it is wrong` is an answer and its reason. */
function wordOf(text: string): { word: string; rest: string } {
  const [, word = '', rest = ''] = /^\s*(\S*)\s*(.*?)\s*$/.exec(text) ?? []
  const short = WORDS.find(([long]) => long === word.toLowerCase())?.[1]
  return { word: short ?? word.toLowerCase(), rest }
}

const WORDS = [
  ['yes', 'y'],
  ['no', 'n'],
  ['quit', 'q'],
] as const

/** Why an answer did not count, as a sentence. */
export function whyNot(taken: Exclude<Taken, { type: 'taken' }>): string {
  switch (taken.type) {
    case 'late':
      return `it came too late. ${taken.why}`
    case 'unknown':
      return 'no plan of that name waits.'
    case 'wrong_hash':
      return 'it was meant for another plan than the one that waits.'
    case 'wrong_code':
      return 'the code is wrong, or has ended. Three wrong ones end that of a plan, ten those of all until a seat answers.'
    case 'unfit':
      return taken.why
    default:
      return taken satisfies never
  }
}
