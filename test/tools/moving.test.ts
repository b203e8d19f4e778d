import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { join } from 'node:path'
import type { Tool } from '../../tools/define.ts'
import { deleteFile, moveFile } from '../../tools/move.ts'
import { undoChange } from '../../tools/undo.ts'
import { createFile } from '../../tools/write.ts'
import { type Folder, inFoldersOf } from '../support/folder-files.ts'
import { assert, suite } from '../support/harness.ts'
import { approved, hash, proposalOf, refusalOf } from '../support/project-files.ts'
import { errorOf, resultOf } from './context.ts'

const test = suite('moving and deleting files')

const inFolder = inFoldersOf(test)

const BINARY = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 255, 0])

const all = (rig: Folder) => readdirSync(rig.root, { recursive: true, encoding: 'utf8' }).sort()

const modeOf = (rig: Folder, path: string) => statSync(join(rig.root, path)).mode & 0o7777

async function done(tool: Tool, args: Readonly<Record<string, unknown>>, rig: Folder) {
  return resultOf(await approved(tool, args, rig))
}

const undone = (change: unknown, rig: Folder) => done(undoChange, { change }, rig)

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
      const made = await refusalOf(createFile, { path: destination, content: '' }, rig)
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

inFolder('what a person should know of a file is said before it is moved or deleted', async rig => {
  rig.write('src/f', 'a\n')
  linkSync(join(rig.root, 'src/f'), join(rig.root, 'src/twin'))
  chmodSync(join(rig.root, 'src/f'), 0o444)
  for (const [tool, args] of [
    [moveFile, { source: 'src/f', destination: 'src/g' }],
    [deleteFile, { path: 'src/f' }],
  ] as const) {
    const { body } = (await proposalOf(tool, args, rig)).preview
    assert.match(body, 'It has 2 names (hard links).')
    assert.match(body, 'It is read-only (mode 444).')
  }
  await done(moveFile, { source: 'src/f', destination: 'src/g' }, rig)
  assert.equal([modeOf(rig, 'src/g'), rig.read('src/twin')?.toString()], [0o444, 'a\n'])
})

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

inFolder('what is not there, or too large, is neither moved nor deleted', async rig => {
  rig.write('src/large', Buffer.alloc(8 * 1024 * 1024 + 1))
  for (const [path, code] of [
    ['src/none', 'not_found'],
    ['src/no/where', 'not_found'],
    ['src/large', 'too_large'],
  ]) {
    assert.is((await refusalOf(deleteFile, { path }, rig)).code, code)
    assert.is((await refusalOf(moveFile, { source: path, destination: 'src/new' }, rig)).code, code)
  }
  assert.ok(existsSync(join(rig.root, 'src/large')))
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
