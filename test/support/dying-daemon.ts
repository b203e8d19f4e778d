import { mkdirSync, rmSync, writeSync } from 'node:fs'
import { openApprovals } from '../../src/approvals/queue.ts'
import { openCalls } from '../../src/calls/calls.ts'
import { SYSTEM_CLOCK } from '../../src/clock.ts'
import { openFiles } from '../../src/files/files.ts'
import { openServer, SERVER_LIMITS } from '../../src/front/server.ts'
import { openJournal } from '../../src/journal/journal.ts'
import { openKernels } from '../../src/kernels/kernels.ts'
import { openPolicy } from '../../src/policy/policy.ts'
import { openRegistry } from '../../src/registry/registry.ts'
import { Leases } from '../../src/suspensions/leases.ts'
import { openTexts } from '../../src/text/texts.ts'
import { TOOLS } from '../../tools/index.ts'
import type { CallId } from '../../wire/contract/values.ts'
import { launchPython } from '../../wire/kernels/python.ts'
import { NO_ATTACHMENTS, NO_PROGRAMS } from './no-programs.ts'
import { NO_SOURCES } from './no-sources.ts'
import { firstOnly, openFollowed, takeSeat } from './seat.ts'
import { changes, type Step, Steps } from './steps.ts'

/**
 * A daemon put together of its parts, in a process of its own that ends itself, as if by `kill -9`, before the Nth
 * thing that it does to the file system, or in the middle of the Nth write: both are counted in one row. A scripted
 * person approves all that it asks, and of hunks the first. Run by `whole-death.test.ts`, in one file.
 */
interface Life {
  readonly runtimeDir: string
  readonly stateDir: string
  readonly configDir: string
  readonly project: string
  readonly socket: string
  readonly diesAt: number
}

/** What the files of a project are told to keep makes no difference to a process that is killed. */
const counts = (step: Step) => changes(step) && !(step.of === 'files' && step.name === 'sync')

function dying(diesAt: number): Steps {
  const steps = new Steps({ synced: true })
  let count = 0
  const die = () => process.kill(process.pid, 'SIGKILL')
  steps.begin({
    before(step) {
      if (!counts(step)) return
      if (++count === diesAt) die()
      const [fd, bytes] = step.args
      if (step.name !== 'write' || typeof fd !== 'number' || !(bytes instanceof Uint8Array)) return
      if (++count !== diesAt) return
      writeSync(fd, bytes.subarray(0, bytes.length / 2))
      die()
    },
  })
  return steps
}

async function live({ runtimeDir, stateDir, configDir, socket, diesAt }: Life): Promise<void> {
  for (const dir of [runtimeDir, stateDir, configDir]) mkdirSync(dir, { recursive: true, mode: 0o700 })
  rmSync(socket, { force: true })
  const steps = dying(diesAt)
  const log = (message: string, error: unknown) => console.error(message, error)
  const registry = openRegistry(TOOLS)
  const journal = openJournal({ stateDir, files: steps.journal, version: 'test' })
  const approvals = openFollowed(openApprovals, {
    clock: SYSTEM_CLOCK,
    wallClock: Date.now,
    expiryMs: 1_800_000,
    journal,
  })
  const kernels = openKernels({
    programs: NO_PROGRAMS,
    attachments: NO_ATTACHMENTS,
    launch: ({ language: _, ...request }, { background }) =>
      launchPython({
        ...request,
        runtimeDir,
        background: (_stream, text) => background(text),
      }),
  })
  const files = openFiles({ protected: [runtimeDir, stateDir, configDir], stateDir, disk: steps.disk })
  const calls = openCalls({
    version: 'test',
    registry,
    kernels,
    journal,
    approvals,
    files,
    leases: new Leases(journal),
    texts: openTexts({ stateDir, log }),
    sources: NO_SOURCES,
    clock: SYSTEM_CLOCK,
    patienceMs: 60_000,
    lookMs: 5_000,
    policy: openPolicy(configDir),
    log,
  })
  takeSeat(approvals, firstOnly)
  await openServer({
    address: `unix:${socket}`,
    welcome: { version: 'test', pid: process.pid, instance: 'test' },
    methods: new Map([
      [
        'call',
        (params: unknown, { session }) => {
          const { tool, args, call } = params as { tool: string; args: unknown; call: string }
          const { id, name: who, root, env } = session
          const caller = {
            id,
            who,
            kind: 'cli',
            root,
            env,
            readOnlyPromised: false,
            profile: 'full',
          } as const
          return calls.run({ tool, args, caller, call: call as CallId })
        },
      ],
    ]),
    serveMcp: async () => undefined,
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
    limits: SERVER_LIMITS,
  })
  process.stdout.write('ready\n')
}

void live(JSON.parse(process.argv[2] ?? '') as Life)
