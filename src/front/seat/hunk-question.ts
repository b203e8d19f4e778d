import { oneLine } from '../../../tools/wording.ts'
import type { ShownPlan } from '../../core/approvals.ts'
import { Deciding, type Piece } from '../hunks/deciding.ts'
import { DiffLines } from '../hunks/diff-lines.ts'
import { split } from '../hunks/split.ts'
import { explained, KEY_WORDS } from './key-words.ts'
import {
  GOES_ON,
  give,
  type LineQuestion,
  type Posed,
  printOwn,
  reasonOf,
  showRows,
  wordOf,
  yesOrNo,
} from './line-question.ts'
import { bodyRows, planText } from './plan-text.ts'

/** What is asked about, and what was decided of it by now. */
interface Asking {
  readonly plan: ShownPlan
  readonly at: LineQuestion
  readonly deciding: Deciding
}

/** What a key comes to. `again`: the piece is printed again; `stands`: the question is put again. */
type Went = Posed | 'again' | 'stands'

/** What can be typed about a hunk. Capitals mean something else than small letters, as in git. */
type Key = keyof typeof KEY_WORDS.hunk
const CAPITALS = 'ADJK'
/** A reason may stand behind them. */
const REFUSES: ReadonlySet<string> = new Set(['n', 'd', 'D'])

/** Asks about the hunks of a plan one by one, as `git add -p` does, and sends one answer once all are decided. */
export async function askHunks(plan: ShownPlan, at: LineQuestion): Promise<Posed> {
  const asking = { plan, at, deciding: new Deciding(plan.hunks) }
  const led = await showLead(asking)
  if (led === 'left' || led === 'dropped') return led
  for (;;) {
    const went = asking.deciding.piece === undefined ? await askAll(asking) : await askPiece(asking)
    if (went !== 'again' && went !== 'stands') return went
  }
}

/** What the plan is, and all of its text that is no diff. */
async function showLead({ plan, at }: Asking) {
  const columns = at.terminal.columns || 80
  const { head, script } = planText(plan, columns)
  const lines = plan.body.replace(/\n$/, '').split('\n')
  const diff = new DiffLines({ count: lines.length, beginning: line => lines[line] ?? '' })
  const outside = [...diff.outside()].flatMap(({ from, to }) => lines.slice(from, to)).join('\n')
  at.print(`\n${head}`)
  const shown = outside.trim() === '' ? 'shown' : await showRows(bodyRows(outside.trimEnd(), columns), at)
  at.print(script)
  return shown
}

async function askPiece(asking: Asking): Promise<Went> {
  const { at, deciding } = asking
  const piece = deciding.piece
  if (piece === undefined) return 'stands'
  const shown = await showPiece(piece, asking)
  if (shown === 'left' || shown === 'dropped') return shown
  const where = `(${deciding.at + 1}/${deciding.pieces.length})`
  for (;;) {
    const keys = keysFor(piece, shown, asking)
    const lead = shown === 'shown' ? 'Apply this hunk?' : 'Not all of it was shown.'
    const typed = await at.typing.ask(`${where} ${lead} [${keys.join(',')},?] `, at.drop)
    if (typed.type !== 'line') return typed.type
    const { word, rest } = wordOf(typed.text, CAPITALS)
    const key = keys.find(one => one === word && (rest === '' || REFUSES.has(one)))
    const went = key === undefined ? 'stands' : await decided({ key, rest }, asking)
    if (went !== 'stands') return went
    if (key === undefined) at.print(explained(keys.map(one => [one, KEY_WORDS.hunk[one]])))
  }
}

async function showPiece({ hunk, of, part }: Piece, { plan, at, deciding }: Asking) {
  const rows = bodyRows(hunk.diff, at.terminal.columns || 80)
  const number = part === undefined ? `${of + 1}` : `${of + 1}, part ${part.part}`
  printOwn(
    [
      '',
      `Hunk ${number} of ${plan.hunks.length}, in ${oneLine(hunk.shown)}`,
      ...(hunk.why === null ? [] : [`  why      ${oneLine(hunk.why)}`]),
    ],
    at,
  )
  const shown = await showRows(rows, at)
  if (shown === 'shown') deciding.see()
  return shown
}

function keysFor(piece: Piece, shown: 'shown' | 'cut', { at, deciding }: Asking): Key[] {
  const { pieces, at: here } = deciding
  const [before, behind] = [pieces.slice(0, here), pieces.slice(here + 1)]
  const undecided = ({ decision }: Piece) => decision === undefined
  const decided = ({ decision }: Piece) => decision !== undefined
  const elsewhere = [...before, ...behind].some(one => undecided(one) && one.hunk.shown !== piece.hunk.shown)
  const yes = shown === 'shown'
  const splits = piece.part === undefined && piece.decision?.type !== 'edit' && split(piece.hunk).length > 1
  const keys: readonly (readonly [Key, boolean])[] = [
    ['y', yes],
    ['n', true],
    ['q', true],
    ['a', yes],
    ['d', true],
    ['A', yes && elsewhere],
    ['D', elsewhere],
    ['e', at.edit !== undefined],
    ['s', splits],
    ['j', behind.some(undecided)],
    ['k', before.some(undecided)],
    ['J', behind.some(decided)],
    ['K', before.some(decided)],
    ['p', !yes],
  ]
  return keys.flatMap(([key, is]) => (is ? [key] : []))
}

async function decided(
  { key, rest }: { readonly key: Key; readonly rest: string },
  asking: Asking,
): Promise<Went> {
  const { at, deciding } = asking
  switch (key) {
    case 'y':
      deciding.decide({ type: 'accept' })
      return 'again'
    case 'n':
    case 'd':
    case 'D':
      return refuse(key, { rest, asking })
    case 'a':
    case 'A':
      return accept(key === 'a' ? 'its file' : 'the plan', asking)
    case 'e':
      return edit(asking)
    case 's':
      at.print(`Split into ${deciding.split()} hunks.\n`)
      return 'again'
    case 'j':
    case 'k':
    case 'J':
    case 'K':
      deciding.go(key.toLowerCase() === 'j' ? 1 : -1, { undecided: key === key.toLowerCase() })
      return 'again'
    case 'p':
      return 'again'
    case 'q':
      return leave(asking)
    default:
      return key satisfies never
  }
}

async function refuse(
  key: 'n' | 'd' | 'D',
  { rest, asking: { at, deciding } }: { readonly rest: string; readonly asking: Asking },
): Promise<Went> {
  const given = await reasonOf(rest, at)
  if (given.type !== 'reason') return given.type
  const refusal = { type: 'refuse', reason: given.reason } as const
  if (key === 'n') deciding.decide(refusal)
  else if (key === 'd') deciding.decideFile(refusal)
  else deciding.decideAll(refusal)
  return 'again'
}

/** This one, and the undecided ones behind it: whole ones alone, as nothing is accepted whose end was not printed. */
async function accept(within: 'its file' | 'the plan', asking: Asking): Promise<Went> {
  const { deciding } = asking
  const file = deciding.piece?.hunk.shown
  for (;;) {
    deciding.decide({ type: 'accept' })
    const next = deciding.piece
    if (next === undefined || next.decision !== undefined) return 'again'
    if (within === 'its file' && next.hunk.shown !== file) return 'again'
    const shown = await showPiece(next, asking)
    if (shown === 'left' || shown === 'dropped') return shown
    if (shown === 'cut') return 'again'
  }
}

/** What was decided, and why, goes with the seat: that is not lost by one key. */
async function leave({ at, deciding }: Asking): Promise<Went> {
  const { decided: many } = deciding.tally
  if (many === 0) return 'left'
  const what = many === 1 ? '1 decision is' : `${many} decisions are`
  const said = await yesOrNo(`${what} not sent: leave? [y]es [n]o `, at)
  if (said === 'yes') return 'left'
  return said === 'no' ? 'stands' : said
}

async function edit({ plan, at, deciding }: Asking): Promise<Went> {
  const place = deciding.at
  const came = await at.edit?.({ text: deciding.patch, name: `${plan.id}-hunk.diff` })
  if (at.drop.aborted) return 'dropped'
  if (came?.type === 'failed') printOwn([oneLine(came.why)], at)
  if (came?.type !== 'text') return 'stands'
  const why = deciding.edited(place, came.text)
  if (why !== undefined) {
    printOwn([`${oneLine(why)} ${GOES_ON}`], at)
    return 'stands'
  }
  const diff = deciding.pieces[place]?.hunk.diff ?? ''
  at.print('Done as you wrote it:\n')
  const shown = await showRows(bodyRows(diff, at.terminal.columns || 80), at)
  if (shown === 'left' || shown === 'dropped') return shown
  return 'again'
}

/** What was decided, in one line, and whether it is to be done. */
async function askAll(asking: Asking): Promise<Went> {
  const { plan, at, deciding } = asking
  const { id, hash } = plan
  printOwn(['', ...summary(deciding)], at)
  for (;;) {
    const typed = await at.typing.ask('Is that to be done? [y,n,D,q,?] ', at.drop)
    if (typed.type !== 'line') return typed.type
    const { word, rest } = wordOf(typed.text, 'D')
    if (word === 'y' && rest === '') {
      const did = deciding.tally.taken === 0 ? 'denied' : 'approved, as you decided'
      const answer = { plan: id, hash, decision: 'choose', choices: deciding.choices() } as const
      return (await give(answer, did, at)) ?? back(deciding)
    }
    if (word === 'D') {
      const given = await reasonOf(rest, at)
      if (given.type !== 'reason') return given.type
      const why = given.reason === null ? {} : { reason: given.reason }
      return (await give({ plan: id, hash, decision: 'deny', ...why }, 'denied', at)) ?? back(deciding)
    }
    if (word === 'n' && rest === '') {
      at.print('Nothing was sent. Decide anew what you like: J and K go through all hunks.\n')
      return back(deciding)
    }
    const went = word === 'q' && rest === '' ? await leave(asking) : 'stands'
    if (went !== 'stands') return went
    if (word !== 'q') at.print(explained(Object.entries(KEY_WORDS.hunks)))
  }
}

/** What becomes of each, in the words of a summary. */
function summary({ pieces, tally: { pieces: all, taken, edited } }: Deciding): string[] {
  if (taken === 0) return [`Nothing is done: all ${all} hunks are refused.`]
  const done = pieces.filter(({ decision }) => decision?.type !== 'refuse')
  const files = [...new Set(done.map(({ hunk }) => oneLine(hunk.shown)))].join(', ')
  const as = edited === 0 ? '' : `, ${edited} of them as you wrote ${edited === 1 ? 'it' : 'them'}`
  return [`${taken} of ${all} hunks are done, as one change${as}, in ${files}.`]
}

function back(deciding: Deciding): Went {
  deciding.go(-1, { undecided: false })
  return 'again'
}
