import { oneLine } from '../../../tools/wording.ts'
import type { ShownPlan } from '../../core/approvals.ts'
import { Deciding, type Piece } from '../hunks/deciding.ts'
import { DiffLines } from '../hunks/diff-lines.ts'
import { split } from '../hunks/split.ts'
import {
  give,
  type LineQuestion,
  type Posed,
  printOwn,
  reasonOf,
  showRows,
  type Word,
  wordOf,
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

const HELP: Readonly<Record<string, string>> = {
  y: 'do this hunk',
  n: 'do not do it; then a reason, which the model is told',
  q: 'leave the seat; the plan goes on waiting, and nothing of it is decided',
  a: 'do this hunk and all later ones of the file, which are shown first',
  d: 'do neither this hunk nor the later ones of the file',
  e: 'change this hunk in your editor',
  s: 'split it into smaller ones',
  j: 'leave it undecided, and go to the next undecided one',
  k: 'leave it undecided, and go to the one before',
  p: 'print it again',
}

const ALL_HELP: Readonly<Record<string, string>> = {
  y: 'what was decided is done, once',
  n: 'nothing of it is done; then a reason, which the model is told',
  q: HELP.q ?? '',
  k: 'go back to the last hunk',
}

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
    const word = wordOf(typed.text)
    const known = keys.includes(word.word) && (word.rest === '' || word.word === 'n' || word.word === 'd')
    const went = known ? await decided(word, asking) : 'stands'
    if (went !== 'stands') return went
    if (!known) at.print(keys.map(key => `${key}  ${HELP[key]}\n`).join(''))
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

function keysFor(piece: Piece, shown: 'shown' | 'cut', { at, deciding }: Asking): string[] {
  const undecided = (from: number, to: number) =>
    deciding.pieces.slice(from, to).some(({ decision }) => decision === undefined)
  const yes = shown === 'shown'
  const splits = piece.part === undefined && piece.decision?.type !== 'edit' && split(piece.hunk).length > 1
  return [
    ...(yes ? ['y'] : []),
    ...['n', 'q'],
    ...(yes ? ['a'] : []),
    'd',
    ...(at.edit === undefined ? [] : ['e']),
    ...(splits ? ['s'] : []),
    ...(undecided(deciding.at + 1, deciding.pieces.length) ? ['j'] : []),
    ...(undecided(0, deciding.at) ? ['k'] : []),
    ...(yes ? [] : ['p']),
  ]
}

async function decided({ word, rest }: Word, asking: Asking): Promise<Went> {
  const { at, deciding } = asking
  switch (word) {
    case 'y':
      deciding.decide({ type: 'accept' })
      return 'again'
    case 'n':
    case 'd': {
      const given = await reasonOf(rest, at)
      if (given.type !== 'reason') return given.type
      const refusal = { type: 'refuse', reason: given.reason } as const
      if (word === 'n') deciding.decide(refusal)
      else deciding.decideFile(refusal)
      return 'again'
    }
    case 'a':
      return acceptFile(asking)
    case 'e':
      return edit(asking)
    case 's':
      at.print(`Split into ${deciding.split()} hunks.\n`)
      return 'again'
    case 'j':
    case 'k':
      deciding.go(word === 'j' ? 1 : -1, { undecided: true })
      return 'again'
    case 'p':
      return 'again'
    default:
      return 'left'
  }
}

/** Whole ones alone: nothing is accepted whose end was not printed. */
async function acceptFile(asking: Asking): Promise<Went> {
  const { deciding } = asking
  const file = deciding.piece?.hunk.shown
  for (;;) {
    deciding.decide({ type: 'accept' })
    const next = deciding.piece
    if (next === undefined || next.hunk.shown !== file || next.decision !== undefined) return 'again'
    const shown = await showPiece(next, asking)
    if (shown === 'left' || shown === 'dropped') return shown
    if (shown === 'cut') return 'again'
  }
}

async function edit({ plan, at, deciding }: Asking): Promise<Went> {
  const place = deciding.at
  const came = await at.edit?.({ text: deciding.patch, name: `${plan.id}-hunk.diff` })
  if (at.drop.aborted) return 'dropped'
  if (came?.type === 'failed') at.print(`${oneLine(came.why)}\n`)
  if (came?.type !== 'text') return 'stands'
  const why = deciding.edited(place, came.text)
  if (why !== undefined) {
    at.print(`${oneLine(why)}\n`)
    return 'stands'
  }
  const diff = deciding.pieces[place]?.hunk.diff ?? ''
  at.print('Done as you wrote it:\n')
  const shown = await showRows(bodyRows(diff, at.terminal.columns || 80), at)
  if (shown === 'left' || shown === 'dropped') return shown
  return 'again'
}

/** What was decided, in one line, and whether it is to be done. */
async function askAll({ plan, at, deciding }: Asking): Promise<Went> {
  const { id, hash } = plan
  printOwn(['', ...summary(deciding)], at)
  for (;;) {
    const typed = await at.typing.ask('Is that to be done? [y,n,q,k,?] ', at.drop)
    if (typed.type !== 'line') return typed.type
    const { word, rest } = wordOf(typed.text)
    if (word === 'y' && rest === '') {
      const choices = deciding.choices()
      const all = choices.every(({ decision }) => decision === 'refuse')
      const did = all ? 'denied' : 'approved, as you decided'
      return (await give({ plan: id, hash, decision: 'choose', choices }, did, at)) ?? back(deciding)
    }
    if (word === 'n') {
      const given = await reasonOf(rest, at)
      if (given.type !== 'reason') return given.type
      const why = given.reason === null ? {} : { reason: given.reason }
      return (await give({ plan: id, hash, decision: 'deny', ...why }, 'denied', at)) ?? back(deciding)
    }
    if (word === 'q' && rest === '') return 'left'
    if (word === 'k' && rest === '') return back(deciding)
    at.print(
      Object.entries(ALL_HELP)
        .map(([key, help]) => `${key}  ${help}\n`)
        .join(''),
    )
  }
}

/** What becomes of each, in the words of a summary. */
function summary({ pieces }: Deciding): string[] {
  const taken = pieces.filter(({ decision }) => decision?.type !== 'refuse')
  const edited = pieces.filter(({ decision }) => decision?.type === 'edit').length
  if (taken.length === 0) return [`Nothing is done: all ${pieces.length} hunks are refused.`]
  const files = [...new Set(taken.map(({ hunk }) => oneLine(hunk.shown)))].join(', ')
  const as = edited === 0 ? '' : `, ${edited} of them as you wrote ${edited === 1 ? 'it' : 'them'}`
  return [`${taken.length} of ${pieces.length} hunks are done, as one change${as}, in ${files}.`]
}

function back(deciding: Deciding): Went {
  deciding.go(-1, { undecided: false })
  return 'again'
}
