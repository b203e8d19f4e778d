import { duration, oneLine } from '../../../tools/wording.ts'
import { layOut, type Row } from '../console/layout.ts'
import { type Look, looking, type Palette, plain, type Span, textOf } from '../console/style.ts'
import { fitted, widthOf } from '../console/width.ts'
import type { Decisions } from '../hunks/decisions.ts'
import { type Item, isOfTurn } from './items.ts'
import type { Signs } from './signs.ts'

export interface ListOptions {
  readonly columns: number
  /** As many of them as are shown. */
  readonly rows: number
  readonly now: number
  readonly palette: Palette
  readonly signs: Signs
}

/** What waits, a row each: what it is, on which kernel, who asks, for how long, and its title. */
export function listRows(items: readonly Item[], here: Item | undefined, o: ListOptions): Row[] {
  const { columns, rows, palette } = o
  const at = Math.max(0, here === undefined ? 0 : items.indexOf(here))
  const from = Math.max(0, Math.min(at - Math.floor(rows / 2), items.length - rows))
  const shown = items.slice(from, from + rows)
  const cells = shown.map(item => cellsOf(item, o.now))
  const widths = widthsOf(cells, columns)
  return shown.map((item, index) => {
    const number = `${from + index + 1}`.padStart(items.length > 9 ? 2 : 1)
    const isHere = item === here
    const lead = `${isHere ? o.signs.here : ' '} ${number} ${groupSign(items, from + index, o.signs)} `
    const look: Look | undefined = isHere ? 'title' : undefined
    const { tool, kernel, who, waited } = cells[index] ?? NOTHING
    const columnsOf = [cell(tool, widths.tool), cell(kernel, widths.kernel), cell(who, widths.who)]
    const begin = `${lead}${columnsOf.join('')}${' '.repeat(Math.max(0, widths.waited - widthOf(waited)))}${waited}  `
    const rest = titleOf(item, o.signs)
    const title = fitted(rest.text, Math.max(0, columns - widthOf(begin)))
    return (
      layOut(
        [
          { text: begin, look },
          { text: title, look: rest.look ?? look },
        ],
        { columns, palette },
      ).rows[0] ?? EMPTY
    )
  })
}

const EMPTY: Row = { text: '', columns: 0 }

interface Cells {
  readonly tool: string
  readonly kernel: string
  readonly who: string
  readonly waited: string
}

const NOTHING: Cells = { tool: '', kernel: '', who: '', waited: '' }

function cellsOf(item: Item, now: number): Cells {
  const waited = duration(Math.max(0, Math.floor((now - item.since) / 1_000) * 1_000))
  switch (item.type) {
    case 'plan':
      return {
        tool: oneLine(item.plan.tool),
        kernel: item.plan.kernel === null ? '-' : oneLine(item.plan.kernel),
        who: oneLine(item.plan.who),
        waited: waited === '0 ms' ? '0 s' : waited,
      }
    case 'seat':
      return {
        tool: 'a seat',
        kernel: '-',
        who: oneLine(item.wanted.terminal),
        waited: waited === '0 ms' ? '0 s' : waited,
      }
    case 'trouble':
      return { tool: 'the journal', kernel: '-', who: 'imago', waited: '' }
    default:
      return item satisfies never
  }
}

/** What there is no room for is left out: who asks first, then the kernel. The whole stands below the list. */
function widthsOf(cells: readonly Cells[], columns: number) {
  const widest = (of: (cells: Cells) => string, most: number) =>
    Math.min(most, Math.max(0, ...cells.map(one => widthOf(of(one)))))
  const wide = columns >= 100
  const tool = widest(({ tool }) => tool, wide ? 24 : columns < 60 ? 12 : 18)
  return {
    tool,
    kernel: columns < 60 ? 0 : widest(({ kernel }) => kernel, wide ? 16 : 10),
    who: columns < 60 ? 0 : widest(({ who }) => who, wide ? 32 : 14),
    waited: Math.max(
      5,
      widest(({ waited }) => waited, 12),
    ),
  }
}

const cell = (text: string, width: number) => {
  if (width === 0) return ''
  const shown = fitted(text, width)
  return `${shown}${' '.repeat(Math.max(0, width - widthOf(shown)) + 2)}`
}

/** Plans of one turn are held together by a bracket. */
function groupSign(items: readonly Item[], at: number, { group: [first, middle, last] }: Signs): string {
  const item = items[at]
  if (item?.type !== 'plan') return ' '
  const { turn } = item.plan
  const [before, after] = [items[at - 1], items[at + 1]]
  const isAfter = before !== undefined && isOfTurn(before, turn)
  const isBefore = after !== undefined && isOfTurn(after, turn)
  if (isAfter) return isBefore ? middle : last
  return isBefore ? first : ' '
}

function titleOf(item: Item, signs: Signs): Span {
  if (item.type === 'seat')
    return looking('alarm', `Somebody else wants to approve, too: ${oneLine(item.wanted.who)}`)
  if (item.type === 'trouble')
    return looking('alarm', 'Dangerous calls are refused until you have looked at this.')
  const { deciding, sent, plan } = item
  if (sent !== undefined) return looking('hint', `${sent.now}…`)
  const states = deciding === undefined ? '' : `${statesOf(deciding, signs)} `
  const look = plan.warnings.length > 0 ? 'LOOK ' : ''
  return plain(`${states}${look}${oneLine(plan.title)}`)
}

/** `✓✗··`; of very many, how many are decided. */
export const statesOf = (deciding: Decisions, signs: Signs): string => textOf(stateSpans(deciding, signs))

/** The same, and the one that is looked at stands out. */
export function stateSpans({ pieces, undecided, at }: Decisions, signs: Signs): Span[] {
  if (pieces.length > MOST_SIGNS) return [plain(`${pieces.length - undecided}/${pieces.length}`)]
  return pieces.map(({ decision }, index) => {
    const text = decision === undefined ? signs.open : signOf(decision.type, signs)
    return {
      text,
      look: index === at ? 'bar' : decision && (decision.type === 'refuse' ? 'failure' : 'good'),
    }
  })
}

const MOST_SIGNS = 12

export function signOf(decision: 'accept' | 'refuse' | 'edit', signs: Signs): string {
  if (decision === 'accept') return signs.accepted
  return decision === 'refuse' ? signs.refused : signs.edited
}
