import { duration, oneLine } from '../../tools/text.ts'
import type { Decisions, Piece } from '../front/hunks/decisions.ts'
import { split } from '../front/hunks/patch.ts'
import {
  type Item,
  type Items,
  isOfTurn,
  type Note,
  type Notes,
  type PlanItem,
  type Signs,
} from './desk-items.ts'
import type { Scene, View } from './desk-view.ts'
import {
  CURSOR,
  fitted,
  flowed,
  type Look,
  layOut,
  looking,
  type Palette,
  type Place,
  plain,
  prose,
  type Row,
  type Size,
  type Span,
  textOf,
  widthOf,
} from './layout.ts'
import type { LineInput } from './line.ts'
import { type Position, positionText } from './sheet.ts'

interface DeskState {
  readonly items: Items
  readonly view: View
  readonly input: LineInput | undefined
  readonly notes: Notes
  /** Which seat this is. */
  readonly heading: string
  /** Whether keys answer what stands there. */
  readonly counts: boolean
  readonly now: number
  readonly size: Size
  readonly palette: Palette
  readonly signs: Signs
}

export interface DeskFrame {
  readonly rows: readonly Row[]
  readonly cursor: Place | undefined
  /** The name of what was painted. */
  readonly question: string
}

/** From the top: a bar, the list, a rule that says how far the text was read, the text, a note, and the keys. */
export function paintDesk(o: DeskState): DeskFrame {
  const { items, view, notes, size, palette, signs, now } = o
  const { columns, rows } = size
  const question = view.name
  const keys = () => one(footerSpans(o), columns, palette)
  const bar = rows < 8 ? [] : [barRow(o)]
  const inList =
    items.all.length === 0
      ? 0
      : Math.min(items.all.length, Math.max(1, rows <= 12 ? 1 : Math.floor(rows / 4)))
  const list =
    rows < 6
      ? []
      : listRows(items.all, view.shown.type === 'withdrawn' ? undefined : items.here, {
          columns,
          rows: inList,
          now,
          palette,
          signs,
        })
  const above = bar.length + list.length + 1
  const withOne = rows - above - footRows({ ...o, keys, most: 1 }).rows.length
  const most = mostNotes(size, { needed: view.sheet().rowsWithin(withOne), room: withOne })
  const room = Math.max(1, rows - above - footRows({ ...o, keys, most }).rows.length)
  const sheet = view.sheet({ columns, rows: room })
  const text = sheet.rows()
  if (sheet.seen) view.see()
  // With the end of the text on the screen, other keys work.
  const foot = footRows({ ...o, keys, most })
  notes.shown(foot.shown, now)
  const blank = Array.from({ length: room - text.length }, () => EMPTY)
  const painted = [...bar, ...list, ruleRow(o, sheet.position), ...text, ...blank, ...foot.rows].slice(
    0,
    rows,
  )
  const cursor = foot.cursor && {
    row: painted.length - foot.rows.length + foot.cursor.row,
    column: foot.cursor.column,
  }
  return { rows: painted, cursor, question }
}

const EMPTY: Row = { text: '', columns: 0 }

function barRow({ items, heading, size: { columns }, palette, signs }: DeskState): Row {
  const count = items.all.length
  const waits = count === 0 ? 'nothing waits' : `${count} ${count === 1 ? 'waits' : 'wait'}`
  const text = [' Imago', heading, waits].filter(part => part !== '').join(` ${signs.dot} `)
  const right = ' ? help '
  const shown = fitted(text, Math.max(0, columns - right.length))
  const filled = `${shown}${' '.repeat(Math.max(0, columns - widthOf(shown) - right.length))}${right}`
  return one([looking('bar', fitted(filled, columns))], columns, palette)
}

/** What stands below, what of it is to be looked at twice, and how far it was read. */
function ruleRow({ view, palette, signs, size: { columns } }: DeskState, position: Position): Row {
  const { shown } = view
  const item = 'item' in shown ? shown.item : undefined
  const hunks =
    item?.deciding === undefined ? [] : [plain(' '), ...stateSpans(item.deciding, signs), plain(' ')]
  const warnings = item?.plan.warnings.length ?? 0
  const look = warnings === 0 ? [] : [plain(' '), looking('alarm', ` LOOK ${warnings} `), plain(' ')]
  const name = item === undefined ? [] : [looking('title', ` ${oneLine(item.id)} `)]
  const where = position.lines === 0 ? '' : ` ${positionText(position, signs.dot)} `
  const rule = (count: number) => looking('hint', signs.rule.repeat(Math.max(0, count)))
  const left = [rule(2), ...name, ...hunks, ...look]
  const between = columns - widthOf(textOf(left)) - widthOf(where) - 2
  if (between < 1) return one([...left, plain(where)], columns, palette)
  return one([...left, rule(between), plain(where), rule(2)], columns, palette)
}

/** One row of the screen, whatever it holds. */
function one(spans: readonly Span[], columns: number, palette: Palette): Row {
  return layOut(spans, { columns, palette }).rows[0] ?? EMPTY
}

interface FootOptions {
  readonly notes: Notes
  readonly input: LineInput | undefined
  readonly size: Size
  readonly palette: Palette
  /** As many rows of notes; see `mostNotes`. */
  readonly most: number
  /** The row of keys. */
  keys(): Row
}

/** What stands below everything else. */
interface Foot {
  readonly rows: readonly Row[]
  readonly cursor: Place | undefined
  /** How many of the notes stand there. */
  readonly shown: number
}

/** A screen with fewer rows has no row for notes while there is none, and none for notes while a line is written. */
const TALL = 16

/** Of a long line that is being written, so many rows. */
const WRITTEN_ROWS = 3

/** Notes, and what is being written or the keys. */
function footRows(o: FootOptions): Foot {
  const { input, size } = o
  const { rows: notes, shown } =
    input !== undefined && size.rows < TALL ? { rows: [], shown: 0 } : noteRows(o)
  if (input === undefined) return { rows: [...notes, o.keys()], cursor: undefined, shown }
  const written = inputRows(input, o)
  const { row, column } = written.cursor
  return { rows: [...notes, ...written.rows], cursor: { row: notes.length + row, column }, shown }
}

function noteRows({ notes, size, palette, most }: FootOptions): { rows: Row[]; shown: number } {
  const { columns, rows: height } = size
  const rows: Row[] = []
  let shown = 0
  for (const note of notes.all) {
    const laid = laidOut(note, { columns, palette })
    if (shown > 0 && rows.length + laid.length > most) break
    rows.push(...laid)
    shown++
  }
  if (rows.length > most) {
    const [first] = notes.all
    const last =
      most === 1 ? `${fitted(` ${first?.text ?? ''}`, Math.max(0, columns - 5))} … h` : '   … all of it: h'
    rows.splice(
      most - 1,
      rows.length,
      ...layOut([looking('hint', last)], { columns, palette }).rows.slice(0, 1),
    )
    // It has its while once all of it stands there.
    shown = 0
  }
  if (rows.length === 0 && height >= TALL) rows.push({ text: '', columns: 0 })
  return { rows, shown }
}

/**
 * How many rows of notes there may be, beside a text that needs `needed` of the `room` that one of them leaves: what is
 * to be seen whole is seen whole.
 */
function mostNotes({ columns, rows }: Size, { needed, room }: { needed: number; room: number }): number {
  const most = rows >= 20 ? (columns < 60 ? 6 : 4) : rows >= 10 ? 3 : rows >= 8 ? 2 : 1
  return needed > room ? most : Math.min(most, 1 + room - needed)
}

/** Words of somebody else stand in it: where it goes on, no row of it begins as another does. */
function laidOut({ text, look }: Note, { columns, palette }: { columns: number; palette: Palette }): Row[] {
  const width = Math.max(1, columns - INDENT)
  return layOut(flowed([prose(look ?? 'hint', text)], width), { columns: width, palette }).rows.map(
    (row, index) => {
      const before = ' '.repeat(index === 0 ? 1 : Math.min(INDENT, Math.max(0, columns - row.columns)))
      return { text: `${before}${row.text}`, columns: before.length + row.columns }
    },
  )
}

const INDENT = 3

/** The prompt is in sight, however long the line is. */
function inputRows({ prompt, enters, edit: { text, cursor } }: LineInput, { size, palette }: FootOptions) {
  const { columns, rows: height } = size
  const asked = looking('prompt', ` ${prompt}`)
  const pieces = [asked, plain(text.slice(0, cursor)), CURSOR, plain(text.slice(cursor))]
  const laid = layOut(pieces as Parameters<typeof layOut>[0], { columns, palette })
  const at = laid.cursor ?? { row: 0, column: 0 }
  const from = Math.max(0, Math.min(at.row - 1, laid.rows.length - WRITTEN_ROWS))
  const hint = looking('hint', ` Enter ${enters} · Esc goes back`)
  const keys = height < TALL ? [] : layOut([hint], { columns, palette }).rows.slice(0, 1)
  // Rows that are gone on with stand below what they answer.
  const above = from === 0 ? [] : layOut([asked], { columns, palette }).rows.slice(0, 1)
  return {
    rows: [...above, ...laid.rows.slice(from, from + WRITTEN_ROWS), ...keys],
    cursor: { row: above.length + at.row - from, column: at.column },
  }
}

/** What is done, and what is not. */
const LOOKS: Readonly<Record<string, Look>> = { y: 'good', n: 'failure' }

/** A key, and what it does now. */
type Offer = readonly [key: string, does: string]

/** The keys that work now, the most important first; those for which there is no room are left out. */
function footerSpans({ items, view, counts, size: { columns }, signs }: DeskState): Span[] {
  const { shown } = view
  const answers = view.asks && !counts ? [] : answersTo(view, { items, wide: columns >= 60 })
  const moves = movesIn(shown, { count: items.all.length, page: view.isPage, standing: view.hasStanding })
  const spans: Span[] = [plain(' ')]
  let taken = 1
  if (view.asks && !counts) {
    spans.push(looking('hint', signs.dot === '-' ? '...  ' : '…  '))
    taken += 5
  }
  for (const [key, does] of [...answers, ...moves]) {
    const width = widthOf(key) + 1 + widthOf(does) + 2
    if (taken + width - 2 > columns) continue
    spans.push(looking(LOOKS[key] ?? 'title', key), plain(` ${does}  `))
    taken += width
  }
  return spans
}

function answersTo(view: View, { items, wide }: { items: Items; wide: boolean }): Offer[] {
  const unseen: Offer = ['G', wide ? 'shows the end; y after that' : 'end, then y']
  const { shown } = view
  switch (shown.type) {
    case 'plan':
      return planOffers(shown.item, { unseen, ofTurn: items.turn(shown.item.plan.turn).length })
    case 'hunk':
      return hunkOffers(shown.item, unseen)
    case 'hunks':
      return [view.sheet().seen ? ['y', 'sends this'] : unseen, ['n', 'decide anew']]
    case 'turn':
      return [
        view.sheet().seen ? ['y', `approve all ${shown.items.length}`] : unseen,
        ['d', 'deny all'],
        ['n', 'back'],
      ]
    case 'grant':
      return [
        ...shown.item.plan.grants.map((pattern, index): Offer => [`${index + 1}`, pattern]),
        ['Esc', 'back'],
      ]
    case 'seat':
      return [
        ['y', 'let it'],
        ['n', 'turn it away'],
      ]
    case 'trouble':
      return [
        ['y', 'take note'],
        ['n', 'not now'],
      ]
    case 'withdrawn':
      return [['Enter', 'goes on']]
    case 'leaving':
      return [
        ['y', 'leave'],
        ['n', 'stay'],
      ]
    case 'standing':
      return standingOffers(view)
    case 'help':
    case 'history':
      return [['q', 'back']]
    case 'sent':
    case 'idle':
      return []
    default:
      return shown satisfies never
  }
}

function standingOffers({ standing }: View): Offer[] {
  const { grants = [], pauses = [] } = standing ?? {}
  const numbers = grants.length > 1 ? `1-${Math.min(9, grants.length)}` : '1'
  return [
    ...(grants.length > 0 ? [[numbers, 'revoke'] as const] : []),
    ...(pauses.length > 0 ? [['l', 'lift the pause'] as const] : []),
    ['q', 'back'],
  ]
}

function planOffers(
  { plan, seen }: PlanItem,
  { unseen, ofTurn }: { unseen: Offer; ofTurn: number },
): Offer[] {
  return [
    seen ? ['y', 'approve'] : unseen,
    ['n', 'deny'],
    ['e', 'edit'],
    ...(plan.grants.length > 0 && seen ? [['g', 'grant'] as const] : []),
    ...(ofTurn > 1 ? TURN : []),
  ]
}

const TURN: readonly Offer[] = [
  ['a', 'approve turn'],
  ['d', 'deny turn'],
]

function hunkOffers({ deciding }: PlanItem, unseen: Offer): Offer[] {
  const files = new Set(deciding?.pieces.map(({ hunk }) => hunk.shown)).size
  return [
    deciding?.piece?.seen === true ? ['y', 'this hunk'] : unseen,
    ['n', 'not this'],
    ['A', 'all'],
    ['D', 'none'],
    ['e', 'edit'],
    ...(canBeSplit(deciding?.piece) ? [['s', 'split'] as const] : []),
    ...(files > 1 ? FILE : []),
  ]
}

const FILE: readonly Offer[] = [
  ['a', 'rest of file'],
  ['d', 'none of file'],
]

const splits = new WeakMap<Piece['hunk'], boolean>()

/** Looked for once for each: it compares all its lines. */
function canBeSplit(piece: Piece | undefined): boolean {
  if (piece === undefined || piece.part !== undefined || piece.decision?.type === 'edit') return false
  const known = splits.get(piece.hunk) ?? split(piece.hunk).length > 1
  splits.set(piece.hunk, known)
  return known
}

function movesIn({ type }: Scene, o: { count: number; page: boolean; standing: boolean }): Offer[] {
  const { count, page, standing } = o
  if (type === 'leaving') return []
  if (type === 'help' || type === 'history' || type === 'standing') return [['space', 'on']]
  const about: Offer[] = [
    ['?', 'help'],
    ['q', page ? 'back' : 'leave'],
  ]
  if (type === 'idle')
    return [...about, ...(standing ? [['r', 'revoke or lift'] as const] : []), ['h', 'history']]
  const others: Offer[] = count > 1 ? [['Tab', 'next plan']] : []
  if (type === 'hunk' || type === 'hunks') return [['j k', 'hunks'], ...about, ...others]
  return [...others, ...about, ['space', 'on'], ['h', 'history']]
}

interface ListOptions {
  readonly columns: number
  /** As many of them as are shown. */
  readonly rows: number
  readonly now: number
  readonly palette: Palette
  readonly signs: Signs
}

/** What waits, a row each: what it is, on which kernel, who asks, for how long, and its title. */
function listRows(items: readonly Item[], here: Item | undefined, o: ListOptions): Row[] {
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

interface Cells {
  readonly tool: string
  readonly kernel: string
  readonly who: string
  readonly waited: string
}

const NOTHING: Cells = { tool: '', kernel: '', who: '', waited: '' }

function cellsOf(item: Item, now: number): Cells {
  const ms = now - item.since
  const waited = ms < 1_000 ? '0 s' : duration(Math.floor(ms / 1_000) * 1_000)
  if (item.type === 'trouble') return { tool: 'the journal', kernel: '-', who: 'imago', waited: '' }
  if (item.type === 'seat') return { tool: 'a seat', kernel: '-', who: oneLine(item.wanted.terminal), waited }
  const { tool, kernel, who } = item.plan
  return { tool: oneLine(tool), kernel: kernel === null ? '-' : oneLine(kernel), who: oneLine(who), waited }
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
const statesOf = (deciding: Decisions, signs: Signs): string => textOf(stateSpans(deciding, signs))

/** The same, and the one that is looked at stands out. */
function stateSpans({ pieces, undecided, at }: Decisions, signs: Signs): Span[] {
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

function signOf(decision: 'accept' | 'refuse' | 'edit', signs: Signs): string {
  if (decision === 'accept') return signs.accepted
  return decision === 'refuse' ? signs.refused : signs.edited
}
