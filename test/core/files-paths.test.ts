import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  realpathSync,
  renameSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import type { Disk } from '../../src/files/disk.ts'
import { folded } from '../../src/files/roots.ts'
import { watchedDisk } from '../support/failing-disk.ts'
import { FilesRig } from '../support/files-rig.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('paths of files')

let rig: FilesRig

test.before.each(() => {
  rig = new FilesRig()
  rig.put('shop.py', 'price = 1\n')
  rig.put('src/a.py', 'a = 1\n')
  writeFileSync(join(rig.outside, 'secret'), 'secret')
})

test.after.each(() => rig.close())

test('a path counts from the project, and is shown from it, however it is written', async () => {
  for (const path of ['src/a.py', './src//a.py', 'src/../src/./a.py', rig.at('src/a.py'), 'src/a.py/']) {
    const seen = await rig.seen(path)
    assert.equal(
      [seen.path, seen.shown, seen.text, seen.remarks],
      [rig.at('src/a.py'), 'src/a.py', 'a = 1\n', []],
    )
  }
})

test('a path outside of the project is refused, however it is written (threat 22)', async () => {
  mkdirSync(`${rig.root}-sibling`)
  writeFileSync(join(`${rig.root}-sibling`, 'x'), 'x')
  const outside = [
    '..',
    '../outside/secret',
    'src/../../outside/secret',
    '../project-sibling/x',
    `${rig.root}-sibling/x`,
    `${rig.root}/../outside/secret`,
    '/etc/passwd',
    '/',
    join(rig.outside, 'new'),
    '/proc/self/root/etc/passwd',
    `/proc/self/root${rig.outside}/secret`,
    '/proc/self/fd/0',
    '/proc/self/fd/1',
    '/proc/thread-self/cwd/package.json',
    `/proc/${process.pid}/environ`,
  ]
  for (const path of outside) assert.is(await rig.refusalOf(path), 'path_refused outside_project', path)
})

test('a name that no file can have, or no new one, is refused (threat 22)', async () => {
  const names = ['', 'a\0b', '\0', 'a/\ud800', `${'x'.repeat(256)}`, 'é'.repeat(128), 'x/'.repeat(2_100)]
  const newNames = [
    'new\n',
    '\u001b[2J',
    'a\u202eb',
    'a\u200bb',
    '\ufeffa',
    'a.',
    'a ',
    ' a',
    'a\\b',
    '.imago-x',
    'a\ufffd',
  ]
  for (const path of [...names, ...newNames, 'none/../shop.py', 'none/x/../../shop.py'])
    assert.is(await rig.refusalOf(path), 'path_refused bad_name', JSON.stringify(path))
  const answer = await rig.files.of(rig.root).look('src/a\u202eb')
  assert.match(answer.type === 'failed' ? answer.error.message : '', /"src\/a\\u\{202e\}b" cannot be made/)
})

test('a new name that differs from one that is there only by case or spelling is refused (threat 22)', async () => {
  rig.put('café.py', '')
  rig.put('Straße.py', '')
  for (const path of [
    'SHOP.py',
    'Shop.PY',
    'ｓhop.py',
    'cafe\u0301.py',
    'CAFÉ.py',
    'strasse.py',
    'src/A.py',
    'SRC/a.py',
    'Src/new.py',
  ])
    assert.is(await rig.refusalOf(path), 'path_refused looks_like', path)
  assert.is(await rig.refusalOf('shop2.py'), 'seen')
})

test('links out of the project are refused, wherever on the way they are (threat 21)', async () => {
  symlinkSync(join(rig.outside, 'secret'), rig.at('final'))
  symlinkSync(rig.outside, rig.at('middle'))
  symlinkSync(join(rig.outside, 'none'), rig.at('dangling'))
  symlinkSync('../outside/none/deeper', rig.at('relative'))
  symlinkSync('middle', rig.at('twice'))
  symlinkSync('/proc/self/root', rig.at('root'))
  symlinkSync('/', rig.at('src/top'))
  const inside = [
    'final',
    'middle/secret',
    'middle/new',
    'dangling',
    'relative',
    'twice/secret',
    'root/etc/passwd',
  ]
  for (const path of [
    ...inside,
    'src/top/etc/passwd',
    `src/top${rig.outside}/new`,
    'middle/../outside/secret',
  ])
    assert.is(await rig.refusalOf(path), 'path_refused outside_project', path)
})

test('a link within the project leads to where it leads, and that is said', async () => {
  symlinkSync('src/a.py', rig.at('a'))
  symlinkSync('src/none.py', rig.at('none'))
  symlinkSync('loop', rig.at('loop'))
  const seen = await rig.seen('a')
  assert.equal([seen.shown, seen.path], ['src/a.py', rig.at('src/a.py')])
  assert.match(seen.remarks.join(), /through a link/)
  assert.equal([(await rig.seen('none')).shown, (await rig.seen('none')).exists], ['src/none.py', false])
  assert.is(await rig.refusalOf('loop'), 'path_refused link_loop')
  assert.is(await rig.refusalOf('loop/x'), 'path_refused link_loop')
  assert.is(await rig.refusalOf('shop.py/x'), 'path_refused not_a_folder')
  assert.is(await rig.refusalOf('none/x/y'), 'not_found')
})

test('a root that is replaced by a link later leads nowhere', async () => {
  await rig.seen('shop.py')
  renameSync(rig.root, `${rig.root}.old`)
  writeFileSync(join(rig.outside, 'shop.py'), 'not yours')
  symlinkSync(rig.outside, rig.root)
  for (const path of ['shop.py', 'secret', 'new.py'])
    assert.is(await rig.refusalOf(path), 'path_refused outside_project', path)
})

test('folders that the user configured are open too, and shown whole; a home and what it lies in are no project', async () => {
  const files = rig.open({ roots: [rig.outside, join(rig.top, 'none-yet')] })
  const seen = await rig.seen(join(rig.outside, 'secret'), files)
  assert.equal([seen.shown, seen.text], [join(rig.outside, 'secret'), 'secret'])
  assert.is(await rig.refusalOf(join(rig.top, 'none-yet/x'), files), 'path_refused outside_project')
  assert.is(await rig.refusalOf('shop.py', rig.open({ home: rig.root })), 'path_refused no_project')
  for (const home of [join(rig.root, 'u'), join(rig.root, 'none/yet'), rig.root.toUpperCase()])
    assert.is(await rig.refusalOf('shop.py', rig.open({ home })), 'path_refused no_project', home)
  assert.is((await rig.seen('shop.py', rig.open({ home: `${rig.root}-2` }))).shown, 'shop.py')
  const top = await files.of('/').look('etc/passwd')
  assert.is(top.type === 'failed' && top.error.details.reason, 'no_project')
})

test('pipes, sockets, devices and folders are refused at once, and are not opened (threat 23)', async () => {
  execFileSync('mkfifo', [rig.at('pipe')])
  const server = createServer().listen(rig.at('socket'))
  await new Promise(resolve => server.once('listening', resolve))
  rig.put('device', '')
  const { disk, calls } = watchedDisk()
  const device: Disk = {
    ...disk,
    lstat: path => {
      const stat = disk.lstat(path)
      return path === rig.at('device') && stat !== undefined ? { ...stat, kind: 'device' } : stat
    },
  }
  const files = rig.open({ disk: device })
  for (const path of ['pipe', 'socket', 'device', 'src', '.'])
    assert.is(await rig.refusalOf(path, files), 'path_refused not_a_regular_file', path)
  assert.equal(
    calls.filter(({ name }) => name === 'open'),
    [],
  )
  server.close()
})

test('a file that becomes a pipe while it is looked at does not hold anybody up (threat 23)', async () => {
  const { disk } = watchedDisk({
    before({ name, args }) {
      if (name !== 'open' || !String(args[0]).endsWith('/shop.py') || existsSync(rig.at('done'))) return
      writeFileSync(rig.at('done'), '')
      unlinkSync(rig.at('shop.py'))
      execFileSync('mkfifo', [rig.at('shop.py')])
    },
  })
  assert.is(await rig.refusalOf('shop.py', rig.open({ disk })), 'path_refused not_a_regular_file')
})

test('what a person should know of a file before it is changed is said (threat 23)', async () => {
  linkSync(rig.at('shop.py'), rig.at('again.py'))
  rig.put('read-only.py', '')
  chmodSync(rig.at('read-only.py'), 0o444)
  rig.put('a\u202eb.py', '')
  assert.match((await rig.seen('again.py')).remarks.join(), /2 names \(hard links\)/)
  assert.match((await rig.seen('read-only.py')).remarks.join(), /read-only \(mode 444\)/)
  assert.match((await rig.seen('a\u202eb.py')).remarks.join(), /cannot be seen/)
})

test('no path whatever leads out of the project, nor to a policy (threat 22)', () => {
  symlinkSync(rig.outside, rig.at('out'))
  symlinkSync('..', rig.at('up'))
  symlinkSync('src', rig.at('in'))
  symlinkSync('/proc/self/root', rig.at('src/top'))
  symlinkSync(`../../${'outside'}/none`, rig.at('src/dangling'))
  symlinkSync('loop', rig.at('loop'))
  const known = [
    '..',
    '.',
    '',
    'out',
    'up',
    'in',
    'src',
    'top',
    'dangling',
    'loop',
    'shop.py',
    'a.py',
    'secret',
    'none',
  ]
  const own = [
    'imago.toml',
    'IMAGO.TOML',
    'project',
    'outside',
    'state',
    'proc',
    'self',
    'root',
    'cwd',
    'fd',
    '~',
  ]
  const name = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...known, ...own) },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 8 }) },
  )
  const start = fc.constantFrom(
    '',
    '',
    '',
    '/',
    `${rig.root}/`,
    `${rig.root}`,
    `${rig.top}/`,
    '/proc/self/root/',
  )
  const paths = fc
    .tuple(start, fc.array(name, { maxLength: 8 }))
    .map(([first, names]) => first + names.join('/'))
  fc.assert(
    fc.property(paths, path => {
      const real = rig.files.realPath({ root: rig.root, path })
      if (typeof real !== 'string') return
      assert.ok(real === rig.root || real.startsWith(`${rig.root}/`), `${JSON.stringify(path)} → ${real}`)
      const there = deepestThere(real)
      assert.is(realpathSync.native(there), there)
      assert.not(real.split('/').map(folded).includes('imago.toml'))
      assert.equal(
        real.split('/').filter(each => each === '..' || each === '.'),
        [],
      )
    }),
    { numRuns: 3_000 },
  )
})

function deepestThere(path: string): string {
  return existsSync(path) ? path : deepestThere(dirname(path))
}
