import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DaemonClient } from '../../src/front/client.ts'
import { readAnnouncements } from '../../wire/kernels/programs.ts'
import { onlyEnvelope } from '../support/envelopes.ts'
import { endPrograms, fakeProgram } from '../support/fake-program.ts'
import { assert, suite } from '../support/harness.ts'
import { type Program, type ProgramOptions, startProgram } from '../support/program.ts'
import { lives, openRig, type Ran, type Rig, type RigOptions, until, within } from '../support/rig.ts'

/** Real programs of the user's, attached to through the commands, and what they go through when daemons and links end. */
const test = suite('attaching by command', { limitMs: 90_000 })

interface Stage {
  readonly rig: Rig
  start(options?: Partial<ProgramOptions>): Promise<Program>
}

function withRig(fact: string, body: (stage: Stage) => Promise<void>, options: RigOptions = {}) {
  test(fact, async () => {
    const rig = openRig(options)
    const begun: Program[] = []
    try {
      await body({
        rig,
        async start(options) {
          const { runtimeDir } = rig.paths
          const program = await startProgram({ folder: rig.project, runtimeDir, ...options })
          begun.push(program)
          return program
        },
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

const valueIn = async (rig: Rig, expr: string, more: readonly string[] = []) =>
  resultOf(await rig.imago(['call', 'eval_expr', JSON.stringify({ expr }), '--json', ...more])).value_repr

withRig(
  'a program is listed, attached to, looked into, changed, and let go of, and runs all the while',
  async ({ rig, start }) => {
    const program = await start({ source: 'orders = [1, 2, 3]' })
    const listed = await rig.imago(['kernels'])
    assert.match(listed.stdout, /^Can be attached to:\n {2}imago attach web {2}process \d+ .*web\.py\n$/)
    const joined = await rig.imago(['attach', 'web'])
    assert.is(joined.code, 0, joined.stderr)
    assert.match(
      joined.stdout,
      new RegExp(
        `^web {2}ready {2}${program.pid} .*attached to web\\.py, its errors are noted\nCalls without --kernel go there from now on`,
      ),
    )
    assert.match((await rig.imago(['call', 'list_globals'])).stdout, /orders: list/)
    assert.is(await valueIn(rig, 'orders.append(4); len(orders)'), '4')
    const table = (await rig.imago(['kernels'])).stdout
    assert.match(
      table,
      /^KERNEL +STATE +PROCESS +PROJECT +WHAT IT IS\nweb +ready +\d+ .*CPython .*, attached to web\.py, its errors are noted\n$/,
    )
    const detached = await rig.imago(['detach', 'web'])
    assert.is(
      detached.stdout,
      `Let go of web (process ${program.pid}), which runs on. To join it again: imago attach ${program.pid}\n`,
    )
    assert.match((await rig.imago(['kernels'])).stdout, /^Can be attached to:\n/)
    assert.is(resultOf(await rig.imago(['attach', String(program.pid), '--json'])).owned, false)
    assert.is(await valueIn(rig, 'len(orders)'), '4')
    assert.is(program.printed(), '')
    assert.is(lives(program.pid), true)
  },
)

withRig(
  'a program at a port is attached to by its address with its key, from a file or the environment',
  async ({ rig, start }) => {
    const program = await start({ listen: `port=0, key="${KEY}"` })
    assert.match(program.address, /^tcp:127\.0\.0\.1:\d+$/)
    const file = join(rig.project, 'key')
    writeFileSync(file, `${KEY}\n`, { mode: 0o644 })
    assert.match(
      (await rig.imago(['attach', program.address])).stderr,
      /that key is needed to attach\.\nGive it with --key-file/,
    )
    const unnamed = await rig.imago(['attach', ''])
    assert.is(unnamed.code, 2)
    assert.match(unnamed.stderr, 'The name of the program is empty. Name one that imago kernels lists')
    const wrong = await rig.imago(['attach', program.address, '--json'], {
      env: { IMAGO_KEY: 'f'.repeat(32) },
    })
    assert.is(errorOf(wrong).details.reason, 'NOT_AUTHENTICATED')
    assert.match(errorOf(wrong).message, 'does not know the key that was given')
    const open = await rig.imago(['attach', program.address, '--key-file', file])
    assert.is(open.code, 2)
    assert.match(open.stderr, /is open to others \(mode 644\), so the secret in it is not used: chmod 600 /)
    chmodSync(file, 0o600)
    const byFile = await rig.imago(['attach', program.address, '--key-file', 'key', '--json'])
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
  'a program with a key of its own is named with the line for a person by a look, an evaluation, the lists and an attach, and after its end',
  async ({ rig, start }) => {
    const program = await start({ source: 'n = 41', listen: `port=0, key="${KEY}"` })
    const line = 'imago attach web --key-file FILE'
    assert.match((await rig.imago(['kernels'])).stdout, `\n  ${line}  process ${program.pid}`)
    assert.match((await rig.imago(['call', 'kernels'])).stdout, `It needs its key: ${line}`)
    for (const asked of [
      ['inspect', 'n'],
      ['inspect', 'n', '--kernel', 'web'],
      ['call', 'attach', 'name=web'],
      ['call', 'attach', `{"name":"${program.pid}"}`],
    ]) {
      const { code, stdout, stderr } = await rig.imago(asked)
      assert.is(code, 4, stdout + stderr)
      assert.match(stderr, `web (process ${program.pid}) listens, and needs its key.`)
      assert.match(stderr, new RegExp(`A person types: imago attach web(-${program.pid})? --key-file FILE\n`))
      assert.not.match(stderr, 'No program')
    }
    const { code, stderr } = await rig.imago(['eval', '6 * 7'])
    assert.is(code, 0)
    assert.match(stderr, 'is a new and empty image: nothing of a running program is in it. web (process')
    assert.match(stderr, new RegExp(`A person types: imago attach web(-${program.pid})? --key-file FILE\n`))
    const file = join(rig.project, 'key')
    writeFileSync(file, KEY, { mode: 0o600 })
    assert.is((await rig.imago(['attach', 'web', '--key-file', file])).code, 0)
    assert.match((await rig.imago(['inspect', 'n'])).stdout, '41')
    program.signal('SIGKILL')
    await program.ended
    await until(async () => /^web +ended/m.test((await rig.imago(['kernels'])).stdout), 'its end to be known')
    const after = await rig.imago(['inspect', 'n'])
    assert.match(after.stderr, `Once it listens again: imago attach web --key-file ${file}\n`)
  },
)

withRig(
  'what names a process that another one listens for is not listed, and attach says so',
  async ({ rig }) => {
    const { runtimeDir } = rig.paths
    await fakeProgram({ runtimeDir, name: 'honest', announced: { cwd: rig.project } })
    await fakeProgram({
      runtimeDir,
      name: 'liar',
      announced: { pid: 1, started: 'another:1', cwd: rig.project },
    })
    try {
      assert.match(
        (await rig.imago(['kernels'])).stdout,
        /^Can be attached to:\n {2}imago attach honest {2}process .*\n$/,
      )
      assert.match(
        (await rig.imago(['attach', 'liar'])).stderr,
        /named process 1, and process \d+ answers there/,
      )
    } finally {
      await endPrograms()
    }
  },
)

withRig(
  'a program that ends while attached is told in its row, and in the call that it took along (fault 1)',
  async ({ rig, start }) => {
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
    assert.match(error.next ?? '', 'before deciding to run anything again. What takes the place')
    assert.match(
      (await rig.imago(['kernels'])).stdout,
      /\nweb +ended +- .*\n {4}web has ended \(process \d+\)\. Nothing has taken its place so far\..* as web\..*\n$/,
    )
    const after = errorOf(await rig.imago(['call', 'list_globals', '{}', '--patience', '0', '--json']))
    assert.is(after.code, 'kernel_unavailable')
    assert.match(after.next ?? '', `What process ${process.pid} starts next takes its place as web.`)
    const again = await start()
    assert.is(await valueIn(rig, '__import__("os").getpid()'), String(again.pid))
  },
)

/** The programs of these tests are started by their process, and so are their successors. */
const FOLLOWED =
  `Nothing has taken its place so far. What process ${process.pid} starts next takes its place as web. ` +
  'Tools for files work meanwhile.'

// When daemons and links end

const rowOf = async (client: DaemonClient) => {
  const [row] = (await client.request('kernels', {})).kernels
  if (row === undefined) throw new Error('there is no kernel')
  return row
}

const evaluate = (client: DaemonClient, expr: string, call?: string) =>
  client.call({ tool: 'eval_expr', args: { expr }, ...(call === undefined ? {} : { call }) })

/** Writes a mark each time it is begun, waits for a file to be there, and has a value. */
const awaiting = (rig: Rig) =>
  `import os, time
with open("ran", "a") as file: _ = file.write("x")
while not os.path.exists(${JSON.stringify(join(rig.project, 'go'))}): time.sleep(0.01)
"kept"`

function textIn(rig: Rig, name: string): string {
  try {
    return readFileSync(join(rig.project, name), 'utf8')
  } catch {
    return ''
  }
}

withRig(
  'a daemon that is killed and started again joins the same image, and the program notices nothing (fault 8)',
  async ({ rig, start }) => {
    const program = await start({ source: 'kept = [1]' })
    const first = await rig.serve()
    await rig.imago(['attach', 'web', '--name', 'server'])
    const { epoch } = await rowOf(await rig.connect())
    first.process.child.kill('SIGKILL')
    await first.process.ended
    assert.is(lives(program.pid), true)
    await rig.serve()
    const client = await rig.connect()
    assert.match(JSON.stringify(await evaluate(client, 'kept')), /"value_repr":"\[1\]"/)
    const row = await rowOf(client)
    assert.equal(
      [row.name, row.state, row.epoch, row.pid, row.owned],
      ['server', 'ready', epoch, program.pid, false],
    )
    assert.is(program.printed(), '')
  },
)

withRig(
  'a call that the daemon took along is not run again: asked for under its name, it has its result (fault 7)',
  async ({ rig, start }) => {
    await start()
    const first = await rig.serve()
    await rig.imago(['attach', 'web'])
    const client = await rig.connect()
    const lost = evaluate(client, awaiting(rig), 'fault-7').catch(() => undefined)
    await until(() => textIn(rig, 'ran') === 'x', 'the code to run')
    first.process.child.kill('SIGKILL')
    await lost
    await rig.serve()
    const again = await rig.connect()
    const joined = evaluate(again, awaiting(rig), 'fault-7')
    writeFileSync(join(rig.project, 'go'), '')
    assert.match(JSON.stringify(await joined), /"value_repr":"'kept'"/)
    assert.is(textIn(rig, 'ran'), 'x')
  },
)

withRig(
  'a program that takes its time to end, after it has stopped listening, is told to have ended',
  async ({ rig, start }) => {
    // What a program registers first is run last: after its announcement was taken back.
    const program = await start({ source: 'import atexit, time; atexit.register(time.sleep, 0.5)' })
    await rig.serve()
    const client = await rig.connect()
    await client.request('attach', { target: 'web' })
    program.signal('SIGINT')
    await until(async () => (await rowOf(client)).state === 'ended', 'the program to be given up')
    assert.is((await rowOf(client)).message, `web has ended (process ${program.pid}). ${FOLLOWED}`)
  },
)

withRig(
  'a program that stops listening is told in its row, and what listens next in that process is another image',
  async ({ rig, start }) => {
    const source = `import os, threading, time
def again():
    import imago
    for name in 'close', 'open':
        while not os.path.exists(name): time.sleep(0.01)
        imago.listen().close() if name == 'close' else imago.listen()
threading.Thread(target=again, daemon=True).start()`
    const { pid } = await start({ source })
    await rig.serve()
    const client = await rig.connect()
    const { epoch } = await client.request('attach', { target: 'web' })
    writeFileSync(join(rig.project, 'close'), '')
    await until(async () => (await rowOf(client)).state === 'ended', 'the program to be given up')
    assert.is(
      (await rowOf(client)).message,
      `web has stopped listening (process ${pid} lives on). ${FOLLOWED}`,
    )
    writeFileSync(join(rig.project, 'open'), '')
    const { announced } = await within(listedBy(client), 'the program to listen again')
    assert.is(announced[0]?.pid, pid)
    assert.is.not((await client.request('attach', { target: 'web' })).epoch, epoch)
  },
)

async function listedBy(client: DaemonClient) {
  for (;;) {
    const listed = await client.request('kernels', {})
    if (listed.announced.length > 0) return listed
  }
}

withRig(
  'imago shutdown lets go of attached programs, says so, and the next daemon joins them again',
  async ({ rig, start }) => {
    const program = await start()
    await rig.imago(['attach', 'web'])
    await rig.imago(['start', 'python', '--name', 'own'])
    const { stdout } = await rig.imago(['shutdown'])
    assert.is(
      stdout,
      'The daemon ended. With it: own. It has let go of web, which runs on and will be joined again.\n',
    )
    assert.is(lives(program.pid), true)
    assert.is((await rig.imago(['call', 'list_globals', '--kernel', 'web'])).code, 0)
    await rig.imago(['detach', 'web'])
    const ended = JSON.parse((await rig.imago(['shutdown', '--json'])).stdout)
    assert.equal(ended.result, { ended_kernels: [], detached_kernels: [] })
    assert.is(program.printed(), '')
  },
)

withRig(
  'an attached program does not keep an idle daemon alive, and is there again with the next command',
  async ({ rig, start }) => {
    const program = await start()
    const { process } = await rig.serve()
    await rig.imago(['attach', 'web'])
    assert.is((await within(process.ended, 'the idle daemon to end')).code, 0)
    assert.is(lives(program.pid), true)
    assert.is((await rig.imago(['call', 'list_globals'])).code, 0)
    assert.is(program.printed(), '')
  },
  { config: '[daemon]\nidle_minutes = 0.01\n' },
)

withRig(
  'a program that announces the number of another one hides it from nobody, and no answer comes from it',
  async ({ rig, start }) => {
    const honest = await start({ source: 'whose = "honest"' })
    const folder = join(rig.folder, 'other')
    mkdirSync(folder)
    const liar = await start({ folder, name: 'liar', source: 'whose = "liar"' })
    const announced = readAnnouncements(rig.paths.runtimeDir).programs
    const [honestly, lie] = [honest, liar].map(
      ({ pid }) => announced.find(one => one.pid === pid)?.file ?? '',
    )
    const said = JSON.parse(readFileSync(lie ?? '', 'utf8'))
    const { pid, started } = JSON.parse(readFileSync(honestly ?? '', 'utf8'))
    const number = String(pid)
    for (const claimed of [
      { pid, started },
      { pid, started: '' },
      { pid, started: 'another-boot:1' },
    ]) {
      for (const name of ['web', 'liar'] as const) {
        const lied = { ...said, ...claimed, name, cwd: rig.project, announced_at: '2999-01-01T00:00:00Z' }
        writeFileSync(lie ?? '', JSON.stringify(lied))
        assert.is(await valueIn(rig, 'whose'), "'honest'", JSON.stringify([claimed, name]))
        assert.is((await rig.imago(['detach', 'web'])).code, 0)
        assert.match((await rig.imago(['attach', number])).stdout, `web  ready  ${number} `)
        assert.is((await rig.imago(['detach', 'web'])).code, 0)
      }
    }
    assert.is(liar.printed(), '')
  },
)

for (const listen of ['', 'port=0'])
  withRig(
    `a program that announces its address under the number of another one as well hides neither: listen(${listen})`,
    async ({ rig, start }) => {
      const honest = await start({ listen, source: 'whose = "honest"' })
      const liar = await start({ listen, name: 'liar', source: 'whose = "liar"' })
      const announced = readAnnouncements(rig.paths.runtimeDir).programs
      const [honestly, own] = [honest, liar].map(({ pid }) => announced.find(one => one.pid === pid))
      const said = JSON.parse(readFileSync(own?.file ?? '', 'utf8'))
      const lied = {
        ...said,
        pid: honest.pid,
        started: honestly?.started,
        announced_at: '2999-01-01T00:00:00Z',
      }
      const files = ['beef', 'feed'].map(end =>
        join(rig.paths.runtimeDir, 'programs', `${honest.pid}-${end}.json`),
      )
      const lie = (name: string) => {
        for (const file of files) writeFileSync(file, JSON.stringify({ ...lied, name }), { mode: 0o600 })
      }
      for (const name of ['web', 'liar']) {
        for (const [number, whose] of [
          [honest.pid, 'honest'],
          [liar.pid, 'liar'],
        ] as const) {
          lie(name)
          const kernel = ['--kernel', String(number)]
          assert.is(await valueIn(rig, 'whose', kernel), `'${whose}'`, `${name}, ${whose}`)
        }
        for (const one of ['web', 'liar']) await rig.imago(['detach', one])
      }
      const { skipped } = readAnnouncements(rig.paths.runtimeDir)
      assert.equal([skipped, honest.printed(), liar.printed()], [[], '', ''])
    },
  )
