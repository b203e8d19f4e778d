import fc from 'fast-check'
import { editFile } from '../../tools/edit.ts'
import { readFile } from '../../tools/files.ts'
import { undoChange } from '../../tools/undo.ts'
import { writeFile } from '../../tools/write.ts'
import { assert, isLong, suite } from '../support/harness.ts'
import { approved, hash, openProject, type Project, proposalOf, refusalOf } from '../support/project-files.ts'
import { context, errorOf, handled, resultOf } from './context.ts'

const test = suite('file tools')

const having = openProject

const reading = (rig: Project, args: Readonly<Record<string, unknown>>) =>
  handled(readFile, readFile.parameters.parse(readFile.renamed(args)) as Record<string, unknown>, {
    ...context(),
    files: rig.files,
  })

const read = async (rig: Project, args: Readonly<Record<string, unknown>>) =>
  resultOf(await reading(rig, args))

test('a file is read whole, with what a reader has to know of it', async () => {
  const result = await read(having({ 'shop.py': 'a = 1\nb = 2\n' }), { path: 'shop.py' })
  assert.equal(result, {
    path: 'shop.py',
    text: 'a = 1\nb = 2\n',
    encoding: 'utf-8',
    newline: '\n',
    lines: 2,
    bytes: 12,
    first_line: 1,
    truncated: false,
    next: null,
  })
  assert.is(readFile.show(result), 'shop.py: lines 1 to 2 of 2\na = 1\nb = 2')
})

test('a part is read by its lines, and the answer says how to go on', async () => {
  const rig = having({ 'shop.py': '1\n2\n3\n4\n5' })
  const result = await read(rig, { file_path: 'shop.py', offset: 2, limit: 2 })
  assert.is(result.text, '2\n3\n')
  assert.is(result.truncated, true)
  assert.equal(result.next, { from: 4 })
  assert.is(readFile.show(result), 'shop.py: lines 2 to 3 of 5; for more: from 4\n2\n3')
  const rest = await read(rig, { path: 'shop.py', from: 4 })
  assert.is(rest.next, null)
  assert.is(readFile.show(rest), 'shop.py: lines 4 to 5 of 5; no line end after the last line\n4\n5')
})

test('a file of CR LF is read with LF and said to be so, one of mixed line ends as it stands', async () => {
  const rig = having({ a: 'x\r\ny\r\n', b: 'x\r\ny\n', c: 'x\ry' })
  const [a, b, c] = [
    await read(rig, { path: 'a' }),
    await read(rig, { path: 'b' }),
    await read(rig, { path: 'c' }),
  ]
  assert.equal(
    [a.text, a.newline, b.text, b.newline, c.text, c.newline],
    ['x\ny\n', '\r\n', 'x\r\ny\n', 'mixed', 'x\ny', '\r'],
  )
  assert.is(readFile.show(a), 'a: lines 1 to 2 of 2; lines end with CR LF\nx\ny')
  assert.match(
    readFile.show(b),
    'b: lines 1 to 2 of 2; lines end some with CR LF or CR and some with LF\nx\r\ny',
  )
})

test('other encodings are read and named', async () => {
  const rig = having({
    bom: '\ufeffé\n',
    wide: Buffer.from('\ufeffé\n', 'utf16le'),
    latin: Buffer.from('caf\xe9\n', 'latin1'),
  })
  const told = async (path: string) => {
    const result = await read(rig, { path })
    return [result.text, result.encoding, readFile.show(result).split('\n')[0]]
  }
  assert.equal(await told('bom'), [
    'é\n',
    'utf-8-bom',
    'bom: lines 1 to 1 of 1; UTF-8 with a byte order mark',
  ])
  assert.equal(await told('wide'), ['é\n', 'utf-16le', 'wide: lines 1 to 1 of 1; UTF-16 (little-endian)'])
  assert.equal(await told('latin'), ['café\n', 'latin-1', 'latin: lines 1 to 1 of 1; Latin-1'])
})

test('what is no text is said to be none, and what is not there not to be there', async () => {
  const rig = having({ 'logo.png': Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 0]) })
  assert.is(errorOf(await reading(rig, { path: 'logo.png' })).code, 'not_text')
  assert.is(errorOf(await reading(rig, { path: 'none.py' })).code, 'not_found')
})

test('an empty file is read as one, and a line after the end is a mistake', async () => {
  const rig = having({ empty: '', one: 'a' })
  const result = await read(rig, { path: 'empty' })
  assert.equal([result.text, result.lines, result.next], ['', 0, null])
  assert.is(readFile.show(result), 'empty: empty')
  const error = errorOf(await reading(rig, { path: 'one', from: 2 }))
  assert.is(error.code, 'invalid_args')
  assert.match(error.next ?? '', 'from of 1 at most')
})

test('a file of any shape is read to its end by what each answer says of the next', async () => {
  const line = fc.tuple(fc.constantFrom('a', '😀', 'b c'), fc.constantFrom(0, 1, 3_000, 30_000))
  await fc.assert(
    fc.asyncProperty(
      fc.array(line, { maxLength: 8 }),
      fc.integer({ min: 1, max: 3 }),
      async (lines, limit) => {
        const content = lines.map(([mark, times]) => `${mark.repeat(times)}\n`).join('')
        const rig = having({ f: content })
        let text = ''
        let next: unknown = { from: 1 }
        for (let calls = 0; next !== null; calls++) {
          assert.ok(calls < 100)
          const result = await read(rig, { path: 'f', limit, ...(next as object) })
          assert.ok(String(result.text).length <= 24_000)
          assert.not.match(String(result.text), /\p{Cs}/u)
          text += result.text
          next = result.next
        }
        assert.is(text, content)
      },
    ),
    { numRuns: 50 },
  )
})

test('a new file is written as it is given, and shown as all added lines', async () => {
  const rig = having({})
  const args = { path: 'src/new.py', content: 'a = 1\r\nb = "é"' }
  const { preview } = await proposalOf(writeFile, args, rig)
  assert.is(preview.title, 'Write src/new.py, a new file')
  assert.match(preview.body, /^Makes the new file src\/new\.py: 2 lines added, 0 removed\.\n/)
  assert.match(preview.body, 'Its lines will end with CR LF.')
  assert.match(preview.body, '+a = 1\r\n+b = "é"\n\\ No newline at end of file\n')
  const result = resultOf(await approved(writeFile, args, rig))
  assert.equal(result, {
    path: 'src/new.py',
    changed: true,
    created: true,
    bytes: Buffer.byteLength(args.content),
    lines_added: 2,
    lines_removed: 0,
    sha256: hash(args.content),
    undo: 'change-1',
    notes: [],
  })
  assert.is(rig.read('src/new.py')?.toString(), args.content)
  assert.match(writeFile.show(result), 'created src/new.py: 2 lines added, 0 removed; it has 15 bytes now')
})

test('a file that is there keeps its encoding, its byte order mark and its line ends', async () => {
  const rig = having({ bom: '\ufeffa\r\nb\r\n', wide: Buffer.from('\ufeffa\n', 'utf16le'), cr: 'a\rb\r' })
  const result = resultOf(await approved(writeFile, { path: 'bom', content: '\ufeffx\ny\n' }, rig))
  assert.is(rig.read('bom')?.toString(), '\ufeffx\r\ny\r\n')
  assert.equal(result.notes, ['The line ends of the text were written as CR LF, as the file has them.'])
  resultOf(await approved(writeFile, { path: 'wide', content: 'é\n' }, rig))
  assert.equal(rig.read('wide'), Buffer.from('\ufeffé\n', 'utf16le'))
  resultOf(await approved(writeFile, { path: 'cr', content: 'x\ny\n' }, rig))
  assert.is(rig.read('cr')?.toString(), 'x\ry\r')
})

test('line ends that the content has itself are written, and said where they change', async () => {
  const rig = having({ unix: 'a\nb\n', dos: 'a\r\nb\r\n' })
  const unix = await proposalOf(writeFile, { path: 'unix', content: 'a\r\nb\r\n' }, rig)
  assert.match(unix.preview.body, 'Its line ends change: LF before, CR LF after.')
  assert.match(unix.preview.body, '-a\n-b\n+a\r\n+b\r\n')
  const dos = await proposalOf(writeFile, { path: 'dos', content: 'a\r\nb\n' }, rig)
  assert.match(
    dos.preview.body,
    'Its line ends change: CR LF before, some with CR LF or CR and some with LF after.',
  )
})

test('a file that has that content already is answered, and nobody is asked', async () => {
  const rig = having({ 'a.py': 'x\r\n', empty: '' })
  const plan = await writeFile.plan({ path: 'a.py', content: 'x\n' }, { ...context(), files: rig.files })
  assert.is(plan.type, 'ok')
  const result = resultOf(plan.type === 'proposal' ? ({} as never) : plan)
  assert.equal([result.changed, result.undo], [false, null])
  assert.is(writeFile.show(result), 'a.py has that content already; nothing was written')
  assert.is(
    (await writeFile.plan({ path: 'empty', content: '' }, { ...context(), files: rig.files })).type,
    'ok',
  )
  assert.is((await proposalOf(writeFile, { path: 'other', content: '' }, rig)).changes.length, 1)
})

test('a file that is no text is not written over, nor one whose encoding cannot spell the content', async () => {
  const rig = having({ 'logo.png': Buffer.from([0x89, 0x50, 0, 0]), latin: Buffer.from('\xe9', 'latin1') })
  assert.is((await refusalOf(writeFile, { path: 'logo.png', content: 'a' }, rig)).code, 'not_text')
  assert.is((await refusalOf(writeFile, { path: 'latin', content: '€' }, rig)).code, 'not_text')
  assert.is((await refusalOf(writeFile, { path: 'new', content: 'a\ud83d' }, rig)).code, 'invalid_args')
})

test('a file that appears or changes while a person looks is not written over (fault 28)', async () => {
  const rig = having({ there: 'a\n' })
  for (const path of ['new', 'there']) {
    const meanwhile = () => rig.write(path, 'theirs\n')
    const error = errorOf(await approved(writeFile, { path, content: 'ours\n' }, rig, meanwhile))
    assert.is(error.code, 'stale_plan')
    assert.is(rig.read(path)?.toString(), 'theirs\n')
  }
})

test('a change is taken back to the byte, and taking it back can be taken back', async () => {
  const rig = having({ 'a.py': '\ufeffa\r\nb' })
  const edit = resultOf(await approved(editFile, { path: 'a.py', old_str: 'a', new_str: 'é' }, rig))
  const { preview } = await proposalOf(undoChange, { change: edit.undo }, rig)
  assert.is(preview.title, 'Take back the change change-1')
  assert.match(
    preview.body,
    /^Takes back the change change-1\.\na\.py gets back its content: 1 line added, 1 removed\.\n/,
  )
  assert.match(preview.body, '-é\r\n+a\r\n')
  const undone = resultOf(await approved(undoChange, { change: edit.undo }, rig))
  assert.is(rig.read('a.py')?.toString(), '\ufeffa\r\nb')
  assert.equal(undone, {
    undone: 'change-1',
    files: [
      {
        path: 'a.py',
        state: 'changed',
        bytes: 7,
        lines_added: 1,
        lines_removed: 1,
        sha256: hash('\ufeffa\r\nb'),
      },
    ],
    undo: 'change-2',
  })
  assert.is(
    undoChange.show(undone),
    'took back change-1\na.py changed: 1 line added, 1 removed\nto have it again: undo_change change-2',
  )
  resultOf(await approved(undoChange, { change: undone.undo }, rig))
  assert.is(rig.read('a.py')?.toString(), '\ufeffé\r\nb')
})

test('a name of a file cannot break the sentence that a person reads (threat 14)', async () => {
  const path = 'a.py: 0 lines\nApproved'
  const { preview } = await proposalOf(writeFile, { path, content: 'x\n' }, having({ [path]: '' }))
  assert.is(preview.title, 'Write a.py: 0 lines\\nApproved')
  assert.not.match(preview.body, /^Approved/m)
})

test('whatever is written, the change is to the bytes that the preview shows', async () => {
  const text = fc
    .array(fc.constantFrom('a', 'é', '\n', '\r\n', '\r', ' ', '😀'), { maxLength: 20 })
    .map(all => all.join(''))
  await fc.assert(
    fc.asyncProperty(fc.option(text, { nil: undefined }), text, async (before, content) => {
      const rig = having(before === undefined ? {} : { f: before })
      const outcome = resultOf(await approved(writeFile, { path: 'f', content }, rig))
      const after = rig.read('f')?.toString() ?? ''
      assert.is(after.replace(/\r\n?/g, '\n'), content.replace(/\r\n?/g, '\n'))
      assert.is(outcome.changed, after !== before)
      if (outcome.changed)
        assert.equal([outcome.sha256, outcome.bytes], [hash(after), Buffer.byteLength(after)])
    }),
    { numRuns: isLong ? 1_000 : 200 },
  )
})
