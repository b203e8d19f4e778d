import { oneLine } from '../../../tools/wording.ts'
import type { ShownPlan } from '../../core/approvals.ts'
import { looking, plain, prose, type Span } from '../console/style.ts'
import type { Decision, Piece } from '../hunks/decisions.ts'
import type { OwnLine } from './own-lines.ts'
import type { Signs } from './signs.ts'

/**
 * What is to be known of a plan before what it does: in as few rows as it can be said in, so that a small change is seen
 * whole on a small screen. `sha256` is what binds an approval.
 */
export function headOf(plan: ShownPlan): OwnLine[] {
  return [...leadOf(plan), { label: looking('hint', 'sha256'), value: [prose('hint', plan.hash)] }]
}

/** The same without the hash. */
export function leadOf(plan: ShownPlan): OwnLine[] {
  const { tool, level, kernel, root, who, notes, lines, bytes } = plan
  const what = [
    `${oneLine(tool)} (${level})`,
    ...(kernel === null ? [] : [`kernel ${oneLine(kernel)}`]),
    counted(lines, 'line'),
    counted(bytes, 'byte'),
  ].join(', ')
  return [
    titleLine(plan),
    ...warningLines(plan),
    field('tool', `${what}, for ${oneLine(who)} in ${oneLine(root)}`),
    ...notes.map(
      (note): OwnLine => ({ label: looking('hint', 'note'), value: [prose('hint', oneLine(note))] }),
    ),
  ]
}

/** What a person may use, and need not have seen. */
export function asideOf({ id, code, times, rule }: ShownPlan): OwnLine[] {
  const lines = [
    ...(code === '' ? [] : [field('script', `imago approve ${id} --code ${code}`)]),
    ...(rule === null ? [] : ruleLines(rule, times)),
  ]
  return lines.length === 0 ? [] : [BLANK, ...lines]
}

/** The lines of the rule as they would stand in the person's policy. */
const ruleLines = (rule: string, times: number): OwnLine[] => [
  field(
    'often',
    `It is asked for the ${nth(times)} time. Nobody is asked any more with this in your policy:`,
  ),
  ...rule
    .trimEnd()
    .split('\n')
    .map(line => ({ label: plain(''), value: [plain(oneLine(line))] })),
]

export const titleLine = ({ title }: ShownPlan): OwnLine => ({
  value: [prose('title', oneLine(title))],
  foreign: true,
})

export const warningLines = ({ warnings }: ShownPlan): OwnLine[] =>
  warnings.map(warning => ({ label: looking('alarm', ' LOOK '), value: [prose('title', oneLine(warning))] }))

/** Which of how many. */
export interface Numbered {
  readonly number: number
  readonly of: number
  readonly signs: Signs
}

export function pieceLines(piece: Piece, { number, of, signs }: Numbered): OwnLine[] {
  const { hunk, part, decision } = piece
  const place = `${number} of ${of}${signs.dot === '-' ? ', ' : ' · '}${oneLine(hunk.shown)}, line ${hunk.line}`
  return [
    field('hunk', part === undefined ? place : `${place}, a part of hunk ${hunk.number}`),
    ...(hunk.why === null ? [] : [field('why', oneLine(hunk.why))]),
    ...(decision === undefined ? [] : [decidedAs(piece, signs)]),
  ]
}

function decidedAs(piece: Piece, signs: Signs): OwnLine {
  return {
    label: looking('hint', 'decided'),
    value: [decidedSpan(piece, signs), prose(undefined, reasonOf(piece.decision))],
  }
}

export function decidedLine({ piece, number }: { piece: Piece; number: number }, signs: Signs): OwnLine {
  const { hunk, decision } = piece
  const place = `  ${oneLine(hunk.shown)}, line ${hunk.line}${reasonOf(decision)}`
  return { label: plain(`  ${number}`), value: [decidedSpan(piece, signs), prose(undefined, place)] }
}

const reasonOf = (decision: Decision | undefined) =>
  decision?.type === 'refuse' && decision.reason !== null ? `: ${oneLine(decision.reason)}` : ''

function decidedSpan({ decision }: Piece, signs: Signs): Span {
  switch (decision?.type) {
    case 'accept':
      return looking('good', `${signs.accepted} accepted`)
    case 'edit':
      return looking('good', `${signs.edited} as you wrote it`)
    case 'refuse':
      return looking('failure', `${signs.refused} refused`)
    case undefined:
      return looking('hint', `${signs.open} undecided`)
    default:
      return decision satisfies never
  }
}

export const BLANK: OwnLine = { value: [] }
export const field = (name: string, value: string): OwnLine => ({
  label: looking('hint', name),
  value: [prose(undefined, value)],
})
export const hint = (sentence: string): OwnLine => ({ value: [prose('hint', sentence)] })

const counted = (count: number, of: string) =>
  `${count.toLocaleString('en-US')} ${of}${count === 1 ? '' : 's'}`

const nth = (count: number) => (count === 3 ? 'third' : `${count}th`)
