import { randomInt } from 'node:crypto'
import { z } from 'zod'
import type {
  Choice,
  Evidence,
  FileChange,
  Hunk,
  Hunks,
  Level,
  Preview,
  Proposal,
} from '../../tools/contract.ts'
import type { Tool } from '../../tools/define.ts'
import { type Fate, fatesOf } from '../../tools/hunks.ts'
import type { Outcome } from '../../tools/outcome.ts'
import { counted, oneLine } from '../../tools/text.ts'
import type { CallId } from '../../wire/kernel.ts'
import type { JournalChoice, JournalPlan } from '../journal/entries.ts'
import { sha256 } from '../sha256.ts'

export type Arguments = Readonly<Record<string, unknown>>

/** A call frozen for approval. Nothing in it can change; a difference is another plan. */
export interface Plan {
  /** Unique, and never used again: `plan-` and eight letters. */
  readonly id: string
  readonly call: CallId
  readonly tool: string
  readonly level: Level
  /** Of the tool's definition, the text of its functions and the version of the package: see `toolHash`. */
  readonly toolHash: string
  readonly args: unknown
  readonly kernel: string | null
  /** Of the image, which is all of it that a plan binds by itself: a definition is bound where it is evidence. */
  readonly epoch: string | null
  readonly root: string
  /** Who asks, for people, and by the name of the connection. */
  readonly who: string
  readonly caller: string
  /** Who asks as far as can be known, however often it connects anew. */
  readonly origin: string
  readonly preview: Preview
  readonly evidence: readonly Evidence[]
  readonly changes: readonly FileChange[]
  /** See `Proposal`; null where no files are changed. */
  readonly result: Proposal['result'] | null
  /** Null where it is approved as a whole or not at all. */
  readonly hunks: Hunks | null
  /** What a person chose, where this was made of another plan by that; `choices` is empty elsewhere. */
  readonly choices: readonly Choice[]
  /** See `Proposal`; null for all but an undo. */
  readonly undoes: string | null
  /**
   * SHA-256 over all of the above except the id and the call: what a person approves, and what is approved only once.
   * 64 hexadecimal digits.
   */
  readonly hash: string
}

/** What a plan was computed from and is not that any more. What cannot be looked at has moved. */
export async function causesOf({ evidence }: Pick<Plan, 'evidence'>): Promise<string[]> {
  const looked = await Promise.all(
    evidence.map(async ({ what, moved }) => {
      try {
        return await moved()
      } catch {
        return `${what} cannot be looked at any more`
      }
    }),
  )
  return looked.filter(cause => cause !== undefined)
}

/** How asking ended. All but the first three mean that nothing ran. */
export type Answer =
  /** `granted`: by what a person let through before, and nobody was asked. */
  | { readonly type: 'approved'; readonly by: string; readonly granted?: true }
  /** Approved, but with these arguments: another plan is made of them, and put to the same seat. */
  | { readonly type: 'edited'; readonly by: string; readonly args: Readonly<Record<string, unknown>> }
  /** Approved in part: the choices make another plan of it, which is carried out as they say without asking again. */
  | { readonly type: 'chosen'; readonly by: string; readonly choices: readonly Choice[] }
  | { readonly type: 'denied'; readonly by: string; readonly reason: string | null }
  /** The only dialog in which it was put was closed without a choice, by a person or by the program around it. */
  | { readonly type: 'dismissed'; readonly by: string; readonly reason: string | null }
  /** What the plan was computed from moved while it waited; the clauses say what. */
  | { readonly type: 'stale'; readonly causes: readonly string[] }
  | { readonly type: 'timed_out'; readonly afterMs: number }
  /** The caller gave up; or, with a `reason`, what else took the question back. */
  | { readonly type: 'cancelled'; readonly reason?: string }
  /** Nobody has a seat; with `by`, no answer that counts came from the client that could be asked. */
  | { readonly type: 'unavailable'; readonly by?: string; readonly reason?: string }

/** What a plan is made of: what is known of the call, and what its tool proposes. */
interface PlanParts
  extends Omit<
    Plan,
    'id' | 'preview' | 'evidence' | 'changes' | 'result' | 'hunks' | 'choices' | 'undoes' | 'hash'
  > {
  readonly proposal: Proposal
  /** What a person chose of the plan that this was made of. */
  readonly choices?: readonly Choice[]
}

/**
 * The proposal, as a plan that nothing can change any more: arguments are copied, and so is the list of all it was
 * computed from. The bytes of file changes cannot be frozen; `isIntact` says whether they are still what was hashed.
 */
export function freeze({ proposal, args, choices = [], ...asked }: PlanParts): Plan {
  const parts = {
    ...asked,
    args: copied(args),
    preview: Object.freeze({ title: proposal.preview.title, body: proposal.preview.body }),
    evidence: Object.freeze(proposal.evidence.map(pinned)),
    changes: Object.freeze(proposal.changes.map(change => Object.freeze(change))),
    result: pinnedResult(proposal),
    hunks: pinnedHunks(proposal),
    choices: copied(choices),
    undoes: proposal.undoes ?? null,
  }
  return Object.freeze({ id: newId(), ...parts, hash: hashOf(parts) })
}

/** Whether a plan is to the last byte what it was when it was frozen. */
export function isIntact(plan: Plan): boolean {
  return hashOf(plan) === plan.hash
}

/**
 * The tool as far as it decides what happens: every part of its definition that is data, and the text of the functions
 * that decide and act. What those call in turn is not looked at, but it comes with the package: `version`, that of the
 * build, makes the same tool of another build another tool.
 */
export function toolHash(tool: Tool, version: string): string {
  const { name, presets, description, level, profile, needs, categories, paths } = tool
  const { parameterAliases, typed, code } = tool
  const schema = schemaOf(tool.parameters)
  const data = {
    name,
    presets,
    description,
    schema,
    level,
    profile,
    needs,
    categories,
    paths,
    parameterAliases,
    typed,
  }
  return sha256(canonical({ ...data, code, version }))
}

const schemas = new WeakMap<z.ZodObject, unknown>()

/** Made once: it is most of what a hash costs, and parameters, unlike the rest of a tool, never change. */
function schemaOf(parameters: z.ZodObject): unknown {
  const schema = schemas.get(parameters) ?? z.toJSONSchema(parameters, { io: 'input' })
  schemas.set(parameters, schema)
  return schema
}

/** What the journal keeps of a plan. */
export function journalPlan({ id, hash, preview, changes }: Plan): JournalPlan {
  return {
    id,
    hash,
    title: preview.title,
    preview_sha256: sha256(preview.body),
    preview_bytes: Buffer.byteLength(preview.body),
    paths: changes.map(({ path }) => path),
  }
}

/** A copy of plain data that nobody can change, whoever holds the original. */
export function copied<Value>(value: Value): Value {
  return deeplyFrozen(structuredClone(value))
}

function deeplyFrozen<Value>(value: Value): Value {
  // The bytes in a buffer cannot be frozen, and trying throws.
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value
  for (const part of Object.values(value)) deeplyFrozen(part)
  return Object.freeze(value)
}

/** What was seen cannot be given another meaning afterwards. */
function pinned(evidence: Evidence): Evidence {
  const { what, hash } = evidence
  return Object.freeze({ what, hash, moved: evidence.moved.bind(evidence) })
}

function pinnedHunks({ hunks }: Proposal): Hunks | null {
  return hunks === undefined
    ? null
    : Object.freeze({ all: copied(hunks.all), choose: hunks.choose.bind(hunks) })
}

function pinnedResult({ changes, result }: Proposal): NonNullable<Plan['result']> | null {
  if (changes.length === 0) return null
  if (result === undefined) throw new Error('a proposal changes files, and has no result')
  return result
}

function hashOf(parts: Omit<Plan, 'id' | 'result' | 'hash'>): string {
  const { tool, level, toolHash, args, kernel, epoch, root, who, caller, origin, preview } = parts
  const evidence = parts.evidence.map(({ what, hash }) => ({ what, hash }))
  const changes = parts.changes.map(bytesHashed)
  const asked = { tool, level, toolHash, args, kernel, epoch, root, who, caller, origin }
  const { hunks, choices, undoes } = parts
  const said = { ...asked, preview, evidence, changes, hunks: hunks?.all ?? null, choices, undoes }
  return sha256(canonical(said))
}

function bytesHashed({ path, before, after, identity }: FileChange) {
  const hashed = (bytes: Uint8Array | null) => (bytes === null ? null : sha256(bytes))
  return { path, before: hashed(before), after: hashed(after), identity }
}

/** JSON with the keys of every object in order, so that the same data has the same text. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => {
    if (typeof part === 'bigint') return `${part}n`
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part
    if (ArrayBuffer.isView(part))
      return Buffer.from(part.buffer, part.byteOffset, part.byteLength).toString('hex')
    return Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)))
  })
}

const ID_LETTERS = 8

/** Guessing one is of no use; two being the same is as good as impossible. */
function newId(): string {
  const letters = Array.from({ length: ID_LETTERS }, () => String.fromCharCode(97 + randomInt(26)))
  return `plan-${letters.join('')}`
}

/**
 * Why these choices cannot be used for that plan, as a sentence for whoever made them; undefined where they can. There
 * has to be one for every hunk and none for another, and each edited text has to be one that can be written. All of
 * them refused fits: that is a denial.
 */
export function fitOf(plan: Pick<Plan, 'hunks'>, choices: readonly Choice[]): string | undefined {
  if (plan.hunks === null) return 'It cannot be approved in part: it has no hunks.'
  const wrong = miscounted(plan.hunks.all, choices)
  if (wrong !== undefined || areAllRefused(choices)) return wrong
  const chosen = plan.hunks.choose(choices)
  return chosen.type === 'failed' ? chosen.error.message : undefined
}

/** Nothing of it is to be done. */
export function areAllRefused(choices: readonly Choice[]): boolean {
  return choices.every(({ decision }) => decision === 'refuse')
}

/** All of it is to be done as it was asked for. */
export function areAllAccepted(choices: readonly Choice[]): boolean {
  return choices.every(({ decision }) => decision === 'accept')
}

function miscounted(hunks: readonly Hunk[], choices: readonly Choice[]): string | undefined {
  const known = new Set(hunks.map(({ number }) => number))
  const decided = new Set<number>()
  for (const { hunk } of choices) {
    if (!known.has(hunk)) return `It has no hunk ${hunk}; it has ${listed([...known])}.`
    if (decided.has(hunk)) return `Hunk ${hunk} is decided twice.`
    decided.add(hunk)
  }
  const open = [...known].filter(number => !decided.has(number))
  return open.length === 0
    ? undefined
    : `Not every hunk is decided: ${listed(open)} ${open.length === 1 ? 'is' : 'are'} not.`
}

/** Numbers that are named in one sentence. */
const NAMED = 20

/** `hunk 2`, `hunks 2, 3 and 5` */
function listed(numbers: readonly number[]): string {
  const [first] = numbers
  if (numbers.length < 2) return `hunk ${first ?? 0}`
  if (numbers.length > NAMED) return `hunks ${numbers.slice(0, NAMED).join(', ')}, …`
  return `hunks ${numbers.slice(0, -1).join(', ')} and ${numbers.at(-1)}`
}

/** What has come of the choices of a person. */
export type ChoiceResult =
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
export type AskResult = Exclude<Answer, { type: 'chosen' }> | ChoiceResult

/**
 * The plan with these choices, as another plan: of the same call, from the same evidence, and with no change that is not
 * one of that plan's files, so that whatever has moved since that one was made is found.
 */
export function chosenOf(plan: Plan, { by, choices }: Extract<Answer, { type: 'chosen' }>): ChoiceResult {
  const unusable = (why: string): ChoiceResult => ({ type: 'unusable', by, choices, why })
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
const NAMED_REASONS = 10

const SAID_CHARS = 200

/** `hunk 2 (not in this release), hunk 3 (without a reason)` */
export function reasonsIn(refused: readonly Fate[]): string {
  const said = refused.slice(0, NAMED_REASONS).map(({ number, outcome, reason }) => {
    const why = reason === null ? 'without a reason' : oneLine(reason)
    return `${outcome === 'in part' ? 'the rest of ' : ''}hunk ${number} (${why.length > SAID_CHARS ? `${why.slice(0, SAID_CHARS)}…` : why})`
  })
  const more = refused.length - said.length
  return more > 0 ? `${said.join(', ')}, and ${more} more` : said.join(', ')
}

/** What a call was asked for with, and what a person approved in its place. */
interface Edit {
  readonly asked: Arguments
  readonly approved: Arguments
}

/**
 * How a call ended that was done with the arguments of a person. Whoever called has to know that it did something else
 * than was asked for: `approval` says so, and `edited` has each argument that differs, as it was approved; null where
 * it was taken away. A result that is no object becomes `result` beside them.
 */
export function withEdits(outcome: Outcome, edit: Edit): Outcome {
  const edited = differing(edit)
  const names = Object.keys(edited)
  const changed = names.length === 0 ? 'no argument' : names.join(', ')
  const approval = `A person approved this with other arguments than were asked for: ${changed}. It was done with theirs.`
  return withSaid(outcome, { edited, approval })
}

/** What is said of an outcome besides: in sentences, and as data. */
interface Remark {
  readonly approval: string
  readonly edited?: Arguments
}

/** The outcome with that beside its result, or among the details of its error; after what was said of it before. */
function withSaid(outcome: Outcome, said: Remark): Outcome {
  switch (outcome.type) {
    case 'ok': {
      const { result } = outcome
      const open = typeof result === 'object' && result !== null && !Array.isArray(result)
      return { type: 'ok', result: both(open ? { ...result } : { result }, said) }
    }
    case 'failed': {
      const { error } = outcome
      return { type: 'failed', error: { ...error, details: both(error.details, said) } }
    }
    case 'rises':
      return outcome
    default:
      return outcome satisfies never
  }
}

function both(facts: Readonly<Record<string, unknown>>, said: Remark): Readonly<Record<string, unknown>> {
  const before = typeof facts.approval === 'string' ? `${facts.approval} ` : ''
  return { ...facts, ...said, approval: before + said.approval }
}

function differing({ asked, approved }: Edit): Arguments {
  const names = [...new Set([...Object.keys(asked), ...Object.keys(approved)])]
  const changed = names.filter(name => canonical([asked[name]]) !== canonical([approved[name]]))
  return Object.fromEntries(changed.map(name => [name, approved[name] ?? null]))
}
