import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Link } from '../../wire/link/link.ts'
import { type BenchDaemon, benchDaemon, pause, residentBytes, residentEach } from '../daemon.ts'
import { sharedGround } from '../ground.ts'
import { interleaved, median, type Row, ratio } from '../row.ts'

const main = join(import.meta.dirname, '../../dist/src/main.cjs')
const INITIALIZE = `${JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'bench', version: '1' } },
})}\n`

let daemon: BenchDaemon

export const mcpStart: Row = {
  what: '`imago mcp` to its first answer, daemon running',
  how: 'from spawn to the first byte of the answer to `initialize`, against `node -e 0` from spawn to exit, 12 times each in turn',
  bar: { relation: '≤', limit: 1.8, unit: '×' },
  async setUp() {
    daemon = await benchDaemon()
  },
  async tearDown() {
    await daemon?.close()
  },
  async measure() {
    const [ours = [], bare = []] = await interleaved({ blocks: 12, each: 1 }, firstAnswer, bareNode)
    const [ours_ms, node_ms] = [median(ours) / 1000, median(bare) / 1000]
    return ratio(ours_ms, node_ms, { ours_ms, node_ms })
  },
}

const LSP_BODY = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { processId: null, rootUri: null, capabilities: {} },
})

export const lspStart: Row = {
  what: '`imago lsp` to its first answer, daemon running',
  how: 'from spawn to the first byte of the answer to `initialize`, against `node -e 0` from spawn to exit, 12 times each in turn',
  bar: { relation: '≤', limit: 2.5, unit: '×' },
  async setUp() {
    daemon = await benchDaemon()
    await lspAnswer()
  },
  async tearDown() {
    await daemon?.close()
  },
  async measure() {
    const [ours = [], bare = []] = await interleaved({ blocks: 12, each: 1 }, lspAnswer, bareNode)
    const [ours_ms, node_ms] = [median(ours) / 1000, median(bare) / 1000]
    return ratio(ours_ms, node_ms, { ours_ms, node_ms })
  },
}

const firstAnswer = () => answerOf('mcp', INITIALIZE)

const lspAnswer = () => answerOf('lsp', `Content-Length: ${LSP_BODY.length}\r\n\r\n${LSP_BODY}`)

function answerOf(command: string, asked: string): Promise<void> {
  const child = spawn(process.execPath, [main, command], { env: daemon.env, cwd: daemon.folder })
  child.stdin.write(asked)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', code => reject(new Error(`imago ${command} ended with ${code}`)))
    child.stdout.once('data', () => {
      child.removeAllListeners('exit')
      child.kill('SIGKILL')
      resolve()
    })
  })
}

function bareNode(): Promise<void> {
  const child = spawn(process.execPath, ['-e', '0'], { stdio: 'ignore' })
  return new Promise(resolve => child.once('exit', () => resolve()))
}

const ground = sharedGround(async daemon => {
  await daemon.call('eval_expr', { expr: '1+2' })
  return undefined
})

export const commandCost: Row = {
  what: '`imago call`, daemon running, processor time',
  how: '`imago call` of `eval_expr` against `node -e 0`, 10 times each in turn: user and system time of the process as bash’s `time` gives them, medians',
  bar: { relation: '≤', limit: 1.6, unit: '×' },
  setUp: ground.setUp,
  tearDown: ground.tearDown,
  async measure() {
    const { env, folder } = ground.daemon
    const timed = (...args: readonly string[]) => processorMs(args, { env, cwd: folder })
    const ours: number[] = []
    const bare: number[] = []
    for (let run = 0; run < 10; run++) {
      ours.push(timed(main, 'call', 'eval_expr', '{"expr":"1+2"}'))
      bare.push(timed('-e', '0'))
    }
    const [ours_ms, node_ms] = [median(ours), median(bare)]
    return ratio(ours_ms, node_ms, { ours_ms, node_ms })
  },
}

export const doctorTime: Row = {
  what: '`imago doctor`, no daemon running',
  how: 'from spawn to exit in a fresh folder: it starts the daemon, tries a Python kernel and ends it; 3 times, the median',
  bar: { relation: '≤', limit: 3, unit: 's' },
  async measure() {
    const times: number[] = []
    for (let run = 0; run < 3; run++) {
      const folder = mkdtempSync(join(tmpdir(), 'imago-bench-'))
      const dirs = { RUNTIME: 'run', STATE: 'state', CONFIG: 'config' }
      const own = Object.entries(dirs).map(([name, dir]) => [`IMAGO_${name}_DIR`, join(folder, dir)])
      const options = { cwd: folder, env: { ...process.env, ...Object.fromEntries(own) } }
      const begun = performance.now()
      const { status } = spawnSync(process.execPath, [main, 'doctor'], options)
      times.push((performance.now() - begun) / 1_000)
      spawnSync(process.execPath, [main, 'shutdown', '--force'], options)
      rmSync(folder, { recursive: true, force: true })
      if (status !== 0) throw new Error(`imago doctor ended with ${status}`)
    }
    const doctor_s = median(times)
    return { figure: doctor_s, parts: { doctor_s } }
  },
}

function processorMs(
  args: readonly string[],
  options: { readonly env: Readonly<Record<string, string>>; readonly cwd: string },
): number {
  const timed = ['-c', 'TIMEFORMAT="%3U %3S"; time "$@" >/dev/null', 'bash', process.execPath, ...args]
  const { stderr, status } = spawnSync('bash', timed, { ...options, encoding: 'utf8' })
  const [user, system] = stderr.trim().split(' ').map(Number)
  if (status !== 0 || user === undefined || system === undefined)
    throw new Error(`${args.join(' ')}: ${stderr}`)
  return (user + system) * 1_000
}

export const idleMemory: Row = {
  what: 'idle daemon, resident',
  how: 'a daemon that has answered one client and has no kernel, one second later',
  bar: { relation: '≤', limit: 90, unit: 'MB' },
  async measure() {
    const fresh = await benchDaemon()
    await fresh.link.call('status', {})
    await pause(1_000)
    const resident_mb = residentBytes(fresh.pid) / 1e6
    await fresh.close()
    return { figure: resident_mb, parts: { resident_mb } }
  },
}

export const clientMemory: Row = {
  what: 'a connected client, up to 1,000 of them: resident memory each',
  how: '1,000 clients connect to a fresh daemon and each asks for its status; growth divided by 1,000',
  bar: { relation: '≤', limit: 40, unit: 'kB' },
  async measure() {
    const fresh = await benchDaemon()
    await fresh.link.call('status', {})
    const links: Link[] = []
    const each_kb = await residentEach(fresh, async () => {
      const link = await fresh.connect()
      await link.call('status', {})
      links.push(link)
    })
    await Promise.all(links.map(link => link.close()))
    await fresh.close()
    return { figure: each_kb, parts: { each_kb } }
  },
}
