import fc from 'fast-check'
import { WireError } from '../../wire/errors.ts'
import { Frames, frame, MOST_BYTES } from '../../wire/swank/frames.ts'
import { MOST_LEVELS, read } from '../../wire/swank/read.ts'
import { type Form, quote, type Sexp, symbol, write } from '../../wire/swank/sexp.ts'
import { codeOf } from '../support/faults.ts'
import { assert, isLong, suite } from '../support/harness.ts'

const test = suite('swank codec')
const atom = (atom: string) => ({ atom })
const text = (text: string) => ({ text })

// Frames

/** Every text that comes of these pieces. */
function textsOf(pieces: readonly Buffer[], limit?: number): string[] {
  const frames = new Frames(limit === undefined ? {} : { limit })
  return pieces.flatMap(piece => [...frames.add(piece)].map(body => body.toString()))
}

const bytewise = (stream: Buffer) => [...stream].map(byte => Buffer.from([byte]))
const latin1 = (text: string) => Buffer.from(text, 'latin1')

test('a message is six hexadecimal digits, the bytes of its text in UTF-8, and the text', () => {
  assert.is(frame('(:é 💥)').toString(), '00000a(:é 💥)')
  assert.is(frame('').toString(), '000000')
})

const STREAMS: readonly (readonly [string, readonly string[]])[] = [
  ['one message', ['(:ping 1 2)']],
  ['two messages', ['(:ping 1 2)', 't']],
  ['messages of many sizes', ['a', 'bc'.repeat(40), 'd', 'e'.repeat(300), 'fg']],
  ['messages in letters of two to four bytes', ['"é漢💥"', 'naïve', '💥']],
]

for (const [name, texts] of STREAMS) {
  const stream = Buffer.concat(texts.map(frame))

  test(`${name}, one byte each, is the same messages (fault 17)`, () => {
    assert.equal(textsOf(bytewise(stream)), texts)
  })

  test(`${name}, all in one piece, is the same messages (fault 18)`, () => {
    assert.equal(textsOf([stream]), texts)
  })

  test(`${name}, cut in two anywhere, also within a letter, is the same messages (fault 17)`, () => {
    for (let at = 0; at <= stream.length; at++)
      assert.equal(textsOf([stream.subarray(0, at), stream.subarray(at)]), texts)
  })
}

test('any messages, cut anywhere, are the same messages (fault 17)', () => {
  const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 30 })
  const cuts = fc.array(fc.nat(), { maxLength: 20 })
  fc.assert(
    fc.property(fc.array(text, { maxLength: 6 }), cuts, (texts, cuts) => {
      const stream = Buffer.concat(texts.map(frame))
      const places = [0, ...cuts.map(cut => cut % (stream.length + 1)), stream.length].sort((a, b) => a - b)
      const pieces = places.map((place, index) => stream.subarray(places[index - 1] ?? 0, place))
      assert.equal(textsOf(pieces), texts)
    }),
  )
})

test('a message of 4 MB in pieces of one byte, and one of all that fits in pieces of 64 kB, end within the time of a test', () => {
  const small = frame('x'.repeat(4_000_000))
  const frames = new Frames()
  let read = 0
  for (let at = 0; at < small.length; at++)
    for (const body of frames.add(small.subarray(at, at + 1))) read += body.length
  assert.is(read, 4_000_000)
  const large = frame('x'.repeat(MOST_BYTES))
  for (let at = 0; at < large.length; at += 65_536)
    for (const body of frames.add(large.subarray(at, at + 65_536))) read += body.length
  assert.is(read, 4_000_000 + MOST_BYTES)
})

test('after every proper part of a message its reader is in the middle of one, and after all of it not (fault 19)', () => {
  const stream = frame('(:ping 1 2)')
  for (let at = 1; at <= stream.length; at++) {
    const frames = new Frames()
    assert.is([...frames.add(stream.subarray(0, at))].length, at < stream.length ? 0 : 1)
    assert.is(frames.midFrame, at < stream.length)
  }
})

test('a length beyond the limit is refused before any of it is read, whole or byte by byte (fault 20)', () => {
  for (const digits of ['000065', 'ffffff', 'FFFFFF'])
    for (const pieces of [[latin1(digits)], bytewise(latin1(digits))])
      assert.is(
        codeOf(() => textsOf(pieces, 100)),
        'FRAME_TOO_LARGE',
      )
  assert.equal(textsOf([frame('x'.repeat(100))], 100), ['x'.repeat(100)])
})

/** What else listens at ports, and what its first bytes make of the message. */
const STRANGERS: readonly (readonly [string, string, RegExp])[] = [
  ['HTTP', 'HTTP/1.1 400 Bad Request\r\n\r\n', /HTTP server/],
  ['SSH', 'SSH-2.0-OpenSSH_9.6\r\n', /SSH server/],
  ['mail', '220 mail.example.org ESMTP\r\n', /mail or FTP server/],
  ['a digit too few', '0000b(:ping 1 2)', /other than Swank/],
  ['a sign', '-00001x', /other than Swank/],
  ['a number with a prefix', '0x0001x', /other than Swank/],
  ['no bytes', '000000', /not Swank/],
  ['zeros', '\0\0\0\0\0\0', /other than Swank/],
]
for (const [name, text, said] of STRANGERS)
  test(`${name} in place of Swank is malformed, and said to be (fault 21)`, () => {
    for (const pieces of [[latin1(text)], bytewise(latin1(text))]) {
      assert.is(
        codeOf(() => textsOf(pieces)),
        'FRAME_MALFORMED',
      )
    }
    assert.throws(() => textsOf([latin1(text)]), said)
  })

test('random bytes are messages or refused, and nothing that they hold is repeated (fault 21)', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 60 }), bytes => {
      try {
        textsOf([Buffer.from(bytes)], 1_000)
      } catch (error) {
        assert.instance(error, WireError)
      }
    }),
    { numRuns: isLong ? 2_000 : 500 },
  )
  assert.throws(
    () => textsOf([latin1('se+cret')]),
    (error: Error) => !error.message.includes('se+c'),
  )
})

test('bytes that are no UTF-8 are malformed', () => {
  for (const bytes of ['ff', 'c3', 'eda080', 'f4908080', 'c080'])
    assert.is(
      codeOf(() =>
        textsOf([
          Buffer.concat([
            latin1((bytes.length / 2).toString(16).padStart(6, '0')),
            Buffer.from(bytes, 'hex'),
          ]),
        ]),
      ),
      'FRAME_MALFORMED',
      bytes,
    )
})

// Writing

/** A form as the reader should see it: half of a surrogate pair as U+FFFD. */
function seen(form: Form): Sexp {
  if (typeof form === 'string') return { text: Buffer.from(form).toString() }
  if (typeof form === 'number') return form === 0 ? 0 : form
  if (form === true) return { atom: 't' }
  if (form === false || form === null) return null
  if ('symbol' in form) return { atom: form.symbol }
  return form.length === 0 ? null : form.map(seen)
}

const SYMBOLS = ['cl:quote', ':emacs-rex', 'swank::connection.env', 'cl:*package*', 'cl:string=', 'cl:-']
const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({
    unit: fc.constantFrom('"', '\\', '(', ')', '#', '.', '|', "'", ';', '`', ',', '\0', '\n', '\r'),
  }),
  fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map(code => String.fromCharCode(code)) }),
)
const { form: anyForm } = fc.letrec<{ form: Form }>(tie => ({
  form: fc.oneof(
    { maxDepth: 5 },
    anyText,
    fc.maxSafeInteger(),
    fc.boolean(),
    fc.constant(null),
    fc.constantFrom(...SYMBOLS).map(symbol),
    fc.array(tie('form'), { maxLength: 5 }),
  ),
}))

test('any form is read back as it was built, whatever its texts hold (threat 25)', () => {
  fc.assert(
    fc.property(anyForm, form => {
      const [text = ''] = textsOf([frame(write(form))])
      assert.equal(read(text), seen(form))
    }),
    { numRuns: isLong ? 2_000 : 500 },
  )
})

test('a text is one literal: outside of its quotes stands nothing (threat 25)', () => {
  fc.assert(
    fc.property(anyText, text => {
      const written = write(text)
      assert.is(written.at(0), '"')
      assert.is(written.at(-1), '"')
      assert.is(
        written
          .slice(1, -1)
          .replace(/\\[\\"]/g, '')
          .search(/[\\"]/),
        -1,
      )
    }),
    { numRuns: isLong ? 2_000 : 500 },
  )
})

test('what is not a symbol of our own kind is refused, as text and in place of one (threat 25)', () => {
  const others = [
    '',
    ':',
    'cl:',
    'a b',
    'a)',
    '(a',
    '#.a',
    "'a",
    '|a|',
    'a\\b',
    'a;b',
    'a"b',
    'A',
    '1',
    '-1',
    '+.5',
  ]
  for (const name of [...others, ':-1', 'cl:(', 'cl:::a', 'a:b:c', ':a:b', 'é', 'a\n', '.', '...']) {
    assert.throws(() => symbol(name), TypeError, name)
    assert.throws(() => write([{ symbol: name }]), TypeError, name)
  }
})

test('numbers are whole, and what is no form is not written', () => {
  assert.is(write([0, -0, -7, Number.MAX_SAFE_INTEGER]), '(0 0 -7 9007199254740991)')
  for (const number of [1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])
    assert.throws(() => write(number), TypeError)
  // As it would come out of a caller's JSON, past the types.
  const parsed: Form = JSON.parse('[{"symbol": ":ok"}, {"form": "(evil)"}]')
  assert.throws(() => write(parsed), TypeError)
  assert.is(write(quote(['a', null, true])), '(cl:quote ("a" nil t))')
})

/** What a Lisp prints, and what is read. */
const READ: readonly (readonly [string, Sexp])[] = [
  // Lists, and the one value that is both.
  ['nil', null],
  ['()', null],
  ['( )', null],
  ['(nil (nil) ())', [null, [null], null]],
  ['(:return (:ok nil) 12)', [atom(':return'), [atom(':ok'), null], 12]],
  [' \t\r\n( 1\n2 )', [1, 2]],
  // Pairs.
  ['(a . b)', { list: [atom('a')], tail: atom('b') }],
  ['(1 2 . "x")', { list: [1, 2], tail: text('x') }],
  [
    '((a . 1) (b . nil))',
    [
      { list: [atom('a')], tail: 1 },
      { list: [atom('b')], tail: null },
    ],
  ],
  ['(. b)', [atom('.'), atom('b')]],
  ['(a |.| b)', [atom('a'), atom('|.|'), atom('b')]],
  // Numbers.
  ['(0 -1 +2 12. -0)', [0, -1, 2, 12, 0]],
  ['9007199254740991', 9007199254740991],
  [
    '(9007199254740993 -123456789012345678901234567890)',
    [9007199254740993n, -123456789012345678901234567890n],
  ],
  ['(1.5 -0.25 1.0d0 1.0e-3 2.5f0 1d3 1.0d+2)', [1.5, -0.25, 1, 0.001, 2.5, 1000, 100]],
  ['(1/3 -22/7)', [atom('1/3'), atom('-22/7')]],
  [
    '(1.0d400 1+ + - -- 1e 12a 1.2.3 -x)',
    ['1.0d400', '1+', '+', '-', '--', '1e', '12a', '1.2.3', '-x'].map(atom),
  ],
  [
    '(#xff #b101 #.sb-ext:double-float-positive-infinity)',
    ['#xff', '#b101', '#.sb-ext:double-float-positive-infinity'].map(atom),
  ],
  // Symbols, in whatever package.
  ['(t :key swank::foo cl-user:bar #:g12)', ['t', ':key', 'swank::foo', 'cl-user:bar', '#:g12'].map(atom)],
  [
    '(|a b| foo::|x (y| |p\\|q| :|K L| || a\\ b)',
    ['|a b|', 'foo::|x (y|', '|p\\|q|', ':|K L|', '||', 'a\\ b'].map(atom),
  ],
  ['(|nil| |12| NIL)', ['|nil|', '|12|', 'NIL'].map(atom)],
  ['(naïve 漢字 💥)', ['naïve', '漢字', '💥'].map(atom)],
  // Texts.
  ['""', text('')],
  ['("a\\"b" "c\\\\" "d\ne" "\\n")', [text('a"b'), text('c\\'), text('d\ne'), text('n')]],
  ['("(nil" "#<" ")" "|")', [text('(nil'), text('#<'), text(')'), text('|')]],
  ['("é\\"漢" "💥" x)', [text('é"漢'), text('💥'), atom('x')]],
  ['"nil"', text('nil')],
  // Characters, delimiters among them.
  [
    '(#\\a #\\space #\\( #\\) #\\" #\\\\ #\\| #\\; x)',
    ['#\\a', '#\\space', '#\\(', '#\\)', '#\\"', '#\\\\', '#\\|', '#\\;', 'x'].map(atom),
  ],
  ['(#\\  #\\é #\\💥 #\\u+1f4a5)', ['#\\ ', '#\\é', '#\\💥', '#\\u+1f4a5'].map(atom)],
  // What cannot be read, and stays as it was printed.
  ['(#<function car> 1)', [atom('#<function car>'), 1]],
  ['(#<a #<b c> #<d>> 1)', [atom('#<a #<b c> #<d>>'), 1]],
  ['(#<a "x > y" (z> 1)', [atom('#<a "x > y" (z>'), 1]],
  ['(#<a "x \\"> y"> 1)', [atom('#<a "x \\"> y">'), 1]],
  ['(#<a #\\> #\\"> 1)', [atom('#<a #\\> #\\">'), 1]],
  ['(#<a 5" long> 1)', [atom('#<a 5" long>'), 1]],
  ['(#<é 漢> 1)', [atom('#<é 漢>'), 1]],
  // Quotes, vectors and the rest of what # stands before.
  [
    "('x #'f '(1 2) ''y)",
    [
      [atom('quote'), atom('x')],
      [atom('function'), atom('f')],
      [atom('quote'), [1, 2]],
      [atom('quote'), [atom('quote'), atom('y')]],
    ],
  ],
  [
    '`(a ,b ,@c)',
    [atom('quasiquote'), [atom('a'), [atom('unquote'), atom('b')], [atom('unquote-splicing'), atom('c')]]],
  ],
  ['(#(1 #()) x)', [{ prefix: '#', items: [1, { prefix: '#', items: [] }] }, atom('x')]],
  [
    '#2a((1 2) (3 4))',
    {
      prefix: '#2a',
      items: [
        [1, 2],
        [3, 4],
      ],
    },
  ],
  ['#s(point :x 1)', { prefix: '#s', items: [atom('point'), atom(':x'), 1] }],
  ['(#p"/a\\"b" #*0101)', [{ prefix: '#p', items: [text('/a"b')] }, atom('#*0101')]],
  ['#.(delete-file "x")', { prefix: '#.', items: [atom('delete-file'), text('x')] }],
]
for (const [printed, value] of READ)
  test(`${printed} is read`, () => {
    assert.equal(read(printed), value)
    assert.equal(read(Buffer.from(printed)), value)
    // Among letters of several bytes, all that is not ASCII is decoded piece by piece.
    assert.equal(read(`("é" ${printed})`), [text('é'), value])
  })

test('a text is no view of the message that it came in, and the message is left as it was', () => {
  const message = Buffer.from(`("${'x'.repeat(1_000)}" "a\\"b")`)
  const before = Buffer.from(message)
  const value = read(message)
  assert.equal(message, before)
  message.fill('?')
  assert.equal(value, [text('x'.repeat(1_000)), text('a"b')])
})

for (const broken of [
  '',
  ' ',
  '(',
  '(1',
  '"',
  '"a',
  '"a\\',
  '"a\\"',
  ')',
  '(1))) ('.slice(3),
  "'",
  "(')",
  '#(',
  '((1)',
  '#p"x',
])
  test(`${JSON.stringify(broken)} is malformed (fault 19)`, () => {
    assert.is(
      codeOf(() => read(broken)),
      'FRAME_MALFORMED',
    )
  })

test('what stands behind the first expression is left alone', () => {
  assert.equal(read('(1 2) and "more'), [1, 2])
})

test('a text that is cut anywhere is malformed, and never read as a shorter one (fault 19)', () => {
  const whole = '(:debug 3 1 ("a \\"b\\" | c" #<x "y>"> |p q|) (#\\) . 1/2) #(1 \'z) nil)'
  read(whole)
  for (let at = 0; at < whole.length; at++)
    assert.is(
      codeOf(() => read(whole.slice(0, at))),
      'FRAME_MALFORMED',
      whole.slice(0, at),
    )
})

test(`lists nest ${MOST_LEVELS} levels deep and no deeper, and no depth exhausts the stack`, () => {
  const nested = (levels: number) => '('.repeat(levels) + ')'.repeat(levels)
  read(nested(MOST_LEVELS))
  for (const deep of [nested(MOST_LEVELS + 1), '('.repeat(1e6), '#('.repeat(1e6), "'".repeat(1e6)])
    assert.is(
      codeOf(() => read(deep)),
      'LIMIT_EXCEEDED',
    )
})

/** Of what whoever wants to keep a reader busy would send 2 MB. */
const HOSTILE = [
  '"',
  '#<',
  '#<"',
  '#<a>',
  '#<a "',
  '#\\',
  '\\',
  '|',
  '1',
  '".',
  '#p"',
  '"\\',
  ';',
  '#|',
  '1/',
  '. ',
  '- ',
  'é"',
]
test('2 MB of anything is read or refused within the time of a test', () => {
  for (const piece of HOSTILE) {
    const many = piece.repeat(2e6 / Buffer.byteLength(piece))
    const within = `(:return (:ok ${many}) 1)`
    for (const message of isLong ? [many, `(${many}`, within] : [within]) survives(message)
  }
})

// Of characters: the long run has as much as a message can hold.
const MUCH = isLong ? 16e6 : 4e6
test('megabytes of text, of escapes and of small lists are read whole', () => {
  const value = (printed: string) => read(Buffer.from(`(:return (:ok ${printed}) 1)`))
  const long = 'x'.repeat(MUCH)
  assert.equal(value(`"${long}"`), [atom(':return'), [atom(':ok'), text(long)], 1])
  const escapes = MUCH / 2
  assert.equal(value(`"${'\\"'.repeat(escapes)}"`), [
    atom(':return'),
    [atom(':ok'), text('"'.repeat(escapes))],
    1,
  ])
  const [, answer] = value(`(${'(1) '.repeat(MUCH / 4)})`) as readonly Sexp[]
  const [, list] = answer as readonly Sexp[]
  assert.is((list as readonly Sexp[]).length, MUCH / 4)
})

test('any text of the characters that matter is read or refused, and never anything else (fault 21)', () => {
  const unit = fc.constantFrom(...'()"\\|#<>\'`,@;:.+-/0123456789edNILnil \n\tsapé漢💥')
  fc.assert(fc.property(fc.string({ unit, maxLength: 60 }), survives), { numRuns: isLong ? 5_000 : 1_000 })
})

function survives(printed: string) {
  try {
    read(printed)
  } catch (error) {
    if (!(error instanceof WireError)) throw error
    assert.ok(['FRAME_MALFORMED', 'LIMIT_EXCEEDED'].includes(error.code))
  }
}
