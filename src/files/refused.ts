import { type Failed, failed } from '../../tools/outcome.ts'
import { errnoOf } from '../../wire/errors.ts'

/** What `details.reason` of a `path_refused` can be: a closed list. */
const PATH_REASONS = {
  no_project: 'The caller is in no project: in the home directory, or in a folder that holds it.',
  outside_project:
    'It is not in the project, nor in a further root that the user configured; links are followed first.',
  protected: 'It is Imago’s own: its state, sockets and configuration, or the policy of a project.',
  not_a_regular_file: 'It is a folder, a pipe, a socket or a device.',
  not_a_folder: 'A part of the path before the last is a file.',
  bad_name: 'No file may have that name, or no new one.',
  looks_like:
    'A new name would differ from one that is there only by case or by how its letters are spelled.',
  link_loop: 'The links on the way lead round in a circle.',
} as const

type PathReason = keyof typeof PATH_REASONS

/** A path that a tool may not touch. `why` and `next` are sentences. */
export function pathRefused(reason: PathReason, { why, next }: { why: string; next?: string }): Failed {
  return failed('path_refused', {
    message: next === undefined ? why : `${why} ${next}`,
    details: { reason },
  })
}

/** What a file holds after a failure: what it held before, what it was to hold, or that nobody can tell. */
export type Holds = 'old' | 'new' | 'unknown'

/** What one of several files holds after a failure. */
export interface Held {
  readonly path: string
  readonly holds: Holds
  /** The name in the same folder under which the content before was left, where it could not be put back. */
  readonly leftAside: string | undefined
}

/** The system refused to look. Rethrows what is no refusal of the system, but a fault of ours. */
export function fileFailed(error: unknown, { what, shown }: { what: string; shown: string }): Failed {
  const { errno, reason } = refusalOf(error)
  return failed('file_failed', {
    message: `${shown} could not be ${what}: ${reason}.`,
    details: { errno, path: shown },
  })
}

/** The system refused while files were changed; `held` says how each of them stands now. */
export function changeFailed(error: unknown, o: { what: string; held: readonly Held[] }): Failed {
  const { errno, reason } = refusalOf(error)
  const { what, held } = o
  const kinds = new Set(held.map(({ holds }) => holds))
  const [only = 'unknown'] = kinds
  const holds = kinds.size === 1 ? only : 'unknown'
  const each =
    kinds.size === 1 ? ALL_SAY[holds] : held.map(({ path, holds }) => `${path} ${SAYS[holds]}`).join('; ')
  const aside = held.flatMap(({ path, leftAside }) =>
    leftAside === undefined ? [] : ` What ${path} held is beside it, in ${leftAside}.`,
  )
  return failed('file_failed', {
    message: `${what}: ${reason}. ${each}${kinds.size === 1 ? '' : '.'}${aside.join('')}`,
    details: { errno, holds, files: held.map(({ path, holds }) => ({ path, holds })) },
    retryable: holds === 'old',
  })
}

function refusalOf(error: unknown): { errno: string; reason: string } {
  const errno = errnoOf(error)
  if (errno === undefined) throw error
  // At the end Node names its own function, and temporary names, of use to nobody.
  const reason = error instanceof Error ? error.message.replace(/, [a-z]+(?: '.*)?$/s, '') : errno
  return { errno, reason }
}

const SAYS: Readonly<Record<Holds, string>> = {
  old: 'is as it was before',
  new: 'holds the new content',
  unknown: 'holds either the old or the new content, or what somebody else wrote',
}

const ALL_SAY: Readonly<Record<Holds, string>> = {
  old: 'Nothing was changed.',
  new: 'The new content is in place, but a loss of power may still bring back the old.',
  unknown: 'Whether the old or the new content is in place is not known: look before doing anything else.',
}

export function stale(causes: readonly string[]): Failed {
  return failed('stale_plan', {
    message: `Nothing was changed, because something has changed since the plan was made: ${causes.join('; ')}.`,
    details: { causes },
    next: 'Look at it again, and call again: that makes a new plan.',
  })
}
