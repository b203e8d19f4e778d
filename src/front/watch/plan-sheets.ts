import { oneLine } from '../../../tools/wording.ts'
import type { ShownPlan } from '../../core/approvals.ts'
import { highlight } from '../console/highlight.ts'
import type { Size } from '../console/screen.ts'
import { looking, type Palette, plain, prose } from '../console/style.ts'
import type { Decisions, Piece } from '../hunks/decisions.ts'
import type { PlanItem, SeatItem, TroubleItem } from './items.ts'
import { type OwnLine, OwnLines } from './own-lines.ts'
import {
  asideOf,
  BLANK,
  decidedLine,
  field,
  headOf,
  hint,
  leadOf,
  pieceLines,
  titleLine,
  warningLines,
} from './plan-lines.ts'
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
  return new Sheet([own(headOf(plan), o), bodyOf(plan, o.palette), aside(plan, o)], o.size)
}

/** One hunk of it. What is to be looked at twice stands above each of them. */
export function hunkSheet({ plan }: PlanItem, deciding: Decisions, o: SheetOptions): Sheet {
  const { piece, at, pieces } = deciding
  if (piece === undefined) return allSheet(plan, deciding, o)
  const head = at === 0 ? leadOf(plan) : [titleLine(plan), ...warningLines(plan)]
  const place = pieceLines(piece, { number: at + 1, of: pieces.length, signs: o.signs })
  return new Sheet([own([...head, ...place], o), diffOf(piece, o)], o.size)
}

/**
 * All hunks, when all are decided: what the preview says besides, what becomes of each hunk, and those that nobody has
 * seen yet as they would be done.
 */
function allSheet(plan: ShownPlan, { pieces }: Decisions, o: SheetOptions): Sheet {
  const taken = pieces.filter(({ decision }) => decision?.type !== 'refuse')
  const unseen = taken.filter(({ seen }) => !seen)
  const lines = pieces.map((piece, index) => decidedLine({ piece, number: index + 1 }, o.signs))
  const { outside } = bodyOf(plan, o.palette)
  const shown = unseen.flatMap((piece): Part[] => [
    own(
      [BLANK, ...pieceLines(piece, { number: pieces.indexOf(piece) + 1, of: pieces.length, signs: o.signs })],
      o,
    ),
    diffOf(piece, o),
  ])
  const summary = { value: [prose('title', summaryOf({ taken: taken.length, of: pieces.length }))] }
  return new Sheet(
    [
      own(headOf(plan), o),
      ...(outside === '' ? [] : [text(outside, o)]),
      own([BLANK, summary, ...lines], o),
      ...shown,
      aside(plan, o),
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
      : [own(headOf(plan), o), bodyOf(plan, o.palette), own([BLANK], o)],
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

/** What a kernel would run is code, in which nothing is a diff, whatever it looks like. */
function bodyOf({ body, kernel }: ShownPlan, palette: Palette): PlanText {
  return new PlanText(body, { palette, as: kernel === null ? 'diff' : 'code', colours: highlight })
}

/** Nobody has to have seen it. */
const aside = (plan: ShownPlan, o: SheetOptions): Part => own(asideOf(plan), o, { aside: true })
const text = (outside: string, { palette }: SheetOptions) => new PlanText(outside, { palette, as: 'text' })
const diffOf = ({ hunk }: Piece, { palette }: SheetOptions) =>
  new PlanText(hunk.diff, { palette, as: 'diff' })
const own = (lines: readonly OwnLine[], { palette }: SheetOptions, o?: { aside: boolean }) =>
  new OwnLines(lines, palette, o)
