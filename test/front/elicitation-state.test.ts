import type { McpOptions } from '../../src/front/mcp.ts'
import { settled } from '../support/calls-rig.ts'
import { served } from '../support/eliciting.ts'
import { type FileRig, fileRigsOf, PUT } from '../support/file-rigs.ts'
import { assert, suite } from '../support/harness.ts'
import { type Line, linePeer } from '../support/line-peer.ts'
import { errorOf, MODERN, request, resultOf } from '../support/mcp-by-hand.ts'

/** What a client carries from a question to its answer, spoken by hand: whatever is not exactly that answers nothing. */
const test = suite('request state')
const rig = fileRigsOf(test)

const YES = { approval: { action: 'accept', content: { decision: 'approve' } } }
const NO = { approval: { action: 'decline' } }

interface Retry {
  readonly requestState?: unknown
  readonly inputResponses?: unknown
  readonly name?: string
  readonly args?: object
  /** What the client calls itself. */
  readonly client?: string
}

function speaking(made: FileRig, options: Partial<McpOptions> = {}, { stream } = served(made, options)) {
  const peer = linePeer(stream)
  let id = 0
  return async ({ name = 'put', args = PUT, client = 'by hand', ...more }: Retry = {}): Promise<Line> => {
    const meta = {
      'io.modelcontextprotocol/clientInfo': { name: client, version: '1' },
      'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
    }
    const params = { name, arguments: args, ...more }
    peer.send(request(MODERN, { id: ++id, method: 'tools/call', params, meta }))
    return peer.answer(id)
  }
}

const stateIn = (line: Line) => String(resultOf(line).requestState)
/** A call that its client is asked about. */
async function asked(options: Partial<McpOptions> = {}) {
  const made = rig()
  const send = speaking(made, options)
  const first = await send()
  return { made, send, first, state: stateIn(first) }
}

const textIn = (line: Line) => resultOf(line).content[0]?.text ?? ''
const refusedFor = (line: Line, because: RegExp) => {
  assert.is(errorOf(line).code, -32602)
  assert.equal(errorOf(line).data, { reason: 'invalid_request_state' })
  assert.match(errorOf(line).message, because)
}

test('a call that has to be asked about is answered with the question, and goes on with the answer to it', async () => {
  const { made, send, first } = await asked()
  assert.is(resultOf(first).resultType, 'input_required')
  assert.match(
    JSON.stringify(resultOf(first).inputRequests),
    /^\{"approval":\{"method":"elicitation\/create"/,
  )
  assert.is(made.approvals.waiting().length, 1)
  const last = await send({ requestState: stateIn(first), inputResponses: YES })
  assert.is(resultOf(last).resultType, 'complete')
  assert.is(made.files.text('a.txt'), 'new')
  const types = (await made.journal()).map(({ type }) => type)
  assert.equal(
    types.filter(type => type === 'requested' || type === 'dispatched'),
    ['requested', 'dispatched'],
  )
})

test('a state that was used is refused, and nothing happens a second time (threat 35)', async () => {
  const { made, send, state } = await asked()
  await send({ requestState: state, inputResponses: YES })
  made.files.put('a.txt', 'old again')
  refusedFor(await send({ requestState: state, inputResponses: YES }), /was used already/)
  refusedFor(await send({ requestState: state, inputResponses: NO }), /was used already/)
  assert.is(made.files.text('a.txt'), 'old again')
})

test('a state that is used twice at once answers once (threat 35)', async () => {
  const { made, send, state } = await asked()
  const [one, other] = await Promise.all([
    send({ requestState: state, inputResponses: YES }),
    send({ requestState: state, inputResponses: NO }),
  ])
  assert.is(resultOf(one ?? {}).resultType, 'complete')
  refusedFor(other ?? {}, /was used already/)
  assert.is(made.files.text('a.txt'), 'new')
})

test('a state that was changed in any one byte is refused, and the question stands (threat 35)', async () => {
  const { made, send, state } = await asked()
  const bytes = Buffer.from(state, 'base64url')
  for (let at = 0; at < bytes.length; at += 7) {
    const changed = Buffer.from(bytes)
    changed[at] = (changed[at] ?? 0) ^ 1
    refusedFor(
      await send({ requestState: changed.toString('base64url'), inputResponses: YES }),
      /was changed/,
    )
  }
  for (const other of ['', 'approved', `${state}=`, `${state}A`, state.slice(0, -4), 'A'.repeat(100_000)])
    refusedFor(await send({ requestState: other, inputResponses: YES }), /was not given to this connection/)
  assert.equal([made.files.text('a.txt'), made.approvals.waiting().length], ['old', 1])
  assert.is(resultOf(await send({ requestState: state, inputResponses: YES })).resultType, 'complete')
})

test('a state cannot be read by whoever carries it (threat 35)', async () => {
  const { made, state } = await asked()
  const [plan] = made.approvals.waiting()
  const bytes = Buffer.from(state, 'base64url').toString('latin1')
  for (const secret of [plan?.id ?? 'plan', plan?.hash ?? 'hash', 'client-1', 'put'])
    assert.not.ok(bytes.includes(secret))
})

const SWAPS: readonly (readonly [what: string, retry: Retry, because: RegExp])[] = [
  [
    'another tool',
    { name: 'write_file', args: { path: 'a.txt', content: 'new' } },
    /another tool, or with other/,
  ],
  ['other arguments', { args: { ...PUT, text: 'worse' } }, /another tool, or with other/],
  ['an argument more', { args: { ...PUT, patience: 1 } }, /another tool, or with other/],
  ['another client on the same connection', { client: 'somebody else' }, /to another client/],
]
for (const [what, retry, because] of SWAPS)
  test(`a state that is sent with ${what} is refused, and the question stands (threat 35)`, async () => {
    const { made, send, state } = await asked()
    for (const inputResponses of [YES, NO])
      refusedFor(await send({ ...retry, requestState: state, inputResponses }), because)
    assert.equal([made.files.text('a.txt'), made.approvals.waiting().length], ['old', 1])
    await send({ requestState: state, inputResponses: YES })
    assert.is(made.files.text('a.txt'), 'new')
  })

test('a state that was given to another connection, or in another project, is refused (threat 35)', async () => {
  const { made, state } = await asked()
  const session = { id: 'client-2', root: made.root, env: {}, options: { profile: 'full' } }
  const elsewhere = { ...session, id: 'client-1', root: '/elsewhere' }
  for (const other of [session, elsewhere]) {
    const send = speaking(made, { session: other })
    refusedFor(await send({ requestState: state, inputResponses: YES }), /was not given to this connection/)
  }
  assert.equal([made.files.text('a.txt'), made.approvals.waiting().length], ['old', 1])
})

test('a state that has expired is refused (threat 35)', async () => {
  const { made, send, state } = await asked({ questionMs: 0 })
  refusedFor(await send({ requestState: state, inputResponses: YES }), /has expired/)
  assert.is(made.files.text('a.txt'), 'old')
})

const ANSWERS: readonly (readonly [what: string, inputResponses: unknown])[] = [
  ['no answers at all', undefined],
  ['an answer to another question', { other: YES.approval }],
  ['an answer that is wrapped', { approval: { method: 'elicitation/create', result: YES.approval } }],
]
for (const [what, inputResponses] of ANSWERS)
  test(`a state that comes back with ${what} has not approved`, async () => {
    const { made, send, state } = await asked()
    const answer = await send({
      requestState: state,
      ...(inputResponses !== undefined && { inputResponses }),
    })
    assert.is(resultOf(answer).isError, true)
    assert.match(textIn(answer), /Nothing ran/)
    assert.is(made.files.text('a.txt'), 'old')
    assert.is(made.approvals.waiting().length, 0)
  })

test('an answer that comes after the seats have answered gets the end of the call, and changes nothing', async () => {
  const { made, send, state } = await asked()
  const person = made.seat()
  person.answer('deny', (await person.next()).id)
  await settled()
  const answer = await send({ requestState: state, inputResponses: YES })
  assert.match(textIn(answer), /^denied: /)
  assert.is(made.files.text('a.txt'), 'old')
})

test('a client that never comes back has denied once the time is over, and is told so if it does (fault 26)', async () => {
  const { made, send, state } = await asked()
  await made.clock.pass(30 * 60_000)
  assert.is(made.approvals.waiting().length, 0)
  const answer = await send({ requestState: state, inputResponses: YES })
  assert.match(textIn(answer), /^approval_timed_out: /)
  assert.is(made.files.text('a.txt'), 'old')
})

test('what a seat edits is asked about anew where the client comes back, as another question', async () => {
  const made = rig()
  const person = made.seat(undefined, 'a seat')
  const send = speaking(made)
  const first = await send()
  person.answer({ edit: { path: 'a.txt', text: 'edited' } }, (await person.next()).id)
  await person.next()
  const second = await send({ requestState: stateIn(first), inputResponses: NO })
  assert.is(resultOf(second).resultType, 'input_required')
  assert.match(JSON.stringify(resultOf(second).inputRequests), /edited/)
  const last = await send({ requestState: stateIn(second), inputResponses: YES })
  assert.is(resultOf(last).resultType, 'complete')
  assert.is(made.files.text('a.txt'), 'edited')
})

test('a client that goes away before it comes back for what a seat has edited leaves nothing that waits', async () => {
  const made = rig()
  const person = made.seat(undefined, 'a seat')
  const { stream, done } = served(made)
  await speaking(made, {}, { stream, done })()
  person.answer({ edit: { path: 'a.txt', text: 'edited' } }, (await person.next()).id)
  await person.next()
  person.leave()
  stream.end()
  await done
  while (made.approvals.waiting().length > 0) await settled()
  assert.is(made.files.text('a.txt'), 'old')
})
