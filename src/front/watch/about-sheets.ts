import { oneLine } from '../../../tools/wording.ts'
import { looking, plain, prose } from '../console/style.ts'
import type { Past } from './desk.ts'
import { type OwnLine, OwnLines } from './own-lines.ts'
import { BLANK, hint, type SheetOptions } from './plan-sheets.ts'
import { Sheet } from './sheet.ts'

/** What is shown while nothing waits. */
export function idleSheet(
  {
    waitingFor,
    who,
    past,
  }: { waitingFor: readonly string[] | undefined; who: string; past: readonly Past[] },
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
      ...(last.length === 0 ? [] : [BLANK, hint('What became of the last ones:'), ...last.map(pastLine)]),
    ],
    o,
  )
}

export function historySheet(past: readonly Past[], o: SheetOptions): Sheet {
  const lines = past.length === 0 ? [hint('Nothing yet.')] : [...past].reverse().map(pastLine)
  return sheetOf(
    [title('What became of plans here, the last one first'), BLANK, ...lines, BLANK, hint('q goes back')],
    o,
  )
}

const KEYS: readonly (readonly [string, string])[] = [
  ['y', 'it is done exactly as shown, once; of hunks: this one is'],
  ['n', 'it is not done; then a reason, which the model is told (Enter alone: none)'],
  ['a', 'this and the rest of its turn, or of its file; what was not seen yet is shown first'],
  ['d', 'none of this turn, or of this file; then a reason'],
  ['e', 'in your own editor ($VISUAL, $EDITOR): the hunk, or the arguments'],
  ['s', 'splits the hunk into its separate changes'],
  ['g', 'approves it, and lets its like through without asking until you leave'],
  ['j k', 'the next and the one before: of the hunks that are undecided, else of the plans'],
  ['J K', 'the same through all hunks'],
  ['Tab 1-9', 'another plan'],
  ['space b', 'a screen on and back; the arrows, PageUp and PageDown, Home and End move too'],
  ['G <', 'to the end and to the beginning'],
  ['/', 'searches; / and Enter again finds the next'],
  ['h', 'what became of earlier plans'],
  ['q', 'leaves, as Ctrl-C does; what waits goes on waiting'],
  ['Ctrl-Z', 'stops this program, fg goes on with it'],
]

export function helpSheet(o: SheetOptions): Sheet {
  return sheetOf(
    [
      title('Keys'),
      BLANK,
      ...KEYS.map(([key, what]) => ({ label: looking('title', ` ${key}`), value: [prose(undefined, what)] })),
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

const pastLine = ({ id, title, what }: Past): OwnLine => ({
  foreign: true,
  value: [
    plain(`${id}  `),
    prose(undefined, oneLine(what)),
    prose('hint', title === '' ? '' : `  ${oneLine(title)}`),
  ],
})

const sheetOf = (lines: readonly OwnLine[], o: SheetOptions) =>
  new Sheet([new OwnLines(lines, o.palette)], o.size)
