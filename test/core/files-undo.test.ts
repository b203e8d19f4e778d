import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import type { Files } from '../../src/files/files.ts'
import type { Undone } from '../../tools/contract.ts'
import { cameTo, codeOf, FilesRig } from '../support/files-rig.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('undoing')

let rig: FilesRig

test.before.each(() => {
  rig = new FilesRig()
})

test.after.each(() => rig.close())

const undo = () => join(rig.state, 'undo')

async function back(change: string, files: Files = rig.files): Promise<Undone> {
  const undone = await files.of(rig.root).undone(change)
  if (undone.type === 'failed') throw new Error(undone.error.message)
  return undone
}

async function undoAs(name: string, change: string): Promise<string> {
  const { changes } = await back(change)
  return cameTo(await rig.files.commit({ change: name, changes }))
}

async function refusal(change: string, root = rig.root): Promise<string> {
  const undone = await rig.files.of(root).undone(change)
  return undone.type === 'failed' ? codeOf(undone) : 'undone'
}

test('an edit is undone byte for byte, and undoing it can be undone, by another daemon too', async () => {
  rig.put('a', 'old\r\n')
  await rig.write('a', 'new\r\n', 'plan-a')
  const { files, changes } = await back('plan-a', rig.open())
  assert.equal([files[0]?.shown, files[0]?.text], ['a', 'new\r\n'])
  assert.is(Buffer.from(changes[0]?.after ?? []).toString(), 'old\r\n')
  assert.is(await undoAs('plan-b', 'plan-a'), 'committed')
  assert.is(rig.text('a'), 'old\r\n')
  assert.is(await undoAs('plan-c', 'plan-b'), 'committed')
  assert.is(rig.text('a'), 'new\r\n')
})

test('a file that was made goes again, and comes back with its mode', async () => {
  await rig.write('a', 'made', 'plan-a')
  chmodSync(rig.at('a'), 0o751)
  assert.is(await undoAs('plan-b', 'plan-a'), 'committed')
  assert.is(existsSync(rig.at('a')), false)
  assert.is(await undoAs('plan-c', 'plan-b'), 'committed')
  assert.equal([rig.text('a'), statSync(rig.at('a')).mode & 0o777], ['made', 0o751])
})

test('a change is not undone where the file has moved on, and its name says what it is now (fault 28)', async () => {
  rig.put('a', 'old')
  await rig.write('a', 'new', 'plan-a')
  rig.put('a', 'later')
  const undone = await rig.files.of(rig.root).undone('plan-a')
  assert.is(undone.type === 'failed' && undone.error.code, 'stale_plan')
  assert.match(
    String(undone.type === 'failed' && undone.error.details.causes),
    /^a has moved on: plan-a left sha256 [0-9a-f]{12}…, and now it is sha256 [0-9a-f]{12}…$/,
  )
  rmSync(rig.at('a'))
  assert.is(await refusal('plan-a'), 'stale_plan')
  rig.put('a', 'old')
  assert.is(await refusal('plan-a'), 'stale_plan')
})

test('what moves between planning to undo and undoing is not lost (threat 18)', async () => {
  await rig.write('a', 'made', 'plan-a')
  const { changes } = await back('plan-a')
  rig.put('a', 'worked on')
  assert.is(cameTo(await rig.files.commit({ change: 'plan-b', changes })), 'stale_plan')
  assert.is(rig.text('a'), 'worked on')
})

test('of several files those that are still as left are undone, and those that are as before stay', async () => {
  rig.put('a', 'old')
  rig.put('b', 'old')
  const changes = [await rig.planned('a', 'new'), await rig.planned('b', 'new')]
  await rig.files.commit({ change: 'plan-a', changes })
  rig.put('b', 'old')
  assert.equal(
    (await back('plan-a')).changes.map(({ shown }) => shown),
    ['a'],
  )
})

test('a change that is not known, or of another project, is not undone', async () => {
  rig.put('a', 'old')
  await rig.write('a', 'new', 'plan-a')
  for (const name of ['plan-b', '', '../state/undo/plan-a', 'plan-a.json', 'x'.repeat(5_000), '\0'])
    assert.is(await refusal(name), 'not_found', name)
  const other = join(rig.top, 'other')
  mkdirSync(other)
  assert.is(await refusal('plan-a', other), 'path_refused outside_project')
})

test('a change may have any name, and is kept under a plain one', async () => {
  rig.put('a', 'old')
  await rig.write('a', 'new', '../../é/\n')
  assert.is(await undoAs('plan-b', '../../é/\n'), 'committed')
  assert.is(rig.text('a'), 'old')
  assert.equal(
    readdirSync(undo()).filter(name => !/^(named-[0-9a-f]{64}|plan-b)\.(json|0\.before)$/.test(name)),
    [],
  )
})

test('one name is used for one change only', async () => {
  rig.put('a', 'old')
  await rig.write('a', 'new', 'plan-a')
  const change = await rig.planned('a', 'newer')
  let thrown: unknown
  await rig.files.commit({ change: 'plan-a', changes: [change] }).catch((error: unknown) => {
    thrown = error
  })
  assert.match(String(thrown), /carried out before/)
  assert.is(rig.text('a'), 'new')
  assert.equal((await back('plan-a')).changes.length, 1)
})

test('a change that did not come about is not kept', async () => {
  rig.put('a', 'old')
  const change = await rig.planned('a', 'new')
  rig.put('a', 'theirs')
  await rig.files.commit({ change: 'plan-a', changes: [change] })
  assert.equal(existsSync(undo()) ? readdirSync(undo()) : [], [])
})

test('what is kept is bounded in bytes and in days, the oldest going first', async () => {
  const small = { undoBytes: 1_000, undoMs: 60_000, fileBytes: 1_000 }
  rig.close()
  rig = new FilesRig({ limits: small })
  const names = () => readdirSync(undo()).filter(name => name.endsWith('.json'))
  for (const [name, age] of [
    ['one', 50],
    ['two', 40],
    ['three', 30],
  ] as const) {
    rig.put('a', name.padEnd(250))
    await rig.write('a', 'x', name)
    const then = Date.now() / 1_000 - age
    for (const file of readdirSync(undo()).filter(each => each.startsWith(`${name}.`)))
      utimesSync(join(undo(), file), then, then)
  }
  assert.equal(names().sort(), ['three.json', 'two.json'])
  const later = rig.open({ limits: small, now: () => Date.now() + 25_000 })
  await later.commit({ change: 'four', changes: [await rig.planned('b', 'y')] })
  assert.equal(names().sort(), ['four.json', 'three.json'])
  assert.is(await refusal('one'), 'not_found')
  assert.is(await refusal('three'), 'undone')
})
