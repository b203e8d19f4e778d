import { Decisions, decisionText, type Piece } from '../../../src/front/hunks/decisions.ts'
import type { Methods } from '../../../src/front/protocol.ts'
import type { Became, Plan, PlanRow } from '../../../src/front/told.ts'
import { escapeLine, escapePlanLine, escapeText } from '../../../src/text/escape.ts'
import { faultText, type Project } from './project.ts'
import { type HunkPlace, type ShownFile, type ShownText, shownFile } from './shown-file.ts'

/** `whole`: it has no hunks. `confirm`: each hunk is decided, and what will be applied is shown. */
export type Stage = 'whole' | 'choose' | 'confirm' | 'sent' | 'over'

/** A plan that a person has opened: what was shown, and what they have decided of it so far. No `vscode` is in here. */
export class OpenPlan {
  readonly project: Project
  readonly plan: Plan
  /** Its files that have texts; the others are in the summary alone. */
  readonly files: readonly ShownFile[]
  readonly decisions: Decisions
  /** Ends that were on the screen: documents, and places of hunks in them. */
  readonly seen = new Set<string>()
  #isSent = false
  #fault = ''

  constructor(project: Project, plan: Plan) {
    this.project = project
    this.plan = plan
    this.files = plan.files.flatMap(file => shownFile(file, plan) ?? [])
    this.decisions = new Decisions(plan.hunks)
  }

  /** Sits where this editor does not yet, and reads the plan. Rejects with a sentence where it waits no more. */
  static async open(project: Project, id: string): Promise<OpenPlan> {
    await project.sit()
    return new OpenPlan(project, await project.ask<'plan', Plan>('plan', { plan: id, shown: true }))
  }

  get stage(): Stage {
    if (this.#end !== undefined) return 'over'
    if (this.#isSent) return 'sent'
    if (this.plan.hunks.length === 0) return 'whole'
    return this.decisions.piece === undefined ? 'confirm' : 'choose'
  }

  /** Answers by the hash that was shown. Resolves once the daemon has said what became of that. */
  async send(answer: Pick<Methods['answer']['params'], 'decision' | 'reason'>): Promise<void> {
    if (this.stage === 'sent' || this.stage === 'over') return
    const { id, hash } = this.plan
    const choices = answer.decision === 'choose' && { choices: this.decisions.choices() }
    this.#isSent = true
    this.project.changed()
    const became = await this.project
      .ask<'answer', Became>('answer', { plan: id, hash, ...answer, ...choices })
      .catch((fault: unknown) => ({ type: 'fault', shown: faultText(fault) }))
    if (became.type === 'taken') return
    this.#isSent = false
    this.#fault = became.shown ?? ''
  }

  get #now(): PlanRow | undefined {
    return this.project.rows.approvals.get(this.plan.id)
  }

  /** Why it waits no more; undefined while it does. */
  get #end(): string | undefined {
    const row = this.#now
    if (row === undefined) return 'This plan is not known any more.'
    return row.state === 'waits' ? undefined : row.shown
  }

  /** What came of it, or of the last answer. */
  get news(): string {
    return this.#end ?? (this.#isSent ? 'The answer was sent.' : this.#fault)
  }

  /** What became of a hunk, once the plan is over; before that, what is decided about it. */
  became(piece: Piece): string {
    const row = this.stage === 'over' ? this.#now : undefined
    const { outcome = undefined, ended = undefined } = row?.state === 'ended' ? row : {}
    if (this.stage === 'over' && !this.#isSent)
      return outcome === 'approved' ? 'answered elsewhere' : 'not done'
    if (piece.decision?.type === 'refuse' || ended === undefined) return decisionText(piece)
    return ended.outcome === 'ok' ? '✓ done' : 'not done'
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
    const { plan, stage, news } = this
    const { pieces, tally } = this.decisions
    const lines = news === '' ? [] : [`● ${escapeLine(news)}`]
    for (const file of stage === 'over' ? [] : unsaved)
      lines.push(`! ${escapePlanLine(file)} has unsaved text in this editor: save it first`)
    lines.push(...this.#heading)
    if (stage === 'confirm')
      lines.push(`━ what will be applied: ${tally.taken} of ${tally.pieces}, as one change`)
    const inFiles = new Set(stage === 'choose' ? this.files.map(({ shown }) => shown) : [])
    const hunks: HunkPlace[] = []
    for (const [at, piece] of pieces.entries()) {
      const { hunk, decision } = piece
      if (inFiles.has(hunk.shown)) continue
      const line = lines.length
      lines.push(`━ ${this.headOf(piece)}  ${escapeLine(this.became(piece))}`)
      const diff = decision?.type === 'refuse' ? [] : escapeText(hunk.diff).replace(/\n$/, '').split('\n')
      // With a margin none of them can be taken for one of ours.
      lines.push(...diff.map(one => `│ ${one}`))
      hunks.push({ at, line, end: lines.length - 1 })
    }
    if (plan.code !== '' && stage !== 'over') lines.push(`code for a script: ${plan.code} (${plan.id})`)
    const end = lines.length - 1
    return { text: `${lines.join('\n')}\n`, hunks: [...hunks, { at: pieces.length, line: end, end }] }
  }

  /** `hunk 2 of 3 · app.py:14: for speed` */
  headOf({ of }: Piece): string {
    return this.plan.hunks[of]?.head ?? ''
  }

  /** All that is to be known; without the difference, where files show that. */
  get #heading(): readonly string[] {
    const { heading, files } = this.plan
    const isShown = files.length > 0 && files.length === this.files.length
    const at = isShown ? heading.findIndex(line => line.startsWith('│ diff --git ')) : -1
    return at < 0 ? heading : heading.slice(0, at)
  }
}
