import { realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Rule } from '../gate.ts'
import type { Looked } from '../policy.ts'
import { judgedName, type KnownTools } from './named-tools.ts'
import { pathOf } from './written.ts'

/** The rules about calls of a file that hold for a caller with that root, with absolute paths and with their places. */
export function placedRules(
  { held, place }: Looked,
  { root: caller, tools }: { readonly root: string; readonly tools: KnownTools | undefined },
): readonly Rule[] {
  const root = place.type === 'project' ? place.root : caller
  const { type, file } = place
  const aboutCalls = held.filter(({ rule }) => rule.client === undefined)
  return aboutCalls.map(({ rule: { client: _, ...rule }, number, removed }) => ({
    ...rule,
    ...(rule.tool !== undefined && { tool: judgedName(rule.tool, tools) }),
    ...(rule.path !== undefined && { path: pathOf(rule.path, { place, root }) }),
    ...(rule.file !== undefined && { file: pathOf(rule.file, { place, root }) }),
    from: { type, file, number, ...(removed && { removed }) },
  }))
}

/**
 * The same rules, those that tighten speaking also about where their paths lead now. One that allows does not: a link
 * that is laid later must not widen it.
 */
export function followed(rules: readonly Rule[]): readonly Rule[] {
  return rules.map(rule => {
    const real = realOfRule(rule)
    return real === rule.real ? rule : { ...rule, real }
  })
}

function realOfRule({ decision, path, file }: Rule): string | undefined {
  const written = path ?? file
  if (written === undefined || decision === 'allow') return undefined
  const real = realOfPath(written)
  return real === written ? undefined : real
}

/** The path without links, also of a file that is not there yet; as given where that cannot be told. */
function realOfPath(path: string): string {
  try {
    return realpathSync.native(path)
  } catch (error) {
    const missing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
    const above = dirname(path)
    return missing && above !== path ? join(realOfPath(above), basename(path)) : path
  }
}
