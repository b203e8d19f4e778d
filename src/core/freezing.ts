import { randomInt } from 'node:crypto'
import { z } from 'zod'
import type { Tool } from '../../tools/define.ts'
import type { Choice, Evidence, FileChange, Hunks, Proposal } from '../../tools/proposal.ts'
import type { JournalPlan } from './journal.ts'
import type { Plan } from './plan.ts'
import { sha256 } from './sha256.ts'

/** What a plan is made of: what is known of the call, and what its tool proposes. */
export interface Freezing
  extends Omit<Plan, 'id' | 'preview' | 'evidence' | 'changes' | 'result' | 'hunks' | 'choices' | 'hash'> {
  readonly proposal: Proposal
  /** What a person chose of the plan that this was made of. */
  readonly choices?: readonly Choice[]
}

/**
 * The proposal, as a plan that nothing can change any more: arguments are copied, and so is the list of all it was
 * computed from. The bytes of file changes cannot be frozen; `isIntact` says whether they are still what was hashed.
 */
export function freeze({ proposal, args, choices = [], ...asked }: Freezing): Plan {
  const parts = {
    ...asked,
    args: copied(args),
    preview: Object.freeze({ title: proposal.preview.title, body: proposal.preview.body }),
    evidence: Object.freeze(proposal.evidence.map(pinned)),
    changes: Object.freeze(proposal.changes.map(change => Object.freeze(change))),
    result: pinnedResult(proposal),
    hunks: pinnedHunks(proposal),
    choices: copied(choices),
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
export function toolHash(tool: Tool, version = ''): string {
  const { name, description, level, profile, needs, categories, paths, parameterAliases, typed, code } = tool
  const schema = schemaOf(tool.parameters)
  const data = {
    name,
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
  const { hunks, choices } = parts
  const said = { ...asked, preview, evidence, changes, hunks: hunks?.all ?? null, choices }
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
