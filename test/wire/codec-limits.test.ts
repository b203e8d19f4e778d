import fc from 'fast-check'
import { codecOf } from '../../wire/codec/codec.ts'
import { Assembler, type Encoding, LIMITS, STREAMS, splitter } from '../../wire/codec/messages.ts'
import { codeOf } from '../support/faults.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('codec limits')
const ENCODINGS = ['json', 'msgpack'] as const
const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex')
const decode = (encoding: Encoding, body: Buffer) => codecOf(encoding).decode(body, LIMITS)

const nested = (depth: number): unknown => (depth === 0 ? 0 : [nested(depth - 1)])
const bodyOf = (encoding: Encoding, value: unknown) =>
  codecOf(encoding).frame(value, { depth: 1e6, items: 1e9 }).subarray(4)

for (const encoding of ENCODINGS) {
  test(`${encoding} of 64 levels is read and written, and of 65 refused both ways`, () => {
    assert.equal(decode(encoding, bodyOf(encoding, nested(64))), nested(64))
    assert.is(
      codeOf(() => decode(encoding, bodyOf(encoding, nested(65)))),
      'LIMIT_EXCEEDED',
    )
    assert.is(
      codeOf(() => codecOf(encoding).frame(nested(65), LIMITS)),
      'LIMIT_EXCEEDED',
    )
  })

  test(`${encoding} of 100,000 items is read, and of one more refused`, () => {
    const items = (count: number) => Array.from({ length: count }, () => 0)
    assert.equal(decode(encoding, bodyOf(encoding, items(100_000))), items(100_000))
    assert.is(
      codeOf(() => decode(encoding, bodyOf(encoding, items(100_001)))),
      'LIMIT_EXCEEDED',
    )
  })

  test(`${encoding} counts each element and each entry once, at any depth`, () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), value => {
        const count = itemsIn(value)
        const body = bodyOf(encoding, value)
        codecOf(encoding).decode(body, { depth: 64, items: count })
        if (count > 0)
          assert.is(
            codeOf(() => codecOf(encoding).decode(body, { depth: 64, items: count - 1 })),
            'LIMIT_EXCEEDED',
          )
      }),
    )
  })
}

function itemsIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const inner = Object.values(value)
  return inner.length + inner.reduce((sum: number, one) => sum + itemsIn(one), 0)
}

test('what a text says of brackets, commas and quotes is not counted', () => {
  const texts = [
    '[[[,,,',
    '"',
    '\\',
    '\\"',
    '\\\\"[',
    `${'\\'.repeat(63)}"`,
    `${'x'.repeat(63)}\\"[,`,
    '",'.repeat(99),
  ]
  for (const text of [...texts, texts.join('x'.repeat(60))]) {
    const body = Buffer.from(JSON.stringify({ [text]: [text] }))
    const value = codecOf('json').decode(body, { depth: 2, items: 2 })
    assert.equal(value, { [text]: [text] })
  }
})

const BOMBS: readonly (readonly [string, Buffer, string])[] = [
  ['100,000 nested arrays', Buffer.alloc(100_000, 0x91), 'LIMIT_EXCEEDED'],
  [
    '100,000 nested maps',
    Buffer.concat(Array.from({ length: 100_000 }, () => hex('81a161'))),
    'LIMIT_EXCEEDED',
  ],
  ['an array of 4 billion', hex('dd ffffffff'), 'LIMIT_EXCEEDED'],
  ['a map of 4 billion', hex('df ffffffff'), 'LIMIT_EXCEEDED'],
  ['arrays that announce 65,535 each, nested', hex('dcffff dcffff dcffff'), 'LIMIT_EXCEEDED'],
  ['an array of 50,000 without elements', hex('dcc350'), 'FRAME_MALFORMED'],
  ['a text of 4 GiB', hex('db ffffffff 61'), 'FRAME_MALFORMED'],
  ['bytes of 4 GiB', hex('c6 ffffffff 00'), 'FRAME_MALFORMED'],
  ['a length that is cut', hex('dd ffff'), 'FRAME_MALFORMED'],
  ['fixext 1', hex('d4 00 00'), 'FRAME_MALFORMED'],
  ['a record definition of msgpackr', hex('d4 72 40 91 a1 61 01'), 'FRAME_MALFORMED'],
  ['a bundle of strings of msgpackr', hex('d6 62 00000000'), 'FRAME_MALFORMED'],
  ['a timestamp', hex('d6 ff 00000000'), 'FRAME_MALFORMED'],
  ['ext 8', hex('c7 01 00 00'), 'FRAME_MALFORMED'],
  ['ext 32 of 4 GiB', hex('c9 ffffffff 01'), 'FRAME_MALFORMED'],
  ['the byte that is never used', hex('c1'), 'FRAME_MALFORMED'],
  ['a key that is a number', hex('81 01 01'), 'FRAME_MALFORMED'],
  ['a key that is an array', hex('81 91 01 01'), 'FRAME_MALFORMED'],
  ['a value after the value', hex('01 01'), 'FRAME_MALFORMED'],
  ['nothing', hex(''), 'FRAME_MALFORMED'],
]
for (const [name, body, code] of BOMBS)
  test(`${name} in msgpack is ${code} (threat 32)`, () => {
    assert.is(
      codeOf(() => decode('msgpack', body)),
      code,
    )
  })

test('4 million nested arrays in JSON are LIMIT_EXCEEDED (threat 32)', () => {
  assert.is(
    codeOf(() => decode('json', Buffer.alloc(4_000_000, '['))),
    'LIMIT_EXCEEDED',
  )
})

const PROTOTYPES: readonly (readonly [string, Encoding, Buffer])[] = [
  ['in JSON', 'json', Buffer.from('{"a":{"__proto__":{"bad":1}},"b":1}')],
  ['in JSON, spelled with an escape', 'json', Buffer.from('{"a":{"\\u005f_proto__":{"bad":1}},"b":1}')],
  ['in msgpack', 'msgpack', hex('82 a161 81 a95f5f70726f746f5f5f 81 a3626164 01 a162 01')],
]
for (const [name, encoding, body] of PROTOTYPES)
  test(`a key __proto__ ${name} becomes nobody's prototype, also of a copy (threat 32)`, () => {
    const value = decode(encoding, body) as { a: object; b: number }
    assert.is(value.b, 1)
    for (const one of [value.a, Object.assign({}, value.a)]) {
      assert.is(Object.getPrototypeOf(one), Object.prototype)
      assert.not('bad' in one)
      assert.not(Object.hasOwn(one, '__proto__'))
    }
  })

// Chunks

/** The pieces of several bodies, dealt in turn, put together again. */
function reassembled(encoding: Encoding, bodies: readonly Buffer[], chunkBytes: number) {
  const parts = bodies.map((body, index) => splitter({ body, encoding, stream: index + 1, chunkBytes }))
  const whole = new Assembler({ encoding, messageBytes: 1_000_000 })
  const done = new Map<number, string>()
  while (parts.some(part => !part.done))
    for (const part of parts) {
      if (part.done) continue
      const chunk = part.next()
      const sent = codecOf(encoding).decode(codecOf(encoding).frame(chunk, LIMITS).subarray(4), LIMITS)
      const body = whole.add(sent as typeof chunk)
      assert.is(body !== undefined, part.done)
      if (body !== undefined) done.set(chunk.stream, body.toString('hex'))
    }
  assert.is(whole.bytes, 0)
  return bodies.map((_, index) => done.get(index + 1))
}

for (const encoding of ENCODINGS)
  test(`any messages in ${encoding}, in pieces of any size, several at once, come out as they went in`, () => {
    const values = fc.array(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }), {
      minLength: 1,
      maxLength: 5,
    })
    fc.assert(
      fc.property(values, fc.integer({ min: 1, max: 50 }), (values, chunkBytes) => {
        const bodies = values.map(value => bodyOf(encoding, value))
        assert.equal(
          reassembled(encoding, bodies, chunkBytes),
          bodies.map(body => body.toString('hex')),
        )
      }),
    )
  })

const chunk = (stream: number, data: string | Uint8Array, last = false) =>
  ({ type: 'chunk', stream, last, data }) as const

test('no piece of JSON cuts a character', () => {
  const body = Buffer.from('"é漢💥é漢💥"')
  const parts = splitter({ body, encoding: 'json', stream: 1, chunkBytes: 2 })
  while (!parts.done) assert.not.match(String(parts.next().data), /\ufffd/)
})

test('messages in pieces are refused beyond messageBytes, all of them taken together', () => {
  const whole = new Assembler({ encoding: 'json', messageBytes: 10 })
  whole.add(chunk(1, '12345'))
  whole.add(chunk(2, '12345'))
  assert.is(
    codeOf(() => whole.add(chunk(3, '1'))),
    'MESSAGE_TOO_LARGE',
  )
  assert.is(whole.bytes, 10)
})

test(`more than ${STREAMS} messages at once are PROTOCOL_BROKEN`, () => {
  const whole = new Assembler({ encoding: 'json', messageBytes: 1_000 })
  for (let stream = 1; stream <= STREAMS; stream++) whole.add(chunk(stream, 'x'))
  assert.is(
    codeOf(() => whole.add(chunk(STREAMS + 1, 'x'))),
    'PROTOCOL_BROKEN',
  )
})

test('a piece that is empty, or of the other encoding, is MESSAGE_INVALID', () => {
  const json = new Assembler({ encoding: 'json', messageBytes: 1_000 })
  const msgpack = new Assembler({ encoding: 'msgpack', messageBytes: 1_000 })
  for (const wrong of [
    () => json.add(chunk(1, '')),
    () => json.add(chunk(1, hex('00'))),
    () => msgpack.add(chunk(1, hex(''))),
    () => msgpack.add(chunk(1, 'x')),
  ])
    assert.is(codeOf(wrong), 'MESSAGE_INVALID')
})

test('a message in pieces of one byte takes no more memory than twice its size', () => {
  const whole = new Assembler({ encoding: 'msgpack', messageBytes: 1_000_000 })
  const piece = hex('00')
  for (let sent = 1; sent < 1_000_000; sent++) whole.add(chunk(1, piece))
  const body = whole.add(chunk(1, piece, true))
  assert.is(body?.length, 1_000_000)
  assert.ok((body?.buffer.byteLength ?? 0) <= 2_000_000)
})
