import { execFileSync } from 'node:child_process'
import { linkSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type Disk, NODE_DISK } from '../../src/files/disk.ts'
import type { WalkedEntry } from '../../tools/contract.ts'
import { refusal, watchedDisk } from '../support/failing-disk.ts'
import { codeOf, FilesRig } from '../support/files-rig.ts'
import { assert, suite } from '../support/harness.ts'
import { listOrder, seen, walked, walkOrder } from '../support/walks.ts'

const test = suite('looks into hostile folders')

let rig: FilesRig

test.before.each(() => {
  rig = new FilesRig()
})

test.after.each(() => rig.close())

const project = (files = rig.files) => files.of(rig.root)

const put = (...paths: string[]) => {
  for (const path of paths) rig.put(path, `text of ${path}\n`)
}

const names = (entries: readonly { readonly name: string }[]) => entries.map(({ name }) => name)

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

test('files that vanish, or may not be read, end nothing', async () => {
  put('a', 'b', 'c')
  const files = acting((name, path) => {
    if (name === 'lstat' && path.endsWith('/b')) rmSync(rig.at('b'), { force: true })
    if (name === 'open' && path.endsWith('/c')) throw refusal('EACCES')
  })
  const read: string[] = []
  const on = (entry: WalkedEntry) => {
    if (entry.name === 'a') rmSync(rig.at('a'))
    read.push(`${entry.name} ${entry.read({ most: 100, holding: null }).type}`)
  }
  const { walk } = await walked(project(files), { on })
  assert.equal([read, walk.left.vanished], [['a vanished', 'c unreadable'], 1])
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
