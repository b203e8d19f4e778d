import { oneLine } from '../../tools/wording.ts'
import { markedLine } from '../core/escape.ts'
import { messageOf } from '../failure.ts'

/** What a draft begins with that could not be used. Lines that begin with `#` count for nothing in any draft. */
const REFUSED = '# This could not be used: '

/** What a person wrote, to be opened again: its first line says why it could not be used, as that of `git add -p` does. */
export function refusedDraft(text: string, why: string): string {
  const own = text.startsWith(REFUSED) ? text.slice(text.indexOf('\n') + 1 || text.length) : text
  return `${REFUSED}${oneLine(why)}\n${own}`
}

/** What came of arguments that a person edited. */
export type ReadArguments =
  | { readonly type: 'arguments'; readonly args: Readonly<Record<string, unknown>> }
  /** `why` is a sentence for that person; `draft` is what they go on with. */
  | { readonly type: 'bad'; readonly why: string; readonly draft: string }

/** The arguments of a call as a person edits them, in JSON. */
export const argumentsDraft = (args: Readonly<Record<string, unknown>>): string =>
  `${JSON.stringify(args, null, 2)}\n`

/** What a person made of `argumentsDraft`, or of a draft that was refused before. */
export function readArguments(text: string): ReadArguments {
  const bad = (why: string): ReadArguments => ({ type: 'bad', why, draft: refusedDraft(text, why) })
  try {
    // No text of JSON goes over the end of a line; and lines are counted as they will be seen again.
    const read: unknown = JSON.parse(refusedDraft(text, '').replace(/^[ \t]*#.*$/gm, ''))
    if (typeof read === 'object' && read !== null && !Array.isArray(read))
      return { type: 'arguments', args: { ...read } }
    return bad('The arguments have to be one JSON object: { "name": value }. Nothing was sent.')
  } catch (error) {
    return bad(`The arguments are not JSON any more: ${markedLine(messageOf(error))}. Nothing was sent.`)
  }
}
