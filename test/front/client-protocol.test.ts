import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import type { Envelope } from '../../tools/outcome.ts'
import { assert, suite } from '../support/harness.ts'
import { frame, hello, RawClient } from '../support/raw-client.ts'
import { openRig, until } from '../support/rig.ts'
import { openScreen } from '../support/screen.ts'
import { noSeat, seatLines } from '../support/watching.ts'

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
    else assert.equal(blanked(await client.next(), said), said, line)
  }
  client.close()
})

test('a seat built from docs/editor-protocol.md alone is shown plans that come in pieces whole, several at once', async () => {
  const command = [
    'python3',
    join(PACKAGE_ROOT, 'test/support/seat_of_page.py'),
    rig.paths.socket,
    rig.project,
  ]
  const screen = openScreen(rig, { command, columns: 200 })
  const told = () =>
    [...screen.written.matchAll(/^@(\{.*\})\r?$/gm)].map(([, json = '{}']) => JSON.parse(json))
  await until(() => told().some(one => 'seated' in one), 'the seat')
  await using client = await rig.connect()
  const lines = Array.from({ length: 20_000 }, (_, number) => `line ${number}: größer als ein Stück → ✓`)
  const names = ['a.txt', 'b.txt', 'c.txt']
  const answers = names.map(name =>
    client.call({ tool: 'create_file', args: { path: name, content: `${lines.join('\n')}\n${name}\n` } }),
  )
  for (const answer of answers) assert.ok((await answer).ok)
  const plans = told().filter(one => 'title' in one)
  assert.is(plans.length, names.length)
  for (const plan of plans) {
    assert.ok(plan.whole && plan.lines > lines.length, JSON.stringify(plan))
    assert.ok(names.some(name => plan.last.endsWith(name)))
  }
  assert.ok(plans.at(-1).pieces >= 3 * names.length)
  screen.close()
  await noSeat(rig)
})

for (const [what, bytes] of [
  ['random bytes (fault 21)', Buffer.from('1337ff00807f0001dead', 'hex')],
  ['HTTP (fault 21)', 'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}'],
  ['a length of 4 GiB (fault 20)', Buffer.from('ffffffff7b', 'hex')],
  ['a frame that is not JSON', frame('{"hello":')],
] as const)
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

test('a frame that is not JSON ends that connection, with a word, and no other', async () => {
  const client = await greeted()
  client.write(frame('{"type":"call",'))
  const [bye] = await client.lastWords()
  assert.equal([bye?.type, bye?.code], ['bye', 'FRAME_MALFORMED'])
  await assertOthersAreServed()
})

for (const [what, method, params, code, says] of [
  ['a method that does not exist', 'explode', {}, 'unknown_method', /It has: call, show/],
  ['an unknown key', 'kernels', { verbose: true }, 'invalid_params', /verbose/],
  ['a missing key', 'stop', {}, 'invalid_params', /"name": It is missing/],
  ['a value of the wrong type', 'start', { language: 3 }, 'invalid_params', /language/],
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
  assert.is(envelope.ok || envelope.error.code, 'interrupted')
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
/** The value, with `"…"` wherever the expected one has it. */
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
