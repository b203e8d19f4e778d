import { spawn } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { findPaths, PACKAGE_ROOT } from '../../src/paths.ts'
import { assert, suite } from '../support/harness.ts'
import { lives, openRig, type Rig, type RigOptions, until, within } from '../support/rig.ts'

const test = suite('daemon', { limitMs: 60_000 })

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

withRig('imago serve says where it listens and where its log is', async rig => {
  const { process } = await rig.serve()
  assert.is(process.so.stdout, `imago serves at unix:${rig.paths.socket}; its log is ${rig.paths.log}\n`)
  assert.match(readFileSync(rig.paths.log, 'utf8'), /"msg":"The daemon began\."/)
})

withRig('a second daemon ends with 2, names the first, and leaves it alone', async rig => {
  const first = await rig.serve()
  const second = await rig.imago(['serve'])
  assert.is(second.code, 2)
  assert.match(second.stderr, `A daemon runs already at ${rig.paths.socket} (process ${first.pid}`)
  assert.match(second.stderr, 'imago shutdown')
  await using client = await rig.connect()
  assert.is(client.daemon.pid, first.pid)
})

withRig('of five daemons begun at once exactly one stays', async rig => {
  const begun = Array.from({ length: 5 }, () => rig.begin(['serve']))
  await until(() => begun.filter(({ child }) => child.exitCode !== null).length === 4, 'four to end')
  assert.equal(begun.map(({ child }) => child.exitCode).sort(), [2, 2, 2, 2, null])
  await using client = await rig.connect()
  assert.is(client.daemon.pid, begun.find(({ child }) => child.exitCode === null)?.child.pid)
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

withRig('what a killed daemon left behind is replaced', async rig => {
  const { pid, process } = await rig.serve()
  process.child.kill('SIGKILL')
  await process.ended
  assert.ok(existsSync(rig.paths.socket))
  assert.is((await rig.imago(['kernels'])).code, 0)
  await using client = await rig.connect()
  assert.is.not(client.daemon.pid, pid)
  assert.is(readdirSync(rig.paths.runtimeDir).filter(name => name.startsWith('daemon.lock')).length, 1)
})

withRig('five daemons begun at once over what a killed one left: exactly one stays', async rig => {
  const { process } = await rig.serve()
  process.child.kill('SIGKILL')
  await process.ended
  const begun = Array.from({ length: 5 }, () => rig.begin(['serve']))
  await until(() => begun.filter(({ child }) => child.exitCode !== null).length === 4, 'four to end')
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

for (const [what, text] of [
  ['an empty lock', ''],
  ['a lock of rubbish', '\0\0{'],
  ['a lock that names no process', '{"pid":-1}'],
  ['a lock that names a process group', '{"pid":0,"started":""}'],
] as const)
  withRig(`${what} stops nobody (threat 29)`, async rig => {
    mkdirSync(rig.paths.runtimeDir, { mode: 0o700 })
    writeFileSync(join(rig.paths.runtimeDir, 'daemon.lock.3'), text)
    assert.is((await rig.imago(['kernels'])).code, 0)
  })

withRig('a second daemon with sockets of its own is refused the journal of the first', async rig => {
  const { pid } = await rig.serve()
  const env = { IMAGO_RUNTIME_DIR: join(rig.folder, 'other') }
  const { code, stderr } = await rig.imago(['serve'], { env })
  assert.is(code, 2)
  assert.match(stderr, `Another daemon (process ${pid}, `)
  assert.match(stderr, 'IMAGO_STATE_DIR')
})

withRig('a socket path that is too long is refused with the way out, by server and client', async rig => {
  const env = { IMAGO_RUNTIME_DIR: join(rig.folder, 'x'.repeat(120)) }
  for (const command of ['serve', 'kernels']) {
    const { code, stderr } = await rig.imago([command], { env })
    assert.is(code, 1)
    assert.match(stderr, join(env.IMAGO_RUNTIME_DIR, 'daemon.sock'))
    assert.match(stderr, 'IMAGO_RUNTIME_DIR')
  }
})

withRig(
  'a home that cannot be written is an error that names the directory, and loses nothing',
  async rig => {
    const home = join(rig.folder, 'file')
    writeFileSync(home, 'mine')
    const env = { HOME: home, IMAGO_STATE_DIR: undefined, IMAGO_CONFIG_DIR: undefined }
    for (const command of ['serve', 'kernels']) {
      const { code, stderr } = await rig.imago([command], { env })
      assert.is(code, 1)
      assert.match(stderr, join(home, '.local/state/imago'))
      assert.match(stderr, 'IMAGO_STATE_DIR')
    }
    assert.is(readFileSync(home, 'utf8'), 'mine')
  },
)

withRig('a runtime directory that cannot be made is an error that names it', async rig => {
  writeFileSync(join(rig.folder, 'file'), '')
  const env = { IMAGO_RUNTIME_DIR: join(rig.folder, 'file/run') }
  const { code, stderr } = await rig.imago(['kernels'], { env })
  assert.is(code, 1)
  assert.match(stderr, env.IMAGO_RUNTIME_DIR)
})

withRig('a runtime directory that the system will not look at is an error that names it', async rig => {
  symlinkSync('loop', join(rig.folder, 'loop'))
  const env = { IMAGO_RUNTIME_DIR: join(rig.folder, 'loop/run') }
  for (const [command, what] of [
    ['serve', 'made or written: '],
    ['kernels', 'looked at: ELOOP'],
  ] as const) {
    const { code, stderr } = await rig.imago([command], { env })
    assert.is(code, 1)
    assert.match(stderr, `directory ${env.IMAGO_RUNTIME_DIR} cannot be ${what}`)
    assert.match(stderr, 'set IMAGO_RUNTIME_DIR to another one.')
  }
})

if (process.platform === 'linux')
  withRig('a directory where none can be made, though its parent says otherwise, is an error', async rig => {
    for (const name of ['IMAGO_STATE_DIR', 'IMAGO_RUNTIME_DIR']) {
      const { code, stderr } = await rig.imago(['kernels'], { env: { [name]: '/proc/nope/deeper' } })
      assert.is(code, 1)
      assert.match(stderr, /The directory \/proc\/nope\/deeper cannot be made or written: ENOENT/)
      assert.match(stderr, name)
    }
  })

withRig(
  'a runtime directory that others can enter is closed before a socket is in it (threat 28)',
  async rig => {
    mkdirSync(rig.paths.runtimeDir)
    chmodSync(rig.paths.runtimeDir, 0o777)
    await rig.serve()
    assert.is(statSync(rig.paths.runtimeDir).mode & 0o777, 0o700)
  },
)

withRig('directories made under an open umask are private (threat 28)', async rig => {
  const script = 'umask 000; exec "$0" "$@"'
  const main = join(PACKAGE_ROOT, 'dist/src/main.js')
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

for (const [what, config, says] of [
  ['an unknown key', '[daemon]\nidel_minutes = 3\n', /config\.toml: there is no key daemon\.idel_minutes/],
  ['an unknown section', '[demon]\n', /there is no key demon/],
  ['a value of the wrong type', '[calls]\npatience_seconds = "long"\n', /calls\.patience_seconds/],
  ['what is not TOML', '[daemon\n', /config\.toml is not TOML/],
] as const)
  withRig(
    `${what} in the user's configuration ends the daemon's start with its name`,
    async rig => {
      for (const command of ['serve', 'kernels']) {
        const { code, stderr } = await rig.imago([command])
        assert.is(code, 1)
        assert.match(stderr, says)
      }
    },
    { config },
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
    tool: 'eval_expr',
    args: { expr: 'import time\nprint("on", flush=True)\ntime.sleep(600)' },
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
        tool: 'eval_expr',
        args: { expr: 'import time\nprint("on", flush=True)\ntime.sleep(600)' },
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
  assert.match(runtimeDir, /^\/t\/imago-/)
  assert.is(stateDir, '/home/ada/.local/state/imago')
  assert.is(configDir, '/home/ada/.config/imago')
  const env = { HOME: home, XDG_RUNTIME_DIR: '/run/user/7', XDG_CONFIG_HOME: '/c', IMAGO_STATE_DIR: '/s' }
  const { socket, stateDir: named, configDir: xdg } = findPaths(env)
  assert.equal([socket, named, xdg], ['/run/user/7/imago/daemon.sock', '/s', '/c/imago'])
})
