import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { VERSION } from '../../src/paths.ts'
import { acceptClient, type ClientHello } from '../../wire/link/handshake.ts'
import { Refusal } from '../../wire/link/link.ts'
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
  assert.equal(asked, { profile: 'core', structured: true })
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
