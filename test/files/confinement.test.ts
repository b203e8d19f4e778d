import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { type Disk, NODE_DISK, type Stat } from '../../src/files/disk.ts'
import { folded } from '../../src/files/roots.ts'
import { type DiskCall, watchedDisk } from '../support/failing-disk.ts'
import { FilesRig } from '../support/files-rig.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('paths that tools may touch')

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
  const hidden = ['new\n', '\u001b[2J', 'a\u202eb', 'a\u200bb', '\ufeffa', 'a\ufffd']
  const newNames = [...hidden, 'a.', 'a ', ' a', 'a\\b', '.imago-x']
  for (const path of [...names, ...newNames, 'none/../shop.py', 'none/x/../../shop.py'])
    assert.is(await rig.refusalOf(path), 'path_refused bad_name', JSON.stringify(path))
  const answer = await rig.files.of(rig.root).look('src/a\u202eb')
  assert.match(answer.type === 'failed' ? answer.error.message : '', /"src\/a\\u\{202e\}b" cannot be made/)
})

test('a new name that differs from one that is there only by case or spelling is refused (threat 22)', async () => {
  rig.put('café.py', '')
  rig.put('Straße.py', '')
  for (const path of 'SHOP.py Shop.PY ｓhop.py cafe\u0301.py CAFÉ.py strasse.py src/A.py SRC/a.py Src/new.py'.split(
    ' ',
  ))
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
  const short =
    'final middle/secret middle/new dangling relative twice/secret root/etc/passwd src/top/etc/passwd'
  for (const path of [...short.split(' '), `src/top${rig.outside}/new`, 'middle/../outside/secret'])
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
  const known = '.. .  out up in src top dangling loop shop.py a.py secret none'.split(' ')
  const own = 'imago.toml IMAGO.TOML project outside state proc self root cwd fd ~'.split(' ')
  const name = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...known, ...own) },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 8 }) },
  )
  const start = fc.constantFrom('', '', '/', `${rig.root}/`, rig.root, `${rig.top}/`, '/proc/self/root/')
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

test('nothing of Imago’s own is touched, there or not, by whatever name (threat 10)', async () => {
  const inProject = rig.at('.imago')
  const own = [rig.runtime, rig.state, rig.config, inProject]
  const files = rig.open({ protected: own, roots: [rig.top] })
  const names = ['', 'policy.toml', 'journal/000001.jsonl', 'undo/x.json', 'daemon.sock', 'no/such/folder/x']
  const spelled = (path: string) => [
    path,
    path.toUpperCase(),
    path.replace('config', 'CoNﬁg'),
    path.replace('.imago', '.Ｉmago'),
  ]
  const refused = async (path: string) =>
    assert.is(await rig.refusalOf(path, files), 'path_refused protected', path)
  const all = async () => {
    for (const folder of own)
      for (const name of names)
        for (const path of spelled(join(folder, name))) if (path.startsWith(rig.top)) await refused(path)
  }
  await all()
  for (const folder of own) mkdirSync(join(folder, 'journal'), { recursive: true })
  for (const folder of own) writeFileSync(join(folder, 'policy.toml'), 'x')
  await all()
})

test('links to Imago’s own are refused, hard ones and of folders too (threat 10)', async () => {
  mkdirSync(join(rig.config, 'sub'), { recursive: true })
  writeFileSync(join(rig.config, 'policy.toml'), 'x')
  writeFileSync(join(rig.config, 'sub/token'), 'x')
  symlinkSync(join(rig.config, 'policy.toml'), rig.at('soft'))
  symlinkSync(rig.config, rig.at('folder'))
  symlinkSync(join(rig.runtime, 'daemon.sock'), rig.at('not-yet'))
  linkSync(join(rig.config, 'policy.toml'), rig.at('hard'))
  linkSync(join(rig.config, 'sub/token'), rig.at('src/hard'))
  for (const path of ['soft', 'folder/policy.toml', 'folder/new', 'not-yet', 'hard', 'src/hard'])
    assert.is(await rig.refusalOf(path), 'path_refused protected', path)
})

test('a folder of Imago’s own under another name, as a bind mount gives it, is refused (threat 10)', async () => {
  mkdirSync(rig.config)
  mkdirSync(rig.at('mounted'))
  const id = NODE_DISK.lstat(rig.config)?.id ?? ''
  const { disk } = watchedDisk()
  const mounted: Disk = {
    ...disk,
    lstat: path => (path === rig.at('mounted') ? withId(disk.lstat(path), id) : disk.lstat(path)),
  }
  const files = rig.open({ disk: mounted })
  assert.is(await rig.refusalOf('mounted/policy.toml', files), 'path_refused protected')
  assert.is(await rig.refusalOf('shop.py', files), 'seen')
})

const withId = (stat: Stat | undefined, id: string) => (stat === undefined ? undefined : { ...stat, id })

test('every imago.toml is refused, before it is there too, in any spelling (threat 10)', async () => {
  const spellings = [
    'imago.toml',
    'IMAGO.TOML',
    'Imago.toml',
    'ｉmago.toml',
    'imago.toml.',
    'imago.toml ',
    'ima\u200bgo.toml',
    'imago．toml',
    'İmago.toml',
    'ımago.toml',
  ]
  for (const name of spellings)
    for (const path of [name, `src/${name}`, `none/${name}`, rig.at(name), `${name}/x`])
      assert.is(await rig.refusalOf(path), 'path_refused protected', JSON.stringify(path))
  rig.put('src/imago.toml', '')
  symlinkSync('src/imago.toml', rig.at('soft'))
  assert.is(await rig.refusalOf('src/imago.toml'), 'path_refused protected')
  assert.is(await rig.refusalOf('soft'), 'path_refused protected')
})

test('a file that became another name of the policy after it was planned has moved, and the policy stays (threat 10)', async () => {
  mkdirSync(rig.config)
  const seen = await rig.files.of(rig.root).look('shop.py')
  if (seen.type === 'failed') throw new Error(seen.error.message)
  const change = await rig.planned('shop.py', 'price = 2\n')
  linkSync(rig.at('shop.py'), join(rig.config, 'policy.toml'))
  assert.match(
    String(await seen.evidence.moved()),
    'is not for tools: it is another name of something of Imago’s own',
  )
  await rig.files.commit({ change: 'plan-a', changes: [change] })
  assert.is(readFileSync(join(rig.config, 'policy.toml'), 'utf8'), 'price = 1\n')
})

/** What was there before so many changes, as `undo/` holds it. */
function keep(count: number, from = 0): void {
  const dir = join(rig.state, 'undo')
  mkdirSync(dir, { recursive: true })
  for (let number = from; number < from + count; number++) {
    writeFileSync(join(dir, `plan-${number}.json`), '{}\n')
    writeFileSync(join(dir, `plan-${number}.0.before`), 'old\n')
  }
  changedAt(dir, from + count)
}

/** Two changes of a folder within one tick of its clock would show the same time. */
const changedAt = (folder: string, second: number) => utimesSync(folder, second, second)

/** Files for which all that was written so far was written a minute ago, and the calls of the disk since asked last. */
function watched() {
  const { disk, calls } = watchedDisk()
  const files = rig.open({ disk, now: () => Date.now() + 60_000 })
  const taken = (): DiskCall[] => calls.splice(0)
  return { files, taken }
}

test('a look at a file asks the disk no more with thousands of kept changes than with one', async () => {
  for (const folder of ['journal', 'policy-accepted']) mkdirSync(join(rig.state, folder))
  keep(1)
  const { files, taken } = watched()
  const look = async () => {
    await rig.planned('shop.py', 'price = 2\n', files)
    return taken().map(({ name }) => name)
  }
  await look()
  const few = await look()
  keep(2_000, 1)
  assert.equal(await look(), few)
  assert.not(few.includes('readdir'), 'what has not changed is not looked into')
})

test('a file of several names is compared with what is kept, of which each is looked at once (threat 10)', async () => {
  const keptCalls = (calls: readonly DiskCall[]) =>
    calls.filter(({ name, args }) => name === 'lstat' && String(args[0]).includes('/undo/')).length
  keep(500)
  linkSync(rig.at('shop.py'), rig.at('other.py'))
  linkSync(join(rig.state, 'undo/plan-7.0.before'), rig.at('stolen.py'))
  const { files, taken } = watched()
  assert.is(await rig.refusalOf('shop.py', files), 'seen')
  assert.is(keptCalls(taken()), 1_000)
  assert.is(await rig.refusalOf('shop.py', files), 'seen')
  assert.is(await rig.refusalOf('stolen.py', files), 'path_refused protected')
  assert.is(keptCalls(taken()), 0)
  keep(1, 500)
  linkSync(join(rig.state, 'undo/plan-500.0.before'), rig.at('stolen too.py'))
  assert.is(await rig.refusalOf('stolen too.py', files), 'path_refused protected')
  assert.is(keptCalls(taken()), 2)
})

test('what Imago has just made is known at once by its other names, however soon after a look (threat 10)', async () => {
  mkdirSync(rig.config)
  for (let number = 0; number < 50; number++) {
    const [fresh, policy] = [join(rig.config, 'fresh'), join(rig.config, 'policy.toml')]
    assert.is(await rig.refusalOf('shop.py'), 'seen')
    writeFileSync(fresh, 'x')
    renameSync(fresh, policy)
    linkSync(policy, rig.at(`hard-${number}`))
    mkdirSync(join(rig.state, `made-${number}`))
    writeFileSync(join(rig.state, `made-${number}`, 'token'), 'x')
    linkSync(join(rig.state, `made-${number}`, 'token'), rig.at(`token-${number}`))
    assert.is(await rig.refusalOf(`hard-${number}`), 'path_refused protected')
    assert.is(await rig.refusalOf(`token-${number}`), 'path_refused protected')
  }
})

test('what replaced something of Imago’s own long ago is known by its other names (threat 10)', async () => {
  mkdirSync(rig.config)
  writeFileSync(join(rig.config, 'policy.toml'), 'old')
  changedAt(rig.config, 1)
  const { files } = watched()
  assert.is(await rig.refusalOf('shop.py', files), 'seen')
  writeFileSync(join(rig.config, 'fresh'), 'new')
  renameSync(join(rig.config, 'fresh'), join(rig.config, 'policy.toml'))
  linkSync(join(rig.config, 'policy.toml'), rig.at('hard'))
  assert.is(await rig.refusalOf('hard', files), 'path_refused protected')
})
