import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openDaemon } from '../../src/daemon.ts'
import type { DaemonClient } from '../../src/front/client.ts'
import { onlyEnvelope } from '../support/envelopes.ts'
import { assert, suite } from '../support/harness.ts'
import { openRig, type Ran, type Rig, until } from '../support/rig.ts'

const test = suite('commands of kernels', { limitMs: 60_000 })
const rig = openRig()
test.after(() => rig.close())

test('a kernel is started with a script and its arguments, listed, interrupted, restarted and stopped', async () => {
  writeFileSync(join(rig.project, 'app.py'), 'import sys\nloaded = sys.argv[1:]\n')
  const start = ['start', 'python', '--name', 'app', '--script', 'app.py', '--json', '--', '--fast', 'x']
  const started = rowIn(await rig.imago(start))
  assert.is(started.name, 'app')
  const loaded = await rig.imago(['call', 'eval_expr', '{"expr":"loaded"}', '--kernel', 'app'])
  assert.match(loaded.stdout, "['--fast', 'x']")

  const endless = '{"expr":"import time\\nprint(\'on\')\\nwhile True: time.sleep(0.01)"}'
  const call = rig.begin(['call', 'eval_expr', endless, '--kernel', 'app'])
  await call.says(/on/)
  assert.match((await rig.imago(['kernels'])).stdout, /^app +busy /m)
  const interrupted = await rig.imago(['interrupt', 'app'])
  assert.equal([interrupted.code, (await call.ended).code], [0, 1])
  assert.match(interrupted.stdout, /^stopped: /)

  const restarted = rowIn(await rig.imago(['restart', 'app', '--json']))
  assert.is.not(restarted.epoch, started.epoch)
  assert.is(rowIn(await rig.imago(['stop', 'app', '--json'])).state, 'ended')
  const [usual, all] = [await rig.imago(['kernels']), await rig.imago(['kernels', '--all'])]
  assert.match(usual.stdout, '1 has ended: imago kernels --all')
  assert.not.match(usual.stdout, /^app /m)
  assert.match(all.stdout, /^app +ended /m)
  assert.is((await rig.imago(['stop', 'nobody'])).code, 4)
})

test('code in C that nothing can stop is told of, with the command that ends the image, which is usable then (fault 3)', async () => {
  await rig.imago(['start', 'python', '--name', 'held'])
  const endless = '{"expr":"print(\'on\', flush=True)\\nsum(range(10**12))"}'
  const call = rig.begin(['call', 'eval_expr', endless, '--kernel', 'held'])
  await call.says(/on/)
  const interrupted = await rig.imago(['interrupt', 'held'])
  assert.is(interrupted.code, 5)
  assert.match(
    interrupted.stdout,
    /^still_running: .*held by code in C.*\nimago restart held ends its process/,
  )
  assert.is((await rig.imago(['restart', 'held'])).code, 0)
  assert.is((await call.ended).code, 1)
  const after = await rig.imago(['call', 'eval_expr', '{"expr":"6 * 7"}', '--kernel', 'held'])
  assert.match(after.stdout, '42')
})

test('a script that fails is told with its message and the way to its output, and its kernel lives', async () => {
  writeFileSync(join(rig.project, 'bad.py'), 'kept = 1\nprint("so far")\n1 / 0\n')
  const started = await rig.imago(['start', 'python', '--name', 'bad', '--script', 'bad.py'])
  assert.is(started.code, 1)
  assert.is(started.stdout, '')
  assert.match(
    started.stderr,
    /^imago: bad\.py failed in kernel bad: ZeroDivisionError: division by zero.*\n/,
  )
  const [, handle = ''] = /imago call read_more '(.*)'\n$/.exec(started.stderr) ?? []
  const printed = await rig.imago(['call', 'read_more', handle])
  assert.match(printed.stdout, /so far\n(.*\n)*ZeroDivisionError/)
  assert.is((await rig.imago(['call', 'eval_expr', '{"expr":"kept"}', '--kernel', 'bad'])).code, 0)
  const listed = (await rig.imago(['kernels'])).stdout
  assert.match(
    listed,
    /^bad +ready .*bad\.py \(failed\)\n {4}.*ZeroDivisionError.*\n {4}What it printed by itself: imago call read_more '\{"handle":"@out\.\d+"\}'$/m,
  )

  const again = onlyEnvelope(await rig.imago(['restart', 'bad', '--json']))
  assert.is(again.ok ? '' : again.error.code, 'exception')
  assert.match(JSON.stringify(again), /"script_state":"failed"/)
  await rig.imago(['stop', 'bad'])
})

test('a script that still runs keeps the daemon from being shut down without force', async () => {
  writeFileSync(join(rig.project, 'served.py'), 'import time\nwhile True: time.sleep(0.05)\n')
  await rig.imago(['start', 'python', '--name', 'served', '--script', 'served.py'])
  const refused = await rig.imago(['shutdown'])
  assert.is(refused.code, 1)
  assert.match(refused.stderr, /The kernel served still runs .*served\.py\.\nimago shutdown --force/)
  await rig.imago(['stop', 'served'])
})

test('what the daemon refuses is said in its own words, with details and the next step', async () => {
  await rig.imago(['start', 'python', '--name', 'project'])
  assert.is((await rig.imago(['start', 'cobol'])).code, 2)
  const stop = onlyEnvelope(await rig.imago(['stop', 'projct', '--json']))
  if (stop.ok) return assert.unreachable('a kernel that there is not was stopped')
  assert.match(stop.error.message, /^No kernel is named "projct"\./)
  assert.match(JSON.stringify(stop.error.details), '"nearest":["project"]')
  assert.is(stop.error.next, 'Did you mean project?')
  const spoken = await rig.imago(['stop', 'projct'])
  assert.match(spoken.stderr, /^imago: No kernel is named "projct"\. .*\nDid you mean project\?\n$/)
  const nameless = await rig.imago(['start', 'python', '--name', ''])
  assert.is(nameless.code, 2)
  assert.match(nameless.stderr, /^imago: "" cannot be the name of a kernel\.\nUse up to 64/)
  const tool = await rig.imago(['tools', 'evl_expr'])
  assert.is(tool.stderr, 'imago: There is no tool evl_expr. Did you mean eval_expr?\n')
  const long = await rig.imago(['stop', 'x'.repeat(2_000)])
  assert.is(long.code, 2)
  assert.match(long.stderr, /^imago: stop does not take that\. "name": [^✖→]*\.\n$/)
})

function rowIn(ran: Ran): Readonly<Record<string, unknown>> {
  const envelope = onlyEnvelope(ran)
  assert.ok(envelope.ok, ran.stdout)
  return (envelope.ok ? envelope.result : {}) as Readonly<Record<string, unknown>>
}

// Faults of real kernels, as a client of the daemon sees them

/** How soon a caller is to know that its kernel died, in milliseconds. */
const TOLD_MS = 1_000

function withDaemon(fact: string, body: (rig: Rig, client: DaemonClient) => Promise<void>) {
  test(fact, async () => {
    const rig = openRig()
    const daemon = await openDaemon({ paths: rig.paths })
    try {
      await body(rig, await rig.connect())
    } finally {
      await daemon.close()
      await rig.close()
    }
  })
}

const rowsOf = async (client: DaemonClient) => (await client.request('kernels', {})).kernels

const rowOf = async (client: DaemonClient) => {
  const [row] = await rowsOf(client)
  if (row === undefined) throw new Error('there is no kernel')
  return row
}

const evaluate = (client: DaemonClient, expr: string) => client.call({ tool: 'eval_expr', args: { expr } })

/** The text of a file of the project, as it is by now. */
function textIn(rig: Rig, name: string): string {
  try {
    return readFileSync(join(rig.project, name), 'utf8')
  } catch {
    return ''
  }
}

withDaemon(
  'the call of a kernel that is killed is outcome_unknown within a second, and the next has a new epoch (fault 1)',
  async (rig, client) => {
    assert.is((await evaluate(client, 'runs = 1')).ok, true)
    const { pid, epoch } = await rowOf(client)
    const ending = evaluate(client, 'import time\nopen("ran", "a").write("x")\ntime.sleep(600)')
    await until(() => textIn(rig, 'ran') === 'x', 'the code to run')
    process.kill(pid ?? 0, 'SIGKILL')
    const envelope = await Promise.race([ending, pause(TOLD_MS)])
    if (envelope === undefined) throw new Error('the caller was not answered within a second of the kill')
    assert.is(envelope.ok, false)
    if (envelope.ok) return
    assert.is(envelope.error.code, 'outcome_unknown')
    assert.match(envelope.error.message, 'SIGKILL')
    const next = await evaluate(client, '"runs" in globals()')
    assert.match(JSON.stringify(next), /"value_repr":"False"/)
    assert.match(JSON.stringify(next), /"notice":"This is a new and empty image of .*SIGKILL/)
    assert.not.match(JSON.stringify(await evaluate(client, '1')), /notice/)
    const row = await rowOf(client)
    assert.is.not(row.epoch, epoch)
    assert.is.not(row.pid, pid)
    assert.is(textIn(rig, 'ran'), 'x')
  },
)

withDaemon(
  'a kernel that is stopped is unresponsive, and once it goes on, what was asked of it ran once (fault 2)',
  async (rig, client) => {
    const expr =
      'import time\nopen("ran", "a").write("x")\nwhile not __import__("os").path.exists("go"): time.sleep(0.01)\n' +
      'open("ran", "a").write("y")\n"through"'
    const pending = evaluate(client, expr)
    await until(() => textIn(rig, 'ran') === 'x', 'the code to run')
    const { pid } = await rowOf(client)
    process.kill(pid ?? 0, 'SIGSTOP')
    try {
      const look = await client.call({ tool: 'inspect', args: { expr: 'time' } })
      assert.is(look.ok || look.error.code, 'unresponsive')
      await until(async () => (await rowOf(client)).state === 'unresponsive', 'the row to say so')
      const refused = await evaluate(client, 'open("ran", "a").write("z")')
      assert.is(refused.ok || refused.error.code, 'unresponsive')
    } finally {
      process.kill(pid ?? 0, 'SIGCONT')
    }
    await until(async () => (await rowOf(client)).state === 'busy', 'it to recover')
    assert.is((await client.call({ tool: 'inspect', args: { expr: 'time' } })).ok, true)
    writeFileSync(join(rig.project, 'go'), '')
    assert.match(JSON.stringify(await pending), /"value_repr":"'through'"/)
    assert.is(textIn(rig, 'ran'), 'xy')
  },
)

withDaemon(
  'an idle kernel that is stopped is not called ready, a look says what lets it go on, and it goes on as it was',
  async (_, client) => {
    assert.is((await evaluate(client, 'kept = 1')).ok, true)
    const { pid, state } = await rowOf(client)
    assert.is(state, 'ready')
    process.kill(pid ?? 0, 'SIGSTOP')
    try {
      await until(async () => (await rowOf(client)).state === 'unresponsive', 'the row to say so')
      const stopped = `Process ${pid} is stopped, as by Ctrl-Z. kill -CONT ${pid} lets it go on.`
      assert.is((await rowOf(client)).message, stopped)
      const look = await client.call({ tool: 'inspect', args: { expr: 'kept' } })
      assert.ok(!look.ok && look.error.code === 'unresponsive', JSON.stringify(look))
      assert.is(look.error.message.endsWith(` does not answer: ${stopped}`), true, look.error.message)
    } finally {
      process.kill(pid ?? 0, 'SIGCONT')
    }
    await until(async () => (await rowOf(client)).state === 'ready', 'it to go on')
    assert.match(JSON.stringify(await evaluate(client, 'kept + 1')), /"value_repr":"2"/)
  },
)

test('a name that a script has not brought yet is waited for, and the answer says that the script still runs', async () => {
  const lines = (file: string) =>
    `import os, time\nwhile not os.path.exists("${file}"): time.sleep(0.01)\nx = 42\n`
  writeFileSync(join(rig.project, 'big.py'), lines('go'))
  await rig.imago(['start', 'python', '--name', 'big', '--script', 'big.py'])
  const inspect = ['call', 'inspect', '{"expr": "x"}', '--kernel', 'big']
  const early = await rig.imago(inspect)
  assert.is(early.code, 1)
  assert.match(early.stdout + early.stderr, 'big.py has not returned yet: what it defines later is missing')
  writeFileSync(join(rig.project, 'go'), '')
  await until(async () => (await rig.imago(inspect)).stdout.includes('42'), 'the name to be there')
  const other = await rig.imago(['call', 'inspect', '{"expr": "y"}', '--kernel', 'big'])
  assert.not.match(other.stdout + other.stderr, 'has not returned')
  await rig.imago(['stop', 'big'])
})

test('with python = false no call begins again what a person has started and stopped, by whatever tool', async () => {
  const own = openRig({ files: { 'imago.toml': 'python = false\n' } })
  try {
    assert.is((await own.imago(['start', 'python', '--name', 'w1'])).code, 0)
    assert.is((await own.imago(['stop', 'w1'])).code, 0)
    for (const call of [
      ['call', 'attach', '{"kernel": "w1"}'],
      ['call', 'eval_expr', '{"expr": "1"}', '--kernel', 'w1'],
      ['call', 'eval_expr', '{"expr": "1"}'],
    ]) {
      const { code, stderr } = await own.imago(call)
      assert.is(code, 1, call.join(' '))
      assert.match(stderr, 'w1 of')
      assert.match(stderr, /has ended, and no Python is begun there: .*\n?.*imago restart w1/)
    }
    assert.match((await own.imago(['kernels', '--all'])).stdout, /^w1 +ended /m)
    assert.is((await own.imago(['restart', 'w1'])).code, 0)
    assert.match((await own.imago(['eval', '40 + 2', '--kernel', 'w1'])).stdout, '42')
  } finally {
    await own.close()
  }
})

const pause = (ms: number) => new Promise<undefined>(resolve => setTimeout(resolve, ms, undefined).unref())
