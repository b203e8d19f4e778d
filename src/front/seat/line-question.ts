import { oneLine } from '../../../tools/wording.ts'
import type { SeatAnswer, ShownPlan, Taken } from '../../core/approvals.ts'
import type { Draft, DraftResult } from '../person-editor.ts'
import type { OpenSeat } from './open-seat.ts'
import { ownRows } from './plan-text.ts'
import type { Typing } from './typing.ts'

/** Where a person is asked line by line. */
export interface LineTerminal {
  readonly typing: Pick<Typing, 'ask' | 'say' | 'left'>
  print(text: string): void
  /** Its size now; undefined where it does not tell. */
  readonly terminal: Pick<NodeJS.WriteStream, 'columns' | 'rows'>
  /** Gives the terminal to the person's own editor. Absent: nothing is edited here. */
  edit?(draft: Draft): Promise<DraftResult>
}

/** One question, and what else waits. */
export interface LineQuestion extends LineTerminal {
  readonly seat: OpenSeat
  /** Aborted when it needs no answer any more. */
  readonly drop: AbortSignal
  /** The other plans of that turn that wait here, in order. */
  together(turn: string): readonly ShownPlan[]
  /** Whether something else waits. */
  readonly others: boolean
  /** A plan of those was answered here, and is not asked about any more. */
  answered(plan: string): void
}

/** How a question ended. `next` and `previous`: it stands, and another one is looked at first. */
export type Posed = 'left' | 'dropped' | 'done' | 'next' | 'previous'

/** What was typed: `n because it is wrong` is an answer and its reason. */
export interface Word {
  readonly word: string
  readonly rest: string
}

/** In small letters, but for these capitals. */
export function wordOf(text: string, capitals = ''): Word {
  const [, word = '', rest = ''] = /^\s*(\S*)\s*(.*?)\s*$/.exec(text) ?? []
  if (word.length === 1 && capitals.includes(word)) return { word, rest }
  const small = word.toLowerCase()
  return { word: WORDS[small] ?? small, rest }
}

const WORDS: Readonly<Record<string, string>> = {
  yes: 'y',
  no: 'n',
  quit: 'q',
  edit: 'e',
  grant: 'g',
  all: 'a',
}

/** Said of what was written and could not be used: it is kept. */
export const GOES_ON = 'e goes on with what you wrote.'

/** More rows as they are printed, or more bytes, are shown page by page, so that nothing rolls by unseen. */
const ROLLED_ROWS = 200
const ROLLED_BYTES = 16_384

/** Prints rows, page by page where they are many; `cut` where the person stops before the end. */
export async function showRows(
  rows: readonly string[],
  { typing, print, terminal, drop }: LineQuestion,
): Promise<'shown' | 'cut' | 'dropped' | 'left'> {
  const bytes = rows.reduce((sum, row) => sum + Buffer.byteLength(row), 0)
  const rolls = rows.length <= ROLLED_ROWS && bytes <= ROLLED_BYTES + 3 * rows.length
  const page = rolls ? rows.length : Math.max(10, (terminal.rows || 24) - 1)
  for (let at = 0; at < rows.length; at += page) {
    print(`${rows.slice(at, at + page).join('\n')}\n`)
    if (at + page >= rows.length) break
    const typed = await typing.ask(`(${at + page} of ${rows.length}; Enter goes on, s stops here) `, drop)
    if (typed.type !== 'line') return typed.type
    if (typed.text.trim().toLowerCase() === 's') return 'cut'
  }
  return 'shown'
}

/** A reason that was typed with the answer, or else is asked for. */
export async function reasonOf(
  rest: string,
  { typing, drop }: LineQuestion,
): Promise<
  { readonly type: 'reason'; readonly reason: string | null } | { readonly type: 'left' | 'dropped' }
> {
  if (rest !== '') return { type: 'reason', reason: rest }
  const typed = await typing.ask('Why? (Enter: no reason) ', drop)
  if (typed.type !== 'line') return typed
  const reason = typed.text.trim()
  return { type: 'reason', reason: reason === '' ? null : reason }
}

export async function yesOrNo(
  prompt: string,
  { typing, drop }: Pick<LineQuestion, 'typing' | 'drop'>,
): Promise<'yes' | 'no' | 'left' | 'dropped'> {
  for (;;) {
    const typed = await typing.ask(prompt, drop)
    if (typed.type !== 'line') return typed.type
    const { word } = wordOf(typed.text)
    if (word === 'q') return 'left'
    if (word === 'y' || word === 'n') return word === 'y' ? 'yes' : 'no'
  }
}

/** Gives the answer, and says what became of it. Undefined where the plan waits for another one. */
export async function give(
  answer: SeatAnswer,
  did: string,
  { seat, print, terminal }: LineQuestion,
): Promise<'done' | undefined> {
  const taken = await seat.answer(answer)
  const came = taken.type === 'taken' ? did : `your answer did not count: ${oneLine(whyNot(taken))}`
  printOwn([`${answer.plan}: ${came}`], { print, terminal })
  return taken.type === 'unfit' ? undefined : 'done'
}

/** Lines of ours in which others have named something. */
export function printOwn(
  lines: readonly string[],
  { print, terminal }: Pick<LineTerminal, 'print' | 'terminal'>,
): void {
  print(ownText(lines, terminal))
}

/** Those lines in rows that the terminal does not break. */
export function ownText(lines: readonly string[], { columns }: LineTerminal['terminal']): string {
  return lines.flatMap(line => ownRows(line, columns || 80).map(row => `${row}\n`)).join('')
}

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
