import { isAboutFiles } from '../gate.ts'
import { nearest } from '../nearest.ts'
import type { Registry } from '../registry.ts'

/** The tools that rules can be about. */
export type KnownTools = Pick<Registry, 'find' | 'list'>

/** What of a rule or a test says which tool it is about. */
interface AboutTool {
  readonly tool?: string | undefined
  readonly path?: string | undefined
  readonly file?: string | undefined
}

/**
 * Why a rule or a test would be without effect, as the end of a sentence about it: there is no such tool, or none whose
 * files could be judged. It would look as if it held.
 */
export function faultOfTool(about: AboutTool, tools: KnownTools): string | undefined {
  const { tool, file } = about
  if (tool === undefined || tool.endsWith('*')) return undefined
  const found = tools.find(tool)
  if (found === undefined) {
    const alike = nearest(tool, namesOf(tools))
    const hint = alike.length === 0 ? '' : `; nearest: ${alike.join(', ')}`
    return `is about the tool ${JSON.stringify(tool)}, and there is none${hint}`
  }
  if (!isAboutFiles(about) || found.namesFiles) return undefined
  const word = file === undefined ? 'path' : 'file'
  return `names a ${word}, and ${tool} names and changes no files: leave out ${word}`
}

/** The same for the beginning of a name, which may be meant for tools to come: nothing is forbidden because of it. */
export function warningOfTool(about: AboutTool, tools: KnownTools): string | undefined {
  const { tool, file } = about
  if (tool === undefined || !tool.endsWith('*')) return undefined
  const matched = tools.list('full').filter(({ name }) => name.startsWith(tool.slice(0, -1)))
  if (matched.length === 0) return `is about ${tool}, and there is no tool whose name begins so`
  if (!isAboutFiles(about) || matched.some(({ namesFiles }) => namesFiles)) return undefined
  return `names a ${file === undefined ? 'path' : 'file'}, and no tool ${tool} names or changes files`
}

/** The name under which the tool is judged: rules may use older names, as callers may. */
export function judgedName(tool: string | undefined, tools: KnownTools | undefined): string | undefined {
  return tool === undefined ? undefined : (tools?.find(tool)?.name ?? tool)
}

const namesOf = (tools: KnownTools) => tools.list('full').map(({ name }) => name)
