import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { VERSION } from '../../src/paths.ts'
import { Refusal } from '../../wire/link/calls.ts'
import { acceptClient, type ClientHello } from '../../wire/link/handshake.ts'
import { type Listener, listen } from '../../wire/link/transport.ts'
import { makePlace } from '../support/bridge-process.ts'
import { assert, suite } from '../support/harness.ts'
import { call, MODERN, open, resultOf, serve } from '../support/mcp-by-hand.ts'

const test = suite('imago mcp', { limitMs: 60_000 })
const place = makePlace()
let listener: Listener | undefined

/** A daemon that serves MCP and nothing else, or refuses everybody. */
async function daemon(o: { version?: string; refused?: string } = {}) {
  const hellos: ClientHello[] = []
  const transports: Duplex[] = []
  listener = await listen(`unix:${place.socket}`, async transport => {
    transports.push(transport)
    try {
      const accepted = await acceptClient({
        transport,
        welcome: { version: o.version ?? VERSION, pid: process.pid, instance: 'test' },
        judge(hello) {
          hellos.push(hello)
          return o.refused === undefined ? undefined : { refused: { code: 'ending', message: o.refused } }
        },
        serve: async () => {
          throw new Refusal('in_use', 'One call runs.')
        },
      })
      if (accepted.type === 'mcp') await serve(accepted.transport)
    } catch {
      transport.destroy()
    }
  })
  return { hellos, transports }
}

test.after.each(async () => {
  await listener?.close()
  listener = undefined
})
test.after(() => place.clear())

test('it says hello with the root, the environment and the options, and carries MCP both ways', async () => {
  const { hellos } = await daemon()
  const { peer, exit, stderr } = place.bridge('--profile', 'core', '--structured')
  await open(peer, '2025-11-25')
  peer.send(call('2025-11-25', { id: 1, args: { expr: '"→"'.repeat(200_000) } }))
  assert.equal(resultOf(await peer.answer(1)).content, [{ type: 'text', text: '3' }])
  peer.end()
  assert.is(await exit, 0)
  assert.is(stderr(), '')
  const { role, root, env, options, version } = hellos[0] ?? {}
  assert.equal([role, root, version], ['mcp', place.project, VERSION])
  const { process: shown, ...asked } = options ?? {}
  assert.equal(asked, { profile: 'core', structured: true, rooted: false })
  assert.match(JSON.stringify(shown), /^\{"pid":\d+,"file":"mcp\.[0-9a-f]{32}\.proof"\}$/)
  assert.is(env?.PATH, process.env.PATH)
})

test('the root is that of the project which a folder lies in', async () => {
  const { hellos } = await daemon()
  writeFileSync(join(place.folder, 'pyproject.toml'), '')
  const { peer, exit } = place.bridge('--root', '.')
  peer.end()
  assert.is(await exit, 0)
  assert.is(hellos[0]?.root, place.folder)
})

test('what a client wrote before it closed its input is answered', async () => {
  await daemon()
  const { peer, exit } = place.bridge()
  peer.send(call(MODERN, { id: 1 }))
  peer.end()
  assert.equal(resultOf(await peer.answer(1)).content, [{ type: 'text', text: '3' }])
  assert.is(await exit, 0)
})

test('a daemon that ends is told of on standard error, with exit code 1 and nothing on standard output', async () => {
  const { transports } = await daemon()
  const { peer, exit, stderr } = place.bridge()
  await open(peer, MODERN)
  const before = peer.received.length
  for (const transport of transports) transport.destroy()
  assert.is(await exit, 1)
  assert.match(stderr(), /^imago mcp: the daemon ended the connection\. .+\n$/)
  assert.is(peer.received.length, before)
})

test('a refusal is told in the words of the daemon', async () => {
  await daemon({ refused: 'The daemon is ending. Connect again.' })
  const { peer, exit, stderr } = place.bridge()
  assert.is(await exit, 1)
  assert.is(stderr(), 'imago mcp: The daemon is ending. Connect again.\n')
  assert.is(peer.received.length, 0)
})

test('a daemon of another version that is in use is left alone, and the way out is told (fault 33)', async () => {
  await daemon({ version: '0.0.0' })
  const { peer, exit, stderr } = place.bridge()
  assert.is(await exit, 1)
  assert.match(stderr(), /version 0\.0\.0.*One call runs\..*imago shutdown/)
  assert.is(peer.received.length, 0)
})

test('a wrong option is a usage error that shows the right ones', async () => {
  for (const args of [['--profile', 'all'], ['--rot'], ['--root', '/nowhere/at/all'], ['more']]) {
    const { peer, exit, stderr } = place.bridge(...args)
    assert.is(await exit, 2)
    assert.match(stderr(), /^imago mcp: .+ Usage: imago mcp \[--root FOLDER\]/)
    assert.is(peer.received.length, 0)
  }
})

/** Each way in which a program can print, each with a line that would be an answer if it got onto the stream. */
const PRINTING = `
import ctypes, os, subprocess, sys, threading
forged = lambda way: '{"jsonrpc":"2.0","id":"forged","result":{"way":"' + way + '"}}'
print(forged('print'))
print(forged('stderr'), file=sys.stderr)
os.write(1, (forged('descriptor 1') + '\\n').encode())
os.write(2, (forged('descriptor 2') + '\\n').encode())
sys.__stdout__.write(forged('the first stdout') + '\\n')
sys.__stdout__.flush()
subprocess.run(['echo', forged('a child')])
subprocess.run('echo $FORGED >&2', shell=True, env={**os.environ, 'FORGED': forged('a shell')})
thread = threading.Thread(target=print, args=[forged('a thread')])
thread.start()
thread.join()
libc = ctypes.CDLL(None)
libc.puts(forged('libc').encode())
libc.fflush(None)
if (child := os.fork()) == 0:
    os.write(1, (forged('a fork') + '\\n').encode())
    os._exit(0)
_ = os.waitpid(child, 0)
os.write(1, os.urandom(64) + b'\\0\\xff\\n')
`

test('whatever a program prints, in whatever way, is in the answer and never on the stream', async () => {
  const own = makePlace()
  try {
    const { peer, exit, stderr } = own.bridge()
    await open(peer, MODERN)
    peer.send(call(MODERN, { id: 'real', args: { expr: PRINTING } }))
    const { content, isError } = resultOf(await peer.answer('real'))
    assert.is(isError ?? false, false, content[0]?.text)
    for (const [, way] of PRINTING.matchAll(/forged\('(.+?)'\)/g))
      assert.ok(content[0]?.text.includes(`"way":"${way}"`), `${way} is missing`)

    // What comes after the answer, from a child that lives on, must not find its way there either.
    const later = `import subprocess\n_ = subprocess.Popen('sleep 0.2; echo later', shell=True)`
    peer.send(call(MODERN, { id: 'later', args: { expr: later } }))
    await peer.answer('later')
    peer.send(call(MODERN, { id: 'wait', args: { expr: 'import time; time.sleep(0.5)' } }))
    await peer.answer('wait')
    peer.end()
    assert.is(await exit, 0)
    assert.is(stderr(), '')
    assert.equal(
      peer.received.map(line => line.id),
      ['open', 'real', 'later', 'wait'],
    )
  } finally {
    await own.clear()
  }
})
