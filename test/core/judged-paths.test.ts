import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { NO_FILES } from '../../src/files/files.ts'
import { judgedPath, judgedPaths } from '../../src/policy/judged-paths.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('judged paths')

let folder = ''

let root = ''

test.before.each(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'imago-judged-')))
  root = join(folder, 'project')
  mkdirSync(join(root, 'secrets'), { recursive: true })
  writeFileSync(join(root, 'secrets/s.py'), 'x = 1')
})

test.after.each(() => rmSync(folder, { recursive: true, force: true }))

const anywhere = (path: string) => judgedPath({ path, confined: false, root, files: NO_FILES })

test('a path that may lead anywhere is judged by where it leads, inside of the project or not', () => {
  symlinkSync('secrets', join(root, 'public'))
  const real = join(root, 'secrets/s.py')
  for (const path of [
    'secrets/s.py',
    './secrets//s.py',
    'public/s.py',
    real,
    `${root}/public/../secrets/s.py`,
  ])
    assert.is(anywhere(path), real, path)
  assert.is(anywhere('../else/new.py'), join(folder, 'else/new.py'))
  assert.is(anywhere('secrets/new.py'), join(root, 'secrets/new.py'))
})

test('a way that each process sees otherwise, or that goes in a circle, is refused', () => {
  symlinkSync('round', join(root, 'round'))
  const refused = ['round/s.py', 'secrets/s.py/x']
  if (process.platform === 'linux') {
    symlinkSync('/proc/self/cwd', join(root, 'here'))
    refused.push(
      '/proc/self/cwd/secrets/s.py',
      'here/secrets/s.py',
      '/dev/fd/0',
      '/proc/self/root/etc/passwd',
    )
  }
  for (const path of refused) {
    const judged = anywhere(path)
    assert.is(typeof judged === 'string' ? judged : judged.error.code, 'path_refused', path)
  }
})

test('a confined path goes to the files of the project, which may refuse it', () => {
  const asked: unknown[] = []
  const files = { ...NO_FILES, realPath: (path: unknown) => `/real/${asked.push(path)}` }
  const paths = [
    { name: 'one', confined: true },
    { name: 'two', confined: false },
    { name: 'left_out', confined: false },
  ]
  const args = { one: 'a.py', two: 'secrets/s.py', other: 'b.py' }
  assert.equal(judgedPaths({ paths, args, root, files }), ['/real/1', join(root, 'secrets/s.py')])
  assert.equal(asked, [{ root, path: 'a.py' }])
  const refused = judgedPaths({ paths, args, root, files: NO_FILES })
  assert.is(Array.isArray(refused) ? '' : refused.error.code, 'path_refused')
})

test('the path of each object in a list is judged, whatever else stands in it', () => {
  const paths = [{ name: 'edits', confined: false, each: 'path' }]
  const judged = (edits: unknown) => judgedPaths({ paths, args: { edits }, root, files: NO_FILES })
  symlinkSync('secrets', join(root, 'public'))
  const edits = [{ path: 'a.py' }, { path: 'public/s.py' }, { path: 'a.py' }, { path: 7 }, null, 'b.py', {}]
  assert.equal(judged(edits), [join(root, 'a.py'), join(root, 'secrets/s.py')])
  assert.equal([judged('a.py'), judged(undefined), judged([])], [[], [], []])
  const confined = [{ name: 'edits', confined: true, each: 'path' }]
  const refused = judgedPaths({ paths: confined, args: { edits }, root, files: NO_FILES })
  assert.is(Array.isArray(refused) ? '' : refused.error.code, 'path_refused')
})
