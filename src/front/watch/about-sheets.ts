import { oneLine } from '../../../tools/wording.ts'
import { looking, plain, prose } from '../console/style.ts'
import { KEY_WORDS, planEnd } from '../seat/plan-text.ts'
import type { Past } from './desk.ts'
import type { Said } from './notes.ts'
import { type OwnLine, OwnLines } from './own-lines.ts'
import { BLANK, hint } from './plan-lines.ts'
import type { SheetOptions } from './plan-sheets.ts'
import { Sheet } from './sheet.ts'
import type { Standing } from './view.ts'

/** What is shown while nothing waits. */
export function idleSheet(
  {
    waitingFor,
    who,
    past,
    standing,
    now,
  }: {
    waitingFor: readonly string[] | undefined
    who: string
    past: readonly Past[]
    standing: Standing | undefined
    now: number
  },
  o: SheetOptions,
): Sheet {
  if (waitingFor !== undefined)
    return sheetOf(
      [
        title('There is a seat already.'),
        { value: [prose(undefined, 'Waiting up to a minute to be let in by:')] },
        ...waitingFor.map((other): OwnLine => ({ value: [plain(`  ${other}`)], foreign: true })),
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
      {
        value: [prose(undefined, 'What needs your approval is shown here as it comes.')],
      },
      ...(who === '' ? [] : [hint(`You are ${oneLine(who)}.`)]),
      ...(standing === undefined ? [] : standingLines(standing, now)),
      ...(last.length === 0 ? [] : [BLANK, hint('What became of the last ones:'), ...last.map(pastLine)]),
    ],
    o,
  )
}

/** What became of plans, and what was said besides, the last one first. */
export function historySheet(
  { past, said }: { past: readonly Past[]; said: readonly Said[] },
  o: SheetOptions,
): Sheet {
  const entries = [
    ...past.map(one => ({ at: one.at, line: pastLine(one) })),
    ...said.map(({ at, text }) => ({
      at,
      line: { value: [prose(undefined, text)], foreign: true } as OwnLine,
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
  { standing, now }: { standing: Standing | undefined; now: number },
  o: SheetOptions,
): Sheet {
  const lines = standing === undefined ? [] : standingLines(standing, now)
  const none = hint('Nothing is let through without asking, and nobody is let be.')
  return sheetOf([...(lines.length === 0 ? [none] : lines), BLANK, hint('q goes back')], o)
}

function standingLines({ grants, pauses, at }: Standing, now: number): OwnLine[] {
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
    return { value: [prose(undefined, text)], foreign: true }
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
      { value: [prose(undefined, 'A plan with hunks is answered once, when all of them are decided.')] },
      { value: [prose(undefined, 'y leaves, and what was decided and typed is lost. n goes back to it.')] },
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
