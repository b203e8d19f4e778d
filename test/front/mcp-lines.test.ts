import fc from 'fast-check'
import { LINE_BYTES } from '../../src/front/mcp-transport.ts'
import { type Envelope, toolError } from '../../tools/outcome.ts'
import { assert, suite } from '../support/harness.ts'
import type { Line } from '../support/line-peer.ts'
import {
  call,
  connect,
  deferred,
  errorOf,
  MODERN,
  open,
  request,
  resultOf,
  three,
} from '../support/mcp-by-hand.ts'

const test = suite('mcp lines')

const REVISION = '2025-11-25'

test('a line that is not JSON is answered with a parse error, and the next one is served', async () => {
  const { peer } = connect()
  await open(peer, REVISION)
  peer.sendBytes('{"jsonrpc":"2.0","id":1,\n')
  peer.send(call(REVISION, { id: 2 }))
  assert.equal(await peer.line(line => line.id === null), {
    jsonrpc: '2.0',
    id: null,
    error: { code: -32700, message: 'This line is not JSON.' },
  })
  assert.ok('result' in (await peer.answer(2)))
})

test('a line that is no message is answered under its id, where it has one', async () => {
  const { peer } = connect()
  await open(peer, REVISION)
  peer.sendBytes('{"jsonrpc":"1.0","id":7,"method":"tools/list"}\n[{"jsonrpc":"2.0"}]\n"text"\n')
  assert.is(errorOf(await peer.answer(7)).code, -32600)
  const without = () => peer.received.filter(line => line.id === null)
  await peer.line(() => without().length === 2)
  assert.match(errorOf(without()[0] ?? {}).message, /^Batches/)
})

const naming = (version: unknown) => ({ 'io.modelcontextprotocol/protocolVersion': version })

for (const opened of [true, false])
  test(`a request that names a revision that is not served is answered ${opened ? 'later' : 'at first'} as the specification says, and does not run`, async () => {
    const { peer, requests } = connect()
    if (opened) await open(peer, MODERN)
    for (const [id, requested] of ['2031-01-01', '2025-11-25', '1', ''].entries()) {
      peer.send(call(MODERN, { id, meta: naming(requested) }))
      const { code, data } = errorOf(await peer.answer(id))
      assert.equal({ code, data }, { code: -32022, data: { supported: [MODERN], requested } })
    }
    for (const method of ['ping', 'tools/list', 'server/discover', 'subscriptions/listen']) {
      peer.send(request(MODERN, { id: method, method, meta: naming('2031-01-01') }))
      assert.is(errorOf(await peer.answer(method)).code, -32022)
    }
    assert.is(requests.length, 0)
    peer.send(call(MODERN, { id: 'next' }))
    assert.ok('result' in (await peer.answer('next')))
  })

test('a client that opened as older ones do may name the revision of that, and none that is unknown', async () => {
  const { peer, requests } = connect()
  await open(peer, REVISION)
  peer.send(call(REVISION, { id: 1, meta: naming(REVISION) }))
  assert.ok('result' in (await peer.answer(1)))
  peer.send(call(REVISION, { id: 2, meta: naming('2031-01-01') }))
  const { code, data } = errorOf(await peer.answer(2))
  assert.is(code, -32022)
  assert.ok(Object(data?.supported).includes(REVISION))
  assert.is(requests.length, 1)
})

test('an initialize without a protocol version is told what to send, and may be sent again', async () => {
  const { peer } = connect()
  for (const [id, params] of [undefined, {}, { protocolVersion: 7 }].entries()) {
    peer.send({ jsonrpc: '2.0', id, method: 'initialize', ...(params && { params }) })
    const { code, message } = errorOf(await peer.answer(id))
    assert.is(code, -32602)
    assert.match(
      message,
      /^initialize names no protocol version\. Send params\.protocolVersion, a text such as "20/,
    )
  }
  await open(peer, REVISION)
})

test('however a stream is cut into pieces, every message is served once', async () => {
  const lines = [
    `${JSON.stringify(call(REVISION, { id: 'one', args: { expr: '"→ ü 𝄞"' } }))}\r\n`,
    '\n  \n',
    `${JSON.stringify(request(REVISION, { id: 'two', method: 'tools/list' }))}\n`,
    `${JSON.stringify(call(REVISION, { id: 'three' }))}\n`,
  ]
  const bytes = Buffer.from(lines.join(''))
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 1, max: bytes.length - 1 }), { maxLength: 40 }),
      async cuts => {
        const { peer, requests } = connect()
        await open(peer, REVISION)
        const at = [0, ...new Set(cuts), bytes.length].sort((one, other) => one - other)
        for (const [index, from] of at.entries()) {
          const piece = bytes.subarray(from, at[index + 1] ?? from)
          if (piece.length > 0) peer.sendBytes(piece)
        }
        await Promise.all(['one', 'two', 'three'].map(id => peer.answer(id)))
        assert.equal(
          requests.map(one => (one.args as Line).expr),
          ['"→ ü 𝄞"', '1 + 2'],
        )
        peer.end()
      },
    ),
    { numRuns: 25 },
  )
})

test('a line of the longest length is served', async () => {
  const { peer, requests } = connect()
  await open(peer, REVISION)
  const empty = JSON.stringify(call(REVISION, { id: 1, args: { expr: '' } }))
  const expr = 'x'.repeat(LINE_BYTES - Buffer.byteLength(empty))
  peer.send(call(REVISION, { id: 1, args: { expr } }))
  await peer.answer(1)
  assert.is((requests[0]?.args as { expr: string } | undefined)?.expr.length, expr.length)
})

test('a longer line is refused under its own id, wherever that stands, and the next one is served', async () => {
  const { peer, requests } = connect()
  await open(peer, REVISION)
  const decoy = `{"id":666,"text":"\\"id\\":667}"}`
  const params = `{"name":"eval_expr","arguments":{"expr":"${'x'.repeat(LINE_BYTES)}","decoy":${decoy}}}`
  peer.sendBytes(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}\n`)
  peer.sendBytes(`{"method":"tools/call","params":${params},"jsonrpc":"2.0","id":"two"}\n`)
  peer.sendBytes(`{"method":"tools/call","params":${params},"id":3,"jsonrpc":"2.0"}\n`)
  peer.send(call(REVISION, { id: 4 }))
  await peer.answer(4)
  for (const id of [1, 'two', null]) {
    const { code, message } = errorOf(await peer.answer(id))
    assert.is(code, -32600)
    assert.match(message, /longer than 10485760 bytes/)
  }
  assert.not.ok(peer.received.some(line => line.id === 666 || line.id === 667))
  assert.is(requests.length, 1)
})

test('when the client closes its input, what it had asked is answered before the stream ends', async () => {
  const began = deferred<void>()
  const finish = deferred<Envelope>()
  const { peer, served } = connect({
    run: () => {
      began.resolve()
      return finish.promise
    },
  })
  await open(peer, REVISION)
  peer.sendBytes(JSON.stringify(call(REVISION, { id: 1 })))
  peer.end()
  await began.promise
  finish.resolve(three)
  assert.equal(resultOf(await peer.answer(1)).content, [{ type: 'text', text: '3' }])
  await Promise.all([peer.ended, served])
})

test('when the client closes its input, a call that goes on does not keep the stream open', async () => {
  const { peer, served } = connect({ run: () => new Promise(() => {}) })
  await open(peer, REVISION)
  peer.send(call(REVISION, { id: 1 }))
  peer.end()
  await Promise.all([peer.ended, served])
  assert.not.ok(peer.received.some(line => line.id === 1))
})

test('a client that asks and does not read is read no further, and gets every answer once it reads', async () => {
  const { peer, requests, stream } = connect({
    run: async () => ({ ok: false, error: toolError('internal', { message: 'x'.repeat(30_000) }) }),
  })
  await open(peer, REVISION)
  stream.pause()
  for (let id = 1; id <= 500; id++) {
    peer.send(call(REVISION, { id, name: 'list_globals', args: {} }))
    await new Promise(resolve => setImmediate(resolve))
  }
  assert.ok(requests.length < 500)
  stream.resume()
  for (let id = 1; id <= 500; id++) assert.ok('result' in (await peer.answer(id)))
})
