import { oneLine } from '../../../tools/wording.ts'
import type { ShownPlan } from '../../core/approvals.ts'
import { argumentsDraft, readArguments } from '../person-editor.ts'
import { explained, KEY_WORDS } from './key-words.ts'
import {
  GOES_ON,
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
import type { Question } from './questions.ts'

/** A plan that is asked about, and what was written of it by now. */
type Asked = Extract<Question, { type: 'plan' }>

type Shown = 'shown' | 'cut'

/** What can be typed, in order: the letter, and how it is offered. */
interface Offer {
  readonly key: keyof typeof KEY_WORDS.plan
  readonly shown: string
}

/** Asks about a plan that is taken or left as a whole, once all of it was printed. */
export async function askPlan(asked: Asked, at: LineQuestion): Promise<Posed> {
  const { plan } = asked
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
    const posed = offered ? await answered(asked, word, at) : undefined
    if (posed !== undefined) return posed
    if (!offered) at.print(explained(offers.map(({ key }) => [key, KEY_WORDS.plan[key]])))
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
  const offer = (is: boolean, key: Offer['key'], shown: string): Offer[] => (is ? [{ key, shown }] : [])
  return [
    ...offer(yes, 'y', '[y]es'),
    ...offer(true, 'n', '[n]o'),
    ...offer(yes && at.edit !== undefined && plan.args !== null, 'e', '[e]dit'),
    ...offer(yes && plan.grants.length > 0, 'g', '[g]rant'),
    ...offer(yes && all > 1, 'a', `[a]ll ${all}`),
    ...offer(all > 1, 'd', `[d]eny ${all}`),
    ...offer(at.others, 'j', '[j]'),
    ...offer(at.others, 'k', '[k]'),
    ...offer(true, 'q', '[q]uit'),
  ]
}

/** Undefined: the question stands. */
async function answered(asked: Asked, { word, rest }: Word, at: LineQuestion): Promise<Posed | undefined> {
  const { plan } = asked
  const { id, hash } = plan
  switch (word) {
    case 'y':
      return give({ plan: id, hash, decision: 'approve' }, 'approved', at)
    case 'n':
      return deny([plan], rest, at)
    case 'e':
      return edit(asked, at)
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

async function edit({ plan, draft }: Asked, at: LineQuestion): Promise<Posed | undefined> {
  const { id, hash, args } = plan
  if (args === null) return undefined
  const came = await at.edit?.({ text: draft.text ?? argumentsDraft(args), name: 'arguments.json' })
  if (at.drop.aborted) return 'dropped'
  if (came?.type === 'failed') printOwn([oneLine(came.why)], at)
  if (came?.type !== 'text') return undefined
  const read = readArguments(came.text)
  if (read.type === 'bad') {
    draft.text = read.draft
    printOwn([`${oneLine(read.why)} ${GOES_ON}`], at)
    return undefined
  }
  delete draft.text
  return give(
    { plan: id, hash, decision: 'edit', args: read.args },
    'edited; what comes of that is asked about anew',
    at,
  )
}
