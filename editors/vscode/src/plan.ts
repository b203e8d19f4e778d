import { Decisions, type Piece, signOf } from '../../../src/front/hunks/decisions.ts'
import type { Methods } from '../../../src/front/protocol.ts'
import { escapeLine, escapePlan, escapePlanLine, escapeText } from '../../../src/text/escape.ts'
import { linesOf } from '../../../tools/newlines.ts'
import type { Plan, Project, WaitingRow } from './project.ts'

type Answer = Pick<Methods['answer']['params'], 'decision' | 'reason'>

/** `whole`: it has no hunks. `confirm`: each hunk is decided, and what will be applied is shown. */
export type Stage = 'whole' | 'choose' | 'confirm' | 'sent' | 'over'

/** The place of a hunk in a text that is shown: its first and last lines, from 0. */
interface HunkPlace {
  /** Among the pieces that are decided; as many as there are: what is asked about last, all together. */
  readonly at: number
  readonly line: number
  readonly end: number
}

/** A text that is shown. What cannot be seen is marked in it. */
export interface ShownText {
  readonly text: string
  readonly hunks: readonly HunkPlace[]
}

/** One file of a plan, for a diff editor. */
export interface ShownFile {
  readonly path: string
  readonly shown: string
  readonly before: ShownText
  readonly after: ShownText
}

/** A plan that a person has opened: what was shown, and what they have decided of it so far. No `vscode` is in here. */
export class OpenPlan {
  readonly project: Project
  readonly row: WaitingRow
  readonly plan: Plan
  /** Its files that have texts; the others are in the summary alone. */
  readonly files: readonly ShownFile[]
  readonly decisions: Decisions
  /** Ends that were on the screen: documents, and places of hunks in them. */
  readonly seen = new Set<string>()
  #isSent = false
  #fault = ''
  #told = ''

  constructor(project: Project, row: WaitingRow, plan: Plan) {
    this.project = project
    this.row = row
    this.plan = plan
    this.files = plan.files.flatMap(file => shownFile(file, plan) ?? [])
    this.decisions = new Decisions(plan.hunks)
  }

  /** Sits where this editor does not yet, and reads the plan. Rejects with a sentence where it waits no more. */
  static async open(project: Project, id: string): Promise<OpenPlan> {
    await project.sit()
    const plan = await project.ask('plan', { plan: id })
    const row = project.rows.approvals.get(id)
    if (plan.body === null || row?.state !== 'waits') throw new Error(`${id} waits no more.`)
    return new OpenPlan(project, row, plan)
  }

  get stage(): Stage {
    if (this.#end !== undefined) return 'over'
    if (this.#isSent) return 'sent'
    if (this.plan.hunks.length === 0) return 'whole'
    return this.decisions.piece === undefined ? 'confirm' : 'choose'
  }

  /** Answers by the hash that was shown. Resolves once the daemon has said what became of that. */
  async send(answer: Answer): Promise<void> {
    if (this.stage === 'sent' || this.stage === 'over') return
    const { id, hash } = this.row
    const choices = answer.decision === 'choose' && { choices: this.decisions.choices() }
    this.#isSent = true
    const became = await this.project
      .ask('answer', { plan: id, hash, ...answer, ...choices })
      .catch((fault: Error) => ({ type: 'failed', why: fault.message }))
    if (became.type === 'taken') return
    this.#isSent = false
    this.#fault = `It was not taken: ${'why' in became ? became.why : became.type}`
  }

  get #now() {
    return this.project.rows.approvals.get(this.row.id)
  }

  /** Why it waits no more; undefined while it does. */
  get #end(): string | undefined {
    const row = this.#now
    if (row?.state === 'waits')
      return row.hash === this.row.hash
        ? undefined
        : 'This plan has changed, and nothing was answered: open it again.'
    if (row?.state !== 'ended') return 'This plan is not known any more.'
    const undo = this.undo === undefined ? '' : `\nIt can be taken back: ${this.undo}`
    const { outcome, notice } = row.ended ?? {}
    const ended = outcome === undefined ? [] : [`It ended: ${outcome}${undo}`]
    return [row.why, ...ended, ...(notice === undefined ? [] : [notice])].join('\n')
  }

  /** What came of it, or of the last answer: a sentence a line. */
  get news(): string {
    return this.#end ?? (this.#isSent ? 'The answer was sent.' : this.#fault)
  }

  /** Whether that is another than when this was asked last. */
  hasNews(): boolean {
    const told = this.#told
    this.#told = this.news
    return this.#told !== told
  }

  /** The name by which it is taken back, once it is done. */
  get undo(): string | undefined {
    const row = this.#now
    return row?.state === 'ended' ? (row.ended?.undo ?? undefined) : undefined
  }

  /**
   * All that is to be known before an answer, warnings first, and hunks that no file shows; once all are decided, what will
   * be applied. At its end the code for a script.
   */
  summary(unsaved: readonly string[]): ShownText {
    const { row, plan, stage, news } = this
    const { pieces, tally } = this.decisions
    const lines: string[] = []
    const say = (text: string) => void lines.push(escapeLine(text))
    if (news !== '') for (const one of news.split('\n')) say(`● ${one}`)
    if (stage !== 'over')
      for (const file of unsaved)
        say(`! ${escapePlanLine(file)} has unsaved text in this editor: save it first`)
    for (const warning of row.warnings) say(`! ${warning}`)
    say(row.title)
    say(`  ${row.tool}, asked by ${row.who}: ${row.lines} lines, ${row.bytes} bytes`)
    if (row.times > 1) say(`  asked for ${row.times} times by now`)
    for (const note of row.notes) say(`  ${note}`)
    if (stage === 'confirm') say(`━ what will be applied: ${tally.taken} of ${tally.pieces}, as one change`)
    else put(lines, this.#head())
    const inFiles = new Set(stage === 'choose' ? this.files.map(({ shown }) => shown) : [])
    const hunks: HunkPlace[] = []
    for (const [at, piece] of pieces.entries()) {
      const { hunk, decision } = piece
      if (inFiles.has(hunk.shown)) continue
      const line = lines.length
      const why = hunk.why === null ? '' : `: ${hunk.why}`
      say(`━ ${this.nameOf(piece)}${why}  ${decisionText(piece)}`)
      if (decision?.type !== 'refuse') put(lines, hunk.diff)
      hunks.push({ at, line, end: lines.length - 1 })
    }
    if (plan.code !== '' && stage !== 'over') say(`code for a script: ${plan.code} (${row.id})`)
    const end = lines.length - 1
    return { text: `${lines.join('\n')}\n`, hunks: [...hunks, { at: pieces.length, line: end, end }] }
  }

  /** `hunk 2 of 3 · app.py:14` */
  nameOf({ hunk: { number, shown, line } }: Piece): string {
    return `hunk ${number} of ${this.plan.hunks.length} · ${shown}:${line}`
  }

  /** The body without its difference, where hunks and files show that. */
  #head(): string {
    const { body, hunks, files } = this.plan
    const isShown = hunks.length > 0 || (files.length > 0 && files.length === this.files.length)
    const at = isShown ? (body ?? '').search(/^diff --git /m) : -1
    return at < 0 ? (body ?? '') : (body ?? '').slice(0, at).trimEnd()
  }
}

/** `✗ refused: keep it` */
export const decisionText = (piece: Piece): string =>
  piece.decision?.type === 'refuse' && piece.decision.reason !== null
    ? `${signOf(piece)}: ${piece.decision.reason}`
    : signOf(piece)

/** The texts of a file, with its hunks; undefined where it has no texts. */
function shownFile(file: Plan['files'][number], plan: Plan): ShownFile | undefined {
  const { path, shown, before, after } = file
  if ((before !== null && typeof before !== 'string') || (after !== null && typeof after !== 'string')) return
  // Of a plan without hunks all is decided where a file differs last.
  const ofFile =
    plan.hunks.length === 0
      ? file.hunks.map((hunk, index) => ({ at: index + 1 - file.hunks.length, ...hunk }))
      : plan.hunks.flatMap((hunk, at) => (hunk.shown === shown ? [{ at, ...hunk }] : []))
  // A hunk has its place in the text before, from which the hunks above it move it.
  let moved = 0
  const old: HunkPlace[] = []
  const now: HunkPlace[] = []
  for (const { at, line, before, after } of ofFile.toSorted((one, other) => one.line - other.line)) {
    const [gone, put] = [linesOf(before).length, linesOf(after).length]
    const first = Math.max(0, line - 1 + moved)
    if (gone > 0) old.push({ at, line: line - 1, end: line + gone - 2 })
    now.push({ at, line: first, end: first + Math.max(0, put - 1) })
    moved += put - gone
  }
  const show = (text: string | null) => escapePlan(text ?? '').text
  return { path, shown, before: { text: show(before), hunks: old }, after: { text: show(after), hunks: now } }
}

/** Each line of a text that has its marks, with a margin: none of them can be taken for one of ours. */
function put(lines: string[], text: string): void {
  if (text === '') return
  for (const line of escapeText(text).replace(/\n$/, '').split('\n')) lines.push(`│ ${line}`)
}
