import { mkdtempSync, rmSync } from 'node:fs'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { duplexPair } from 'node:stream'
import { text } from 'node:stream/consumers'
import { type Link, openLink } from '../../wire/link/link.ts'
import { connect, finish, listen, MAX_SOCKET_PATH_BYTES } from '../../wire/link/transport.ts'
import { type FakePeer, fakePeer, gone } from '../support/fake-peer.ts'
import { faultOf } from '../support/faults.ts'
import { assert, suite } from '../support/harness.ts'
import { type Connection, connection } from '../support/sockets.ts'

const test = suite('transport')
const folder = mkdtempSync(join(tmpdir(), 'imago-wire-'))
const ADDRESSES = { unix: `unix:${join(folder, 's')}`, tcp: 'tcp:127.0.0.1:0' } as const
const open: Connection[] = []

test.after.each(async () => {
  for (const one of open.splice(0)) await one.close()
})
test.after(() => rmSync(folder, { recursive: true, force: true }))

async function connected(address: string): Promise<Connection> {
  const made = await connection(address)
  open.push(made)
  return made
}

async function linkOver(address: string): Promise<{ link: Link; peer: FakePeer }> {
  const { near, far } = await connected(address)
  return { link: openLink({ transport: near, encoding: 'json', name: 'the peer' }), peer: fakePeer(far) }
}

for (const [kind, address] of Object.entries(ADDRESSES)) {
  test(`a link works over ${kind}, both ways, with chunks`, async () => {
    const { near, far } = await connected(address)
    const large = 'é'.repeat(3_000_000)
    const serve = async () => large
    const link = openLink({ transport: near, encoding: 'msgpack', name: 'the peer', serve })
    const other = openLink({ transport: far, encoding: 'msgpack', name: 'the daemon', serve })
    assert.equal(await Promise.all([link.call('m', large), other.call('m', large)]), [large, large])
    await Promise.all([link.close(), other.close()])
  })

  test(`a connection over ${kind} that breaks in a frame ends the link, and settles its calls (fault 16)`, async () => {
    const { link, peer } = await linkOver(address)
    const pending = faultOf(link.call('evaluate', null))
    await peer.next('call')
    peer.sendBytes(Buffer.from([0, 0, 1, 0, 0x7b]))
    await link.ping(20).catch(() => {})
    peer.die()
    assert.is((await pending).code, 'LINK_CLOSED')
    assert.ok(['LINK_CLOSED', 'FRAME_TRUNCATED'].includes((await link.closed)?.code ?? ''))
  })

  test(`a reader over ${kind} that stops costs bounded memory, and then its link (fault 23)`, async () => {
    const { near, far } = await connected(address)
    const limits = { sendHighBytes: 500_000, sendCutBytes: 2_000_000 }
    const serve = async () => 'x'.repeat(100_000)
    const link = openLink({ transport: near, encoding: 'json', name: 'the peer', serve, limits })
    const peer = fakePeer(far).freeze()
    let most = 0
    for (let id = 1; id <= 1_000 && near.writable; id++) {
      peer.send({ type: 'call', id, method: 'm' })
      await new Promise(resolve => setImmediate(resolve))
      most = Math.max(most, link.queuedBytes)
    }
    assert.match(String((await link.closed)?.message), 'reads too slowly')
    assert.ok(most < 2_200_000, `${most} bytes were queued`)
    await gone(near)
  })

  test(`nobody at an address of ${kind} is LINK_REFUSED`, async () => {
    const listener = await listen(address, () => {})
    await listener.close()
    assert.is((await faultOf(connect(listener.address))).code, 'LINK_REFUSED')
  })

  test(`an address of ${kind} that is taken is LINK_REFUSED`, async () => {
    const { listener } = await connected(address)
    assert.is((await faultOf(listen(listener.address, () => {}))).code, 'LINK_REFUSED')
  })
}

test('a transport is closed by closing its listener only for those who come later', async () => {
  const { near, far, listener } = await connected(ADDRESSES.unix)
  await listener.close()
  near.end('still here')
  assert.is(await text(far), 'still here')
})

test('a path of 103 bytes is a socket, and one of 104 is refused by name, by both ends', async () => {
  const padding = MAX_SOCKET_PATH_BYTES - Buffer.byteLength(folder) - 1
  const longest = `unix:${folder}/${'s'.repeat(padding)}`
  const { near, far } = await connected(longest)
  near.end('fits')
  assert.is(await text(far), 'fits')
  for (const refusal of [listen(`${longest}s`, () => {}), connect(`${longest}s`)]) {
    const { code, message } = await faultOf(refusal)
    assert.is(code, 'LINK_REFUSED')
    assert.match(message, '104 bytes')
  }
})

for (const address of [
  'tcp:0.0.0.0:0',
  'tcp:localhost:80',
  'tcp:127.0.0.1',
  'tcp:127.0.0.1:65536',
  'tcp:127.0.0.1:-1',
  'tcp:10.0.0.1:80',
  'unix:relative/path',
  'unix:',
  'unix:/tmp/a\0b',
  '/tmp/socket',
  'http://127.0.0.1:80',
  '',
])
  test(`${JSON.stringify(address)} is no address`, async () => {
    assert.is((await faultOf(listen(address, () => {}))).code, 'LINK_REFUSED')
    assert.is((await faultOf(connect(address))).code, 'LINK_REFUSED')
  })

test('a connection from outside the loopback interface finds nobody', async () => {
  const { near } = await connected(ADDRESSES.tcp)
  assert.is((near as Socket).localAddress, '127.0.0.1')
})

test('finish carries the last words, and ends with a reader, without one, and when it is gone already', async () => {
  const { near, far } = await connected(ADDRESSES.unix)
  const words = text(far)
  await finish(near, Buffer.from('farewell'))
  assert.is(await words, 'farewell')
  await finish(near)
  const [unread] = duplexPair()
  await finish(unread, Buffer.alloc(100_000))
  assert.ok(unread.destroyed)
})
