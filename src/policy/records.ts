import { constants, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { errnoOf, messageOf } from '../../wire/errors.ts'
import { writeWhole } from '../files/whole-file.ts'
import { sha256 } from '../sha256.ts'
import {
  bytesOf,
  keyOf,
  NUMBERED_RULE,
  type NumberedRule,
  type PolicyPlace,
  type PolicyText,
  subjectOf,
  type WrittenRule,
} from './file.ts'

export const ACCEPTANCE = z.strictObject({
  /** `first_sight`: there was no record, so that what stood in the file then was taken over. */
  how: z.enum(['first_sight', 'person']),
  /** The seat that accepted; null at first sight. */
  by: z.string().nullable(),
  /** When, in ISO 8601. */
  at: z.string(),
})

/** How the rules of a file came to be accepted. */
export type Acceptance = z.output<typeof ACCEPTANCE>

const RECORD = z.strictObject({
  v: z.literal(1),
  /** For people. */
  file: z.string(),
  acceptance: ACCEPTANCE,
  rules: z.array(NUMBERED_RULE),
})

/** What is accepted of one file: its rules, and those that were taken out and still hold. */
export interface Accepted {
  readonly acceptance: Acceptance
  readonly rules: z.output<typeof RECORD>['rules']
}

export type Found =
  | { readonly type: 'none' }
  | { readonly type: 'accepted'; readonly accepted: Accepted }
  /** Fails closed. `why` is a sentence that names the record. */
  | { readonly type: 'broken'; readonly why: string }

/** The accepted rules of all files, as memory has them: the disk is read once, before anything runs. */
export interface Records {
  find(place: PolicyPlace): Found
  /** Writes it down first. Throws where that cannot be done, and then nothing is changed. */
  accept(place: PolicyPlace, accepted: Accepted): void
  /** For what only tightens: it holds even where it cannot be written down, and then this throws. */
  tighten(place: PolicyPlace, accepted: Accepted): void
}

/** Many times what all files of a life can say. */
const RECORD_BYTES = 8 * 1024 * 1024

/**
 * `policy-accepted/` in the state directory: one record for the user's file, one per project. What somebody writes there
 * later is not seen by this process, and is written over when anything is accepted. Throws nothing: what cannot be read
 * is found broken.
 */
export function openRecords(stateDir: string): Records {
  const folder = join(stateDir, 'policy-accepted')
  const { known, whole } = readAll(folder)
  const remember = (place: PolicyPlace, accepted: Accepted) =>
    known.set(recordName(place), { type: 'accepted', accepted })
  const save = (place: PolicyPlace, accepted: Accepted) => {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const record: z.input<typeof RECORD> = { v: 1, file: place.file, ...accepted }
    writeWhole(join(folder, recordName(place)), `${JSON.stringify(record, undefined, 2)}\n`)
  }
  return {
    find: place => known.get(recordName(place)) ?? whole ?? { type: 'none' },
    accept(place, accepted) {
      save(place, accepted)
      remember(place, accepted)
    },
    tighten(place, accepted) {
      remember(place, accepted)
      save(place, accepted)
    },
  }
}

/** The name of the record says whose it is, so that a broken one is broken for its project alone. */
function recordName(place: PolicyPlace): string {
  if (place.type === 'user') return 'user.json'
  return `project-${sha256(place.root).slice(0, 32)}.json`
}

/** `whole`: what is to be said of every record, where not even their names can be read. */
function readAll(folder: string): { known: Map<string, Found>; whole?: Found } {
  try {
    const names = readdirSync(folder).filter(name => name.endsWith('.json'))
    return { known: new Map(names.map(name => [name, read(join(folder, name))])) }
  } catch (error) {
    return errnoOf(error) === 'ENOENT'
      ? { known: new Map() }
      : { known: new Map(), whole: broken(folder, error) }
  }
}

function read(path: string): Found {
  try {
    const bytes = bytesOf(path, { flags: constants.O_NOFOLLOW, most: RECORD_BYTES })
    if (bytes === undefined) throw new Error('it went away while it was read')
    const { acceptance, rules } = RECORD.parse(JSON.parse(bytes.toString('utf8')))
    return { type: 'accepted', accepted: { acceptance, rules } }
  } catch (error) {
    return broken(path, error)
  }
}

function broken(path: string, error: unknown): Found {
  const cause = error instanceof z.ZodError ? 'it is not of the form that Imago writes' : messageOf(error)
  const why = `The record of the rules that were accepted, ${path}, cannot be relied on: ${cause.replace(/\.$/, '')}.`
  return { type: 'broken', why }
}

/** A rule that holds. `removed`: it stands in the file no more, and holds until a person accepts that. */
export interface HeldRule extends NumberedRule {
  readonly removed?: true
}

/** Something in a file that would loosen, and has no effect until a person accepts it. */
export interface Loosening {
  /** `allows`: a rule that allows was written. `removed`: one that asks or denies was taken out. */
  readonly what: 'allows' | 'removed'
  readonly rule: WrittenRule
  readonly number: number
}

/** What holds of one file, between what it says and what was accepted of it. */
interface RulesInForce {
  readonly held: readonly HeldRule[]
  readonly waiting: readonly Loosening[]
  /** What is accepted from now on without asking, because it only tightens; undefined where nothing is new. */
  readonly tightened: Accepted['rules'] | undefined
}

/**
 * The rules in force: what allows, where it was accepted *and* stands in the file; what asks or denies, where it was
 * accepted *or* stands there. So tightening holds at once, and loosening waits. Of a file that is not in order nothing
 * is taken over, and nothing that was accepted is let go of.
 */
export function settle(text: PolicyText, found: Found): RulesInForce {
  const accepted = found.type === 'accepted' ? found.accepted.rules : []
  const before = new Set(accepted.map(({ rule }) => keyOf(rule)))
  const written = new Set(text.rules.map(({ rule }) => keyOf(rule)))
  const added = text.rules.filter(({ rule }) => rule.decision === 'allow' && !before.has(keyOf(rule)))
  const stands = text.rules.filter(one => !added.includes(one))
  const removed = accepted.filter(({ rule }) => tightens(rule) && !written.has(keyOf(rule)))
  const missed =
    text.problem === undefined ? removed.filter(one => !tightened(one.rule, text.rules)) : removed
  const next = [...stands, ...missed]
  return {
    held: [...stands, ...missed.map(one => ({ ...one, removed: true as const }))],
    waiting:
      text.problem === undefined
        ? [...added.map(one => ({ what: 'allows' as const, ...one })), ...missed.map(takenOut)]
        : [],
    tightened:
      text.problem !== undefined || found.type === 'broken' || same(next, accepted) ? undefined : next,
  }
}

const tightens = ({ decision }: WrittenRule) => decision !== 'allow'

const takenOut = (one: NumberedRule) => ({ what: 'removed' as const, ...one })

/** Whether another rule about the same stands there, and is stricter. */
function tightened(rule: WrittenRule, rules: readonly NumberedRule[]): boolean {
  if (rule.decision !== 'ask') return false
  const subject = subjectOf(rule)
  return rules.some(other => other.rule.decision === 'deny' && subjectOf(other.rule) === subject)
}

/** The same rules, wherever they stand. */
function same(some: readonly NumberedRule[], others: readonly NumberedRule[]): boolean {
  const keys = (rules: readonly NumberedRule[]) => [...new Set(rules.map(({ rule }) => keyOf(rule)))].sort()
  return JSON.stringify(keys(some)) === JSON.stringify(keys(others))
}
