import { duplexPair } from 'node:stream'
import { text } from 'node:stream/consumers'
import { LIMITS } from '../../wire/codec/messages.ts'
import {
  acceptKernel,
  frameOf,
  joinAsKernel,
  openKernel,
  proofOf,
  readFrame,
  sendFrame,
} from '../../wire/link/handshake.ts'
import { connect, listen } from '../../wire/link/transport.ts'
import { FAKE_HELLO, fakeKernelPeer } from '../support/fake-peer.ts'
import { faultOf } from '../support/faults.ts'
import { assert, suite } from '../support/harness.ts'
import { connection } from '../support/sockets.ts'

const test = suite('handshake')
const secret = 'c0ffee'.repeat(10)
const nonce = 'ab'.repeat(32)
const serve = async (method: string, params: unknown) => ({ method, params })

const accepting = (limits = {}) => {
  const [near, far] = duplexPair()
  return { far, accepted: acceptKernel({ transport: near, secret, serve, limits }) }
}

// Kernels that prove themselves

for (const [name, daemon, side] of [
  ['a peer that connects', acceptKernel, 'opener'],
  ['a peer that listens', openKernel, 'acceptor'],
] as const)
  test(`${name} and knows the secret becomes a link that works both ways`, async () => {
    const [near, far] = duplexPair()
    const joining = joinAsKernel({ transport: far, secret, side, hello: FAKE_HELLO, serve })
    const { hello, link } = await daemon({ transport: near, secret, serve })
    const { link: peer, welcome } = await joining
    assert.equal(hello, FAKE_HELLO)
    assert.equal(welcome, {
      encoding: 'msgpack',
      credit: 1_048_576,
      chunk: 262_144,
      frame: 8_388_608,
      message: 67_108_864,
    })
    assert.equal(await link.call('status', {}), { method: 'status', params: {} })
    assert.equal(await peer.call('ask', [1]), { method: 'ask', params: [1] })
    await link.close()
  })

test('a peer without msgpack is spoken to in JSON, and what it does not know of is left alone', async () => {
  const { far, accepted } = accepting()
  const hello = { encodings: ['json', 'cbor'], abilities: ['evaluate', 'fly'], since: 1984 }
  const peer = await fakeKernelPeer(far, { secret, hello })
  const { link, hello: said } = await accepted
  assert.equal(said.abilities, ['evaluate', 'fly'])
  link.note('hello', null)
  assert.is((await peer.next('note')).name, 'hello')
})

test('the limits of the welcome are kept by both ends', async () => {
  const [near, far] = duplexPair()
  const joining = joinAsKernel({ transport: far, secret, side: 'opener', hello: FAKE_HELLO, serve })
  const { link } = await acceptKernel({ transport: near, secret, serve, limits: { messageBytes: 5_000 } })
  const { link: peer } = await joining
  for (const end of [link, peer])
    assert.is((await faultOf(end.call('m', 'x'.repeat(5_000)))).code, 'MESSAGE_TOO_LARGE')
})

test('messages that come with the end of the handshake are not lost', async () => {
  const { far, accepted } = accepting()
  const peer = await fakeKernelPeer(far, { secret })
  peer.send({ type: 'call', id: 1, method: 'early' }, { type: 'ping', n: 1 })
  await accepted
  assert.equal((await peer.next('return')).result, { method: 'early', params: null })
  await peer.next('pong')
})

test('a handshake that comes one byte at a time is a handshake (fault 17)', async () => {
  const { far, accepted } = accepting()
  const slowly = async (frame: Buffer) => {
    for (const byte of frame) {
      far.write(Buffer.from([byte]))
      await new Promise(resolve => setImmediate(resolve))
    }
  }
  await slowly(frameOf({ imago: 1, nonce }))
  const { nonce: acceptor } = (await readFrame(far, 4_096)) as { nonce: string }
  await slowly(frameOf({ proof: proofOf({ secret, side: 'opener', nonces: { opener: nonce, acceptor } }) }))
  await readFrame(far, 4_096)
  await slowly(frameOf({ hello: FAKE_HELLO }))
  assert.equal((await accepted).hello, FAKE_HELLO)
})

// Strangers

test('a squatter at the address, without the secret, gets no hello from the peer (threat 27)', async () => {
  const { near, far, close } = await connection()
  const joining = faultOf(joinAsKernel({ transport: far, secret, side: 'opener', hello: FAKE_HELLO }))
  const heard = acceptKernel({ transport: near, secret: 'another secret' })
  assert.is((await faultOf(heard)).code, 'NOT_AUTHENTICATED')
  assert.is((await joining).code, 'NOT_AUTHENTICATED')
  await close()
})

test('a squatter that answers the challenge with anything but the proof is refused (threat 27)', async () => {
  for (const forged of [
    '0'.repeat(64),
    proofOf({ secret: 'guess', side: 'acceptor', nonces: { opener: nonce, acceptor: nonce } }),
  ]) {
    const { near, far, close } = await connection()
    const joining = faultOf(joinAsKernel({ transport: far, secret, side: 'opener', hello: FAKE_HELLO }))
    await readFrame(near, 4_096)
    sendFrame(near, { imago: 1, nonce })
    await readFrame(near, 4_096)
    sendFrame(near, { proof: forged })
    assert.is((await joining).code, 'NOT_AUTHENTICATED')
    assert.is(await text(near), '')
    await close()
  }
})

/** What a stranger sends after it has seen the acceptor's nonce. */
const FORGERIES: readonly (readonly [string, (nonces: { opener: string; acceptor: string }) => unknown])[] = [
  ['a proof of another secret', nonces => ({ proof: proofOf({ secret: 'guess', side: 'opener', nonces }) })],
  ['the proof of the other side', nonces => ({ proof: proofOf({ secret, side: 'acceptor', nonces }) })],
  [
    'a proof of other nonces',
    () => ({ proof: proofOf({ secret, side: 'opener', nonces: { opener: nonce, acceptor: nonce } }) }),
  ],
  ['a proof in capitals', nonces => ({ proof: proofOf({ secret, side: 'opener', nonces }).toUpperCase() })],
  ['a proof that is too short', () => ({ proof: 'ab' })],
  ['a proof that is a number', () => ({ proof: 7 })],
  ['no proof', () => ({})],
  ['no object', () => null],
  ['a hello instead of a proof', () => ({ hello: FAKE_HELLO })],
]
for (const [name, forge] of FORGERIES)
  test(`${name} is NOT_AUTHENTICATED, and the stranger is told nothing (threat 27)`, async () => {
    const { far, accepted } = accepting()
    const refused = faultOf(accepted)
    sendFrame(far, { imago: 1, nonce })
    const { nonce: acceptor } = (await readFrame(far, 4_096)) as { nonce: string }
    sendFrame(far, forge({ opener: nonce, acceptor }))
    assert.is((await refused).code, 'NOT_AUTHENTICATED')
    assert.is(far.read(), null)
  })

test('a nonce that is sent back is refused, whoever sends it (threat 27)', async () => {
  const [near, far] = duplexPair()
  const opening = faultOf(openKernel({ transport: near, secret }))
  sendFrame(far, await readFrame(far, 4_096))
  const { code, message } = await opening
  assert.is(code, 'NOT_AUTHENTICATED')
  assert.match(message, 'our own nonce')
})

const http = 'POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://evil.example\r\n\r\n{"imago":1}'
const GARBAGE: readonly (readonly [string, string | Buffer])[] = [
  ['an HTTP request', http],
  ['a WebSocket upgrade', http.replace('POST', 'GET ')],
  ['random bytes', Buffer.from('a1b2c3d4e5f60718293a4b5c6d7e8f90', 'hex')],
  ['a TLS hello', Buffer.from('16030100a5010000a10303', 'hex')],
  ['a frame of no bytes', Buffer.alloc(4)],
  ['a frame of 4,097 bytes', Buffer.concat([Buffer.from([0, 0, 0x10, 1]), Buffer.alloc(4_097, ' ')])],
  ['a frame that is no JSON', Buffer.from([0, 0, 0, 2, 0x7b, 0x7b])],
  ['JSON that is no object', frameOf([1])],
  ['an object without a version', frameOf({ nonce })],
  ['a nonce that is too short', frameOf({ imago: 1, nonce: 'ab' })],
  ['no nonce', frameOf({ imago: 1 })],
  ['4 KiB of brackets', Buffer.concat([Buffer.from([0, 0, 0x10, 0]), Buffer.alloc(4_096, '[')])],
]
for (const [name, bytes] of GARBAGE)
  test(`${name} in place of a handshake closes the connection, and nothing comes back (fault 21)`, async () => {
    const { near, far, close } = await connection()
    const refused = faultOf(acceptKernel({ transport: near, secret }))
    far.write(bytes)
    assert.is(await text(far).catch(() => ''), '')
    const { code } = await refused
    assert.ok(
      ['FRAME_TOO_LARGE', 'FRAME_MALFORMED', 'NOT_AUTHENTICATED', 'LIMIT_EXCEEDED'].includes(code),
      code,
    )
    await close()
  })

test('200 slow strangers are gone when their time is up, while a real peer connects at once (fault 22)', async () => {
  const limits = { handshakeMs: 400 }
  const faults: Promise<{ code: string }>[] = []
  const links: Promise<string>[] = []
  const listening = await listen('tcp:127.0.0.1:0', transport => {
    const accepted = acceptKernel({ transport, secret, serve, limits })
    links.push(accepted.then(({ hello }) => hello.implementation))
    faults.push(
      accepted.then(
        () => ({ code: 'none' }),
        error => error,
      ),
    )
  })
  const strangers = await Promise.all(Array.from({ length: 200 }, () => connect(listening.address)))
  const evicted = strangers.map(stranger => {
    stranger.on('error', () => {})
    stranger.write(frameOf({ imago: 1, nonce }).subarray(0, 30))
    return new Promise(resolve => stranger.on('close', resolve).resume())
  })
  const transport = await connect(listening.address)
  const { link } = await joinAsKernel({ transport, secret, side: 'opener', hello: FAKE_HELLO })
  assert.equal(await link.call('status', {}), { method: 'status', params: {} })
  assert.is(await Promise.any(links), FAKE_HELLO.implementation)
  await Promise.all(evicted)
  const codes = (await Promise.all(faults)).map(({ code }) => code)
  assert.is(codes.filter(code => code === 'HANDSHAKE_TIMEOUT').length, 200)
  await link.close()
  await listening.close()
})

test('a peer that goes away, or ends in a frame, is told apart from one that is slow', async () => {
  const cut = accepting()
  cut.far.end(frameOf({ imago: 1, nonce }).subarray(0, 20))
  assert.is((await faultOf(cut.accepted)).code, 'FRAME_TRUNCATED')
  const left = accepting()
  left.far.end()
  assert.is((await faultOf(left.accepted)).code, 'LINK_CLOSED')
  const slow = accepting({ handshakeMs: 20 })
  assert.is((await faultOf(slow.accepted)).code, 'HANDSHAKE_TIMEOUT')
})

// Versions

test('an opener of another version is told which there are, and both know why it ended (fault 33)', async () => {
  const { far, accepted } = accepting()
  const refused = faultOf(accepted)
  sendFrame(far, { imago: 2, nonce })
  assert.equal(await readFrame(far, 4_096), { imago: 1, error: 'version', versions: [1] })
  const { code, message } = await refused
  assert.is(code, 'VERSION_MISMATCH')
  assert.match(message, 'version 2')
})

test('an acceptor of another version is told too, or tells (fault 33)', async () => {
  const silent = duplexPair()
  const opening = faultOf(openKernel({ transport: silent[0], secret }))
  await readFrame(silent[1], 4_096)
  sendFrame(silent[1], { imago: 3, nonce })
  assert.equal(await readFrame(silent[1], 4_096), { imago: 1, error: 'version', versions: [1] })
  assert.is((await opening).code, 'VERSION_MISMATCH')

  const polite = duplexPair()
  const joining = faultOf(joinAsKernel({ transport: polite[0], secret, side: 'opener', hello: FAKE_HELLO }))
  await readFrame(polite[1], 4_096)
  sendFrame(polite[1], { imago: 3, error: 'version', versions: [2, 3] })
  const { code, message } = await joining
  assert.is(code, 'VERSION_MISMATCH')
  assert.match(message, '2, 3')
})

test('a kernel of another protocol is refused with a reason (fault 33)', async () => {
  const { far, accepted } = accepting()
  const refused = faultOf(accepted)
  const joining = await faultOf(
    joinAsKernel({ transport: far, secret, side: 'opener', hello: { ...FAKE_HELLO, protocol: 2 } }),
  )
  assert.is((await refused).code, 'VERSION_MISMATCH')
  assert.is(joining.code, 'VERSION_MISMATCH')
  assert.match(joining.message, 'greeted with 2')
})

for (const [name, value] of [
  ['language', 7],
  ['pid', 0],
  ['epoch', 'ABCDEF01'],
  ['epoch', '0badcaf'],
  ['abilities', 'evaluate'],
  ['encodings', [1]],
  ['role', 'client'],
] as const)
  test(`a hello whose ${name} is ${JSON.stringify(value)} is MESSAGE_INVALID`, async () => {
    const { far, accepted } = accepting()
    const refused = faultOf(accepted)
    void fakeKernelPeer(far, { secret, hello: { [name]: value } }).catch(() => {})
    const { code, message } = await refused
    assert.is(code, 'MESSAGE_INVALID')
    assert.match(message, name)
  })

test('a hello may be as large as 256 KiB, and no larger', async () => {
  const padded = (bytes: number) => ({ padding: 'x'.repeat(bytes) })
  const fits = accepting()
  await fakeKernelPeer(fits.far, { secret, hello: padded(LIMITS.helloFrameBytes - 1_000) })
  await fits.accepted
  const large = accepting()
  const refused = faultOf(large.accepted)
  void fakeKernelPeer(large.far, { secret, hello: padded(LIMITS.helloFrameBytes) }).catch(() => {})
  assert.is((await refused).code, 'FRAME_TOO_LARGE')
})
