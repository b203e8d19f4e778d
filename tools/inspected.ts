import type { Callable, ExceptionFacts, Inspected, Members, Sample, Section, Text } from '../wire/kernel.ts'
import { type Told, termsOf } from './languages.ts'
import { cutNote, indent, oneLine, reportSetIn, setIn, typeWord } from './wording.ts'

/** A value in sections as text: what it is first, then what it holds, then what is said about it. */
export function showInspected(value: Inspected & Told): string {
  const terms = termsOf(value)
  return [
    headline(value),
    ...section('repr', value.repr, textLines),
    ...section(terms.exception, value.exception, exceptionLines),
    ...section(terms.kind('callable'), value.callable, callableLines),
    ...section('sample', value.sample, sampleLines),
    ...section(terms.members, value.members, terms === termsOf({}) ? memberLines : slotLines),
    ...(docShown(value) ? [] : section('doc', value.doc, textLines)),
  ].join('\n')
}

/** Whether the documentation has been said with the signature. */
const docShown = ({ callable }: Inspected) =>
  callable !== undefined && 'doc' in callable && callable.doc !== null && callable.doc !== ''

/** `list · sequence · len 10000000 · @ab12.3` */
function headline(value: Inspected & Told): string {
  const { type, kind, size, handle, read } = value
  const words = [typeWord(type), termsOf(value).kind(kind)]
  if (size !== undefined && 'error' in size) words.push(`size unknown: ${oneLine(size.error)}`)
  else if (size !== undefined) {
    if (size.len !== undefined) words.push(`len ${size.len}`)
    if (size.shape !== undefined) words.push(`shape ${extents(size.shape)}`)
  }
  if (handle !== undefined) words.push(handle)
  if (read === 'evaluated') words.push('code was run to see this')
  return words.join(' · ')
}

/** `(3, 2)`, `(1000,)` or `()`, as Python writes it. */
const extents = (shape: readonly number[]): string =>
  shape.length === 1 ? `(${shape[0]},)` : `(${shape.join(', ')})`

function section<Contents extends object>(
  title: string,
  contents: Section<Contents> | undefined,
  lines: (title: string, contents: Contents) => string[],
): string[] {
  if (contents === undefined) return []
  // A text may carry an `error` beside what it says; only a section that is nothing else has failed.
  if ('error' in contents && Object.keys(contents).length === 1)
    return [`${title}: failed: ${String(contents.error)}`]
  return lines(title, contents as Contents)
}

function textLines(title: string, contents: Text): string[] {
  const { text, truncated, handle, error } = contents
  const cut = truncated ? ` (${cutNote(contents)}${rest(handle)})` : ''
  const plain = error === undefined ? '' : ` (its own printer was not used: ${oneLine(error)})`
  const short = !text.includes('\n')
  return short ? [`${title}${cut}${plain}: ${text}`] : [`${title}${cut}${plain}:`, indent(text)]
}

function exceptionLines(title: string, { exc_type, message, traceback }: ExceptionFacts): string[] {
  const said = message === null || message === '' ? exc_type : `${exc_type}: ${message}`
  const first = `${title}: ${setIn(said)}`
  return traceback === null ? [first] : [first, reportSetIn(traceback.trimEnd())]
}

function callableLines(title: string, facts: Callable): string[] {
  const { module, signature, file, line, doc, source_preview, source_truncated } = facts
  const place = file === null ? '' : `, ${file}${line === null ? '' : `:${line}`}`
  const lines = [
    `${title}: ${signature ?? 'no signature known'}${module === null ? '' : `, in ${module}`}${place}`,
  ]
  if (doc !== null && doc !== '') lines.push('doc:', indent(doc.trimEnd()))
  if (source_preview === null) lines.push('source: not available')
  else lines.push(source_truncated ? 'source (cut):' : 'source:', source_preview.trimEnd())
  return lines
}

function sampleLines(title: string, { items, shown, total, truncated, handle }: Sample): string[] {
  const count = truncated
    ? ` (first ${shown} of ${total ?? 'unknown many'}${rest(handle)})`
    : ` (all ${shown})`
  return [`${title}${count}:`, ...items.map(item => indent(item))]
}

function memberLines(title: string, { data, callables, dunder_count, truncated }: Members): string[] {
  if (data.length + callables.length === 0) return []
  const cut = truncated ? ' (cut)' : ''
  const special = dunder_count > 0 ? ` ${dunder_count} special` : ''
  const lines = [`${title}${cut}:${special}`]
  if (data.length > 0) lines.push(`  data: ${data.map(oneLine).join(', ')}`)
  if (callables.length > 0) lines.push(`  callables: ${callables.map(oneLine).join(', ')}`)
  return lines
}

/** The same where nothing but slots is there: `slots: customer, lines`. */
function slotLines(title: string, { data, truncated }: Members): string[] {
  return data.length === 0 ? [] : [`${title}${truncated ? ' (cut)' : ''}: ${data.map(oneLine).join(', ')}`]
}

const rest = (handle: string | undefined): string =>
  handle === undefined ? '' : `; more: read_more ${handle}`
