import { execFileSync, spawn } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { venvPython } from '../support/runtimes.ts'
import { inShort, PRINTS } from './answers.ts'
import { HOSTS, runHost } from './hosts.mjs'

/**
 * `node --import tsx test/hosts/capture.mjs BIN [HOST…]`: runs the hosts whose programs are in that folder, and writes what each
 * showed its model to `captured/HOST.json`: of the answers of `probe.mjs`, and of a session with a program that has
 * failed. Needs `npm run build`. It asks nothing of any network.
 */
const [bin = '', ...names] = process.argv.slice(2)
const ROOT = join(import.meta.dirname, '../..')
const IMAGO = join(ROOT, 'dist/src/main.js')

const PROBES = [
  { tool: 'image' },
  { tool: 'blocks' },
  { tool: 'error' },
  { tool: 'both' },
  { tool: 'long', args: { lines: 860 } },
  // Between what is shown and 25,000 tokens.
  { tool: 'long', args: { lines: 1_600 } },
  { tool: 'long', args: { lines: 5_000 } },
  { tool: 'dense', args: { kind: 'hex', size: 30_000 } },
  { tool: 'dense', args: { kind: 'hex', size: 60_000 } },
  { tool: 'dense', args: { kind: 'cjk', size: 12_000 } },
  { tool: 'dense', args: { kind: 'cjk', size: 30_000 } },
  { tool: 'dense', args: { kind: 'lines', size: 10_000 } },
  { tool: 'dense', args: { kind: 'lines', size: 1_000_000 } },
  { tool: 'grow' },
  { tool: 'blocks' },
  { tool: 'grown' },
].map(call => ({ args: {}, ...call }))

const NUMBERED = "for at in range(5_000): print(f'line {at:05} of an answer that is long')"

/** What a model does that is asked what failed: it finds the program by itself. */
const SESSION = [
  { tool: 'kernels', args: {} },
  { tool: 'get_last_error', args: {} },
  { tool: 'eval_expr', args: { expr: NUMBERED } },
  { tool: 'inspect', args: { expr: 'no_such_name' } },
  ...Object.values(PRINTS).map(expr => ({ tool: 'eval_expr', args: { expr } })),
  { tool: 'eval_expr', args: { expr: drawing('figsize=(3, 2)') } },
  // Of as many pixels as are drawn at all.
  { tool: 'eval_expr', args: { expr: drawing('figsize=(40, 25)') } },
]

function drawing(size) {
  return `import matplotlib.pyplot as plt\nplt.figure(${size}, dpi=100)\nplt.plot([1, 4, 9])\nplt.show()`
}

const PROGRAM = `import threading, time

DISCOUNTS = {'spring': 10}

def total(order):
    return order['price'] - DISCOUNTS[order['discount']]

threading.Thread(target=total, args=({'price': 500, 'discount': None},), name='order-8').start()
while True:
    time.sleep(0.1)
`

for (const host of HOSTS.filter(({ name }) => names.length === 0 || names.includes(name))) {
  const version = execFileSync(join(bin, host.program), ['--version'], { encoding: 'utf8' }).match(
    /\d+(\.\d+)+/,
  )?.[0]
  const probe = await probed(host)
  const session = await sessionOf(host)
  const captured = { host: host.name, version, ...probe, session }
  writeFileSync(
    join(import.meta.dirname, 'captured', `${host.name}.json`),
    `${JSON.stringify(captured, null, 2)}\n`,
  )
}

async function probed(host) {
  const place = placeOf()
  const noted = join(place.home, 'noted')
  const args = ['--import', import.meta.resolve('tsx'), join(import.meta.dirname, 'probe.mjs'), noted]
  const ran = await runHost(host, {
    ...place,
    bin,
    server: 'probe',
    command: process.execPath,
    args,
    calls: PROBES,
  })
  const introduced = JSON.parse(readFileSync(noted, 'utf8').split('\n')[0])
  const answers = PROBES.map((call, at) => answered({ call, at, ran, place }))
  place.clear()
  return { introduced, tools: [ran.tools.at(0), ran.tools.at(-1)], answers }
}

async function sessionOf(host) {
  const place = placeOf()
  const dirs = Object.fromEntries(
    ['RUNTIME', 'STATE', 'CONFIG'].map(one => [`IMAGO_${one}_DIR`, join(place.home, one)]),
  )
  mkdirSync(dirs.IMAGO_RUNTIME_DIR, { mode: 0o700 })
  const env = { PATH: process.env.PATH, HOME: place.home, ...dirs }
  writeFileSync(join(place.project, 'shop.py'), PROGRAM)
  const program = spawn(process.execPath, [IMAGO, 'run', '--', venvPython, 'shop.py'], {
    cwd: place.project,
    env,
    stdio: 'ignore',
  })
  const errors = () =>
    execFileSync(process.execPath, [IMAGO, 'errors'], {
      cwd: place.project,
      env,
      encoding: 'utf8',
      stdio: 'pipe',
    })
  await until(() => errors().includes('KeyError'))
  // Codex hands on neither its folder nor its environment to servers, but for what is configured.
  const set = Object.entries(dirs).map(([name, value]) => `${name}=${value}`)
  const args = [...set, process.execPath, IMAGO, 'mcp', '--root', place.project]
  const ran = await runHost(host, {
    ...place,
    bin,
    server: 'imago',
    command: '/usr/bin/env',
    args,
    calls: SESSION,
    search: 'what failed last in the running program',
  })
  const drawn = readdirSync(dirs.IMAGO_STATE_DIR, { recursive: true, withFileTypes: true })
    .filter(({ name }) => name.endsWith('.png'))
    .map(({ parentPath, name }) => readFileSync(join(parentPath, name)))
  const answers = SESSION.map((call, at) => answered({ call, at, ran, place, drawn }))
  execFileSync(process.execPath, [IMAGO, 'shutdown', '--force'], { cwd: place.project, env })
  const ended = new Promise(done => program.on('close', done))
  program.kill()
  await ended
  place.clear()
  return { tools: ran.tools[0], answers }
}

function placeOf() {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'imago-host-')))
  const project = join(home, 'project')
  mkdirSync(project)
  return {
    home,
    project,
    clear: () => rmSync(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }),
  }
}

async function until(holds) {
  for (let attempt = 0; attempt < 100; attempt++) {
    try {
      if (holds()) return
    } catch {
      // Not yet.
    }
    await new Promise(done => setTimeout(done, 200))
  }
  throw new Error('The program did not begin.')
}

/** With what is shown of it `later`, where that is something else. */
function answered({ call, at, ran, place, drawn }) {
  const [shown, later] = [ran.shown[at], ran.later[at]].map(one => told(one, place, drawn))
  return { call, shown, ...(isDeepStrictEqual(shown, later) ? {} : { later }) }
}

/** Without what is another in every run, and with what is long in short. */
function told(shown, { home }, drawn = []) {
  const text = JSON.stringify(shown ?? null)
    .replaceAll(home, '/home/ada')
    .replaceAll(
      /(saved to:?|output see:|available at:|file at) \/home\/ada\/[^\s"\\]+?(?=\.?[\s"\\])/g,
      '$1 FILE',
    )
    .replaceAll(/Wall time: [\d.]+ seconds/g, 'Wall time: 0.0000 seconds')
  return JSON.parse(text, (_, value) =>
    typeof value === 'string' ? (pictureInShort(value, drawn) ?? inShort(value)) : value,
  )
}

/** A large picture by its size, and by whether it is byte for byte one that was drawn; else undefined. */
function pictureInShort(value, drawn) {
  const [, head = '', base64] = /^(data:[\w/]+;base64,)?([\w+/]{400,}={0,2})$/.exec(value) ?? []
  const bytes = Buffer.from(base64 ?? '', 'base64')
  if (bytes.toString('latin1', 1, 4) !== 'PNG') return undefined
  const size = `${bytes.readUInt32BE(16)} × ${bytes.readUInt32BE(20)}`
  const same = drawn.some(file => file.equals(bytes))
    ? 'the bytes of its file'
    : 'other bytes than in any file'
  return `${head}{PNG, ${size}, ${same}}`
}
