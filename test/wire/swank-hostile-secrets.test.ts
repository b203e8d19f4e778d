import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import fc from 'fast-check'
import { connectSwank, type SwankPlace } from '../../wire/swank/connect.ts'
import { SwankConnection } from '../../wire/swank/connection.ts'
import { frame } from '../../wire/swank/frames.ts'
import { quote, type Sexp, symbol } from '../../wire/swank/sexp.ts'
import { type FakeSwankOptions, fakeSwank } from '../support/fake-swank.ts'
import { faultOf } from '../support/faults.ts'
import { assert, suite } from '../support/harness.ts'
import { type RealSwank, type SwankStart, startSwank } from '../support/swank.ts'
import { makeFolder } from '../support/temporary.ts'

const test = suite('swank secrets', { limitMs: 50_000 })
const host = '127.0.0.1'
const SECRET = 'correct horse (battery) "staple" é'
/** Long enough for a Lisp on a busy machine; short where nothing is to come. */
const [PATIENT, SHORT] = [30_000, 300]

const failing = (place: Omit<SwankPlace, 'host'>) => faultOf(connectSwank({ host, ...place }))

async function playing(options: FakeSwankOptions, body: (port: number) => Promise<void>): Promise<void> {
  const server = await fakeSwank(options)
  try {
    await body(server.port)
  } finally {
    await server.close()
  }
}

// Played

test('the secret that is asked for opens the connection, and was seen to be asked for (threat 26)', () =>
  playing({ secret: SECRET }, async port => {
    const { connection, asksSecret } = await connectSwank({ host, port, secret: SECRET })
    assert.is(asksSecret, true)
    connection.end()
  }))

test('a wrong secret on which the server ends the connection is told, and not repeated (threat 26)', () =>
  playing({ secret: SECRET }, async port => {
    const fault = await failing({ port, secret: 'a wrong one' })
    assert.is(fault.code, 'NOT_AUTHENTICATED')
    assert.match(fault.message, /ended the connection on the secret.*wrong/)
    assert.not.match(fault.message, /a wrong one/)
  }))

test('silence after the secret is a time-out that names both reasons (threat 26)', () =>
  playing({ secret: SECRET, wrongSecret: 'silence' }, async port => {
    const fault = await failing({ port, secret: 'a wrong one', timeoutMs: SHORT })
    assert.is(fault.code, 'HANDSHAKE_TIMEOUT')
    assert.match(fault.message, /said nothing within 300 ms.*at work.*wrong.*swank:create-server/)
    assert.not.match(fault.message, /a wrong one/)
  }))

for (const wrongSecret of ['close', 'silence'] as const)
  test(`no secret where one is asked for (${wrongSecret}) is told to give one (threat 26)`, () =>
    playing({ secret: SECRET, wrongSecret }, async port => {
      const fault = await failing({
        port,
        secret: null,
        timeoutMs: wrongSecret === 'close' ? PATIENT : SHORT,
      })
      assert.is(fault.code, 'NOT_AUTHENTICATED')
      assert.match(fault.message, /asks for (one|a secret).*attach with the (secret|first line)/)
    }))

test('a secret where none is asked for is refused (threat 26)', () =>
  playing({}, async port => {
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

// For real, with Swank 2.27 on SBCL, and a person who is connected already

interface Scene {
  readonly swank: RealSwank
  readonly person: SwankConnection
  /** What the person's editor was told. */
  readonly heard: readonly Sexp[]
}

async function scene(
  options: SwankStart & { readonly secret: string | null },
  body: (scene: Scene) => Promise<void>,
): Promise<void> {
  const { secret, ...start } = options
  const home = makeFolder()
  if (secret !== null) writeFileSync(join(home, '.slime-secret'), `${secret}\nmore\n`, { mode: 0o600 })
  const swank = await startSwank({ home, ...start })
  try {
    // As SLIME does it. Our own connections step behind that of a person.
    const socket = connect({ host, port: swank.port, noDelay: true })
    if (secret !== null) socket.write(frame(secret))
    const heard: Sexp[] = []
    const person = new SwankConnection({ socket, heard: message => heard.push(message) })
    await person.rex([symbol('swank:connection-info')])
    await body({ swank, person, heard })
    person.end()
  } finally {
    swank.kill()
  }
}

const PING = [symbol('swank:ping'), 'still here'] as const
const serves = async (person: SwankConnection) =>
  assert.equal(await person.rex(PING), { ok: { text: 'still here' } })

/** Waits until the person's editor is told of a debugger, and gives what it is about. */
async function debugged(heard: readonly Sexp[]): Promise<string> {
  for (;;) {
    const found = heard.find(message => JSON.stringify(message, plain).startsWith('[{"atom":":debug"}'))
    if (found !== undefined) return JSON.stringify(found, plain)
    await new Promise(resolve => setTimeout(resolve, 10))
  }
}
const plain = (_: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value)

test('the right secret is taken by a real Swank, whatever characters it has (threat 26)', () =>
  scene({ secret: SECRET }, async ({ swank, person }) => {
    const { connection, info, asksSecret } = await connectSwank({
      host,
      port: swank.port,
      secret: SECRET,
      timeoutMs: PATIENT,
    })
    assert.equal([info.pid, info.style, asksSecret], [swank.pid, 'spawn', true])
    assert.equal([info.implementation.name, info.package], ['SBCL', 'COMMON-LISP-USER'])
    assert.ok(info.features.includes('sb-thread'))
    connection.end()
    await serves(person)
  }))

for (const [name, secret] of [
  ['a wrong secret', 'wrong'],
  ['no secret', null],
] as const)
  test(`${name} leaves a real Swank in its debugger before the person, and their connection whole (threat 26)`, () =>
    scene({ secret: SECRET }, async ({ swank, person, heard }) => {
      const fault = await failing({ port: swank.port, secret, timeoutMs: 1_000 })
      assert.is(fault.code, secret === null ? 'NOT_AUTHENTICATED' : 'HANDSHAKE_TIMEOUT')
      assert.match(await debugged(heard), /Incoming connection doesn't know the password/)
      await serves(person)
    }))

for (const [style, secret, said] of [
  [':spawn', 'readable', /A Swank that asks for none does so/],
  [':spawn', 'no:package', /asks for no secret/],
  [':fd-handler', 'readable', /asks for no secret/],
  [':fd-handler', 'no:package', /asks for no secret/],
] as const)
  test(`the secret "${secret}" where a real Swank (${style}) asks for none is refused, and the person not disturbed (threat 26)`, () =>
    scene({ secret: null, style }, async ({ swank, person, heard }) => {
      const fault = await failing({ port: swank.port, secret, timeoutMs: PATIENT })
      assert.is(fault.code, 'NOT_AUTHENTICATED')
      assert.match(fault.message, said)
      await serves(person)
      assert.not.match(JSON.stringify(heard, plain), /:debug/)
      // And whoever comes next is served as well.
      const next = await connectSwank({ host, port: swank.port, secret: null, timeoutMs: PATIENT })
      assert.equal([next.info.pid, next.asksSecret], [swank.pid, false])
      next.connection.end()
    }))

// What is written, as a real Lisp reads it

const HOSTILE = [
  '") (cl:setf cl-user::hit t) ("',
  '\\") #.(cl:setf cl-user::hit t)',
  '#.(cl:setf cl-user::hit t)',
  '|#"; \\',
  "'`,@#'#\\a#<x>",
  '\0\x01\x1b[31m\x7f\x85\ufeff\u2028',
  'line\nline\r\nline\rtab\t',
  'é漢💥\u{10ffff}\uffff',
  '\ud800 and \udc00',
  '',
]

test('any text that is written is the same text in a real Lisp, and none of it is run (threat 25)', () =>
  scene({ secret: null }, async ({ person }) => {
    const units = fc.integer({ min: 0, max: 0xffff }).map(code => String.fromCharCode(code))
    const texts = [
      ...HOSTILE,
      ...fc.sample(fc.string({ unit: 'binary', maxLength: 30 }), 300),
      ...fc.sample(fc.string({ unit: units, maxLength: 30 }), 300),
      ...fc.sample(
        fc.string({ unit: fc.constantFrom('"', '\\', '(', ')', '#', '.', "'", '|', '\0', '\n') }),
        300,
      ),
    ]
    // UTF-8 has no half of a surrogate pair: U+FFFD stands for it.
    const whole = texts.map(text => Buffer.from(text).toString())
    assert.equal(await person.rex([symbol('cl:list'), ...texts]), { ok: whole.map(text => ({ text })) })
    const joined = [symbol('cl:concatenate'), quote(symbol('cl:string')), ...texts]
    const codes = await person.rex([
      symbol('cl:map'),
      quote(symbol('cl:list')),
      quote(symbol('cl:char-code')),
      joined,
    ])
    assert.equal(codes, { ok: [...whole.join('')].map(char => char.codePointAt(0) ?? 0) })
    const hit = await person.rex([symbol('cl:find-symbol'), 'HIT', 'COMMON-LISP-USER'])
    assert.equal(hit, { ok: null })
  }))
