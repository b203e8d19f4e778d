import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Daemon, openDaemon } from '../../src/daemon.ts'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { assert, suite } from '../support/harness.ts'
import { frame, hello, RawClient } from '../support/raw-client.ts'
import { dial, openRig, type Rig, until, within } from '../support/rig.ts'

const test = suite('daemon faults', { limitMs: 60_000 })

function withRig(fact: string, body: (rig: Rig) => Promise<void>) {
  test(fact, async () => {
    const rig = openRig()
    try {
      await body(rig)
    } finally {
      await rig.close()
    }
  })
}

/** A daemon in this process, with limits that a test can reach. */
function withDaemon(
  fact: string,
  limits: Parameters<typeof openDaemon>[0]['limits'],
  body: (rig: Rig) => Promise<void>,
) {
  withRig(fact, async rig => {
    const daemon: Daemon = await openDaemon({ paths: rig.paths, ...(limits && { limits }) })
    try {
      await body(rig)
    } finally {
      await daemon.close()
    }
  })
}

const evaluation = (id: number, expr: string, call: string) => ({
  type: 'call',
  id,
  method: 'call',
  params: { tool: 'eval_expr', args: { expr }, call, follow: true },
})

const says = (word: string) => (message: Readonly<Record<string, unknown>>) =>
  JSON.stringify(message.event ?? '').includes(word)

withRig('without descriptors the daemon serves whom it has, and recovers (fault 13)', async rig => {
  const { pid } = await rig.serve()
  const early = await rig.connect()
  const open = () => readdirSync(`/proc/${pid}/fd`).length
  const most = open() + 20
  const limit = `import resource; resource.prlimit(${pid}, resource.RLIMIT_NOFILE, (${most}, ${most}))`
  assert.is(spawnSync('python3', ['-c', limit]).status, 0)
  const crowd = await Promise.all(
    Array.from({ length: 100 }, () => dial(rig.paths.socket).catch(() => undefined)),
  )
  await until(() => open() >= most - 1, 'the descriptors to be used up')
  assert.is((await early.request('status', {})).pid, pid)
  assert.is((await early.call({ tool: 'eval_expr', args: { expr: '1' } })).ok, false)
  for (const socket of crowd) socket?.destroy()
  await until(() => open() < most - 15, 'the descriptors to be given back')
  const late = await connected(rig)
  assert.is((await late.call({ tool: 'eval_expr', args: { expr: '1' } })).ok, true)
})

async function connected(rig: Rig) {
  let client: Awaited<ReturnType<Rig['connect']>> | undefined
  await until(async () => {
    client = await rig.connect().catch(() => undefined)
    return client !== undefined
  }, 'the daemon to accept a client')
  if (client === undefined) throw new Error('there is no client')
  return client
}

withDaemon(
  'a client that stays silent is dropped, and its call goes on (fault 15)',
  { heartbeatMs: 150 },
  async rig => {
    const frozen = await RawClient.greeted(rig.paths.socket, rig.project)
    const expr = 'import time\nprint("on", flush=True)\ntime.sleep(1)\n"kept"'
    frozen.send(evaluation(1, expr, 'fault-15'))
    const words = await frozen.lastWords()
    assert.ok(words.some(({ type }) => type === 'ping'))
    assert.is(words.at(-1)?.type, 'bye')
    await using client = await rig.connect()
    const envelope = await client.call({ tool: 'eval_expr', args: { expr }, call: 'fault-15' })
    assert.match(JSON.stringify(envelope), /"value_repr":"'kept'"/)
  },
)

withDaemon(
  'a client that answers pings is kept, however long its call takes',
  { heartbeatMs: 50 },
  async rig => {
    await using client = await rig.connect()
    const { ok } = await client.call({ tool: 'eval_expr', args: { expr: 'import time; time.sleep(1)' } })
    assert.ok(ok)
  },
)

withDaemon(
  'a client is kept whose answer came while the daemon itself was held up',
  { heartbeatMs: 50 },
  async rig => {
    const client = await RawClient.greeted(rig.paths.socket, rig.project)
    client.send(evaluation(1, 'import time; time.sleep(0.5)', 'held-up'))
    let pings = 0
    const { type } = await client.find(message => {
      if (message.type === 'ping') {
        pings++
        // It is in this process, whose timers are due before it reads what comes next.
        for (const end = performance.now() + 120; performance.now() < end; );
        client.send({ type: 'pong', n: message.n })
      }
      return message.type === 'return' || message.type === 'bye'
    })
    assert.is(type, 'return')
    assert.ok(pings > 0)
    client.close()
  },
)

withRig(
  'a connection that breaks in the middle of a frame ends its session, and no result (fault 16)',
  async rig => {
    await rig.serve()
    const breaking = await RawClient.greeted(rig.paths.socket, rig.project)
    const expr = 'print("on", flush=True)\nimport time; time.sleep(0.3)\n"kept"'
    breaking.send(evaluation(1, expr, 'fault-16'))
    await breaking.find(says('on'))
    breaking.write(frame(evaluation(2, '"never whole"', 'half')).subarray(0, 30))
    breaking.close()
    await using client = await rig.connect()
    const envelope = await client.call({ tool: 'eval_expr', args: { expr }, call: 'fault-16' })
    assert.match(JSON.stringify(envelope), /"value_repr":"'kept'"/)
    await until(async () => (await client.request('status', {})).clients === 1, 'the broken one to be gone')
  },
)

withRig(
  'a client that does not read costs the daemon little, and gets its one answer (fault 23)',
  async rig => {
    const { pid } = await rig.serve()
    const slow = await RawClient.greeted(rig.paths.socket, rig.project)
    const warm = await rig.connect()
    await warm.call({ tool: 'eval_expr', args: { expr: '1' } })
    const before = residentBytes(pid)
    slow.socket.pause()
    const expr = 'for _ in range(2000): print("x" * 32_000)\nopen("done", "w").close()\n"end"'
    slow.send(evaluation(1, expr, 'fault-23'))
    await until(() => readdirSync(rig.project).includes('done'), 'the code to have printed 64 MB')
    assert.ok(residentBytes(pid) - before < 64 * 1024 * 1024)
    assert.is((await warm.call({ tool: 'list_globals', args: {} })).ok, true)
    slow.socket.resume()
    const answer = await slow.find(({ type }) => {
      if (type === 'event') slow.send({ type: 'credit', id: 1, bytes: 64 * 1024 })
      return type === 'return' || type === 'fail'
    })
    assert.match(JSON.stringify(answer), /"value_repr":"'end'"/)
    slow.close()
  },
)

const residentBytes = (pid: number) =>
  Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024

withDaemon(
  'one client too many is turned away, and accepted once another has left',
  { connections: 3 },
  async rig => {
    const three = await Promise.all([1, 2, 3].map(() => RawClient.greeted(rig.paths.socket, rig.project)))
    const fourth = await RawClient.dial(rig.paths.socket)
    assert.equal(await fourth.lastWords(), [])
    three[0]?.close()
    assert.ok((await connected(rig)).daemon.pid > 0)
    for (const client of three) client.close()
  },
)

withDaemon('MCP clients leave places for terminals', { connections: 99, mcpClients: 3 }, async rig => {
  const asks = async () => {
    const client = await RawClient.dial(rig.paths.socket)
    client.send({ hello: { ...hello(rig.project), role: 'mcp' } })
    return { client, answer: JSON.stringify(await client.next()) }
  }
  const three = await Promise.all([1, 2, 3].map(asks))
  for (const { answer } of three) assert.match(answer, 'welcome')
  assert.match((await asks()).answer, /too_many_clients.*3 MCP clients are connected/)
  assert.ok((await connected(rig)).daemon.pid > 0)
  three[0]?.client.close()
  await until(async () => (await asks()).answer.includes('welcome'), 'a place')
  for (const { client } of three) client.close()
})

withRig('an unused daemon of another version is replaced (fault 33)', async rig => {
  const other = otherVersion(rig)
  const daemon = rig.begin(['serve'], { main: other })
  await daemon.says(/serves at/)
  const { code, stdout } = await rig.imago(['kernels'])
  assert.is(code, 0, stdout)
  assert.is((await within(daemon.ended, 'the other daemon to end')).code, 0)
  await using client = await rig.connect()
  assert.is.not(client.daemon.version, '99.0.0')
})

withRig('a used daemon of another version stays, and the command says what to do (fault 33)', async rig => {
  const daemon = rig.begin(['serve'], { main: otherVersion(rig) })
  await daemon.says(/serves at/)
  await using client = await rig.connect()
  await client.call({ tool: 'eval_expr', args: { expr: 'precious = 1' } })
  const { code, stderr, stdout } = await rig.imago(['call', 'eval_expr', '{"expr":"precious"}', '--json'])
  assert.is(code, 1)
  assert.is(stderr, '')
  const { message } = JSON.parse(stdout).error
  for (const part of ['99.0.0', 'project', 'imago shutdown --force']) assert.match(message, part)
  assert.is((await client.call({ tool: 'eval_expr', args: { expr: 'precious' } })).ok, true)
})

/** This program under another version number. */
function otherVersion(rig: Rig): string {
  const copy = join(rig.folder, 'other')
  mkdirSync(copy)
  cpSync(join(PACKAGE_ROOT, 'dist'), join(copy, 'dist'), { recursive: true })
  for (const name of ['node_modules', 'wire']) symlinkSync(join(PACKAGE_ROOT, name), join(copy, name))
  const contents = JSON.parse(readFileSync(join(PACKAGE_ROOT, 'package.json'), 'utf8'))
  writeFileSync(join(copy, 'package.json'), JSON.stringify({ ...contents, version: '99.0.0' }))
  return join(copy, 'dist/src/main.cjs')
}

withRig(
  '200 who never end their hello are gone when their time is up, and keep no client and no seat out (fault 22)',
  async rig => {
    await rig.serve()
    const strangers = await Promise.all(Array.from({ length: 200 }, () => rig.dial()))
    const evicted = strangers.map(stranger => {
      stranger.on('error', () => {})
      // The length of a frame, and the beginning of a hello.
      stranger.write(Buffer.concat([Buffer.from([0, 0, 0, 200]), Buffer.from('{"hello":')]))
      return once(stranger.resume(), 'close')
    })
    const client = await rig.connect()
    const called = await client.call({ tool: 'eval_expr', args: { expr: '1 + 2' } })
    assert.ok(called.ok)
    await within(Promise.all(evicted), 'the strangers to be gone')
    await until(async () => (await client.request('status', {})).clients === 1, 'one client')
    assert.ok((await client.call({ tool: 'eval_expr', args: { expr: '1 + 2' } })).ok)
  },
)
