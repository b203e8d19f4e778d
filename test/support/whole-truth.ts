import type { Envelope } from '../../tools/outcome.ts'
import { type Happened, invariantsOf, type Line } from './history.ts'
import { afterwards, type Ground } from './whole-path.ts'

/** One file of the project, and the two contents that it may have; undefined for none. */
export interface Fate {
  readonly name: string
  readonly old: string | undefined
  readonly new: string | undefined
}

export type Holds = 'old' | 'new' | 'neither'

/** Of several files: what all of them hold. */
export function holdsOf(ground: Ground, ...fates: readonly Fate[]): Holds {
  if (fates.every(fate => ground.text(fate.name) === fate.new)) return 'new'
  return fates.every(fate => ground.text(fate.name) === fate.old) ? 'old' : 'neither'
}

/** Names of temporary files that nobody took away. */
export function leftBehind(ground: Ground): string[] {
  return ground.names().filter(name => name.startsWith('.imago'))
}

/** What the caller was told that is not so. */
export function falseIn(answer: Envelope, holds: Holds): string[] {
  const said = claimOf(answer)
  if (said === 'unknown' || said === holds) return []
  return [`the caller was told that the file is ${said}, and it is ${holds}: ${JSON.stringify(answer)}`]
}

/** Which content the file has, as the caller was told. Every error but two says that nothing was changed. */
export function claimOf(answer: Envelope): 'old' | 'new' | 'unknown' {
  if (answer.ok) return 'new'
  const { code, details } = answer.error
  if (code === 'outcome_unknown') return 'unknown'
  const { holds = 'old' } = details
  return code === 'file_failed' && (holds === 'new' || holds === 'unknown') ? holds : 'old'
}

/**
 * What is wrong in the journal, once its daemon has ended and the next one has read it. `lossy`: the disk would not
 * take every line, so that how asking ended may be missing, of a plan that was not carried out.
 */
export async function wrongInJournal(
  ground: Ground,
  { effects, lossy = false }: { readonly effects: readonly Happened[]; readonly lossy?: boolean },
): Promise<string[]> {
  const { lines, problems } = await afterwards(ground)
  const wrong = invariantsOf(lines, effects)
  const lost = (sentence: string) => lossy && sentence.endsWith('was requested, and never decided')
  return [...problems.map(problem => `the journal: ${problem}`), ...wrong.filter(each => !lost(each))]
}

/** The plan that was let through last in these lines, as what had the effect. */
export function lastEffect(lines: readonly Line[], path: string): Happened {
  const change = lines.findLast(({ type }) => type === 'dispatched')?.plan
  return { change: typeof change === 'string' ? change : 'no plan at all', path }
}
