import { oneLine } from '../../tools/text.ts'
import type { ShownPlan } from '../approvals/contract.ts'
import { type Decisions, type Piece, reasonOf } from '../front/hunks/decisions.ts'
import { HOW_TO_LET_IN } from '../front/seat/asker.ts'
import { editorNotes, KEY_WORDS, planEnd } from '../front/seat/plan-text.ts'
import type { InForce, Past, PastNote, PlanItem, SeatItem, Signs, TroubleItem } from './desk-items.ts'
import { highlight } from './languages.ts'
import { type Look, looking, type Palette, plain, prose, type Size, type Span } from './layout.ts'
import { PlanText } from './plan-text.ts'
import { type OwnLine, OwnLines, type Part, Sheet } from './sheet.ts'

interface SheetOptions {
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
  const summary = title(summaryOf({ taken: taken.length, of: pieces.length }))
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

function summaryOf({ taken, of }: { taken: number; of: number }): string {
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
  return new Sheet([own([title(heading), BLANK], o), ...parts], o.size)
}

/** What may be let through without asking from now on. */
export function grantSheet({ plan }: PlanItem, o: SheetOptions): Sheet {
  const about = `Approve this one, and let ${oneLine(plan.tool)} of ${oneLine(plan.who)} through without asking, until this seat is left, for:`
  const offers = plan.grants.map((pattern, index) => ({
    label: looking('title', `  ${index + 1}`),
    value: [plain(oneLine(pattern))],
  }))
  return sheetOf([titleLine(plan), BLANK, sentence(about), ...offers], o)
}

export function seatSheet({ wanted }: SeatItem, o: SheetOptions): Sheet {
  const lines = [
    title('Somebody else wants to approve, too.'),
    field('who', oneLine(wanted.who)),
    field('terminal', oneLine(wanted.terminal)),
    field('started', oneLine(wanted.command)),
    ...editorNotes(wanted).map(note => foreign(undefined, note)),
    BLANK,
    sentence('Is that you? Whoever has a seat can approve whatever you can. Silence refuses.'),
  ]
  return sheetOf(lines, o)
}

export function troubleSheet({ trouble }: TroubleItem, o: SheetOptions): Sheet {
  const lines = [
    title('Dangerous calls are refused:'),
    foreign(undefined, trouble),
    BLANK,
    sentence('Once you have taken note of that, which is written down, they are asked for again.'),
  ]
  return sheetOf(lines, o)
}

/** What was being looked at needs no answer any more. */
export function goneSheet(gone: { id: string; title: string; why: string }, o: SheetOptions): Sheet {
  const lines = [
    foreign('hint', gone.title),
    BLANK,
    title(`${gone.id} needs no answer any more.`),
    foreign(undefined, gone.why),
    BLANK,
    hint('No key of yours went to anything else. Enter goes on.'),
  ]
  return sheetOf(lines, o)
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

/**
 * What is to be known of a plan before what it does: in as few rows as it can be said in, so that a small change is seen
 * whole on a small screen. `sha256` is what binds an approval.
 */
function headOf(plan: ShownPlan): OwnLine[] {
  return [...leadOf(plan), { label: looking('hint', 'sha256'), value: [prose('hint', plan.hash)] }]
}

/** The same without the hash. */
function leadOf(plan: ShownPlan): OwnLine[] {
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
function asideOf({ id, code, times, rule }: ShownPlan): OwnLine[] {
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

const titleLine = ({ title }: ShownPlan): OwnLine => foreign('title', title)

const warningLines = ({ warnings }: ShownPlan): OwnLine[] =>
  warnings.map(warning => ({ label: looking('alarm', ' LOOK '), value: [prose('title', oneLine(warning))] }))

/** Which of how many. */
interface PieceNumber {
  readonly number: number
  readonly of: number
  readonly signs: Signs
}

function pieceLines(piece: Piece, { number, of, signs }: PieceNumber): OwnLine[] {
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
    value: [decidedSpan(piece, signs), prose(undefined, oneLine(reasonOf(piece)))],
  }
}

function decidedLine({ piece, number }: { piece: Piece; number: number }, signs: Signs): OwnLine {
  const { hunk } = piece
  const place = `  ${oneLine(hunk.shown)}, line ${hunk.line}${oneLine(reasonOf(piece))}`
  return { label: plain(`  ${number}`), value: [decidedSpan(piece, signs), prose(undefined, place)] }
}

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

const BLANK: OwnLine = { value: [] }

const field = (name: string, value: string): OwnLine => ({
  label: looking('hint', name),
  value: [prose(undefined, value)],
})

const hint = (text: string): OwnLine => ({ value: [prose('hint', text)] })

const sentence = (text: string): OwnLine => ({ value: [prose(undefined, text)] })

/** Words of somebody else. */
const foreign = (look: Look | undefined, text: string): OwnLine => ({
  value: [prose(look, oneLine(text))],
  foreign: true,
})

const counted = (count: number, of: string) =>
  `${count.toLocaleString('en-US')} ${of}${count === 1 ? '' : 's'}`

const nth = (count: number) => (count === 3 ? 'third' : `${count}th`)

interface Idle {
  /** Who is to let this seat in, while it has to be. */
  readonly waitingFor: readonly string[] | undefined
  readonly who: string
  readonly past: readonly Past[]
  readonly standing: InForce | undefined
  readonly now: number
}

/** What is shown while nothing waits. */
export function idleSheet({ waitingFor, who, past, standing, now }: Idle, o: SheetOptions): Sheet {
  if (waitingFor !== undefined)
    return sheetOf(
      [
        title('There is a seat already.'),
        sentence('Waiting up to a minute to be let in by:'),
        ...waitingFor.map((other): OwnLine => ({ value: [plain(`  ${other}`)], foreign: true })),
        sentence(HOW_TO_LET_IN),
        BLANK,
        hint('Ctrl-C gives up.'),
      ],
      o,
    )
  const last = past.slice(-5).reverse()
  return sheetOf(
    [
      BLANK,
      title(who === '' ? 'Taking a seat…' : 'Nothing waits for you.'),
      BLANK,
      sentence('What needs your approval is shown here as it comes.'),
      ...(who === '' ? [] : [hint(`You are ${oneLine(who)}.`)]),
      ...(standing === undefined ? [] : standingLines(standing, now)),
      ...(last.length === 0 ? [] : [BLANK, hint('What became of the last ones:'), ...last.map(pastLine)]),
    ],
    o,
  )
}

/** What became of plans, and what was said besides, the last one first. */
export function historySheet(
  { past, said }: { past: readonly Past[]; said: readonly PastNote[] },
  o: SheetOptions,
): Sheet {
  const entries = [
    ...past.map(one => ({ at: one.at, line: pastLine(one) })),
    ...said.map(({ at, text }) => ({
      at,
      line: foreign(undefined, text),
    })),
  ].sort((one, other) => one.at - other.at)
  const lines = entries.length === 0 ? [hint('Nothing yet.')] : entries.reverse().map(({ line }) => line)
  return sheetOf(
    [title('What became of plans here, the last one first'), BLANK, ...lines, BLANK, hint('q goes back')],
    o,
  )
}

/** What is let through and who is not asked about, to be taken back. */
export function standingSheet(
  { standing, now }: { standing: InForce | undefined; now: number },
  o: SheetOptions,
): Sheet {
  const lines = standing === undefined ? [] : standingLines(standing, now)
  const none = hint('There is no grant, and nobody is paused.')
  return sheetOf([...(lines.length === 0 ? [none] : lines), BLANK, hint('q goes back')], o)
}

function standingLines({ grants, pauses, at }: InForce, now: number): OwnLine[] {
  const left = (ms: number) => roughly(ms - (now - at))
  const given = grants.map(({ tool, pattern, who, ends_ms, used }, index): OwnLine => {
    const times = used === 0 ? '' : `, let through ${used === 1 ? 'once' : `${used} times`}`
    return {
      label: looking('title', `  ${index + 1}`),
      value: [
        prose(undefined, `${oneLine(tool)} on ${oneLine(pattern)} for ${oneLine(who)}`),
        prose('hint', `, ${left(ends_ms)} more${times}`),
      ],
    }
  })
  const resting = pauses.map(({ who, refusals, left_ms }): OwnLine => {
    const whose = who === null ? 'Nothing is asked' : `Nothing of ${oneLine(who)} is asked`
    const text = `${whose} for ${left(left_ms)} more: ${refusals} were refused in a row.`
    return foreign(undefined, text)
  })
  return [
    ...(given.length === 0
      ? []
      : [BLANK, title('Let through without asking; r and its number revoke it:'), ...given]),
    ...(resting.length === 0
      ? []
      : [BLANK, title('Not put before anybody for a while; r and l lift that:'), ...resting]),
  ]
}

/** In whole minutes from the first on. */
const roughly = (ms: number) => {
  const minutes = Math.ceil(ms / 60_000)
  if (minutes <= 1) return 'less than a minute'
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** Asked of somebody who goes in the middle of hunks. */
export function leavingSheet(unsent: number, o: SheetOptions): Sheet {
  const what = unsent === 1 ? '1 decision is not sent' : `${unsent} decisions are not sent`
  return sheetOf(
    [
      title(`${what}: leave?`),
      BLANK,
      sentence('A plan with hunks is answered once, when all of them are decided.'),
      sentence('y leaves, and what was decided and typed is lost. n goes back to it.'),
    ],
    o,
  )
}

const KEYS: readonly (readonly [string, string])[] = [
  ['y', `${KEY_WORDS.plan.y}; of hunks: ${KEY_WORDS.hunk.y}`],
  ['n', `${KEY_WORDS.plan.n} (Enter alone: none)`],
  ['a', 'this and the rest of its turn, or of its file; what was not seen yet is shown first'],
  ['d', 'none of this turn, or of this file; then a reason'],
  ['A D', 'of hunks: all of the plan that are undecided are, or are not'],
  ['e', `${KEY_WORDS.plan.e}; of a hunk: ${KEY_WORDS.hunk.e}`],
  ['s', `of a hunk: ${KEY_WORDS.hunk.s}`],
  ['g', KEY_WORDS.plan.g],
  ['j k', 'the next and the one before: of the hunks that are undecided, else of the plans'],
  ['J K', 'the same through all hunks'],
  ['Tab 1-9', 'another plan'],
  ['space b', 'a screen on and back; the arrows, PageUp and PageDown, Home and End move too'],
  ['G <', 'to the end and to the beginning'],
  ['/', 'searches; / and Enter again finds the next'],
  ['h', 'what became of earlier plans, and what was said'],
  ['r', 'what is let through or not asked about by now: revokes and lifts'],
  ['q', 'leaves, as Ctrl-C does; what waits goes on waiting'],
  ['Ctrl-Z', 'stops this program, fg goes on with it'],
]

const KEYS_OF_A_PAGE: Readonly<Record<string, string>> = {
  q: 'goes back to the console, as Ctrl-C does; your seat stays, and so does what you decided',
  'Ctrl-Z': 'stops the console, fg goes on with it',
}

/** `isPage`: it is a page of the console, which q closes. */
export function helpSheet({ isPage }: { isPage: boolean }, o: SheetOptions): Sheet {
  const of = (key: string, what: string) => (isPage ? (KEYS_OF_A_PAGE[key] ?? what) : what)
  return sheetOf(
    [
      title('Keys'),
      BLANK,
      ...KEYS.map(([key, what]) => ({
        label: looking('title', ` ${key}`),
        value: [prose(undefined, of(key, what))],
      })),
      BLANK,
      hint(
        'Each row of what a plan would do begins with |, and each that goes on with a long line with +. What does not show is marked ⟦U+202E⟧, and a line of ours never begins so.',
      ),
      hint(
        'Keys count once what they answer stood still for a moment. Nothing can be approved before its end was on the screen.',
      ),
      BLANK,
      hint('q goes back'),
    ],
    o,
  )
}

const title = (text: string): OwnLine => ({ value: [prose('title', text)] })

function pastLine(past: Past): OwnLine {
  const [id, what, title] = planEnd(past)
  return { foreign: true, value: [plain(id), prose(undefined, what), prose('hint', title)] }
}

const sheetOf = (lines: readonly OwnLine[], o: SheetOptions) =>
  new Sheet([new OwnLines(lines, o.palette)], o.size)
