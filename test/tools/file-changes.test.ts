import { spawnSync } from 'node:child_process'
import { chmodSync, linkSync, mkdirSync, readdirSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { Tool } from '../../tools/define.ts'
import { editFile } from '../../tools/edit.ts'
import { deleteFile, moveFile } from '../../tools/move.ts'
import { undoChange } from '../../tools/undo.ts'
import { insertAtLine, writeFile } from '../../tools/write.ts'
import { assert, suite } from '../support/harness.ts'
import { approved, hash, openProject, type Project, proposalOf, refusalOf } from '../support/project-files.ts'
import { errorOf, resultOf } from './context.ts'

const test = suite('making, moving and deleting files, on a real folder')

/** A test with a project of its own. */
const inFolder = (fact: string, body: (rig: Project) => Promise<void>) =>
  test(fact, () => body(openProject()))

const BINARY = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 255, 0])

const all = (rig: Project) => readdirSync(rig.root, { recursive: true, encoding: 'utf8' }).sort()

const modeOf = (rig: Project, path: string) => statSync(join(rig.root, path)).mode & 0o7777

async function done(tool: Tool, args: Readonly<Record<string, unknown>>, rig: Project) {
  return resultOf(await approved(tool, args, rig))
}

const undone = (change: unknown, rig: Project) => done(undoChange, { change }, rig)

for (const [what, bytes, word] of [
  ['a text', Buffer.from('a\r\nb'), '4 bytes of text'],
  ['what is no text', BINARY, '7 bytes that are no text'],
  ['an empty file', Buffer.alloc(0), '0 bytes of text'],
] as const)
  inFolder(`${what} is moved byte for byte, with its mode, into a new folder, and back`, async rig => {
    rig.write('src/f', bytes)
    chmodSync(join(rig.root, 'src/f'), 0o750)
    const args = { source: 'src/f', destination: 'lib/deep/g' }
    const { preview, changes } = await proposalOf(moveFile, args, rig)
    assert.is(preview.title, 'Move src/f to lib/deep/g')
    assert.match(preview.body, `Moves src/f to lib/deep/g, where nothing is: ${word}, sha256 ${hash(bytes)}.`)
    assert.match(preview.body, 'rename from src/f\nrename to lib/deep/g\n')
    assert.is(changes.length, 2)
    const { undo, ...rest } = await done(moveFile, args, rig)
    assert.equal(rest, {
      source: 'src/f',
      destination: 'lib/deep/g',
      bytes: bytes.length,
      sha256: hash(bytes),
      notes: ['The folders lib and lib/deep are made for it.'],
    })
    assert.equal([rig.read('lib/deep/g'), modeOf(rig, 'lib/deep/g')], [bytes, 0o750])
    assert.equal(all(rig), ['lib', 'lib/deep', 'lib/deep/g', 'src'])
    const back = await proposalOf(undoChange, { change: undo }, rig)
    assert.match(back.preview.body, `lib/deep/g moves back to src/f, where nothing is: ${word}`)
    assert.match(back.preview.body, 'Its folders lib/deep and lib go too')
    const again = await undone(undo, rig)
    assert.equal([rig.read('src/f'), modeOf(rig, 'src/f')], [bytes, 0o750])
    assert.equal(all(rig), ['src', 'src/f'])
    await undone(again.undo, rig)
    assert.equal(all(rig), ['lib', 'lib/deep', 'lib/deep/g', 'src'])
  })

inFolder('a move overwrites nothing, and says what is in its way', async rig => {
  rig.write('src/f', 'ours\n')
  rig.write('src/there', 'theirs\n')
  linkSync(join(rig.root, 'src/f'), join(rig.root, 'src/twin'))
  symlinkSync('nowhere', join(rig.root, 'src/link'))
  mkdirSync(join(rig.root, 'lib'))
  const move = (destination: string) => refusalOf(moveFile, { source: 'src/f', destination }, rig)
  assert.is((await move('src/there')).code, 'already_exists')
  assert.is((await move('src/link')).code, 'already_exists')
  assert.is((await move('src/f')).code, 'invalid_args')
  assert.match((await move('new/')).message, 'new/ ends with a slash, so that it names a folder')
  assert.is((await move('src/../src/f')).code, 'invalid_args')
  const twin = await move('src/twin')
  assert.match(twin.message, 'src/twin is another name of the same file as src/f.')
  const folder = await move('lib')
  assert.equal([folder.code, folder.details.reason], ['path_refused', 'not_a_regular_file'])
  assert.match(folder.message, 'Name a file in it.')
  const meanwhile = () => rig.write('src/new', 'theirs\n')
  const late = await approved(moveFile, { source: 'src/f', destination: 'src/new' }, rig, meanwhile)
  assert.is(errorOf(late).code, 'stale_plan')
  assert.equal([rig.read('src/f')?.toString(), rig.read('src/new')?.toString()], ['ours\n', 'theirs\n'])
})

inFolder('another case of the same name is refused, or made, and never loses the file', async rig => {
  rig.write('src/readme', 'ours\n')
  const { code, details, next } = await refusalOf(
    moveFile,
    { source: 'src/readme', destination: 'src/README' },
    rig,
  )
  assert.ok(code === 'already_exists' || details.reason === 'looks_like')
  assert.match(next ?? '', 'move the file to a third name')
  await done(moveFile, { source: 'src/readme', destination: 'src/third' }, rig)
  await done(moveFile, { source: 'src/third', destination: 'src/README' }, rig)
  assert.equal(all(rig), ['src', 'src/README'])
})

inFolder(
  'links, folders, pipes, what is outside and what is Imago’s own are neither moved nor deleted (threat 21)',
  async rig => {
    rig.write('src/real', 'a\n')
    rig.write('imago.toml', '')
    rig.write('../outside.txt', 'theirs\n')
    rig.write('../state/x', 'theirs\n')
    symlinkSync('real', join(rig.root, 'src/link'))
    symlinkSync('../..', join(rig.root, 'src/up'))
    spawnSync('mkfifo', [join(rig.root, 'src/pipe')])
    for (const path of [
      'src/link',
      'src',
      'src/pipe',
      'imago.toml',
      '../outside.txt',
      '../state/x',
      'src/up/outside.txt',
    ]) {
      const moved = await refusalOf(moveFile, { source: path, destination: 'src/new' }, rig)
      const deleted = await refusalOf(deleteFile, { path }, rig)
      assert.equal([path, moved.code, deleted.code], [path, 'path_refused', 'path_refused'])
    }
    for (const destination of [
      '../new',
      'src/up/new',
      'imago.toml',
      'src/deep/imago.toml',
      '../state/new',
      'src/a\u202eb',
      'src/.imago-0123456789abcdef.new',
    ]) {
      const { code } = await refusalOf(moveFile, { source: 'src/real', destination }, rig)
      assert.equal([destination, code], [destination, 'path_refused'])
      const made = await refusalOf(writeFile, { path: destination, content: '', new: true }, rig)
      assert.equal([destination, made.code], [destination, 'path_refused'])
    }
    assert.equal(rig.read('src/real')?.toString(), 'a\n')
    const link = await refusalOf(deleteFile, { path: 'src/link' }, rig)
    assert.match(link.message, 'src/link is a link to src/real, not a file.')
  },
)

inFolder(
  'through a folder that is a link, the real path is shown, judged and moved (threat 23)',
  async rig => {
    mkdirSync(join(rig.root, 'real'))
    rig.write('real/f', 'a\n')
    symlinkSync('../real', join(rig.root, 'src/way'))
    const { changes, preview } = await proposalOf(
      moveFile,
      { source: 'src/way/f', destination: 'src/way/g' },
      rig,
    )
    assert.equal(
      changes.map(({ shown }) => shown),
      ['real/g', 'real/f'],
    )
    assert.match(preview.body, 'It was reached through a link; the path here is where that leads.')
  },
)

inFolder('a text that is deleted is shown whole, and comes back with its mode', async rig => {
  rig.write('src/f', 'one\r\ntwo')
  chmodSync(join(rig.root, 'src/f'), 0o755)
  const { preview } = await proposalOf(deleteFile, { path: 'src/f' }, rig)
  assert.match(preview.body, `Takes src/f away: 2 lines, 8 bytes of text, sha256 ${hash('one\r\ntwo')}.`)
  assert.match(preview.body, '--- a/src/f\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\r\n-two\n\\ No newline')
  const result = await done(deleteFile, { path: 'src/f' }, rig)
  assert.equal(result, { path: 'src/f', bytes: 8, sha256: hash('one\r\ntwo'), undo: 'change-1' })
  assert.is(
    deleteFile.show(result),
    'deleted src/f, which had 8 bytes\nto have it back: undo_change change-1',
  )
  assert.equal(all(rig), ['src'])
  await undone('change-1', rig)
  assert.equal([rig.read('src/f')?.toString(), modeOf(rig, 'src/f')], ['one\r\ntwo', 0o755])
})

inFolder('what is no text is deleted and brought back by its size and hash (threat 15)', async rig => {
  rig.write('src/logo.png', BINARY)
  const said = `7 bytes that are no text, sha256 ${hash(BINARY)}`
  const { preview } = await proposalOf(deleteFile, { path: 'src/logo.png' }, rig)
  assert.is(preview.body, `Takes src/logo.png away: ${said}.\nWhat it holds is kept, to be brought back.`)
  const { undo } = await done(deleteFile, { path: 'src/logo.png' }, rig)
  const back = await proposalOf(undoChange, { change: undo }, rig)
  assert.match(back.preview.body, `src/logo.png is made again: it will hold ${said}.`)
  const result = await undone(undo, rig)
  assert.match(undoChange.show(result), 'src/logo.png made again: it has 7 bytes')
  assert.equal(rig.read('src/logo.png'), BINARY)
})

inFolder(
  'what has changed since is not taken back: a move, a deletion, a file at the old place (fault 28)',
  async rig => {
    rig.write('src/f', 'a\n')
    rig.write('src/d', 'a\n')
    const moved = await done(moveFile, { source: 'src/f', destination: 'src/g' }, rig)
    const deleted = await done(deleteFile, { path: 'src/d' }, rig)
    const back = (change: unknown) => refusalOf(undoChange, { change }, rig)
    rig.write('src/f', 'theirs\n')
    const taken = await back(moved.undo)
    assert.is(taken.code, 'stale_plan')
    assert.match(taken.message, /src\/f has moved on: change-1 left no file, and now it is sha256/)
    rmSync(join(rig.root, 'src/f'))
    rig.write('src/g', 'worked on\n')
    assert.match((await back(moved.undo)).message, 'src/g has moved on')
    rmSync(join(rig.root, 'src/g'))
    // What is left of it is taken back: then all is as it was.
    await undone(moved.undo, rig)
    assert.is(rig.read('src/f')?.toString(), 'a\n')
    rig.write('src/d', 'theirs\n')
    assert.match((await back(deleted.undo)).message, 'src/d has moved on: change-2 left no file')
    assert.is(rig.read('src/d')?.toString(), 'theirs\n')
  },
)

inFolder('a deleted file comes back though its folder has gone since', async rig => {
  mkdirSync(join(rig.root, 'lib/deep'), { recursive: true })
  rig.write('lib/deep/f', 'a\n')
  const { undo } = await done(deleteFile, { path: 'lib/deep/f' }, rig)
  rmSync(join(rig.root, 'lib'), { recursive: true })
  const { preview } = await proposalOf(undoChange, { change: undo }, rig)
  assert.match(preview.body, 'The folders lib and lib/deep are made for it.')
  const again = await undone(undo, rig)
  assert.is(rig.read('lib/deep/f')?.toString(), 'a\n')
  await undone(again.undo, rig)
  assert.equal(all(rig), ['src'])
})

inFolder('a new file is made as it was shown, and taken away again', async rig => {
  const args = { path: 'src/rate.py', content: 'RATE = 0.2\n', new: true }
  const { preview } = await proposalOf(writeFile, args, rig)
  assert.is(preview.title, 'Create src/rate.py')
  assert.match(preview.body, 'Makes the new file src/rate.py: 1 line added, 0 removed.')
  assert.match(preview.body, '--- /dev/null\n+++ b/src/rate.py\n@@ -0,0 +1,1 @@\n+RATE = 0.2\n')
  const result = await done(writeFile, args, rig)
  assert.equal([result.path, result.created, result.sha256], ['src/rate.py', true, hash(args.content)])
  assert.match(writeFile.show(result), /^created src\/rate\.py: .*\nto take it back: undo_change change-1$/)
  assert.is(rig.read('src/rate.py')?.toString(), args.content)
  await undone(result.undo, rig)
  assert.equal(all(rig), ['src'])
})

inFolder('the folders of a new file are made with it, go with it, and come again with it', async rig => {
  const args = { path: 'src/a/b/new.py', content: 'x\n', new: true }
  const { preview } = await proposalOf(writeFile, args, rig)
  assert.match(preview.body, 'The folders src/a and src/a/b are made for it.')
  const made = await done(writeFile, args, rig)
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
  const make = (path: string) => refusalOf(writeFile, { path, content: 'ours\n', new: true }, rig)
  const there = await make('src/there')
  assert.is(there.code, 'already_exists')
  assert.match(there.message, 'src/there is there already, a file of 7 bytes.')
  assert.match(there.next ?? '', /leave new out.*edit_file/)
  assert.match((await make('new/')).message, 'new/ ends with a slash, so that it names a folder')
  const folder = await make('src')
  assert.equal([folder.code, folder.details.reason], ['path_refused', 'not_a_regular_file'])
  const link = await make('src/link')
  assert.is(link.code, 'already_exists')
  assert.match(link.message, 'A link is there already, which leads to src/nowhere, where nothing is.')
  assert.is((await make('src/there/new')).details.reason, 'not_a_folder')
  assert.equal(all(rig), ['src', 'src/link', 'src/there'])
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

const latin = (text: string) => Buffer.from(text, 'latin1')

const wide = (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le')

const KINDS: readonly (readonly [
  what: string,
  before: Buffer,
  old_str: string,
  new_str: string,
  after: Buffer,
])[] = [
  ['CR LF', Buffer.from('a\r\nb\r\nc'), 'a\nb\n', 'x\n', Buffer.from('x\r\nc')],
  ['a byte order mark', Buffer.from('\ufeffa = 1\n'), 'a', 'é', Buffer.from('\ufeffé = 1\n')],
  ['UTF-16, little-endian', wide('a\r\nb\r\n'), 'a\nb', '😀\nb', wide('😀\r\nb\r\n')],
  ['UTF-16, big-endian', wide('a\nb\n').swap16(), 'a\nb', 'x', wide('x\n').swap16()],
  ['Latin-1', latin('caf\xe9 = 1\n'), 'é', 'e\u00fc', latin('cafe\xfc = 1\n')],
  ['no line end at the end', Buffer.from('a\nb'), 'b', 'c', Buffer.from('a\nc')],
  [
    'one line of 4 MiB',
    Buffer.from(`${'ab'.repeat(2 << 20)}!`),
    'b!',
    'b?',
    Buffer.from(`${'ab'.repeat(2 << 20)}?`),
  ],
  ['mixed line ends', Buffer.from('a\r\nb\nc\rd'), 'b\nc', 'B\nC', Buffer.from('a\r\nB\nC\rd')],
  ['CR alone', Buffer.from('a\rb\r'), 'a\nb', 'x\ny', Buffer.from('x\ry\r')],
]

for (const [what, before, old_str, new_str, after] of KINDS)
  inFolder(`a file with ${what} keeps what it is through an edit, and through taking it back`, async rig => {
    rig.write('src/f', before)
    chmodSync(join(rig.root, 'src/f'), 0o750)
    const { undo } = resultOf(await approved(editFile, { path: 'src/f', old_str, new_str }, rig))
    assert.equal(rig.read('src/f'), after)
    assert.is(statSync(join(rig.root, 'src/f')).mode & 0o777, 0o750)
    resultOf(await approved(undoChange, { change: undo }, rig))
    assert.equal(rig.read('src/f'), before)
    assert.is(statSync(join(rig.root, 'src/f')).mode & 0o777, 0o750)
  })

inFolder(
  'taking back shows what no diff can, and what is no text by its size and hash (threat 15)',
  async rig => {
    rig.write('src/f', 'a\n')
    const file = await rig.files.look('src/f')
    if (file.type === 'failed') throw new Error(file.error.message)
    const to = (after: Buffer) => {
      const change = { path: file.path, shown: file.shown, before: Buffer.from('a\n'), after }
      const undone = async () => ({ type: 'undone' as const, files: [file], changes: [change] })
      const files = { ...rig.files, undone }
      return undoChange.plan({ change: 'plan-a' }, { files, pathOf: path => path })
    }
    const marked = await to(Buffer.from('\ufeffa\n'))
    assert.match(
      marked.type === 'proposal' ? marked.preview.body : '',
      'it is utf-8 now, and will be utf-8-bom',
    )
    const binary = await to(Buffer.from([0, 255, 0]))
    const said = `it holds 2 bytes of text, sha256 ${hash('a\n')}, and will hold 3 bytes that are no text, sha256 `
    assert.match(
      binary.type === 'proposal' ? binary.preview.body : '',
      `src/f gets back its content: ${said}`,
    )
  },
)
