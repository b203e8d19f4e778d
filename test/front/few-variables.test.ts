import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { findPaths, PACKAGE_ROOT, systemRuntimeDir } from '../../src/paths.ts'
import { readAnnouncements } from '../../wire/kernels/programs.ts'
import { assert, suite } from '../support/harness.ts'
import { openRig, type Rig, until } from '../support/rig.ts'

/** Hosts pass few variables on to their servers, and a program has all of its terminal. Both have to meet. */
const test = suite('few variables', { limitMs: 90_000 })

/** As the official sources have them: DEFAULT_ENV_VARS, getDefaultEnvironment and get_default_environment. */
const PASSED_ON: Readonly<Record<string, string>> = {
  Codex: 'HOME LOGNAME PATH SHELL USER __CF_USER_TEXT_ENCODING LANG LC_ALL TERM TMPDIR TZ',
  'the TypeScript SDK': 'HOME LOGNAME PATH SHELL TERM USER',
  'the Python SDK': 'HOME LOGNAME PATH SHELL TERM USER',
}

let rig: Rig
test.before.each(() => {
  rig = openRig({
    session: true,
    files: { 'train.py': 'import time\nstep = 7\nwhile True: time.sleep(0.1)\n' },
  })
})
test.after.each(() => rig.close())

const listening = () =>
  readAnnouncements(rig.paths.runtimeDir).programs.filter(one => one.process === 'lives')

async function train(env: Readonly<Record<string, string | undefined>> = {}) {
  rig.begin(['run', '--', 'python3', 'train.py'], { env })
  await until(() => listening().length === 1, 'the program to listen')
}

/** What a model is told by a server that was started with these variables of the terminal, and no others. */
async function asked(names: string, tool: string, args: Record<string, unknown> = {}): Promise<string> {
  const env = Object.fromEntries(Object.entries(rig.env).filter(([name]) => names.split(' ').includes(name)))
  const client = new Client({ name: 'few', version: '1' })
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [join(PACKAGE_ROOT, 'dist/src/main.cjs'), 'mcp'],
      // The transport itself adds what is usual for the SDK.
      env,
      cwd: rig.project,
    }),
  )
  try {
    return JSON.stringify((await client.callTool({ name: tool, arguments: args })).content)
  } finally {
    await client.close()
  }
}

for (const [host, names] of Object.entries(PASSED_ON))
  test(`a server with the variables of ${host} finds a program that began before any daemon`, async () => {
    await train()
    assert.match(await asked(names, 'inspect', { expr: 'step' }), '7')
    assert.match(await asked(names, 'kernels'), 'project')
    const terminal = await rig.imago(['inspect', 'step'])
    assert.match(terminal.stdout, '7', 'the terminal uses the same daemon')
  })

test('a server with few variables uses the daemon of the terminal', async () => {
  const { pid } = await rig.serve()
  assert.match(await asked('HOME PATH', 'kernels'), rig.paths.runtimeDir)
  await using client = await rig.connect()
  assert.is(client.daemon.pid, pid)
})

test('a program with few variables announces itself where the daemon looks', async () => {
  await rig.serve()
  await train({ XDG_RUNTIME_DIR: undefined })
  assert.match((await rig.imago(['inspect', 'step'])).stdout, '7')
})

test('a command that has other variables than the daemon uses it all the same', async () => {
  await rig.serve()
  const other = join(rig.folder, 'other')
  mkdirSync(other, { mode: 0o700 })
  const { code, stdout, stderr } = await rig.imago(['kernels'], { env: { XDG_RUNTIME_DIR: other } })
  assert.is(code, 0, stderr)
  assert.match(stdout, 'No kernels')
})

test('the state directory names a runtime directory that is ours, there and whole; otherwise it is as if it named none', () => {
  const folder = mkdtempSync(join(tmpdir(), 'imago-word-'))
  try {
    const [own, open, link] = [join(folder, 'own'), join(folder, 'open'), join(folder, 'link')]
    mkdirSync(own, { mode: 0o700 })
    mkdirSync(open, { mode: 0o755 })
    symlinkSync(own, link)
    const env = { HOME: folder, IMAGO_STATE_DIR: folder, XDG_RUNTIME_DIR: '/run/of/session' }
    const found = (line: string | Uint8Array) => {
      writeFileSync(join(folder, 'runtime'), line)
      return findPaths(env).runtimeDir
    }
    assert.is(found(`${own}\n`), own)
    const otherwise = '/run/of/session/imago'
    for (const line of [
      '',
      own,
      `${own.slice(0, -1)}\n`,
      `${open}\n`,
      `${link}\n`,
      'own\n',
      '/proc/1\n',
      `${'x'.repeat(5_000)}\n`,
      '/a\0b\n',
      Uint8Array.of(0xff, 0x0a),
    ])
      assert.is(found(line), otherwise, String(line).slice(0, 80))
    rmSync(join(folder, 'runtime'))
    mkdirSync(join(folder, 'runtime'))
    assert.is(findPaths(env).runtimeDir, otherwise)
    assert.is(findPaths({ ...env, IMAGO_RUNTIME_DIR: '/named' }).runtimeDir, '/named')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test('without a variable it is the directory of the system, where that is ours alone', () => {
  const users = mkdtempSync(join(tmpdir(), 'imago-users-'))
  try {
    const own = join(users, String(process.getuid?.()))
    assert.is(systemRuntimeDir(users), undefined)
    mkdirSync(own, { mode: 0o755 })
    assert.is(systemRuntimeDir(users), undefined)
    rmSync(own, { recursive: true })
    mkdirSync(own, { mode: 0o700 })
    assert.is(systemRuntimeDir(users), join(own, 'imago'))
  } finally {
    rmSync(users, { recursive: true, force: true })
  }
})

test('a daemon says in its state directory where it listens', async () => {
  await rig.serve()
  const said = readFileSync(join(rig.paths.stateDir, 'runtime'), 'utf8')
  assert.is(said, `${rig.paths.runtimeDir}\n`)
})
