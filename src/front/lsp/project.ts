import { existsSync, type FSWatcher, mkdirSync, watch } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Envelope } from '../../../tools/outcome.ts'
import { isRecord } from '../../../tools/record.ts'
import type { Of } from '../../../wire/kernel.ts'
import { findPaths, prepareRuntimeDir } from '../../paths.ts'
import { connectDaemon, type DaemonClient, type ToolCall } from '../client.ts'
import type { Topic } from '../operations/operation.ts'
import type { TOPIC_ROWS } from '../operations/subscription.ts'
import type { SubscriptionEvent } from '../subscriptions.ts'
import { changesIn } from '../topic-news.ts'

/** The topics that every project of an editor follows. */
const FOLLOWED = ['kernels', 'errors', 'approvals', 'calls'] as const satisfies readonly Topic[]

type KernelRow = Of<typeof TOPIC_ROWS.kernels>

/** Their rows, by key. */
type Rows = { readonly [T in (typeof FOLLOWED)[number]]: Map<string, Of<(typeof TOPIC_ROWS)[T]>> }

interface ProjectOptions {
  readonly root: string
  /** How this client names itself. */
  readonly name: string
  /** Rows of these topics have changed. */
  changed(topics: ReadonlySet<Topic>): void
  /** A kernel runs other definitions, or a file has another text: by a call of any client, or code of this one. */
  redefined(): void
  /** A connection was made, the first or another one after it was lost. */
  connected(client: DaemonClient): void
  /** There was no daemon at first, and none could be started. */
  unreached(fault: unknown): void
}

/** Kernels that a question goes to, one after the other, until one can answer. */
const MOST_ASKED = 4

/** Tools after which a kernel runs other definitions. */
const LOADING: ReadonlySet<string> = new Set(['load_file', 'reload', 'load_system'])

/** How long after a connection was lost it is made again, in milliseconds. */
const AGAIN_MS = 200

/** Seconds that a look waits for a program that is about to answer. */
const PATIENCE = 3

/**
 * A project in an editor: its connection to the daemon, and the rows that it follows. A daemon that was killed is started
 * again; one that has ended in order is waited for, or started by the next thing that the editor asks.
 */
export class Project {
  readonly root: string
  readonly rows: Rows = { kernels: new Map(), errors: new Map(), approvals: new Map(), calls: new Map() }
  readonly #options: ProjectOptions
  readonly #over = new AbortController()
  readonly #watchers: FSWatcher[] = []
  /** Programs that were joined, or that the daemon would not join. */
  readonly #joined = new Set<string>()
  /** By language, the kernel that answered last. */
  readonly #answered = new Map<string, string>()
  #client: DaemonClient | undefined
  #connecting: Promise<DaemonClient> | undefined
  #rev: string | undefined

  constructor(options: ProjectOptions) {
    this.root = options.root
    this.#options = options
    void this.reach('if-needed').catch(options.unreached)
    this.#watchFolders()
  }

  /** The connection, made again where it was lost. Rejects where there is no daemon and none can be started. */
  async reach(start: 'if-needed' | 'never' = 'if-needed'): Promise<DaemonClient> {
    if (this.#client !== undefined) return this.#client
    this.#connecting ??= this.#connect(start).finally(() => {
      this.#connecting = undefined
    })
    return this.#connecting
  }

  async #connect(start: 'if-needed' | 'never'): Promise<DaemonClient> {
    const { root, name } = this.#options
    const connecting = { name, root, terminal: false }
    // A daemon that others have started since, perhaps of another version, is taken as it is.
    const again =
      this.#rev === undefined
        ? undefined
        : await connectDaemon({ ...connecting, start: 'never' }).catch(() => undefined)
    const client = again ?? (await connectDaemon({ ...connecting, start }))
    if (this.#over.signal.aborted) await client.close()
    this.#client = client
    void client.closed.then(() => {
      this.#client = undefined
      if (!this.#over.signal.aborted) setTimeout(() => this.#comeBack(), AGAIN_MS).unref()
    })
    const heard = (event: SubscriptionEvent) => this.#heard(event)
    const since = this.#rev === undefined ? {} : { since: this.#rev }
    void client
      .subscribe({ topics: [...FOLLOWED], ...since, signal: this.#over.signal, heard })
      .catch(() => {})
    this.#joined.clear()
    this.#options.connected(client)
    void this.#joinPrograms()
    return client
  }

  /** What a daemon leaves that was killed is its socket. */
  #comeBack(): void {
    if (this.#client !== undefined) return
    void this.reach(existsSync(findPaths().socket) ? 'if-needed' : 'never').catch(() => {})
  }

  /** A daemon that begins, and programs that begin to listen, are seen by their files. */
  #watchFolders(): void {
    const { socket, runtimeDir } = findPaths()
    const programs = join(runtimeDir, 'programs')
    try {
      prepareRuntimeDir(findPaths())
      mkdirSync(programs, { recursive: true, mode: 0o700 })
      this.#watchers.push(
        watch(
          dirname(socket),
          { persistent: false },
          () => this.#client ?? (existsSync(socket) && this.#comeBack()),
        ),
        watch(programs, { persistent: false }, () => void this.#joinPrograms()),
      )
      for (const watcher of this.#watchers) watcher.on('error', () => watcher.close())
    } catch {
      // They are then found by what the editor asks.
    }
  }

  /** Programs of the project that listen are joined, as a call without a name would join the only one. */
  async #joinPrograms(): Promise<void> {
    const client = this.#client
    const found = await client?.request('kernels', {}).catch(() => undefined)
    for (const { attach, standing, pid, announced_at } of found?.announced ?? []) {
      const program = `${pid} ${announced_at}`
      if (standing !== 'program' || this.#joined.has(program)) continue
      this.#joined.add(program)
      const args = { whose: 'program', kernel: attach, patience: PATIENCE }
      void client?.call({ tool: 'get_last_error', args }).catch(() => {})
    }
  }

  #heard(event: SubscriptionEvent): void {
    this.#rev = event.rev
    const changes = changesIn(event)
    const touched = new Set<Topic>(changes.map(({ topic }) => topic))
    if ('snapshot' in event)
      for (const topic of FOLLOWED) {
        this.rows[topic].clear()
        touched.add(topic)
      }
    const ended = changes.flatMap(({ topic, key, value }) =>
      topic === 'calls' && value === null ? [this.rows.calls.get(key)?.tool ?? ''] : [],
    )
    for (const { topic, key, value } of changes) {
      const rows = this.rows[topic as (typeof FOLLOWED)[number]] as Map<string, unknown>
      if (value === null) rows.delete(key)
      else rows.set(key, value)
    }
    this.#options.changed(touched)
    const isChanged = changes.some(({ topic, value }) => topic === 'approvals' && isEnded(value))
    if (isChanged || ended.some(tool => LOADING.has(tool))) this.#options.redefined()
  }

  /** Kernels of that language that live, the one first that answered last, and programs before images of ours. */
  kernelsOf(language: string): readonly KernelRow[] {
    const last = this.#answered.get(language)
    const rank = ({ name, attached }: KernelRow) => (name === last ? 0 : attached === null ? 2 : 1)
    return [...this.rows.kernels.values()]
      .filter(row => row.language === language && LIVING.has(row.state) && row.attached?.helper !== true)
      .sort((one, other) => rank(one) - rank(other))
  }

  /**
   * The kernel that code of that language runs in: the first of `kernelsOf`, or one that begins or is away. Undefined where
   * none is there; throws where others alone are, which would take the code for their own.
   */
  kernelFor(language: string): string | undefined {
    const there = [...this.rows.kernels.values()].filter(({ state }) => state !== 'ended')
    const own = this.kernelsOf(language)[0] ?? there.find(row => row.language === language)
    if (own === undefined && there.length > 0)
      throw new Error(`No program of this project speaks ${language}. Nothing was asked of the others.`)
    return own?.name
  }

  /** What the first kernel of that language says that can answer; undefined where none lives, or none can. Never rejects. */
  async ask(
    tool: string,
    args: Readonly<Record<string, unknown>>,
    { language, signal }: { readonly language: string; readonly signal?: AbortSignal },
  ): Promise<unknown> {
    for (const { name } of this.kernelsOf(language).slice(0, MOST_ASKED)) {
      const call = { tool, args: { patience: PATIENCE, ...args, kernel: name }, ...(signal && { signal }) }
      const envelope = await this.call(call).catch(() => undefined)
      if (signal?.aborted) return undefined
      if (envelope?.ok !== true) continue
      this.#answered.set(language, name)
      return envelope.result
    }
    return undefined
  }

  async call(call: ToolCall): Promise<Envelope> {
    const envelope = await (await this.reach()).call(call)
    // Code that is of a file may define names of it.
    if (call.tool === 'eval_expr' && isRecord(call.args) && call.args.file !== undefined)
      this.#options.redefined()
    return envelope
  }

  /** An answer as a person reads it. */
  async show(tool: string, envelope: Envelope): Promise<string> {
    return (await (await this.reach()).request('show', { tool, envelope })).text
  }

  async close(): Promise<void> {
    this.#over.abort()
    for (const watcher of this.#watchers) watcher.close()
    await this.#client?.close()
  }
}

const isEnded = (row: unknown) => isRecord(row) && row.state === 'ended'

const LIVING: ReadonlySet<KernelRow['state']> = new Set(['ready', 'busy'])
