import { escapeText } from '../../../src/text/escape.ts'
import type { Answer, Project } from './project.ts'

/** A value, or a part of one, that opens where it has an `expr`. */
export interface ValueNode {
  readonly label: string
  readonly expr?: string | undefined
  readonly kernel?: string | undefined
}

interface Sections {
  readonly exprs?: Readonly<Record<string, string | null>>
  readonly sample?: { readonly items?: readonly string[]; readonly exprs?: readonly (string | null)[] }
  readonly fields?: { readonly rows?: readonly { readonly name: string; readonly value: string }[] }
  readonly members?: { readonly data?: readonly string[] }
}

/** What is in a value: items, fields and members; the lines that describe it where it has none. This runs no code. */
export async function partsOf(project: Project, { expr, kernel }: ValueNode): Promise<readonly ValueNode[]> {
  const answer = await project.call('inspect', { expr, ...(kernel !== undefined && { kernel }) })
  const parts = answer.ok ? partsIn(answer.result as Sections) : []
  if (parts.length === 0) return linesOf(answer.shown)
  return parts.map(([label, expr]) => ({ label: line(label), expr: expr ?? undefined, kernel }))
}

/** Lines of a text for a person, as rows that do not open. */
export const linesOf = (text: string): readonly ValueNode[] =>
  text.split('\n').map(label => ({ label: line(label) }))

function partsIn({ exprs = {}, sample, fields, members }: Sections) {
  type Part = readonly [label: string, expr: string | null | undefined]
  const rows = fields?.rows ?? []
  const names = new Set(rows.map(({ name }) => name))
  return [
    ...(sample?.items ?? []).map((item, at): Part => [item, sample?.exprs?.[at]]),
    ...rows.map(({ name, value }): Part => [`${name} = ${value}`, exprs[name]]),
    ...(members?.data ?? []).filter(name => !names.has(name)).map((name): Part => [name, exprs[name]]),
  ]
}

/** Code of a document, and where it is there. */
export interface Code {
  readonly text: string
  readonly languageId: string
  /** The file of the document; undefined where it has none. */
  readonly file: string | undefined
  /** Of its first line, from 1. */
  readonly line: number
}

export interface Evaluated {
  readonly ok: boolean
  /** One line, to be shown behind the code. */
  readonly short: string
  /** All that the answer says. */
  readonly text: string
  /** The value, where it is worth a closer look. */
  readonly value: ValueNode | undefined
}

/** Characters of a result that are shown behind a line. */
const SHORT = 200

/** Runs code in the program of its language. */
export async function evaluate(project: Project, code: Code): Promise<Evaluated> {
  const kernel = project.kernelFor(code.languageId)
  const answer = await project.call('eval_expr', {
    expr: withoutMargin(code.text),
    ...(code.file !== undefined && { file: code.file, line: code.line }),
    ...(kernel !== undefined && { kernel }),
  })
  const { handle } = (answer.ok ? answer.result : {}) as { handle?: string }
  const value = handle === undefined ? undefined : { label: line(code.text.trim()), expr: handle, kernel }
  return { ok: answer.ok, short: shortOf(answer), text: escapeText(answer.shown), value }
}

function shortOf(answer: Answer): string {
  const { value_repr: value, output } = (answer.ok ? answer.result : {}) as {
    value_repr?: string | null
    output?: string
  }
  const done = [...(value ? [value] : []), ...(output ? [output.trimEnd()] : [])].join(' · ')
  const text = line((answer.ok ? `⇒ ${done || 'done'}` : `✗ ${answer.error.message}`).trimEnd())
  return text.length > SHORT ? `${text.slice(0, SHORT).replace(/[\ud800-\udbff]$/, '')}…` : text
}

/** A part of a block, without the margin that its first line has. */
function withoutMargin(text: string): string {
  const [margin = ''] = /^[ \t]*/.exec(text) ?? []
  const lines = text.split('\n')
  return lines.every(one => one.startsWith(margin) || one.trim() === '')
    ? lines.map(one => one.slice(margin.length)).join('\n')
    : text
}

/** A text of a program in one line, with escapes for what is not seen; marks that it has already stay. */
export const line = (text: string): string => escapeText(text).replaceAll('\n', '\\n').replaceAll('\t', ' ')
