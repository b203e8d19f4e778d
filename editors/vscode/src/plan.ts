import type { Methods } from '../../../src/front/protocol.ts'
import { escapePlan, escapePlanLine, escapeText } from '../../../src/text/escape.ts'
import type { Plan, Project, WaitingRow } from './project.ts'
import { line } from './values.ts'

export type Choice = NonNullable<Methods['answer']['params']['choices']>[number]
type Answer = Methods['answer']['params']

/** `whole`: it has no hunks. `confirm`: each hunk is decided, and what will be applied is shown. */
export type Stage = 'whole' | 'choose' | 'confirm' | 'sent' | 'over'

/** Where a hunk stands in a text that is shown: its line, from 0. */
export interface HunkPlace {
  readonly number: number
  readonly line: number
}

/** One file of a plan, for a diff editor. What cannot be seen in its texts is marked. */
export interface ShownFile {
  readonly shown: string
  readonly before: string
  readonly after: string
  /** In `after`. */
  readonly hunks: readonly HunkPlace[]
}

export interface PlanText {
  readonly text: string
  readonly hunks: readonly HunkPlace[]
}

/** A plan that a person has opened: what was shown, and what they have decided of it so far. No `vscode` is in here. */
export class OpenPlan {
  readonly project: Project
  readonly row: WaitingRow
  readonly plan: Plan
  /** By the number of its hunk. */
  readonly choices = new Map<number, Choice>()
  /** What came of it, or of the last answer. */
  news = ''
  #stage: 'asked' | 'sent' | 'over' = 'asked'
  #files: readonly ShownFile[] | undefined

  constructor(project: Project, row: WaitingRow, plan: Plan) {
    this.project = project
    this.row = row
    this.plan = plan
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
  decide(choice: Choice | { readonly hunk: number; readonly decision: 'undecided' }): number | undefined {
    if (this.stage !== 'choose' && this.stage !== 'confirm') return undefined
    if (choice.decision === 'undecided') this.choices.delete(choice.hunk)
    else this.choices.set(choice.hunk, choice)
    return this.nextUndecided(choice.hunk, 1)
  }

  /** Decides all that are undecided. */
  decideRest(decision: 'accept' | 'refuse', reason: string | null = null): void {
    if (this.stage !== 'choose') return
    for (const { number } of this.plan.hunks)
      if (!this.choices.has(number))
        this.choices.set(
          number,
          decision === 'accept' ? { hunk: number, decision } : { hunk: number, decision, reason },
        )
  }

  /** The nearest undecided hunk behind (1) or before (-1) that one; undefined where none is left. */
  nextUndecided(from: number, step: 1 | -1): number | undefined {
    const numbers = this.plan.hunks.map(({ number }) => number)
    const at = numbers.indexOf(from)
    for (let count = 1; count <= numbers.length; count++) {
      const found = numbers.at((at + step * count) % numbers.length)
      if (found !== undefined && !this.choices.has(found)) return found
    }
    return undefined
  }

  /** An edited text of a hunk as the choice that it is, with the line ends that its file has. */
  edited(number: number, text: string): Choice {
    const hunk = this.plan.hunks.find(one => one.number === number)
    const plain = text.replaceAll('\r\n', '\n')
    const whole = plain === '' || plain.endsWith('\n') || hunk?.isLast ? plain : `${plain}\n`
    return { hunk: number, decision: 'edit', text: whole, reason: null }
  }

  /** Answers by the hash that was shown. Resolves once the daemon has said what became of that. */
  async send(decision: Pick<Answer, 'decision' | 'reason'>): Promise<void> {
    if (this.#stage !== 'asked') return
    const { id, hash } = this.row
    const choices =
      decision.decision === 'choose'
        ? { choices: [...this.choices.values()].sort((one, other) => one.hunk - other.hunk) }
        : {}
    this.#stage = 'sent'
    this.news = 'The answer was sent.'
    try {
      const became = await this.project.ask('answer', { plan: id, hash, ...decision, ...choices })
      if (became.type !== 'taken') this.#back('why' in became ? became.why : became.type)
    } catch (fault) {
      this.#back((fault as Error).message)
    }
  }

  #back(why: string): void {
    if (this.stage !== 'sent') return
    this.#stage = 'asked'
    this.news = `It was not taken: ${why}`
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

  /** The files, each with its texts as they are and as they would be. Those without texts are in the summary alone. */
  get files(): readonly ShownFile[] {
    this.#files ??= this.plan.files.flatMap(file => {
      const { before, after, shown } = file
      if ((before !== null && typeof before !== 'string') || (after !== null && typeof after !== 'string'))
        return []
      // The lines of a file have the places that they have in the text before, moved by the hunks above them.
      let moved = 0
      const hunks = this.plan.hunks
        .filter(hunk => hunk.shown === shown)
        .toSorted((one, other) => one.line - other.line)
        .map(({ number, line, before, after }) => {
          const place = { number, line: Math.max(0, line - 1 + moved) }
          moved += linesIn(after) - linesIn(before)
          return place
        })
      const [old, put] = [before ?? '', after ?? '']
      // Where all lines end alike the marks of their ends would hide the rest.
      const endAlike = !/(?:^|[^\r])\n/.test(old) && !/(?:^|[^\r])\n/.test(put)
      const [from, to] = [old, put].map(text => marked(endAlike ? text.replaceAll('\r\n', '\n') : text))
      return [{ shown, before: from ?? '', after: to ?? '', hunks }]
    })
    return this.#files
  }

  /** All that is to be known before an answer, warnings first; at the end what was decided, and the code for a script. */
  summary(unsaved: readonly string[]): PlanText {
    const { row, plan, stage } = this
    const lines: string[] = []
    const say = (text: string) => void lines.push(line(text))
    if (this.news !== '') say(`● ${this.news}`)
    if (stage !== 'over')
      for (const file of unsaved)
        say(`! ${escapePlanLine(file)} has unsaved text in this editor: save it first`)
    for (const warning of row.warnings) say(`! ${warning}`)
    say(row.title)
    const times = row.times > 1 ? `, asked for ${row.times} times by now` : ''
    say(`  ${row.tool}, asked by ${row.who}${times} (${row.id})`)
    for (const note of row.notes) say(`  ${note}`)
    if (stage !== 'confirm') put(lines, escapeText(this.#head()))
    const taken = [...this.choices.values()].filter(({ decision }) => decision !== 'refuse').length
    if (stage === 'confirm') say(`━ what will be applied: ${taken} of ${plan.hunks.length}, as one change`)
    const hunks = plan.hunks.map(hunk => {
      const choice = this.choices.get(hunk.number)
      const place = { number: hunk.number, line: lines.length }
      const why = hunk.why === null ? '' : `: ${hunk.why}`
      say(
        `━ hunk ${hunk.number} of ${plan.hunks.length} · ${hunk.shown}:${hunk.line}${why}  ${decisionText(choice)}`,
      )
      if (choice?.decision === 'edit') {
        put(lines, marked(hunk.before), '-')
        put(lines, marked(choice.text), '+')
      } else if (stage !== 'confirm' || choice?.decision === 'accept') put(lines, escapeText(hunk.diff))
      return place
    })
    if (plan.code !== '' && stage !== 'over') say(`code for a script: ${plan.code}`)
    return { text: `${lines.join('\n')}\n`, hunks }
  }

  /** The body without its difference, where the hunks show that. */
  #head(): string {
    const body = this.plan.body ?? ''
    if (this.plan.hunks.length === 0) return body
    const at = body.search(/^diff --git /m)
    return at < 0 ? body : body.slice(0, at).trimEnd()
  }
}

/** `✗ refused: keep it` */
export function decisionText(choice: Choice | undefined): string {
  if (choice === undefined) return '· undecided'
  const reason = 'reason' in choice && choice.reason ? `: ${choice.reason}` : ''
  switch (choice.decision) {
    case 'accept':
      return '✓ taken'
    case 'refuse':
      return `✗ refused${reason}`
    case 'edit':
      return `✎ edited${reason}`
    default:
      return choice satisfies never
  }
}

function endOf(row: ReturnType<Project['rows']['approvals']['get']>): string {
  if (row === undefined) return 'This plan is not known any more.'
  if (row.state === 'held') return 'This plan waits for a seat: open it again.'
  if (row.state === 'waits') return 'This plan has changed, and nothing was answered: open it again.'
  if (row.ended === undefined) return row.why
  const undo = row.ended.undo === null ? '' : ` It can be taken back: ${row.ended.undo}.`
  return `${row.why} It ended: ${row.ended.outcome}.${undo}`
}

/** Each line with a margin, so that none of them can be taken for one of ours. */
function put(lines: string[], text: string, mark = ''): void {
  if (text === '') return
  for (const line of text.replace(/\n$/, '').split('\n')) lines.push(`│ ${mark}${line}`)
}

/** A raw text; all others of a plan have their marks already. */
const marked = (text: string): string => escapePlan(text).text

const linesIn = (text: string): number =>
  text === '' ? 0 : text.split('\n').length - (text.endsWith('\n') ? 1 : 0)
