import { randomBytes } from 'node:crypto'
import {
  closeSync,
  constants,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { messageOf } from '../../../wire/errors.ts'
import { bytesOf } from '../policy.ts'
import { sha256 } from '../sha256.ts'
import { NUMBERED_RULE, type PolicyPlace } from './written.ts'

const ACCEPTANCE = z.strictObject({
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
    known.set(nameOf(place), { type: 'accepted', accepted })
  const save = (place: PolicyPlace, accepted: Accepted) => {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    write(folder, nameOf(place), { v: 1, file: place.file, ...accepted })
  }
  return {
    find: place => known.get(nameOf(place)) ?? whole ?? { type: 'none' },
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
function nameOf(place: PolicyPlace): string {
  if (place.type === 'user') return 'user.json'
  return `project-${sha256(place.root).slice(0, 32)}.json`
}

/** `whole`: what is to be said of every record, where not even their names can be read. */
function readAll(folder: string): { known: Map<string, Found>; whole?: Found } {
  try {
    const names = readdirSync(folder).filter(name => name.endsWith('.json'))
    return { known: new Map(names.map(name => [name, read(join(folder, name))])) }
  } catch (error) {
    const absent = error instanceof Error && 'code' in error && error.code === 'ENOENT'
    return absent ? { known: new Map() } : { known: new Map(), whole: broken(folder, error) }
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

/** The old record or the new one, whatever happens meanwhile; a link in its place is replaced, not followed. */
function write(folder: string, name: string, record: z.input<typeof RECORD>): void {
  const fresh = join(folder, `${name}.${randomBytes(6).toString('hex')}.new`)
  const fd = openSync(fresh, 'wx', 0o600)
  try {
    try {
      writeFileSync(fd, `${JSON.stringify(record, undefined, 2)}\n`)
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
    renameSync(fresh, join(folder, name))
  } catch (error) {
    rmSync(fresh, { force: true })
    throw error
  }
}
