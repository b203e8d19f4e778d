import type { Registry } from '../registry/registry.ts'
import type { TextSyntax } from '../syntax/syntax.ts'
import { parse } from '../syntax/syntaxes.ts'
import type { AnswerPart } from './answer.ts'

/** Reads the calls that a model writes as text. What it quotes, or thinks aloud, is none. */
export function callsInText(
  text: string,
  { syntax, registry }: { readonly syntax: TextSyntax; readonly registry: Registry },
): { readonly said: string; readonly parts: readonly AnswerPart[] } {
  const { pieces } = parse(text, { syntax, registry })
  let said = ''
  const parts: AnswerPart[] = []
  for (const piece of pieces)
    switch (piece.type) {
      case 'text':
        said += piece.text
        break
      case 'reasoning':
        break
      case 'call':
        parts.push({ type: 'call', id: '', tool: piece.call.tool, args: piece.call.args })
        break
      case 'bad':
        parts.push({ type: 'bad', why: piece.why })
        break
      default:
        piece satisfies never
    }
  return { said, parts }
}
