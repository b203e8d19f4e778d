import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ShownPlan } from '../../src/approvals/contract.ts'
import { type Approvals, openApprovals } from '../../src/approvals/queue.ts'
import type { Caller, CallRequest, Calls } from '../../src/calls/contract.ts'
import { type FilesLimits, type OpenFiles, openFiles } from '../../src/files/files.ts'
import { type OpenJournal, openJournal } from '../../src/journal/journal.ts'
import { verifyJournal } from '../../src/journal/verify.ts'
import { openPolicy } from '../../src/policy/policy.ts'
import { openRegistry } from '../../src/registry/registry.ts'
import { TOOLS } from '../../tools/index.ts'
import type { Envelope } from '../../tools/outcome.ts'
import { openTestCalls, type TestCalls } from './calls.ts'
import { HandClock, journalLines } from './calls-rig.ts'
import { FakeKernel } from './fake-kernel.ts'
import type { Line } from './history.ts'
import { openFollowed, type Reply, type ScriptedSeat, takeSeat } from './seat.ts'
import { Steps } from './steps.ts'

/** A user's folders, which outlive any daemon: the project, and what the daemons keep. */
export interface Ground {
  readonly folder: string
  readonly project: string
  readonly stateDir: string
  /** What a file of the project holds; undefined where there is none. */
  text(name: string): string | undefined
  put(name: string, text: string): void
  /** All names in the project. */
  names(): string[]
  remove(): void
}

export function openGround(): Ground {
  const folder = mkdtempSync(join(tmpdir(), 'imago-whole-'))
  const project = join(folder, 'project')
  const stateDir = join(folder, 'state')
  mkdirSync(project)
  mkdirSync(stateDir)
  mkdirSync(join(folder, 'config'))
  const path = (name: string) => join(project, name)
  return {
    folder,
    project,
    stateDir,
    text: name => (existsSync(path(name)) ? readFileSync(path(name), 'utf8') : undefined),
    put: (name, text) => writeFileSync(path(name), text),
    names: () => readdirSync(project).sort(),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** All that a daemon does about a call, in this process: real tools, files, journal and policy; a kernel that is none. */
export interface WholePath {
  readonly ground: Ground
  readonly steps: Steps
  readonly calls: Calls
  readonly approvals: Approvals
  readonly journal: OpenJournal
  readonly files: OpenFiles
  readonly clock: HandClock
  /** How far the wall clock is ahead of the other, in milliseconds. */
  readonly wall: { ahead: number }
  readonly faults: { readonly message: string; readonly error: unknown }[]
  /** The image that lives. */
  readonly kernel: FakeKernel
  run(
    tool: string,
    args: unknown,
    more?: Omit<Partial<CallRequest>, 'caller'> & { caller?: Partial<Caller> },
  ): Promise<Envelope>
  seat(script?: (plan: ShownPlan) => Reply | Promise<Reply>, who?: string): ScriptedSeat
  /** A new image under the same name. */
  restartKernel(): void
  /** Ends in order; where the disk takes nothing, what waits is lost, as it is with a daemon. */
  close(): Promise<void>
}

export interface WholeOptions {
  readonly steps?: Steps
  readonly limits?: Partial<FilesLimits>
  readonly calls?: TestCalls
  /** Those who sit may have room for one more plan. */
  readonly room?: () => void
}

/** Who calls, unless a test says otherwise. */
export const CALLER: Omit<Caller, 'root'> = {
  id: 'tester',
  kind: 'cli',
  env: {},
  readOnlyPromised: false,
  who: 'test',
  profile: 'full',
}

/** One daemon on that ground. The next one may follow when it has been closed. */
export function openWholePath(ground: Ground, given: WholeOptions = {}): WholePath {
  const { folder, project, stateDir } = ground
  const { steps = new Steps() } = given
  const clock = new HandClock()
  const wall = { ahead: 0 }
  const faults: WholePath['faults'] = []
  const log = (message: string, error: unknown) => faults.push({ message, error })
  const journal = openJournal({ stateDir, files: steps.journal, version: 'test' })
  const wallClock = () => clock.now() + wall.ahead
  const { room = () => {} } = given
  const approvals = openFollowed(openApprovals, { clock, wallClock, expiryMs: 30 * 60_000, journal, room })
  const files = openFiles({
    protected: [stateDir, join(folder, 'config')],
    stateDir,
    disk: steps.disk,
    ...(given.limits !== undefined && { limits: given.limits }),
  })
  let epoch = 1
  let kernel = new FakeKernel({ epoch: 'epoch-1' })
  const calls = openTestCalls({
    registry: openRegistry(TOOLS),
    kernels: {
      resolve: async () => ({ name: 'main', kernel }),
      living: () => (kernel.health === 'ended' ? undefined : { name: 'main', kernel }),
    },
    policy: openPolicy(join(folder, 'config')),
    journal,
    approvals,
    files,
    stateDir,
    log,
    clock,
    ...given.calls,
  })

  return {
    ground,
    steps,
    calls,
    approvals,
    journal,
    files,
    clock,
    wall,
    faults,
    get kernel() {
      return kernel
    },
    run: (tool, args, more = {}) =>
      calls.run({ tool, args, ...more, caller: { root: project, ...CALLER, ...more.caller } }),
    seat: (script, who) => takeSeat(approvals, script, who),
    restartKernel() {
      kernel.die()
      kernel = new FakeKernel({ epoch: `epoch-${++epoch}` })
    },
    async close() {
      approvals.close()
      calls.close()
      await journal.close().catch(() => undefined)
    },
  }
}

/** What the next daemon makes of the journal, and all its lines then; `problems` where it is not what was written. */
export async function afterwards({ stateDir }: Ground): Promise<{ lines: Line[]; problems: string[] }> {
  const next = openJournal({ stateDir, version: 'test' })
  await next.verified
  const { trouble } = next
  await next.close()
  const { problem } = await verifyJournal(join(stateDir, 'journal'))
  const problems = [trouble, problem?.what].filter(each => each !== undefined)
  return { lines: journalLines(stateDir), problems }
}
