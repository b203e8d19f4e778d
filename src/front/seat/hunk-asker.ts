import { oneLine } from '../../../tools/text.ts'
import type { SeatAnswer, ShownPlan } from '../../approvals/contract.ts'
import { Decisions, type Piece } from '../hunks/decisions.ts'
import { DiffLines } from '../hunks/diff-lines.ts'
import { type Decision, split } from '../hunks/patch.ts'
import {
  columnsOf,
  isYes,
  keyOf,
  type LineQuestion,
  NoAnswer,
  printOwn,
  reasonOf,
  showRows,
} from './line-terminal.ts'
import { bodyRows, KEY_WORDS, planText } from './plan-text.ts'

interface HunkQuestion {
  readonly at: LineQuestion
  /** Gives the answer, and says what became of it, or else `did`. False where the plan waits for another one. */
  give(answer: SeatAnswer, did: string): Promise<boolean>
}

type Key = keyof typeof KEY_WORDS.hunk

/** Asks about the hunks of a plan one by one, as `git add -p` does, and sends one answer once all are decided. */
export async function askHunks(plan: ShownPlan, { at, give }: HunkQuestion): Promise<void> {
  await new HunkAsker(plan, at).run(give)
}

class HunkAsker {
  readonly #plan: ShownPlan
  readonly #at: LineQuestion
  readonly #decisions: Decisions

  constructor(plan: ShownPlan, at: LineQuestion) {
    this.#plan = plan
    this.#at = at
    this.#decisions = new Decisions(plan.hunks)
  }

  async run(give: HunkQuestion['give']): Promise<void> {
    await this.#showLead()
    for (;;) {
      const { piece } = this.#decisions
      if (piece !== undefined) await this.#askPiece(piece)
      else if (await this.#askAll(give)) return
    }
  }

  /** What the plan is, and all of its text that is no diff. */
  async #showLead(): Promise<void> {
    const { head, script } = planText(this.#plan, columnsOf(this.#at))
    const lines = this.#plan.body.replace(/\n$/, '').split('\n')
    const diff = new DiffLines({ count: lines.length, beginning: line => lines[line] ?? '' })
    const outside = [...diff.outside()].flatMap(({ from, to }) => lines.slice(from, to)).join('\n')
    this.#at.print(`\n${head}`)
    if (outside.trim() !== '') await this.#showText(outside.trimEnd())
    this.#at.print(script)
  }

  #showText(text: string): Promise<'shown' | 'cut'> {
    return showRows(bodyRows(text, columnsOf(this.#at)), this.#at)
  }

  /** Until its decision, or another piece to look at. */
  async #askPiece(piece: Piece): Promise<void> {
    const shown = await this.#showPiece(piece)
    const { at: here, pieces } = this.#decisions
    const lead = shown === 'shown' ? 'Apply this hunk?' : 'Not all of it was shown.'
    for (;;) {
      const keys = this.#keysFor(piece, shown)
      const prompt = `(${here + 1}/${pieces.length}) ${lead} [${keys.join(',')},?] `
      const words = keys.map(key => [key, KEY_WORDS.hunk[key]] as const)
      if (await this.#did(await keyOf(prompt, { keys: words, at: this.#at }))) return
    }
  }

  async #showPiece({ hunk, of, part }: Piece): Promise<'shown' | 'cut'> {
    const number = part === undefined ? `${of + 1}` : `${of + 1}, part ${part.part}`
    const lead = `Hunk ${number} of ${this.#plan.hunks.length}, in ${oneLine(hunk.shown)}`
    printOwn(['', lead, ...(hunk.why === null ? [] : [`  why      ${oneLine(hunk.why)}`])], this.#at)
    const shown = await this.#showText(hunk.diff)
    if (shown === 'shown') this.#decisions.see()
    return shown
  }

  #keysFor(piece: Piece, shown: 'shown' | 'cut'): Key[] {
    const { pieces, at: here } = this.#decisions
    const [before, behind] = [pieces.slice(0, here), pieces.slice(here + 1)]
    const undecided = ({ decision }: Piece) => decision === undefined
    const decided = ({ decision }: Piece) => decision !== undefined
    const elsewhere = [...before, ...behind].some(
      one => undecided(one) && one.hunk.shown !== piece.hunk.shown,
    )
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
      ['e', this.#at.edit !== undefined],
      ['s', splits],
      ['j', behind.some(undecided)],
      ['k', before.some(undecided)],
      ['J', behind.some(decided)],
      ['K', before.some(decided)],
      ['p', !yes],
    ]
    return keys.flatMap(([key, is]) => (is ? [key] : []))
  }

  /** Does what a key is for. False where the piece is as it was printed, and is asked about again. */
  async #did({ key, rest }: { readonly key: Key; readonly rest: string }): Promise<boolean> {
    const decisions = this.#decisions
    switch (key) {
      case 'y':
        decisions.decide({ type: 'accept' })
        return true
      case 'n':
        decisions.decide(await this.#refusal(rest))
        return true
      case 'd':
        decisions.decideFile(await this.#refusal(rest))
        return true
      case 'D':
        decisions.decideAll(await this.#refusal(rest))
        return true
      case 'a':
      case 'A':
        await this.#accept(key === 'a' ? decisions.piece?.hunk.shown : undefined)
        return true
      case 'e':
        return await this.#edit()
      case 's':
        this.#at.print(`Split into ${decisions.split()} hunks.\n`)
        return true
      case 'j':
      case 'k':
      case 'J':
      case 'K':
        decisions.go(key.toLowerCase() === 'j' ? 1 : -1, { undecided: key === key.toLowerCase() })
        return true
      case 'p':
        return true
      case 'q':
        await this.#leave()
        return false
      default:
        return key satisfies never
    }
  }

  async #refusal(rest: string): Promise<Decision> {
    return { type: 'refuse', reason: await reasonOf(rest, this.#at) }
  }

  /** This one, and the undecided ones behind it: whole ones alone, as nothing is accepted whose end was not printed. */
  async #accept(file: string | undefined): Promise<void> {
    for (;;) {
      this.#decisions.decide({ type: 'accept' })
      const next = this.#decisions.piece
      if (next === undefined || next.decision !== undefined) return
      if (file !== undefined && next.hunk.shown !== file) return
      if ((await this.#showPiece(next)) === 'cut') return
    }
  }

  /** What was decided, and why, goes with the seat: that is not lost by one key. */
  async #leave(): Promise<void> {
    const { decided: many } = this.#decisions.tally
    const what = many === 1 ? '1 decision is' : `${many} decisions are`
    if (many === 0 || (await isYes(`${what} not sent: leave? [y]es [n]o `, this.#at)))
      throw new NoAnswer('left')
  }

  async #edit(): Promise<boolean> {
    const [at, decisions] = [this.#at, this.#decisions]
    const place = decisions.at
    const came = await at.edit?.({ text: decisions.patch, name: `${this.#plan.id}-hunk.diff` })
    if (at.drop.aborted) throw new NoAnswer('dropped')
    if (came?.type === 'failed') printOwn([oneLine(came.why)], at)
    if (came?.type !== 'text') return false
    const why = decisions.edited(place, came.text)
    if (why !== undefined) {
      printOwn([`${oneLine(why)} e goes on with what you wrote.`], at)
      return false
    }
    at.print('Done as you wrote it:\n')
    await this.#showText(decisions.pieces[place]?.hunk.diff ?? '')
    return true
  }

  /** What was decided, in one line, and whether it is to be done. False where something is to be decided anew. */
  async #askAll(give: HunkQuestion['give']): Promise<boolean> {
    const [at, decisions] = [this.#at, this.#decisions]
    const { id: plan, hash } = this.#plan
    printOwn(['', this.#summary()], at)
    for (;;) {
      const keys = Object.entries(KEY_WORDS.hunks)
      const { key, rest } = await keyOf('Is that to be done? [y,n,D,q,?] ', { keys, at })
      if (key === 'q') {
        await this.#leave()
        continue
      }
      if (key === 'y') {
        const did = decisions.tally.taken === 0 ? 'denied' : 'approved, as you decided'
        if (await give({ plan, hash, decision: 'choose', choices: decisions.choices() }, did)) return true
      } else if (key === 'D') {
        const reason = await reasonOf(rest, at)
        if (await give({ plan, hash, decision: 'deny', ...(reason !== null && { reason }) }, 'denied'))
          return true
      } else at.print('Nothing was sent. Decide anew what you like: J and K go through all hunks.\n')
      decisions.go(-1, { undecided: false })
      return false
    }
  }

  #summary(): string {
    const { pieces, tally } = this.#decisions
    if (tally.taken === 0) return `Nothing is done: all ${tally.pieces} hunks are refused.`
    const done = pieces.filter(({ decision }) => decision?.type !== 'refuse')
    const files = [...new Set(done.map(({ hunk }) => oneLine(hunk.shown)))].join(', ')
    const as =
      tally.edited === 0 ? '' : `, ${tally.edited} of them as you wrote ${tally.edited === 1 ? 'it' : 'them'}`
    return `${tally.taken} of ${tally.pieces} hunks are done, as one change${as}, in ${files}.`
  }
}
