import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PACKAGE_ROOT, VERSION } from '../../src/paths.ts'
import type { Envelope } from '../../tools/outcome.ts'
import { lives, openRig, type Rig, type RigOptions, until } from './rig.ts'
import type { Steps } from './terminal.ts'
import { openWatch, type Watch } from './watching.ts'

const SUPPORT = join(PACKAGE_ROOT, 'test/support')
export const UNPRIVILEGED: readonly string[] = ['python3', join(SUPPORT, 'unprivileged.py')]
/** For a Python that is to have `imago`. */
export const PYTHON = { PYTHONPATH: join(PACKAGE_ROOT, 'wire/peers/python') }
/** What another program of the user can do: `intruder.py`. */
export const INTRUDER: readonly string[] = ['python3', join(SUPPORT, 'intruder.py')]
export const IMAGO: readonly string[] = [process.execPath, join(PACKAGE_ROOT, 'dist/src/main.cjs')]

/**
 * A user with a daemon, and an attacker: programs of the same user, started outside any kernel, in sessions of their
 * own, and not at the terminal of the person who sits. Nobody has more power than that user, whoever runs the tests.
 */
export interface Scene {
  readonly rig: Rig
  /** Ends the daemon, if there is one, as a program can: without a word. */
  kill(): Promise<void>
  /** Starts the next daemon. */
  begin(env?: Environment): Promise<void>
  /** The process number of the daemon. */
  daemon(): number
  /** A person sits down at a terminal. */
  sits(env?: Environment): Promise<Person>
  /** The attacker runs a program to its end. */
  runs(command: readonly string[], options?: Running): Promise<Tried>
  /** A script of the shell with its arguments, `$1` and so on, which does not fail. */
  shell(script: string, ...args: readonly string[]): Promise<void>
  /** The same as `runs` for `imago`. */
  imago(...args: readonly string[]): Promise<Tried>
  /** The same at a terminal that the attacker makes and types at. */
  atOwnTerminal(steps: Steps, ...args: readonly string[]): Promise<Tried>
  /** What test/support/intruder.py does, and what it printed as JSON. */
  intrudes(...args: readonly string[]): Promise<unknown>
  /** Lets the attacker begin something that goes on. */
  lets(command: readonly string[], options?: Running): Going
  /** The attacker has `write_file` asked for, and goes on once it waits for a person. */
  proposes(path: string, content?: string): Promise<Proposed>
  close(): Promise<void>
}

export interface Tried {
  readonly code: number | null
  /** Both streams together. */
  readonly text: string
}

export interface Going {
  readonly pid: number
  readonly so: { text: string }
  readonly ended: Promise<Tried>
  says(expected: string | RegExp): Promise<void>
  write(text: string): void
}

export interface Person extends Watch {
  /** Resolves once the person is asked about it, below the whole of it. */
  asked(plan: string): Promise<void>
  /** What it came to. */
  approves(proposed: Proposed): Promise<Envelope>
  denies(proposed: Proposed): Promise<Envelope>
}

export interface Proposed {
  readonly plan: string
  /** What the call came to. */
  readonly answer: Promise<Envelope>
}

type Environment = Readonly<Record<string, string>>

interface Running {
  readonly env?: Environment
  readonly cwd?: string
}

export function openScene(options: RigOptions = {}): Scene {
  const rig = openRig(options)
  const going = new Set<Going>()
  const watches: Watch[] = []

  function lets(command: readonly string[], { env = {}, cwd = rig.project }: Running = {}): Going {
    const [program = '', ...args] = [...UNPRIVILEGED, ...command]
    // A session of its own: no terminal.
    const child = spawn(program, args, { cwd, env: { TERM: 'dumb', ...rig.env, ...env }, detached: true })
    const so = { text: '' }
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (data: string) => {
        so.text += data
      })
    child.stdin.on('error', () => {})
    const ended = new Promise<Tried>(resolve => child.on('close', code => resolve({ code, ...so })))
    const one: Going = {
      pid: child.pid ?? 0,
      so,
      ended,
      says: expected =>
        until(
          () => (typeof expected === 'string' ? so.text.includes(expected) : expected.test(so.text)),
          `${command.join(' ').slice(-200)} to say ${expected}`,
        ).catch(error => {
          throw new Error(`${error.message}; it said: ${so.text}`)
        }),
      write: text => void child.stdin.write(text),
    }
    going.add(one)
    void ended.then(() => going.delete(one))
    return one
  }

  async function runs(command: readonly string[], running?: Running): Promise<Tried> {
    const one = lets(command, running)
    const { ended, so } = one
    let over: Tried | undefined
    void ended.then(tried => {
      over = tried
    })
    await until(() => over !== undefined, `${command.join(' ').slice(-200)} to end`).catch(error => {
      end(one.pid)
      throw new Error(`${error.message}; it said: ${so.text}`)
    })
    return ended
  }

  const daemon = () => daemonOf(rig)
  const scene: Scene = {
    rig,
    daemon,
    lets,
    runs,
    async kill() {
      const pid = daemon()
      if (pid === 0) return
      process.kill(pid, 'SIGKILL')
      await until(() => !lives(pid), 'the daemon to be gone')
    },
    async begin(env) {
      const served = lets([...IMAGO, 'serve'], env === undefined ? {} : { env })
      // Ended by the rig, in order.
      going.delete(served)
      await served.says(/serves at/)
    },
    async sits(env = {}) {
      const watch = await openWatch(rig, { env, command: [...UNPRIVILEGED, ...IMAGO, 'watch', '--plain'] })
      watches.push(watch)
      return personAt(watch)
    },
    imago: (...args) => runs([...IMAGO, ...args]),
    async shell(script, ...args) {
      const { code, text } = await runs(['sh', '-ec', script, 'sh', ...args])
      if (code !== 0) throw new Error(text)
    },
    atOwnTerminal: (steps, ...args) =>
      runs(['python3', join(SUPPORT, 'terminal.py'), JSON.stringify(steps), ...IMAGO, ...args]),
    async intrudes(...args) {
      const { text } = await runs([...INTRUDER, ...args])
      return JSON.parse(text)
    },
    async proposes(path, content = 'theirs\n') {
      const known = new Set(await plansOf(rig))
      const call = lets([...IMAGO, 'call', 'write_file', JSON.stringify({ path, content }), '--json'])
      let plan: string | undefined
      await until(async () => {
        plan = (await plansOf(rig)).find(id => !known.has(id))
        return plan !== undefined
      }, `a plan to write ${path}: ${call.so.text}`)
      return { plan: plan ?? '', answer: call.ended.then(({ text }) => envelopeIn(text)) }
    },
    async close() {
      for (const { screen } of watches) screen.close()
      for (const { pid } of going) end(pid)
      await rig.close()
    },
  }
  return scene
}

/** What is for a person stands before it. */
const envelopeIn = (text: string): Envelope => JSON.parse(/^\{.*\}$/m.exec(text)?.[0] ?? text)

function personAt({ screen, pid }: Watch): Person {
  const asked = (plan: string) =>
    screen.shows(new RegExp(`==== end of ${plan},[\\s\\S]*\\[q\\]uit \\[\\?\\]$`))
  return {
    screen,
    pid,
    asked,
    async approves({ plan, answer }) {
      await asked(plan)
      screen.type('y\n')
      return answer
    },
    async denies({ plan, answer }) {
      await asked(plan)
      screen.type('n it is not mine\n')
      const envelope = await answer
      await screen.shows(`${plan}: denied`)
      return envelope
    },
  }
}

/** For intruder.py: where the daemon listens, and what a client says there. */
export const addressOf = ({ rig }: Scene) => [rig.paths.socket, VERSION, rig.project] as const

export const codeOf = (envelope: Envelope) => (envelope.ok ? 'ok' : envelope.error.code)

/** What the file of the project holds; undefined where there is none. */
export function textOf({ rig }: Scene, name: string): string | undefined {
  const path = join(rig.project, name)
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined
}

/** All lines of the journal that are there now. */
export function journalOf({ rig }: Scene): string[] {
  const dir = join(rig.paths.stateDir, 'journal')
  return readdirSync(dir)
    .filter(name => name.endsWith('.jsonl'))
    .sort()
    .flatMap(name => readFileSync(join(dir, name), 'utf8').split('\n'))
}

async function plansOf(rig: Rig): Promise<string[]> {
  const client = await rig.connect()
  const { approvals } = await client.request('approvals', {})
  await client.close()
  return approvals.map(({ id }) => id)
}

function daemonOf({ paths }: Rig): number {
  if (!existsSync(paths.runtimeDir)) return 0
  for (const name of readdirSync(paths.runtimeDir).filter(each => each.startsWith('daemon.lock.'))) {
    const { pid } = JSON.parse(readFileSync(join(paths.runtimeDir, name), 'utf8')) as { pid: number }
    if (lives(pid)) return pid
  }
  return 0
}

/** With all that it started and that stayed in its session. */
function end(pid: number) {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended already.
  }
}

/**
 * An MCP server of the attacker's, with all tools, told who its client is. What it answers sends it one request, and
 * resolves with the line that comes back.
 */
export async function asMcpClient(
  scene: Scene,
  running?: Running,
): Promise<(method: string, params: unknown) => Promise<string>> {
  const server = scene.lets([...IMAGO, 'mcp', '--profile', 'full'], running)
  let id = 0
  const asks = async (method: string, params: unknown) => {
    server.write(`${JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params })}\n`)
    await server.says(new RegExp(`"id":${id}\\b.*\n|.*"jsonrpc":"2.0","id":${id}}\n`))
    return server.so.text.split('\n').find(line => JSON.parse(line || '{}').id === id) ?? ''
  }
  const clientInfo = { name: 'a-host', version: '1' }
  await asks('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo })
  server.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
  return asks
}
