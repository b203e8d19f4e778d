import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openDaemon } from '../../src/daemon.ts'
import type { DaemonClient } from '../../src/front/client.ts'
import { assert, suite } from '../support/harness.ts'
import { openRig, type Rig, until } from '../support/rig.ts'

/** Faults of real kernels as a client of the daemon sees them. */
const test = suite('kernel faults, through the daemon', { limitMs: 60_000 })

/** How soon a caller is to know that its kernel died, in milliseconds. */
const TOLD_MS = 1_000

function withDaemon(
  fact: string,
  files: Readonly<Record<string, string>>,
  body: (rig: Rig, client: DaemonClient) => Promise<void>,
) {
  test(fact, async () => {
    const rig = openRig({ files })
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
  {},
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

withDaemon('a call that goes on as a job says at once that its image is a new one', {}, async (_, client) => {
  await evaluate(client, 'import os; os._exit(3)')
  const args = { expr: 'import time; time.sleep(0.5)', patience: 0 }
  const answer = JSON.stringify(await client.call({ tool: 'eval_expr', args }))
  assert.match(answer, /"status":"running"/)
  assert.match(answer, /"notice":"This is a new and empty image of .*exit code 3/)
})

withDaemon(
  'a kernel that is stopped is unresponsive, and once it goes on, what was asked of it ran once (fault 2)',
  {},
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
  'a kernel that is stopped is asked to stop its code, which it does once it goes on (fault 2)',
  {},
  async (rig, client) => {
    const pending = evaluate(client, 'open("ran", "a").write("x")\nimport time\ntime.sleep(600)')
    await until(() => textIn(rig, 'ran') === 'x', 'the code to run')
    const { name, pid } = await rowOf(client)
    process.kill(pid ?? 0, 'SIGSTOP')
    try {
      const report = await client.request('interrupt', { name })
      assert.is(report.outcome, 'still_running')
      assert.match(report.message, 'does not answer now')
    } finally {
      process.kill(pid ?? 0, 'SIGCONT')
    }
    const envelope = await pending
    assert.is(envelope.ok || envelope.error.code, 'interrupted')
  },
)

const SERVER = `
import threading, time
def serve():
    for number in range(30):
        print("request", number, flush=True)
    time.sleep(600)
threading.Thread(target=serve, daemon=True).start()
time.sleep(600)
`

withDaemon(
  'what a script prints is kept, shown by its last lines, and read whole by its handle',
  { 'server.py': SERVER },
  async (_rig, client) => {
    const started = await client.request('start', { language: 'python', script: 'server.py' })
    assert.is(started.script_state, 'running')
    await until(async () => /request 29$/.test((await rowOf(client)).background?.last ?? ''), 'the output')
    const { background } = await rowOf(client)
    assert.is(background?.truncated, true)
    const all = await client.call({ tool: 'read_more', args: { handle: background?.handle } })
    assert.match(JSON.stringify(all), /request 0\\n.*request 29/)
  },
)

withDaemon(
  'a script that fails leaves its kernel alive, and the row of the start says what it failed with',
  { 'app.py': 'cheese = 3\n1 / 0\n' },
  async (_rig, client) => {
    const started = await client.request('start', { language: 'python', script: 'app.py' })
    assert.is(started.state, 'ready')
    assert.is(started.script_state, 'failed')
    assert.match(started.message ?? '', 'ZeroDivisionError')
    assert.match(started.background?.last ?? '', 'ZeroDivisionError: division by zero')
    assert.match(JSON.stringify(await evaluate(client, 'cheese')), /"value_repr":"3"/)
  },
)

withDaemon(
  'a script whose kernel dies takes its last words with it, and no empty kernel takes its place',
  { 'app.py': 'import os\nprint("out of cheese", flush=True)\nos._exit(4)\n' },
  async (_rig, client) => {
    await client.request('start', { language: 'python', script: 'app.py' })
    await until(async () => (await rowOf(client)).state === 'ended', 'it to end')
    assert.match((await rowOf(client)).message ?? '', /exit code 4.*out of cheese/s)
    const refused = await evaluate(client, '1')
    assert.is(refused.ok || refused.error.code, 'kernel_unavailable')
    assert.match(JSON.stringify(refused), 'imago restart python starts it again')
    assert.is((await rowsOf(client)).length, 1)
  },
)

const pause = (ms: number) => new Promise<undefined>(resolve => setTimeout(resolve, ms, undefined).unref())
