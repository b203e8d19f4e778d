import { duplexPair } from 'node:stream'
import { text } from 'node:stream/consumers'
import { LIMITS } from '../../wire/codec/messages.ts'
import {
  acceptClient,
  acceptKernel,
  type ClientHello,
  frameOf,
  openClient,
  openKernel,
  proofOf,
  readFrame,
  sendFrame,
} from '../../wire/link/handshake.ts'
import { connect, listen } from '../../wire/link/transport.ts'
import { FAKE_HELLO, fakeKernelPeer } from '../support/fake-peer.ts'
import { faultOf } from '../support/faults.ts'
import { assert, suite } from '../support/harness.ts'
import { type Connection, connection } from '../support/sockets.ts'

const test = suite('handshake of kernels')
const secret = 'c0ffee'.repeat(10)
const nonce = 'ab'.repeat(32)
const serve = async (method: string, params: unknown) => ({ method, params })

const accepting = (limits = {}) => {
  const [near, far] = duplexPair()
  return { far, accepted: acceptKernel({ transport: near, secret, serve, limits }) }
}
/** The next frame that a stranger is sent. */
const readAt = (far: Parameters<typeof readFrame>[0]) =>
  readFrame(far, LIMITS.handshakeFrameBytes) as Promise<{ nonce: string }>

for (const [name, daemon, side] of [
  ['a peer that connects', acceptKernel, 'opener'],
  ['a peer that listens', openKernel, 'acceptor'],
] as const)
  test(`${name} and knows the secret becomes a link that works both ways, and loses no early message`, async () => {
    const [near, far] = duplexPair()
    const joining = fakeKernelPeer(far, {
      secret,
      side,
      hello: { abilities: ['evaluate', 'fly'], since: 1984 },
      script: { status: ({ id }, peer) => peer.answer(id, 'fine') },
    }).then(peer => peer.send({ type: 'call', id: 1, method: 'early' }))
    const { hello, link } = await daemon({ transport: near, secret, serve })
    assert.equal(hello, { ...FAKE_HELLO, abilities: ['evaluate', 'fly'] })
    const peer = await joining
    assert.is(await link.call('status', {}), 'fine')
    assert.equal((await peer.next('return')).result, { method: 'early', params: null })
    await link.close()
  })

test('a peer without msgpack is spoken to in JSON, within the limits of its welcome', async () => {
  const { far, accepted } = accepting({ messageBytes: 5_000 })
  const peer = await fakeKernelPeer(far, { secret, hello: { encodings: ['json', 'cbor'] } })
  const { link } = await accepted
  link.note('hello', null)
  assert.is((await peer.next('note')).name, 'hello')
  assert.is((await faultOf(link.call('m', 'x'.repeat(5_000)))).code, 'MESSAGE_TOO_LARGE')
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
  const { nonce: acceptor } = await readAt(far)
  await slowly(frameOf({ proof: proofOf({ secret, side: 'opener', nonces: { opener: nonce, acceptor } }) }))
  await readAt(far)
  await slowly(frameOf({ hello: FAKE_HELLO }))
  assert.equal((await accepted).hello, FAKE_HELLO)
})

// Strangers

/** What a stranger proves itself with, once it has seen the nonce of the other end. */
const FORGERIES: readonly (readonly [string, (nonces: { opener: string; acceptor: string }) => unknown])[] = [
  ['a proof of another secret', nonces => ({ proof: proofOf({ secret: 'guess', side: 'opener', nonces }) })],
  ['the proof of the other side', nonces => ({ proof: proofOf({ secret, side: 'acceptor', nonces }) })],
  [
    'a proof of other nonces',
    () => ({ proof: proofOf({ secret, side: 'opener', nonces: { opener: nonce, acceptor: nonce } }) }),
  ],
  ['a proof in capitals', nonces => ({ proof: proofOf({ secret, side: 'opener', nonces }).toUpperCase() })],
  ['a proof that is too short', () => ({ proof: 'ab' })],
  ['no object', () => null],
  ['a hello instead of a proof', () => ({ hello: FAKE_HELLO })],
]
for (const [name, forge] of FORGERIES)
  test(`${name} is NOT_AUTHENTICATED, and the stranger is told nothing (threat 27)`, async () => {
    const { far, accepted } = accepting()
    const refused = faultOf(accepted)
    sendFrame(far, { imago: 1, nonce })
    const { nonce: acceptor } = await readAt(far)
    sendFrame(far, forge({ opener: nonce, acceptor }))
    assert.is((await refused).code, 'NOT_AUTHENTICATED')
    assert.is(far.read(), null)
  })

test('a squatter at the address of a peer that listens is refused, whatever it answers, and told nothing more (threat 27)', async () => {
  for (const forge of [
    () => '0'.repeat(64),
    (opener: string) => proofOf({ secret: 'guess', side: 'acceptor', nonces: { opener, acceptor: nonce } }),
    (opener: string) => proofOf({ secret, side: 'opener', nonces: { opener, acceptor: nonce } }),
  ]) {
    const { near, far, close } = await connection()
    const opening = faultOf(openKernel({ transport: far, secret }))
    const { nonce: opener } = await readAt(near)
    sendFrame(near, { imago: 1, nonce })
    await readAt(near)
    sendFrame(near, { proof: forge(opener) })
    assert.is((await opening).code, 'NOT_AUTHENTICATED')
    assert.is(await text(near), '')
    await close()
  }
})

test('a nonce that is sent back is refused, whoever sends it (threat 27)', async () => {
  const [near, far] = duplexPair()
  const opening = faultOf(openKernel({ transport: near, secret }))
  sendFrame(far, await readAt(far))
  const { code, message } = await opening
  assert.is(code, 'NOT_AUTHENTICATED')
  assert.match(message, 'our own nonce')
})

const http = 'POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://evil.example\r\n\r\n{"imago":1}'
const GARBAGE: readonly (readonly [string, string | Buffer])[] = [
  ['an HTTP request', http],
  ['a TLS hello', Buffer.from('16030100a5010000a10303', 'hex')],
  ['a frame of no bytes', Buffer.alloc(4)],
  ['a frame of 4,097 bytes', Buffer.concat([Buffer.from([0, 0, 0x10, 1]), Buffer.alloc(4_097, ' ')])],
  ['a frame that is no JSON', Buffer.from([0, 0, 0, 2, 0x7b, 0x7b])],
  ['JSON that is no object', frameOf([1])],
  ['an object without a version', frameOf({ nonce })],
  ['a nonce that is too short', frameOf({ imago: 1, nonce: 'ab' })],
  ['4 KiB of brackets', Buffer.concat([Buffer.from([0, 0, 0x10, 0]), Buffer.alloc(4_096, '[')])],
]
for (const [name, bytes] of GARBAGE)
  test(`${name} in place of a handshake closes the connection, and nothing comes back (fault 21)`, async () => {
    const { near, far, close } = await connection()
    const refused = faultOf(acceptKernel({ transport: near, secret }))
    far.write(bytes)
    assert.is(await text(far).catch(() => ''), '')
    const { code } = await refused
    const codes = ['FRAME_TOO_LARGE', 'FRAME_MALFORMED', 'NOT_AUTHENTICATED', 'LIMIT_EXCEEDED']
    assert.ok(codes.includes(code), code)
    await close()
  })

test('200 slow strangers are gone when their time is up, while a real peer connects at once (fault 22)', async () => {
  const codes: Promise<string>[] = []
  const listening = await listen('tcp:127.0.0.1:0', transport => {
    const accepted = acceptKernel({ transport, secret, serve, limits: { handshakeMs: 400 } })
    codes.push(accepted.then(({ hello }) => hello.implementation).catch(error => error.code))
  })
  const strangers = await Promise.all(Array.from({ length: 200 }, () => connect(listening.address)))
  const evicted = strangers.map(stranger => {
    stranger.on('error', () => {})
    stranger.write(frameOf({ imago: 1, nonce }).subarray(0, 30))
    return new Promise(resolve => stranger.on('close', resolve).resume())
  })
  const peer = await fakeKernelPeer(await connect(listening.address), { secret })
  peer.send({ type: 'call', id: 1, method: 'm' })
  await peer.next('return')
  await Promise.all(evicted)
  const told = await Promise.all(codes)
  assert.equal([told.filter(code => code === 'HANDSHAKE_TIMEOUT').length, told.length], [200, 201])
  peer.die()
  await listening.close()
})

test('a peer that goes away, or ends in a frame, is told apart from one that is slow', async () => {
  const cut = accepting()
  cut.far.end(frameOf({ imago: 1, nonce }).subarray(0, 20))
  assert.is((await faultOf(cut.accepted)).code, 'FRAME_TRUNCATED')
  const left = accepting()
  left.far.end()
  assert.is((await faultOf(left.accepted)).code, 'LINK_CLOSED')
  assert.is((await faultOf(accepting({ handshakeMs: 20 }).accepted)).code, 'HANDSHAKE_TIMEOUT')
})

// Versions

test('an opener of another version is told which there are, and both know why it ended (fault 33)', async () => {
  const { far, accepted } = accepting()
  const refused = faultOf(accepted)
  sendFrame(far, { imago: 2, nonce })
  assert.equal(await readAt(far), { imago: 1, error: 'version', versions: [1] })
  const { code, message } = await refused
  assert.is(code, 'VERSION_MISMATCH')
  assert.match(message, 'version 2')
})

test('an acceptor of another version is told too, or tells (fault 33)', async () => {
  for (const [said, known] of [
    [{ imago: 3, nonce }, 'version 3'],
    [{ imago: 3, error: 'version', versions: [2, 3] }, '2, 3'],
  ] as const) {
    const [near, far] = duplexPair()
    const opening = faultOf(openKernel({ transport: near, secret }))
    await readAt(far)
    sendFrame(far, said)
    if (!('error' in said)) assert.equal(await readAt(far), { imago: 1, error: 'version', versions: [1] })
    const { code, message } = await opening
    assert.is(code, 'VERSION_MISMATCH')
    assert.match(message, known)
  }
})

test('a kernel of another protocol is refused with a reason (fault 33)', async () => {
  const { far, accepted } = accepting()
  const refused = faultOf(accepted)
  const told = await fakeKernelPeer(far, { secret, hello: { protocol: 2 } }).catch(String)
  assert.match(String(told), 'greeted with 2')
  assert.is((await refused).code, 'VERSION_MISMATCH')
})

for (const [name, value] of [
  ['language', 7],
  ['pid', 0],
  ['epoch', 'ABCDEF01'],
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

const ofClients = suite('handshake of clients')
const hello: ClientHello = {
  role: 'client',
  protocol: 2,
  name: 'imago call',
  version: '0.1.0',
  root: '/home/ada/engine',
  env: { PATH: '/usr/bin' },
  encodings: ['json'],
}
const said = { instance: '9d1c0a52', version: '0.1.0', pid: 977 }

let open: Connection
ofClients.before.each(async () => {
  open = await connection()
})
ofClients.after.each(() => open.close())

const accept = (judge: Parameters<typeof acceptClient>[0]['judge'] = () => undefined) =>
  acceptClient({ transport: open.near, welcome: said, judge, serve })

for (const [encodings, encoding] of [
  [['json'], 'json'],
  [['msgpack'], 'msgpack'],
] as const)
  ofClients(
    `a client says hello, is welcomed in ${encoding}, asks, and what it wants besides is kept`,
    async () => {
      const accepted = accept()
      const wanting = { ...hello, encodings, options: { profile: 'core' } }
      const { welcome, link } = await openClient({ transport: open.far, hello: wanting })
      const { creditBytes: credit, chunkBytes: chunk, frameBytes: frame, messageBytes: message } = LIMITS
      assert.equal(welcome, { encoding, credit, chunk, frame, message, ...said })
      assert.equal((await accepted).hello, wanting)
      assert.equal(await link.call('kernels', 'é'), { method: 'kernels', params: 'é' })
      await link.close()
    },
  )

ofClients('after the welcome of an mcp client its bytes are raw, both ways, and none is lost', async () => {
  const accepting = accept()
  sendFrame(open.far, { hello: { ...hello, role: 'mcp' } })
  open.far.end('{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
  const accepted = await accepting
  if (accepted.type !== 'mcp') return assert.unreachable('an mcp client was given calls')
  accepted.transport.end('line 1\nline 2\n')
  const { welcome } = (await readFrame(open.far, LIMITS.helloFrameBytes)) as { welcome: typeof said }
  assert.is(welcome.instance, said.instance)
  assert.is(await text(open.far), 'line 1\nline 2\n')
  assert.is(await text(accepted.transport), '{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
})

ofClients('a client that the daemon will not have is told the code and the message', async () => {
  const refused = { code: 'invalid_root', message: 'The root is not a directory.' }
  const accepting = faultOf(accept(() => ({ refused })))
  const fault = await faultOf(openClient({ transport: open.far, hello }))
  assert.equal(fault.remote, { ...refused, data: undefined })
  assert.match(fault.message, refused.message)
  assert.is((await accepting).remote?.code, 'invalid_root')
})

ofClients(
  'a hello of which only the protocol can be read is refused for that, and by name (fault 33)',
  async () => {
    const accepting = faultOf(accept())
    const older = { protocol: 1, who: 'an older client' } as unknown as ClientHello
    const fault = await faultOf(openClient({ transport: open.far, hello: older }))
    assert.is(fault.code, 'VERSION_MISMATCH')
    assert.match(
      fault.message,
      /speaks protocol 2 and was greeted with 1\. .*\(npm install -g imago@0\.1\.0\)\.$/,
    )
    assert.is((await accepting).code, 'VERSION_MISMATCH')
  },
)

for (const [name, frame] of [
  ['no hello', { imago: 1 }],
  ['a hello that is no object', { hello: 'hello' }],
  ['a role with power', { hello: { ...hello, role: 'approver' } }],
] as const)
  ofClients(`${name} closes the connection, and nothing comes back (fault 21)`, async () => {
    const accepting = faultOf(accept())
    sendFrame(open.far, frame)
    assert.is(await text(open.far).catch(() => ''), '')
    assert.is((await accepting).code, 'MESSAGE_INVALID')
  })

for (const [name, fields, said] of [
  ['without a role', { role: undefined }, /^The field role of the hello is missing: /],
  ['without a root', { root: undefined }, 'The field root of the hello is missing: it has to be a text.'],
  ['without a protocol', { protocol: undefined }, /protocol .* is missing: it has to be a whole number/],
  [
    'with an environment of numbers',
    { env: { PATH: 7 } },
    /env .* is wrong: it has to be an object of texts/,
  ],
] as const)
  ofClients(`a hello ${name} is refused by the name of the field, and closes the connection`, async () => {
    const accepting = faultOf(accept())
    sendFrame(open.far, { hello: { ...hello, ...fields } })
    const { refused } = (await readFrame(open.far, LIMITS.helloFrameBytes)) as {
      refused: { code: string; message: string }
    }
    assert.is(refused.code, 'invalid_hello')
    assert.match(refused.message, said)
    assert.is(await text(open.far).catch(() => ''), '')
    assert.is((await accepting).code, 'MESSAGE_INVALID')
  })

for (const [name, frame] of [
  ['no welcome', { hello }],
  ['a welcome without limits', { welcome: { encoding: 'json', ...said } }],
  [
    'a welcome in no encoding',
    { welcome: { encoding: 'cbor', credit: 1, chunk: 1, frame: 1, message: 1, ...said } },
  ],
  ['a refusal without a reason', { refused: {} }],
] as const)
  ofClients(`${name} is MESSAGE_INVALID to a client`, async () => {
    const opening = faultOf(openClient({ transport: open.far, hello }))
    await readFrame(open.near, LIMITS.helloFrameBytes)
    sendFrame(open.near, frame)
    assert.is((await opening).code, 'MESSAGE_INVALID')
  })
