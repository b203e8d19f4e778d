import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Caller, Calls } from '../../src/calls/contract.ts'
import type { Clock } from '../../src/clock.ts'
import { suspensionNews } from '../../src/front/suspension-news.ts'
import type { JournalEntry } from '../../src/journal/entries.ts'
import type { Journal } from '../../src/journal/journal.ts'
import { openPolicy } from '../../src/policy/policy.ts'
import { openRegistry } from '../../src/registry/registry.ts'
import { type Person, SuspensionDesk } from '../../src/suspensions/desk.ts'
import { Leases } from '../../src/suspensions/leases.ts'
import type { SuspensionEvent } from '../../src/suspensions/rows.ts'
import type { Tool } from '../../tools/define.ts'
import { TOOLS } from '../../tools/index.ts'
import type { Envelope } from '../../tools/outcome.ts'
import type { Evaluation, SuspendOptions, Watcher } from '../../wire/contract/evaluation.ts'
import { openTestCalls } from './calls.ts'
import { FakeKernel, type Scene, type Script } from './fake-kernel.ts'
import { suspendedAs } from './fake-suspensions.ts'
import type { Suite } from './harness.ts'
import { memoryJournal } from './memory-journal.ts'

/** A fake kernel that remembers what errors were to do. */
export class StoppingKernel extends FakeKernel {
  readonly suspending: (SuspendOptions | undefined)[] = []

  override evaluate(evaluation: Evaluation, watcher: Watcher) {
    this.suspending.push(evaluation.suspend)
    return super.evaluate(evaluation, watcher)
  }
}

/** An evaluation that an error stops. */
export const stops = (id: string, more: Parameters<typeof suspendedAs>[1] = {}): Scene => ({
  ends: suspendedAs(id, more),
})

/** The call path over kernels that suspend, with a desk for people and everything that was written down. */
export interface LeasesRig {
  readonly calls: Calls
  readonly leases: Leases
  readonly desk: SuspensionDesk
  /** The suspensions that the journal tells of, in order. */
  readonly noted: Extract<JournalEntry, { type: 'suspension' }>[]
  /** What somebody was told who follows them, in order. */
  readonly heard: SuspensionEvent[]
  /** The same of that caller, from now on. */
  follow(caller: Caller): SuspensionEvent[]
  /** By name; another one may be put there. */
  readonly kernels: Map<string, StoppingKernel>
  call(caller: Caller, tool: string, args?: object): Promise<Envelope>
}

export const ROOT = '/shop'

/** A client of its own program; `connection` where it connects anew. */
export function client(
  who: string,
  { connection = who, ...more }: Partial<Caller> & { connection?: string } = {},
): Caller {
  return {
    id: `connection-${connection}`,
    kind: 'mcp',
    root: ROOT,
    env: {},
    readOnlyPromised: false,
    profile: 'live',
    origin: `host of ${who}`,
    ...more,
    who,
  }
}

/** Somebody who sits, at a console whose connection is `id`. */
export function person(
  id = 'client-9',
  who = `seat-1, terminal of ${id}`,
): Person & { readonly caller: Caller } {
  const caller: Caller = {
    id,
    kind: 'cli',
    root: ROOT,
    env: {},
    readOnlyPromised: false,
    profile: 'full',
    who: 'imago console',
    seat: () => who,
  }
  return { caller, who }
}

/** Two models' clients, each of a program of its own, and somebody who sits. */
export const CLAUDE = client('claude-code')

export const CODEX = client('codex')

export const ADA = person()

/** The suspension that most tests are about, as the desk is asked for it. */
export const S1 = 's1@ab12'

export const NAMED = { kernel: 'main', suspension: S1 }

/** An image in which `boom` comes to it. */
export const STOPS = { evaluate: { boom: stops(S1) } }

interface LeasesOptions {
  readonly tools?: readonly Tool[]
  readonly clock?: Clock
  /** Whether somebody follows: they are told of all suspensions with each change, which a thousand make a million of. */
  readonly followed?: boolean
}

export function leasesRigsOf(test: Suite): (script?: Script, more?: LeasesOptions) => LeasesRig {
  const open: { close(): void }[] = []
  test.after.each(() => {
    for (const rig of open.splice(0)) rig.close()
  })
  return (script = {}, { tools = TOOLS, clock, followed = true } = {}) => {
    const folder = mkdtempSync(join(tmpdir(), 'imago-leases-'))
    const { journal: kept, lines } = memoryJournal()
    const journal = kept as Journal
    const followers: (() => void)[] = []
    const leases = new Leases(journal, {
      clock,
      changed: () => {
        for (const told of followers) told()
      },
    })
    const follow = (caller: Caller) => {
      const heard: SuspensionEvent[] = []
      const news = suspensionNews(event => heard.push(event))
      news({ rev: '', snapshot: [] })
      followers.push(() => {
        const changes = leases.told.map(one => ({
          topic: 'suspensions' as const,
          key: one.suspension.id,
          value: leases.topicRow(one, caller),
        }))
        news({ rev: '', changes })
      })
      return heard
    }
    const kernels = new Map([['main', new StoppingKernel(script)]])
    const calls = openTestCalls({
      registry: openRegistry(tools),
      kernels: {
        async resolve({ name = 'main' }) {
          const kernel = kernels.get(name)
          if (kernel === undefined) throw new Error(`a test has no kernel ${name}`)
          return { name, kernel }
        },
      },
      policy: openPolicy(folder),
      journal,
      leases,
      stateDir: folder,
      log: () => undefined,
    })
    const desk = new SuspensionDesk(leases)
    open.push({
      close() {
        calls.close()
        rmSync(folder, { recursive: true, force: true })
      },
    })
    return {
      calls,
      leases,
      desk,
      get noted() {
        return (lines as unknown as readonly JournalEntry[]).filter(entry => entry.type === 'suspension')
      },
      heard: followed ? follow(person('client-0').caller) : [],
      follow,
      kernels,
      call: (caller, tool, args = {}) => calls.run({ tool, args, caller }),
    }
  }
}

/** The only kernel of a rig, or the one of that name. */
export function kernelOf({ kernels }: LeasesRig, name = 'main'): StoppingKernel {
  const kernel = kernels.get(name)
  if (kernel === undefined) throw new Error(`there is no kernel ${name}`)
  return kernel
}

/** What an answer says besides, whatever it says. */
export function noticeOf(answer: Envelope): string | undefined {
  const said = answer.ok ? answer.result : answer.error.details
  const notice: unknown = typeof said === 'object' && said !== null ? Reflect.get(said, 'notice') : undefined
  return typeof notice === 'string' ? notice : undefined
}

/** The same rig, once an evaluation of Claude's is suspended in it as `S1`. */
export async function stopped(rig: LeasesRig): Promise<LeasesRig> {
  await rig.call(CLAUDE, 'eval_expr', { expr: 'boom' })
  return rig
}
