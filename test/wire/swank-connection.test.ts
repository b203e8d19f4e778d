import type { Socket } from 'node:net'
import { connectSwank, type SwankPlace } from '../../wire/swank/connect.ts'
import { type SwankConnection, textOf } from '../../wire/swank/connection.ts'
import { callForm } from '../../wire/swank/peer.ts'
import { type Form, type Sexp, symbol } from '../../wire/swank/sexp.ts'
import { type FakeSwank, type FakeSwankOptions, fakeSwank, type SwankClient } from '../support/fake-swank.ts'
import { faultOf } from '../support/faults.ts'
import { assert, suite } from '../support/harness.ts'
import { startSwank } from '../support/swank.ts'

const test = suite('swank connection')
const host = '127.0.0.1'
const atom = (atom: string) => ({ atom })
const text = (text: string) => ({ text })
const ASK: Form = [symbol('swank:ping'), null]
const SECRET = 'correct horse (battery) "staple" é'
/** Long enough for a Lisp on a busy machine; short where nothing is to come. */
const [PATIENT, SHORT] = [30_000, 300]
const failing = (place: Omit<SwankPlace, 'host'>) => faultOf(connectSwank({ host, ...place }))

interface Joined {
  readonly connection: SwankConnection
  readonly client: SwankClient
  /** What answered no request since the connection was made. */
  readonly heard: readonly Sexp[]
  /** Resolves once all that the server has said so far was taken. */
  settled(): Promise<void>
}

/** A connection to a fake server, past its first words. */
async function joined(options: FakeSwankOptions, body: (joined: Joined) => Promise<void>): Promise<void> {
  const server = await fakeSwank(options)
  try {
    const { connection } = await connectSwank({ host: '127.0.0.1', port: server.port, secret: null })
    const heard: Sexp[] = []
    connection.listen(message => heard.push(message), { answersQuestions: false })
    const client = await server.next()
    const settled = async () => {
      const asked = connection.rex([symbol('swank:settle')])
      client.answer((await client.called('swank:settle')).id, 't')
      await asked
    }
    await body({ connection, client, heard, settled })
    connection.end()
  } finally {
    await server.close()
  }
}

const connected = (fact: string, body: (joined: Joined) => Promise<void>) =>
  test(fact, () => joined({}, body))

connected('answers in any order reach the requests that they are for', async ({ connection, client }) => {
  const asked = ['a', 'b', 'c'].map(name => connection.rex([symbol(`swank:${name}`)]))
  const ids = await Promise.all(['a', 'b', 'c'].map(async name => (await client.called(`swank:${name}`)).id))
  const [a = 0, b = 0, c = 0] = ids
  client.answer(c, '"third"').abort(a, 'first').answer(b, '(1 . 2)')
  assert.equal(await Promise.all(asked), [
    { abort: 'first' },
    { ok: { list: [1], tail: 2 } },
    { ok: text('third') },
  ])
})

for (const strange of ['nil', '(:done 1)', '(:ok-ish "x")', '7', '("ok" 1)', '((:ok) 2)'])
  connected(
    `an answer ${strange} is neither a value nor an end: that request fails, and says so`,
    async ({ connection, client }) => {
      const asked = connection.rex([symbol('swank:a')]).catch(error => error)
      client.say(`(:return ${strange} ${(await client.called('swank:a')).id})`)
      const fault = await asked
      assert.is(fault.code, 'FRAME_MALFORMED')
      assert.match(fault.message, 'neither :ok nor :abort')
      const next = connection.rex([symbol('swank:b')])
      client.answer((await client.called('swank:b')).id, '1')
      assert.equal(await next, { ok: 1 })
    },
  )

connected(
  'a request says its form, no package, its thread and its number',
  async ({ connection, client }) => {
    const asked = connection.rex([symbol('swank:f'), 'a "b"', 7, null], 12)
    const { id, form, thread } = await client.called('swank:f')
    assert.equal([form, thread], [[atom('swank:f'), text('a "b"'), 7, null], 12])
    client.answer(id, 'nil')
    assert.equal(await asked, { ok: null })
    connection.rex(callForm('inspect', { what: 'x' })).catch(() => {})
    const called = await client.called('peer:inspect')
    assert.equal([called.given, called.thread, called.id], [{ what: text('x') }, true, id + 1])
  },
)

connected('a second answer, and one to a request that was never made, change nothing', async all => {
  const { connection, client, heard, settled } = all
  const asked = connection.rex(ASK)
  const { id } = await client.called('swank:ping')
  client
    .answer(id, '1')
    .answer(id, '2')
    .abort(id, 'late')
    .answer(99, '3')
    .say('(:return)')
    .say('(:return (:ok 1) x)')
  assert.equal(await asked, { ok: 1 })
  await settled()
  assert.equal(heard, [])
})

connected(
  'an answer that is no Lisp fails the one request that it is for',
  async ({ connection, client }) => {
    const [broken, deep, whole] = [connection.rex(ASK), connection.rex(ASK), connection.rex(ASK)]
    const [one, two, three] = [0, 0, 0].map(() => client.called('swank:ping'))
    client.say(`(:return (:ok (1 #<thing) ${(await one)?.id})`)
    client.say(`(:return (:ok ${'('.repeat(2_000)}${')'.repeat(2_000)}) ${(await two)?.id})`)
    client.answer((await three)?.id ?? 0, '4')
    assert.is((await faultOf(broken)).code, 'FRAME_MALFORMED')
    assert.is((await faultOf(deep)).code, 'LIMIT_EXCEEDED')
    assert.equal(await whole, { ok: 4 })
  },
)

connected('a request that Swank could not read fails, by the number at its end', async all => {
  const { connection, client, heard } = all
  const [first, second] = [connection.rex(ASK), connection.rex([symbol('swank:g'), ' 1)'])]
  await client.called('swank:ping')
  const { id } = await client.called('swank:g')
  client.say(`(:reader-error "(:emacs-rex (swank:g \\" 1)\\") nil t ${id})" "Symbol G not found.")`)
  const fault = await faultOf(second)
  assert.is(fault.code, 'REMOTE_FAULT')
  assert.match(fault.message, /could not read.*Symbol G not found/)
  client.answer(id - 1, '5')
  assert.equal(await first, { ok: 5 })
  assert.is(heard.length, 1)
})

connected('the oldest request fails where it cannot be told which one Swank could not read', async all => {
  const { connection, client } = all
  for (const echo of ['garbage', '', '(:emacs-rex (swank:ping', '\\\\xff\\\\xfe']) {
    const [oldest, other] = [connection.rex(ASK), connection.rex(ASK)]
    await client.called('swank:ping')
    const { id } = await client.called('swank:ping')
    client.say(`(:reader-error "${echo}" "cause")`)
    assert.is((await faultOf(oldest)).code, 'REMOTE_FAULT')
    client.answer(id, '6')
    assert.equal(await other, { ok: 6 })
  }
})

connected('another message of ours that Swank could not read fails no request', async all => {
  const { connection, client, heard, settled } = all
  const asked = connection.rex(ASK)
  const { id } = await client.called('swank:ping')
  client.say(`(:reader-error "(:emacs-pong 3 ${id})" "cause")`)
  await settled()
  assert.is(heard.length, 1)
  client.answer(id, '7')
  assert.equal(await asked, { ok: 7 })
})

connected('a request of a thread that is gone fails', async ({ connection, client }) => {
  const [gone, other] = [connection.rex(ASK, 77), connection.rex(ASK)]
  const { id } = await client.called('swank:ping')
  client.say(`(:invalid-rpc ${id} "Thread not found: 77")`).say('(:invalid-rpc 99 "x")')
  const fault = await faultOf(gone)
  assert.is(fault.code, 'REMOTE_FAULT')
  assert.match(fault.message, /Thread not found: 77/)
  client.answer(id + 1, '8')
  assert.equal(await other, { ok: 8 })
})

/** What an image waits for, and what it must be told, or its thread waits for ever. */
const ANSWERED: readonly (readonly [string, Sexp, boolean])[] = [
  ['(:ping 3 17)', [atom(':emacs-pong'), 3, 17], false],
  ['(:write-string "x" nil 7)', [atom(':write-done'), 7], true],
  ['(:write-string "x" :repl-result 7)', [atom(':write-done'), 7], true],
  ['(:read-string 3 17)', [atom(':emacs-return-string'), 3, 17, text('')], true],
  ['(:y-or-n-p 3 17 "Really?")', [atom(':emacs-return'), 3, 17, null], true],
  ['(:read-from-minibuffer 3 17 "Name: " nil)', [atom(':emacs-return'), 3, 17, null], true],
  ['(:inspect (:title "x") 3 17)', [atom(':emacs-return'), 3, 17, null], true],
]
for (const [said, answer, told] of ANSWERED)
  connected(`${said} is answered${told ? ' and told' : ''}`, async ({ client, heard, settled }) => {
    client.say(said)
    const [tag] = answer as readonly { readonly atom: string }[]
    assert.equal(await client.next(tag?.atom ?? ''), answer)
    await settled()
    assert.is(heard.length, told ? 1 : 0)
  })

for (const said of ['(:eval 3 17 "(delete-file \\"x\\")")', '(:ed-rpc 3 17 "find-file" "/etc/passwd")'])
  connected(`${said} is refused: an editor is what runs it, and here is none (threat 25)`, async all => {
    all.client.say(said)
    const [, ...answer] = await all.client.next(':emacs-return')
    assert.equal(answer.slice(0, 2), [3, 17])
    // As `wait-for-emacs-return` takes it: an error in the image, with this text.
    assert.equal(answer[2], [
      atom(':error'),
      text('Imago'),
      text('is no editor and runs no code for an image'),
    ])
  })

connected('questions that a person can answer are left to whoever listens', async all => {
  const { connection, client, settled } = all
  const heard: Sexp[] = []
  connection.listen(message => heard.push(message))
  client.say('(:read-string 3 17)').say('(:y-or-n-p 3 18 "?")').say('(:read-from-minibuffer 3 19 ">" nil)')
  client.say('(:eval 3 20 "x")').say('(:ping 3 21)')
  await client.next(':emacs-pong')
  await settled()
  assert.is(heard.length, 4)
  assert.equal(
    client.received
      .filter(([tag]) => /^:emacs-return/.test((tag as { atom: string }).atom))
      .map(([, , tag]) => tag),
    [20],
  )
})

/** Messages that want no answer, some of them of no Swank that there is. */
const TOLD = [
  '(:write-string "x")',
  '(:write-string "x" :repl-result)',
  '(:write-string "x" nil nil)',
  '(:debug 3 1 ("m" "t" nil) (("*ABORT" "x")) nil (1))',
  '(:debug-activate 3 1 nil)',
  '(:debug-return 3 1 nil)',
  '(:debug-condition 3 "x")',
  '(:channel-send 0 "{}")',
  '(:read-aborted 3 17)',
  '(:eval-no-wait "(evil)")',
  '(:ed-rpc-no-wait "evil")',
  '(:ed "/etc/passwd")',
  '(:inspect (:title "x") nil nil)',
  '(:new-package "A" "A")',
  '(:indentation-update (("with-x" 1 nil)))',
  '(:background-message "x")',
  '(:new-repl-output nil 3)',
  '(:test-delay 1)',
  '(:something-of-tomorrow #<unreadable> (1 . 2))',
  '(:y-or-n-p)',
  '(:read-string x y)',
  '(:eval nil nil "x")',
  '("no" tag)',
  ':keyword',
  '"text"',
  '17',
  'nil',
  '#(1 2)',
]
connected('what answers no request is told in order, known or not, and nothing is said to it', async all => {
  const { client, heard, settled } = all
  for (const said of TOLD) client.say(said)
  await settled()
  assert.is(heard.length, TOLD.length)
  assert.equal(heard[7], [atom(':channel-send'), 0, text('{}')])
  const answers = client.received.map(([tag]) => (tag as { atom: string }).atom)
  assert.equal([...new Set(answers)], [':emacs-rex'])
})

connected(
  'a listener that throws ends the connection, and every request with it',
  async ({ connection, client }) => {
    const asked = connection.rex(ASK)
    await client.called('swank:ping')
    connection.listen(() => {
      throw new Error('of the listener')
    })
    client.say('(:ed nil)')
    const fault = await faultOf(asked)
    assert.is(fault.code, 'LINK_CLOSED')
    assert.match(fault.message, /listener.*of the listener/)
    assert.is(await connection.closed, fault)
  },
)

connected(
  'a request that is too large is not sent, and the others live on',
  async ({ connection, client }) => {
    const asked = connection.rex(ASK)
    assert.is((await faultOf(connection.rex(['x'.repeat(0xff_ff_ff)]))).code, 'MESSAGE_TOO_LARGE')
    client.answer((await client.called('swank:ping')).id, '9')
    assert.equal(await asked, { ok: 9 })
  },
)

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

// Once it is connected

test('a server that writes one byte at a time is understood (fault 17)', () =>
  serving({ oneByte: true }, async server => {
    const { connection, client, answer, id } = await asked(server)
    client.say('(:ping 1 2)').answer(id, '("é漢💥" #<a "b">)')
    assert.equal(await answer, { ok: [text('é漢💥'), { atom: '#<a "b">' }] })
    await client.next(':emacs-pong')
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

test('Slynk is told by the name of its thread before anything is sent to it, a secret least of all', () =>
  serving({}, async server => {
    const lisp = await startSwank({
      forms: [
        `(let ((begun (sb-thread:make-semaphore)))
           (sb-thread:make-thread (lambda () (sb-thread:signal-semaphore begun) (sleep 3600))
                                  :name "Slynk ${server.port}")
           (sb-thread:wait-on-semaphore begun))`,
      ],
    })
    const fault = await failing({ port: server.port, secret: 'a secret' })
    lisp.kill()
    assert.is(fault.code, 'REMOTE_FAULT')
    assert.match(fault.message, `127.0.0.1:${server.port} is Slynk, the server of SLY. Imago speaks to Swank`)
    assert.equal(server.clients, [])
  }))

test('Slynk where nothing tells its threads is told by what it answers, and has no package of ours', () => {
  const script: FakeSwankOptions['script'] = {
    'cl:if': ({ id, form }, client) => {
      const [, condition, , otherwise] = form as readonly Sexp[]
      assert.match(JSON.stringify(condition), 'find-package')
      client.answer(id, JSON.stringify(textOf(otherwise)))
    },
  }
  return serving({ script }, async server => {
    const fault = await failing({ port: server.port, secret: null })
    assert.is(fault.code, 'REMOTE_FAULT')
    assert.match(fault.message, /is Slynk, the server of SLY, or another server without Swank/)
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

// Played

test('the secret that is asked for opens the connection, and was seen to be asked for (threat 26)', () =>
  serving({ secret: SECRET }, async ({ port }) => {
    const { connection, asksSecret } = await connectSwank({ host, port, secret: SECRET })
    assert.is(asksSecret, true)
    connection.end()
  }))

test('a wrong secret on which the server ends the connection is told, and not repeated (threat 26)', () =>
  serving({ secret: SECRET }, async ({ port }) => {
    const fault = await failing({ port, secret: 'a wrong one' })
    assert.is(fault.code, 'NOT_AUTHENTICATED')
    assert.match(fault.message, /ended the connection on the secret.*wrong/)
    assert.not.match(fault.message, /a wrong one/)
  }))

test('a server that talks without end and does not answer is told as such, and not as silent', () =>
  serving({ script: { 'swank:connection-info': () => {} } }, async server => {
    const connecting = failing({ port: server.port, secret: null, timeoutMs: SHORT })
    const client = await server.next()
    for (let sent = 0; sent < 200; sent++) client.say(`(:write-string "${'x'.repeat(1_000)}")`)
    const fault = await connecting
    assert.is(fault.code, 'HANDSHAKE_TIMEOUT')
    assert.match(
      fault.message,
      /sent 2\d{5} bytes within 300 ms, and no answer among them.*prints without end/,
    )
  }))

test('silence after the secret is a time-out that names both reasons (threat 26)', () =>
  serving({ secret: SECRET, wrongSecret: 'silence' }, async ({ port }) => {
    const fault = await failing({ port, secret: 'a wrong one', timeoutMs: SHORT })
    assert.is(fault.code, 'HANDSHAKE_TIMEOUT')
    assert.match(fault.message, /said nothing within 300 ms.*at work.*wrong.*swank:create-server/)
    assert.not.match(fault.message, /a wrong one/)
  }))

for (const wrongSecret of ['close', 'silence'] as const)
  test(`no secret where one is asked for (${wrongSecret}) is told to give one (threat 26)`, () =>
    serving({ secret: SECRET, wrongSecret }, async ({ port }) => {
      const fault = await failing({
        port,
        secret: null,
        timeoutMs: wrongSecret === 'close' ? PATIENT : SHORT,
      })
      assert.is(fault.code, 'NOT_AUTHENTICATED')
      assert.match(fault.message, /asks for (one|a secret).*attach with the (secret|first line)/)
    }))

test('a secret where none is asked for is refused (threat 26)', () =>
  serving({}, async ({ port }) => {
    const fault = await failing({ port, secret: SECRET })
    assert.is(fault.code, 'NOT_AUTHENTICATED')
    assert.match(fault.message, /A Swank that asks for none does so.*attach without one/)
  }))

test('a server that is late is left alone until it has answered, and then closed (fault 22)', async () => {
  const server = await fakeSwank({ script: { 'swank:connection-info': () => {} } })
  const fault = await failing({ port: server.port, secret: null, timeoutMs: SHORT })
  assert.is(fault.code, 'NOT_AUTHENTICATED')
  const client = await server.next()
  const { id } = await client.called('swank:connection-info')
  // Flow control still works, so nothing there waits for us.
  client.say('(:ping 1 2)')
  await client.next(':emacs-pong')
  client.answer(id, '(:pid 1 :style :fd-handler)')
  await client.ended
  await server.close()
})
