import { type Fate, fatesOf } from '../../tools/hunks.ts'
import { counted } from '../../tools/naming.ts'
import type { Outcome } from '../../tools/outcome.ts'
import type { Choice, FileChange } from '../../tools/proposal.ts'
import { oneLine } from '../../tools/wording.ts'
import { areAllRefused, fitOf, listed } from './choices.ts'
import { withSaid } from './edits.ts'
import { freeze } from './freezing.ts'
import type { JournalChoice } from './journal/entries.ts'
import type { Answer, Plan } from './plan.ts'
import { sha256 } from './sha256.ts'

/** What has come of the choices of a person. */
export type Chosen =
  /** Another plan, which is approved by them. */
  | {
      readonly type: 'chosen'
      readonly by: string
      readonly choices: readonly Choice[]
      readonly becomes: Plan
    }
  /** Every hunk was refused. */
  | { readonly type: 'refused'; readonly by: string; readonly choices: readonly Choice[] }
  /** They make no plan; `why` is a sentence. */
  | {
      readonly type: 'unusable'
      readonly by: string
      readonly choices: readonly Choice[]
      readonly why: string
    }

/** How asking ended, with what the choices of a person have made of the plan. */
export type Settled = Exclude<Answer, { type: 'chosen' }> | Chosen

/**
 * The plan with these choices, as another plan: of the same call, from the same evidence, and with no change that is not
 * one of that plan's files, so that whatever has moved since that one was made is found.
 */
export function chosenOf(plan: Plan, { by, choices }: Extract<Answer, { type: 'chosen' }>): Chosen {
  const unusable = (why: string): Chosen => ({ type: 'unusable', by, choices, why })
  const misfit = fitOf(plan, choices)
  if (misfit !== undefined) return unusable(misfit)
  if (areAllRefused(choices)) return { type: 'refused', by, choices }
  const chosen = plan.hunks?.choose(choices)
  if (chosen === undefined || chosen.type === 'failed')
    return unusable(chosen?.error.message ?? 'It has no parts.')
  if (!chosen.changes.every(change => isOfOneOf(plan.changes, change)))
    throw new Error(`the choices of ${plan.tool} change a file that nobody was asked about`)
  const { call, tool, level, toolHash, args, kernel, epoch, root, who, caller, origin } = plan
  const same = { call, tool, level, toolHash, args, kernel, epoch, root, who, caller, origin }
  const { hunks: _, ...proposal } = { ...chosen, evidence: plan.evidence }
  return { type: 'chosen', by, choices, becomes: freeze({ ...same, proposal, choices }) }
}

/** The same file, as it was seen then, with whatever content. */
function isOfOneOf(changes: readonly FileChange[], { path, before, identity }: FileChange): boolean {
  return changes.some(
    one =>
      one.path === path &&
      one.identity?.folder === identity?.folder &&
      one.identity?.file === identity?.file &&
      (one.before === null || before === null
        ? one.before === before
        : Buffer.compare(one.before, before) === 0),
  )
}

/** Characters of a reason that a line of the journal keeps: it may hold very many of them. */
const REASON_CHARS = 400

/** What the journal keeps of them: of a text, what it can be told by. */
export function journalChoices(choices: readonly Choice[]): JournalChoice[] {
  return choices.map(choice => {
    const { hunk, decision } = choice
    if (decision === 'accept') return { hunk, decision }
    const reason = choice.reason?.slice(0, REASON_CHARS) ?? null
    if (decision === 'refuse') return { hunk, decision, reason }
    const { text, inPart } = choice
    const kept = { hunk, decision, reason, sha256: sha256(text), bytes: Buffer.byteLength(text) }
    return inPart === undefined ? kept : { ...kept, in_part: inPart }
  })
}

/** What became of each hunk of that plan, by these choices. */
export function fatesIn({ hunks }: Plan, choices: readonly Choice[]): Fate[] {
  return fatesOf(hunks?.all ?? [], choices)
}

/**
 * How a call ended of which a person took only what they chose: `approval` says so in sentences. The tool itself says
 * what became of each hunk.
 */
export function withChoices(outcome: Outcome, fates: readonly Fate[]): Outcome {
  return withSaid(outcome, { approval: approvalOf(fates) })
}

/** The outcome with those fates for those that the tool itself tells of. */
export function withFates(outcome: Outcome, fates: readonly Fate[]): Outcome {
  if (outcome.type !== 'ok') return outcome
  const { result } = outcome
  const tells = typeof result === 'object' && result !== null && 'hunks' in result
  return tells ? { type: 'ok', result: { ...result, hunks: fates } } : outcome
}

function approvalOf(fates: readonly Fate[]): string {
  const numbers = (outcome: Fate['outcome']) =>
    fates.flatMap(fate => (fate.outcome === outcome ? [fate.number] : []))
  const said = [
    { of: numbers('applied'), as: 'as proposed' },
    { of: numbers('in part'), as: 'in part' },
    { of: numbers('edited'), as: 'with other text, which is theirs' },
  ].flatMap(({ of, as }) => (of.length === 0 ? [] : [`${listed(of)} ${as}`]))
  const refused = fates.filter(({ outcome }) => outcome === 'refused' || outcome === 'in part')
  const taken = `A person decided on each of ${counted(fates.length, 'hunk')}. They approved ${said.join(', and ')}.`
  return refused.length === 0
    ? taken
    : `${taken} They refused ${reasonsIn(refused)}. What they refused was left as it was: do not try it another way.`
}

/** Reasons that stand in one sentence, and characters of each. The rest is in the data beside it. */
const NAMED = 10
const SAID_CHARS = 200

/** `hunk 2 (not in this release), hunk 3 (without a reason)` */
export function reasonsIn(refused: readonly Fate[]): string {
  const said = refused.slice(0, NAMED).map(({ number, outcome, reason }) => {
    const why = reason === null ? 'without a reason' : oneLine(reason)
    return `${outcome === 'in part' ? 'the rest of ' : ''}hunk ${number} (${why.length > SAID_CHARS ? `${why.slice(0, SAID_CHARS)}…` : why})`
  })
  const more = refused.length - said.length
  return more > 0 ? `${said.join(', ')}, and ${more} more` : said.join(', ')
}
