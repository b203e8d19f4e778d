import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { connectDaemon, type DaemonClient } from '../../src/front/client.ts'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { type Load, visit } from './load.ts'
import { Differs, out, type Step, take } from './steps.ts'

const FIND: readonly Step[] = [
  {
    says: 'Nobody is answered. What does the server do? (Nothing runs to tell.)',
    tool: 'threads',
    args: { filter: 'pricing' },
    expects: [/pricing\.py:\d+/, /connections\.acquire\(\)/],
  },
  {
    says: 'All wait for a connection. What became of the four?',
    tool: 'inspect',
    args: { expr: 'quote.__globals__["connections"]' },
    expects: [/Semaphore/],
  },
  {
    says: 'Who takes connections, and gives them back?',
    tool: 'symbol_definition',
    args: { symbols: ['quote'] },
    expects: [/price = prices\[item\]/],
  },
]

const MEND: readonly Step[] = [
  {
    says: 'An item that is not sold raises before the release. The file is mended (as any editor would); now the image:',
    tool: 'reload',
    args: { package: 'pricing' },
    expects: [/quote/, /__main__/],
  },
  {
    says: 'The server still holds the old function, by its own import. That line alone is run again:',
    tool: 'load_file',
    args: { path: 'server.py', names: ['quote'] },
    expects: [/quote/],
  },
]

/** A server under load stands still. It is attached, its stuck task found, its function mended, and the load recovers. */
export async function playAttach(project: string): Promise<void> {
  cpSync(join(PACKAGE_ROOT, 'examples/demos/shop'), project, { recursive: true })
  writeFileSync(join(project, 'imago.toml'), '')
  const server = await startServer(project)
  const load = visit(server.port)
  try {
    await answers(load, 'a shop is open')
    for (let cake = 0; cake < 4; cake++) await load.ask('cake')
    await standsStill(load)
    out(`\n$ imago attach shop\n${imago(project, 'attach', 'shop')}`)
    await withDaemon(project, async client => {
      for (const step of FIND) await take(client, step)
      cpSync(join(project, 'pricing_mended.py'), join(project, 'pricing.py'))
      for (const step of MEND) await take(client, step)
    })
    await answers(load, 'the load has recovered')
    await killDaemon(project, load)
    if (server.child.exitCode !== null) throw new Differs('the server has ended')
  } finally {
    load.stop()
    server.child.kill()
    imago(project, 'shutdown', '--force')
  }
}

/** The daemon goes without a word and another comes: the image is the same, and visitors saw nothing of it. */
async function killDaemon(project: string, load: Load): Promise<void> {
  out('\n# The daemon is killed, and another one started, while visitors come.\n')
  await withDaemon(project, async client => {
    await take(client, {
      says: 'A mark in the image:',
      tool: 'eval_expr',
      args: { expr: 'mark = 42' },
      expects: [/no value/],
    })
    process.kill(client.daemon.pid, 'SIGKILL')
    await client.ended
  })
  await answers(load, 'without a daemon')
  out(`\n$ imago kernels\n${imago(project, 'kernels')}`)
  await joinedAgain(project)
  await withDaemon(project, async client => {
    await take(client, {
      says: 'The same image:',
      tool: 'eval_expr',
      args: { expr: 'mark, answered["200"] > 100' },
      expects: [/\(42, True\)/],
    })
  })
  await answers(load, 'with another daemon')
}

/** A daemon that has just started joins again by itself what was attached; that takes a moment. */
async function joinedAgain(project: string): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    const { result } = JSON.parse(imago(project, 'kernels', '--json'))
    if (
      result.kernels.some(
        (row: { name: string; state: string }) => row.name === 'shop' && row.state === 'ready',
      )
    )
      return
    await sleep(100)
  }
  throw new Differs('the daemon did not join the shop again')
}

async function answers(load: Load, what: string): Promise<void> {
  const { asked, answered } = await load.watch()
  out(`\n# ${what}: ${answered} of ${asked} visitors in a second were answered\n`)
  if (answered < asked / 2) throw new Differs(`most of ${asked} visitors should have been answered`)
}

async function standsStill(load: Load): Promise<void> {
  const { asked, answered } = await load.watch()
  out(`\n# four visitors asked for cake: ${answered} of ${asked} visitors in a second were answered\n`)
  if (answered > asked / 10) throw new Differs('the shop should stand still')
}

async function withDaemon(root: string, work: (client: DaemonClient) => Promise<void>): Promise<void> {
  const client = await connectDaemon({ name: 'imago demo', start: 'if-needed', root })
  try {
    await work(client)
  } finally {
    await client.close()
  }
}

interface Server {
  readonly child: ChildProcess
  readonly port: number
}

/** Two lines of the program are ours. Its `imago` is that of this folder; elsewhere pip installs it. */
async function startServer(project: string): Promise<Server> {
  const source = readFileSync(join(project, 'server.py'), 'utf8')
  out(
    `$ python server.py        # with these two lines in it:\n${source.match(/^.*\bimago\b.*$/gm)?.join('\n')}\n`,
  )
  const env = { ...process.env, PYTHONPATH: join(PACKAGE_ROOT, 'wire/peers/python') }
  const child = spawn('python3', ['server.py'], { cwd: project, env, stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = await once(createInterface({ input: child.stdout }), 'line')
  return { child, port: Number(line) }
}

function imago(cwd: string, ...args: string[]): string {
  const main = join(PACKAGE_ROOT, 'dist/src/main.cjs')
  return execFileSync(process.execPath, [main, ...args], { cwd, encoding: 'utf8' })
}
