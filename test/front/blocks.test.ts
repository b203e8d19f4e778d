import { openBlocks } from '../../src/front/blocks.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('blocks')

const BLOCKS: readonly (readonly [what: string, lines: string, person: string[], program?: string[]])[] = [
  ['expressions', '1\n\n2', ['1', '2']],
  ['a bracket over lines', 'f(1,\n\n2)\n3', ['f(1,', '2)', '3'], ['f(1,\n\n2)', '3']],
  ['a bracket too many', 'def f(:\n\n2', ['def f(:', '2'], ['def f(:\n\n2']],
  ['a backslash', 'x = 1 + \\\n2\n3', ['x = 1 + \\\n2', '3']],
  ['a triple-quoted text', 's = """a\nb"""\n3', ['s = """a\nb"""', '3']],
  ['an empty line in a text', 's = """a\n\n3', ['s = """a', '3'], ['s = """a\n\n3']],
  ['brackets and colons in texts and comments', 'x = "(:"  # [ {\ny', ['x = "(:"  # [ {', 'y']],
  ['an escaped quote', "x = 'it\\'s ('\ny", ["x = 'it\\'s ('", 'y']],
  ['a function, a line and an expression', 'def f():\n  1\n\nf()', ['def f():\n  1', 'f()']],
  ['a function at once followed', 'def f():\n  1\nf()', ['def f():\n  1', 'f()']],
  ['else and its kin', 'if x:\n  1\nelse:\n  2\n\n3', ['if x:\n  1\nelse:\n  2', '3']],
  ['decorators', '@a\n@b\ndef f():\n  1\n\n2', ['@a\n@b\ndef f():\n  1', '2']],
  [
    'an empty line in a function',
    'def f():\n  1\n\n  2\n3',
    ['def f():\n  1', '  2', '3'],
    ['def f():\n  1\n\n  2', '3'],
  ],
  ['what is not complete at the end', 'f(', ['f(']],
]

for (const [what, lines, person, program = person] of BLOCKS)
  test(what, () => {
    for (const [emptyLineEnds, expected] of [
      [true, person],
      [false, program],
    ] as const) {
      const blocks = openBlocks({ emptyLineEnds })
      const done = lines.split('\n').flatMap(line => blocks.push(line))
      const rest = blocks.rest()
      assert.equal(rest === undefined ? done : [...done, rest], expected)
    }
  })

const PASTES: readonly (readonly [what: string, lines: string, done: string[], rest?: string])[] = [
  ['statements are one piece', 'x = 1\nx + 1\n\nx', ['x = 1\nx + 1\n\nx']],
  ['empty lines in front are not part of it', '\n\nx', ['x']],
  ['what ends set in goes on', 'def f():\n\n  1', [], 'def f():\n\n  1'],
  ['what ends with a colon goes on', 'x\nif y:', [], 'x\nif y:'],
  ['what ends inside a bracket goes on', 'f(1,\n2', [], 'f(1,\n2'],
  ['an empty line at the end ends it', 'def f():\n  1\n', ['def f():\n  1']],
  ['a line at the margin ends it', 'def f():\n\n  1\nf()', ['def f():\n\n  1\nf()']],
]

for (const [what, lines, done, rest] of PASTES)
  test(`of a paste, ${what}`, () => {
    const blocks = openBlocks({ emptyLineEnds: true })
    assert.equal(blocks.paste(lines.split('\n')), done)
    assert.is(blocks.rest(), rest)
  })
