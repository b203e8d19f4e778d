import { linkSync, mkdirSync, renameSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type DiskCall, watchedDisk } from '../support/failing-disk.ts'
import { FilesRig } from '../support/files-rig.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('many kept changes')

let rig: FilesRig
test.before.each(() => {
  rig = new FilesRig()
  rig.put('shop.py', 'price = 1\n')
})
test.after.each(() => rig.close())

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
