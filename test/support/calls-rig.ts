import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import {
  type Caller,
  type CallRequest,
  type Calls,
  type CallsOptions,
  openCalls,
} from '../../src/core/call.ts'
import type { Clock } from '../../src/core/clock.ts'
import { type Journal, openJournal } from '../../src/core/journal.ts'
import type { LineFiles } from '../../src/core/line-file.ts'
import { openPolicy } from '../../src/core/policy.ts'
import { openRegistry } from '../../src/core/registry.ts'
import { defineTool, type Level, type Tool } from '../../tools/define.ts'
import { TOOLS } from '../../tools/index.ts'
import { type Envelope, type Outcome, ok, type ToolError } from '../../tools/outcome.ts'
import { FakeKernel, type Script } from './fake-kernel.ts'
import type { Suite } from './harness.ts'

/** The call path over a fake kernel, with everything else real, in a folder of its own. */
export interface CallsRig {
  readonly calls: Calls
  readonly kernel: FakeKernel
  readonly folder: string
  readonly root: string
  readonly clock: HandClock
  /** The names that were asked of `resolve`. */
  readonly resolved: (string | undefined)[]
  /** What was logged. */
  readonly faults: { readonly message: string; readonly error: unknown }[]
  run(
    tool: string,
    args?: unknown,
    more?: Partial<CallRequest> | { caller?: Partial<Caller> },
  ): Promise<Envelope>
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
  readonly files?: LineFiles
  readonly options?: Partial<CallsOptions>
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
  const journal: Journal = openJournal({
    stateDir: folder,
    ...(more.files !== undefined && { files: more.files }),
  })
  const resolved: (string | undefined)[] = []
  const faults: CallsRig['faults'] = []
  const calls = openCalls({
    registry: openRegistry(tools),
    kernels: {
      async resolve({ name }) {
        resolved.push(name)
        return { name: name ?? 'main', kernel }
      },
    },
    policy: openPolicy(folder),
    journal,
    stateDir: folder,
    log: (message, error) => faults.push({ message, error }),
    clock,
    ...more.options,
  })
  const caller: Caller = {
    id: 'tester',
    kind: 'test',
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
    resolved,
    faults,
    run: (tool, args = {}, given = {}) =>
      calls.run({ tool, args, ...given, caller: { ...caller, ...given.caller } } as CallRequest),
    async journal() {
      await journal.close()
      return journalLines(folder)
    },
    async close() {
      calls.close()
      await journal.close().catch(() => undefined)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The whole lines of a journal; others are skipped, as any reader does. */
export function journalLines(folder: string): Record<string, unknown>[] {
  return readFileSync(join(folder, 'journal.jsonl'), 'utf8')
    .split('\n')
    .flatMap(line => {
      try {
        return [JSON.parse(line) as Record<string, unknown>]
      } catch {
        return []
      }
    })
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
