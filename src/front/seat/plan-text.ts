import { duration, oneLine } from '../../../tools/wording.ts'
import type { ShownPlan } from '../../core/approvals.ts'

/** A plan as it is printed: what it is, the whole of it, and how it can be answered. */
export interface PlanText {
  readonly head: string
  /** The preview, a row of the terminal each, none of which could be taken for ours. */
  readonly body: readonly string[]
  readonly foot: string
  /** How it is approved from a script; empty where it cannot be. */
  readonly script: string
}

/** `columns`: of the terminal. */
export function planText(plan: ShownPlan, columns: number): PlanText {
  const { id, hash, tool, level, kernel, root, who, bytes, lines, warnings, notes, waited_ms, code } = plan
  const head = [
    `==== ${id} ${'='.repeat(Math.max(4, Math.min(columns, 80) - id.length - 6))}`,
    oneLine(plan.title),
    `  tool     ${oneLine(tool)} (${level})`,
    `  for      ${oneLine(who)}${waited_ms < 1_000 ? '' : `, who has waited ${duration(waited_ms)}`}`,
    `  kernel   ${kernel === null ? 'none' : oneLine(kernel)}`,
    `  project  ${oneLine(root)}`,
    `  size     ${bytes} bytes, ${lines} ${lines === 1 ? 'line' : 'lines'}`,
    `  sha256   ${hash}`,
    ...warnings.map(warning => `  LOOK     ${oneLine(warning)}`),
    ...notes.map(note => `  note     ${oneLine(note)}`),
    ...againLines(plan),
    '',
  ]
  const script = code === '' ? [] : [`From a script: imago approve ${id} --code ${code}`]
  const end = `==== end of ${id}, all ${lines} ${lines === 1 ? 'line' : 'lines'} of it`
  const rows = head.flatMap(line => ownRows(line, columns))
  return {
    head: joined(rows),
    body: bodyRows(plan.body, columns),
    foot: joined([end, ...script]),
    script: joined(script),
  }
}

/** That the same was asked for before, and the rule by which nobody would be asked. */
function againLines({ times, rule }: ShownPlan): string[] {
  if (rule === null) return []
  const [first = '', ...others] = rule.trimEnd().split('\n').map(oneLine)
  const lead = `  again    asked for ${times} times by now; with this rule nobody would be asked: `
  return [lead, `           ${first}`, ...others.map(line => `           ${line}`)]
}

/** A line of ours in which others have named something goes on set in, so that no row begins with a name of theirs. */
export function ownRows(line: string, columns: number): string[] {
  const width = Math.max(20, columns - SET_IN.length - 1)
  return pieces(line, width).map((piece, index) => (index === 0 ? piece : `${SET_IN}${piece}`))
}

const SET_IN = '    '

/** Each row of the preview begins with `| `, and each that goes on with a long line with `+ `. */
export function bodyRows(body: string, columns: number): string[] {
  const width = Math.max(20, columns - 3)
  const lines = body.endsWith('\n') ? body.slice(0, -1).split('\n') : body.split('\n')
  return lines.flatMap(line =>
    pieces(line, width).map((piece, index) => `${index === 0 ? '|' : '+'} ${piece}`),
  )
}

/** So that no row is broken by the terminal, which would begin the next one with what stands in the line. */
function pieces(line: string, width: number): string[] {
  const found: string[] = []
  let piece = ''
  let columns = 0
  for (const character of line) {
    const wide = columnsOf(character)
    if (columns + wide > width) {
      found.push(piece)
      piece = ''
      columns = 0
    }
    piece += character
    columns += wide
  }
  return [...found, piece]
}

/** At most: a control is shown as four to six characters, and whatever is not ASCII may be two columns wide. */
function columnsOf(character: string): number {
  const code = character.codePointAt(0) ?? 0
  if (code === 0x09) return 8
  if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return 4
  if (code < 0x7f) return 1
  return HIDDEN.test(character) ? 6 : 2
}

const HIDDEN = /[\p{Cf}\p{Zl}\p{Zp}]/u

const joined = (lines: readonly string[]) => lines.map(line => `${line}\n`).join('')
