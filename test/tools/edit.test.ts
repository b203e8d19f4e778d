import fc from 'fast-check'
import { editFile, lineNumbers, occurrences } from '../../tools/edit.ts'
import { readFile } from '../../tools/files.ts'
import { newlineOf, unspelled } from '../../tools/newlines.ts'
import { assert, isLong, suite } from '../support/harness.ts'
import { approved, openProject, proposalOf, refusalOf } from '../support/project-files.ts'
import { context, errorOf, resultOf } from './context.ts'

const test = suite('edit_file')

const SHOP = 'def price(n):\n    return 1 / n\n\n\ndef total(n):\n    return n\n'

const having = (content: string | Uint8Array, path = 'shop.py') => openProject({ [path]: content })

const edit = (old_str: string, new_str: string, more = {}) => ({ path: 'shop.py', old_str, new_str, ...more })

test('one place is replaced, and nothing else; the answer says what was done and how to take it back', async () => {
  const rig = having(SHOP)
  const result = resultOf(await approved(editFile, edit('1 / n', '1 / (n or 1)'), rig))
  assert.is(rig.read('shop.py')?.toString(), SHOP.replace('1 / n', '1 / (n or 1)'))
  const { sha256, ...rest } = result
  assert.match(String(sha256), /^[0-9a-f]{64}$/)
  assert.equal(rest, {
    path: 'shop.py',
    changed: true,
    created: false,
    bytes: SHOP.length + 7,
    lines_added: 1,
    lines_removed: 1,
    undo: 'change-1',
    notes: [],
  })
  assert.is(
    editFile.show(result),
    `edited shop.py: 1 line added, 1 removed; it has ${SHOP.length + 7} bytes now\nto take it back: undo_change change-1`,
  )
})

test('what a person is shown is one sentence, what is to be known, and the whole difference', async () => {
  const proposal = await proposalOf(editFile, edit('1 / n', '1 / (n or 1)'), having(SHOP))
  assert.equal(proposal.preview, {
    title: 'Edit shop.py',
    body: [
      'Replaces 1 place in shop.py: 1 line added, 1 removed.',
      '',
      'diff --git a/shop.py b/shop.py',
      '--- a/shop.py',
      '+++ b/shop.py',
      '@@ -1,5 +1,5 @@',
      ' def price(n):',
      '-    return 1 / n',
      '+    return 1 / (n or 1)',
      ' ',
      ' ',
      ' def total(n):',
      '',
    ].join('\n'),
  })
  assert.equal(
    proposal.evidence.map(one => one.what),
    ['shop.py'],
  )
  assert.is(proposal.changes.length, 1)
})

test('a text that occurs more often than was said is refused, with how often and where', async () => {
  const rig = having(SHOP)
  const error = await refusalOf(editFile, edit('return', 'yield'), rig)
  assert.is(error.code, 'no_unique_match')
  assert.equal(error.details, { found: 2, expected: 1, lines: [2, 6] })
  assert.match(error.message, 'old_str occurs 2 times in shop.py (lines 2, 6), where 1 was said.')
  assert.match(error.next ?? '', 'count 2 to replace all of them')
  resultOf(await approved(editFile, edit('return', 'yield', { count: 2 }), rig))
  assert.is(rig.read('shop.py')?.toString(), SHOP.replaceAll('return', 'yield'))
})

test('places that overlap are refused, whatever the count: which is meant cannot be told', async () => {
  for (const count of [1, 2]) {
    const error = await refusalOf(editFile, edit('aa', 'b', { count }), having('aaa'))
    assert.match(error.message, 'overlap')
    assert.is(error.details.found, 2)
  }
})

test('an empty old_str, one that equals new_str, and half a character are mistakes of their own', async () => {
  const rig = having(SHOP)
  const empty = await refusalOf(editFile, edit('', 'x'), rig)
  assert.is(empty.code, 'invalid_args')
  assert.match(empty.next ?? '', 'write_file')
  assert.is((await refusalOf(editFile, edit('n', 'n'), rig)).code, 'invalid_args')
  assert.match((await refusalOf(editFile, edit('n', '\ud83d'), rig)).message, 'half of a character')
})

test('what is not there, or is no text, is not edited', async () => {
  const rig = having(Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 0]), 'logo.png')
  assert.is((await refusalOf(editFile, edit('a', 'b'), rig)).code, 'not_found')
  const error = await refusalOf(editFile, { ...edit('a', 'b'), path: 'logo.png' }, rig)
  assert.is(error.code, 'not_text')
  assert.match(error.message, 'logo.png is not text, but 6 bytes of something else')
})

test('nothing in the two texts is unescaped, trimmed or taken for a pattern', async () => {
  const rig = having('a = "x.y\\n" # $&\n')
  resultOf(await approved(editFile, edit('x.y\\n', " $& $1 $$ \\t$' "), rig))
  assert.is(rig.read('shop.py')?.toString(), `a = " $& $1 $$ \\t$' " # $&\n`)
})

test('LF in both texts stands for CR LF in a file of such lines, which it keeps', async () => {
  const rig = having('a\r\nb\r\nc\r\n')
  const proposal = await proposalOf(editFile, edit('a\nb\n', 'x\ny\nz\n'), rig)
  assert.match(proposal.preview.body, 'Its lines end with CR LF, before and after.')
  assert.match(proposal.preview.body, 'The line ends of new_str were written as CR LF')
  assert.match(proposal.preview.body, '\n-a\r\n-b\r\n+x\r\n+y\r\n+z\r\n')
  const result = resultOf(await approved(editFile, edit('a\nb\n', 'x\ny\nz\n'), rig))
  assert.is(rig.read('shop.py')?.toString(), 'x\r\ny\r\nz\r\nc\r\n')
  assert.is((result.notes as string[]).length, 1)
  resultOf(await approved(editFile, edit('x\r\ny', 'X\r\ny'), rig))
  assert.is(rig.read('shop.py')?.toString(), 'X\r\ny\r\nz\r\nc\r\n')
})

test('in a file of mixed line ends each is taken as it stands', async () => {
  const rig = having('a\r\nb\nc\r\n')
  const error = await refusalOf(editFile, edit('a\nb\n', 'x'), rig)
  assert.equal(error.details.nearest, { differs: 'line_ends', line: 1, text: 'a\r\nb\n' })
  const proposal = await proposalOf(editFile, edit('b\n', 'B\n'), rig)
  assert.match(proposal.preview.body, 'Its lines end in different ways')
  resultOf(await approved(editFile, edit('a\r\nb\n', 'a\r\nB\n'), rig))
  assert.is(rig.read('shop.py')?.toString(), 'a\r\nB\nc\r\n')
})

const NEAR: readonly (readonly [
  differs: string,
  content: string,
  old_str: string,
  line: number,
  text: string,
])[] = [
  ['line_ends', 'a\nb', 'b\n', 2, 'b'],
  ['trailing_blanks', 'x\nif a:  \n    b\n', 'if a:\n    b', 2, 'if a:  \n    b\n'],
  ['indentation', 'x\n    if a:\n        b\n', 'if a:\n    b', 2, '    if a:\n        b\n'],
  ['indentation', 'x\n\tif a:\n\t\tb\n', '    if a:\n        b', 2, '\tif a:\n\t\tb\n'],
  ['blanks', 'x\ny =  1\n', 'y = 1', 2, 'y =  1\n'],
  ['blanks', 'x\nreturn x * 2\n', 'return x*2', 2, 'return x * 2\n'],
  ['blanks', 'x\ny\u00a0= 1\n', 'y = 1', 2, 'y\u00a0= 1\n'],
  ['escapes', 'x\nprint("a")\ny\n', 'print(\\"a\\")\\ny', 2, 'print("a")\ny\n'],
  ['line_numbers', 'x\ny\nz\n', '  2\ty\n  3\tz', 2, 'y\nz\n'],
  ['line_numbers', 'x\ny\nz\n', '2→y\n3→z', 2, 'y\nz\n'],
  ['quotes', 'x\ny = "a"\n', "y = 'a'", 2, 'y = "a"\n'],
  ['spelling', 'x\nprint("a",  b)\n', "Print('a',b)", 2, 'print("a",  b)\n'],
  ['lookalikes', 'x\ny = "a" - b\n', 'y = “a” – b', 2, 'y = "a" - b\n'],
  ['case', 'x\nReturn Y\n', 'return y', 2, 'Return Y\n'],
]

for (const [differs, content, old_str, line, text] of NEAR)
  test(`what only differs in ${differs} is named, never applied: ${JSON.stringify(old_str)}`, async () => {
    const rig = having(content)
    const error = await refusalOf(editFile, edit(old_str, 'new'), rig)
    assert.is(error.code, 'no_unique_match')
    assert.equal(error.details, { found: 0, lines: [], nearest: { differs, line, text } })
    assert.match(error.message, `at line ${line} it does but for`)
    assert.is(rig.read('shop.py')?.toString(), content)
    // What it offers is what the file has.
    resultOf(await approved(editFile, edit(text, 'new'), rig))
  })

test('where no spelling of it is there, the nearest lines are given, and the first line that differs is quoted', async () => {
  const error = await refusalOf(editFile, edit('def total(n):\n    return 2 * n\n', 'x'), having(SHOP))
  assert.match(
    error.message,
    'the nearest is at line 5, where line 6 has "return n" in place of "return 2 * n". Nothing',
  )
  assert.equal(error.details.nearest, {
    differs: 'lines',
    line: 5,
    text: 'def total(n):\n    return n\n',
  })
  assert.match(error.next ?? '', 'read_file')
})

test('a line that no whole word was copied of is the nearest, too', async () => {
  const shop = having(SHOP.replace('    return n\n', '    return subtotal * 2\n'))
  const error = await refusalOf(editFile, edit('    return subtotals * 3', 'x'), shop)
  assert.match(
    error.message,
    'the nearest is at line 6, where line 6 has "return subtotal * 2" in place of "return subtotals * 3". Nothing',
  )
  assert.equal(error.details.nearest, { differs: 'lines', line: 6, text: '    return subtotal * 2\n' })
})

test('a line that only begins as the one that was asked for is not taken for the nearest, and a long one can be', async () => {
  const tail = ' + total'.repeat(12)
  const shop = having(`returning\n${SHOP}subtotals = subtotal${tail}\n`)
  const error = await refusalOf(editFile, edit(`subtotalz = subtotel${tail}`, 'x'), shop)
  assert.is((error.details.nearest as { text: string }).text, `subtotals = subtotal${tail}\n`)
  const short = await refusalOf(editFile, edit('returnings = nothing', 'x'), shop)
  assert.is(short.details.nearest, null)
})

test('a long line is quoted where it differs', async () => {
  const long = (word: string) => `names = [${'"tea", '.repeat(500)}"${word}", ${'"pie", '.repeat(500)}]`
  const error = await refusalOf(editFile, edit(long('cake'), 'x'), having(`x\n${long('cocoa')}\n`))
  assert.match(error.message, /line 2 has …"[^…]*\\"cocoa\\"[^…]*"… in place of …"[^…]*\\"cake\\"[^…]*"…/)
})

test('where nothing is like it, that is said', async () => {
  const error = await refusalOf(editFile, edit('class Order:', 'x'), having(SHOP))
  assert.match(error.message, 'old_str does not occur in shop.py, and nothing like it does.')
  assert.is(error.details.nearest, null)
})

test('a file that changes between the look and the write is left alone (threat 18)', async () => {
  const rig = having(SHOP)
  const meanwhile = () => rig.write('shop.py', `# new\n${SHOP}`)
  const error = errorOf(await approved(editFile, edit('1 / n', '2 / n'), rig, meanwhile))
  assert.is(error.code, 'stale_plan')
  assert.is(rig.read('shop.py')?.toString(), `# new\n${SHOP}`)
})

test('names of arguments that models know from elsewhere are understood', async () => {
  const rig = having(SHOP)
  const args = { file_path: 'shop.py', old_string: 'return', new_string: 'yield', expected_replacements: 2 }
  assert.is(resultOf(await approved(editFile, args, rig)).changed, true)
})

const word = fc.stringMatching(/^[ab\n$\\]{1,4}$/)

test('an edit changes nothing outside its places, whatever the texts', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(word, { maxLength: 12 }), word, word, async (parts, old_str, new_str) => {
      const content = parts.join('')
      const count = content.split(old_str).length - 1
      const rig = having(content)
      const outcome = await approved(editFile, edit(old_str, new_str, { count: Math.max(1, count) }), rig)
      const after = rig.read('shop.py')?.toString() ?? ''
      if (outcome.type === 'failed') assert.is(after, content)
      else assert.is(after, content.split(old_str).join(new_str))
      assert.is(
        outcome.type === 'ok',
        old_str !== new_str && occurrences(content, old_str).length === count && count > 0,
      )
    }),
    { numRuns: isLong ? 2_000 : 300 },
  )
})

test('what read_file gave can be passed back, and matches', async () => {
  const lines = fc.array(fc.stringMatching(/^[ab\t ]{0,3}$/), { minLength: 1, maxLength: 8 })
  await fc.assert(
    fc.asyncProperty(
      lines,
      fc.constantFrom('\n', '\r\n', '\r'),
      fc.nat(7),
      fc.nat(7),
      async (texts, end, from, to) => {
        const content = texts.map((text, index) => `${index}${text}${end}`).join('')
        const rig = having(content)
        const first = 1 + (from % texts.length)
        const args = readFile.parameters.parse({ path: 'shop.py', from: first, limit: 1 + to })
        const read = resultOf(await readFile.handler(args as never, { ...context(), files: rig.files }))
        resultOf(await approved(editFile, edit(String(read.text), 'x\n'), rig))
        const kept = texts.filter((_, index) => index < first - 1 || index > first - 1 + to)
        assert.is(rig.read('shop.py')?.toString().split(end).length, kept.length + 2)
        assert.is(newlineOf(rig.read('shop.py')?.toString() ?? ''), end)
      },
    ),
  )
})

test('occurrences are found in linear time, those that overlap too, and each knows its line', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[ab\n]{0,30}$/), fc.stringMatching(/^[ab\n]{1,4}$/), (text, wanted) => {
      const expected = [...text].flatMap((_, at) => (text.startsWith(wanted, at) ? [at] : []))
      assert.equal(occurrences(text, wanted), expected)
      assert.equal(
        lineNumbers(text, expected),
        expected.map(at => text.slice(0, at).split('\n').length),
      )
    }),
  )
  // A search that begins anew at each place would compare 10¹² times.
  assert.is(occurrences('a'.repeat(2_000_000), `${'a'.repeat(1_000_000)}b`).length, 0)
  assert.equal(occurrences('abc', ''), [])
  assert.is(unspelled('a\r\nb\n', 'mixed'), 'a\r\nb\n')
})
