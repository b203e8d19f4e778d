import type { OtherKernel } from './define.ts'
import type { Looking } from './looked.ts'
import type { Failed, Outcome } from './outcome.ts'
import { oneLine } from './wording.ts'

/** Names that an image gives: `s3@ab12`, `t1@ab12`. Before the `@` stands a number, and behind it which image it was. */

/** `s3` or `t1`: to be found among those there are. */
export const isShortId = (given: string): boolean => /^[a-z]\d+$/.test(given)

/** Those that are called so, in short or in full. */
export const idsOf = (given: string, ids: readonly string[]): readonly string[] =>
  ids.filter(id => id === given || id.startsWith(`${given}@`))

/** What can be looked for in other kernels. */
type Sought = 'suspensions' | 'traces'

/** What it takes to look there. */
export type Elsewhere = Pick<Looking, 'signal'> & { others(): readonly OtherKernel[] }

/** Asks for the tracepoints alone. */
export const ALL_TRACEPOINTS = { from: 1, count: 1 }

/** How long another kernel has to say what it has, in milliseconds. */
const OTHER_MS = 1_000

/**
 * The same outcome; where it says that there is nothing of that id, and other kernels that live have it, it names them.
 * `given` is the id as the caller gave it, `look` what lists those of its kind.
 */
export async function orElsewhere<Result>(
  outcome: Outcome<Result>,
  { given, look }: { readonly given: string | undefined; readonly look: Sought },
  context: Elsewhere,
): Promise<Outcome<Result>> {
  if (outcome.type !== 'failed' || outcome.error.code !== 'not_found' || given === undefined) return outcome
  if (!isAbout(outcome, given)) return outcome
  const found = await Promise.all(context.others().map(other => idsIn(other, look, context)))
  const there = found.flatMap(({ kernel, ids }) => idsOf(given, ids).map(id => ({ kernel, id })))
  return there[0] === undefined ? outcome : naming(outcome, there)
}

/** Not about a restart, say, that is missing in one that is there. */
const isAbout = ({ error }: Failed, given: string): boolean => {
  const { what } = error.details
  return typeof what === 'string' && (what === given || what.endsWith(` ${given}`))
}

async function idsIn(
  { name, kernel }: OtherKernel,
  look: Sought,
  { signal }: Elsewhere,
): Promise<{ readonly kernel: string; readonly ids: readonly string[] }> {
  const options = { deadlineMs: OTHER_MS, signal }
  try {
    if (look === 'suspensions') {
      const looked = await kernel.look('suspensions', {}, options)
      return { kernel: name, ids: looked.type === 'found' ? looked.value.suspensions.map(idOf) : [] }
    }
    const looked = await kernel.look('traces', ALL_TRACEPOINTS, options)
    return { kernel: name, ids: looked.type === 'found' ? looked.value.tracepoints.map(idOf) : [] }
  } catch {
    // It has ended, or cannot do that: it has none.
    return { kernel: name, ids: [] }
  }
}

const idOf = ({ id }: { readonly id: string }): string => id

function naming(
  { error }: Failed,
  there: readonly { readonly kernel: string; readonly id: string }[],
): Failed {
  const named = there.map(({ kernel, id }) => `${oneLine(id)} is in ${kernel}`).join(', ')
  const first = there[0]?.kernel ?? ''
  return {
    type: 'failed',
    error: {
      ...error,
      message: `${error.message} ${named}.`,
      details: { ...error.details, elsewhere: there },
      next: `Name that kernel as well: {"kernel": ${JSON.stringify(first)}}.`,
    },
  }
}
