import { spawnSync } from 'node:child_process'
import { chmodSync, linkSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FileChange } from '../../tools/contract.ts'
import type { Tool } from '../../tools/define.ts'
import { editFile } from '../../tools/edit.ts'
import { readFile } from '../../tools/files.ts'
import { undoChange } from '../../tools/undo.ts'
import { writeFile } from '../../tools/write.ts'
import { inFoldersOf } from '../support/folder-files.ts'
import { assert, suite } from '../support/harness.ts'
import { approved, hash, proposalOf, refusalOf } from '../support/project-files.ts'
import { context, errorOf, resultOf } from './context.ts'

const test = suite('file tools on a real folder')

const inFolder = inFoldersOf(test)

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

inFolder('an empty file is filled, emptied and taken back', async rig => {
  rig.write('src/f', '')
  resultOf(await approved(writeFile, { path: 'src/f', content: 'a\n' }, rig))
  const { undo } = resultOf(await approved(writeFile, { path: 'src/f', content: '' }, rig))
  assert.is(rig.read('src/f')?.length, 0)
  resultOf(await approved(undoChange, { change: undo }, rig))
  assert.is(rig.read('src/f')?.toString(), 'a\n')
})

inFolder('a new file is made, taken away, and made again', async rig => {
  const made = resultOf(await approved(writeFile, { path: 'src/new.py', content: 'a\n' }, rig))
  assert.is(made.created, true)
  const gone = resultOf(await approved(undoChange, { change: made.undo }, rig))
  assert.is(rig.read('src/new.py'), undefined)
  assert.match(undoChange.show(gone), 'src/new.py gone')
  resultOf(await approved(undoChange, { change: gone.undo }, rig))
  assert.is(rig.read('src/new.py')?.toString(), 'a\n')
})

inFolder('a file that appears or changes while a person looks is left alone (fault 28)', async rig => {
  rig.write('src/there', 'a\n')
  const calls: readonly (readonly [Tool, Readonly<Record<string, unknown>>])[] = [
    [writeFile, { path: 'src/new', content: 'ours\n' }],
    [writeFile, { path: 'src/there', content: 'ours\n' }],
    [editFile, { path: 'src/there', old_str: 'theirs', new_str: 'ours' }],
  ]
  for (const [tool, args] of calls) {
    const theirs = `theirs ${String(args.content)}\n`
    const error = errorOf(await approved(tool, args, rig, () => rig.write(String(args.path), theirs)))
    assert.is(error.code, 'stale_plan')
    assert.is(rig.read(String(args.path))?.toString(), theirs)
  }
})

inFolder('evidence says that a file has moved on, and how', async rig => {
  rig.write('src/f', 'a\n')
  const { evidence } = await proposalOf(editFile, { path: 'src/f', old_str: 'a', new_str: 'b' }, rig)
  const moved = () => Promise.all(evidence.map(one => one.moved()))
  assert.equal(await moved(), [undefined])
  rig.write('src/f', 'c\n')
  const [cause] = await moved()
  assert.match(cause ?? '', /^src\/f /)
})

inFolder('the difference that was approved, applied by git, gives the file that was written', async rig => {
  const before = 'one\r\ntwo\r\nthree\r\n'
  rig.write('src/f', before)
  const args = { path: 'src/f', old_str: 'two', new_str: 'zwei\nfast drei' }
  const { preview } = await proposalOf(editFile, args, rig)
  const copy = join(rig.root, 'copy')
  mkdirSync(join(copy, 'src'), { recursive: true })
  writeFileSync(join(copy, 'src/f'), before)
  const input = preview.body.slice(preview.body.indexOf('diff --git'))
  const { status, stderr } = spawnSync('git', ['apply', '-'], { cwd: copy, input, encoding: 'utf8' })
  assert.is(status, 0, stderr)
  resultOf(await approved(editFile, args, rig))
  assert.equal(rig.read('copy/src/f'), rig.read('src/f'))
})

inFolder(
  'what a path leads through and what else names the file is said to whoever approves (threat 23)',
  async rig => {
    rig.write('src/real', 'a\n')
    linkSync(join(rig.root, 'src/real'), join(rig.root, 'src/twin'))
    symlinkSync('real', join(rig.root, 'src/link'))
    const { preview, changes } = await proposalOf(
      editFile,
      { path: 'src/link', old_str: 'a', new_str: 'b' },
      rig,
    )
    assert.is(changes[0]?.shown, 'src/real')
    assert.match(preview.title, 'src/real')
    assert.match(preview.body, '2 names (hard links)')
    assert.match(preview.body, /link/)
  },
)

inFolder('no tool looks out of the project, at its policy, or at what is no file (threat 22)', async rig => {
  mkdirSync(join(rig.root, 'src/folder'))
  symlinkSync('/etc', join(rig.root, 'src/out'))
  for (const path of [
    '../state/x',
    '/etc/passwd',
    'src/out/passwd',
    'src/folder',
    'imago.toml',
    'src/IMAGO.toml',
  ]) {
    const read = await readFile.handler(readFile.parameters.parse({ path }) as never, {
      ...context(),
      files: rig.files,
    })
    assert.is(errorOf(read).code, 'path_refused', path)
    assert.is((await refusalOf(writeFile, { path, content: 'x' }, rig)).code, 'path_refused', path)
  }
  assert.is((await refusalOf(writeFile, { path: 'none/new', content: 'x' }, rig)).code, 'not_found')
})

inFolder(
  'a change to several files cannot be made by a tool, and none is made that was not approved',
  async rig => {
    rig.write('src/f', 'a\n')
    const { changes } = await proposalOf(editFile, { path: 'src/f', old_str: 'a', new_str: 'b' }, rig)
    const forged: FileChange = {
      path: join(rig.root, 'src/g'),
      shown: 'src/g',
      before: null,
      after: Buffer.from('x'),
    }
    const committed = await rig.commit([...changes, forged]).catch(error => error)
    assert.not.equal(committed.type, 'committed')
    assert.is(rig.read('src/g'), undefined)
    assert.is(rig.read('src/f')?.toString(), 'a\n')
  },
)

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
