import { isAbsolute } from 'node:path'
import { pathToFileURL } from 'node:url'
import {
  type CompletionItem,
  CompletionItemKind,
  type CompletionList,
  type Location,
  type Position,
  type SignatureHelp,
} from 'vscode-languageserver/node'
import type { Definitions } from '../../../tools/definition.ts'
import { beginning } from '../../../tools/text.ts'
import type { Completions, Inspected, NameKind, References } from '../../../wire/kernel.ts'
import type { TextLines } from './documents.ts'
import type { Project } from './project.ts'

/** A place in an open document of a project, and who may withdraw the question about it. */
export interface Asked {
  readonly project: Project
  readonly document: TextLines
  readonly position: Position
  readonly signal?: AbortSignal
}

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

/** A question about the names of the document's file. */
function ask({ project, document, signal }: Asked, tool: string, args: Readonly<Record<string, unknown>>) {
  const { path, language } = document
  if (path === undefined) return undefined
  return project.ask(tool, { file: path, ...args }, { language: language.name, ...(signal && { signal }) })
}

async function completed(asked: Asked) {
  const block = asked.document.block(asked.position)
  const { text, cursor } = block
  const found = (await ask(asked, 'complete', { text, cursor, limit: COMPLETIONS })) as
    | Completions
    | undefined
  return { block, found }
}

/** Names of the image; words of the language itself are left to others. */
export async function complete(asked: Asked): Promise<CompletionList> {
  const { block, found } = await completed(asked)
  if (found === undefined) return { isIncomplete: false, items: [] }
  const range = { start: block.position(found.from), end: block.position(found.to) }
  const items = found.completions
    .filter(({ kind }) => kind !== 'keyword')
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

export async function signature(asked: Asked): Promise<SignatureHelp | null> {
  const call = (await completed(asked)).found?.call
  if (!call) return null
  return {
    signatures: [{ label: call.call ?? `${call.name}${call.signature}` }],
    activeSignature: 0,
    ...(call.parameter !== null && { activeParameter: call.parameter }),
  }
}

/** A value as it is now. What a definition says by itself is left to others, but where another one runs. */
export async function hover(asked: Asked): Promise<string | undefined> {
  const expr = asked.document.expressionAt(asked.position)
  if (expr === '') return undefined
  const found = (await ask(asked, 'inspect', { expr })) as Inspected | undefined
  if (found === undefined) return undefined
  if (!['callable', 'class', 'module'].includes(found.kind)) {
    const text = await asked.project.show('inspect', { ok: true, result: found }).catch(() => '')
    return `${expr}: ${beginning(text, HOVER_LENGTH)}`
  }
  const { proof_note: note } = (found.callable ?? {}) as { readonly proof_note?: string }
  return note
}

async function defined(asked: Asked, symbols: readonly string[]): Promise<Definitions['symbols']> {
  const found = (await ask(asked, 'symbol_definition', { symbols, max_length: 1 })) as Definitions | undefined
  return found?.symbols ?? []
}

export async function definition(asked: Asked): Promise<readonly Location[]> {
  const expr = asked.document.expressionAt(asked.position)
  if (expr === '') return []
  const [found] = await defined(asked, [expr])
  if (found?.ok !== true) return []
  return [found, ...(found.parts ?? [])].flatMap(locationOf)
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
  return (found?.references ?? []).flatMap(locationOf)
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
export async function differing(
  asked: Omit<Asked, 'position'>,
  names: readonly string[],
): Promise<Differing> {
  const found: string[] = []
  for (let from = 0; from < names.length; from += AT_ONCE)
    for (const one of await defined(
      { ...asked, position: { line: 0, character: 0 } },
      names.slice(from, from + AT_ONCE),
    )) {
      if (!one.ok) continue
      const invalid = one.proof?.invalid
      if (invalid !== undefined) return { names: [], invalid }
      if (one.current === false || isOlder(one.proof?.from)) found.push(one.name)
    }
  return { names: found }
}

/** The text that runs is another one than the file's: a commit's, or what was read or compiled before. */
const isOlder = (from: string | null | undefined) => from !== undefined && from !== null && from !== 'file'
