import { unifiedDiff } from './diff.ts'
import { halfCharacter } from './file-arguments.ts'
import { applied, asInFile, type Hunked } from './hunks.ts'
import { counted } from './naming.ts'
import { type Failed, failed } from './outcome.ts'
import type { Choice, Committed, Hunk, Proposal } from './proposal.ts'
import { countLines, remarksOn } from './remarks.ts'
import type { Rewrite } from './rewrite.ts'
import { oneLine } from './wording.ts'

/**
 * These files rewritten, as one plan: of each what happens in one sentence and what a person should know, then all of
 * the diffs. Its hunks are those of all of them, file by file.
 */
export function proposalOf(rewrites: readonly Rewrite[], told: Telling): Proposal {
  const all = rewrites.flatMap(({ hunks }) => hunks)
  const proposal = whole({ ...told, rewrites, choices: [] })
  if (all.length === 0) return proposal
  return { ...proposal, hunks: { all, choose: choices => derived({ ...told, rewrites, choices, proposal }) } }
}

/** How a plan of rewritten files is called, and what its call is answered with. */
export interface Telling {
  readonly title: string
  /** `rewrites`: as they were written, with these choices of a person; all that were proposed where there are none. */
  result(done: {
    readonly rewrites: readonly Rewrite[]
    readonly choices: readonly Choice[]
    readonly committed: Committed
  }): unknown
}

interface Whole extends Telling {
  readonly rewrites: readonly Rewrite[]
  readonly choices: readonly Choice[]
}

function whole({ rewrites, title, choices, result }: Whole): Proposal {
  const lead = rewrites.flatMap(told)
  const diffs = rewrites.map(({ diff }) => diff.text)
  return {
    type: 'proposal',
    preview: { title, body: `${lead.join('\n')}\n\n${diffs.join('')}` },
    evidence: rewrites.map(({ file }) => file.evidence),
    changes: rewrites.map(({ change }) => change),
    result: committed => result({ rewrites, choices, committed }),
  }
}

function told({ does, diff, file, text, notes, hunks }: Rewrite): string[] {
  const whys = hunks.flatMap(({ number, line, why }) =>
    why === null ? [] : [`Hunk ${number}, at line ${line}: ${oneLine(why)}`],
  )
  return [`${does}: ${countLines(diff)}.`, ...remarksOn(file, text), ...notes, ...whys]
}

interface Deriving extends Whole {
  readonly proposal: Proposal
}

/** The same evidence, that of files which are let be now included: what was shown was computed from all of it. */
function derived({ proposal, ...all }: Deriving): Proposal | Failed {
  const chosen = chosenOf(all.rewrites, all.choices)
  if ('type' in chosen) return chosen
  return { ...whole({ ...all, rewrites: chosen }), evidence: proposal.evidence }
}

/**
 * These files as they are to be with those choices, without those of which nothing is left. A failure names the hunk of
 * a text that cannot be written.
 */
function chosenOf(rewrites: readonly Rewrite[], choices: readonly Choice[]): readonly Rewrite[] | Failed {
  const taken = new Map(
    choices.flatMap(choice => (choice.decision === 'refuse' ? [] : [[choice.hunk, choice] as const])),
  )
  const chosen: Rewrite[] = []
  for (const rewrite of rewrites) {
    const left = rewrite.hunks.filter(({ number }) => taken.has(number))
    if (left.length === 0) continue
    const fault = left
      .map(hunk => faultOf({ rewrite, hunk, choice: taken.get(hunk.number) }))
      .find(one => one)
    if (fault !== undefined) return fault
    const changed = partly({ rewrite, choices, left: left.length })
    if (changed === undefined) continue
    if (changed.type === 'failed') return changed
    chosen.push(changed)
  }
  return chosen.length === 0 ? nothingLeft() : chosen
}

/** Undefined where these hunks together leave the file as it is. */
function partly(o: {
  readonly rewrite: Rewrite
  readonly choices: readonly Choice[]
  readonly left: number
}): Rewrite | Failed | undefined {
  const { rewrite, choices, left } = o
  const { file, hunks, files } = rewrite
  const text = applied(hunkedFile(rewrite), hunks, choices)
  if (file.exists && text === file.text) return undefined
  const change = files.changed(file, text)
  if ('error' in change) return change
  const before = file.exists ? file.text : null
  const diff = unifiedDiff({ path: file.shown, before, after: text })
  const does = `Applies ${left} of ${counted(hunks.length, 'hunk')} to ${oneLine(file.shown)}`
  return { ...rewrite, text, change, diff, does, hunks: [] }
}

const hunkedFile = ({ file }: Rewrite): Hunked => ({ ...file, text: file.text ?? '' })

/** Why an edited text cannot be written there. */
function faultOf(o: {
  readonly rewrite: Rewrite
  readonly hunk: Hunk
  readonly choice: Choice | undefined
}): Failed | undefined {
  const { rewrite, hunk, choice } = o
  if (choice?.decision !== 'edit') return undefined
  const text = asInFile(hunk, choice.text)
  if (text === hunk.before && rewrite.file.exists) return edited(hunk, sameAsBefore())
  const half = halfCharacter('the text', text)
  if (half !== undefined) return edited(hunk, half)
  const alone = rewrite.files.changed(rewrite.file, text)
  return 'error' in alone ? edited(hunk, alone) : undefined
}

const sameAsBefore = (): Failed =>
  failed('invalid_args', {
    message: 'it is what stands there already. Refuse the hunk to leave that as it is.',
  })

function edited({ number, shown }: Hunk, { error }: Failed): Failed {
  const message = `The edited text of hunk ${number} (${oneLine(shown)}) cannot be used: ${error.message}`
  return { type: 'failed', error: { ...error, message, details: { ...error.details, hunk: number } } }
}

const nothingLeft = (): Failed =>
  failed('invalid_args', { message: 'With these choices together nothing would be changed.' })
