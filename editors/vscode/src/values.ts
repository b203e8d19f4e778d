import { escapeText } from '../../../src/text/escape.ts'
import type { Envelope } from '../../../tools/outcome.ts'
import type { Project } from './project.ts'

/** A value, or a part of one, that opens where it has an `expr`. */
export interface ValueNode {
  readonly label: string
  readonly expr: string | undefined
  readonly kernel: string | undefined
}

interface Sections {
  readonly exprs?: Readonly<Record<string, string | null>>
  readonly sample?: { readonly items?: readonly string[]; readonly exprs?: readonly (string | null)[] }
  readonly fields?: { readonly rows?: readonly { readonly name: string; readonly value: string }[] }
  readonly members?: { readonly data?: readonly string[] }
}

/** What is in a value: items, fields and members; the lines that describe it where it has none. This runs no code. */
export async function partsOf(project: Project, { expr, kernel }: ValueNode): Promise<readonly ValueNode[]> {
  if (expr === undefined) return []
  const envelope = await project.call('inspect', { expr, ...(kernel !== undefined && { kernel }) })
  const parts = envelope.ok ? partsIn(envelope.result as Sections) : []
  const node = ([label, expr]: Part): ValueNode => ({ label: line(label), expr: expr ?? undefined, kernel })
  if (parts.length > 0) return parts.map(node)
  const text = envelope.ok ? await project.show('inspect', envelope) : envelope.error.message
  return text.split('\n').map(label => node([label, null]))
}

type Part = readonly [label: string, expr: string | null | undefined]

function partsIn({ exprs = {}, sample, fields, members }: Sections): readonly Part[] {
  const items = (sample?.items ?? []).map((item, at): Part => [item, sample?.exprs?.[at]])
  const rows = fields?.rows ?? []
  const names = new Set(rows.map(({ name }) => name))
  return [
    ...items,
    ...rows.map(({ name, value }): Part => [`${name} = ${value}`, exprs[name]]),
    ...(members?.data ?? []).filter(name => !names.has(name)).map((name): Part => [name, exprs[name]]),
  ]
}

/** Code of a document, and where it stands there. */
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
  /** One line, to stand behind the code. */
  readonly short: string
  /** All that the answer says. */
  readonly text: string
  /** What leads to the value, where it is worth a closer look. */
  readonly handle: string | undefined
  readonly kernel: string | undefined
}

/** Characters of a result that stand behind a line. */
const SHORT = 200

/** Runs code in the program of its language. An error suspends the evaluation. */
export async function evaluate(project: Project, code: Code): Promise<Evaluated> {
  const kernel = project.kernelFor(code.languageId)
  const envelope = await project.call('eval_expr', {
    expr: withoutMargin(code.text),
    on_error: 'suspend',
    ...(code.file !== undefined && { file: code.file, line: code.line }),
    ...(kernel !== undefined && { kernel }),
  })
  const text = escapeText(await project.show('eval_expr', envelope))
  const handle = envelope.ok ? (envelope.result as { handle?: string }).handle : undefined
  return { ok: envelope.ok, short: shortOf(envelope), text, handle, kernel }
}

function shortOf(envelope: Envelope): string {
  const { value_repr: value, output } = (envelope.ok ? envelope.result : {}) as {
    value_repr?: string | null
    output?: string
  }
  const done = [...(value ? [value] : []), ...(output ? [output.trimEnd()] : [])].join(' · ')
  const text = envelope.ok ? `⇒ ${done}` : `✗ ${envelope.error.message}`
  const first = line(text.trimEnd())
  return first.length > SHORT ? `${first.slice(0, SHORT).replace(/[\ud800-\udbff]$/, '')}…` : first
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
