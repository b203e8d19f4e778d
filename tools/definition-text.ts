import type { Definition, DefinitionPart } from '../wire/kernel.ts'
import { termsOf } from './languages.ts'
import { placeOf } from './naming.ts'
import type { ToolError } from './outcome.ts'
import { oneLine } from './wording.ts'

/** Definitions as a page in Markdown: a heading for each symbol, what must be known of it, and its source. */

export function definitionLines(found: Definition): string[] {
  const { name, language, parts = [] } = found
  return [
    `# ${oneLine(name)}`,
    '',
    ...aboutLines(found),
    '',
    '## Definition',
    '',
    ...sourceLines(found, language),
    ...parts.flatMap(part => partLines(part, language)),
  ]
}

/** The source in a fence that nothing in it can end, or why there is none. */
function sourceLines({ source, because }: Sourced, language: string): string[] {
  if (source === null) return [`No source: ${oneLine(because ?? 'the image has none')}`, '']
  const fence = fenceFor(source.text)
  const lines = [`${fence}${language}`, source.text.replace(/\n$/, ''), fence]
  if (source.error !== undefined) lines.push(oneLine(source.error))
  if (source.truncated) lines.push(cutLine(source))
  return [...lines, '']
}

type Sourced = Pick<Definition, 'source' | 'because'>

/** A method of a generic function, or something else that the name stands for. */
function partLines(part: DefinitionPart, language: string): string[] {
  const place = placeOf(part)
  const about = `${termsOf({ language }).kind(part.kind)}${place === '' ? '' : ` · ${place}`}`
  return [`### ${oneLine(part.name)}`, '', about, '', ...sourceLines(part, language)]
}

/** What is known of a definition besides its text. */
function aboutLines(found: Definition): string[] {
  const { name, qualified, kind, origin, wrappers, notes, current } = found
  const words: string[] = [termsOf(found).kind(kind)]
  const place = placeLine(found)
  if (place !== '') words.push(place)
  if (qualified !== name) words.push(`defined as \`${oneLine(qualified)}\``)
  if (origin === 'typed') words.push('typed in, not in a file')
  if (origin === 'built_in') words.push('built in')
  const lines = [words.join(' · ')]
  if (wrappers.length > 0)
    lines.push(`seen through, outermost first: ${wrappers.map(one => wrapperWord(one)).join(', ')}`)
  if (current === false) lines.push(termsOf(found).stale)
  else if (current === null && origin === 'file' && notes.length === 0)
    lines.push('Whether the file has changed since it was loaded cannot be told.')
  lines.push(...notes.map(oneLine))
  return lines
}

function placeLine({ file, line, end_line }: Definition): string {
  const place = placeOf({ file, line })
  return line !== null && end_line !== null && end_line > line && place !== ''
    ? `${place}-${end_line}`
    : place
}

function wrapperWord({ name, file, line }: Definition['wrappers'][number]): string {
  const place = placeOf({ file, line })
  return `\`${oneLine(name)}\`${place === '' ? '' : ` (${place})`}`
}

/** Longer than any row of backticks in the text, so that nothing in it can end it. */
function fenceFor(text: string): string {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map(row => row.length))
  return '`'.repeat(longest + 1)
}

function cutLine({ text, original_len, handle }: NonNullable<Definition['source']>): string {
  const shown = characters(text)
  const rest = handle === undefined ? '' : `; the rest: read_more ${handle} from ${shown}`
  return `... [truncated, showing ${shown}/${original_len ?? 'unknown'} characters${rest}]`
}

/** Characters as an image counts them, which takes no account of surrogates. */
export function characters(text: string): number {
  let count = 0
  for (const _ of text) count += 1
  return count
}

export function failureLines(name: string, { code, message }: ToolError): string[] {
  return [`# ${oneLine(name) || '""'}`, '', `Error: ${code}: ${oneLine(message)}`, '']
}

/** Whose names the definitions use, once for all of them. */
export function contextLines(found: readonly Definition[]): string[] {
  const contexts = new Map<string, Set<string>>()
  for (const [module, names] of found.flatMap(one => Object.entries(one.contexts ?? {}))) {
    const known = contexts.get(module) ?? new Set()
    for (const name of names) known.add(name)
    contexts.set(module, known)
  }
  if (contexts.size === 0) return []
  const sorted = [...contexts].sort(([one], [other]) => (one < other ? -1 : 1))
  const rows = sorted.map(([module, names]) => `  ${JSON.stringify(module)}: ${JSON.stringify([...names])}`)
  return ['# Contexts', '', '```json', '{', rows.join(',\n'), '}', '```', '']
}
