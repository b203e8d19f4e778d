import fc from 'fast-check'
import { type Key, openDecoder } from '../../src/terminal/tty.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('console keys')

const read = (...chunks: string[]) => {
  const decoder = openDecoder()
  const keys = chunks.flatMap(chunk => decoder.push(chunk))
  return [...keys, ...decoder.settle()].map(shown)
}
const shown = (key: Key) =>
  key.type === 'key' ? `<${key.name}>` : key.type === 'text' ? key.text : `[${key.text}]`

const SENT: readonly (readonly [what: string, sent: string, keys: string[]])[] = [
  ['letters, signs and wide characters', 'a語👩‍🔬 é', ['a語👩‍🔬 é']],
  [
    'control keys',
    '\x01\x05\x0b\x15\x1f\x00',
    ['<ctrl-a>', '<ctrl-e>', '<ctrl-k>', '<ctrl-u>', '<ctrl-_>', '<ctrl-space>'],
  ],
  [
    'Enter, Ctrl-J, Tab and both backspaces',
    '\r\n\t\x7f\x08',
    ['<enter>', '<ctrl-j>', '<tab>', '<backspace>', '<backspace>'],
  ],
  ['arrows in both spellings', '\x1b[A\x1bOB\x1b[C\x1bOD', ['<up>', '<down>', '<right>', '<left>']],
  [
    'keys with modifiers',
    '\x1b[1;5C\x1b[1;3D\x1b[3;5~\x1b[Z',
    ['<ctrl-right>', '<alt-left>', '<ctrl-delete>', '<shift-tab>'],
  ],
  [
    'Home and End as four kinds of terminals send them',
    '\x1b[H\x1b[1~\x1bOH\x1b[7~\x1b[F\x1b[4~',
    ['<home>', '<home>', '<home>', '<home>', '<end>', '<end>'],
  ],
  [
    'Alt as an escape in front',
    '\x1bf\x1b\r\x1b\x7f\x1b<',
    ['<alt-f>', '<alt-enter>', '<alt-backspace>', '<alt-<>'],
  ],
  ['Alt with an arrow, escape in front', '\x1b\x1b[A', ['<alt-up>']],
  ['Shift-Enter as two protocols send it', '\x1b[13;2u\x1b[27;2;13~', ['<shift-enter>', '<shift-enter>']],
  ['letters by their number', '\x1b[97;5u\x1b[97;1u\x1b[97;2u', ['<ctrl-a>', 'a', 'A']],
  ['the escape key alone', '\x1b', ['<escape>']],
  ['two characters that begin a sequence, and nothing more', '\x1b[', ['<alt-[>']],
  [
    'a paste, with its line ends and whatever stands in it',
    '\x1b[200~a\r\nb\rc\x1b[A\x03\x1b[201~x',
    ['[a\nb\nc\x1b[A\x03]', 'x'],
  ],
  ['an empty paste', '\x1b[200~\x1b[201~', ['[]']],
  [
    'answers of a terminal that nobody asked for',
    '\x1b[24;80R\x1b[?1;2c\x1b]11;rgb:0/0/0\x07\x1bP1$r0m\x1b\\x',
    ['x'],
  ],
  ['function keys that mean nothing here', '\x1b[15~\x1bOP\x1b[[Ax', ['x']],
  ['focus and mouse', '\x1b[I\x1b[O\x1b[<0;10;10Mx', ['x']],
]

for (const [what, sent, keys] of SENT) {
  test(what, () => assert.equal(read(sent), keys))
  test(`${what}, in single bytes`, () => assert.equal(joined(read(...sent)), joined(keys)))
}

/** Text may come in one piece or in several. */
const joined = (keys: readonly string[]) => keys.join('')

test('what follows an escape too late is a key of its own', () => {
  const decoder = openDecoder()
  assert.equal(decoder.push('\x1b'), [])
  assert.ok(decoder.waits)
  assert.equal(decoder.settle().map(shown), ['<escape>'])
  assert.equal(decoder.push('f').map(shown), ['f'])
})

test('a paste that has not ended is not settled', () => {
  const decoder = openDecoder()
  assert.equal(decoder.push('\x1b[200~a\x1b'), [])
  assert.not(decoder.waits)
  assert.equal(decoder.settle(), [])
  assert.equal(decoder.push('[201~').map(shown), ['[a]'])
})

test('a sequence that never ends is dropped, and what comes next is heard', () => {
  const decoder = openDecoder()
  decoder.push(`\x1b]${'x'.repeat(5_000)}`)
  assert.equal(decoder.push('y').map(shown), ['y'])
})

test('whatever is sent, in whatever pieces, ends in keys and never in a throw', () => {
  const bytes = fc.array(
    fc.constantFrom('\x1b', '[', 'O', '2', '0', '1', ';', '~', 'A', 'u', 'a', '\r', ']', '\x07', '語'),
  )
  fc.assert(
    fc.property(bytes, fc.nat(), (units, cut) => {
      const sent = units.join('')
      const decoder = openDecoder()
      decoder.push(sent.slice(0, cut % (sent.length + 1)))
      decoder.push(sent.slice(cut % (sent.length + 1)))
      decoder.settle()
    }),
  )
})
