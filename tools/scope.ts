import { z } from 'zod'
import type { ScopeQuery } from '../wire/kernel.ts'
import type { KernelContext } from './contract.ts'
import { termsOf } from './languages.ts'
import { lookUp } from './look.ts'
import { type Failed, failed } from './outcome.ts'
import { given } from './text.ts'

const MOST = 4_096

/** The parameter that names the file whose names are meant. Every word of it is paid for in each list of tools. */
export const NAMES_OF = z
  .string()
  .refine(file => file.length > 0 && file.length <= MOST, `has 1 to ${MOST} characters`)
  .optional()
  .describe('Whose names are meant.')

/** Whose names are meant: a loaded module, or a package; both left out for those of the top level. */
export interface Scope {
  readonly package?: string
  /** The file that was named, where it is not loaded. */
  readonly unloaded?: string
  /** Why the file that was named does not tell its names. */
  readonly unread?: string
}

/**
 * The names that code in a file sees. A relative path is one in the project. `package` is what the caller named besides,
 * and wins. In a language with packages the file says by itself in which one its code is read; `line` is that of the code.
 */
export async function scopeOf(
  asked: {
    readonly file: string | undefined
    readonly package?: string | undefined
    readonly line?: number | undefined
  },
  context: KernelContext,
): Promise<Scope | Failed> {
  const { file, package: inside, line } = asked
  if (inside !== undefined) return { package: inside }
  if (file === undefined) return {}
  const { abilities } = context.kernel.identity
  if (abilities.has('scope')) {
    const query = given<ScopeQuery>({ file: context.pathOf(file), line })
    const looked = await lookUp({ look: 'scope', query }, context)
    if (looked.type !== 'ok') return looked.type === 'failed' ? looked : {}
    const { module } = looked.result
    return module === null ? { unloaded: file } : { package: module }
  }
  const { packageIn } = termsOf(context.kernel.identity)
  if (packageIn === undefined || !abilities.has('packages'))
    return failed('not_available', {
      message: `${context.kernelName} does not tell the names of a file from others.`,
      details: { parameter: 'file' },
      next: 'Leave file out, and write each name in full.',
    })
  const seen = await context.files.look(file)
  if (seen.type === 'failed') return seen
  return seen.exists ? packageAt(seen.text ?? '', packageIn, line) : { unloaded: file }
}

/** The same for code that runs in any case: at the top level where the names of its file cannot be told. */
export async function scopeOfCode(
  asked: Parameters<typeof scopeOf>[0],
  context: KernelContext,
): Promise<Scope> {
  const found = await scopeOf(asked, context)
  if (!('type' in found)) return found
  const { code, message } = found.error
  return code === 'not_available' ? {} : { unread: message }
}

/** The last package that a text names up to that line, or else the first of all. One pass, however many it names. */
function packageAt(text: string, named: RegExp, line = 1): Scope {
  let [at, lines] = [0, 1]
  let found: string | undefined
  for (const match of text.matchAll(named)) {
    for (; at < match.index; at++) if (text[at] === '\n') lines++
    if (lines > line && found !== undefined) break
    found = match[1] ?? ''
    if (lines > line) break
  }
  return found === undefined ? {} : { package: found }
}

/** What a look is told whose file is not loaded. */
export function notLoaded({ unloaded }: Scope, { kernelName }: KernelContext): Failed | undefined {
  if (unloaded === undefined) return undefined
  return failed('not_found', {
    message: `${unloaded} is not loaded in ${kernelName}: none of its names are there.`,
    details: { file: unloaded },
    next: `load_file ${JSON.stringify({ path: unloaded })} loads it; without file, names are those of the top level.`,
  })
}

/** What an answer says of whose names were meant, where a file was named. */
export function namesOf({ package: inside, unloaded, unread }: Scope, file: string | undefined) {
  const why = unloaded === undefined ? unread : `${unloaded} is not loaded.`
  if (why !== undefined) return { notice: `${why} Names are those of the top level.` }
  return file === undefined || inside === undefined ? {} : { names_of: inside }
}
