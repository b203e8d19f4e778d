import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DaemonClient } from '../../src/front/client.ts'
import type { Envelope } from '../../tools/outcome.ts'
import { readAnnouncements } from '../../wire/kernels/programs.ts'
import { assert, suite } from '../support/harness.ts'
import { openRig, type Rig, until, within } from '../support/rig.ts'
import { APPROVE, codeOf, openAsking, openWatch } from '../support/watching.ts'

/**
 * A real Python under `imago run`, with a parent that starts it anew as the reloaders of web frameworks do, and clients
 * that are told nothing about kernels.
 */
const test = suite('a program that is started anew', { limitMs: 130_000 })

/** Starts itself again as a child, and whenever that has ended, once `again` is there. */
const SERVE = `import os, subprocess, sys, time
if 'child' not in os.environ:
    while True:
        subprocess.call([sys.executable, 'serve.py'], env={**os.environ, 'child': 'yes'})
        while not os.path.exists('again'): time.sleep(0.01)
        os.remove('again')
import app
parent = os.getppid()
while os.getppid() == parent: time.sleep(0.02); app.price(1)
`
const APP = 'rates = [1, 2]\ndef price(n):\n    return n * 2\n'

interface Stage {
  readonly rig: Rig
  readonly client: DaemonClient
  /** The process of the kernel that calls without a name go to. */
  pid(): Promise<number>
  /** Ends that process, and waits until the daemon has seen it. */
  kill(): Promise<void>
  /** The parent starts it again. */
  again(): void
}

async function withServer(body: (stage: Stage) => Promise<void>, rig: Rig = openRig()): Promise<void> {
  try {
    writeFileSync(join(rig.project, 'serve.py'), SERVE)
    writeFileSync(join(rig.project, 'app.py'), APP)
    await rig.serve()
    rig.begin(['run', '--name', 'shop', '--', 'python3', 'serve.py'])
    const client = await rig.connect()
    const listening = async () => rowsOf(await client.call({ tool: 'kernels', args: {} }))
    const isThere = async () => (await listening()).some(({ state }) => state === 'supervisor')
    await until(isThere, 'the server and its child to listen')
    const pid = async () => (await listening()).find(({ name }) => name === 'shop')?.pid ?? 0
    await body({
      rig,
      client,
      pid,
      async kill() {
        process.kill(await pid(), 'SIGKILL')
        await until(async () => (await pid()) === 0, 'its end to be seen')
      },
      again: () => writeFileSync(join(rig.project, 'again'), ''),
    })
  } finally {
    const { programs } = readAnnouncements(rig.paths.runtimeDir)
    for (const { pid } of programs.filter(one => one.process === 'lives'))
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // The child ends by itself once its parent has.
      }
    await rig.close()
  }
}

interface Row {
  readonly name: string
  readonly state: string
  readonly pid: number | null
}

const rowsOf = (envelope: Envelope) => (resultOf(envelope) as unknown as { kernels: readonly Row[] }).kernels

function resultOf(envelope: Envelope): Record<string, unknown> {
  if (!envelope.ok) throw new Error(JSON.stringify(envelope))
  return envelope.result as Record<string, unknown>
}

function errorOf(envelope: Envelope) {
  if (envelope.ok) throw new Error(JSON.stringify(envelope))
  return envelope.error
}

const evaluate = (client: DaemonClient, expr: string) => client.call({ tool: 'eval_expr', args: { expr } })

const threads = (client: DaemonClient) => client.call({ tool: 'threads', args: {} })

test('a model that looks is led to the child and not to the supervisor, and goes on under one name as it is started anew', () =>
  withServer(async ({ rig, client, pid, kill, again }) => {
    const first = resultOf(await threads(client))
    assert.match(
      String(first.notice),
      /^shop \(process \d+, .*serve\.py\) listens in .*project and was attached\./,
    )
    assert.match(JSON.stringify(first), 'app.price(1)')
    const before = await pid()
    const { handle } = resultOf(await evaluate(client, 'import app; app.rates'))
    const other = await rig.connect({ name: 'another model' })
    assert.is((await threads(other)).ok, true)

    await kill()
    const waiting = evaluate(client, 'import app; app.price(21)')
    again()
    const second = resultOf(await within(waiting, 'the call in the gap'))
    assert.is(second.value_repr, '42')
    assert.match(
      String(second.notice),
      'shop had ended, and this call waited until another process took its place',
    )
    assert.match(String(second.notice), `shop is another process since your last call (${before} has ended`)
    assert.is.not(await pid(), before)

    const stale = errorOf(await client.call({ tool: 'inspect', args: { expr: String(handle) } }))
    assert.is(stale.code, 'stale_handle')
    assert.not.match(JSON.stringify(stale), 'another process since')
    assert.match(JSON.stringify(await threads(other)), 'shop is another process since your last call')
    assert.not.match(JSON.stringify(await threads(other)), 'another process since')
  }))

test('an evaluation that a reload cuts off is outcome_unknown, and is not run again in the successor', () =>
  withServer(async ({ rig, client, kill, again }) => {
    const mark = join(rig.project, 'ran')
    const endless = `import time; open(${JSON.stringify(mark)}, 'x').close(); time.sleep(600)`
    const cut = evaluate(client, endless)
    await until(() => existsSync(mark), 'the code to run')
    await kill()
    again()
    assert.is(errorOf(await within(cut, 'the call to end')).code, 'outcome_unknown')
    assert.is(resultOf(await evaluate(client, '1 + 1')).value_repr, '2')
  }))

test('what a person approves of a process that has been replaced meanwhile is a stale plan, and nothing runs', () =>
  withServer(async ({ rig, client, pid, kill, again }) => {
    assert.is((await threads(client)).ok, true)
    const watch = await openWatch(rig)
    const mark = join(rig.project, 'ran')
    const answer = evaluate(client, `open(${JSON.stringify(mark)}, 'x').close()`)
    await watch.screen.shows(APPROVE)
    const before = await pid()
    await kill()
    again()
    await until(async () => ![0, before].includes(await pid()), 'the successor')
    watch.screen.type('y\n')
    const envelope = await within(answer, 'the answer')
    watch.screen.close()
    assert.is(codeOf(envelope), 'stale_plan')
    assert.match(JSON.stringify(envelope), 'has ended or was begun anew')
    assert.is(existsSync(mark), false)
  }, openAsking()))

test('a trace that a reload has ended is said to be gone, and is not found in the successor', () =>
  withServer(async ({ client, kill, again }) => {
    const set = await client.call({ tool: 'trace_function', args: { name: 'app.price', calls: 3 } })
    const { id } = resultOf(set).tracepoint as { id: string }
    await kill()
    again()
    const envelope = await client.call({ tool: 'trace_calls', args: { tracepoint: id } })
    assert.is(envelope.ok, false)
    assert.match(JSON.stringify(envelope), /traces and suspended evaluations of the one before are gone/)
  }))

test('a reload that fails is answered with what ended it, files can be read, and the next one is followed', () =>
  withServer(async ({ rig, client, kill, again }) => {
    assert.is((await threads(client)).ok, true)
    writeFileSync(join(rig.project, 'app.py'), 'def price(n) return n\n')
    await kill()
    again()
    // It may be joined before it fails: then it is the next call that hears of it.
    const answers: Envelope[] = []
    const hasFailed = async () => {
      const answer = await within(threads(client), 'the answer about the failed reload')
      answers.push(answer)
      return !answer.ok && answer.error.details.reason === 'did_not_come_back'
    }
    await until(hasFailed, 'the failed reload to be told').catch(({ message }) => {
      throw new Error(`${message}: ${JSON.stringify(answers.at(-1))}`)
    })
    const failed = errorOf(answers.at(-1) as Envelope)
    assert.is(failed.code, 'kernel_unavailable')
    assert.match(failed.message, /did not come back: SyntaxError: .*app\.py/)
    assert.is((await client.call({ tool: 'read_file', args: { path: 'app.py' } })).ok, true)
    // Of another length: Python takes bytecode for that of a source of the same second and the same length.
    writeFileSync(join(rig.project, 'app.py'), APP.replace('n * 2', 'n + n + n'))
    again()
    await until(async () => (await threads(client)).ok, 'the program to be back')
    assert.is(resultOf(await evaluate(client, 'import app; app.price(2)')).value_repr, '6')
  }))
