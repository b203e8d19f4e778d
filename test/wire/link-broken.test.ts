import { duplexPair } from 'node:stream'
import fc from 'fast-check'
import { codecOf } from '../../wire/codec/codec.ts'
import { type Encoding, LIMITS, type Limits } from '../../wire/codec/messages.ts'
import type { Serve } from '../../wire/link/calls.ts'
import { type Link, openLink } from '../../wire/link/link.ts'
import { type FakePeer, fakePeer, type Script } from '../support/fake-peer.ts'
import { faultOf } from '../support/faults.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('link broken')
const ENCODINGS = ['json', 'msgpack'] as const

interface Setting {
  script?: Script
  serve?: Serve
  limits?: Partial<Limits>
  encoding?: Encoding
}

function linkWith({ script = {}, serve, limits, encoding = 'json' }: Setting): {
  link: Link
  peer: FakePeer
} {
  const [near, far] = duplexPair()
  const link = openLink({ transport: near, encoding, name: 'the peer', limits, serve })
  return { link, peer: fakePeer(far, { encoding, script }) }
}

const turn = () => new Promise(resolve => setImmediate(resolve))
const bytesOf = (encoding: Encoding, ...messages: unknown[]) =>
  Buffer.concat(messages.map(message => codecOf(encoding).frame(message, LIMITS)))
const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex')

/** What a peer may do wrong, the code that its link ends with, and whether call 1 was asked of it before. */
const OFFENCES: readonly (readonly [string, (peer: FakePeer) => void, string])[] = [
  ['a second answer', peer => peer.answer(1, 'one').answer(1, 'two'), 'PROTOCOL_BROKEN'],
  ['a failure after the answer', peer => peer.answer(1, 'one').fail(1, 'fault'), 'PROTOCOL_BROKEN'],
  ['an event after the answer', peer => peer.answer(1, 'one').event(1, 'late'), 'PROTOCOL_BROKEN'],
  ['an answer to a call that was never asked', peer => peer.answer(2, 'what'), 'PROTOCOL_BROKEN'],
  ['an event of a call that was never asked', peer => peer.event(9, 'what'), 'PROTOCOL_BROKEN'],
  ['a cancel of a call that it never asked', peer => peer.send({ type: 'cancel', id: 1 }), 'PROTOCOL_BROKEN'],
  [
    'a grant for a call that it never asked',
    peer => peer.send({ type: 'credit', id: 1, bytes: 1 }),
    'PROTOCOL_BROKEN',
  ],
  [
    'a call with the number of an earlier one (fault 29)',
    peer => peer.send(call(1), call(1)),
    'PROTOCOL_BROKEN',
  ],
  ['a call with a lower number (fault 29)', peer => peer.send(call(5), call(4)), 'PROTOCOL_BROKEN'],
  ['a chunk of a chunk', peer => peer.send(piece(JSON.stringify(piece('"x"')))), 'PROTOCOL_BROKEN'],
  ['an empty chunk', peer => peer.send(piece('')), 'MESSAGE_INVALID'],
  ['chunks that are no message', peer => peer.send(piece('{"type":"shout"}')), 'MESSAGE_INVALID'],
  ['chunks that are no JSON', peer => peer.send(piece('{"type":')), 'FRAME_MALFORMED'],
  ['a value that is no message', peer => peer.send([1, 2, 3]), 'MESSAGE_INVALID'],
  ['a message of no known type', peer => peer.send({ type: 'shout', id: 1 }), 'MESSAGE_INVALID'],
  ['a body that is no JSON', peer => peer.sendBytes(hex('00000002 7b7b')), 'FRAME_MALFORMED'],
  ['a frame of no bytes', peer => peer.sendBytes(hex('00000000')), 'FRAME_MALFORMED'],
  ['a frame of 16 MiB (fault 20)', peer => peer.sendBytes(hex('00ffffff 7b')), 'FRAME_TOO_LARGE'],
  ['a frame of 4 GiB (fault 20)', peer => peer.sendBytes(hex('ffffffff 7b')), 'FRAME_TOO_LARGE'],
  [
    'an HTTP request (fault 21)',
    peer => peer.sendBytes('POST / HTTP/1.1\r\nHost: localhost\r\n\r\n'),
    'FRAME_TOO_LARGE',
  ],
  ['too deep a value', peer => peer.sendBytes(nestedFrame()), 'LIMIT_EXCEEDED'],
]
const call = (id: number) => ({ type: 'call', id, method: 'm' })
const piece = (data: string) => ({ type: 'chunk', stream: 1, last: true, data })
const nestedFrame = () =>
  codecOf('json').frame(JSON.parse('['.repeat(80) + ']'.repeat(80)), { depth: 99, items: 99 })

for (const [name, offend, code] of OFFENCES)
  test(`${name} ends the link with ${code}, once, and the peer is told`, async () => {
    const { link, peer } = linkWith({ serve: () => new Promise(() => {}) })
    let ends = 0
    void link.closed.then(() => ends++)
    const pending = link.call('one', null).catch((error: unknown) => error)
    const other = name.includes('never asked')
      ? undefined
      : link.call('two', null).catch((error: unknown) => error)
    await peer.next('call')
    offend(peer)
    assert.is((await link.closed)?.code, code)
    assert.is((await peer.next('bye')).code, code)
    await peer.ended
    await Promise.all([pending, other])
    assert.is(ends, 1)
  })

// Ends

const ENDS: readonly (readonly [string, (link: Link, peer: FakePeer) => void, string | undefined])[] = [
  ['this end closes', link => void link.close(), undefined],
  [
    'the peer says bye',
    (_, peer) => peer.send({ type: 'bye', code: 'ending', message: 'That was all.' }),
    'LINK_CLOSED',
  ],
  ['the peer ends between two frames', (_, peer) => peer.transport.end(), 'LINK_CLOSED'],
  [
    'the peer ends in a length (fault 19)',
    (_, peer) => peer.sendBytes(hex('0000')).transport.end(),
    'FRAME_TRUNCATED',
  ],
  [
    'the peer ends in a body (fault 19)',
    (_, peer) => peer.sendBytes(hex('00000009 7b')).transport.end(),
    'FRAME_TRUNCATED',
  ],
]
for (const [name, end, code] of ENDS)
  test(`when ${name}, all that is pending is LINK_CLOSED before closed settles, and served calls are aborted`, async () => {
    const aborted: string[] = []
    const serve: Serve = (method, _, { signal }) =>
      new Promise(() => signal.addEventListener('abort', () => aborted.push(method)))
    const { link, peer } = linkWith({ serve })
    const settled: string[] = []
    const calls = [
      link.call('evaluate', null),
      link.call('status', null, { deadlineMs: 60_000 }),
      link.call('look', null, { signal: new AbortController().signal }),
      link.ping(60_000).then(() => peer.freeze()),
    ].map(pending => pending.catch((error: { code: string }) => settled.push(error.code)))
    peer.send({ type: 'call', id: 1, method: 'ask' })
    await turn()
    const order = link.closed.then(why => [why?.code, [...settled]])
    end(link, peer)
    assert.equal(await order, [code, ['LINK_CLOSED', 'LINK_CLOSED', 'LINK_CLOSED']])
    assert.equal(aborted, ['ask'])
    await Promise.all(calls)
  })

test('after its end a link refuses calls, says nothing, and closes again without harm', async () => {
  const { link, peer } = linkWith({})
  await link.close()
  assert.is((await faultOf(link.call('m', null))).code, 'LINK_CLOSED')
  assert.is((await faultOf(link.ping(1_000))).code, 'LINK_CLOSED')
  link.note('late', 1)
  await link.close({ code: 'again', message: 'once more' })
  await peer.ended
  assert.equal(
    peer.received.map(one => one.type === 'bye' && one.code),
    ['closed'],
  )
})

test('a listener of notes that throws ends the link, and not the process', async () => {
  const [near, far] = duplexPair()
  const note = () => {
    throw new Error('not mine')
  }
  const link = openLink({ transport: near, encoding: 'json', name: 'the peer', note })
  const peer = fakePeer(far).send({ type: 'note', name: 'n', params: 1 })
  assert.match(String((await link.closed)?.message), 'not mine')
  assert.is((await peer.next('bye')).code, 'fault')
})

test('a link on a transport that is gone already ends', async () => {
  const [near] = duplexPair()
  near.destroy()
  const link = openLink({ transport: near, encoding: 'json', name: 'the peer' })
  assert.is((await faultOf(link.call('m', null))).code, 'LINK_CLOSED')
  assert.is((await link.closed)?.code, 'LINK_CLOSED')
})

// Streams that were cut up, or damaged

for (const encoding of ENCODINGS) {
  const conversation = bytesOf(
    encoding,
    { type: 'event', id: 1, event: 'é💥' },
    { type: 'call', id: 1, method: 'ask', params: { prompt: 'Name: ' } },
    { type: 'event', id: 1, event: 'x'.repeat(300) },
    { type: 'ping', n: 1 },
    { type: 'return', id: 1, result: { done: true } },
    { type: 'note', name: 'output', params: null },
  )

  /** What both ends saw when the peer's bytes came in these pieces. */
  const history = async (pieces: readonly Uint8Array[]) => {
    const seen: unknown[] = []
    const serve: Serve = async (method, params) => void seen.push([method, params])
    const { link, peer } = linkWith({ encoding, serve })
    const call = link.call('evaluate', null, { on: event => void seen.push(event) })
    await peer.next('call')
    for (const piece of pieces) peer.sendBytes(piece)
    seen.push(await call)
    await peer.next('pong')
    await link.close()
    return seen
  }
  const expected = ['é💥', ['ask', { prompt: 'Name: ' }], 'x'.repeat(300), { done: true }]

  test(`one byte each, joined, or cut anywhere: the same history in ${encoding} (fault 17) (fault 18)`, async () => {
    assert.equal(await history([...conversation].map(byte => Uint8Array.of(byte))), expected)
    assert.equal(await history([conversation]), expected)
    for (let at = 1; at < conversation.length; at += 3)
      assert.equal(await history([conversation.subarray(0, at), conversation.subarray(at)]), expected)
  })

  test(`damaged frames of ${encoding} end the link with a code, or mean something, and never hang`, async () => {
    const mutation = fc.tuple(fc.nat({ max: conversation.length - 1 }), fc.nat({ max: 255 }))
    await fc.assert(
      fc.asyncProperty(fc.array(mutation, { minLength: 1, maxLength: 4 }), async mutations => {
        const { link, peer } = linkWith({ encoding, serve: async () => null })
        const call = link.call('evaluate', null).catch(() => {})
        await peer.next('call')
        const damaged = Buffer.from(conversation)
        for (const [place, byte] of mutations) damaged[place] = byte
        peer.sendBytes(damaged).transport.end()
        const why = await link.closed
        assert.ok(why !== undefined && why.code !== 'REMOTE_FAULT')
        await call
      }),
      { numRuns: 200 },
    )
  })
}
