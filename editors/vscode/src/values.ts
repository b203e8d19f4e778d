import type { Part } from '../../../src/front/shown-answer.ts'
import { escapeLine, escapeText } from '../../../src/text/escape.ts'
import { faultText, type Project } from './project.ts'

/** A value, or a part of one, and the program that has it. */
export type ValueNode = Part & { readonly kernel?: string | undefined }

/** What is in a value; the lines that describe it where it has no parts. This runs no code. */
export async function partsOf(project: Project, { expr, kernel }: ValueNode): Promise<readonly ValueNode[]> {
  const { parts, shown } = await project.call('inspect', { expr, ...(kernel && { kernel }) })
  return parts.length === 0 ? linesOf(shown) : parts.map(part => ({ ...part, kernel }))
}

/** Lines of a text for a person, as rows that do not open. */
export const linesOf = (text: string): readonly ValueNode[] =>
  text.split('\n').map(label => ({ label: escapeLine(label) }))

/** Code of a document; its file, where it has one, and its first line there, from 1. */
type Code = Readonly<{ text: string; languageId: string; file: string | undefined; line: number }>

/** Seconds, as many as a call may be waited for: it never goes on unseen. */
const PATIENCE = 1_000_000

/** Runs code in the program that the person has chosen, else in one of its language. `value`: worth a closer look. */
export async function evaluate(project: Project, { text, languageId, file, line }: Code) {
  const { kernel } = project
  const args = { expr: text, patience: PATIENCE, ...(file && { file, line }), ...(kernel && { kernel }) }
  const answer = await project.call('eval_expr', args, { language: languageId }).catch(faultText)
  if (typeof answer === 'string')
    return { ok: false, short: `✗ ${escapeLine(answer)}`, text: escapeText(answer), value: undefined }
  const { handle } = (answer.ok ? answer.result : {}) as { handle?: string }
  const value: ValueNode | undefined =
    handle === undefined ? undefined : { label: escapeLine(text.trim()), expr: handle, kernel: answer.kernel }
  return { ok: answer.ok, short: answer.line, text: escapeText(answer.shown), value }
}
