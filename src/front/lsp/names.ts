import { isAbsolute } from 'node:path'
import { pathToFileURL } from 'node:url'
import {
  type CompletionItem,
  CompletionItemKind,
  type CompletionList,
  type Location,
  type SignatureHelp,
} from 'vscode-languageserver/node'
import { beginning } from '../../../tools/text.ts'
import type { Completion, Completions, Inspected, NameKind, References } from '../../../wire/kernel.ts'
import { type Asked, type AskedOf, ask, type Defined, defined } from './asking.ts'
import { EXPRESSION } from './documents.ts'
import { isStatic, staticNames } from './static.ts'

const COMPLETIONS = 200

/** Characters of a value in a hover. */
const HOVER_LENGTH = 2_000

const KINDS: Readonly<Partial<Record<NameKind, CompletionItemKind>>> = {
  function: CompletionItemKind.Function,
  method: CompletionItemKind.Method,
  generic_function: CompletionItemKind.Function,
  macro: CompletionItemKind.Function,
  class: CompletionItemKind.Class,
  type: CompletionItemKind.Class,
  module: CompletionItemKind.Module,
  property: CompletionItemKind.Property,
  constant: CompletionItemKind.Constant,
  parameter: CompletionItemKind.Variable,
}

async function completed(asked: Asked) {
  const block = asked.document.block(asked.position)
  const { text, cursor } = block
  const found = await ask(asked, 'complete', { text, cursor, limit: COMPLETIONS })
  return { block, found: found as Completions | undefined }
}

/** Names of the image that others do not know; words of the language itself are left to them. */
export async function complete(asked: Asked): Promise<CompletionList> {
  const { block, found } = await completed(asked)
  if (found === undefined) return { isIncomplete: false, items: [] }
  const range = { start: block.position(found.from), end: block.position(found.to) }
  const offered = found.completions.filter(({ kind }) => kind !== 'keyword')
  const isKnown = await knownAt([...block.text].slice(0, found.from).join(''), { ...found, offered }, asked)
  const items = offered
    .filter(one => !isKnown(one))
    .map(
      ({ text, kind, type_name }): CompletionItem => ({
        label: text,
        kind: KINDS[kind] ?? CompletionItemKind.Variable,
        ...(type_name !== null && { detail: type_name }),
        textEdit: { range, newText: text },
      }),
    )
  return { isIncomplete: found.completions.length < found.total, items }
}

/** Which names a static server offers behind a text. Keys it never does, nor what a live value has. */
async function knownAt(
  before: string,
  { offered, call }: { readonly offered: readonly Completion[]; readonly call: Completions['call'] },
  asked: Asked,
): Promise<(offer: Completion) => boolean> {
  const { static: reads, left } = asked.document.language
  if (!asked.hasStatic || reads === undefined) return () => false
  if (reads.importing.test(before)) return () => true
  const [path = ''] = left.exec(before.slice(-EXPRESSION)) ?? []
  if (/['".]$/.test(before.slice(0, before.length - path.length))) return () => false
  const names = offered.map(({ text }) => text)
  const known = await staticNames(asked, path.slice(0, -1), names)
  const named = offered.some(isNamed) && call !== null && (await isKnown(asked, call.name))
  // A name of the text alone has no type.
  return one =>
    isNamed(one) ? named : known.has(one.text) || (path === '' && one.type_name === null && isWord(one.text))
}

/** An argument by name. */
const isNamed = ({ text }: Completion) => text.endsWith('=')

const isWord = (text: string) => /^[\p{L}_][\p{L}\p{N}_]*$/u.test(text)

/** Whether a static server knows all of an expression: where it is defined, and that its text is what runs. */
async function isKnown(asked: Asked, expr: string): Promise<boolean> {
  if (!asked.hasStatic) return false
  const [found] = await defined(asked, [expr])
  // A decorator makes parts around a definition, which no static server knows.
  return found?.ok === true && !isOther(found) && found.parts === undefined && isStatic(asked, found)
}

export async function signature(asked: Asked): Promise<SignatureHelp | null> {
  const call = (await completed(asked)).found?.call
  if (!call || (await isKnown(asked, call.name))) return null
  return {
    signatures: [{ label: call.call ?? `${call.name}${call.signature}` }],
    activeSignature: 0,
    ...(call.parameter !== null && { activeParameter: call.parameter }),
  }
}

/** A value as it is now, and of a definition what others do not know. */
export async function hover(asked: Asked): Promise<string | undefined> {
  const expr = asked.document.expressionAt(asked.position)
  if (expr === '') return undefined
  const found = (await ask(asked, 'inspect', { expr })) as Inspected | undefined
  if (found === undefined) return undefined
  const { proof_note: note } = (found.callable ?? {}) as { readonly proof_note?: string }
  if (note !== undefined) return note
  if (['callable', 'class', 'module'].includes(found.kind) && (await isKnown(asked, expr))) return undefined
  const text = await asked.project.show('inspect', { ok: true, result: found }).catch(() => '')
  return `${expr}: ${beginning(text, HOVER_LENGTH)}`
}

export async function definition(asked: Asked): Promise<readonly Location[]> {
  const expr = asked.document.expressionAt(asked.position)
  if (expr === '') return []
  const [found] = await defined(asked, [expr])
  if (found?.ok !== true) return []
  const own = (await isStatic(asked, found)) ? [] : [found]
  return [...own, ...(found.parts ?? [])].flatMap(locationOf)
}

export async function references(asked: Asked): Promise<readonly Location[]> {
  const expr = asked.document.expressionAt(asked.position)
  const [symbol] = expr === '' ? [] : await defined(asked, [expr])
  if (symbol?.ok !== true) return []
  const { project, document, signal } = asked
  const how = { language: document.language.name, ...(signal && { signal }) }
  const found = (await project.ask('who_references', { name: symbol.qualified }, how)) as
    | References
    | undefined
  const all = found?.references ?? []
  // Code that names it is in a text, and what holds it is not.
  const untold = (await isStatic(asked, symbol)) ? all.filter(({ kind }) => kind === 'holds') : all
  return untold.flatMap(locationOf)
}

function locationOf({
  file,
  line,
}: {
  readonly file: string | null
  readonly line: number | null
}): Location[] {
  if (file === null || line === null || !isAbsolute(file)) return []
  const start = { line: line - 1, character: 0 }
  return [{ uri: pathToFileURL(file).href, range: { start, end: start } }]
}

/** Definitions in one question. */
const AT_ONCE = 20

/** Definitions whose text in the file is not what runs. */
interface Differing {
  readonly names: readonly string[]
  /** Why no compiler takes the file, which then has the text of none. */
  readonly invalid?: string
}

/** Those of these names whose text in the file is not what runs. */
export async function differing(asked: AskedOf, names: readonly string[]): Promise<Differing> {
  const found: string[] = []
  for (let from = 0; from < names.length; from += AT_ONCE)
    for (const one of await defined(asked, names.slice(from, from + AT_ONCE))) {
      if (!one.ok) continue
      const invalid = one.proof?.invalid
      if (invalid !== undefined) return { names: [], invalid }
      if (isOther(one)) found.push(one.name)
    }
  return { names: found }
}

/** The text that runs is another one than the file's: a commit's, or what was read or compiled before. */
const isOther = ({ current, proof }: Defined) =>
  current === false || (proof !== undefined && proof.from !== null && proof.from !== 'file')
