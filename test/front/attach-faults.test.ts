import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openDaemon } from '../../src/daemon.ts'
import type { DaemonClient } from '../../src/front/client.ts'
import { blackHole } from '../support/black-hole.ts'
import { assert, suite } from '../support/harness.ts'
import { type Program, type ProgramOptions, startProgram } from '../support/program.ts'
import { lives, openRig, type Rig, type RigOptions, until, within } from '../support/rig.ts'

/** What attached programs, and those who use them, go through when daemons and links end. */
const test = suite('attached programs and faults', { limitMs: 90_000 })

interface Stage {
  readonly rig: Rig
  start(options?: Partial<ProgramOptions>): Promise<Program>
}

function withRig(fact: string, options: RigOptions, body: (stage: Stage) => Promise<void>) {
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
  {},
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
  {},
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
  'a program that ended, or was started again, while no daemon ran is not joined in silence (fault 8)',
  {},
  async ({ rig, start }) => {
    const program = await start()
    const first = await rig.serve()
    await rig.imago(['attach', 'web'])
    first.process.child.kill('SIGKILL')
    await first.process.ended
    program.signal('SIGKILL')
    await program.ended
    const other = await start()
    const listed = (await rig.imago(['kernels'])).stdout
    assert.match(
      listed,
      /\nweb +ended .*\n {4}web has ended \(process \d+\)\. Once it listens again: imago attach web\n/,
    )
    assert.match(listed, new RegExp(`imago attach web +process ${other.pid}`))
    const call = await rig.imago(['call', 'list_globals'])
    assert.is(call.code, 1)
    assert.match(call.stderr, /imago attach web/)
  },
)

withRig(
  'a program that takes its time to end, after it has stopped listening, is told to have ended',
  {},
  async ({ rig, start }) => {
    // What a program registers first is run last: after its announcement was taken back.
    const program = await start({ source: 'import atexit, time; atexit.register(time.sleep, 0.5)' })
    await rig.serve()
    const client = await rig.connect()
    await client.request('attach', { target: 'web' })
    program.signal('SIGINT')
    await until(async () => (await rowOf(client)).state === 'ended', 'the program to be given up')
    assert.is(
      (await rowOf(client)).message,
      `web has ended (process ${program.pid}). Once it listens again: imago attach web`,
    )
  },
)

withRig(
  'a program that stops listening is told in its row, and what listens next in that process is another image',
  {},
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
      `web has stopped listening (process ${pid} lives on). Once it listens again: imago attach web`,
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
  {},
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
  'what runs in an attached program keeps the daemon from being shut down without force, and goes on all the same',
  {},
  async ({ rig, start }) => {
    await start()
    await rig.imago(['attach', 'web'])
    const call = rig.begin(['call', 'eval_expr', JSON.stringify({ expr: awaiting(rig) }), '--json'])
    await until(() => textIn(rig, 'ran') === 'x', 'the code to run')
    assert.match((await rig.imago(['shutdown'])).stderr, /The kernel web has run a call for/)
    assert.is((await rig.imago(['shutdown', '--force'])).code, 0)
    const told = (await within(call.ended, 'the call to be answered')).stdout
    assert.match(told, /"code":"outcome_unknown"/)
    writeFileSync(join(rig.project, 'go'), '')
    const after = await rig.imago(['call', 'eval_expr', '{"expr":"1"}', '--json'])
    assert.match(after.stdout, /"value_repr":"1"/)
  },
)

withRig(
  'an attached program does not keep an idle daemon alive, and is there again with the next command',
  { config: '[daemon]\nidle_minutes = 0.01\n' },
  async ({ rig, start }) => {
    const program = await start()
    const { process } = await rig.serve()
    await rig.imago(['attach', 'web'])
    assert.is((await within(process.ended, 'the idle daemon to end')).code, 0)
    assert.is(lives(program.pid), true)
    assert.is((await rig.imago(['call', 'list_globals'])).code, 0)
    assert.is(program.printed(), '')
  },
)

/** A daemon in this process, whose heart beats fast. */
function withFastHeart(fact: string, body: (stage: Stage) => Promise<void>) {
  withRig(fact, {}, async stage => {
    const daemon = await openDaemon({ paths: stage.rig.paths, limits: { heartbeatMs: 200 } })
    try {
      await body(stage)
    } finally {
      await daemon.close()
    }
  })
}

withFastHeart(
  'a client whose connection swallows everything is dropped; its evaluation goes on, and its result is kept (fault 15)',
  async ({ rig, start }) => {
    await start()
    const near = await rig.connect()
    await near.request('attach', { target: 'web' })
    const hole = await blackHole({ to: `unix:${rig.paths.socket}`, at: join(rig.folder, 'hole.sock') })
    const far = await rig.connect({ paths: { ...rig.paths, socket: join(rig.folder, 'hole.sock') } })
    const clients = async () => (await near.request('status', {})).clients
    void evaluate(far, awaiting(rig), 'fault-15').catch(() => {})
    await until(() => textIn(rig, 'ran') === 'x', 'the code to run')
    assert.is(await clients(), 2)
    hole.swallow()
    await until(async () => (await clients()) === 1, 'the client to be dropped')
    writeFileSync(join(rig.project, 'go'), '')
    assert.match(JSON.stringify(await evaluate(near, awaiting(rig), 'fault-15')), /"value_repr":"'kept'"/)
    assert.is(textIn(rig, 'ran'), 'x')
    hole.close()
  },
)

withFastHeart(
  'a link to a program that swallows everything is made anew, and the evaluation under way is not run twice (fault 15)',
  async ({ rig, start }) => {
    const program = await start({ listen: `port=0, key="${KEY}"` })
    const hole = await blackHole({ to: program.address })
    const client = await rig.connect()
    await client.request('attach', { target: hole.address, name: 'web', key: KEY })
    const evaluation = evaluate(client, awaiting(rig))
    await until(() => textIn(rig, 'ran') === 'x', 'the code to run')
    hole.swallow()
    await until(async () => (await rowOf(client)).state === 'away', 'the link to be given up')
    writeFileSync(join(rig.project, 'go'), '')
    assert.match(JSON.stringify(await evaluation), /"value_repr":"'kept'"/)
    assert.is(textIn(rig, 'ran'), 'x')
    assert.is((await rowOf(client)).state, 'ready')
    hole.close()
  },
)
