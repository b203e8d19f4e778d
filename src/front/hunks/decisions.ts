import type { Choice } from '../../../tools/contract.ts'
import type { ShownHunk } from '../../approvals/contract.ts'
import {
  choiceOf,
  type Decision,
  fromPatch,
  type Part,
  patchOf,
  patchOfLines,
  refusedDraft,
  split,
} from './patch.ts'

/** What is decided at once: a hunk, or a part of one that was split. */
export interface Piece {
  /** As it would be done: with the person's own lines once it was edited. */
  readonly hunk: ShownHunk
  /** Of the hunk that it belongs to, among those of the plan. */
  readonly of: number
  readonly part: Part | undefined
  readonly decision: Decision | undefined
  /** Whether the end of its text, as it stands here, was on the screen. */
  readonly seen: boolean
  /** What was written of it last and could not be used: a patch whose first line says why. */
  readonly draft: string | undefined
}

/** What becomes of the pieces, in numbers. */
interface Tally {
  readonly pieces: number
  /** That are not refused. */
  readonly taken: number
  /** Of those: with the person's own lines. */
  readonly edited: number
  /** About which anything was decided by now. */
  readonly decided: number
}

/** What a person decides of the hunks of one plan, one after the other. */
export class Decisions {
  readonly #hunks: readonly ShownHunk[]
  #pieces: Piece[]
  #at = 0
  #version = 0

  constructor(hunks: readonly ShownHunk[]) {
    this.#hunks = hunks
    this.#pieces = hunks.map((hunk, of) => ({ hunk, of, part: undefined, ...FRESH }))
  }

  get pieces(): readonly Piece[] {
    return this.#pieces
  }

  /** The one that is looked at; as many as there are, where that is all of them together. */
  get at(): number {
    return this.#at
  }

  get piece(): Piece | undefined {
    return this.#pieces[this.#at]
  }

  /** Another one whenever something was decided, or decided otherwise. */
  get version(): number {
    return this.#version
  }

  get undecided(): number {
    return this.#pieces.filter(({ decision }) => decision === undefined).length
  }

  get tally(): Tally {
    const of = (type?: Decision['type']) =>
      this.#pieces.filter(({ decision }) => decision?.type === type).length
    const pieces = this.#pieces.length
    return { pieces, taken: pieces - of('refuse'), edited: of('edit'), decided: pieces - of() }
  }

  see(): void {
    const piece = this.#pieces[this.#at]
    if (piece !== undefined) this.#pieces[this.#at] = { ...piece, seen: true }
  }

  /** Decides it, and goes on to the next one that is undecided; to all of them together behind the last. */
  decide(decision: Decision): void {
    this.#change(this.#at, { decision: this.#asItStands(this.#at, decision) })
    this.goOn()
  }

  /** The same for this one and all undecided ones behind it in its file. */
  decideFile(decision: Decision): void {
    const file = this.piece?.hunk.shown
    this.#change(this.#at, { decision: this.#asItStands(this.#at, decision) })
    for (let at = this.#at + 1; this.#pieces[at]?.hunk.shown === file; at++)
      if (this.#pieces[at]?.decision === undefined)
        this.#change(at, { decision: this.#asItStands(at, decision) })
    this.goOn()
  }

  /** The same for this one and all undecided ones of the plan. */
  decideAll(decision: Decision): void {
    this.#change(this.#at, { decision: this.#asItStands(this.#at, decision) })
    this.decideRest(decision)
  }

  /** The same for the undecided ones of the plan alone. */
  decideRest(decision: Decision): void {
    for (const [at, piece] of this.#pieces.entries())
      if (piece.decision === undefined) this.#change(at, { decision: this.#asItStands(at, decision) })
    this.goOn()
  }

  /** To the next one, or the one before; with `undecided`, to the next such one. False where there is none. */
  go(by: -1 | 1, { undecided }: { undecided: boolean }): boolean {
    for (let at = this.#at + by; at >= 0 && at < this.#pieces.length; at += by)
      if (!undecided || this.#pieces[at]?.decision === undefined) {
        this.#at = at
        return true
      }
    return false
  }

  /** To the piece of that place; behind the last one, to all of them together, which is asked about last. */
  to(at: number): void {
    this.#at = Math.min(at, this.#pieces.length)
  }

  /** All of them together, which is asked about last. */
  toAll(): void {
    this.to(this.#pieces.length)
  }

  /** To the next undecided one; where all are decided, to all of them together. */
  goOn(): void {
    if (this.undecided === 0) this.toAll()
    else if (!this.go(1, { undecided: true })) this.go(-1, { undecided: true })
  }

  /** How many parts it has now; 1 where it cannot be split. */
  split(): number {
    const piece = this.piece
    if (piece === undefined || piece.part !== undefined || piece.decision?.type === 'edit') return 1
    const parts = split(piece.hunk)
    if (parts.length < 2) return 1
    const pieces = parts.map(part => ({ ...piece, hunk: part, part, ...FRESH }))
    this.#pieces.splice(this.#at, 1, ...pieces)
    this.#version++
    return parts.length
  }

  /** As a patch, for an editor; as it was left there, where that could not be used. */
  get patch(): string {
    const { piece } = this
    return piece === undefined ? '' : (piece.draft ?? patchOf(piece.hunk))
  }

  /** What an editor made of the patch of that piece; a sentence where it cannot be done, and then it is kept. */
  edited(at: number, text: string): string | undefined {
    const piece = this.#pieces[at]
    if (piece === undefined) return 'There is no such hunk any more.'
    // Its lines are counted as they will be seen again.
    const patched = fromPatch(piece.hunk, refusedDraft(text, ''))
    if (patched.type === 'bad') {
      this.#change(at, { draft: refusedDraft(text, patched.why) })
      return patched.why
    }
    this.#change(at, { draft: undefined })
    if (patched.type === 'none') return 'Nothing was left of it, so that it is undecided as before.'
    const hunk = { ...piece.hunk, after: patched.text }
    const diff = split(hunk)
      .map(part => part.diff)
      .join('')
    this.#change(at, { hunk: { ...hunk, diff }, decision: { type: 'edit', text: patched.text }, seen: false })
    if (at === this.#at) this.goOn()
    return undefined
  }

  /** The same of the lines that a person wrote in place of those of that piece, with LF alone. */
  rewritten(at: number, text: string): string | undefined {
    const piece = this.#pieces[at]
    return this.edited(at, piece === undefined ? '' : patchOfLines(piece.hunk, text))
  }

  /** One for every hunk of the plan, once all is decided. */
  choices(): Choice[] {
    return this.#hunks.map((hunk, of) => {
      const pieces = this.#pieces.filter(piece => piece.of === of)
      const decisions = pieces.flatMap(({ part, decision }) =>
        part === undefined || decision === undefined ? [] : [{ part, decision }],
      )
      return decisions.length > 0 ? choiceOf(hunk, decisions) : choice(hunk.number, pieces[0]?.decision)
    })
  }

  /** Accepting a piece that was edited before accepts what is seen of it: the edit. */
  #asItStands(at: number, decision: Decision): Decision {
    const piece = this.#pieces[at]
    if (piece === undefined || decision.type !== 'accept') return decision
    const { after } = piece.hunk
    const proposed = piece.part ?? this.#hunks[piece.of]
    return after === proposed?.after ? decision : { type: 'edit', text: after }
  }

  #change(at: number, change: Partial<Piece>): void {
    const piece = this.#pieces[at]
    if (piece !== undefined) this.#pieces[at] = { ...piece, ...change }
    this.#version++
  }
}

const SIGNS = { accept: '✓ taken', refuse: '✗ refused', edit: '✎ edited' } as const

/** What was decided, for a person. */
export const signOf = ({ decision }: Piece): string =>
  decision === undefined ? '· undecided' : SIGNS[decision.type]

/** The same with the reason of a refusal, which is as it was typed. */
export const decisionText = (piece: Piece): string => `${signOf(piece)}${reasonOf(piece)}`

/** `: keep it`, where it is refused with a reason. */
export const reasonOf = ({ decision }: Pick<Piece, 'decision'>): string =>
  decision?.type === 'refuse' && decision.reason !== null ? `: ${decision.reason}` : ''

/** `hunk 2, part 1 (shop.py:14)` */
export function pieceName({ hunk: { number, shown, line }, part }: Piece): string {
  return `hunk ${number}${part === undefined ? '' : `, part ${part.part}`} (${shown}:${line})`
}

const FRESH = { decision: undefined, seen: false, draft: undefined } as const

function choice(hunk: number, decision: Decision | undefined): Choice {
  switch (decision?.type) {
    case 'accept':
      return { hunk, decision: 'accept' }
    case 'edit':
      return { hunk, decision: 'edit', text: decision.text, reason: null }
    // What nobody decided is not done.
    case undefined:
      return { hunk, decision: 'refuse', reason: null }
    case 'refuse':
      return { hunk, decision: 'refuse', reason: decision.reason }
    default:
      return decision satisfies never
  }
}
