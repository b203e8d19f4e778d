import type { Failed } from '../../../tools/outcome.ts'
import type { Committed, CommittedFile, FileChange } from '../../../tools/proposal.ts'
import { sha256 } from '../sha256.ts'
import { Moved } from './comparing.ts'
import { errnoOf } from './disk.ts'
import type { Pinning } from './folder.ts'
import type { Kept } from './kept.ts'
import { changeFailed, type Held, stale } from './refused.ts'
import { Replacement } from './replacement.ts'
import type { Unfinished } from './unfinished.ts'

export interface Committing extends Pinning {
  readonly kept: Kept
  readonly unfinished: Unfinished
  /** Bytes of the largest file. */
  readonly most: number
}

export interface Order {
  readonly change: string
  readonly changes: readonly FileChange[]
}

/**
 * Carries out the changes, all of them or none: compared, what was there kept, folders made, the new files written
 * beside the old ones, and then, in one step of this process, each compared once more and replaced. Where one of them cannot be, those
 * before it are put back.
 */
export async function commit(parts: Committing, order: Order): Promise<Committed | Failed> {
  const paths = order.changes.map(({ path }) => path)
  if (new Set(paths).size !== paths.length) throw new Error('a plan changes one file twice')
  const replacements: Replacement[] = []
  const going: Going = { parts, order, replacements, at: undefined, reached: 'nothing' }
  try {
    return await carryOut(going)
  } catch (error) {
    for (const replacement of [...replacements].reverse()) replacement.putBack()
    return answerTo(error, going)
  } finally {
    // The last one first: it may be in a folder that was made for one before it.
    for (const replacement of [...replacements].reverse()) replacement.dispose()
    conclude(going)
  }
}

/** What was there before is known to whoever tidies up until no temporary name is left. */
function conclude({ parts, order, replacements, reached }: Going): void {
  if (reached === 'nothing') return
  if (reached !== 'all' && replacements.every(({ holds }) => holds === 'old')) parts.kept.forget(order.change)
  if (replacements.every(({ isTidy }) => isTidy)) parts.unfinished.end(order.change)
}

interface Going {
  readonly parts: Committing
  readonly order: Order
  readonly replacements: Replacement[]
  /** The file that is being worked on. */
  at: Replacement | undefined
  /** `kept`: what was there before is kept under the name of this change. `all`: every name is in place. */
  reached: 'nothing' | 'kept' | 'all'
}

async function carryOut(going: Going): Promise<Committed | Failed> {
  const { parts, order, replacements } = going
  const each = function* () {
    for (const replacement of replacements) {
      going.at = replacement
      yield replacement
    }
  }
  for (const change of order.changes) replacements.push(new Replacement(change, parts))
  for (const replacement of each()) replacement.compare()
  await keep(going)
  const made = new Set<string>()
  for (const replacement of each()) replacement.makeFolders(made)
  for (const replacement of each()) await replacement.stage()

  // No `await` from here to `finish`: what was compared is what is replaced.
  for (const replacement of each()) replacement.replace()
  for (const replacement of each()) replacement.confirm()
  for (const replacement of each()) replacement.finish()
  going.reached = 'all'

  return (
    (await synced(replacements)) ?? { type: 'committed', undo: order.change, files: order.changes.map(done) }
  )
}

async function keep(going: Going): Promise<void> {
  const { parts, order, replacements } = going
  const files = replacements.map(({ change: { path, before, after, identity }, mode, owner }) => ({
    path,
    before,
    afterSha256: after === null ? null : sha256(after),
    mode,
    owner,
    folders: after === null ? 0 : (identity?.folders ?? 0),
  }))
  try {
    await parts.kept.keep(order.change, files)
    going.reached = 'kept'
    parts.unfinished.begin(
      order.change,
      replacements.map(({ change: { path, identity }, stem }) => ({
        path,
        stem,
        folders: identity?.folders ?? 0,
      })),
    )
  } catch (error) {
    throw errnoOf(error) === undefined ? error : new NotKept(error)
  }
}

/** What was there before could not be kept, so nothing was begun. */
class NotKept extends Error {
  override readonly name = 'NotKept'

  constructor(cause: unknown) {
    super('what was there before could not be kept', { cause })
  }
}

/** The new names are in place; what fails now takes nothing back. */
async function synced(replacements: readonly Replacement[]): Promise<Failed | undefined> {
  for (const replacement of replacements)
    try {
      await replacement.sync()
    } catch (error) {
      return changeFailed(error, { what: whatOf(replacement), held: replacements.map(heldBy) })
    }
  return undefined
}

function answerTo(error: unknown, { order, replacements, at }: Going): Failed {
  // Those that were not even opened are as they were.
  const held = replacements.length === order.changes.length ? replacements.map(heldBy) : unchanged(order)
  if (error instanceof Moved) {
    if (held.every(({ holds }) => holds === 'old')) return stale([error.message])
    const moved = Object.assign(new Error(`ESTALE: ${error.message}`), { code: 'ESTALE' })
    return changeFailed(moved, { what: 'The files could not be changed together, nor all be put back', held })
  }
  if (error instanceof NotKept)
    return changeFailed(error.cause, { what: 'What was there before could not be kept', held })
  return changeFailed(error, { what: at === undefined ? 'A folder could not be opened' : whatOf(at), held })
}

const whatOf = ({ change, doing }: Replacement) => `${change.shown} could not be ${doing}`

const heldBy = ({ change, holds, leftAside }: Replacement): Held => ({ path: change.shown, holds, leftAside })

const unchanged = ({ changes }: Order): Held[] =>
  changes.map(({ shown }) => ({ path: shown, holds: 'old', leftAside: undefined }))

function done({ path, after }: FileChange): CommittedFile {
  return { path, bytes: after?.length ?? 0, sha256: after === null ? null : sha256(after) }
}
