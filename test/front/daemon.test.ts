import { spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { claimInstance } from '../../src/instance.ts'
import { findPaths, PACKAGE_ROOT, systemRuntimeDir } from '../../src/paths.ts'
import { assert, suite } from '../support/harness.ts'
import { lives, openRig, type Rig, type RigOptions, type RunOptions, until, within } from '../support/rig.ts'

const test = suite('daemon', { limitMs: 60_000 })

const ENDLESS = {
  tool: 'eval_expr',
  args: { expr: 'import time\nprint("on", flush=True)\ntime.sleep(600)' },
}

/** Each test is a user of their own. */
function withRig(fact: string, body: (rig: Rig) => Promise<void>, options: RigOptions = {}) {
  test(fact, async () => {
    const rig = openRig(options)
    try {
      await body(rig)
    } finally {
      await rig.close()
    }
  })
}

withRig('a second daemon ends with 2, names the first, and leaves it alone', async rig => {
  const first = await rig.serve()
  const second = await rig.imago(['serve'])
  assert.is(second.code, 2)
  assert.match(second.stderr, `A daemon runs already at ${rig.paths.socket} (process ${first.pid}`)
  assert.match(second.stderr, 'imago shutdown')
  await using client = await rig.connect()
  assert.is(client.daemon.pid, first.pid)
})

withRig('commands that need a daemon at once start one, in a session of its own', async rig => {
  const ran = await Promise.all(Array.from({ length: 4 }, () => rig.imago(['kernels'])))
  assert.equal(
    ran.map(({ code }) => code),
    [0, 0, 0, 0],
  )
  assert.is(readFileSync(rig.paths.log, 'utf8').match(/The daemon began/g)?.length, 1)
  await using client = await rig.connect()
  const fields = readFileSync(`/proc/${client.daemon.pid}/stat`, 'utf8').split(' ')
  assert.is(Number(fields[5]), client.daemon.pid)
})

withRig('of five daemons begun at once over what a killed one left, exactly one stays', async rig => {
  const { process } = await rig.serve()
  process.child.kill('SIGKILL')
  await process.ended
  const begun = Array.from({ length: 5 }, () => rig.begin(['serve']))
  await until(() => begun.filter(({ child }) => child.exitCode !== null).length === 4, 'four to end')
  assert.equal(begun.map(({ child }) => child.exitCode).sort(), [2, 2, 2, 2, null])
  assert.is(readdirSync(rig.paths.runtimeDir).filter(name => name.startsWith('daemon.lock')).length, 1)
  await begun.find(({ child }) => child.exitCode === null)?.says(/serves at/)
  await using client = await rig.connect()
  assert.is(client.daemon.pid, begun.find(({ child }) => child.exitCode === null)?.child.pid)
})

withRig(
  'the process number of a dead daemon, used again, is neither believed nor signalled (threat 29)',
  async rig => {
    const stranger = spawn('sleep', ['600'], { stdio: 'ignore' })
    try {
      mkdirSync(rig.paths.runtimeDir, { mode: 0o700 })
      const lock = { pid: stranger.pid, started: 'long ago', nonce: 'x', version: '0.1.0' }
      writeFileSync(join(rig.paths.runtimeDir, 'daemon.lock.7'), JSON.stringify(lock))
      assert.is((await rig.imago(['kernels'])).code, 0)
      assert.is((await rig.imago(['shutdown', '--force'])).code, 0)
      assert.is(stranger.exitCode ?? stranger.signalCode, null)
      assert.ok(lives(stranger.pid ?? 0))
    } finally {
      stranger.kill('SIGKILL')
    }
  },
)

for (const text of ['', '\0\0{', '{"pid":-1}', '{"pid":0,"started":""}'])
  test(`a lock of ${JSON.stringify(text)} stops nobody (threat 29)`, async () => {
    const dir = mkdtempSync(join(tmpdir(), 'imago-lock-'))
    try {
      writeFileSync(join(dir, 'daemon.lock.3'), text)
      const claim = await claimInstance({ dir, version: '1', listens: async () => false })
      assert.is(claim.type, 'held')
    } finally {
      rmSync(dir, { recursive: true })
    }
  })

for (const [what, envOf, says, commands] of [
  [
    'a socket path that is too long',
    folder => ({ IMAGO_RUNTIME_DIR: join(folder, 'x'.repeat(120)) }),
    /x{120}\/daemon\.sock.*IMAGO_RUNTIME_DIR/s,
    ['serve', 'kernels'],
  ],
  [
    'a home that cannot be written',
    folder => ({ HOME: join(folder, 'file'), IMAGO_STATE_DIR: undefined, IMAGO_CONFIG_DIR: undefined }),
    /file\/\.local\/state\/imago.*IMAGO_STATE_DIR/s,
    ['serve', 'kernels'],
  ],
  [
    'a runtime directory that the system will not look at',
    folder => ({ IMAGO_RUNTIME_DIR: join(folder, 'loop/run') }),
    /loop\/run cannot be looked at: ELOOP.*set IMAGO_RUNTIME_DIR to another one\./s,
    ['kernels'],
  ],
  [
    'a directory where none can be made, though its parent says otherwise,',
    () => ({ IMAGO_STATE_DIR: '/proc/nope/deeper' }),
    /The directory \/proc\/nope\/deeper cannot be made or written: ENOENT.*IMAGO_STATE_DIR/s,
    ['kernels'],
  ],
] as readonly (readonly [string, (folder: string) => RunOptions['env'], RegExp, string[]])[])
  withRig(`${what} is an error that names it and the way out, and loses nothing`, async rig => {
    writeFileSync(join(rig.folder, 'file'), 'mine')
    symlinkSync('loop', join(rig.folder, 'loop'))
    for (const command of commands) {
      const { code, stderr } = await rig.imago([command], { env: envOf(rig.folder) ?? {} })
      assert.is(code, 1)
      assert.match(stderr, says)
    }
    assert.is(readFileSync(join(rig.folder, 'file'), 'utf8'), 'mine')
  })

withRig('a runtime directory open to others is closed before a socket is in it (threat 28)', async rig => {
  mkdirSync(rig.paths.runtimeDir)
  chmodSync(rig.paths.runtimeDir, 0o777)
  await rig.serve()
  assert.is(statSync(rig.paths.runtimeDir).mode & 0o777, 0o700)
})

withRig('directories made under an open umask are private (threat 28)', async rig => {
  const script = 'umask 000; exec "$0" "$@"'
  const main = join(PACKAGE_ROOT, 'dist/src/main.cjs')
  const child = spawn('/bin/sh', ['-c', script, process.execPath, main, 'kernels'], {
    env: rig.env,
    stdio: 'ignore',
  })
  await within(new Promise(resolve => child.on('exit', resolve)), 'imago kernels')
  for (const path of [rig.paths.runtimeDir, rig.paths.stateDir, rig.paths.configDir])
    assert.is(statSync(path).mode & 0o077, 0)
  for (const name of readdirSync(rig.paths.stateDir))
    assert.is(statSync(join(rig.paths.stateDir, name)).mode & 0o077, 0, name)
})

withRig('a link planted for the runtime directory is refused by server and client (threat 28)', async rig => {
  const planted = join(rig.folder, 'planted')
  mkdirSync(planted, { mode: 0o700 })
  symlinkSync(planted, rig.paths.runtimeDir)
  for (const command of ['serve', 'kernels']) {
    const { code, stderr } = await rig.imago([command])
    assert.is(code, 1)
    assert.match(stderr, /symbolic link/)
  }
  assert.equal(readdirSync(planted), [])
})

if (process.getuid?.() === 0)
  withRig('a runtime directory of somebody else is refused by server and client (threat 28)', async rig => {
    mkdirSync(rig.paths.runtimeDir, { mode: 0o700 })
    chownSync(rig.paths.runtimeDir, 12_345, 12_345)
    for (const command of ['serve', 'kernels']) {
      const { code, stderr } = await rig.imago([command])
      assert.is(code, 1)
      assert.match(stderr, /belongs to user 12345/)
    }
  })
else test.skip('a runtime directory of somebody else is refused (threat 28)', 'only root can make one')

withRig(
  'a second runtime directory over one state directory is refused at once, with its cause and what to do',
  async rig => {
    const { pid } = await rig.serve()
    const env = { IMAGO_RUNTIME_DIR: join(rig.folder, 'other-run') }
    for (const command of ['serve', 'kernels']) {
      const { code, stderr } = await rig.imago([command], { env })
      assert.is(code, 1)
      assert.match(stderr, `Another daemon (process ${pid}, `)
      assert.match(
        stderr,
        /keeps its journal in .*, and serves another runtime directory than .*other-run\. Set IMAGO_RUNTIME_DIR/,
      )
    }
    // The command has not tried it again and again: it has begun one daemon.
    assert.is(readFileSync(rig.paths.errorLog, 'utf8').split('keeps its journal').length - 1, 1)
  },
)

withRig('where a program may open too few files, the limit is named, and what to do', async rig => {
  for (const command of ['serve', 'kernels']) {
    const main = join(PACKAGE_ROOT, 'dist/src/main.cjs')
    const line = `ulimit -n 64; exec "$0" "$@"`
    const ran = spawnSync('sh', ['-c', line, process.execPath, main, command], {
      cwd: rig.project,
      env: rig.env,
      encoding: 'utf8',
    })
    assert.is(ran.status, 1)
    assert.match(
      ran.stderr,
      /^imago: A program may open no more than 64 files at once here \(ulimit -n\), .*: ulimit -n 1024\./,
    )
  }
})

withRig(
  "an unknown key in the user's configuration ends the daemon's start with its name",
  async rig => {
    for (const command of ['serve', 'kernels']) {
      const { code, stderr } = await rig.imago([command])
      assert.is(code, 1)
      assert.match(stderr, /config\.toml: there is no key daemon\.idel_minutes/)
    }
  },
  { config: '[daemon]\nidel_minutes = 3\n' },
)

withRig(
  'a daemon that nobody needs ends by itself, and one that somebody needs does not',
  async rig => {
    const { process } = await rig.serve()
    const client = await rig.connect()
    await new Promise(resolve => setTimeout(resolve, 2_400))
    assert.is((await client.request('start', { language: 'python', name: 'kept' })).state, 'ready')
    await client.close()
    await new Promise(resolve => setTimeout(resolve, 2_400))
    const again = await rig.connect()
    assert.is((await again.request('kernels', {})).kernels[0]?.state, 'ready')
    await again.request('stop', { name: 'kept' })
    await again.close()
    assert.is((await within(process.ended, 'the daemon to end')).code, 0)
  },
  // Two seconds, in which the client has to come even on a slow machine.
  { config: '[daemon]\nidle_minutes = 0.033\n' },
)

withRig('SIGTERM ends kernels in order, answers what runs, and leaves no socket', async rig => {
  const { process } = await rig.serve()
  await using client = await rig.connect()
  const note = join(rig.folder, 'atexit')
  await client.call({
    tool: 'eval_expr',
    args: { expr: `import atexit\natexit.register(lambda: open(${JSON.stringify(note)}, 'w').close())` },
  })
  const running = client.call({
    ...ENDLESS,
    on: event => event.type === 'output' && process.child.kill('SIGTERM'),
  })
  const envelope = await within(running, 'the answer of what ran')
  assert.is(envelope.ok, false)
  assert.is((await within(process.ended, 'the daemon to end')).code, 0)
  assert.ok(existsSync(note), 'atexit ran')
  assert.not.ok(existsSync(rig.paths.socket))
})

withRig('imago shutdown is refused while something runs, says what, and goes on with --force', async rig => {
  const { process } = await rig.serve()
  await using client = await rig.connect()
  const started = new Promise<void>(resolve => {
    void client
      .call({
        ...ENDLESS,
        on: event => event.type === 'output' && resolve(),
      })
      .catch(() => {})
  })
  await within(started, 'the code to run')
  const refused = await rig.imago(['shutdown'])
  assert.is(refused.code, 1)
  assert.match(
    refused.stderr,
    /^imago: The kernel project has run a call for .*\.\nimago shutdown --force ends it all the same\.\n$/,
  )
  assert.is((await rig.imago(['shutdown', '--force'])).code, 0)
  assert.is((await within(process.ended, 'the daemon to end')).code, 0)
})

withRig('a secret of the environment reaches neither the kernel nor any file of the daemon', async rig => {
  const env = { MY_API_TOKEN: 'canary-7d1f', HARMLESS: 'seen' }
  const expr = 'import os; (os.environ.get("MY_API_TOKEN"), os.environ.get("HARMLESS"))'
  const { stdout } = await rig.imago(['call', 'eval_expr', JSON.stringify({ expr }), '--json'], { env })
  assert.is(JSON.parse(stdout).result.value_repr, "(None, 'seen')")
  const daemon = (await rig.connect()).daemon.pid
  assert.not.match(readFileSync(`/proc/${daemon}/environ`, 'utf8'), 'canary')
  for (const name of readdirSync(rig.paths.stateDir, { recursive: true, encoding: 'utf8' })) {
    const path = join(rig.paths.stateDir, name)
    if (statSync(path).isFile()) assert.not.match(readFileSync(path, 'utf8'), 'canary', name)
  }
})

test('relative XDG directories are ignored, and IMAGO variables come first', () => {
  const home = '/home/ada'
  const { runtimeDir, stateDir, configDir } = findPaths({ HOME: home, TMPDIR: '/t', XDG_STATE_HOME: 'state' })
  assert.is(runtimeDir, systemRuntimeDir() ?? `/t/imago-${process.getuid?.()}`)
  assert.is(stateDir, '/home/ada/.local/state/imago')
  assert.is(configDir, '/home/ada/.config/imago')
  const env = { HOME: home, XDG_RUNTIME_DIR: '/run/user/7', XDG_CONFIG_HOME: '/c', IMAGO_STATE_DIR: '/s' }
  const { socket, stateDir: named, configDir: xdg } = findPaths(env)
  assert.equal([socket, named, xdg], ['/run/user/7/imago/daemon.sock', '/s', '/c/imago'])
})
