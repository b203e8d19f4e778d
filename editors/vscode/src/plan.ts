import type { Methods } from '../../../src/front/protocol.ts'
import { escapePlan, escapePlanLine, escapeText } from '../../../src/text/escape.ts'
import type { Plan, Project, WaitingRow } from './project.ts'
import { line } from './values.ts'

type Request = Methods['answer']['params']
export type Choice = NonNullable<Request['choices']>[number]
type Verdict =
  | { readonly decision: 'accept' }
  | { readonly decision: 'refuse'; readonly reason: string | null }

/** `whole`: it has no hunks. `confirm`: each hunk is decided, and what will be applied is shown. */
export type Stage = 'whole' | 'choose' | 'confirm' | 'sent' | 'over'

/** The place of a hunk in a text that is shown: its first and last lines, from 0. */
export interface HunkPlace {
  readonly number: number
  readonly line: number
  readonly end: number
  /** Its last line in the text before; -1 where it has none there. */
  readonly endBefore: number
}

/** One file of a plan, for a diff editor. What cannot be seen in its texts is marked. */
export interface ShownFile {
  readonly path: string
  readonly shown: string
  readonly before: string
  readonly after: string
  /** In `after`. Of a plan without hunks: where the file differs last, as 0. */
  readonly hunks: readonly HunkPlace[]
}

/** A plan that a person has opened: what was shown, and what they have decided of it so far. No `vscode` is in here. */
export class OpenPlan {
  readonly project: Project
  readonly row: WaitingRow
  readonly plan: Plan
  /** Its files that have texts; the others are in the summary alone. */
  readonly files: readonly ShownFile[]
  /** By the number of its hunk. */
  readonly choices = new Map<number, Choice>()
  /** Ends that were on the screen: documents, and numbers of hunks in them. */
  readonly seen = new Set<string>()
  /** What came of it, or of the last answer: a sentence a line. */
  news = ''
  #stage: 'asked' | 'sent' | 'over' = 'asked'

  constructor(project: Project, row: WaitingRow, plan: Plan) {
    this.project = project
    this.row = row
    this.plan = plan
    this.files = plan.files.flatMap(file => shownFile(file, plan) ?? [])
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
    if (this.#stage !== 'asked') return this.#stage
    const { hunks } = this.plan
    if (hunks.length === 0) return 'whole'
    return this.choices.size < hunks.length ? 'choose' : 'confirm'
  }

  /** Decides one hunk, or takes back what was decided. Answers with the number of the next undecided one. */
  decide(hunk: number, choice: Choice | undefined): number | undefined {
    if (this.stage === 'choose' || this.stage === 'confirm') {
      if (choice === undefined) this.choices.delete(hunk)
      else this.choices.set(hunk, choice)
    }
    return this.nextUndecided(hunk, 1)
  }

  /** Decides all that are undecided. */
  decideRest(verdict: Verdict): void {
    if (this.stage !== 'choose') return
    for (const { number } of this.plan.hunks)
      if (!this.choices.has(number)) this.choices.set(number, { hunk: number, ...verdict })
  }

  /** The nearest undecided hunk behind (1) or before (-1) that one; undefined where none is left. */
  nextUndecided(from: number, step: 1 | -1): number | undefined {
    const numbers = this.plan.hunks.map(({ number }) => number)
    const at = numbers.indexOf(from)
    const inTurn = numbers.map((_, count) => numbers.at((at + step * (count + 1)) % numbers.length) ?? 0)
    return inTurn.find(number => !this.choices.has(number))
  }

  /** An edited text of a hunk as the choice that it is; its last line ends, where that of the hunk does. */
  edited(number: number, text: string): Choice {
    const hunk = this.plan.hunks.find(one => one.number === number)
    const plain = text.replaceAll('\r\n', '\n')
    const whole = plain === '' || plain.endsWith('\n') || hunk?.isLast ? plain : `${plain}\n`
    return { hunk: number, decision: 'edit', text: whole, reason: null }
  }

  /** Answers by the hash that was shown. Resolves once the daemon has said what became of that. */
  async send(answer: Pick<Request, 'decision' | 'reason'>): Promise<void> {
    if (this.#stage !== 'asked') return
    const { id, hash } = this.row
    const choices = [...this.choices.values()].sort((one, other) => one.hunk - other.hunk)
    this.#stage = 'sent'
    this.news = 'The answer was sent.'
    const became = await this.project
      .ask('answer', { plan: id, hash, ...answer, ...(answer.decision === 'choose' && { choices }) })
      .catch((fault: Error) => ({ type: 'failed', why: fault.message }))
    if (became.type === 'taken' || this.stage !== 'sent') return
    this.#stage = 'asked'
    this.news = `It was not taken: ${'why' in became ? became.why : became.type}`
    this.update()
  }

  /** Reads in the rows whether it waits still; true where that has changed what is shown. */
  update(): boolean {
    const row = this.project.rows.approvals.get(this.row.id)
    if (row?.state === 'waits' && row.hash === this.row.hash) return false
    const before = this.news
    this.#stage = 'over'
    this.news = endOf(row)
    return this.news !== before
  }

  /** The name by which it is taken back, once it is done. */
  get undo(): string | undefined {
    const row = this.project.rows.approvals.get(this.row.id)
    return row?.state === 'ended' ? (row.ended?.undo ?? undefined) : undefined
  }

  /**
   * All that is to be known before an answer, warnings first, and hunks that no file shows; once all are decided, what will
   * be applied. At its end the code for a script.
   */
  summary(unsaved: readonly string[]): { readonly text: string; readonly hunks: readonly HunkPlace[] } {
    const { row, plan, stage } = this
    const lines: string[] = []
    const say = (text: string) => void lines.push(line(text))
    if (this.news !== '') for (const news of this.news.split('\n')) say(`● ${news}`)
    if (stage !== 'over')
      for (const file of unsaved)
        say(`! ${escapePlanLine(file)} has unsaved text in this editor: save it first`)
    for (const warning of row.warnings) say(`! ${warning}`)
    say(row.title)
    say(`  ${row.tool}, asked by ${row.who}`)
    if (row.times > 1) say(`  asked for ${row.times} times by now`)
    for (const note of row.notes) say(`  ${note}`)
    if (stage !== 'confirm') put(lines, escapeText(this.#head()))
    const taken = [...this.choices.values()].filter(({ decision }) => decision !== 'refuse').length
    if (stage === 'confirm') say(`━ what will be applied: ${taken} of ${plan.hunks.length}, as one change`)
    const inFiles = new Set(stage === 'choose' ? this.files.map(({ shown }) => shown) : [])
    const shown = plan.hunks.filter(hunk => !inFiles.has(hunk.shown))
    const hunks = shown.map(hunk => {
      const choice = this.choices.get(hunk.number)
      const line = lines.length
      const why = hunk.why === null ? '' : `: ${hunk.why}`
      const where = `hunk ${hunk.number} of ${plan.hunks.length} · ${hunk.shown}:${hunk.line}${why}`
      say(`━ ${where}  ${decisionText(choice)}`)
      if (choice?.decision === 'edit') {
        put(lines, marked(hunk.before), '-')
        put(lines, marked(choice.text), '+')
      } else if (choice?.decision !== 'refuse') put(lines, escapeText(hunk.diff))
      return { number: hunk.number, line, end: lines.length - 1, endBefore: -1 }
    })
    if (plan.code !== '' && stage !== 'over') say(`code for a script: ${plan.code} (${row.id})`)
    return { text: `${lines.join('\n')}\n`, hunks }
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
export function decisionText(choice: Choice | undefined): string {
  const decision = choice?.decision
  switch (decision) {
    case undefined:
      return '· undecided'
    case 'accept':
      return '✓ taken'
    case 'refuse':
      return `✗ refused${choice?.reason ? `: ${choice.reason}` : ''}`
    case 'edit':
      return '✎ edited'
    default:
      return decision satisfies never
  }
}

function endOf(row: ReturnType<Project['rows']['approvals']['get']>): string {
  if (row === undefined) return 'This plan is not known any more.'
  if (row.state === 'held') return 'This plan waits for a seat: open it again.'
  if (row.state === 'waits') return 'This plan has changed, and nothing was answered: open it again.'
  if (row.ended === undefined) return row.why
  const undo = row.ended.undo === null ? '' : `\nIt can be taken back: ${row.ended.undo}`
  return `${row.why}\nIt ended: ${row.ended.outcome}${undo}`
}

/** The texts of a file, and its hunks in the one that would be; undefined where it has no texts. */
function shownFile(file: Plan['files'][number], plan: Plan): ShownFile | undefined {
  const { path, shown, before, after } = file
  if ((before !== null && typeof before !== 'string') || (after !== null && typeof after !== 'string')) return
  // A hunk has its place in the text before, from which the hunks above it move it.
  let moved = 0
  const isWhole = plan.hunks.length === 0
  const ofFile = isWhole
    ? file.hunks.map(hunk => ({ number: 0, ...hunk }))
    : plan.hunks.filter(hunk => hunk.shown === shown)
  const places = ofFile
    .toSorted((one, other) => one.line - other.line)
    .map(hunk => {
      const [old, put] = [linesIn(hunk.before), linesIn(hunk.after)]
      const line = Math.max(0, hunk.line - 1 + moved)
      moved += put - old
      const endBefore = old === 0 ? -1 : hunk.line + old - 2
      return { number: hunk.number, line, end: line + Math.max(0, put - 1), endBefore }
    })
  const hunks = isWhole ? places.slice(-1) : places
  const [old, put] = [before ?? '', after ?? '']
  // Where all lines end alike the marks of their ends would hide the rest.
  const endAlike = !/(?:^|[^\r])\n/.test(old) && !/(?:^|[^\r])\n/.test(put)
  const show = (text: string) => marked(endAlike ? text.replaceAll('\r\n', '\n') : text)
  return { path, shown, before: show(old), after: show(put), hunks }
}

/** Each line with a margin, so that none of them can be taken for one of ours. */
function put(lines: string[], text: string, mark = ''): void {
  if (text === '') return
  for (const line of text.replace(/\n$/, '').split('\n')) lines.push(`│ ${mark}${line}`)
}

/** A raw text; all others of a plan have their marks already. */
const marked = (text: string): string => escapePlan(text).text

const linesIn = (text: string): number =>
  text.split('\n').length - (text === '' || text.endsWith('\n') ? 1 : 0)
