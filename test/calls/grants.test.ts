import { mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type OpenFiles, openFiles } from '../../src/files/files.ts'
import { errorOf, type RigOptions, resultOf, rigsOf } from '../support/calls-rig.ts'
import { fileRigsOf } from '../support/file-rigs.ts'
import { assert, suite } from '../support/harness.ts'
import { invariantsOf, ofCalls, typesOf } from '../support/history.ts'
import type { ScriptedSeat } from '../support/seat.ts'

const test = suite('grants over real files')

const open = rigsOf(test)

const memory = fileRigsOf(test)

/** A project with `src` and `lib`, in which a person has granted `write_file` on `src/**`, and refuses all else. */
async function granted(options: RigOptions = {}) {
  const rig = open({
    projectFiles: root => openFiles({ protected: [], stateDir: join(root, '..', 'kept') }),
    ...options,
  })
  for (const folder of ['src', 'lib', '../kept']) mkdirSync(join(rig.root, folder))
  for (const file of ['src/shop.py', 'lib/other.py']) writeFileSync(join(rig.root, file), 'old\n')
  let replies = 0
  const person = rig.seat(() => (replies++ === 0 ? { grant: 'src/**' } : 'deny'))
  const write = (path: string, content = `${replies}\n`) => rig.run('write_file', { path, content })
  resultOf(await write('src/shop.py', 'new\n'))
  return { ...rig, person, write, asked: () => person.plans.length, read: readIn(rig.root) }
}

const linesOf = (text: string, bytes: number) => `${text.repeat(79)}\n`.repeat(bytes / 80)

/** A project whose files are kept for undoing in so many bytes. */
function roomy(undoBytes: number, now = Date.now) {
  const opened: { files?: OpenFiles } = {}
  const rig = open({
    projectFiles: root => {
      mkdirSync(join(root, '../kept'))
      opened.files = openFiles({
        protected: [],
        stateDir: join(root, '../kept'),
        limits: { undoBytes },
        now,
      })
      return opened.files
    },
    roomToUndo: bytes => opened.files?.roomToUndo(bytes) ?? false,
  })
  mkdirSync(join(rig.root, 'src'))
  if (opened.files === undefined) throw new Error('the rig made no files')
  return { rig, files: opened.files }
}

const readIn = (root: string) => (path: string) => readFileSync(join(root, path), 'utf8')

test('what is granted is written without asking, is in the journal like any approval, and can be taken back', async () => {
  const { write, asked, read, run, journal, approvals } = await granted()
  const result = resultOf(await write('src/cart.py', 'cart\n'))
  assert.equal([asked(), read('src/cart.py')], [1, 'cart\n'])
  assert.is(approvals.grants()[0]?.used, 1)
  // Taking back is another tool, which nobody has granted.
  assert.is(errorOf(await run('undo_change', { change: String(result.undo) })).code, 'denied')
  const lines = await journal()
  const calls = typesOf(ofCalls(lines))
  assert.equal(calls.slice(4, 8), ['requested', 'decided', 'dispatched', 'ended ok'])
  const decided = lines.filter(({ type }) => type === 'decided')
  assert.equal(
    decided.map(({ answer, by }) => [answer, by]),
    [
      ['approved', 'seat-1'],
      ['approved', 'grant-1 of seat-1'],
      ['denied', 'seat-1'],
    ],
  )
  assert.equal(
    invariantsOf(
      lines,
      lines.flatMap(({ plan, type }) => (type === 'dispatched' ? [{ change: String(plan) }] : [])),
    ),
    [],
  )
})

test('a loop of granted writes does not cost what a person could undo: they are asked before it would (threat 22)', async () => {
  const { rig, files } = roomy(2_000_000)
  let granting = true
  const person = rig.seat(() => {
    const reply = granting ? { grant: 'src/**' } : ('deny' as const)
    granting = false
    return reply
  })
  const precious = linesOf('p', 100_000)
  writeFileSync(join(rig.root, 'src/precious.txt'), precious)
  const first = resultOf(await rig.run('write_file', { path: 'src/precious.txt', content: 'gone\n' }))
  let through = 0
  const big = linesOf('x', 100_000)
  for (; through < 40; through++) {
    const name = `src/${through}.txt`
    writeFileSync(join(rig.root, name), big)
    if (!(await rig.run('write_file', { path: name, content: 'y\n' })).ok) break
  }
  assert.ok(through > 0 && through < 20, String(through))
  assert.match(person.plans.at(-1)?.warnings.join() ?? '', 'you are asked all the same')
  const change = await files.of(rig.root).undone(String(first.undo))
  if (change.type === 'failed') throw new Error(change.error.message)
})

test('a path that leads out of what was granted is asked about, however it is written (threat 22)', async () => {
  const { write, asked, read, root } = await granted()
  for (const path of ['src/../lib/other.py', join(root, 'src/./../lib/other.py')])
    assert.is(errorOf(await write(path)).code, 'denied')
  assert.equal([asked(), read('lib/other.py')], [3, 'old\n'])
  for (const path of ['src/../../x.py', '/etc/hostname'])
    assert.is(errorOf(await write(path)).code, 'path_refused')
  assert.ok((await write('lib/../src/shop.py', 'in\n')).ok)
  assert.equal([asked(), read('src/shop.py')], [3, 'in\n'])
})

test('while a person is let be, what they granted is refused as well (threat 36)', async () => {
  const { write, asked, clock } = await granted()
  for (let n = 0; n < 3; n++) assert.is(errorOf(await write('lib/other.py')).code, 'denied')
  assert.is(errorOf(await write('src/shop.py', 'in\n')).code, 'busy')
  await clock.pass(5 * 60_000)
  assert.ok((await write('src/shop.py', 'in\n')).ok)
  assert.is(asked(), 4)
})

test('a link laid below what was granted after that leads nowhere without asking (threat 22)', async () => {
  const { write, asked, read, root, clock } = await granted()
  symlinkSync('../lib', join(root, 'src/lib'))
  symlinkSync('../lib/other.py', join(root, 'src/file.py'))
  for (const path of ['src/lib/other.py', 'src/lib/new.py', 'src/file.py'])
    assert.is((await write(path)).ok, false)
  assert.is(read('lib/other.py'), 'old\n')
  await clock.pass(5 * 60_000)
  const before = asked()
  renameSync(join(root, 'src'), join(root, 'moved'))
  symlinkSync('lib', join(root, 'src'))
  assert.is((await write('src/other.py')).ok, false)
  assert.equal([asked(), read('lib/other.py')], [before + 1, 'old\n'])
})

test('other letters are another folder (threat 22)', async () => {
  const { write, asked, root } = await granted()
  mkdirSync(join(root, 'Src'), { recursive: true })
  assert.is((await write('Src/a.py')).ok, false)
  assert.is(asked(), 2)
})

for (const [where, policy] of [
  ['the user', { file: '../policy.toml', said: 'denied' }],
  ['the project', { file: 'imago.toml', said: 'denied' }],
] as const)
  test(`a rule of ${where} that asks is stronger than a grant, from when it is written (threat 22)`, async () => {
    const { write, asked, root, person } = await granted()
    assert.ok((await write('src/a.py', 'a\n')).ok)
    writeFileSync(join(root, policy.file), '[[rule]]\ndecision = "ask"\ntool = "write_file"\n')
    assert.is(errorOf(await write('src/a.py', 'b\n')).code, policy.said)
    assert.equal([asked(), grantsOf(person)], [2, []])
  })

const grantsOf = (person: ScriptedSeat) => person.plans.at(-1)?.grants

test('a rule that asks about one file of several is stronger than a grant for all of them', async () => {
  const { write, root, asked } = await granted()
  writeFileSync(join(root, '../policy.toml'), '[[rule]]\ndecision = "ask"\npath = "~/nowhere"\n')
  assert.ok((await write('src/a.py', 'a\n')).ok)
  const ask = `[[rule]]\ndecision = "ask"\npath = ${JSON.stringify(join(root, 'src/b.py'))}\n`
  writeFileSync(join(root, '../policy.toml'), ask)
  assert.ok((await write('src/a.py', 'b\n')).ok)
  assert.is(asked(), 1)
  assert.is((await write('src/b.py', 'b\n')).ok, false)
  assert.is(asked(), 2)
})

test('no project file makes a grant, and a project that says so is told (threat 4)', async () => {
  const { write, root, approvals } = await granted()
  approvals.revoke('grant-1', 'somebody')
  writeFileSync(join(root, 'imago.toml'), '[[grant]]\ntool = "write_file"\npattern = "**"\n')
  const error = errorOf(await write('src/a.py'))
  assert.is(error.code, 'denied')
  assert.match(error.message, /imago\.toml/)
  assert.equal(approvals.grants(), [])
})

for (const [what, meanwhile] of [
  ['a rule comes to ask', 'stale_plan'],
  ['it is revoked', 'approval_timed_out'],
] as const)
  test(`what a grant let through is not done if ${what} before it is done (fault 30)`, async () => {
    const { run, seat, files, approvals, folder, journal } = memory()
    let replies = 0
    seat(() => (replies++ === 0 ? { grant: 'src/*.txt' } : 'deny'))
    assert.ok((await run('put', { path: 'src/a.txt', text: '1' })).ok)
    files.onStep = step => {
      if (step !== 'lock') return
      if (meanwhile === 'approval_timed_out') approvals.revoke('grant-1', 'somebody')
      else writeFileSync(join(folder, 'policy.toml'), '[[rule]]\ndecision = "ask"\ntool = "put"\n')
    }
    const error = errorOf(await run('put', { path: 'src/a.txt', text: '2' }))
    assert.is(error.code, meanwhile)
    assert.is(files.text('src/a.txt'), '1')
    assert.equal(invariantsOf(await journal(), files.effects), [])
  })
