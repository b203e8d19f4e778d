import type { Envelope } from '../../tools/outcome.ts'
import { escapeLine } from '../text/escape.ts'

/** A part of a value, in one line. It can be looked into by its `expr`, where it has one. */
interface Part {
  readonly label: string
  readonly expr?: string
}

/** What `inspect` answers, as far as it has parts. */
interface Inspected {
  readonly exprs?: Readonly<Record<string, string | null>>
  readonly sample?: { readonly items?: readonly string[]; readonly exprs?: readonly (string | null)[] }
  readonly fields?: { readonly rows?: readonly { readonly name: string; readonly value: string }[] }
  readonly members?: { readonly data?: readonly string[] }
}

/** What an evaluation answers, as far as it is told in one line. */
interface Evaluated {
  readonly value_repr?: string | null
  readonly output?: string
}

/** An answer as an editor shows it: where there is room for a line, and as rows that open, the parts of a value. */
export interface ShownAnswer {
  readonly line: string
  readonly parts: readonly Part[]
}

/** UTF-16 units of an answer in one line. */
const LINE = 200

export function shownAnswer(tool: string, answer: Envelope): ShownAnswer {
  const { value_repr, output } = (answer.ok ? answer.result : {}) as Evaluated
  const done = [...(value_repr ? [value_repr] : []), ...(output ? [output.trimEnd()] : [])].join(' · ')
  const line = escapeLine(answer.ok ? `⇒ ${done || 'done'}` : `✗ ${answer.error.message.trimEnd()}`)
  const short = line.length > LINE ? `${line.slice(0, LINE).replace(/[\ud800-\udbff]$/, '')}…` : line
  return { line: short, parts: answer.ok && tool === 'inspect' ? partsOf(answer.result as Inspected) : [] }
}

/** Items, fields and members. */
function partsOf({ exprs = {}, sample, fields, members }: Inspected): readonly Part[] {
  const rows = fields?.rows ?? []
  const names = new Set(rows.map(({ name }) => name))
  const rest = (members?.data ?? []).filter(name => !names.has(name))
  const part = (label: string, expr: string | null = null) => ({
    label: escapeLine(label),
    ...(expr !== null && { expr }),
  })
  return [
    ...(sample?.items ?? []).map((item, at) => part(item, sample?.exprs?.[at])),
    ...rows.map(({ name, value }) => part(`${name} = ${value}`, exprs[name])),
    ...rest.map(name => part(name, exprs[name])),
  ]
}
