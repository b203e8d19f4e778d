import { createServer, type Socket } from 'node:net'
import { connectSwank, type SwankPlace } from '../../wire/swank/connect.ts'
import { MOST_BYTES } from '../../wire/swank/frames.ts'
import { type Form, type Sexp, symbol, write } from '../../wire/swank/sexp.ts'
import { type FakeSwank, type FakeSwankOptions, fakeSwank } from '../support/fake-swank.ts'
import { faultOf } from '../support/faults.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('swank hostile')
const host = '127.0.0.1'
const text = (text: string) => ({ text })
const ASK: Form = [symbol('swank:ping'), null]

async function serving(options: FakeSwankOptions, body: (server: FakeSwank) => Promise<void>): Promise<void> {
  const server = await fakeSwank(options)
  try {
    await body(server)
  } finally {
    await server.close()
  }
}

/** A connection past its first words, the server's side of it, and one request that waits. */
async function asked(server: FakeSwank) {
  const { connection } = await connectSwank({ host, port: server.port, secret: null })
  const client = await server.next()
  const answer = connection.rex(ASK)
  answer.catch(() => {})
  return { connection, client, answer, id: (await client.called('swank:ping')).id }
}

const failing = (place: Omit<SwankPlace, 'host'>) => faultOf(connectSwank({ host, ...place }))

// Once it is connected

test('a server that writes one byte at a time is understood (fault 17)', () =>
  serving({ oneByte: true }, async server => {
    const { connection, client, answer, id } = await asked(server)
    client.say('(:ping 1 2)').answer(id, '("é漢💥" #<a "b">)')
    assert.equal(await answer, { ok: [text('é漢💥'), { atom: '#<a "b">' }] })
    await client.next(':emacs-pong')
    connection.end()
  }))

test('the largest reply that Swank can frame is taken whole', () =>
  serving({}, async server => {
    const { connection, client, answer, id } = await asked(server)
    const around = `(:return (:ok "") ${id})`.length
    const long = '"'.repeat((MOST_BYTES - around) / 2)
    client.answer(id, write(long))
    assert.equal(await answer, { ok: text(long) })
    connection.end()
  }))

test('a debugger in a debugger is told level by level, and requests go on beside it', () =>
  serving({}, async server => {
    const { connection, client, answer, id } = await asked(server)
    const heard: Sexp[] = []
    connection.listen(message => heard.push(message))
    client.debug(5, 1, [id]).debug(5, 2, [id]).say('(:debug-return 5 2 nil)').debug(5, 1, [id])
    const beside = connection.rex([symbol('swank:beside')])
    client.answer((await client.called('swank:beside')).id, 't')
    await beside
    const told = heard.map(message => (message as readonly { readonly atom?: string }[])[0]?.atom)
    assert.equal(told, [
      ':debug',
      ':debug-activate',
      ':debug',
      ':debug-activate',
      ':debug-return',
      ':debug',
      ':debug-activate',
    ])
    client.say('(:debug-return 5 1 nil)').abort(id, 'left')
    assert.equal(await answer, { abort: 'left' })
    connection.end()
  }))

test('death in the middle of a message fails all that waits (fault 19)', () =>
  serving({}, async server => {
    const { connection, client, answer, id } = await asked(server)
    const other = connection.rex(ASK)
    client.dieWithin(`(:return (:ok 1) ${id})`, 12)
    const fault = await faultOf(answer)
    assert.is(fault.code, 'FRAME_TRUNCATED')
    assert.is(await faultOf(other), fault)
    assert.is(await connection.closed, fault)
  }))

for (const [how, die] of [
  ['an end', (socket: Socket) => socket.end()],
  ['a reset', (socket: Socket) => socket.resetAndDestroy()],
] as const)
  test(`${how} between messages fails all that waits (fault 16)`, () =>
    serving({}, async server => {
      const { connection, client, answer } = await asked(server)
      die(client.socket)
      assert.is((await faultOf(answer)).code, 'LINK_CLOSED')
      assert.is((await connection.closed).code, 'LINK_CLOSED')
    }))

/** What a server may say in the middle, and the code that the connection ends with. */
const OFFENCES: readonly (readonly [string, string | Uint8Array, string])[] = [
  ['HTTP', 'HTTP/1.1 400 Bad Request\r\n', 'FRAME_MALFORMED'],
  ['a message that is no UTF-8', Buffer.from('303030303032c328', 'hex'), 'FRAME_MALFORMED'],
  ['a list without an end', '000002((', 'FRAME_MALFORMED'],
  ['a list that ends twice', '000001)', 'FRAME_MALFORMED'],
  ['no bytes', '000000', 'FRAME_MALFORMED'],
  ['lists without bound', `0f4240${'('.repeat(1e6)}`, 'LIMIT_EXCEEDED'],
]
for (const [name, bytes, code] of OFFENCES)
  test(`${name} in place of a message ends the connection once, and nothing is said back (fault 21)`, () =>
    serving({}, async server => {
      const { connection, client, answer } = await asked(server)
      const said = client.received.length
      client.sendBytes(bytes).say('(:ping 1 2)')
      assert.is((await faultOf(answer)).code, code)
      assert.is((await connection.closed).code, code)
      await client.ended
      assert.is(client.received.length, said)
    }))

test('a server that reads nothing is left before what waits for it takes all memory (fault 23)', () =>
  serving({}, async server => {
    const { connection, client, answer } = await asked(server)
    client.freeze()
    const large = 'x'.repeat(8e6)
    for (let sent = 0; sent < 32; sent++) connection.send([symbol(':emacs-return-string'), 1, 2, large])
    const fault = await faultOf(answer)
    assert.is(fault.code, 'LINK_CLOSED')
    assert.match(fault.message, /too slowly/)
  }))

// While it is connected to

test('what a server says of itself is read, whatever is missing', async () => {
  await serving({}, async server => {
    const { connection, info, asksSecret } = await connectSwank({ host, port: server.port, secret: null })
    assert.equal(info, {
      pid: 4711,
      style: 'spawn',
      implementation: { name: 'SBCL', version: '2.2.9.debian' },
      version: '2.27',
      machine: 'elsewhere',
      package: 'COMMON-LISP-USER',
      modules: ['SWANK-ARGLISTS', 'SWANK-REPL'],
      features: ['swank', 'sbcl', 'x86-64', 'sb-thread'],
    })
    assert.is(asksSecret, false)
    connection.end()
  })
  const nothing = {
    implementation: { name: '', version: '' },
    version: null,
    machine: null,
    package: null,
    modules: [],
    features: [],
  }
  const bare = '(:pid nil :style nil :of-tomorrow #<x> :features :none :modules (a "b") :machine 3 . 4)'
  for (const [said, info] of [
    ['(:style :fd-handler)', { pid: null, style: 'fd-handler', ...nothing }],
    [bare.replace(' . 4', ''), { pid: null, style: null, ...nothing, modules: ['', 'b'] }],
  ] as const)
    await serving({ info: said }, async server => {
      const connected = await connectSwank({ host, port: server.port, secret: null })
      assert.equal(connected.info, info)
      connected.connection.end()
    })
})

for (const info of ['nil', '"x"', '17', '#<connection>', '(1 2 3)', '(:pid 1 . 2)'])
  test(`a server that answers ${info} when it is asked what it is is refused`, () =>
    serving({ info }, async server => {
      const fault = await failing({ port: server.port, secret: null })
      assert.is(fault.code, 'REMOTE_FAULT')
      assert.match(fault.message, /does not say what it is/)
      await (await server.next()).ended
    }))

test('a server that does not know Swank, as Slynk without its translation, is named as such', () => {
  const script: FakeSwankOptions['script'] = {
    'swank:connection-info': ({ id }, client) =>
      client.say(
        `(:reader-error "(:emacs-rex (swank:connection-info) nil t ${id})" "Package SWANK does not exist.")`,
      ),
  }
  return serving({ script }, async server => {
    const fault = await failing({ port: server.port, secret: null })
    assert.is(fault.code, 'REMOTE_FAULT')
    assert.match(fault.message, /Package SWANK does not exist.*Slynk/s)
  })
})

test('where nobody listens, the fault says where and what to start', async () => {
  const server = await fakeSwank()
  await server.close()
  const fault = await failing({ port: server.port, secret: null })
  assert.is(fault.code, 'LINK_REFUSED')
  assert.match(fault.message, new RegExp(`127.0.0.1:${server.port}.*ECONNREFUSED.*swank:create-server`))
})

for (const [name, greeting, said] of [
  ['an SSH server', 'SSH-2.0-OpenSSH_9.6\r\n', /SSH server/],
  ['a mail server', '220 mail ESMTP\r\n', /mail or FTP server/],
  ['a flood', 'ffffff', /16777215 bytes/],
  ['zeros', '\0'.repeat(100), /other than Swank/],
] as const)
  for (const secret of [null, 'a secret'])
    test(`${name} in place of Swank is refused${secret ? ', and repeats no secret' : ''} (fault ${name === 'a flood' ? 20 : 21})`, () =>
      serving({ greeting, script: { 'swank:connection-info': () => {} } }, async server => {
        const fault = await failing({ port: server.port, secret })
        assert.is(fault.code, name === 'a flood' ? 'FRAME_TOO_LARGE' : 'FRAME_MALFORMED')
        assert.match(fault.message, said)
        assert.not.match(fault.message, /a secret/)
        await (await server.next()).ended
      }))

test('an HTTP server in place of Swank is refused (fault 21)', async () => {
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket.on('error', () => {}))
    socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n'))
  })
  await new Promise<void>(resolve => server.listen(0, host, resolve))
  const bound = server.address()
  const fault = await failing({ port: typeof bound === 'object' ? (bound?.port ?? 0) : 0, secret: null })
  assert.is(fault.code, 'FRAME_MALFORMED')
  assert.match(fault.message, /no Swank server.*HTTP server/)
  for (const socket of sockets) socket.destroy()
  server.close()
})
