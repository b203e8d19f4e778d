import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, suite } from '../support/harness.ts'
import { hello, lengthOf } from '../support/raw-client.ts'
import { openRig, until } from '../support/rig.ts'
import { RawWeb, rawOverWeb, upgradeHead, webFrame, webOf } from '../support/web-socket.ts'

/** Connections that break the rules of WebSocket or of one message for one frame, each in its own way. */
const test = suite('frames of a WebSocket', { limitMs: 120_000 })
const rig = openRig({ config: '[web]\nport = 0\n' })
test.before(async () => {
  await rig.serve()
})
test.after(() => rig.close())

async function upgraded(subprotocol = 'imago.v2.json') {
  const web = webOf(rig)
  const raw = new RawWeb(web.port)
  assert.is(await raw.asks(upgradeHead(web, { 'sec-websocket-protocol': subprotocol })), 101)
  return raw
}

/** Somebody else's client, over a WebSocket and over the socket, who must not notice anything. */
async function assertOthersAreServed() {
  await using client = await rig.connect()
  assert.is((await client.request('status', {})).pid > 0, true)
  const other = await rawOverWeb(webOf(rig))
  other.send({ hello: hello(rig.project) })
  assert.ok((await other.next())?.welcome)
  other.close()
}

const greeting = () => JSON.stringify({ hello: hello(rig.project) })
const [FIN, NONE] = [0x80, 0]
const text = (payload: string | Uint8Array) => webFrame({ payload })
const joined = (...parts: readonly Uint8Array[]) => Buffer.concat(parts)

for (const [what, code, bytes, subprotocol] of [
  ['a frame without a mask', 1002, () => webFrame({ payload: greeting(), masked: false })],
  ['the first reserved bit', 1002, () => webFrame({ payload: greeting(), first: FIN | 0x40 })],
  ['the second reserved bit', 1002, () => webFrame({ payload: greeting(), first: FIN | 0x20 })],
  ['the third reserved bit', 1002, () => webFrame({ payload: greeting(), first: FIN | 0x10 })],
  ['a reserved opcode', 1002, () => webFrame({ opcode: 3 })],
  ['a reserved opcode of control', 1002, () => webFrame({ opcode: 11 })],
  ['a ping in pieces', 1002, () => webFrame({ opcode: 9, first: NONE })],
  ['a ping of 126 bytes', 1002, () => webFrame({ opcode: 9, payload: Buffer.alloc(126) })],
  ['a piece of nothing', 1002, () => webFrame({ opcode: 0, payload: 'x' })],
  ['a message within another', 1002, () => joined(webFrame({ first: NONE, payload: '{' }), text('{'))],
  ['a length of 8 MiB and one (fault 20)', 1009, () => webFrame({ announced: 8_388_609n })],
  ['a length of 2 to the 63 (fault 20)', 1009, () => webFrame({ announced: 1n << 63n })],
  ['pieces of more than 8 MiB', 1009, () => pieces(9, 1_000_000)],
  ['text that is not UTF-8', 1007, () => text(Buffer.from('ff', 'hex'))],
  ['a close of one byte', 1002, () => webFrame({ opcode: 8, payload: 'x' })],
  [
    'a close code that none may send',
    1002,
    () => webFrame({ opcode: 8, payload: Buffer.from('03ed', 'hex') }),
  ],
  ['a reason that is not UTF-8', 1007, () => webFrame({ opcode: 8, payload: Buffer.from('03e8ff', 'hex') })],
  ['bytes for JSON', 1003, () => webFrame({ opcode: 2, payload: greeting() })],
  ['text for msgpack', 1003, () => text(greeting()), 'imago.v2.msgpack'],
  ['an empty message', 1008, () => text('')],
  ['no JSON', 1008, () => text('GET / HTTP/1.1')],
  ['two frames in one message', 1008, () => text(greeting() + greeting())],
  ['a frame with its length', 1008, () => text(joined(lengthOf(2), Buffer.from('{}')))],
  ['a hello of more than 256 KiB', 1008, () => text(`${greeting()}${' '.repeat(262_144)}`)],
  ['a hello in an array 200 deep (threat 32)', 1008, () => text(`${'['.repeat(200)}${']'.repeat(200)}`)],
  ['a million empty pieces (threat 33)', 1008, () => pieces(1_000_000, 0)],
  [
    '10,000 pings at once',
    1008,
    () => joined(...Array.from({ length: 10_000 }, () => webFrame({ opcode: 9 }))),
  ],
  ['a close in the middle of a message', 1000, () => joined(webFrame({ first: NONE, payload: '{' }), CLOSE)],
] as const)
  test(`${what} closes that WebSocket alone, with ${code}`, async () => {
    const raw = await upgraded(subprotocol)
    raw.socket.write(bytes())
    assert.is(await raw.closeCode(), code)
    raw.socket.end()
    await raw.gone
    await assertOthersAreServed()
  })

const CLOSE = webFrame({ opcode: 8, payload: Buffer.from('03e8', 'hex') })

function pieces(count: number, size: number): Buffer {
  const piece = (opcode: number) => webFrame({ opcode, first: NONE, payload: Buffer.alloc(size, 'x') })
  return joined(piece(1), Buffer.alloc(count * piece(0).length, piece(0)))
}

for (const [what, end] of [
  ['a reset in the middle of a frame (fault 16)', raw => raw.socket.resetAndDestroy()],
  ['an end in the middle of a frame (fault 19)', raw => raw.socket.end()],
] as readonly (readonly [string, (raw: RawWeb) => void])[])
  test(`${what} ends that connection, and no other`, async () => {
    const raw = await upgraded()
    raw.socket.write(webFrame({ payload: greeting() }).subarray(0, 40))
    end(raw)
    await raw.gone
    await assertOthersAreServed()
  })

test('a reset in the middle of a frame ends the session, and its evaluation goes on to a result that is kept (fault 16)', async () => {
  const expr = [
    'import os, time',
    'open("ran", "a").write("x")',
    'print("on", flush=True)',
    'while not os.path.exists("go"): time.sleep(0.01)',
    '"kept"',
  ].join('\n')
  const params = { tool: 'eval_expr', args: { expr }, call: 'web-fault-16', follow: true }
  const raw = await upgraded()
  await using client = await rig.connect()
  raw.socket.write(
    joined(text(greeting()), text(JSON.stringify({ type: 'call', id: 1, method: 'call', params }))),
  )
  await until(() => raw.received.includes('"text":"on'), 'it to run')
  raw.socket.write(text('x'.repeat(100)).subarray(0, 40))
  raw.socket.resetAndDestroy()
  await until(async () => (await client.request('status', {})).clients === 1, 'the session to end')
  writeFileSync(join(rig.project, 'go'), '')
  const envelope = await client.call({ tool: 'eval_expr', args: { expr }, call: 'web-fault-16' })
  assert.match(JSON.stringify(envelope), /"value_repr":"'kept'"/)
  assert.is(readFileSync(join(rig.project, 'ran'), 'utf8'), 'x')
})

test('a hello in pieces, byte by byte, and in one write with the calls behind it, means the same (fault 17) (fault 18)', async () => {
  const ask = JSON.stringify({ type: 'call', id: 1, method: 'approvals', params: {} })
  const half = greeting().length >> 1
  const parts = [
    webFrame({ first: NONE, payload: greeting().slice(0, half) }),
    webFrame({ opcode: 9, payload: 'between' }),
    webFrame({ opcode: 0, payload: greeting().slice(half) }),
    text(ask),
  ]
  for (const slices of [[joined(...parts)], [...joined(...parts)].map(byte => Uint8Array.of(byte))]) {
    const raw = await upgraded()
    for (const slice of slices) raw.socket.write(slice)
    await until(() => raw.received.includes('"type":"return"'), 'the answer')
    const [pong, welcome, answer] = ['between', '"welcome"', '"grants":[]'].map(one =>
      raw.received.indexOf(one),
    )
    assert.ok(Number(pong) > 0 && Number(welcome) > 0 && Number(answer) > Number(welcome))
    raw.socket.destroy()
  }
})

test('200 requests that never end and 200 WebSockets that say no hello are ended, and others are served meanwhile (fault 22)', async () => {
  const web = webOf(rig)
  const slow = Array.from({ length: 200 }, () => new RawWeb(web.port))
  for (const { socket } of slow) socket.write(upgradeHead(web).slice(0, 60))
  const silent = await Promise.all(Array.from({ length: 200 }, () => upgraded()))
  await assertOthersAreServed()
  for (const one of silent) assert.is(await one.closeCode(), 1008)
  // They do not answer the close either.
  await Promise.all([...slow, ...silent].map(one => one.gone))
})
