import type { EventEmitter } from 'node:events'
import { readdirSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { TOOLS } from '../tools/index.ts'
import { showEnvelope } from '../tools/show.ts'
import { counted, duration } from '../tools/text.ts'
import { cacheFolder } from '../wire/cache-folder.ts'
import { openCompiler } from '../wire/kernels/compiler.ts'
import { openCommits } from '../wire/kernels/git-commits.ts'
import { adapterOf } from '../wire/kernels/languages.ts'
import { openPrograms, readAnnouncements, readErrorRecords } from '../wire/kernels/programs.ts'
import { Refusal } from '../wire/link/calls.ts'
import { originOf } from './approvals/contract.ts'
import { openApprovals } from './approvals/queue.ts'
import { openCalls } from './calls/calls.ts'
import { HeldQuestions } from './calls/held.ts'
import { openPolicyDesk } from './calls/policy-desk.ts'
import { SYSTEM_CLOCK } from './clock.ts'
import { type Config, readConfig } from './config.ts'
import { refuseDebugger } from './debugger.ts'
import { daemonEnvironment } from './environment.ts'
import { EXIT, Failure } from './failure.ts'
import { openFiles } from './files/files.ts'
import { realOf } from './files/roots.ts'
import { openAuthority } from './front/authority.ts'
import { Buffers } from './front/buffers.ts'
import { describeOperations } from './front/description.ts'
import { openDispatch } from './front/dispatch.ts'
import { FolderRows } from './front/folder-rows.ts'
import { openHistory } from './front/history-methods.ts'
import { listTools, openHandlers } from './front/methods.ts'
import { tellPerson } from './front/notify.ts'
import type { Topic } from './front/operations/operation.ts'
import { openPageSessions } from './front/page-sessions.ts'
import type { FailureData, ShutdownResult } from './front/protocol.ts'
import { tryConnect } from './front/reach.ts'
import { openRunProcesses } from './front/run-process.ts'
import { silentProcesses } from './front/runs.ts'
import { openHosts, openSeats } from './front/seat/seats.ts'
import { openServer, SERVER_LIMITS, type ServerLimits } from './front/server.ts'
import { Subscriptions } from './front/subscriptions.ts'
import { openSuspensionMethods } from './front/suspension-methods.ts'
import { NotedErrors, notedTraces, programRows, topicSources } from './front/topics.ts'
import { claimInstance, type Instance } from './instance.ts'
import { type Journal, openJournal } from './journal/journal.ts'
import { keepSecret } from './journal/redaction.ts'
import { openAttachmentStore } from './kernels/attachment-store.ts'
import { type Kernels, openKernels } from './kernels/kernels.ts'
import type { KernelRow, NewLife } from './kernels/rows.ts'
import { openStartedStore } from './kernels/started-store.ts'
import { type Log, openLog } from './log.ts'
import { type Paths, preparePaths, tellRuntimeDir, VERSION } from './paths.ts'
import { type OpenPolicy, openPolicy } from './policy/policy.ts'
import { openRegistry } from './registry/registry.ts'
import { openSources } from './sources/sources.ts'
import { SuspensionDesk } from './suspensions/desk.ts'
import { Leases } from './suspensions/leases.ts'
import { openTexts, type TextStores } from './text/texts.ts'

/** A person who writes a rule does not see so short a time; a call that is made over and over would pay for it. */
const POLICY_FRESH_MS = 50

interface DaemonOptions {
  readonly paths: Paths
  readonly limits?: Partial<ServerLimits>
  /** How long the owner of a suspended evaluation may be gone, in milliseconds. */
  readonly goneMs?: number
  /** The port for WebSockets, instead of the configured one. */
  readonly webPort?: number | undefined
}

export interface Daemon {
  /** Where clients connect. */
  readonly address: string
  /** Where WebSockets connect; undefined where the daemon takes none. */
  readonly web: string | undefined
  /** Settles once it has ended in order, whoever asked for it. */
  readonly ended: Promise<void>
  /** Ends it in order: kernels first, so that what runs is answered; then clients; the journal last. */
  close(): Promise<void>
}

/**
 * The composition root: makes this process the daemon of one user, with all of its parts.
 *
 * Throws a `Failure` that says why it cannot be: another one runs there (exit code 2), a debugger can connect, a directory
 * cannot be used, or a configuration file is wrong.
 */
export async function openDaemon({ paths, limits, goneMs, webPort }: DaemonOptions): Promise<Daemon> {
  refuseDebugger()
  preparePaths(paths)
  const config = readConfig(paths.configDir)
  const instance = await becomeInstance(paths, webPort)
  removeRemains(paths)
  const log = openLog({ path: paths.log, level: config.daemon.log_level })
  const logged = (sentence: string, error: unknown) => log.error({ error }, sentence)
  const begun = performance.now()

  const registry = openRegistry(TOOLS)
  const texts = openTexts({ stateDir: paths.stateDir, log: logged })
  const journal = openJournal({ stateDir: paths.stateDir, version: VERSION })
  let subscriptions: Subscriptions | undefined
  const touch = (...topics: readonly Topic[]) => {
    // One that was attached, or let go of.
    if (topics.includes('kernels')) followed.programs.look()
    for (const topic of topics) subscriptions?.touch(topic)
  }
  const leases = new Leases(journal, { goneMs, changed: () => touch('suspensions', 'kernels') })
  void journal.lost.then(lost => leases.lost(lost))
  const storeOf = (topic: Topic) => ({
    isFollowed: () => subscriptions?.isFollowed(topic) === true,
    changed: () => touch(topic),
  })
  const errors = new NotedErrors(storeOf('errors'))
  const traces = notedTraces(() => touch('traces'))
  const history = openHistory({ stateDir: paths.stateDir, cancel: run => runProcesses.cancel(run) })
  const followed = {
    programs: new FolderRows({
      ...storeOf('programs'),
      folder: join(paths.runtimeDir, 'programs'),
      read: async () => programRows(await kernels.listening()),
    }),
    runs: new FolderRows({ ...storeOf('runs'), folder: join(paths.stateDir, 'runs'), read: history.allRuns }),
  }
  const ruling: KernelsParts['ruling'] = {
    withholds: kernel => policy.withholds(kernel),
    startsOf: root => policy.startsOf(root),
  }
  const begins = (life: NewLife) => {
    leases.lives(life)
    errors.lives(life)
    traces.lives(life)
    life.kernel.watchHealth(() => touch('kernels'))
    setImmediate(() => held.lives())
  }
  const kernels = kernelsOf({ config, paths, texts, journal, log, limits, ruling, touch, lives: begins })
  const approvalMs = config.calls.approval_minutes * 60_000
  const approvals = openApprovals({
    clock: SYSTEM_CLOCK,
    wallClock: Date.now,
    expiryMs: approvalMs,
    roomToUndo: bytes => files.roomToUndo(bytes),
    changed() {
      touch('approvals', 'seats')
      if (!approvals.seated) held.sat()
    },
    room: () => held.sat(),
    journal,
  })
  const policy = openPolicy(paths.configDir, {
    stateDir: paths.stateDir,
    freshMs: POLICY_FRESH_MS,
    tools: registry,
    changed: change => journal.later({ type: 'policy', ...change }),
    log: logged,
  })
  const files = openFiles({
    roots: config.files.roots,
    protected: [paths.runtimeDir, paths.stateDir, paths.configDir, cacheFolder()],
    stateDir: paths.stateDir,
    log: (sentence, error) => log.warn({ error }, sentence),
  })
  const compiler = openCompiler()
  const sources = openSources({
    compile: request => compiler.compile(request),
    replaced: (path, most) => files.replaced(path, most),
    committed: openCommits(),
  })
  const buffers = new Buffers()
  const desk = openPolicyDesk({ policy, registry, kernels, approvals, journal, files })
  const calls = openCalls({
    registry,
    version: VERSION,
    files,
    kernels,
    journal,
    approvals,
    policy,
    leases,
    texts,
    sources,
    buffers,
    changed: () => touch('calls', 'kernels'),
    past: isWanted => ({
      ...readErrorRecords(paths.stateDir, isWanted),
      words: readAnnouncements(paths.runtimeDir).ends.flatMap(({ program: { cwd, file } }) =>
        isWanted(cwd) ? [file] : [],
      ),
    }),
    clock: SYSTEM_CLOCK,
    log: logged,
    patienceMs: config.calls.patience_seconds * 1_000,
    lookMs: config.calls.look_seconds * 1_000,
  })
  const runProcesses = openRunProcesses({ command: config.runs.resume, log: logged, paths })
  const held = new HeldQuestions({
    stateDir: paths.stateDir,
    calls,
    journal,
    env: daemonEnvironment(process.env),
    isSeated: () => approvals.seated,
    isRoom: root =>
      journal.trouble === undefined && approvals.limit(originOf({ kind: 'cli', root })) === undefined,
    waits: ({ who, root }, title) =>
      tellPerson(config.watch, `${who} asks in ${basename(root)}: ${title}`, logged),
    settled: question => runProcesses.resume(question),
    changed: () => touch('approvals'),
    log: logged,
  })
  const hosts = openHosts({ runtimeDir: paths.runtimeDir, kernels })
  const left = (connection: string, gone: () => void) => {
    gone()
    calls.left(connection)
  }
  const seats = openSeats({
    approvals,
    journal,
    prove: hosts.prove,
    shared: hosts.shared,
    driver: hosts.driver,
    held: () => held.unasked(),
    changed: () => touch('seats'),
  })
  const uses = (clients: number) => ({ running: calls.busy(), kernels: kernels.list(), clients })

  const authority = openAuthority({ kernels, policy: desk, seats })
  const follows = new Subscriptions({
    instance: instance.nonce,
    sources: topicSources({ kernels, approvals, held, calls, leases, seats, errors, traces, ...followed }),
    left: topic => topic === 'errors' && errors.askAll(),
    followed(topic) {
      if (topic === 'errors') errors.askAll()
      if (topic === 'programs' || topic === 'runs') followed[topic].look()
    },
  })
  subscriptions = follows
  const handlers = () =>
    openHandlers({
      subscriptions: follows,
      buffers,
      calls,
      held,
      keepKey: key => runProcesses.keepKey(key),
      kernels,
      authority,
      seats: seats.methods,
      questions: seats.questions,
      policy: desk,
      history: history.methods,
      suspensions: openSuspensionMethods(new SuspensionDesk(leases), authority),
      describe: name => describeOperations(registry, name),
      show: (tool, envelope) => showEnvelope(envelope, registry.find(tool)),
      displayed: (path, root) => texts.of(root).files.read(path),
      listTools: wanted => listTools(registry, wanted, config.tools.syntax),
      status: () => ({
        version: VERSION,
        pid: process.pid,
        instance: instance.nonce,
        uptime_ms: Math.round(performance.now() - begun),
        socket: paths.socket,
        web: server.web ?? null,
        log: paths.log,
        clients: server.clients(),
        running: calls.busy(),
        suspended: suspendedIn(kernels.list()),
        kernels: kernels.list().length,
      }),
      async openPage(page) {
        const { origin } = new URL((await server.openWeb()).replace(/^ws:/, 'http:'))
        return `${origin}/page#${new URLSearchParams({ token: pages.open(page), root: page.root })}`
      },
      shutdown: endIf,
    })

  const pages = openPageSessions({ used: () => rmSync(paths.page, { force: true }) })
  const port = webPort ?? config.web.port
  const server = await openServer({
    address: `unix:${paths.socket}`,
    web: async (accept, isAsked) => {
      if (port === undefined && !isAsked) return undefined
      const { openWeb } = await import('./front/web.ts')
      const { connections } = { ...SERVER_LIMITS, ...limits }
      return openWeb({ port: port ?? 0, file: paths.web, connections, pages, accept })
    },
    welcome: { version: VERSION, pid: process.pid, instance: instance.nonce },
    methods: openDispatch(handlers(), { authority, files, journal, kernels, seats }),
    came({ id, root }) {
      const gone = leases.came({ id, root, kind: 'cli' })
      return () => left(id, gone)
    },
    serveMcp: connection =>
      hosts.whileBridged(connection.session.options, async ({ origin, doubt }) => {
        // The package of MCP takes more memory than all the rest of an idle daemon's code.
        const { livingOf, serveMcp } = await import('./front/mcp.ts')
        const { id } = connection.session
        const session = { ...connection.session }
        const come = () => leases.came({ id, root: session.root, kind: 'mcp', origin })
        let gone = come()
        await serveMcp({
          ...connection,
          session,
          moved(root) {
            if (root === session.root) return
            session.root = root
            const before = gone
            gone = come()
            before()
          },
          origin,
          calls,
          registry,
          texts,
          living: () =>
            livingOf(kernels.besides({ name: '', root: session.root }).map(({ kernel }) => kernel)),
          follow: changed =>
            follows.follow({
              topics: ['kernels'],
              mayBeTold: ({ root }) => root === session.root,
              tell() {
                changed()
                return 'sent'
              },
            }),
          version: VERSION,
          log,
          displayed: path => texts.of(session.root).files.read(path),
          questionMs: approvalMs,
          doubt: client => doubt(client, policy.yesOf(session.root, client)),
          mayCount: client =>
            policy.yesOf(session.root, client) === undefined && doubt(client, 'counts') === undefined,
        }).finally(() => left(id, () => gone()))
      }),
    log,
    limits: { ...SERVER_LIMITS, ...limits },
  })
  const stopIdling = watchIdle({
    idleMs: config.daemon.idle_minutes * 60_000,
    uses: () => uses(server.clients()),
    end: () => void close('idle'),
  })
  setImmediate(() => held.begin())
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
    held.close()
    approvals.close()
    await kernels.close()
    compiler.close()
    await server.close()
    calls.close()
    await journal.close().catch((error: unknown) => log.error({ error }, 'The journal could not be closed.'))
    stopGuarding()
    log.info({}, 'The daemon ended.')
  }

  function endIf(when: Unless, root: string | undefined): ShutdownResult {
    const now = namedTo(root, uses(server.clients() - 1))
    const reason = reasonToStay(now, when)
    if (reason !== undefined) {
      const next = 'imago shutdown --force ends it all the same.'
      throw new Refusal('in_use', reason, { details: {}, next, retryable: true } satisfies FailureData)
    }
    // The answer goes out first.
    setImmediate(() => void close('shutdown'))
    const own = (name: string) => name !== OF_ANOTHER
    return { ended_kernels: living(now).filter(own), detached_kernels: attached(now).filter(own) }
  }

  return { address: server.address, web: server.web, ended, close: () => close('asked') }
}

async function becomeInstance(paths: Paths, webPort: number | undefined): Promise<Instance> {
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
    tellRuntimeDir(paths)
    return claim.instance
  }
  const who = claim.by === undefined ? '' : ` (process ${claim.by.pid}, version ${claim.by.version})`
  const again =
    webPort === undefined
      ? ''
      : `\nThen run this again; or have every daemon listen: [web] port = ${webPort} in config.toml`
  const said = `A daemon runs already at ${paths.socket}${who}. End it with: imago shutdown${again}`
  throw new Failure(said, { exit: EXIT.usage })
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
    `Another daemon${who} keeps its journal in ${stateDir}, and serves another runtime directory than ${runtimeDir}. Set IMAGO_RUNTIME_DIR to that one or leave it out, end it there (imago shutdown), or set IMAGO_STATE_DIR to another directory.`,
  )
}

/** Sockets and token of a daemon that died, sockets of its kernels, and files of its clients' proofs. Needs the lock. */
function removeRemains({ runtimeDir, web }: Paths) {
  rmSync(web, { force: true })
  for (const name of readdirSync(runtimeDir))
    if (name.endsWith('.sock') || name.endsWith('.proof')) rmSync(join(runtimeDir, name), { force: true })
}

interface KernelsParts {
  readonly config: Config
  readonly paths: Paths
  readonly texts: TextStores
  readonly journal: Journal
  readonly log: Log
  readonly limits: DaemonOptions['limits']
  readonly ruling: Pick<OpenPolicy, 'withholds' | 'startsOf'>
  touch(...topics: readonly Topic[]): void
  /** A kernel has begun a life. */
  lives(life: NewLife): void
}

function kernelsOf(parts: KernelsParts): Kernels {
  const { config, paths, texts, journal, log, limits, ruling, touch } = parts
  const { runtimeDir, stateDir } = paths
  const heartbeatMs = limits?.heartbeatMs
  const stored = { stateDir, log: (sentence: string, error: unknown) => log.warn({ error }, sentence) }
  return openKernels({
    texts,
    noted: news => journal.later({ type: 'kernel', ...news }),
    lives: parts.lives,
    changed: () => touch('kernels', 'output'),
    ...ruling,
    silent: () => silentProcesses(runtimeDir),
    programs: openPrograms({
      runtimeDir,
      settings: { ...config.kernels, stateDir },
      limits: heartbeatMs === undefined ? {} : { heartbeatMs },
      secret: value => keepSecret(value, 'key of a program'),
    }),
    attachments: openAttachmentStore(stored),
    started: openStartedStore(stored),
    launch: ({ language, ...request }, { background, doing, scripted }) =>
      adapterOf(language).launch(
        {
          ...request,
          background: (_stream: string, text: string) => background(text),
          doing(what: string) {
            doing(what)
            touch('kernels')
          },
          scripted(news) {
            scripted(news)
            touch('kernels')
          },
          pass: config.kernels.env,
          secret: (value: string) => keepSecret(value, 'key of a kernel'),
          runtimeDir,
        },
        { ...config.kernels, stateDir },
      ),
  })
}

/** Who and what needs the daemon at this moment. */
interface Uses {
  /** Calls under way, jobs that go on by themselves included. */
  readonly running: number
  readonly kernels: readonly KernelRow[]
  /** Connected clients, without the one that asks. */
  readonly clients: number
}

/** What stands for the names of other projects. */
const OF_ANOTHER = 'of another project'

/** The same for a client that may only be told the kernels of that project. */
const namedTo = (root: string | undefined, all: Uses): Uses =>
  root === undefined
    ? all
    : {
        ...all,
        kernels: all.kernels.map(row =>
          row.root === root ? row : { ...row, name: OF_ANOTHER, script: row.script && 'a script' },
        ),
      }

type Unless = 'unused' | 'nothing_runs' | 'always'

const lives = ({ state }: KernelRow) => state !== 'ended' && state !== 'crash_loop'

/** The names of the kernels that end when the daemon does. */
const living = ({ kernels }: Uses) => kernels.filter(row => row.owned && lives(row)).map(({ name }) => name)

/** The names of those that do not notice its end: programs that it is attached to, which the next one joins again. */
const attached = ({ kernels }: Uses) =>
  kernels.filter(row => !row.owned && lives(row)).map(({ name }) => name)

/** Evaluations that wait in them where an error happened. */
const suspendedIn = (kernels: readonly KernelRow[]) =>
  kernels.reduce((sum, { suspended }) => sum + suspended, 0)

/** Why the daemon may not be ended now, as a sentence; `undefined` if it may. */
export function reasonToStay(uses: Uses, when: Unless): string | undefined {
  if (when === 'always') return undefined
  const reasons = runningReasons(uses)
  if (when === 'unused') {
    // An error that waits does not run: whoever ends the images on purpose ends it with them.
    reasons.push(...suspendedReasons(uses))
    const names = living(uses)
    if (names.length > 0) reasons.push(`these images would be lost: ${names.join(', ')}`)
    if (uses.clients > 0) reasons.push(`other clients are connected (${uses.clients})`)
  }
  return reasons.length === 0 ? undefined : sentence(reasons.join('; '))
}

function suspendedReasons({ kernels }: Uses): string[] {
  return kernels.flatMap(({ name, suspended }) =>
    suspended === 0
      ? []
      : [`${counted(suspended, 'suspended evaluation')} of the kernel ${name} would be lost`],
  )
}

function runningReasons({ running, kernels }: Uses): string[] {
  const busy = kernels.flatMap(({ name, running: call }) =>
    call === null ? [] : [`the kernel ${name} has run a call for ${duration(call.elapsed_ms)}`],
  )
  const programs = kernels.flatMap(({ name, script, script_state }) =>
    script_state === 'running' ? [`the kernel ${name} still runs ${script}`] : [],
  )
  if (busy.length + programs.length > 0) return [...busy, ...programs]
  return running === 0 ? [] : [running === 1 ? 'a call is under way' : `${running} calls are under way`]
}

const sentence = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`

interface IdleWatch {
  readonly idleMs: number
  uses(): Uses
  /** Called once, when nothing has used the daemon for `idleMs`. */
  end(): void
}

/** Watches for a daemon that nobody needs any more. Returns what stops watching. */
function watchIdle({ idleMs, uses, end }: IdleWatch): () => void {
  let needed = performance.now()
  const timer = setInterval(
    () => {
      const now = uses()
      const goesOn = now.running > 0 || suspendedIn(now.kernels) > 0
      if (now.clients > 0 || goesOn || living(now).length > 0) needed = performance.now()
      if (performance.now() - needed < idleMs) return
      clearInterval(timer)
      end()
    },
    Math.min(30_000, idleMs / 4),
  )
  return () => clearInterval(timer)
}

interface GuardOptions {
  readonly log: Pick<Log, 'error'>
  /** Ends the daemon in order. */
  end(): void
  /** This process, but in tests. */
  readonly process?: EventEmitter
}

/**
 * What nobody caught. A promise that nobody waited for, and an error of the system on some stream, concern one client
 * or one kernel: they are logged. After anything else the state is in doubt, and the daemon ends. Returns what stops
 * guarding.
 */
export function guard({ log, end, process: guarded = process }: GuardOptions): () => void {
  const rejected = (error: unknown) => log.error({ error }, 'A rejection that nobody handled.')
  const thrown = (error: unknown) => {
    const ofSystem = error instanceof Error && 'syscall' in error
    log.error({ error }, ofSystem ? 'A stream failed, and nobody listened.' : 'A fault. The daemon ends.')
    if (!ofSystem) end()
  }
  guarded.on('unhandledRejection', rejected)
  guarded.on('uncaughtException', thrown)
  return () => {
    guarded.off('unhandledRejection', rejected)
    guarded.off('uncaughtException', thrown)
  }
}
