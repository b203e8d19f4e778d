import type { Envelope } from '../../tools/outcome.ts'
import { type Happened, invariantsOf } from './history.ts'
import { afterwards, type Ground } from './whole-path.ts'

/** Names of temporary files that nobody took away. */
export function leftBehind(ground: Ground): string[] {
  return ground.names().filter(name => name.startsWith('.imago'))
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
