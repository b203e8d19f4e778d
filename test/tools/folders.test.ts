import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileInfoTools, folderRig } from '../support/folder-tools.ts'
import { assert, suite } from '../support/harness.ts'
import { errorOf, resultOf } from './context.ts'

const test = suite('folder tools')

const { rig, run, shown } = folderRig(test)
const { listDirectory, directoryTree, getFileInfo, getProjectRoot } = fileInfoTools
const AT = new Date('2026-11-20T09:12:30.000Z')

function put(path: string, text = 'x'): void {
  rig().put(path, text)
  utimesSync(rig().at(path), AT, AT)
}

test('a folder is listed with kinds, sizes and times, and what is left out is counted', async () => {
  put('.gitignore', '*.log\n')
  put('a.py', 'x'.repeat(1_234))
  put('b.log')
  mkdirSync(rig().at('src'))
  utimesSync(rig().at('src'), AT, AT)
  symlinkSync('a.py', rig().at('link'))
  const result = resultOf(await run(listDirectory, {}))
  const { entries, ...rest } = result
  const link = (entries as { name: string }[]).find(({ name }) => name === 'link')
  assert.equal(rest, {
    path: '.',
    total: 5,
    left_out: { ignored: 1 },
    truncated: false,
    next: null,
    notes: [],
  })
  assert.equal(
    (entries as { name: string }[]).filter(entry => entry !== link),
    [
      { name: '.gitignore', kind: 'file', bytes: 6, modified: AT.toISOString() },
      { name: 'a.py', kind: 'file', bytes: 1_234, modified: AT.toISOString() },
      { name: 'src', kind: 'folder', modified: AT.toISOString() },
    ],
  )
  const lines = listDirectory.show(result).split('\n')
  assert.is(lines[0], '.: 4 of 5 names; left out: 1 ignored (include_ignored shows them)')
  assert.ok(lines.includes('        1,234  2026-11-20 09:12  a.py'))
  assert.ok(lines.includes('            -  2026-11-20 09:12  src/'))
  assert.ok(lines.some(line => line.endsWith('  link -> a.py')))
})

test('a page says how the next one is asked for, and hidden and ignored names come when asked for', async () => {
  for (const name of ['.env', 'a', 'b', 'c']) put(name)
  put('.gitignore', 'b')
  const first = resultOf(await run(listDirectory, { limit: 2, show_hidden: false }))
  assert.equal([first.next, first.truncated, first.left_out], [null, false, { hidden: 2, ignored: 1 }])
  const page = resultOf(await run(listDirectory, { limit: 2, include_ignored: true }))
  assert.equal([page.next, page.truncated], [{ after: '.gitignore' }, true])
  assert.match(listDirectory.show(page), '2 of 5 names; for more: after ".gitignore"')
  const rest = resultOf(await run(listDirectory, { after: '.gitignore', include_ignored: true }))
  assert.match(listDirectory.show(rest), /a\n.* b \(ignored\)\n.* c$/)
})

test('the largest and the latest come first, and the answer says that there are more', async () => {
  put('a', 'xx')
  put('b', 'xxxx')
  put('c', 'x')
  const result = resultOf(await run(listDirectory, { sort_by: 'size', limit: 2 }))
  assert.equal(
    (result.entries as { name: string }[]).map(({ name }) => name),
    ['b', 'a'],
  )
  assert.equal([result.truncated, result.next], [true, null])
  assert.match(listDirectory.show(result), '.: 2 of 3 names; there are more')
})

test('names that would break a line or cannot be read are shown so that one stays one line', async () => {
  put('two\nlines')
  writeFileSync(Buffer.concat([Buffer.from(`${rig().root}/`), Buffer.from([0xff])]), '')
  const text = listDirectory.show(resultOf(await run(listDirectory, {})))
  assert.is(text.split('\n').length, 3)
  assert.match(text, 'two\\nlines')
  assert.match(text, '\ufffd (not UTF-8, cannot be named)')
})

test('a tree is drawn with sizes, near things first, and says what is not opened', async () => {
  put('a/b/c/d', 'x')
  put('a/z', 'x'.repeat(1_500))
  put('node_modules/big/index.js')
  put('.gitignore', 'node_modules/\n')
  const result = resultOf(await run(directoryTree, { depth: 2 }))
  assert.is(
    directoryTree.show(result),
    [
      '.: 4 entries; left out: 1 ignored (include_ignored shows them)',
      '├── .gitignore  14 B',
      '└── a/',
      '    ├── b/  …',
      '    └── z  1.5 kB',
    ].join('\n'),
  )
  assert.is(result.truncated, true)
  const whole = resultOf(await run(directoryTree, { path: 'a', depth: 9, exclude_patterns: ['/b/c'] }))
  assert.equal([whole.truncated, whole.left_out], [false, { excluded: 1 }])
})

test('a large folder does not take the place of all others in a tree', async () => {
  for (let index = 0; index < 200; index++) put(`big/f${String(index).padStart(3, '0')}`)
  put('small/x')
  const result = resultOf(await run(directoryTree, {}))
  const text = directoryTree.show(result)
  assert.match(text, '│   └── … 140 more\n└── small/\n    └── x  1 B')
  const few = resultOf(await run(directoryTree, { limit: 2 }))
  assert.match(directoryTree.show(few), '├── big/  … (not opened: limit)\n└── small/  … (not opened: limit)')
  assert.is(few.truncated, true)
})

test('a tree of links that lead round, out of the project, or to a pipe ends (threat 23)', async () => {
  put('a/x')
  symlinkSync('..', rig().at('a/up'))
  symlinkSync(rig().outside, rig().at('out'))
  execFileSync('mkfifo', [rig().at('pipe')])
  const text = directoryTree.show(resultOf(await run(directoryTree, { depth: 16 })))
  assert.is(
    text,
    [
      '.: 5 entries',
      '├── a/',
      '│   ├── up -> ..',
      '│   └── x  1 B',
      `├── out -> ${rig().outside}`,
      '└── pipe (pipe)',
    ].join('\n'),
  )
})

test('a folder that cannot be looked into is refused with what to do instead', async () => {
  put('a')
  const file = errorOf(await run(listDirectory, { path: 'a' }))
  assert.equal([file.code, file.details.reason], ['path_refused', 'not_a_folder'])
  assert.match(file.message, 'get_file_info')
  assert.is(errorOf(await run(directoryTree, { path: 'no/such' })).code, 'not_found')
  assert.is(errorOf(await run(listDirectory, { path: join(rig().outside) })).code, 'path_refused')
  const glob = errorOf(await run(directoryTree, { exclude_patterns: ['{a,b}'.repeat(9)] }))
  assert.equal([glob.code, glob.details.glob], ['invalid_args', '{a,b}'.repeat(9)])
})

test('a look without time says that it ended early, and what to do', async () => {
  for (const name of ['a', 'b']) put(`${name}/x`)
  const tree = resultOf(await run(directoryTree, {}, { lookMs: 0 }))
  assert.is(tree.truncated, true)
  assert.match(directoryTree.show(tree), 'ended early: the time for a look was over')
  const listed = resultOf(await run(listDirectory, {}, { lookMs: 0 }))
  assert.equal([listed.truncated, listed.total], [true, null])
})

test('one file is told about without its content', async () => {
  put('.gitignore', 'a.txt\n')
  rig().put('a.txt', Buffer.from('\ufeffgr\u00fc\u00dfe\n', 'utf16le'))
  utimesSync(rig().at('a.txt'), AT, AT)
  const result = resultOf(await run(getFileInfo, { path: 'a.txt' }))
  assert.is(
    getFileInfo.show(result),
    [
      'a.txt: file; 14 bytes; UTF-16 (little-endian); 1 line; lines end with LF; mode 644; changed 2026-11-20 09:12 UTC',
      'ignored: .gitignore:1: a.txt',
    ].join('\n'),
  )
  assert.equal([result.real_path, result.editable], [rig().at('a.txt'), true])
  rig().put('b', Buffer.from([0, 1]))
  assert.match(
    getFileInfo.show(resultOf(await run(getFileInfo, { path: 'b' }))),
    'not editable: it is not text',
  )
  symlinkSync('b', rig().at('link'))
  const link = resultOf(await run(getFileInfo, { path: 'link' }))
  assert.is(link.path, 'b')
  assert.match((link.notes as string[]).join(), 'reached through a link')
})

test('the root of the project is told, absolute and without links', async () => {
  const result = resultOf(await run(getProjectRoot, {}))
  assert.equal(result, { root: rig().root, further_roots: [] })
  assert.is(getProjectRoot.show(result), rig().root)
  assert.is(shown(getProjectRoot, { root: '/a', further_roots: ['/b'] }), '/a\nalso: /b')
})
