import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Approvals } from '../../src/approvals/contract.ts'
import { openApprovals } from '../../src/approvals/queue.ts'
import { acceptPolicy } from '../../src/calls/policy-acceptance.ts'
import { type Journal, JournalError, openJournal } from '../../src/journal/journal.ts'
import { type OpenPolicy, openPolicy } from '../../src/policy/policy.ts'
import { decide } from '../../src/policy/rules.ts'
import type { Outcome } from '../../tools/outcome.ts'
import type { CallId } from '../../wire/contract/values.ts'
import { LightSignal } from '../../wire/signal.ts'
import { HandClock } from './calls-rig.ts'
import { assert } from './harness.ts'
import { invariantsOf, typesOf } from './history.ts'

type Entry = Parameters<Journal['write']>[0]

/** A policy with a seat for its changes, and a journal of which any entry can be made to fail. */
export interface Rig {
  readonly policy: OpenPolicy
  readonly approvals: Approvals
  readonly clock: HandClock
  readonly entries: Entry[]
  readonly root: string
  readonly userFile: string
  readonly projectFile: string
  readonly signal: LightSignal
  /** What the journal does for an entry. */
  journal: { fails?: Entry['type']; on?: (entry: Entry) => void; trouble?: string }
  /** How far the clock on the wall is ahead of the other one. */
  sleptMs: number
  accept(caller?: string): Promise<Outcome>
  allowed(): boolean
}

let open: { folder: string; journal: Journal; made: Rig }[] = []

/**
 * Clears away what the test made. Whatever it was about: each call that was put before a person has exactly one end,
 * and nothing comes after it.
 */
export async function endRigs(): Promise<void> {
  const ended = open
  open = []
  for (const { folder, journal } of ended) {
    await journal.close()
    rmSync(folder, { recursive: true, force: true })
  }
  // A decision that could not be written is the one thing that may be missing.
  for (const { made } of ended)
    if (made.journal.fails !== 'decided') assert.equal(invariantsOf(linesOf(made), []), [])
}

/** Begins with these rules accepted in the user's file. */
export function rig(accepted = ''): Rig {
  const folder = mkdtempSync(join(tmpdir(), 'imago-accepting-'))
  for (const name of ['config', 'state', 'project']) mkdirSync(join(folder, name))
  const root = join(folder, 'project')
  const userFile = join(folder, 'config/policy.toml')
  writeFileSync(userFile, accepted)
  const policy = openPolicy(join(folder, 'config'), { stateDir: join(folder, 'state') })
  policy.rulesFor(root)
  const real = openJournal({ stateDir: join(folder, 'state') })
  const clock = new HandClock()
  const log = () => {}
  const approvals = openApprovals({
    clock,
    wallClock: () => clock.now() + made.sleptMs,
    expiryMs: 30 * 60_000,
    journal: real,
    log,
  })
  const entries: Entry[] = []
  const hear = (entry: Entry) => {
    made.journal.on?.(entry)
    if (made.journal.fails === entry.type) throw new JournalError('The journal is full.')
    entries.push(entry)
  }
  const journal: Journal = {
    ...real,
    write: hear,
    later: hear,
    sync: async entry => hear(entry),
    get trouble() {
      return made.journal.trouble
    },
  }
  const signal = new LightSignal()
  const made: Rig = {
    policy,
    approvals,
    clock,
    entries,
    root,
    userFile,
    projectFile: join(root, 'imago.toml'),
    signal,
    journal: {},
    sleptMs: 0,
    accept: (caller = 'client-1') =>
      acceptPolicy(
        {
          call: `call-${++calls}` as CallId,
          root,
          who: 'imago policy',
          caller,
          origin: `cli ${root}`,
          signal,
        },
        { policy, approvals, journal, clock },
      ),
    allowed() {
      const { rules } = policy.rulesFor(root)
      const asked = { tool: 'write_file', level: 'dangerous', kernel: null } as const
      return decide({ ...asked, rules, paths: [join(root, 'docs/a.md')] }).decision === 'allow'
    },
  }
  open.push({ folder, journal: real, made })
  return made
}

let calls = 0

const linesOf = ({ entries }: Rig) => entries.map(entry => ({ ...entry }))

export const codeOf = (outcome: Outcome) => (outcome.type === 'failed' ? outcome.error.code : outcome.type)

export const types = (rigged: Rig) => typesOf(linesOf(rigged))
