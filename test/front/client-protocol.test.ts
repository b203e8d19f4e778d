import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import type { Envelope } from '../../tools/outcome.ts'
import { assert, suite } from '../support/harness.ts'
import { frame, hello, lengthOf, RawClient } from '../support/raw-client.ts'
import { openRig, until } from '../support/rig.ts'
import { seatLines } from '../support/watching.ts'

const test = suite('client protocol')
const rig = openRig()
test.before(async () => {
  await rig.serve()
})
test.after(() => rig.close())

const greeted = () => RawClient.greeted(rig.paths.socket, rig.project)

/** Somebody else's client, who must not notice anything. */
async function assertOthersAreServed() {
  await using client = await rig.connect()
  assert.is((await client.request('status', {})).pid > 0, true)
}

test('the session in docs/editor-protocol.md is what a daemon says', async () => {
  const page = readFileSync(join(PACKAGE_ROOT, 'docs/editor-protocol.md'), 'utf8')
  const session = page.slice(page.indexOf('## A session')).match(/```\n([\s\S]*?)```/)?.[1] ?? ''
  const lines = session.replaceAll('/project', rig.project).trim().split('\n')
  assert.ok(lines.length > 10)
  const client = await RawClient.dial(rig.paths.socket)
  for (const line of lines) {
    const said = JSON.parse(line.slice(2))
    if (line.startsWith('→')) client.send(said)
    else assertLike(await client.next(), said, line)
  }
  client.close()
})

const BAD_HELLOS: readonly (readonly [what: string, bytes: string | Uint8Array])[] = [
  ['random bytes (fault 21)', Buffer.from([0x13, 0x37, 0xff, 0x00, 0x80, 0x7f, 0x00, 0x01, 0xde, 0xad])],
  ['HTTP (fault 21)', 'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}'],
  ['a length of 4 GiB (fault 20)', Buffer.from([0xff, 0xff, 0xff, 0xff, 0x7b])],
  ['a length just over the limit of a hello', lengthOf(256 * 1024 + 1)],
  ['an empty frame', lengthOf(0)],
  ['a frame that is not JSON', frame('{"hello":')],
  ['a frame that is not UTF-8', Buffer.concat([lengthOf(3), Buffer.from([0x22, 0xff, 0x22])])],
  ['JSON that is no hello', frame({ type: 'call', id: 1, method: 'status', params: {} })],
  ['a hello without a root', frame({ hello: { ...hello('/'), root: undefined } })],
  ['a hello whose environment holds a number', frame({ hello: { ...hello('/'), env: { A: 1 } } })],
  ['a role that clients do not have', frame({ hello: { ...hello('/'), role: 'kernel' } })],
]

for (const [what, bytes] of BAD_HELLOS)
  test(`${what} instead of a hello ends that connection alone, and nothing is echoed`, async () => {
    const client = await RawClient.dial(rig.paths.socket)
    client.write(bytes)
    assert.equal(await client.lastWords(), [])
    await assertOthersAreServed()
  })

test('the name of a client stays in its line, and nothing in it is unseen, wherever it is told (threat 14)', async () => {
  const named = await rig.connect({ name: 'x\n==== \u202eplan\u200b \x1b[2J\u2028y ok' })
  const answer = named.request('answer', { plan: 'plan-aaaaaaaa', hash: '0', decision: 'approve' })
  assert.match(String(await answer.catch((error: unknown) => error)), 'Only a seat may')
  const whose = () => seatLines(rig).map(line => JSON.parse(line).who)
  await until(() => whose().some(who => who.startsWith('x')), 'the refusal in the journal')
  assert.match(whose().join(), 'x�==== �plan� �[2J�y ok (client-')
  await named.close()
})

test('a hello that ends in the middle is no client (fault 19)', async () => {
  const client = await RawClient.dial(rig.paths.socket)
  client.socket.end(frame({ hello: hello(rig.project) }).subarray(0, 40))
  assert.equal(await client.lastWords(), [])
  await assertOthersAreServed()
})

for (const [what, root] of [
  ['a relative root', 'project'],
  ['a root that is not there', '/nowhere/at/all'],
  ['a root that is a file', '/etc/passwd'],
  ['a root with a NUL in it', '/tmp\0'],
] as const)
  test(`${what} is refused with invalid_root`, async () => {
    const client = await RawClient.dial(rig.paths.socket)
    client.send({ hello: hello(root) })
    assert.is(codeOf((await client.next())?.refused), 'invalid_root')
    await client.gone
  })

test('another version of the protocol is refused, and told which there are', async () => {
  const client = await RawClient.dial(rig.paths.socket)
  client.send({ hello: { ...hello(rig.project), protocol: 7 } })
  assert.match(JSON.stringify(await client.lastWords()), /version/)
})

const BAD_FRAMES: readonly (readonly [what: string, code: string, bytes: Uint8Array])[] = [
  ['a frame that is not JSON', 'FRAME_MALFORMED', frame('{"type":"call",')],
  ['a frame that announces 4 GiB', 'FRAME_TOO_LARGE', lengthOf(0xffff_ffff)],
  ['a frame nested too deep', 'LIMIT_EXCEEDED', frame('['.repeat(100) + ']'.repeat(100))],
  ['a message of no known type', 'MESSAGE_INVALID', frame({ type: 'shout', id: 1 })],
  ['an answer to what was never asked', 'PROTOCOL_BROKEN', frame({ type: 'return', id: 9, result: null })],
]

for (const [what, code, bytes] of BAD_FRAMES)
  test(`${what} after the hello ends that connection with ${code}`, async () => {
    const client = await greeted()
    client.write(bytes)
    const [bye] = await client.lastWords()
    assert.is(bye?.type, 'bye')
    assert.is(bye?.code, code)
    await assertOthersAreServed()
  })

test('a number used for two calls ends the connection', async () => {
  const client = await greeted()
  const call = { type: 'call', id: 1, method: 'status', params: {} }
  client.send(call, call)
  assert.is((await client.find(({ type }) => type === 'bye')).code, 'PROTOCOL_BROKEN')
})

for (const [what, method, params, code, says] of [
  ['a method that does not exist', 'explode', {}, 'unknown_method', /It has: call, show/],
  ['an unknown key', 'kernels', { verbose: true }, 'invalid_params', /verbose/],
  ['a missing key', 'stop', {}, 'invalid_params', /name/],
  ['a value of the wrong type', 'start', { language: 3 }, 'invalid_params', /language/],
  ['no params at all', 'start', null, 'invalid_params', /object/],
  ['a profile that does not exist', 'tools', { profile: 'mighty' }, 'invalid_params', /profile/],
  ['a format that does not exist', 'tools', { format: 'smoke' }, 'invalid_params', /text, json, openai/],
  ['a tool that does not exist', 'tools', { name: 'inspekt' }, 'invalid_params', /inspect/],
  ['a kernel that does not exist', 'restart', { name: 'nobody' }, 'no_such_kernel', /nobody/],
  ['a language that there is not', 'start', { language: 'cobol' }, 'invalid_params', /cobol/],
] as const)
  test(`${what} fails that call with ${code}`, async () => {
    const client = await greeted()
    client.send({ type: 'call', id: 1, method, params })
    const { error } = (await client.next()) as { error: { code: string; message: string } }
    assert.is(error.code, code)
    assert.match(error.message, says)
    client.close()
  })

test('a call that is cancelled is interrupted, and says so', async () => {
  await using client = await rig.connect()
  const cancel = new AbortController()
  const envelope = await client.call({
    tool: 'eval_expr',
    args: { expr: 'print("on", flush=True)\nimport time\nwhile True: time.sleep(0.01)' },
    signal: cancel.signal,
    on: event => event.type === 'output' && cancel.abort(),
  })
  assert.is(codeOfEnvelope(envelope), 'interrupted')
})

test('code that asks for input gets what the client answers, and an end of file from one that answers nothing', async () => {
  await using client = await rig.connect()
  const call = { tool: 'eval_expr', args: { expr: 'input("who? ")' } }
  const asked: unknown[] = []
  const answered = await client.call({
    ...call,
    ask: async question => {
      asked.push(question)
      return 'Ada'
    },
  })
  assert.is(reprOf(answered), "'Ada'")
  assert.equal(asked, [{ type: 'stdin', prompt: 'who? ', secret: false }])
  const refused = await client.call(call)
  assert.match(
    JSON.stringify(refused),
    'EOFError: input was asked for, and not answered: Nobody answers questions of this call.',
  )
})

test('valid calls beside a failing one run all the same', async () => {
  await using client = await rig.connect()
  const envelopes = await Promise.all([
    client.call({ tool: 'eval_expr', args: { expr: '1' } }),
    client.call({ tool: 'no_such_tool', args: {} }),
    client.call({ tool: 'eval_expr', args: { expr: '2' } }),
  ])
  assert.equal(
    envelopes.map(({ ok }) => ok),
    [true, false, true],
  )
})

test('a call sent again under its name joins the first, and runs once (fault 29)', async () => {
  await using one = await rig.connect()
  await using two = await rig.connect()
  await one.call({ tool: 'eval_expr', args: { expr: 'count = 0' } })
  const call = {
    tool: 'eval_expr',
    args: { expr: 'count += 1\nimport time; time.sleep(0.3)\nprint(count)' },
    call: 'fault-29',
  }
  const [first, second] = await Promise.all([one.call(call), two.call(call)])
  const third = await two.call(call)
  assert.equal(second, first)
  assert.equal(third, first)
  assert.is(reprOf(await one.call({ tool: 'eval_expr', args: { expr: 'count' } })), '1')
})

test('a flood of calls from one client is answered busy, and others are served', async () => {
  const client = await greeted()
  for (let id = 1; id <= 5_000; id++)
    client.send({ type: 'call', id, method: 'call', params: { tool: 'list_globals', args: {} } })
  await assertOthersAreServed()
  const answered = new Set<unknown>()
  await client.find(({ id, type }) => {
    if (type === 'return' || type === 'fail') answered.add(id)
    return answered.size === 5_000
  })
  client.close()
})

test('hanging up ends no call', async () => {
  await using client = await rig.connect()
  await client.call({ tool: 'eval_expr', args: { expr: 'finished = False' } })
  const leaving = await greeted()
  const expr = 'import time\nprint("on", flush=True)\ntime.sleep(0.3)\nfinished = True'
  const params = { tool: 'eval_expr', args: { expr }, follow: true }
  leaving.send({ type: 'call', id: 1, method: 'call', params })
  await leaving.find(({ event }) => JSON.stringify(event).includes('on'))
  leaving.close()
  await until(
    async () => reprOf(await client.call({ tool: 'eval_expr', args: { expr: 'finished' } })) === 'True',
    'the call of a client that left',
  )
})

function reprOf(envelope: Envelope): unknown {
  assert.ok(envelope.ok, JSON.stringify(envelope))
  return envelope.ok ? (envelope.result as { value_repr: unknown }).value_repr : undefined
}

const codeOf = (refused: unknown) => (refused as { code: string }).code
const codeOfEnvelope = (envelope: Envelope) => (envelope.ok ? undefined : envelope.error.code)

/** Equal, where `"…"` in what is expected stands for any value. */
function assertLike(actual: unknown, expected: unknown, line: string) {
  assert.equal(blanked(actual, expected), expected, `in answer to: ${line}`)
}

function blanked(actual: unknown, expected: unknown): unknown {
  if (expected === '…') return '…'
  if (typeof actual !== 'object' || actual === null || typeof expected !== 'object' || expected === null)
    return actual
  if (Array.isArray(actual)) return actual.map((one, index) => blanked(one, (expected as unknown[])[index]))
  const fields = expected as Readonly<Record<string, unknown>>
  return Object.fromEntries(
    Object.entries(actual).map(([name, value]) => [name, blanked(value, fields[name])]),
  )
}
