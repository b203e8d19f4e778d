import { mkdirSync, readdirSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { Tool } from '../../tools/define.ts'
import { undoChange } from '../../tools/undo.ts'
import { createFile, insertAtLine } from '../../tools/write.ts'
import { type Folder, inFoldersOf } from '../support/folder-files.ts'
import { assert, suite } from '../support/harness.ts'
import { approved, hash, proposalOf, refusalOf } from '../support/project-files.ts'
import { errorOf, resultOf } from './context.ts'

const test = suite('making files and inserting lines')

const inFolder = inFoldersOf(test)

const BINARY = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 255, 0])

const all = (rig: Folder) => readdirSync(rig.root, { recursive: true, encoding: 'utf8' }).sort()

const _modeOf = (rig: Folder, path: string) => statSync(join(rig.root, path)).mode & 0o7777

async function done(tool: Tool, args: Readonly<Record<string, unknown>>, rig: Folder) {
  return resultOf(await approved(tool, args, rig))
}

const undone = (change: unknown, rig: Folder) => done(undoChange, { change }, rig)

inFolder('a new file is made as it was shown, and taken away again', async rig => {
  const args = { path: 'src/rate.py', content: 'RATE = 0.2\n' }
  const { preview } = await proposalOf(createFile, args, rig)
  assert.is(preview.title, 'Create src/rate.py')
  assert.match(preview.body, 'Makes the new file src/rate.py: 1 line added, 0 removed.')
  assert.match(preview.body, '--- /dev/null\n+++ b/src/rate.py\n@@ -0,0 +1,1 @@\n+RATE = 0.2\n')
  const result = await done(createFile, args, rig)
  assert.equal([result.path, result.created, result.sha256], ['src/rate.py', true, hash(args.content)])
  assert.match(createFile.show(result), /^created src\/rate\.py: .*\nto take it back: undo_change change-1$/)
  assert.is(rig.read('src/rate.py')?.toString(), args.content)
  await undone(result.undo, rig)
  assert.equal(all(rig), ['src'])
})

inFolder('the folders of a new file are made with it, go with it, and come again with it', async rig => {
  const args = { path: 'src/a/b/new.py', content: 'x\n' }
  const { preview } = await proposalOf(createFile, args, rig)
  assert.match(preview.body, 'The folders src/a and src/a/b are made for it.')
  const made = await done(createFile, args, rig)
  assert.equal(made.notes, ['The folders src/a and src/a/b are made for it.'])
  assert.equal(all(rig), ['src', 'src/a', 'src/a/b', 'src/a/b/new.py'])
  const back = await proposalOf(undoChange, { change: made.undo }, rig)
  assert.match(back.preview.body, 'Its folders src/a/b and src/a go too, as far as nothing else is in them.')
  const gone = await undone(made.undo, rig)
  assert.equal(all(rig), ['src'])
  const again = await proposalOf(undoChange, { change: gone.undo }, rig)
  assert.match(again.preview.body, 'The folders src/a and src/a/b are made for it.')
  const remade = await undone(gone.undo, rig)
  assert.equal(all(rig), ['src', 'src/a', 'src/a/b', 'src/a/b/new.py'])
  rig.write('src/a/other.py', '')
  await undone(remade.undo, rig)
  assert.equal(all(rig), ['src', 'src/a', 'src/a/other.py'])
})

inFolder('a file is not made where something is: a file, a folder, a link that leads nowhere', async rig => {
  rig.write('src/there', 'theirs\n')
  symlinkSync('nowhere', join(rig.root, 'src/link'))
  const make = (path: string) => refusalOf(createFile, { path, content: 'ours\n' }, rig)
  const there = await make('src/there')
  assert.is(there.code, 'already_exists')
  assert.match(there.message, 'src/there is there already, a file of 7 bytes.')
  assert.match(there.next ?? '', /write_file.*edit_file/)
  assert.match((await make('new/')).message, 'new/ ends with a slash, so that it names a folder')
  const folder = await make('src')
  assert.equal([folder.code, folder.details.reason], ['path_refused', 'not_a_regular_file'])
  const link = await make('src/link')
  assert.is(link.code, 'already_exists')
  assert.match(link.message, 'A link is there already, which leads to src/nowhere, where nothing is.')
  assert.is((await make('src/there/new')).details.reason, 'not_a_folder')
  assert.equal(all(rig), ['src', 'src/link', 'src/there'])
})

inFolder('a folder or a file that appears while a person looks is left alone (threat 18)', async rig => {
  const make = (path: string, act: () => void) => approved(createFile, { path, content: 'ours\n' }, rig, act)
  const folder = errorOf(await make('src/a/new', () => mkdirSync(join(rig.root, 'src/a'))))
  assert.is(folder.code, 'stale_plan')
  assert.match(folder.message, 'src/a/new has a folder by now that was to be made')
  assert.equal(all(rig), ['src', 'src/a'])
  assert.is(errorOf(await make('src/b/new', () => rig.write('src/b', 'theirs'))).code, 'stale_plan')
  assert.is(rig.read('src/b')?.toString(), 'theirs')
  const out = () => symlinkSync('../..', join(rig.root, 'src/c'))
  assert.is(errorOf(await make('src/c/new', out)).code, 'stale_plan')
})

const INSERTED: readonly (readonly [
  what: string,
  before: string,
  line: number,
  content: string,
  after: string,
])[] = [
  ['at the beginning', 'a\nb\n', 1, 'x\n', 'x\na\nb\n'],
  ['at line 0, which is the beginning too', 'a\nb\n', 0, 'x', 'x\na\nb\n'],
  ['in the middle', 'a\nb\n', 2, 'x\ny\n', 'a\nx\ny\nb\n'],
  ['at the end', 'a\nb\n', 3, 'x', 'a\nb\nx\n'],
  ['after a last line without an end', 'a\nb', 3, 'x\n', 'a\nb\nx\n'],
  ['before a last line without an end', 'a\nb', 2, 'x\n', 'a\nx\nb'],
  ['into an empty file', '', 1, 'x\n', 'x\n'],
  ['an empty line', 'a\nb\n', 2, '\n', 'a\n\nb\n'],
  ['into CR LF', 'a\r\nb\r\n', 2, 'x\ny', 'a\r\nx\r\ny\r\nb\r\n'],
  ['CR LF into CR LF', 'a\r\nb\r\n', 2, 'x\r\n', 'a\r\nx\r\nb\r\n'],
  ['CR LF into LF', 'a\nb\n', 2, 'x\r\ny\r\n', 'a\nx\ny\nb\n'],
  ['into CR', 'a\rb\r', 2, 'x\ny', 'a\rx\ry\rb\r'],
  ['after a last line without an end, in CR LF', 'a\r\nb', 3, 'x', 'a\r\nb\r\nx\r\n'],
  ['into mixed line ends', 'a\r\nb\nc\r', 3, 'x', 'a\r\nb\nx\nc\r'],
]

for (const [what, before, line, content, after] of INSERTED)
  inFolder(`lines are inserted ${what}, and taken out again`, async rig => {
    rig.write('src/f', before)
    const { undo } = await done(insertAtLine, { path: 'src/f', line, content }, rig)
    assert.is(rig.read('src/f')?.toString(), after)
    await undone(undo, rig)
    assert.is(rig.read('src/f')?.toString(), before)
  })

inFolder('what an insertion does besides is said, and it is shown as one part of the file', async rig => {
  rig.write('src/f', Buffer.from('\ufeffa\r\nb', 'utf16le'))
  const args = { path: 'src/f', line: 3, content: 'é\n' }
  const proposal = await proposalOf(insertAtLine, args, rig)
  assert.match(proposal.preview.body, 'Inserts 1 line at the end of src/f')
  assert.match(proposal.preview.body, 'The last line of the file had no line end, and has one now.')
  const result = await done(insertAtLine, args, rig)
  assert.equal(result.notes, [
    'The line ends of the text were written as CR LF.',
    'The last line of the file had no line end, and has one now.',
  ])
  assert.equal(rig.read('src/f'), Buffer.from('\ufeffa\r\nb\r\né\r\n', 'utf16le'))
})

inFolder('a line beyond the end is refused with how many there are, and so are other mistakes', async rig => {
  rig.write('src/f', 'one\ntwo\nthree\ntwo\n')
  rig.write('src/logo.png', BINARY)
  const insert = (more: object) =>
    refusalOf(insertAtLine, { path: 'src/f', line: 1, content: 'x\n', ...more }, rig)
  const beyond = await insert({ line: 6 })
  assert.equal([beyond.code, beyond.details.lines], ['invalid_args', 4])
  assert.match(beyond.message, 'src/f has 4 lines, so that nothing can be inserted at line 6.')
  assert.match(beyond.next ?? '', 'Give a line of 5 at most')
  const other = await insert({ line: 3, expected: 'two' })
  assert.equal([other.code, other.details], ['no_unique_match', { line: 3, text: 'three', lines: [2, 4] }])
  assert.match(other.message, 'Line 3 of src/f is not the one that was expected. It is line 2, 4.')
  assert.match((await insert({ expected: 'four' })).message, 'It is not in the file.')
  assert.is((await insert({ content: '' })).code, 'invalid_args')
  assert.match((await insert({ content: '\ud83d' })).message, 'half of a character')
  assert.is((await insert({ path: 'src/none' })).code, 'not_found')
  assert.is((await insert({ path: 'src/logo.png' })).code, 'not_text')
  await done(insertAtLine, { path: 'src/f', line: 3, content: 'x\n', expected: 'three\n' }, rig)
  await done(insertAtLine, { path: 'src/f', line: 6, content: 'y\n', expected: 'two' }, rig)
  assert.is(rig.read('src/f')?.toString(), 'one\ntwo\nx\nthree\ntwo\ny\n')
})
