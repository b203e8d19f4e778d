import { linkSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Disk, NODE_DISK, type Stat } from '../../src/files/disk.ts'
import { watchedDisk } from '../support/failing-disk.ts'
import { FilesRig } from '../support/files-rig.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('protected files')

let rig: FilesRig

test.before.each(() => {
  rig = new FilesRig()
  rig.put('shop.py', 'price = 1\n')
  rig.put('src/a.py', 'a = 1\n')
})

test.after.each(() => rig.close())

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
