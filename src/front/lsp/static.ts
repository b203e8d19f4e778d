import { readFileSync, statSync } from 'node:fs'
import type { Completions } from '../../../wire/kernel.ts'
import { isOfProject, realOf } from '../../files/roots.ts'
import { type Asked, ask, type Defined, defined } from './asking.ts'
import type { Project } from './project.ts'

/** Characters of a text that are read for its names, and names of another one that are asked for. */
const [MOST_READ, MOST_ASKED] = [1_000_000, 500]

/** Names that every text of a project has. */
const everywhere = new WeakMap<Project, ReadonlySet<string>>()

/**
 * The names that a static server knows from texts alone. `owner` is the expression before the names, of a module or
 * a class; it is empty for bare names. Behind a live value a static server knows none. Each name has the file of
 * its definition, or null where another file has it, or none.
 */
export async function staticNames(
  asked: Asked,
  owner: string,
  names: readonly string[],
): Promise<ReadonlyMap<string, string | null>> {
  const { document, hasStatic } = asked
  const { static: reads } = document.language
  if (!hasStatic || reads === undefined) return new Map()
  const space = owner === '' ? undefined : await spaceOf(asked, owner)
  if (owner !== '' && space === undefined) return new Map()
  if (space !== undefined && isLibrary(asked, space)) return new Map(names.map(name => [name, null]))
  const file = space === undefined ? document.path : space.file
  if (!file) return new Map()
  const isClass = space?.kind === 'class'
  const lines = realOf(file) === document.path ? document.lines : linesOf(file)
  const part = isClass ? lines.slice((space?.line ?? 1) - 1, space?.end_line ?? undefined) : lines
  const text = part.join('\n').slice(0, MOST_READ).replace(reads.bodies(isClass), '$1$2')
  // The document has the modules of a package that it imports.
  const imports = document.lines.filter(line => /^\s*import\s/.test(line)).slice(0, MOST_ASKED)
  const read = space?.kind === 'module' ? [text, ...imports].join('\n') : text
  const { own, bound } = namesIn(read, reads.binds)
  const isBound = (name: string) => bound.has(name) || /^__.*__$/.test(name)
  const known = (names: readonly string[]) =>
    new Map(names.map(name => [name, own.has(name) ? realOf(file) : null]))
  if (names.every(isBound)) return known(names)
  const others = await Promise.all([
    ...(owner === '' ? [alwaysThere(asked, reads.always)] : []),
    ...reads.besides(text, isClass).map(code => goingOn(asked, code, file)),
  ])
  return known(names.filter(name => isBound(name) || others.some(set => set.has(name))))
}

/** The module or class that a static server knows by that expression. */
async function spaceOf(asked: Asked, owner: string): Promise<Defined | undefined> {
  const [found] = await defined(asked, [owner])
  if (found?.ok !== true || (found.kind !== 'class' && found.kind !== 'module')) return undefined
  return (await isStatic(asked, found)) ? found : undefined
}

/** The names that a text binds, and those of them that it defines. */
function namesIn(text: string, binds: RegExp) {
  const groups = [...text.matchAll(binds)].map(([, ...groups]) => groups)
  return {
    own: new Set(groups.map(([definition]) => definition)),
    bound: new Set(groups.flat().flatMap(words => words?.match(/[\p{L}\p{N}_]+/gu) ?? [])),
  }
}

/** The names with which the program would go on behind that code. */
async function goingOn(asked: Asked, code: string, file?: string): Promise<ReadonlySet<string>> {
  const query = { text: code, limit: MOST_ASKED, ...(file !== undefined && { file }) }
  const found = (await ask(asked, 'complete', query)) as Completions | undefined
  return new Set(found?.completions.map(({ text }) => text))
}

/** The names that every text has; the program is asked once, with what code has put among its builtins by then. */
async function alwaysThere(asked: Asked, code: string): Promise<ReadonlySet<string>> {
  const known = everywhere.get(asked.project) ?? (await goingOn(asked, code))
  if (known.size > 0) everywhere.set(asked.project, known)
  return known
}

/** Whether a static server goes from that name to what was found. */
export async function isStatic(asked: Asked, found: Defined): Promise<boolean> {
  const { name, qualified } = found
  const [last, own] = [lastOf(name), lastOf(qualified)]
  const known = await staticNames(asked, name.slice(0, -last.length - 1), [last, own])
  const file = known.get(last)
  if (file === undefined || (file !== null && file !== (found.file && realOf(found.file)))) return false
  // Code has made the definition where the text does not name it, or where a call has made it.
  return isLibrary(asked, found) || (known.has(own) && !qualified.includes('<'))
}

const lastOf = (path: string) => path.slice(path.lastIndexOf('.') + 1)

/** It is no part of the project, and a static server knows all of it. */
const isLibrary = ({ project }: Asked, { file, origin }: Defined) =>
  origin === 'built_in' || (file !== null && !isOfProject(realOf(file), project.root))

function linesOf(file: string): readonly string[] {
  try {
    const facts = statSync(file)
    return facts.isFile() && facts.size <= 4 * MOST_READ ? readFileSync(file, 'utf8').split('\n') : []
  } catch {
    return []
  }
}
