import { oneLine } from '../../../tools/wording.ts'
import type { ShownPlan } from '../../core/approvals.ts'
import { markedLine } from '../../core/marks.ts'
import { messageOf } from '../../failure.ts'
import {
  give,
  type LineQuestion,
  type Posed,
  printOwn,
  reasonOf,
  showRows,
  type Word,
  wordOf,
  yesOrNo,
} from './line-question.ts'
import { planText } from './plan-text.ts'

type Shown = 'shown' | 'cut'

/** What can be typed, in order: the letter, how it is offered, and what it does. */
interface Offer {
  readonly key: string
  readonly shown: string
  readonly help: string
}

/** Asks about a plan that is taken or left as a whole, once all of it was printed. */
export async function askPlan(plan: ShownPlan, at: LineQuestion): Promise<Posed> {
  const shown = await showPlan(plan, at)
  if (shown === 'left' || shown === 'dropped') return shown
  for (;;) {
    const offers = offersFor(plan, shown, at)
    const lead = shown === 'shown' ? 'Approve?' : 'Not all was shown.'
    const typed = await at.typing.ask(
      `${[lead, ...offers.map(offer => offer.shown)].join(' ')} [?] `,
      at.drop,
    )
    if (typed.type !== 'line') return typed.type
    const word = wordOf(typed.text)
    const offered =
      offers.some(({ key }) => key === word.word) && (word.rest === '' || TAKES_REASON.has(word.word))
    const posed = offered ? await answered(plan, word, at) : undefined
    if (posed !== undefined) return posed
    if (!offered) at.print(offers.map(({ key, help }) => `${key}  ${help}\n`).join(''))
  }
}

const TAKES_REASON = new Set(['n', 'd'])

/** The whole plan; page by page where it is long, and then the person may stop before its end. */
async function showPlan(plan: ShownPlan, at: LineQuestion): Promise<Shown | 'left' | 'dropped'> {
  const { head, body, foot } = planText(plan, at.terminal.columns || 80)
  at.print(`\n${head}`)
  const shown = await showRows(body, at)
  if (shown === 'shown') at.print(foot)
  return shown
}

function offersFor(plan: ShownPlan, shown: Shown, at: LineQuestion): Offer[] {
  const all = at.together(plan.turn).length + 1
  const yes = shown === 'shown'
  return [
    ...(yes ? [{ key: 'y', shown: '[y]es', help: 'it is done exactly as shown, once' }] : []),
    { key: 'n', shown: '[n]o', help: 'it is not done; then a reason, which the model is told' },
    ...(yes && at.edit !== undefined && plan.args !== null
      ? [
          {
            key: 'e',
            shown: '[e]dit',
            help: 'change what is called in your editor; you are asked about that anew',
          },
        ]
      : []),
    ...(yes && plan.grants.length > 0
      ? [{ key: 'g', shown: '[g]rant', help: 'it is done, and the like from now on without asking' }]
      : []),
    ...(yes && all > 1
      ? [
          {
            key: 'a',
            shown: `[a]ll ${all}`,
            help: `shows the others of its turn, and asks about all ${all} at once`,
          },
        ]
      : []),
    ...(all > 1
      ? [{ key: 'd', shown: `[d]eny ${all}`, help: `none of the ${all} of its turn is done` }]
      : []),
    ...(at.others ? [{ key: 'j', shown: '[j]', help: 'looks at the next one that waits first' }] : []),
    ...(at.others ? [{ key: 'k', shown: '[k]', help: 'looks at the one before first' }] : []),
    { key: 'q', shown: '[q]uit', help: 'leave the seat; what waits goes on waiting' },
  ]
}

/** Undefined: the question stands. */
async function answered(plan: ShownPlan, { word, rest }: Word, at: LineQuestion): Promise<Posed | undefined> {
  const { id, hash } = plan
  switch (word) {
    case 'y':
      return give({ plan: id, hash, decision: 'approve' }, 'approved', at)
    case 'n':
      return deny([plan], rest, at)
    case 'e':
      return edit(plan, at)
    case 'g':
      return grant(plan, at)
    case 'a':
      return approveAll(plan, at)
    case 'd':
      return deny([plan, ...at.together(plan.turn)], rest, at)
    case 'j':
      return 'next'
    case 'k':
      return 'previous'
    default:
      return 'left'
  }
}

async function deny(plans: readonly ShownPlan[], rest: string, at: LineQuestion): Promise<Posed | undefined> {
  const given = await reasonOf(rest, at)
  if (given.type !== 'reason') return given.type
  const why = given.reason === null ? {} : { reason: given.reason }
  for (const { id, hash } of plans) {
    await give({ plan: id, hash, decision: 'deny', ...why }, 'denied', at)
    at.answered(id)
  }
  return 'done'
}

/** Those of its turn are shown first, each whole; one that is not is not among them. */
async function approveAll(plan: ShownPlan, at: LineQuestion): Promise<Posed | undefined> {
  const plans = [plan]
  for (const other of at.together(plan.turn)) {
    const shown = await showPlan(other, at)
    if (shown === 'left' || shown === 'dropped') return shown
    if (shown === 'shown') plans.push(other)
  }
  const said = await yesOrNo(`Approve these ${plans.length}, as shown? [y]es [n]o `, at)
  if (said === 'left' || said === 'dropped') return said
  if (said === 'no') return undefined
  const still = new Map(at.together(plan.turn).map(one => [one.id, one.hash]))
  for (const { id, hash } of plans) {
    if (id !== plan.id && still.get(id) !== hash) continue
    await give({ plan: id, hash, decision: 'approve' }, 'approved', at)
    at.answered(id)
  }
  return 'done'
}

async function grant(
  { id, hash, tool, who, grants }: ShownPlan,
  at: LineQuestion,
): Promise<Posed | undefined> {
  const width = String(grants.length).length
  printOwn(
    [
      `From now on ${oneLine(tool)} is done without asking, for ${oneLine(who)}, in:`,
      ...grants.map((pattern, index) => `  ${String(index + 1).padStart(width)}  ${oneLine(pattern)}`),
      'That ends with this seat, or with: imago revoke',
    ],
    at,
  )
  const typed = await at.typing.ask(
    `Which one? [1${grants.length > 1 ? `-${grants.length}` : ''}, Enter: none] `,
    at.drop,
  )
  if (typed.type !== 'line') return typed.type
  const chosen = /^\s*\d+\s*$/.test(typed.text) ? grants[Number(typed.text) - 1] : undefined
  if (chosen === undefined) return undefined
  return give(
    { plan: id, hash, decision: 'approve', grant: chosen },
    `approved, and so is the like in ${oneLine(chosen)}`,
    at,
  )
}

async function edit({ id, hash, args }: ShownPlan, at: LineQuestion): Promise<Posed | undefined> {
  const draft = { text: `${JSON.stringify(args, null, 2)}\n`, name: 'arguments.json' }
  const came = await at.edit?.(draft)
  if (at.drop.aborted) return 'dropped'
  if (came?.type === 'failed') at.print(`${oneLine(came.why)}\n`)
  if (came?.type !== 'text') return undefined
  const read = argumentsOf(came.text)
  if (typeof read === 'string') {
    at.print(`${oneLine(read)}\n`)
    return undefined
  }
  return give(
    { plan: id, hash, decision: 'edit', args: read },
    'edited; what comes of that is asked about anew',
    at,
  )
}

/** What a person wrote as arguments; a sentence where they are none. */
export function argumentsOf(text: string): Record<string, unknown> | string {
  try {
    const read: unknown = JSON.parse(text)
    if (typeof read === 'object' && read !== null && !Array.isArray(read)) return { ...read }
    return 'The arguments have to be one JSON object. Nothing was changed.'
  } catch (error) {
    return `The arguments are not JSON any more: ${markedLine(messageOf(error))}. Nothing was changed.`
  }
}
