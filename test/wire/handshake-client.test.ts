import { text } from 'node:stream/consumers'
import { LIMITS } from '../../wire/codec/messages.ts'
import {
  type AcceptedClient,
  acceptClient,
  type ClientHello,
  frameOf,
  openBytes,
  openClient,
  readFrame,
  sendFrame,
} from '../../wire/link/handshake.ts'
import { faultOf } from '../support/faults.ts'
import { assert, suite } from '../support/harness.ts'
import { type Connection, connection } from '../support/sockets.ts'

const test = suite('client handshake')
const hello: ClientHello = {
  role: 'client',
  protocol: 1,
  name: 'imago call',
  version: '0.1.0',
  root: '/home/ada/engine',
  env: { PATH: '/usr/bin' },
  encodings: ['json'],
}
const said = { instance: '9d1c0a52', version: '0.1.0', pid: 977 }

let open: Connection
test.before.each(async () => {
  open = await connection()
})
test.after.each(() => open.close())

type Judge = Parameters<typeof acceptClient>[0]['judge']
const accept = (judge: Judge = () => undefined): Promise<AcceptedClient> =>
  acceptClient({
    transport: open.near,
    welcome: said,
    judge,
    serve: async (method, params) => [method, params],
  })

test('a client says hello, is welcomed, and asks', async () => {
  const accepting = accept()
  const { welcome, link } = await openClient({ transport: open.far, hello })
  assert.equal(welcome, {
    encoding: 'json',
    credit: LIMITS.creditBytes,
    chunk: LIMITS.chunkBytes,
    frame: LIMITS.frameBytes,
    message: LIMITS.messageBytes,
    ...said,
  })
  const accepted = await accepting
  assert.is(accepted.type, 'calls')
  assert.equal(accepted.hello, hello)
  assert.equal(await link.call('kernels', {}), ['kernels', {}])
  await link.close()
})

test('a client that has msgpack is spoken to in it, and what it wants besides is kept', async () => {
  const accepting = accept()
  const wanting = { ...hello, encodings: ['msgpack'], options: { profile: 'core' } }
  const { welcome, link } = await openClient({ transport: open.far, hello: wanting })
  assert.is(welcome.encoding, 'msgpack')
  assert.equal((await accepting).hello.options, { profile: 'core' })
  assert.equal(await link.call('m', 'é'), ['m', 'é'])
})

test('after the welcome of an mcp client its bytes are raw, both ways, and none is lost', async () => {
  const accepting = accept()
  sendFrame(open.far, { hello: { ...hello, role: 'mcp' } })
  open.far.end('{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
  const accepted = await accepting
  if (accepted.type !== 'mcp') return assert.unreachable('an mcp client was given calls')
  await new Promise(resolve => setImmediate(resolve))
  assert.is(await text(accepted.transport), '{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
})

test('the other end of that gets the welcome, and leaves what follows unread', async () => {
  const accepting = accept()
  const opening = openBytes({ transport: open.far, hello: { ...hello, role: 'mcp' } })
  const accepted = await accepting
  if (accepted.type !== 'mcp') return assert.unreachable('an mcp client was given calls')
  accepted.transport.end('line 1\nline 2\n')
  const { welcome, transport } = await opening
  assert.is(welcome.instance, said.instance)
  await new Promise(resolve => setTimeout(resolve, 20))
  assert.is(await text(transport), 'line 1\nline 2\n')
})

test('a client that the daemon will not have is told the code and the message', async () => {
  const refused = { code: 'invalid_root', message: 'The root is not a directory.' }
  const accepting = faultOf(accept(() => ({ refused })))
  const fault = await faultOf(openClient({ transport: open.far, hello }))
  assert.equal(fault.remote, { ...refused, data: undefined })
  assert.match(fault.message, refused.message)
  assert.is((await accepting).remote?.code, 'invalid_root')
})

test('a client of another protocol is refused cleanly, whichever end is the older (fault 33)', async () => {
  const accepting = faultOf(accept())
  const fault = await faultOf(openClient({ transport: open.far, hello: { ...hello, protocol: 9 } }))
  assert.is(fault.code, 'VERSION_MISMATCH')
  assert.match(fault.message, 'greeted with 9')
  assert.is((await accepting).code, 'VERSION_MISMATCH')
})

test('a hello of which only the protocol can be read is refused for that, and by name (fault 33)', async () => {
  const accepting = faultOf(accept())
  sendFrame(open.far, { hello: { protocol: 2, who: 'a newer client' } })
  const reply = (await readFrame(open.far, LIMITS.helloFrameBytes)) as { refused: { code: string } }
  assert.is(reply.refused.code, 'VERSION_MISMATCH')
  assert.is((await accepting).code, 'VERSION_MISMATCH')
})

for (const [name, frame] of [
  ['no hello', { imago: 1 }],
  ['a hello without a root', { hello: { ...hello, root: undefined } }],
  ['an environment of numbers', { hello: { ...hello, env: { PATH: 7 } } }],
  ['the role of a kernel', { hello: { ...hello, role: 'kernel' } }],
  ['a role with power', { hello: { ...hello, role: 'approver' } }],
] as const)
  test(`${name} closes the connection, and nothing comes back (fault 21)`, async () => {
    const accepting = faultOf(accept())
    sendFrame(open.far, frame)
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
  test(`${name} is MESSAGE_INVALID to a client`, async () => {
    const opening = faultOf(openClient({ transport: open.far, hello }))
    await readFrame(open.near, LIMITS.helloFrameBytes)
    open.near.write(frameOf(frame))
    assert.is((await opening).code, 'MESSAGE_INVALID')
  })
