import type { Position } from 'vscode-languageserver/node'
import type { Definitions } from '../../../tools/definition.ts'
import type { TextLines } from './documents.ts'
import type { Project } from './project.ts'

/** An open document of a project, and who may withdraw the question about it. */
export interface AskedOf {
  readonly project: Project
  readonly document: TextLines
  readonly signal?: AbortSignal
}

/** A place in it, and whether the editor may have a static server. */
export interface Asked extends AskedOf {
  readonly position: Position
  readonly hasStatic: boolean
}

/** A question about the names of the document's file, or of another `file`. */
export function ask(
  { project, document, signal }: AskedOf,
  tool: string,
  args: Readonly<Record<string, unknown>>,
) {
  const { path, language } = document
  if (path === undefined) return undefined
  return project.ask(tool, { file: path, ...args }, { language: language.name, ...(signal && { signal }) })
}

export type Defined = Extract<Definitions['symbols'][number], { ok: true }>

export async function defined(asked: AskedOf, symbols: readonly string[]): Promise<Definitions['symbols']> {
  const found = (await ask(asked, 'symbol_definition', { symbols, max_length: 1 })) as Definitions | undefined
  return found?.symbols ?? []
}
