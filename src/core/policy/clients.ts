import type { Looked } from '../policy.ts'
import type { Yes } from './written.ts'

/**
 * What the policy says of the yes of a client that calls itself by that name; undefined where it says nothing. The
 * strictest counts, and while there is a problem with a file no yes is said to count.
 */
export function yesOf(seen: readonly Looked[], name: string): Yes | undefined {
  const decisions = seen.flatMap(({ held }) =>
    held
      .filter(({ rule: { client } }) => client !== undefined && named(client, name))
      .map(({ rule }) => rule.decision),
  )
  if (decisions.length === 0) return undefined
  const inOrder = seen.every(({ problem }) => problem === undefined)
  return inOrder && decisions.every(decision => decision === 'allow') ? 'counts' : 'asks_a_seat'
}

function named(pattern: string, name: string): boolean {
  return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern
}
