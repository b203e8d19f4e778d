import type { Diagnostic, Severity } from '../wire/kernel.ts'
import { dataSize, fitting } from './fit.ts'
import { counted, placeOf } from './naming.ts'
import { indent, oneLine } from './wording.ts'

/** What a compiler, or the running code by a warning, has said: as every answer about an evaluation carries it. */
export interface Diagnosed {
  /** In the order in which they were said; absent where the image does not tell such. */
  readonly diagnostics?: readonly Diagnostic[]
  /** How many of them are left out, to fit; present when there are any. */
  readonly diagnostics_omitted?: number
}

/** As many as fit on a page, the first first. */
export function diagnosed(diagnostics: readonly Diagnostic[] | undefined): Diagnosed {
  if (diagnostics === undefined) return {}
  const kept = fitting(diagnostics, dataSize)
  const left = diagnostics.length - kept.length
  return { diagnostics: kept, ...(left > 0 && { diagnostics_omitted: left }) }
}

/** One or two lines for each: what was said and where, and below it the form that it is about. */
export function showDiagnosed({ diagnostics = [], diagnostics_omitted: left = 0 }: Diagnosed): string[] {
  const lines = diagnostics.flatMap(diagnosticLines)
  return left === 0 ? lines : [...lines, `and ${counted(left, 'more diagnostic')}, not shown`]
}

/** `warning: undefined variable: TOTAL  /srv/shop/orders.lisp:12:4` */
function diagnosticLines(diagnostic: Diagnostic): string[] {
  const { severity, message, column, source } = diagnostic
  const [first = '', ...more] = message.trim().split('\n')
  const at = placeOf(diagnostic)
  const place = diagnostic.line === null || column === null ? at : `${at}:${column}`
  const line =
    diagnostic.file === null && diagnostic.line !== null ? lineWord(diagnostic.line, column) : place
  const lines = [`${WORDS[severity]}: ${oneLine(first)}${line === '' ? '' : `  ${line}`}`]
  lines.push(...more.map(one => indent(oneLine(one.trimEnd()))))
  if (source !== null && source !== '') lines.push(`  in: ${oneLine(source)}`)
  return lines
}

const lineWord = (line: number, column: number | null): string =>
  `line ${line}${column === null ? '' : `, column ${column}`}`

const WORDS = {
  error: 'error',
  read_error: 'read error',
  warning: 'warning',
  style_warning: 'style warning',
  redefinition: 'redefinition',
  note: 'note',
} as const satisfies Record<Severity, string>

/** `1 error, 2 warnings`, the gravest first; empty where nothing was said. */
export function tallied(diagnostics: readonly Diagnostic[]): string {
  const counts = (Object.keys(WORDS) as Severity[]).flatMap(severity => {
    const count = diagnostics.filter(one => one.severity === severity).length
    return count === 0 ? [] : [counted(count, WORDS[severity])]
  })
  return counts.join(', ')
}

/** Whether the compiler could not make code of all that it was given. */
export const holdsErrors = (diagnostics: readonly Diagnostic[]): boolean =>
  diagnostics.some(({ severity }) => severity === 'error' || severity === 'read_error')
