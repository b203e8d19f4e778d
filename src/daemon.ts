import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { TOOLS } from '../tools/index.ts'
import { showEnvelope } from '../tools/show.ts'
import { adapterOf } from '../wire/kernels/languages.ts'
import { openPrograms } from '../wire/kernels/programs.ts'
import { Refusal } from '../wire/link/link.ts'
import { cacheFolder } from '../wire/swank/fasl-cache.ts'
import { type Config, readConfig } from './config.ts'
import { openApprovals } from './core/approval-queue.ts'
import { openCalls } from './core/calls.ts'
import { SYSTEM_CLOCK } from './core/clock.ts'
import { openFiles } from './core/files.ts'
import { type Journal, openJournal } from './core/journal.ts'
import { type Kernels, openKernels } from './core/kernels.ts'
import { openPolicyDesk } from './core/policy/desk.ts'
import { openPolicy } from './core/policy.ts'
import { keepSecret } from './core/redact.ts'
import { openRegistry } from './core/registry.ts'
import { openRemembered } from './core/remembered.ts'
import { realOf } from './core/roots.ts'
import { SuspensionDesk } from './core/suspensions/desk.ts'
import { Leases } from './core/suspensions/leases.ts'
import { openTexts, type TextStore } from './core/texts.ts'
import { refuseDebugger } from './debugger.ts'
import { EXIT, Failure } from './failure.ts'
import { listTools, openMethods } from './front/methods.ts'
import { openPolicyMethods } from './front/policy-methods.ts'
import type { FailureData, ShutdownResult } from './front/protocol.ts'
import { tryConnect } from './front/reach.ts'
import { openHosts, openSeats } from './front/seat/seats.ts'
import { openServer, SERVER_LIMITS, type ServerLimits } from './front/server.ts'
import { openSuspensionMethods } from './front/suspension-methods.ts'
import { guard } from './guard.ts'
import { attached, living, reasonToStay, suspendedIn, type Unless, watchIdle } from './in-use.ts'
import { claimInstance, type Instance } from './instance.ts'
import { type Log, openLog } from './log.ts'
import { type Paths, preparePaths, VERSION } from './paths.ts'

/** A person who writes a rule does not see so short a time; a call that is made over and over would pay for it. */
const POLICY_FRESH_MS = 50

export interface DaemonOptions {
  readonly paths: Paths
  readonly limits?: Partial<ServerLimits>
  /** How long the owner of a suspended evaluation may be gone, in milliseconds. */
  readonly goneMs?: number
}

export interface Daemon {
  /** Where clients connect. */
  readonly address: string
  /** Settles once it has ended in order, whoever asked for it. */
  readonly ended: Promise<void>
  /** Ends it in order: kernels first, so that what runs is answered; then clients; the journal last. */
  close(): Promise<void>
}

/**
 * The composition root: makes this process the daemon of one user, with all of its parts.
 *
 * Throws a `Failure` that says why it cannot be: another one runs (exit code 2), a debugger can connect, a directory
 * cannot be used, or a configuration file is wrong.
 */
export async function openDaemon({ paths, limits, goneMs }: DaemonOptions): Promise<Daemon> {
  refuseDebugger()
  preparePaths(paths)
  const config = readConfig(paths.configDir)
  const instance = await becomeInstance(paths)
  removeRemains(paths)
  const log = openLog({ path: paths.log, level: config.daemon.log_level })
  const begun = performance.now()

  const registry = openRegistry(TOOLS)
  const texts = openTexts({
    stateDir: paths.stateDir,
    log: (sentence, error) => log.error({ error }, sentence),
  })
  const journal = openJournal({ stateDir: paths.stateDir, version: VERSION })
  const leases = new Leases(journal, { goneMs })
  void journal.lost.then(lost => leases.lost(lost))
  const kernels = kernelsOf({ config, paths, texts, journal, leases, log, limits })
  const approvalMs = config.calls.approval_minutes * 60_000
  const approvals = openApprovals({
    clock: SYSTEM_CLOCK,
    wallClock: Date.now,
    expiryMs: approvalMs,
    roomToUndo: bytes => files.roomToUndo(bytes),
    journal,
    log: (sentence, error) => log.error({ error }, sentence),
  })
  const policy = openPolicy(paths.configDir, {
    stateDir: paths.stateDir,
    freshMs: POLICY_FRESH_MS,
    tools: registry,
    changed: change => journal.later({ type: 'policy', ...change }),
    log: (sentence, error) => log.error({ error }, sentence),
  })
  const files = openFiles({
    roots: config.files.roots,
    protected: [paths.runtimeDir, paths.stateDir, paths.configDir, cacheFolder()],
    stateDir: paths.stateDir,
    log: (sentence, error) => log.warn({ error }, sentence),
  })
  const desk = openPolicyDesk({ policy, registry, approvals, journal, files })
  const calls = openCalls({
    registry,
    version: VERSION,
    files,
    kernels,
    journal,
    approvals,
    policy,
    leases,
    stateDir: paths.stateDir,
    texts,
    log: (sentence, error) => log.error({ error }, sentence),
    patienceMs: config.calls.patience_seconds * 1_000,
    lookMs: config.calls.look_seconds * 1_000,
  })
  const hosts = openHosts({ runtimeDir: paths.runtimeDir, kernels })
  const seats = openSeats({ approvals, journal, prove: hosts.prove })
  const uses = (clients: number) => ({ running: calls.busy(), kernels: kernels.list(), clients })

  const server = await openServer({
    address: `unix:${paths.socket}`,
    welcome: { version: VERSION, pid: process.pid, instance: instance.nonce },
    methods: openMethods({
      calls,
      kernels,
      seats: seats.methods,
      whoSits: seats.whoSits,
      policy: openPolicyMethods(desk),
      suspensions: openSuspensionMethods({ desk: new SuspensionDesk(leases), ...seats }),
      show: (tool, envelope) => showEnvelope(envelope, registry.find(tool)),
      listTools: wanted => listTools(registry, wanted),
      status: () => ({
        version: VERSION,
        pid: process.pid,
        instance: instance.nonce,
        uptime_ms: Math.round(performance.now() - begun),
        socket: paths.socket,
        log: paths.log,
        clients: server.clients(),
        running: calls.busy(),
        suspended: suspendedIn(kernels.list()),
        kernels: kernels.list().length,
      }),
      shutdown: when => endIf(when),
    }),
    came: ({ id, root }) => leases.came({ id, root, kind: 'cli' }),
    serveMcp: connection =>
      hosts.whileBridged(connection.session.options, async ({ origin, doubt }) => {
        // The package of MCP takes more memory than all the rest of an idle daemon's code.
        const { serveMcp } = await import('./front/mcp.ts')
        const { id, root } = connection.session
        const gone = leases.came({ id, root, kind: 'mcp', origin })
        await serveMcp({
          ...connection,
          origin,
          calls,
          registry,
          version: VERSION,
          log,
          questionMs: approvalMs,
          doubt: client => doubt(client, policy.yesOf(root, client)),
        }).finally(gone)
      }),
    log,
    limits: { ...SERVER_LIMITS, ...limits },
  })
  const stopIdling = watchIdle({
    idleMs: config.daemon.idle_minutes * 60_000,
    uses: () => uses(server.clients()),
    end: () => void close('idle'),
  })
  const stopGuarding = guard({ log, end: () => void close('fault') })
  log.info({ version: VERSION, address: server.address }, 'The daemon began.')

  let ending: Promise<void> | undefined
  let settle: () => void = () => {}
  const ended = new Promise<void>(resolve => {
    settle = resolve
  })

  function close(why: string): Promise<void> {
    ending ??= end(why).finally(settle)
    return ending
  }

  async function end(why: string) {
    const last = uses(0)
    log.info({ why, kernels: living(last), attached: attached(last) }, 'The daemon ends.')
    stopIdling()
    approvals.close()
    await kernels.close()
    await server.close()
    calls.close()
    await journal.close().catch((error: unknown) => log.error({ error }, 'The journal could not be closed.'))
    stopGuarding()
    log.info({}, 'The daemon ended.')
  }

  function endIf(when: Unless): ShutdownResult {
    const now = uses(server.clients() - 1)
    const reason = reasonToStay(now, when)
    if (reason !== undefined) {
      const next = 'imago shutdown --force ends it all the same.'
      throw new Refusal('in_use', reason, { details: {}, next, retryable: true } satisfies FailureData)
    }
    // The answer goes out first.
    setImmediate(() => void close('shutdown'))
    return { ended_kernels: living(now), detached_kernels: attached(now) }
  }

  return { address: server.address, ended, close: () => close('asked') }
}

async function becomeInstance(paths: Paths): Promise<Instance> {
  const claim = await claimInstance({
    dir: paths.runtimeDir,
    version: VERSION,
    async listens() {
      const socket = await tryConnect(paths.socket)
      socket?.destroy()
      return socket !== undefined
    },
  })
  if (claim.type === 'held') {
    await claimState(paths)
    return claim.instance
  }
  const who = claim.by === undefined ? '' : ` (process ${claim.by.pid}, version ${claim.by.version})`
  throw new Failure(`A daemon runs already at ${paths.socket}${who}. End it with: imago shutdown`, {
    exit: EXIT.usage,
  })
}

/** Two daemons with sockets of their own must not write one journal: each would cut off the other's lines. */
async function claimState({ stateDir, runtimeDir }: Paths): Promise<void> {
  // The lock that this process holds already.
  if (realOf(stateDir) === realOf(runtimeDir)) return
  const claiming = claimInstance({ dir: stateDir, version: VERSION, listens: async () => false })
  const claim = await claiming.catch((error: NodeJS.ErrnoException) => {
    // On a full disk one can still look at things.
    if (error.code !== 'ENOSPC') throw error
  })
  if (claim === undefined || claim.type === 'held') return
  const who = claim.by === undefined ? '' : ` (process ${claim.by.pid}, version ${claim.by.version})`
  throw new Failure(
    `Another daemon${who} keeps its journal in ${stateDir}. End it, or set IMAGO_STATE_DIR to another directory.`,
    { exit: EXIT.usage },
  )
}

/** Sockets of a daemon that died, and of its kernels, and files of its clients' proofs. Only whoever holds the lock may. */
function removeRemains({ runtimeDir }: Paths) {
  for (const name of readdirSync(runtimeDir))
    if (name.endsWith('.sock') || name.endsWith('.proof')) rmSync(join(runtimeDir, name), { force: true })
}

interface KernelsParts {
  readonly config: Config
  readonly paths: Paths
  readonly texts: TextStore
  readonly journal: Journal
  readonly leases: Leases
  readonly log: Log
  readonly limits: DaemonOptions['limits']
}

function kernelsOf({ config, paths, texts, journal, leases, log, limits }: KernelsParts): Kernels {
  const { runtimeDir, stateDir } = paths
  const heartbeatMs = limits?.heartbeatMs
  return openKernels({
    texts,
    noted: news => journal.later({ type: 'kernel', ...news }),
    lives: life => void leases.lives(life),
    programs: openPrograms({
      runtimeDir,
      limits: heartbeatMs === undefined ? {} : { heartbeatMs },
      secret: value => keepSecret(value, 'key of a program'),
    }),
    remembered: openRemembered({ stateDir, log: (sentence, error) => log.warn({ error }, sentence) }),
    launch: ({ language, ...request }, { background, scripted }) =>
      adapterOf(language).launch(
        {
          ...request,
          background: (_stream: string, text: string) => background(text),
          scripted,
          pass: config.kernels.env,
          secret: (value: string) => keepSecret(value, 'key of a kernel'),
          runtimeDir,
        },
        config.kernels,
      ),
  })
}
