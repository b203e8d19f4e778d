import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import fs, { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type Profiler, Session } from 'node:inspector'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Envelope } from '../tools/outcome.ts'
import { openClient } from '../wire/link/handshake.ts'
import type { Link } from '../wire/link/link.ts'
import { connect } from '../wire/link/transport.ts'

/**
 * `node --import tsx bench/paths.ts [--list]`: how many of our TypeScript files the daemon runs through, and how often it
 * calls `lstat`, for a warm `eval_expr` and for an approved `edit_file` of a small file, from the bytes that a client
 * sends to the bytes that it is answered with. A file counts where one of its functions ran, by V8's precise coverage;
 * what runs when a module is loaded does not count. `--list` names the files.
 *
 * The daemon is a process of its own, from source. The edit is approved on a seat at a terminal, as a person does.
 */
const ROOT = join(import.meta.dirname, '..')

/** What one operation ran through in the daemon. */
export interface PathTaken {
  /** From the root of the repository, sorted. */
  readonly files: readonly string[]
  readonly lstats: number
}

/** Operations of each kind, of which the one with the fewest files counts: what a timer does in between is not its own. */
const ROUNDS = 5
/** As long as an image or a file has to be left alone until nothing about it is new any more, in milliseconds. */
const SETTLED_MS = 2_500
const BARS = { eval: { files: 35 }, edit: { files: 60, lstats: 60 } } as const

/** Runs both operations in a daemon of its own. */
export async function pathsTaken(): Promise<{ readonly eval: PathTaken; readonly edit: PathTaken }> {
  const folder = mkdtempSync(join(tmpdir(), 'imago-paths-'))
  const project = join(folder, 'project')
  mkdirSync(join(project, 'shop'), { recursive: true })
  const env = {
    ...(process.env as Record<string, string>),
    IMAGO_RUNTIME_DIR: join(folder, 'run'),
    IMAGO_STATE_DIR: join(folder, 'state'),
    IMAGO_CONFIG_DIR: join(folder, 'config'),
    XDG_CACHE_HOME: join(folder, 'cache'),
  }
  const daemon = fork(fileURLToPath(import.meta.url), ['daemon'], { env, cwd: ROOT })
  let seat: ChildProcess | undefined
  try {
    await said(daemon, 'ready')
    const link = await clientOf(join(folder, 'run', 'daemon.sock'), project)
    seat = await approvingSeat(project, env)
    const measured = async (prepare: () => void, args: () => readonly [string, object]) => {
      const taken: PathTaken[] = []
      for (let round = 0; round <= ROUNDS; round++) {
        prepare()
        await new Promise(resolve => setTimeout(resolve, SETTLED_MS / (round === 0 ? 1 : 5)))
        const path = await during(daemon, () => succeed(link, ...args()))
        if (round > 0) taken.push(path)
      }
      return taken.reduce((best, one) => (isShorter(one, best) ? one : best))
    }
    const evaluated = await measured(
      () => {},
      () => ['eval_expr', { expr: '1 + 1' }],
    )
    const edited = await measured(
      () => writeFileSync(join(project, 'shop', 'orders.py'), 'rate = 1\n'),
      () => ['edit_file', { path: 'shop/orders.py', old_str: 'rate = 1', new_str: 'rate = 2' }],
    )
    return { eval: evaluated, edit: edited }
  } finally {
    seat?.kill('SIGKILL')
    daemon.kill('SIGTERM')
    await once(daemon, 'exit')
    rmSync(folder, { recursive: true, force: true })
  }
}

const isShorter = (one: PathTaken, other: PathTaken) =>
  one.files.length < other.files.length ||
  (one.files.length === other.files.length && one.lstats < other.lstats)

async function during(daemon: ChildProcess, operation: () => Promise<unknown>): Promise<PathTaken> {
  daemon.send('begin')
  await said(daemon, 'begun')
  await operation()
  daemon.send('end')
  return (await said(daemon, 'taken')) as unknown as PathTaken
}

/** The next message of that type. */
function said(daemon: ChildProcess, type: string): Promise<Record<string, unknown>> {
  return new Promise((resolve, reject) => {
    const gone = () => reject(new Error('the daemon ended'))
    const hear = (message: unknown) => {
      const one = message as Record<string, unknown>
      if (one.type !== type) return
      daemon.off('message', hear).off('exit', gone)
      resolve(one)
    }
    daemon.on('message', hear).once('exit', gone)
  })
}

async function clientOf(socket: string, root: string): Promise<Link> {
  const transport = await connect(`unix:${socket}`)
  const { link } = await openClient({
    transport,
    hello: {
      role: 'client',
      protocol: 2,
      name: 'paths',
      version: (JSON.parse(fs.readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string })
        .version,
      root,
      env: { PATH: process.env.PATH ?? '' },
      encodings: ['msgpack', 'json'],
    },
  })
  return link
}

async function succeed(link: Link, tool: string, args: object): Promise<void> {
  const envelope = (await link.call('call', { tool, args })) as Envelope
  if (!envelope.ok) throw new Error(`${tool}: ${envelope.error.code}: ${envelope.error.message}`)
}

/** A person at a terminal of their own, who approves whatever they are asked. Resolves once they sit. */
async function approvingSeat(cwd: string, env: Record<string, string>): Promise<ChildProcess> {
  const program = [process.execPath, '--import', 'tsx', join(ROOT, 'test/support/seat-terminal.ts')]
  const terminal = ['-c', 'import pty, sys; pty.spawn(sys.argv[1:])', ...program]
  const seat = spawn('python3', terminal, {
    cwd: ROOT,
    env: { ...env, PWD: cwd },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  return new Promise((resolve, reject) => {
    seat.once('exit', () => reject(new Error('nobody sits')))
    createInterface({ input: seat.stdout }).on('line', line => {
      const at = line.indexOf('@{')
      if (at < 0) return
      const news = JSON.parse(line.slice(at + 1)) as Record<string, unknown>
      if ('ready' in news) seat.stdin.write('sit\n')
      if ('seated' in news) resolve(seat)
      if ('failed' in news) reject(new Error(JSON.stringify(news)))
      if (news.type !== 'plan') return
      const { id, hash } = news.plan as { id: string; hash: string }
      seat.stdin.write(`answer ${JSON.stringify({ plan: id, hash, decision: 'approve' })}\n`)
    })
  })
}

/** The daemon: tells its parent what it ran through between `begin` and `end`. */
async function serve(): Promise<void> {
  let lstats = 0
  const { lstatSync } = fs
  const counting = (...args: Parameters<typeof lstatSync>) => {
    lstats++
    return lstatSync(...args)
  }
  Object.assign(fs, { lstatSync: counting })
  syncBuiltinESMExports()
  const { openDaemon } = await import('../src/daemon.ts')
  const { findPaths } = await import('../src/paths.ts')
  const daemon = await openDaemon({ paths: findPaths() })

  const session = new Session()
  session.connect()
  const post = (method: string, params: object = {}) =>
    new Promise<unknown>((resolve, reject) =>
      session.post(method, params, (error, result) => (error === null ? resolve(result) : reject(error))),
    )
  await post('Profiler.enable')
  await post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  process.on('message', async message => {
    const { result } = (await post('Profiler.takePreciseCoverage')) as Profiler.TakePreciseCoverageReturnType
    if (message === 'begin') {
      lstats = 0
      process.send?.({ type: 'begun' })
    } else process.send?.({ type: 'taken', lstats, files: result.flatMap(fileOf).sort() })
  })
  process.on('SIGTERM', () => void daemon.close().then(() => process.exit(0)))
  process.send?.({ type: 'ready' })
}

/** The file of ours that a script is, if one of its functions ran; the first one stands for the whole module. */
function fileOf({ url, functions }: Profiler.ScriptCoverage): string[] {
  if (!url.startsWith('file:')) return []
  const path = relative(ROOT, fileURLToPath(url))
  const isOurs = /^(src|tools|wire)\//.test(path)
  const ran = functions.some(
    ({ ranges: [range] }) => range !== undefined && range.count > 0 && range.startOffset > 0,
  )
  return isOurs && ran ? [path] : []
}

function report(name: string, { files, lstats }: PathTaken, bar: { files: number; lstats?: number }): void {
  const counted = (count: number, most: number | undefined) =>
    most === undefined ? `${count}` : `${count} (bar ${most}${count > most ? ', MISSED' : ''})`
  console.log(`${name}: ${counted(files.length, bar.files)} files, ${counted(lstats, bar.lstats)} lstat`)
  if (process.argv.includes('--list')) for (const file of files) console.log(`  ${file}`)
}

if (process.argv[2] === 'daemon') await serve()
else if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (!existsSync('/proc/self/fd')) throw new Error('this runs on Linux alone')
  const taken = await pathsTaken()
  report('a warm eval_expr', taken.eval, BARS.eval)
  report('an approved edit_file', taken.edit, BARS.edit)
  process.exit(0)
}
