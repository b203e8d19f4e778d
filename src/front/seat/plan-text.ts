import { duration, oneLine } from '../../../tools/text.ts'
import { INVISIBLE } from '../../../wire/invisible.ts'
import type { AnswerOutcome, ShownPlan } from '../../approvals/contract.ts'
import type { SeatRow, SeatWanted } from '../protocol.ts'

/** A plan as it is printed: what it is, the whole of it, and how it can be answered. */
export interface PlanText {
  readonly head: string
  /** The preview, a row of the terminal each, none of which could be taken for ours. */
  readonly body: readonly string[]
  readonly foot: string
  /** How it is approved from a script; empty where it cannot be. */
  readonly script: string
}

/** `columns`: of the terminal. */
export function planText(plan: ShownPlan, columns: number): PlanText {
  const { id, hash, tool, level, kernel, root, who, bytes, lines, warnings, notes, waited_ms, code } = plan
  const head = [
    `==== ${id} ${'='.repeat(Math.max(4, Math.min(ownWidth(columns), 80) - id.length - 6))}`,
    oneLine(plan.title),
    `  tool     ${oneLine(tool)} (${level})`,
    `  for      ${oneLine(who)}${waited_ms < 1_000 ? '' : `, who has waited ${duration(waited_ms)}`}`,
    `  kernel   ${kernel === null ? 'none' : oneLine(kernel)}`,
    `  project  ${oneLine(root)}`,
    `  size     ${bytes} bytes, ${lines} ${lines === 1 ? 'line' : 'lines'}`,
    `  sha256   ${hash}`,
    ...warnings.map(warning => `  LOOK     ${oneLine(warning)}`),
    ...notes.map(note => `  note     ${oneLine(note)}`),
    ...againLines(plan),
    '',
  ]
  const script = code === '' ? [] : [`From a script: imago approve ${id} --code ${code}`]
  const end = `==== end of ${id}, all ${lines} ${lines === 1 ? 'line' : 'lines'} of it`
  const rows = head.flatMap(line => ownRows(line, columns))
  return {
    head: joined(rows),
    body: bodyRows(plan.body, columns),
    foot: joined([end, ...script]),
    script: joined(script),
  }
}

/** That the same was asked for before, and the rule by which nobody would be asked. */
function againLines({ times, rule }: ShownPlan): string[] {
  if (rule === null) return []
  const [first = '', ...others] = rule.trimEnd().split('\n').map(oneLine)
  const lead = `  again    asked for ${times} times by now; with this rule nobody would be asked: `
  return [lead, `           ${first}`, ...others.map(line => `           ${line}`)]
}

/** A line of ours in which others have named something goes on set in, so that no row begins with a name of theirs. */
export function ownRows(line: string, columns: number): string[] {
  const width = ownWidth(columns)
  return pieces(line, width).map((piece, index) => (index === 0 ? piece : `${SET_IN}${piece}`))
}

const SET_IN = '    '

const ownWidth = (columns: number) => Math.max(20, columns - SET_IN.length - 1)

/** Each row of the preview begins with `| `, and each that goes on with a long line with `+ `. */
export function bodyRows(body: string, columns: number): string[] {
  const width = Math.max(20, columns - 3)
  const lines = body.endsWith('\n') ? body.slice(0, -1).split('\n') : body.split('\n')
  return lines.flatMap(line =>
    pieces(line, width).map((piece, index) => `${index === 0 ? '|' : '+'} ${piece}`),
  )
}

/** So that no row is broken by the terminal, which would begin the next one with what stands in the line. */
function pieces(line: string, width: number): string[] {
  const found: string[] = []
  let piece = ''
  let columns = 0
  for (const character of line) {
    const wide = columnsOf(character)
    if (columns + wide > width) {
      found.push(piece)
      piece = ''
      columns = 0
    }
    piece += character
    columns += wide
  }
  return [...found, piece]
}

/** At most: a control is shown as four to six characters, and whatever is not ASCII may be two columns wide. */
function columnsOf(character: string): number {
  const code = character.codePointAt(0) ?? 0
  if (code === 0x09) return 8
  if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return 4
  if (code < 0x7f) return 1
  return HIDDEN.test(character) ? 6 : 2
}

const HIDDEN = new RegExp(INVISIBLE, 'u')

const joined = (lines: readonly string[]) => lines.map(line => `${line}\n`).join('')

/** What is said of a plan after it was settled. */
export interface PlanEnd {
  readonly id: string
  readonly title: string
  /** A clause, `approved`, or a sentence. */
  readonly what: string
}

/** How a plan ended, as the pieces of one line wherever that is said. */
export function planEnd({ id, what, title }: PlanEnd): readonly [id: string, what: string, title: string] {
  const told = oneLine(what)
  return title === '' ? [`${id} `, told, ''] : [`${id} `, told.replace(/\.$/, ''), `: ${oneLine(title)}`]
}

/** Why an answer did not count, as a sentence. */
export function whyNot(taken: Exclude<AnswerOutcome, { type: 'taken' }>): string {
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

/** `seat-1, terminal /dev/pts/3 (process 4711), in /home/ada/shop, started with: imago` */
export const seatText = ({ seat, who, command, root }: SeatRow): string =>
  oneLine(`${seat}, ${who}, in ${root}${command === '' ? '' : `, started with: ${command}`}`)

/** What a person is told of an editor that wants a seat, besides who it is. Names of others are in it. */
export function editorNotes({ through }: Pick<SeatWanted, 'through'>): readonly string[] {
  if (through === undefined) return []
  const { code, driver } = through
  const note = `It has no terminal, and shows the code ${code}. The program that drives it has its seat.`
  return driver === null ? [note] : [note, `! A model or a program may drive it: ${driver}.`]
}

/** What the keys do with which a person answers, in the words in which they are explained wherever one is asked. */
export const KEY_WORDS = {
  /** Of a plan that is taken or left as a whole. */
  plan: {
    y: 'it is done exactly as shown, once',
    n: 'it is not done; then a reason, which the model is told',
    e: 'what is called is changed in your editor ($VISUAL, $EDITOR); you are asked about that anew',
    g: 'it is done, and its like is let through without asking until you leave',
    a: 'all of its turn is done; what was not seen yet is shown first',
    d: 'none of its turn is done; then a reason',
    j: 'looks at the next plan first',
    k: 'looks at the plan before first',
    q: 'leaves the seat; what waits goes on waiting',
  },
  /** Of one of the hunks of a plan. */
  hunk: {
    y: 'this hunk is done',
    n: 'it is not done; then a reason, which the model is told',
    q: 'leaves the seat; the plan goes on waiting, and nothing of it is decided',
    a: 'this hunk and all later ones of its file are done; what was not seen yet is shown first',
    d: 'neither this hunk nor the later ones of its file are done; then a reason',
    A: 'this hunk and all undecided ones of the plan are done; what was not seen yet is shown first',
    D: 'neither this hunk nor any undecided one of the plan is done; then a reason',
    e: 'it is changed in your editor ($VISUAL, $EDITOR)',
    s: 'it is split into its separate changes',
    j: 'leaves it, and goes to the next undecided one',
    k: 'leaves it, and goes to the undecided one before',
    J: 'goes to the next one, decided or not',
    K: 'goes to the one before, decided or not',
    p: 'prints it again',
  },
  /** Of all hunks of a plan, once each is decided. */
  hunks: {
    y: 'what was decided is done, once',
    n: 'nothing is sent, and you decide anew what you like',
    D: 'nothing of the plan is done; then a reason, which the model is told',
    q: 'leaves the seat; the plan goes on waiting, and nothing of it is decided',
  },
} as const

/** A row for each of these keys. */
export const explained = (keys: readonly (readonly [key: string, words: string])[]): string =>
  keys.map(([key, words]) => `${key}  ${words}\n`).join('')
