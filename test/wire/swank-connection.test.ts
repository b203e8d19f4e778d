import { connectSwank } from '../../wire/swank/connect.ts'
import type { SwankConnection } from '../../wire/swank/connection.ts'
import { callForm } from '../../wire/swank/peer.ts'
import { type Form, type Sexp, symbol } from '../../wire/swank/sexp.ts'
import { type FakeSwankOptions, fakeSwank, type SwankClient } from '../support/fake-swank.ts'
import { faultOf } from '../support/faults.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('swank connection')
const atom = (atom: string) => ({ atom })
const text = (text: string) => ({ text })
const ASK: Form = [symbol('swank:ping'), null]

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

connected('after its end nothing is asked and nothing is said', async ({ connection, client }) => {
  const asked = connection.rex(ASK)
  await client.called('swank:ping')
  connection.end()
  assert.is((await faultOf(asked)).code, 'LINK_CLOSED')
  assert.is(await faultOf(connection.rex(ASK)), await connection.closed)
  connection.send([symbol(':emacs-interrupt'), 1])
  await client.ended
})
