import type { Choice } from '../../tools/contract.ts'
import { editFile } from '../../tools/edit.ts'
import type { Fate } from '../../tools/hunks.ts'
import { type ProposedEdit, proposeFileEdit } from '../../tools/propose.ts'
import { showEnvelope } from '../../tools/show.ts'
import { writeFile } from '../../tools/write.ts'
import { assert, suite } from '../support/harness.ts'
import {
  approved,
  chosen,
  openProject,
  type Project,
  proposalOf,
  refusalOf,
} from '../support/project-files.ts'
import { errorOf, resultOf } from './context.ts'

const test = suite('propose_file_edit')

const SHOP = 'def price(n):\n    return 1 / n\n\n\ndef total(n):\n    return n\n'

const RATES = 'winter = 0.2\nsummer = 0.1\n'

const having = (
  files: Readonly<Record<string, string | Uint8Array>> = { 'shop.py': SHOP, 'rates.py': RATES },
) => openProject(files)

const edit = (old_str: string, new_str: string, path = 'shop.py'): ProposedEdit => ({
  path,
  old_str,
  new_str,
})

const proposing = (...edits: ProposedEdit[]) => ({ edits })

const refused = (rig: Project, ...edits: ProposedEdit[]) =>
  refusalOf(proposeFileEdit, proposing(...edits), rig)

const accept = (hunk: number): Choice => ({ hunk, decision: 'accept' })

const refuse = (hunk: number, reason: string | null = null): Choice => ({ hunk, decision: 'refuse', reason })

const write = (hunk: number, text: string): Choice => ({ hunk, decision: 'edit', text, reason: null })

const THREE = proposing(
  { ...edit('    return n\n', '    return round(n)\n'), why: 'cents are enough' },
  edit('summer = 0.1', 'summer = 0.15', 'rates.py'),
  edit('1 / n', '1 / (n or 1)'),
)

test('what a person is shown is every file with its hunks, why each is proposed, and the whole difference', async () => {
  const { preview, hunks, evidence, changes } = await proposalOf(proposeFileEdit, THREE, having())
  assert.is(preview.title, 'Edit 2 files: 3 hunks')
  assert.is(
    preview.body.slice(0, preview.body.indexOf('diff --git')),
    [
      'Changes 2 places in shop.py: 2 lines added, 2 removed.',
      'Hunk 1, at line 6: cents are enough',
      'Changes 1 place in rates.py: 1 line added, 1 removed.',
      '',
      '',
    ].join('\n'),
  )
  assert.equal(
    [evidence.map(({ what }) => what), changes.map(({ shown }) => shown)],
    [
      ['shop.py', 'rates.py'],
      ['shop.py', 'rates.py'],
    ],
  )
  assert.equal(
    hunks?.all.map(({ number, shown, line, before, after, why }) => [
      number,
      shown,
      line,
      before,
      after,
      why,
    ]),
    [
      [3, 'shop.py', 2, '    return 1 / n\n', '    return 1 / (n or 1)\n', null],
      [1, 'shop.py', 6, '    return n\n', '    return round(n)\n', 'cents are enough'],
      [2, 'rates.py', 2, 'summer = 0.1\n', 'summer = 0.15\n', null],
    ],
  )
})

test('approved as a whole, all of it is done, and each hunk is told to be applied', async () => {
  const rig = having()
  const result = resultOf(await approved(proposeFileEdit, THREE, rig))
  assert.is(
    rig.read('shop.py')?.toString(),
    SHOP.replace('1 / n', '1 / (n or 1)').replace('return n\n', 'return round(n)\n'),
  )
  assert.is(rig.read('rates.py')?.toString(), RATES.replace('0.1', '0.15'))
  assert.equal(
    (result.hunks as Fate[]).map(({ number, path, line, outcome }) => [number, path, line, outcome]),
    [
      [1, 'shop.py', 6, 'applied'],
      [2, 'rates.py', 2, 'applied'],
      [3, 'shop.py', 2, 'applied'],
    ],
  )
  assert.is(
    proposeFileEdit.show(result),
    [
      'edited shop.py: 2 lines added, 2 removed; it has 74 bytes now',
      'edited rates.py: 1 line added, 1 removed; it has 27 bytes now',
      '3 hunks applied as proposed',
      'to take it back: undo_change change-1',
    ].join('\n'),
  )
})

test('the answer says in words which hunks were refused and why, and what a person wrote instead', async () => {
  const rig = having()
  const choices = [refuse(1, 'cents\nmatter'), write(2, 'summer = 0.3\n# for now\n'), accept(3)]
  const result = resultOf(await chosen(proposeFileEdit, THREE, rig, choices))
  assert.is(rig.read('rates.py')?.toString(), 'winter = 0.2\nsummer = 0.3\n# for now\n')
  assert.is(
    showEnvelope({ ok: true, result: { ...result, approval: 'As they chose.' } }, proposeFileEdit),
    [
      'edited shop.py: 1 line added, 1 removed; it has 67 bytes now',
      'edited rates.py: 2 lines added, 1 removed; it has 36 bytes now',
      'hunk 1 (shop.py:6) was refused: cents\\nmatter',
      'hunk 2 (rates.py:2) was edited',
      'what was written there:',
      '  summer = 0.3',
      '  # for now',
      'hunk 3 (shop.py:2) was applied',
      'to take it back: undo_change change-1',
      'approval: As they chose.',
    ].join('\n'),
  )
})

test('an empty old_str makes a new file, which a person can write otherwise, or refuse', async () => {
  const edits = proposing(edit('0.1', '0.15', 'rates.py'), edit('', 'new = 1\n', 'new.py'))
  const whole = having()
  const result = resultOf(await approved(proposeFileEdit, edits, whole))
  assert.is(whole.read('new.py')?.toString(), 'new = 1\n')
  assert.equal(
    (result.files as { created: boolean }[]).map(({ created }) => created),
    [false, true],
  )
  const other = having()
  resultOf(await chosen(proposeFileEdit, edits, other, [refuse(1), write(2, '')]))
  assert.equal([other.read('new.py')?.toString(), other.read('rates.py')?.toString()], ['', RATES])
  const none = having()
  resultOf(await chosen(proposeFileEdit, edits, none, [accept(1), refuse(2)]))
  assert.is(none.read('new.py'), undefined)
})

test('lines end as the file has them, in what is proposed and in what a person writes', async () => {
  const rig = having({ 'dos.txt': 'one\r\ntwo\r\nthree\r\n' })
  const edits = proposing(edit('one\n', 'ONE\nand\n', 'dos.txt'), edit('three', 'drei', 'dos.txt'))
  const result = resultOf(await chosen(proposeFileEdit, edits, rig, [accept(1), write(2, 'tre\nfire\n')]))
  assert.is(rig.read('dos.txt')?.toString(), 'ONE\r\nand\r\ntwo\r\ntre\r\nfire\r\n')
  assert.equal(result.notes, ['The line ends of new_str were written as CR LF, as dos.txt has them.'])
  assert.is((result.hunks as Fate[])[1]?.text, 'tre\nfire\n')
})

const BAD: readonly (readonly [string, readonly ProposedEdit[], string, string])[] = [
  [
    'is empty',
    [edit('1 / n', 'x'), edit('', 'x')],
    'invalid_args',
    'Hunk 2: old_str is empty, which makes a new file, and shop.py is there already.',
  ],
  ['changes nothing', [edit('1 / n', '1 / n')], 'invalid_args', 'Hunk 1: old_str and new_str are the same'],
  [
    'is not there',
    [edit('1 / n', 'x'), edit('return 1/n', 'x')],
    'no_unique_match',
    'Hunk 2: old_str does not occur in shop.py',
  ],
  [
    'is there twice',
    [edit('return', 'x')],
    'no_unique_match',
    'Hunk 1: old_str occurs 2 times in shop.py (lines 2, 6), where it has to occur once.',
  ],
  ['is of no file', [edit('a', 'b', 'none.py')], 'not_found', 'Hunk 1: There is no file none.py.'],
  ['is of what is no text', [edit('a', 'b', 'pixels.png')], 'not_text', 'Hunk 1: pixels.png is not text'],
  [
    'holds half a character',
    [edit('1 / n', '\ud800')],
    'invalid_args',
    'Hunk 1: new_str holds half of a character',
  ],
  [
    'cannot be spelt',
    [edit('caf', '€', 'latin.txt')],
    'not_text',
    'latin.txt cannot be given that text: the file is in Latin-1, which has no U+20AC',
  ],
  [
    'is given twice',
    [edit('1 / n', 'x'), edit('total', 'y'), edit('1 / n', 'z')],
    'invalid_args',
    'Hunks 1 and 3 of shop.py both replace the same text, at line 2. Nothing was changed.',
  ],
  [
    'overlaps',
    [edit('return 1 / n\n', 'x\n'), edit('1 / n\n\n', 'y\n')],
    'invalid_args',
    'Hunks 1 and 2 of shop.py overlap, at line 2: the old_str of one holds text of the other.',
  ],
  [
    'is inside another',
    [edit('1 / n', 'y'), edit('    return 1 / n\n', 'x\n')],
    'invalid_args',
    'Hunks 1 and 2 of shop.py overlap',
  ],
  [
    'shares a line',
    [edit('    return 1', 'x'), edit('/ n', 'y')],
    'invalid_args',
    'Hunks 1 and 2 of shop.py both touch line 2.',
  ],
  [
    'joins the line of another',
    [edit('\n\n\ndef', ' def'), edit('/ n', 'y')],
    'invalid_args',
    'Hunks 1 and 2 of shop.py both touch line 2.',
  ],
  [
    'makes a file twice',
    [edit('', 'x', 'new.py'), edit('', 'y', 'new.py')],
    'invalid_args',
    'Hunks 1 and 2 of new.py both make it.',
  ],
  [
    'takes back another',
    [
      edit('winter = 0.2\n', 'winter = 0.2\nsummer = 0.1\n', 'rates.py'),
      edit('summer = 0.1\n', '', 'rates.py'),
    ],
    'invalid_args',
    'Hunks 1 and 2 of rates.py together leave it as it is.',
  ],
]

for (const [how, edits, code, message] of BAD)
  test(`an edit that ${how} is refused, by its number, and nobody is asked`, async () => {
    const rig = having({
      'shop.py': SHOP,
      'rates.py': RATES,
      'pixels.png': Uint8Array.of(0, 1, 2),
      'latin.txt': Uint8Array.of(0x63, 0x61, 0x66, 0xe9, 0x0a),
    })
    const error = await refused(rig, ...edits)
    assert.is(error.code, code)
    assert.match(error.message, message)
  })

test('a text of a person that cannot be written is refused, by the number of its hunk', async () => {
  const latin = Buffer.from('caf\xe9\n1\n2\n3\n4\n5\n6\n7\n8\nend\n', 'latin1')
  const rig = having({ 'latin.txt': latin })
  const edits = proposing(edit('caf', 'Caf', 'latin.txt'), edit('end', 'fin', 'latin.txt'))
  const cases: readonly (readonly [Choice[], string])[] = [
    [
      [accept(1), write(2, '€\n')],
      'The edited text of hunk 2 (latin.txt) cannot be used: latin.txt cannot be given that text',
    ],
    [
      [write(1, '\ud800\n'), accept(2)],
      'The edited text of hunk 1 (latin.txt) cannot be used: the text holds half',
    ],
    [[refuse(1), write(2, 'end\n')], 'hunk 2 (latin.txt) cannot be used: it is what stands there already.'],
  ]
  for (const [choices, message] of cases) {
    assert.match(errorOf(await chosen(proposeFileEdit, edits, rig, choices)).message, message)
    assert.ok(rig.read('latin.txt')?.equals(latin))
  }
})

test('edit_file and write_file have hunks where they change several places, and none where they change one', async () => {
  const lines = Array.from({ length: 40 }, (_, index) => `${index}\n`)
  const text = lines.join('')
  const rig = having({ 'long.txt': text })
  const after = text.replace('3\n', 'three\n').replace('\n30\n', '\nthirty\n')
  const many = await proposalOf(writeFile, { path: 'long.txt', content: after }, rig)
  assert.equal(
    many.hunks?.all.map(({ number, line, before, after: put }) => [number, line, before, put]),
    [
      [1, 4, '3\n', 'three\n'],
      [2, 31, '30\n', 'thirty\n'],
    ],
  )
  const one = await proposalOf(editFile, { path: 'long.txt', old_str: '\n30\n', new_str: '\nx\n' }, rig)
  assert.is(one.hunks, undefined)
  const result = resultOf(
    await chosen(writeFile, { path: 'long.txt', content: after }, rig, [refuse(1, 'as it was'), accept(2)]),
  )
  assert.is(rig.read('long.txt')?.toString(), text.replace('\n30\n', '\nthirty\n'))
  assert.match(
    writeFile.show(result),
    'hunk 1 (long.txt:4) was refused: as it was\nhunk 2 (long.txt:31) was applied',
  )
})
