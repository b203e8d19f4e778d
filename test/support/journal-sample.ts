import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { JournalEntry } from '../../src/journal/entries.ts'
import { openJournal } from '../../src/journal/journal.ts'
import type { CallId } from '../../wire/contract/values.ts'
import type { Ran, Rig } from './rig.ts'

export const id = (name: string) => name as CallId

export const on = {
  level: 'cautious',
  kernel: 'app',
  epoch: 'e-1',
  caller: 'client-1',
  decision: 'allow',
} as const

export const dangerous = { level: 'dangerous', kernel: null, epoch: null, caller: 'client-2' } as const

export const planned = (name: string, title: string) => ({
  id: name,
  hash: 'h',
  title,
  preview_sha256: 's',
  preview_bytes: 1,
  paths: ['/p/app.py'],
})

/** Some of everything that a journal can say of calls, seats and kernels. */
export const ENTRIES: readonly JournalEntry[] = [
  { type: 'dispatched', call: id('a'), tool: 'eval_expr', args: { expr: 'x = 1\nx' }, ...on },
  {
    type: 'looked',
    call: id('b'),
    tool: 'inspect',
    args: { expr: 'x' },
    outcome: 'ok',
    elapsed_ms: 3,
    ...on,
    level: 'safe',
  },
  { type: 'ended', call: id('a'), outcome: 'exception', elapsed_ms: 2_500 },
  {
    type: 'requested',
    call: id('c'),
    tool: 'edit_file',
    args: { path: 'app.py' },
    ...dangerous,
    plan: planned('plan-one', 'edit app.py: 1 hunk'),
  },
  { type: 'decided', call: id('c'), plan: 'plan-one', answer: 'approved', by: 'seat-1', reason: null },
  {
    type: 'dispatched',
    call: id('c'),
    tool: 'edit_file',
    args: { path: 'app.py' },
    ...dangerous,
    plan: 'plan-one',
    decision: 'ask',
  },
  { type: 'ended', call: id('c'), outcome: 'ok', elapsed_ms: 30, undo: 'undo-one' },
  {
    type: 'requested',
    call: id('d'),
    tool: 'write_file',
    args: { path: 'b.py' },
    ...dangerous,
    plan: planned('plan-two', 'write b.py'),
  },
  { type: 'decided', call: id('d'), plan: 'plan-two', answer: 'denied', by: 'seat-1', reason: 'not today' },
  {
    type: 'refused',
    call: id('d'),
    tool: 'write_file',
    args: { path: 'b.py' },
    ...dangerous,
    decision: 'ask',
    outcome: 'denied',
  },
  { type: 'dispatched', call: id('e'), tool: 'eval_expr', args: { expr: 'train()' }, ...on, kernel: 'batch' },
  { type: 'ended', call: id('e'), outcome: 'outcome_unknown', elapsed_ms: null },
  { type: 'dispatched', call: id('f'), tool: 'eval_expr', args: { expr: 'serve()' }, ...on },
  {
    type: 'requested',
    call: id('g'),
    tool: 'write_file',
    args: {},
    ...dangerous,
    plan: planned('plan-three', 'write c.py'),
  },
  { type: 'seat', what: 'refused', seat: null, who: 'process 7', why: 'it has no terminal' },
  { type: 'kernel', kernel: 'app', epoch: 'e-1', what: 'started' },
]

/** A journal of its own, and `imago log` on it. */
export interface JournalOfTest {
  readonly stateDir: string
  readonly dir: string
  readonly env: Readonly<Record<string, string>>
  log(...args: string[]): Promise<Ran>
}

let made = 0

/** A journal with those entries in it, one a minute from 10:00 on. */
export async function journalWith(
  rig: Rig,
  entries: readonly JournalEntry[] = ENTRIES,
  options: { segmentBytes?: number } = {},
): Promise<JournalOfTest> {
  const stateDir = join(rig.folder, `state-${++made}`)
  let minute = 0
  const now = () => new Date(Date.UTC(2026, 0, 2, 10, minute++))
  const journal = openJournal({ stateDir, version: '0.1.0', now, ...options })
  for (const entry of entries) journal.write(entry)
  await journal.close()
  const dir = join(stateDir, 'journal')
  const env = { IMAGO_STATE_DIR: stateDir, TZ: 'UTC' }
  return { stateDir, dir, env, log: (...args: string[]) => rig.imago(['log', ...args], { env }) }
}

export const segmentsOf = (dir: string) =>
  readdirSync(dir)
    .filter(name => name.endsWith('.jsonl'))
    .sort()

export const linesOf = (dir: string) =>
  segmentsOf(dir).flatMap(name => readFileSync(join(dir, name), 'utf8').split('\n').slice(0, -1))

/** Without their times, of which the clock of the journal makes some for itself. */
export const shown = (stdout: string) =>
  stdout
    .split('\n')
    .slice(0, -1)
    .map(line => line.replace(/ 2026-01-02 10:\d\d:00 /, ' '))
