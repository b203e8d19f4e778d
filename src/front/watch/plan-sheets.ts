import { oneLine } from '../../../tools/wording.ts'
import type { ShownPlan } from '../../core/approvals.ts'
import { highlight } from '../console/highlight.ts'
import type { Size } from '../console/screen.ts'
import { looking, type Palette, plain, prose, type Span } from '../console/style.ts'
import type { Deciding, Decision, Piece } from '../hunks/deciding.ts'
import type { PlanItem, SeatItem, TroubleItem } from './items.ts'
import { type OwnLine, OwnLines } from './own-lines.ts'
import { PlanText } from './plan-rows.ts'
import { type Part, Sheet } from './sheet.ts'
import type { Signs } from './signs.ts'

export interface SheetOptions {
  readonly palette: Palette
  readonly signs: Signs
  readonly size: Size
}

/** A plan that is taken or left as a whole. */
export function planSheet({ plan }: PlanItem, o: SheetOptions): Sheet {
  return new Sheet([own(headOf(plan), o), bodyOf(plan, o.palette), own(endOf(plan), o)], o.size)
}

/** One hunk of it. The first stands below all that is to be known of the plan, what its preview says besides included. */
export function hunkSheet({ plan }: PlanItem, deciding: Deciding, o: SheetOptions): Sheet {
  const { piece, at, pieces } = deciding
  if (piece === undefined) return allSheet(plan, deciding, o)
  const outside = at === 0 ? bodyOf(plan, o.palette).outside : ''
  const head = at === 0 ? headOf(plan) : [titleLine(plan)]
  return new Sheet(
    [
      own(head, o),
      ...(outside === '' ? [] : [text(outside, o), own([BLANK], o)]),
      own([...pieceLines(piece, { number: at + 1, of: pieces.length, signs: o.signs }), BLANK], o),
      diffOf(piece, o),
      own([BLANK, hint(`end of hunk ${at + 1} of ${pieces.length}`)], o),
    ],
    o.size,
  )
}

/** All hunks, when all are decided: what becomes of each, and those that nobody has seen yet as they would be done. */
function allSheet(plan: ShownPlan, { pieces }: Deciding, o: SheetOptions): Sheet {
  const taken = pieces.filter(({ decision }) => decision?.type !== 'refuse')
  const unseen = taken.filter(({ seen }) => !seen)
  const lines = pieces.map((piece, index) => decidedLine({ piece, number: index + 1 }, o.signs))
  const outside = pieces[0]?.seen ? '' : bodyOf(plan, o.palette).outside
  const shown = unseen.flatMap((piece): Part[] => [
    own(
      [BLANK, ...pieceLines(piece, { number: pieces.indexOf(piece) + 1, of: pieces.length, signs: o.signs })],
      o,
    ),
    diffOf(piece, o),
  ])
  const all = { taken: taken.length, of: pieces.length }
  return new Sheet(
    [
      own(
        [
          titleLine(plan),
          ...warningLines(plan),
          BLANK,
          { value: [prose('title', summaryOf(all))] },
          ...lines,
        ],
        o,
      ),
      ...(unseen.length === 0 || outside === '' ? [] : [own([BLANK], o), text(outside, o)]),
      ...shown,
      own(endOf(plan), o),
    ],
    o.size,
  )
}

export function summaryOf({ taken, of }: { taken: number; of: number }): string {
  if (taken === 0)
    return of === 1
      ? 'The hunk is refused: nothing is done.'
      : `All ${of} hunks are refused: nothing is done.`
  if (taken === of) return of === 1 ? 'The hunk is applied.' : `All ${of} hunks are applied, as one change.`
  return `${taken} of ${of} hunks ${taken === 1 ? 'is' : 'are'} applied, as one change; ${of - taken} ${of - taken === 1 ? 'is' : 'are'} refused.`
}

/** The rest of a turn together: those that nobody has seen yet are shown whole. */
export function turnSheet(items: readonly PlanItem[], o: SheetOptions): Sheet {
  const parts = items.flatMap(({ plan, seen, deciding }): Part[] =>
    seen && deciding === undefined
      ? [own([titleLine(plan), { label: looking('hint', 'seen'), value: [plain(plan.id)] }, BLANK], o)]
      : [own(headOf(plan), o), bodyOf(plan, o.palette), own([...endOf(plan), BLANK], o)],
  )
  const heading = `All ${items.length} plans of this turn, to be approved together:`
  return new Sheet([own([{ value: [prose('title', heading)] }, BLANK], o), ...parts], o.size)
}

/** What may be let through without asking from now on. */
export function grantSheet({ plan }: PlanItem, o: SheetOptions): Sheet {
  const about = `Approve this one, and let ${oneLine(plan.tool)} of ${oneLine(plan.who)} through without asking, until this seat is left, for:`
  const offers = plan.grants.map((pattern, index) => ({
    label: looking('title', `  ${index + 1}`),
    value: [plain(oneLine(pattern))],
  }))
  return new Sheet(
    [own([titleLine(plan), BLANK, { value: [prose(undefined, about)] }, ...offers], o)],
    o.size,
  )
}

export function seatSheet({ wanted }: SeatItem, o: SheetOptions): Sheet {
  const { who, command, terminal } = wanted
  return new Sheet(
    [
      own(
        [
          { value: [prose('title', 'Somebody else wants to approve, too.')] },
          field('who', oneLine(who)),
          field('terminal', oneLine(terminal)),
          field('started', oneLine(command)),
          BLANK,
          {
            value: [
              prose(
                undefined,
                'Is that you? Whoever has a seat can approve whatever you can. Silence refuses.',
              ),
            ],
          },
        ],
        o,
      ),
    ],
    o.size,
  )
}

export function troubleSheet({ trouble }: TroubleItem, o: SheetOptions): Sheet {
  return new Sheet(
    [
      own(
        [
          { value: [prose('title', 'Dangerous calls are refused:')] },
          { value: [prose(undefined, oneLine(trouble))], foreign: true },
          BLANK,
          {
            value: [
              prose(
                undefined,
                'Once you have taken note of that, which is written down, they are asked for again.',
              ),
            ],
          },
        ],
        o,
      ),
    ],
    o.size,
  )
}

/** What was being looked at needs no answer any more. */
export function goneSheet(
  { id, title, why }: { id: string; title: string; why: string },
  o: SheetOptions,
): Sheet {
  return new Sheet(
    [
      own(
        [
          { value: [prose('hint', oneLine(title))], foreign: true },
          BLANK,
          { value: [prose('title', `${id} needs no answer any more.`)] },
          { value: [prose(undefined, oneLine(why))], foreign: true },
          BLANK,
          hint('No key of yours went to anything else. Enter goes on.'),
        ],
        o,
      ),
    ],
    o.size,
  )
}

function headOf(plan: ShownPlan): OwnLine[] {
  const { tool, level, kernel, root, who } = plan
  const where = kernel === null ? 'no kernel' : `kernel ${oneLine(kernel)}`
  return [
    titleLine(plan),
    ...warningLines(plan),
    field('tool', `${oneLine(tool)} (${level}), ${where}`),
    field('for', `${oneLine(who)}, in ${oneLine(root)}`),
    BLANK,
  ]
}

/** What binds an approval, at the end, which has to be seen. */
function endOf({ id, bytes, lines, hash, code, times, rule }: ShownPlan): OwnLine[] {
  return [
    BLANK,
    field('end', `of ${id}: ${counted(lines, 'line')}, ${counted(bytes, 'byte')}`),
    field('sha256', hash),
    ...(code === '' ? [] : [field('script', `imago approve ${id} --code ${code}`)]),
    ...(rule === null ? [] : ruleLines(rule, times)),
  ]
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

const titleLine = ({ title }: ShownPlan): OwnLine => ({
  value: [prose('title', oneLine(title))],
  foreign: true,
})

const warningLines = ({ warnings }: ShownPlan): OwnLine[] =>
  warnings.map(warning => ({ label: looking('alarm', ' LOOK '), value: [prose('title', oneLine(warning))] }))

interface Numbered {
  readonly number: number
  readonly of: number
  readonly signs: Signs
}

function pieceLines(piece: Piece, { number, of, signs }: Numbered): OwnLine[] {
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

function decidedLine({ piece, number }: { piece: Piece; number: number }, signs: Signs): OwnLine {
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

/** What a kernel would run is code, in which nothing is a diff, whatever it looks like. */
function bodyOf({ body, kernel }: ShownPlan, palette: Palette): PlanText {
  return new PlanText(body, { palette, as: kernel === null ? 'diff' : 'code', colours: highlight })
}

const text = (outside: string, { palette }: SheetOptions) => new PlanText(outside, { palette, as: 'text' })
const diffOf = ({ hunk }: Piece, { palette }: SheetOptions) =>
  new PlanText(hunk.diff, { palette, as: 'diff' })
const own = (lines: readonly OwnLine[], { palette }: SheetOptions) => new OwnLines(lines, palette)

export const BLANK: OwnLine = { value: [] }
export const field = (name: string, value: string): OwnLine => ({
  label: looking('hint', name),
  value: [prose(undefined, value)],
})
export const hint = (sentence: string): OwnLine => ({ value: [prose('hint', sentence)] })

const counted = (count: number, of: string) =>
  `${count.toLocaleString('en-US')} ${of}${count === 1 ? '' : 's'}`

const nth = (count: number) => (count === 3 ? 'third' : `${count}th`)
