import { execFileSync } from 'node:child_process'
import { linkSync, mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type Disk, NODE_DISK, type RawName } from '../../src/files/disk.ts'
import type { WalkedEntry } from '../../tools/contract.ts'
import { refusal, watchedDisk } from '../support/failing-disk.ts'
import { codeOf, FilesRig } from '../support/files-rig.ts'
import { assert, suite } from '../support/harness.ts'
import { listOrder, seen, walked, walkOrder } from '../support/walks.ts'

const test = suite('looks into folders, and into hostile ones')

let rig: FilesRig

test.before.each(() => {
  rig = new FilesRig()
})

test.after.each(() => rig.close())

const project = (files = rig.files) => files.of(rig.root)

const put = (...paths: string[]) => {
  for (const path of paths) rig.put(path, `text of ${path}\n`)
}

const list = async (path = '.', order: Parameters<typeof listOrder>[0] = {}) =>
  seen(await project().list(path, listOrder(order)))

const names = (entries: readonly { readonly name: string }[]) => entries.map(({ name }) => name)

test('a folder is listed in the order of its bytes, with kind, size and time', async () => {
  put('b.py', 'B.py', 'src/x', 'é', '.hidden')
  const { entries, total, next, cut, shown } = await list()
  assert.equal(names(entries), ['.hidden', 'B.py', 'b.py', 'src', 'é'])
  assert.equal([total, next, cut, shown], [5, null, null, '.'])
  const [, file, , folder] = entries
  assert.equal([file?.kind, file?.bytes, folder?.kind, folder?.bytes], ['file', 13, 'folder', null])
  assert.ok(Math.abs((file?.changedMs ?? 0) - Date.now()) < 600_000)
})

test('pages of a folder hold every name once, though names come and go between them', async () => {
  const all = Array.from({ length: 25 }, (_, index) => `f${String(index).padStart(2, '0')}`)
  put(...all)
  const found: string[] = []
  let after: string | undefined
  for (let page = 0; page < 4; page++) {
    const { entries, next, total } = await list('.', { limit: 7, after })
    assert.ok(entries.length <= 7)
    assert.ok(total !== null && total >= 25)
    found.push(...names(entries))
    if (next !== null) unlinkSync(rig.at(next))
    if (next !== null) put(`${next}-new`)
    after = next ?? undefined
    if (after === undefined) break
  }
  assert.is(after, undefined)
  assert.equal(
    found.filter(name => !name.endsWith('-new')),
    all,
  )
})

test('names with line ends, marks of direction and bytes that are no UTF-8 are shown as they are', async () => {
  put('two\nlines', 'to\u202eyp.exe', 'é')
  const raw = Buffer.concat([Buffer.from(`${rig.root}/`), Buffer.from([0x62, 0xff, 0xfe])])
  writeFileSync(raw, 'x')
  mkdirSync(Buffer.concat([raw, Buffer.from('folder')]))
  const { entries, walk } = await walked(project())
  assert.equal(names(entries), ['b\ufffd\ufffd', 'b\ufffd\ufffdfolder', 'to\u202eyp.exe', 'two\nlines', 'é'])
  assert.equal(
    entries.map(({ isNameable, kind }) => [isNameable, kind]),
    [
      [false, 'file'],
      [false, 'folder'],
      [true, 'file'],
      [true, 'file'],
      [true, 'file'],
    ],
  )
  assert.is(walk.left.unreadable, 1)
})

test('a walk goes in the order of paths, part by part, and on from any of them', async () => {
  put('a/b/c', 'a/b.py', 'a-b', 'a/c/d', 'b', 'a/z')
  const { paths } = await walked(project())
  assert.equal(paths, ['a/', 'a/b/', 'a/b/c', 'a/b.py', 'a/c/', 'a/c/d', 'a/z', 'a-b', 'b'])
  for (const [index, path] of paths.entries()) {
    const rest = await walked(project(), { after: path.replace(/\/$/, '') })
    assert.equal(rest.paths, paths.slice(index + 1), path)
  }
  assert.equal((await walked(project(), { after: 'a/bb/gone' })).paths, paths.slice(4))
  assert.equal((await walked(project(), { path: 'a', after: 'a/b/c' })).paths, paths.slice(3, 7))
  const outside = await project().walk('a', walkOrder({ after: 'b' }))
  assert.is(outside.type === 'failed' && outside.error.code, 'invalid_args')
})

test('where folders are not held by their descriptors, a walk shows the same', async () => {
  put('a/b/c', 'a/d', '.gitignore', 'e')
  const { paths } = await walked(project(rig.open({ throughProc: false })))
  assert.equal(paths, ['.gitignore', 'a/', 'a/b/', 'a/b/c', 'a/d', 'e'])
})

test('globs find names, count from where the walk begins, and leave out with all that is below', async () => {
  put('src/a.py', 'src/tests/b.py', 'src/c.ts', 'docs/d.py')
  const find = async (order: object) => (await walked(project(), order)).paths
  assert.equal(await find({ matching: ['*.py'] }), ['docs/d.py', 'src/a.py', 'src/tests/b.py'])
  assert.equal(await find({ matching: ['/tests/'], path: 'src' }), ['src/tests/', 'src/tests/b.py'])
  assert.equal(await find({ matching: ['*.py'], exclude: ['tests', 'docs/'] }), ['src/a.py'])
  const { walk } = await walked(project(), { exclude: ['tests', '*.py'] })
  assert.is(walk.left.excluded, 3)
  const one = await walked(project(), { path: 'src/a.py' })
  assert.equal(one.paths, ['src/a.py'])
})

test('a walk without time, and one that is cancelled, end with what they have', async () => {
  put('a', 'b', 'c')
  const late = await walked(project(), { ms: 0 })
  assert.equal([late.paths, late.walk.cut], [[], 'time'])
  const control = new AbortController()
  const { paths, walk } = await walked(project(), { signal: control.signal, on: () => control.abort() })
  assert.equal([paths, walk.cut], [['a'], 'cancelled'])
  const listed = await list('.', { ms: 0 })
  assert.equal([listed.cut, listed.next], ['time', null])
})

test('folders deeper than a walk goes are counted', async () => {
  const deep = Array.from({ length: 70 }, () => 'd').join('/')
  put(`${deep}/x`)
  const { paths, walk } = await walked(project())
  assert.equal([paths.length, walk.left.deep], [65, 1])
})

/** A folder of that many files, which only this disk has. */
function crowded(folder: string, count: number): Disk {
  const all: RawName[] = Array.from({ length: count }, (_, index) => ({
    // Out of order, as a disk has them.
    bytes: `f${String((index * 7_919) % count).padStart(6, '0')}`,
    kind: 'file',
  }))
  const isThere = (path: string) => /\/f\d{6}$/.test(path)
  return {
    ...NODE_DISK,
    names: path => {
      if (NODE_DISK.readlink(path) !== folder) return NODE_DISK.names(path)
      let at = 0
      return { next: () => all[at++], close: () => undefined }
    },
    lstat: path => {
      const stat = NODE_DISK.lstat(isThere(path) ? folder : path)
      return stat !== undefined && isThere(path) ? { ...stat, kind: 'file', id: path, size: 1 } : stat
    },
  }
}

test('a folder of 50,000 files is walked whole and in order, and others have their turn meanwhile', async () => {
  mkdirSync(rig.at('big'))
  const files = rig.open({ disk: crowded(rig.at('big'), 50_000), throughProc: true })
  let turns = 0
  let isDone = false
  const count = () => {
    turns++
    if (!isDone) setImmediate(count)
  }
  count()
  const { entries, walk } = await walked(project(files), { path: 'big' })
  isDone = true
  assert.equal([entries.length, walk.looked, walk.cut], [50_000, 50_000, null])
  assert.ok(entries.every(({ name }, index) => name === `f${String(index).padStart(6, '0')}`))
  assert.ok(turns > 2, `${turns} turns`)
})

test('a page of a folder of 50,000 files is the same wherever it begins', async () => {
  mkdirSync(rig.at('big'))
  const files = rig.open({ disk: crowded(rig.at('big'), 50_000), throughProc: true })
  const page = seen(await project(files).list('big', listOrder({ limit: 3, after: 'f031415' })))
  assert.equal(names(page.entries), ['f031416', 'f031417', 'f031418'])
  assert.equal([page.total, page.next], [50_000, 'f031418'])
  const last = seen(await project(files).list('big', listOrder({ limit: 3, after: 'f049996' })))
  assert.equal([names(last.entries), last.next], [['f049997', 'f049998', 'f049999'], null])
  const largest = seen(await project(files).list('big', listOrder({ by: 'size', limit: 2 })))
  assert.equal([names(largest.entries), largest.total], [['f000000', 'f000001'], 50_000])
})

test('info tells encoding, line ends and lines of a text, and why another file cannot be edited', async () => {
  rig.put('a.py', 'a\r\nb\r\n')
  rig.put('latin', Buffer.from([0x63, 0x61, 0x66, 0xe9]))
  rig.put('binary', Buffer.from([0, 1, 2]))
  put('src/x', 'src/y')
  const info = async (path: string) => seen(await project().info(path, listOrder()))
  const a = await info('a.py')
  assert.equal(
    [a.kind, a.bytes, a.mode, a.content, a.unchangeable],
    ['file', 6, 0o644, { encoding: 'utf-8', newline: '\r\n', lines: 2 }, null],
  )
  assert.equal((await info('latin')).content?.encoding, 'latin-1')
  const binary = await info('binary')
  assert.equal([binary.content, binary.unchangeable], [null, 'it is not text'])
  const folder = await info('src')
  assert.equal([folder.kind, folder.names, folder.bytes], ['folder', 2, null])
  const missing = await project().info('nothing', listOrder())
  assert.is(missing.type === 'failed' && missing.error.code, 'not_found')
  const roots = seen(await project(rig.open({ roots: [rig.outside] })).roots())
  assert.equal([roots.root, roots.further], [rig.root, [rig.outside]])
})

test('a folder that the user added is looked into under its whole path', async () => {
  mkdirSync(join(rig.outside, 'sub'))
  writeFileSync(join(rig.outside, 'sub/x.log'), '')
  writeFileSync(join(rig.outside, 'sub/y'), '')
  writeFileSync(join(rig.outside, '.gitignore'), '*.log')
  const files = rig.open({ roots: [rig.outside] })
  const { paths } = await walked(project(files), { path: join(rig.outside, 'sub') })
  assert.equal(paths, [join(rig.outside, 'sub/y')])
  const on = await walked(project(files), { path: rig.outside, after: join(rig.outside, 'sub') })
  assert.equal(on.paths, [join(rig.outside, 'sub/y')])
})

/** The real disk, acted on before any of its calls. */
const acting = (before: (name: keyof Disk, path: string) => void) =>
  rig.open({ disk: watchedDisk({ before: ({ name, args }) => before(name, String(args[0])) }).disk })

test('a folder outside of the project is refused in every look, however it is written (threat 22)', async () => {
  mkdirSync(`${rig.root}-sibling`)
  symlinkSync(rig.outside, rig.at('out'))
  const outside = ['..', '../outside', `${rig.root}-sibling`, '/', '/etc', 'out', 'out/..', '/proc/self/cwd']
  for (const path of [...outside, 'a\0b', '']) {
    const order = listOrder()
    const refusals = [
      await project().list(path, order),
      await project().walk(path, walkOrder()),
      await project().info(path, order),
    ]
    for (const each of refusals)
      assert.is(each.type === 'failed' && each.error.code, 'path_refused', JSON.stringify(path))
  }
})

test('links are shown with what they say, and never followed (threat 22)', async () => {
  writeFileSync(join(rig.outside, 'secret'), 'secret')
  put('src/a')
  symlinkSync(rig.outside, rig.at('outside'))
  symlinkSync(join(rig.outside, 'secret'), rig.at('file'))
  symlinkSync('..', rig.at('src/up'))
  symlinkSync('nowhere', rig.at('dangling'))
  const texts: string[] = []
  const { paths, entries } = await walked(project(), {
    on: entry => void texts.push(JSON.stringify(entry.read({ most: 1_000, holding: null }))),
  })
  assert.equal(paths, ['dangling', 'file', 'outside', 'src/', 'src/a', 'src/up'])
  assert.equal(
    entries.map(({ target }) => target),
    ['nowhere', join(rig.outside, 'secret'), rig.outside, null, null, '..'],
  )
  assert.not.match(texts.join(), 'secret')
})

test('a folder that is replaced by a link while it is walked is not entered (threat 21)', async () => {
  writeFileSync(join(rig.outside, 'secret'), 'secret')
  put('src/a', 'src/sub/b', 'z')
  const sub = rig.at('src/sub')
  const files = acting((name, path) => {
    if (name !== 'open' || path !== sub) return
    renameSync(sub, rig.at('moved'))
    symlinkSync(rig.outside, sub)
  })
  const { paths, walk } = await walked(project(files))
  assert.equal([paths, walk.left.vanished], [['src/', 'src/a', 'src/sub/', 'z'], 1])
})

test('pipes, sockets and devices are shown by their kind and never opened (threat 23)', async () => {
  put('a')
  execFileSync('mkfifo', [rig.at('pipe')])
  const server = createServer().listen(rig.at('socket'))
  await new Promise(resolve => server.once('listening', resolve))
  const opened: string[] = []
  const files = acting((name, path) => void (name === 'open' && opened.push(path)))
  const kinds: (readonly [string, string])[] = []
  const { paths } = await walked(project(files), {
    on: ({ name, kind, read }) => kinds.push([kind, `${name}: ${read({ most: 100, holding: null }).type}`]),
  })
  assert.equal(paths, ['a', 'pipe', 'socket'])
  assert.equal(kinds, [
    ['file', 'a: text'],
    ['pipe', 'pipe: binary'],
    ['socket', 'socket: binary'],
  ])
  const info = seen(await project(files).info('pipe', listOrder()))
  assert.equal([info.kind, info.content, info.bytes], ['pipe', null, null])
  assert.equal(
    opened.filter(path => /pipe$|socket$/.test(path)),
    [],
  )
  server.close()
})

test('what is Imago’s own is neither shown nor walked, under any of its names (threat 10)', async () => {
  put('private/token', 'a', 'imago.toml', 'sub/Imago.TOML')
  linkSync(rig.at('private/token'), rig.at('another'))
  const files = rig.open({ protected: [rig.at('private')], stateDir: rig.at('private') })
  const { paths, walk } = await walked(project(files), { ignored: true })
  assert.equal([paths, walk.left.own], [['a', 'sub/'], 4])
  const listed = seen(await project(files).list('.', listOrder({ ignored: true })))
  assert.equal([names(listed.entries), listed.left.own], [['a', 'sub'], 3])
  for (const path of ['private', 'imago.toml', 'another']) {
    const info = await project(files).info(path, listOrder())
    assert.is(info.type === 'failed' && codeOf(info), 'path_refused protected', path)
  }
})

test('what the policy keeps back is left out with all that is in it, and counted', async () => {
  put('a', 'keys/one', 'keys/two', 'src/b')
  const met: string[] = []
  put('src/imago.toml')
  const shows = {
    has: (path: string) => path !== rig.at('keys'),
    meets: (path: string) => void met.push(path),
  }
  const { paths, walk } = await walked(rig.files.of(rig.root, shows))
  assert.equal([paths, walk.left.withheld], [['a', 'src/', 'src/b'], 1])
  assert.equal(met, [rig.at('src')])
})

test('a folder that may not be opened is shown, counted and passed over', async () => {
  put('a/x', 'b/y', 'c')
  const files = acting((name, path) => {
    if (name === 'open' && path === rig.at('a')) throw refusal('EACCES')
  })
  const { paths, walk } = await walked(project(files))
  assert.equal([paths, walk.left.unreadable], [['a/', 'b/', 'b/y', 'c'], 1])
  const first = await project(files).walk('a', walkOrder())
  assert.is(first.type === 'failed' && codeOf(first), 'file_failed EACCES')
})

test('a file is read only if it is the one that was seen (threat 21)', async () => {
  writeFileSync(join(rig.outside, 'secret'), 'secret')
  put('a', 'b')
  const read: string[] = []
  const on = (entry: WalkedEntry) => {
    rmSync(rig.at(entry.name))
    if (entry.name === 'a') symlinkSync(join(rig.outside, 'secret'), rig.at('a'))
    else linkSync(join(rig.outside, 'secret'), rig.at('b'))
    read.push(entry.read({ most: 100, holding: null }).type)
  }
  await walked(project(), { on })
  assert.equal(read, ['vanished', 'vanished'])
})

test('no folder is held open when a look has ended, however it ended (fault 13)', async () => {
  put('a/b/c', 'd', 'e/f')
  const open = new Set<number>()
  const disk: Disk = {
    ...NODE_DISK,
    open(path, how) {
      const fd = NODE_DISK.open(path, how)
      open.add(fd)
      return fd
    },
    close(fd) {
      open.delete(fd)
      NODE_DISK.close(fd)
    },
  }
  const files = rig.open({ disk })
  await walked(project(files))
  await project(files).list('a', listOrder())
  await project(files).info('a', listOrder())
  const walk = seen(await project(files).walk('.', walkOrder()))
  for await (const entry of walk.entries()) if (entry.name === 'b') break
  assert.equal([...open], [])
})

test('every call of the disk may fail, and a look ends with a failure or what it has (fault 12)', async () => {
  put('.gitignore', 'a/b', 'c')
  let nth = 0
  let calls = 0
  do {
    nth++
    const before = () => {
      calls++
      if (calls === nth) throw refusal('EIO')
    }
    calls = Number.NEGATIVE_INFINITY
    const files = rig.open({ disk: watchedDisk({ before }).disk })
    await files.tidied
    calls = 0
    const walk = await project(files).walk('.', walkOrder())
    if (walk.type === 'failed') assert.is(codeOf(walk), 'file_failed EIO')
    else for await (const entry of walk.entries()) entry.read({ most: 100, holding: null })
  } while (calls >= nth)
  assert.ok(nth > 50, `${nth} calls`)
})
