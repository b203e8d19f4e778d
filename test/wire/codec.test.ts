import fc from 'fast-check'
import { codecOf } from '../../wire/codec/codec.ts'
import { type Encoding, FrameDecoder, LIMITS, parseMessage } from '../../wire/codec/messages.ts'
import { WireError } from '../../wire/errors.ts'
import { codeOf } from '../support/faults.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('codec')

const ENCODINGS = ['json', 'msgpack'] as const

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex')

const bodyOf = (encoding: Encoding, value: unknown) => codecOf(encoding).frame(value, LIMITS).subarray(4)

const decode = (encoding: Encoding, body: Buffer) => codecOf(encoding).decode(body, LIMITS)

// Frames

/** Every body that comes of these pieces, copied, because a body is a view of its piece. */
function bodiesOf(pieces: readonly Buffer[], limit = 1_000): string[] {
  const bodies: string[] = []
  const frames = new FrameDecoder({ limit, take: body => bodies.push(body.toString('latin1')) })
  for (const piece of pieces) frames.push(piece)
  return bodies
}

const framed = (body: string) => {
  const bytes = Buffer.alloc(4 + body.length)
  bytes.writeUInt32BE(body.length)
  bytes.write(body, 4, 'latin1')
  return bytes
}

test('any frames, cut anywhere or all in one piece, are the same frames (fault 17) (fault 18)', () => {
  const body = fc.string({ unit: 'binary-ascii', minLength: 1, maxLength: 40 })
  const cuts = fc.array(fc.nat(), { maxLength: 20 })
  fc.assert(
    fc.property(fc.array(body, { maxLength: 8 }), cuts, (bodies, cuts) => {
      const stream = Buffer.concat(bodies.map(framed))
      const places = [0, ...cuts.map(cut => cut % (stream.length + 1)), stream.length].sort((a, b) => a - b)
      const pieces = places.map((place, index) => stream.subarray(places[index - 1] ?? 0, place))
      assert.equal(bodiesOf(pieces), bodies)
    }),
  )
})

test('a frame of 8 MiB in pieces of one byte ends within the time of a test', () => {
  let whole = 0
  const take = (body: Buffer) => {
    whole = body.length
  }
  const frames = new FrameDecoder({ limit: LIMITS.frameBytes, take })
  const header = Buffer.alloc(4)
  header.writeUInt32BE(LIMITS.frameBytes)
  frames.push(header)
  const piece = Buffer.alloc(1)
  for (let sent = 0; sent < LIMITS.frameBytes; sent++) frames.push(piece)
  assert.is(whole, LIMITS.frameBytes)
})

test('after every proper part of a frame the decoder is in the middle of one, and after all of it not (fault 19)', () => {
  const stream = framed('hello')
  for (let at = 1; at <= stream.length; at++) {
    const frames = new FrameDecoder({ limit: 100, take: () => {} })
    frames.push(stream.subarray(0, at))
    assert.is(frames.midFrame, at < stream.length)
  }
})

for (const length of ['00000065', '00ffffff', 'ffffffff'])
  test(`a length of 0x${length} is refused when 100 bytes are allowed, whole or byte by byte (fault 20)`, () => {
    assert.is(
      codeOf(() => bodiesOf([hex(length)], 100)),
      'FRAME_TOO_LARGE',
    )
    assert.is(
      codeOf(() =>
        bodiesOf(
          [...hex(length)].map(byte => Buffer.from([byte])),
          100,
        ),
      ),
      'FRAME_TOO_LARGE',
    )
  })

test('a frame of exactly the limit is taken, and one of no bytes is malformed', () => {
  assert.equal(bodiesOf([framed('x'.repeat(100))], 100), ['x'.repeat(100)])
  assert.is(
    codeOf(() => bodiesOf([hex('00000000')])),
    'FRAME_MALFORMED',
  )
})

// Values

/** What both encodings carry whole: text without lone surrogates, and no key `__proto__`. */
const plain = fc
  .jsonValue({ maxDepth: 6, stringUnit: 'binary' })
  .filter(value => !JSON.stringify(value).includes('__proto__'))

for (const encoding of ENCODINGS) {
  test(`any plain value survives ${encoding}`, () => {
    fc.assert(
      fc.property(plain, value => {
        assert.equal(decode(encoding, bodyOf(encoding, value)), JSON.parse(JSON.stringify(value)))
      }),
    )
  })

  test(`texts of every length survive ${encoding}`, () => {
    for (const unit of ['a', 'é', '漢', '💥', '"', '\\', '\0'])
      for (const length of [0, 1, 15, 16, 31, 32, 63, 64, 65, 255, 256, 4_095, 65_535, 65_536, 200_000])
        assert.is(decode(encoding, bodyOf(encoding, unit.repeat(length))), unit.repeat(length))
  })

  test(`a field without a value is left out in ${encoding}`, () => {
    const value = { file: undefined, list: [undefined], line: 1 }
    assert.equal(decode(encoding, bodyOf(encoding, value)), { list: [null], line: 1 })
  })

  test(`a mutated body of ${encoding} is decoded or refused, and never anything else`, () => {
    const mutation = fc.tuple(fc.nat(), fc.nat({ max: 255 }))
    const mutations = fc.array(mutation, { minLength: 1, maxLength: 6 })
    fc.assert(
      fc.property(plain, mutations, fc.nat({ max: 4 }), (value, mutations, lost) => {
        const body = Buffer.from(bodyOf(encoding, value))
        for (const [place, byte] of mutations) body[place % body.length] = byte
        survives(() => decode(encoding, body.subarray(0, body.length - Math.min(lost, body.length - 1))))
      }),
      { numRuns: 1_000 },
    )
  })

  test(`what cannot be written as ${encoding} is MESSAGE_INVALID, and the next value is written all the same`, () => {
    const cyclic: unknown[] = []
    cyclic.push(cyclic)
    assert.is(
      codeOf(() => bodyOf(encoding, { cyclic })),
      'MESSAGE_INVALID',
    )
    assert.equal(decode(encoding, bodyOf(encoding, { next: 1 })), { next: 1 })
  })
}

function survives(body: () => unknown) {
  try {
    body()
  } catch (error) {
    if (!(error instanceof WireError)) throw error
    assert.ok(['FRAME_MALFORMED', 'LIMIT_EXCEEDED'].includes(error.code))
  }
}

test('a lone surrogate survives JSON, and is U+FFFD in msgpack, in a text of any length and in a key', () => {
  for (const padding of [0, 100]) {
    const text = `${'x'.repeat(padding)}\ud83d and \udca5`
    const seen = `${'x'.repeat(padding)}\ufffd and \ufffd`
    assert.is(decode('json', bodyOf('json', text)), text)
    assert.equal(decode('msgpack', bodyOf('msgpack', { [text]: [text] })), { [seen]: [seen] })
  }
})

test('JSON that is not UTF-8, or not JSON, is malformed', () => {
  const bodies = [
    '22ff22',
    '22c3',
    '22eda0bd22',
    'efbbbf7b7d',
    '7b',
    '5b5d5d',
    '00',
    '4e614e',
    '7b2261223a317d20 78',
  ]
  for (const body of bodies)
    assert.is(
      codeOf(() => decode('json', hex(body))),
      'FRAME_MALFORMED',
      body,
    )
})

test('integers beyond 2^53 come out of msgpack whole', () => {
  assert.is(decode('msgpack', hex('cf 0020000000000000')), 2 ** 53)
  assert.is(decode('msgpack', hex('cf ffffffffffffffff')), 2n ** 64n - 1n)
  assert.is(decode('msgpack', hex('d3 8000000000000000')), -(2n ** 63n))
  assert.is(decode('msgpack', hex('d3 ffffffffffffffff')), -1)
})

// Messages

const INVALID: readonly (readonly [string, unknown])[] = [
  ['no map', 7],
  ['null', null],
  ['an array', [{ type: 'ping', n: 1 }]],
  ['no type', { n: 1 }],
  ['a type of its own', { type: 'shout', id: 1 }],
  ['a type that is no text', { type: ['ping'], n: 1 }],
  ['a call without a method', { type: 'call', id: 1 }],
  ['a call numbered 0', { type: 'call', id: 0, method: 'm' }],
  ['a call with half a number', { type: 'call', id: 1.5, method: 'm' }],
  ['a call numbered beyond 2^53', { type: 'call', id: 2 ** 53, method: 'm' }],
  ['an answer without a number', { type: 'return', result: 1 }],
  ['a failure without an error', { type: 'fail', id: 1 }],
  ['a failure without a code', { type: 'fail', id: 1, error: { message: 'x' } }],
  ['a failure without a message', { type: 'fail', id: 1, error: { code: 'x' } }],
  ['an event of a negative call', { type: 'event', id: -1, event: {} }],
  ['credit of nothing', { type: 'credit', id: 1, bytes: 0 }],
  ['credit as text', { type: 'credit', id: 1, bytes: '10' }],
  ['a note without a name', { type: 'note', params: {} }],
  ['a ping without a number', { type: 'ping' }],
  ['a chunk without data', { type: 'chunk', stream: 1, last: true }],
  ['a chunk that may be the last', { type: 'chunk', stream: 1, last: 1, data: 'x' }],
  ['a goodbye without a reason', { type: 'bye' }],
]

for (const [name, value] of INVALID)
  test(`${name} is no message`, () => {
    assert.is(
      codeOf(() => parseMessage(value)),
      'MESSAGE_INVALID',
    )
  })

test('a message may have fields that nobody knows, and may leave its value out', () => {
  for (const message of [
    { type: 'call', id: 1, method: 'm' },
    { type: 'return', id: 1, since: 'tomorrow' },
    { type: 'event', id: 1 },
    { type: 'note', name: 'n' },
  ])
    assert.is(parseMessage(message), message)
})

test('anything at all is a message or MESSAGE_INVALID', () => {
  fc.assert(
    fc.property(fc.anything(), value => {
      try {
        parseMessage(value)
      } catch (error) {
        assert.ok(error instanceof WireError)
      }
    }),
  )
})
