import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import type { ShownPlan } from '../../src/approvals/contract.ts'
import { type Approvals, openApprovals } from '../../src/approvals/queue.ts'
import type { Caller, CallRequest, Calls } from '../../src/calls/contract.ts'
import type { Clock } from '../../src/clock.ts'
import type { Files } from '../../src/files/files.ts'
import type { JournalFiles } from '../../src/journal/files.ts'
import { type Journal, openJournal } from '../../src/journal/journal.ts'
import { openPolicy } from '../../src/policy/policy.ts'
import { openRegistry } from '../../src/registry/registry.ts'
import type { Level } from '../../tools/contract.ts'
import { defineTool, type Tool } from '../../tools/define.ts'
import { TOOLS } from '../../tools/index.ts'
import { type Envelope, type Outcome, ok, type ToolError } from '../../tools/outcome.ts'
import { openTestCalls, type TestCalls } from './calls.ts'
import { FakeKernel, type Script } from './fake-kernel.ts'
import type { Suite } from './harness.ts'
import { openFollowed, type Reply, type ScriptedSeat, takeSeat } from './seat.ts'

/** The call path over a fake kernel, with everything else real, in a folder of its own. */
export interface CallsRig {
  readonly calls: Calls
  readonly kernel: FakeKernel
  readonly folder: string
  readonly root: string
  readonly clock: HandClock
  /** Nobody has a seat until a test takes one. */
  readonly approvals: Approvals
  /** How far the wall clock is ahead of the other, in milliseconds. */
  readonly wall: { ahead: number }
  /** The names that were asked of `resolve`. */
  readonly resolved: (string | undefined)[]
  /** What was logged. */
  readonly faults: { readonly message: string; readonly error: unknown }[]
  run(
    tool: string,
    args?: unknown,
    more?: Partial<CallRequest> | { caller?: Partial<Caller> },
  ): Promise<Envelope>
  seat(script?: (plan: ShownPlan) => Reply | Promise<Reply>, who?: string): ScriptedSeat
  /** The lines of the journal, once all of them are written. */
  journal(): Promise<Record<string, unknown>[]>
  close(): Promise<void>
}

export interface RigOptions {
  readonly script?: Script
  readonly tools?: readonly Tool[]
  /** The user's `policy.toml`. */
  readonly policy?: string
  /** The project's. */
  readonly projectPolicy?: string
  readonly files?: JournalFiles
  /** The files of the project, made for its root. Left out: none can be looked at. */
  readonly projectFiles?: (root: string) => Files
  /** Whether there is room to keep so many bytes for undoing. Left out: there always is. */
  readonly roomToUndo?: (bytes: number) => boolean
  /** What the journal does otherwise than the real one. */
  readonly journalAs?: (journal: Journal) => Partial<Journal>
  readonly options?: TestCalls
}

/** Rigs for the tests of one suite, closed after each. */
export function rigsOf(test: Suite): (options?: RigOptions) => CallsRig {
  const open: CallsRig[] = []
  test.after.each(async () => {
    for (const rig of open.splice(0)) await rig.close()
  })
  return options => {
    const rig = openCallsRig(options)
    open.push(rig)
    return rig
  }
}

/** A journal that passes on whatever is not done otherwise. */
function over(journal: Journal, otherwise: Partial<Journal>): Journal {
  const same: Journal = {
    write: entry => journal.write(entry),
    later: entry => journal.later(entry),
    sync: entry => journal.sync(entry),
    get trouble() {
      return journal.trouble
    },
    acknowledge: by => journal.acknowledge(by),
    earlier: call => journal.earlier(call),
    close: () => journal.close(),
  }
  return Object.defineProperties(same, Object.getOwnPropertyDescriptors(otherwise))
}

/** A tool on a kernel, with one text argument; `ran` has the level of each run of its handler. */
export function toolAt(level: Level, more: { raise?: Level; outcome?: () => Outcome } = {}) {
  const ran: Level[] = []
  const { raise, outcome } = more
  const tool = defineTool({
    name: `do_${level}`,
    description: 'Does something for a test.',
    parameters: { text: z.string().max(100).default('').describe('Some text.') },
    level,
    profile: 'full',
    categories: ['tests'],
    needs: ['evaluate'],
    examples: [],
    ...(raise !== undefined && { raise: () => raise }),
    result: z.unknown(),
    handler: (_, { level: at }) => {
      ran.push(at)
      return outcome?.() ?? ok('done')
    },
  })
  return { tool, ran }
}

export function openCallsRig({ script, tools = TOOLS, ...more }: RigOptions = {}): CallsRig {
  const folder = mkdtempSync(join(tmpdir(), 'imago-core-'))
  const root = join(folder, 'project')
  mkdirSync(root)
  if (more.policy !== undefined) writeFileSync(join(folder, 'policy.toml'), more.policy)
  if (more.projectPolicy !== undefined) writeFileSync(join(root, 'imago.toml'), more.projectPolicy)
  const kernel = new FakeKernel(script)
  const clock = new HandClock()
  const written: Journal = openJournal({
    stateDir: folder,
    ...(more.files !== undefined && { files: more.files }),
  })
  const journal = over(written, more.journalAs?.(written) ?? {})
  const resolved: (string | undefined)[] = []
  const faults: CallsRig['faults'] = []
  const log = (message: string, error: unknown) => faults.push({ message, error })
  const wall = { ahead: 0 }
  const wallClock = () => clock.now() + wall.ahead
  const { roomToUndo } = more
  const room = roomToUndo === undefined ? {} : { roomToUndo }
  const approvals = openFollowed(openApprovals, { clock, wallClock, expiryMs: 30 * 60_000, journal, ...room })
  const calls = openTestCalls({
    registry: openRegistry(tools),
    kernels: {
      async resolve({ name }) {
        resolved.push(name)
        return { name: name ?? 'main', kernel }
      },
    },
    policy: openPolicy(folder),
    journal,
    approvals,
    ...(more.projectFiles !== undefined && { files: more.projectFiles(root) }),
    stateDir: folder,
    log,
    clock,
    ...more.options,
  })
  const caller: Caller = {
    id: 'tester',
    kind: 'cli',
    root,
    env: {},
    readOnlyPromised: false,
    who: 'test',
    profile: 'full',
  }

  return {
    calls,
    kernel,
    folder,
    root,
    clock,
    approvals,
    wall,
    resolved,
    faults,
    seat: (script, who) => takeSeat(approvals, script, who),
    run: (tool, args = {}, given = {}) =>
      calls.run({ tool, args, ...given, caller: { ...caller, ...given.caller } } as CallRequest),
    async journal() {
      await written.close()
      return journalLines(folder)
    },
    async close() {
      calls.close()
      await written.close().catch(() => undefined)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** What a journal says, in order; the lines that are about the journal itself are left out. */
export function journalLines(folder: string): Record<string, unknown>[] {
  const segments = join(folder, 'journal')
  const files = existsSync(segments)
    ? readdirSync(segments)
        .filter(name => name.endsWith('.jsonl'))
        .sort()
        .map(name => join(segments, name))
    : [join(folder, 'journal.jsonl')]
  return files
    .flatMap(file => readFileSync(file, 'utf8').split('\n'))
    .flatMap(line => {
      try {
        return [JSON.parse(line) as Record<string, unknown>]
      } catch {
        return []
      }
    })
    .filter(({ type }) => type !== 'segment' && type !== 'recovered')
}

/** A clock that goes only when it is told to. */
export class HandClock implements Clock {
  #now = 0
  readonly #due = new Map<symbol, { at: number; run(): void }>()

  now(): number {
    return this.#now
  }

  after(ms: number, run: () => void): () => void {
    const key = Symbol()
    this.#due.set(key, { at: this.#now + ms, run })
    return () => void this.#due.delete(key)
  }

  /** Lets so many milliseconds pass, with what falls due in them, in order; and what that sets off. */
  async pass(ms: number): Promise<void> {
    const end = this.#now + ms
    for (;;) {
      await settled()
      const [next] = [...this.#due].filter(([, { at }]) => at <= end).sort(([, a], [, b]) => a.at - b.at)
      if (next === undefined) break
      const [key, { at, run }] = next
      this.#due.delete(key)
      this.#now = at
      run()
    }
    this.#now = end
    await settled()
  }

  /** Timers that are set. */
  get waiting(): number {
    return this.#due.size
  }
}

/** After everything that only waited for promises. */
export const settled = () => new Promise<void>(resolve => setImmediate(resolve))

/** When it holds; a test that waits for ever is ended by its own limit. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await settled()
}

/** The error of an envelope that holds one. */
export function errorOf(envelope: Envelope): ToolError {
  if (envelope.ok) throw new Error(`expected an error, got ${JSON.stringify(envelope)}`)
  return envelope.error
}

/** The result of an envelope that holds one. */
export function resultOf(envelope: Envelope): Record<string, unknown> {
  if (!envelope.ok) throw new Error(`expected a result, got ${JSON.stringify(envelope)}`)
  return envelope.result as Record<string, unknown>
}
