import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { onlyEnvelope } from '../support/envelopes.ts'
import { assert, suite } from '../support/harness.ts'
import { type Program, type ProgramOptions, startProgram } from '../support/program.ts'
import { lives, openRig, type Ran, type Rig, until, within } from '../support/rig.ts'

/** Real programs of the user's, attached to through the commands. */
const test = suite('attaching by command', { limitMs: 90_000 })

type Start = (options?: Partial<ProgramOptions>) => Promise<Program>

function withRig(fact: string, body: (rig: Rig, start: Start) => Promise<void>) {
  test(fact, async () => {
    const rig = openRig()
    const begun: Program[] = []
    try {
      await body(rig, async options => {
        const { runtimeDir } = rig.paths
        const program = await startProgram({ folder: rig.project, runtimeDir, ...options })
        begun.push(program)
        return program
      })
    } finally {
      for (const program of begun) program.signal('SIGKILL')
      await Promise.all(begun.map(({ ended }) => ended))
      await rig.close()
    }
  })
}

const KEY = '0123456789abcdef0123456789abcdef'

function resultOf(ran: Ran): Readonly<Record<string, unknown>> {
  const envelope = onlyEnvelope(ran)
  if (!envelope.ok) throw new Error(ran.stdout)
  return envelope.result as Readonly<Record<string, unknown>>
}

function errorOf(ran: Ran) {
  const envelope = onlyEnvelope(ran)
  if (envelope.ok) throw new Error(ran.stdout)
  return envelope.error
}

const evaluated = async (rig: Rig, expr: string, more: readonly string[] = []) =>
  resultOf(await rig.imago(['call', 'eval_expr', JSON.stringify({ expr }), '--json', ...more])).value_repr

withRig(
  'a program is listed, attached to, looked into, changed, and let go of, and runs all the while',
  async (rig, start) => {
    const program = await start({ source: 'orders = [1, 2, 3]' })
    const listed = await rig.imago(['kernels'])
    assert.match(
      listed.stdout,
      /^No kernels\..*\n\nCan be attached to:\n {2}imago attach web {2}process \d+ .*web\.py\n$/,
    )
    const joined = await rig.imago(['attach', 'web'])
    assert.is(joined.code, 0, joined.stderr)
    assert.match(
      joined.stdout,
      new RegExp(`^web {2}ready {2}${program.pid} .*attached to web\\.py\nUse it with`),
    )
    assert.match((await rig.imago(['call', 'list_globals'])).stdout, /orders: list/)
    assert.is(await evaluated(rig, 'orders.append(4); len(orders)'), '4')
    const table = (await rig.imago(['kernels'])).stdout
    assert.match(
      table,
      /^KERNEL +STATE +PROCESS +PROJECT +WHAT IT IS\nweb +ready +\d+ .*CPython .*, attached to web\.py\n$/,
    )
    const detached = await rig.imago(['detach', 'web'])
    assert.is(
      detached.stdout,
      `Let go of web (process ${program.pid}), which runs on. To join it again: imago attach ${program.pid}\n`,
    )
    assert.match((await rig.imago(['kernels'])).stdout, /^No kernels\..*\n\nCan be attached to:\n/)
    assert.is(resultOf(await rig.imago(['attach', String(program.pid), '--json'])).owned, false)
    assert.is(await evaluated(rig, 'len(orders)'), '4')
    assert.is(program.printed(), '')
    assert.is(lives(program.pid), true)
  },
)

withRig(
  'the journal names the attached kernel, and who asked is in the history of the program',
  async (rig, start) => {
    await start()
    await rig.imago(['attach', 'web', '--name', 'server'])
    await evaluated(rig, '6 * 7')
    const { IMAGO_STATE_DIR = '' } = rig.env
    const entries = readFileSync(join(IMAGO_STATE_DIR, 'journal/000001.jsonl'), 'utf8')
    assert.match(entries, /"kernel":"server"/)
    const history = await rig.imago(['call', 'get_repl_history', '{}', '--json'])
    assert.match(JSON.stringify(resultOf(history)), /imago call/)
  },
)

withRig(
  'a program that starts itself anew is listed with its child, and a package that is run by its folder',
  async (rig, start) => {
    // The child ends with its parent, whose end of the pipe is then closed.
    const source = `import os, subprocess, sys, threading
if 'CHILD' in os.environ:
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
else:
    env = dict(os.environ, CHILD='1')
    child = subprocess.Popen([sys.executable, *sys.argv], env=env, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)`
    const { pid } = await start({ source, name: '__main__' })
    const listed = async () => (await rig.imago(['kernels'])).stdout
    await until(async () => /child of/.test(await listed()), 'the child to listen')
    const folder = basename(rig.project)
    // Either may be the first: the numbers of processes begin anew at the largest.
    const lines = await listed()
    assert.match(lines, new RegExp(`process ${pid} .*, ${folder}$`, 'm'))
    assert.match(lines, new RegExp(`process \\d+, child of ${pid} .*, ${folder}$`, 'm'))
  },
)

withRig(
  'two programs of one name are refused with both, and each is reached by its process',
  async (rig, start) => {
    const both = [await start(), await start()]
    const error = errorOf(await rig.imago(['attach', 'web', '--json']))
    assert.is(error.code, 'no_such_kernel')
    for (const { pid } of both) assert.match(error.message, `web-${pid}`)
    for (const { pid } of both) {
      const row = resultOf(await rig.imago(['attach', `web-${pid}`, '--json']))
      assert.is(row.pid, pid)
    }
    assert.is((await rig.imago(['attach', 'web'])).code, 4)
  },
)

withRig(
  'a program at a port is attached to by its address with its key, from a file or the environment',
  async (rig, start) => {
    const program = await start({ listen: `port=0, key="${KEY}"` })
    assert.match(program.address, /^tcp:127\.0\.0\.1:\d+$/)
    const file = join(rig.folder, 'key')
    writeFileSync(file, `${KEY}\n`, { mode: 0o644 })
    assert.match(
      (await rig.imago(['attach', program.address])).stderr,
      /that key is needed to attach\.\nGive it with --key-file/,
    )
    const wrong = await rig.imago(['attach', program.address, '--json'], {
      env: { IMAGO_KEY: 'f'.repeat(32) },
    })
    assert.is(errorOf(wrong).details.reason, 'NOT_AUTHENTICATED')
    assert.match(errorOf(wrong).message, 'does not know the key that was given')
    const open = await rig.imago(['attach', program.address, '--key-file', file])
    assert.is(open.code, 2)
    assert.match(open.stderr, /is open to others \(mode 644\), so the secret in it is not used: chmod 600 /)
    chmodSync(file, 0o600)
    const byFile = await rig.imago(['attach', program.address, '--key-file', 'key', '--json'], {
      cwd: rig.folder,
    })
    assert.is(resultOf(byFile).pid, program.pid)
    await rig.imago(['detach', String(resultOf(byFile).name)])
    const byEnv = await rig.imago(['attach', 'web', '--json'], { env: { IMAGO_KEY: KEY } })
    assert.is(resultOf(byEnv).pid, program.pid)
    const state = rig.env.IMAGO_STATE_DIR ?? ''
    for (const name of ['attached.json', 'daemon.log', 'journal/000001.jsonl'])
      if (existsSync(join(state, name))) assert.not.match(readFileSync(join(state, name), 'utf8'), KEY)
    const missing = await rig.imago(['attach', 'web', '--key-file', 'nowhere'])
    assert.is(missing.code, 2)
  },
)

withRig(
  'attaching twice is told as what it is; another daemon is told that the program is occupied',
  async (rig, start) => {
    const program = await start()
    await rig.imago(['attach', 'web', '--name', 'server'])
    const twice = await rig.imago(['attach', 'web'])
    assert.is(twice.code, 1)
    assert.is(
      twice.stderr,
      `imago: Process ${program.pid} is attached already, as server.\nUse it with: --kernel server\n`,
    )
    const other = openRig()
    try {
      const folder = join(other.paths.runtimeDir, 'programs')
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      const announced = join(rig.paths.runtimeDir, 'programs')
      const [file = ''] = readdirSync(announced).filter(name => name.endsWith('.json'))
      writeFileSync(join(folder, file), readFileSync(join(announced, file)), { mode: 0o600 })
      const error = errorOf(await other.imago(['attach', 'web', '--json']))
      assert.is(error.details.reason, 'occupied')
      assert.match(error.message, 'is attached to another daemon')
      assert.is(await evaluated(rig, '1'), '1')
      await rig.imago(['detach', 'server'])
      assert.is(resultOf(await other.imago(['attach', 'web', '--json'])).pid, program.pid)
    } finally {
      await other.close()
    }
  },
)

withRig('stop and restart are refused, with detach named, and the program lives on', async (rig, start) => {
  const program = await start()
  await rig.imago(['attach', 'web'])
  for (const command of ['stop', 'restart']) {
    const { code, stderr } = await rig.imago([command, 'web'])
    assert.is(code, 1)
    assert.match(
      stderr,
      /Imago never ends such a program\.\nimago detach web lets go of it, and it runs on\n$/,
    )
  }
  assert.is(lives(program.pid), true)
  assert.is(await evaluated(rig, '1'), '1')
})

withRig(
  'a program that ends while attached is told in its row, and in the call that it took along (fault 1)',
  async (rig, start) => {
    const program = await start()
    await rig.imago(['attach', 'web'])
    const call = rig.begin([
      'call',
      'eval_expr',
      '{"expr":"print(1); import time; time.sleep(600)"}',
      '--json',
    ])
    await until(() => call.so.stderr.includes('1'), 'the code to run')
    program.signal('SIGKILL')
    const error = errorOf(await within(call.ended, 'the call to end'))
    assert.is(error.code, 'outcome_unknown')
    assert.match(error.message, `web has ended (process ${program.pid})`)
    assert.match(error.next ?? '', 'A person can, and attach to it')
    assert.match(
      (await rig.imago(['kernels'])).stdout,
      /\nweb +ended +- .*\n {4}web has ended \(process \d+\)\. Once it listens again: imago attach web\n$/,
    )
    const after = errorOf(await rig.imago(['call', 'list_globals', '{}', '--json']))
    assert.is(after.code, 'kernel_unavailable')
    assert.is(after.next, 'Once it listens again: imago attach web')
    const again = await start()
    assert.is(resultOf(await rig.imago(['attach', 'web', '--json'])).pid, again.pid)
    assert.is(await evaluated(rig, '1'), '1')
  },
)

withRig(
  'what a killed program left over is removed, and its process number is signalled by nobody (threat 29)',
  async (rig, start) => {
    const program = await start()
    const folder = join(rig.paths.runtimeDir, 'programs')
    const files = () => (existsSync(folder) ? readdirSync(folder) : [])
    program.signal('SIGKILL')
    await program.ended
    assert.is(files().length, 2)
    const error = errorOf(await rig.imago(['attach', 'web', '--json']))
    assert.is(error.code, 'no_such_kernel')
    assert.match(error.message, `process ${program.pid} is gone`)
    assert.equal(files(), [])

    const living = await start()
    const [file = ''] = files().filter(name => name.endsWith('.json'))
    const said = JSON.parse(readFileSync(join(folder, file), 'utf8'))
    const stale = { ...said, name: 'old', started: 'another-boot:1', address: `unix:${folder}/old.sock` }
    writeFileSync(join(folder, 'old.json'), JSON.stringify(stale), { mode: 0o600 })
    const recycled = errorOf(await rig.imago(['attach', 'old', '--json']))
    assert.is(recycled.details.reason, 'recycled')
    assert.match(recycled.message, 'the number of another process now, which was left alone')
    assert.is(lives(living.pid), true)
  },
)
