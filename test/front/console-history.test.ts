import { execFile } from 'node:child_process'
import { appendFileSync, chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { historyPath, openHistory } from '../../src/terminal/history.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('console history')
let folder = ''
let path = ''
test.before.each(() => {
  folder = mkdtempSync(join(tmpdir(), 'imago-history-'))
  path = historyPath(folder, '/home/ada/my project')
})
test.after.each(() => rmSync(folder, { recursive: true, force: true }))

const again = () => openHistory(path).entries

test('what was entered is there the next time, whatever lines it has', () => {
  const history = openHistory(path)
  history.add('1 + 2')
  history.add('def f():\n    return "\\n語"\n')
  assert.equal(again(), ['1 + 2', 'def f():\n    return "\\n語"'])
})

test('only its owner can read it', () => {
  openHistory(path).add('x')
  assert.is(statSync(path).mode & 0o777, 0o600)
  assert.is(statSync(join(folder, 'history')).mode & 0o777, 0o700)
})

test('a blank in front keeps a line out; so do nothing, and the same once more', () => {
  const history = openHistory(path)
  for (const entry of [' secret = 1', '\tx', '', '  ', 'x', 'x', 'y', 'x']) history.add(entry)
  assert.equal(history.entries, ['x', 'y', 'x'])
  assert.equal(again(), ['x', 'y', 'x'])
})

test('each project has its own', () => {
  assert.is.not(historyPath(folder, '/a/app'), historyPath(folder, '/b/app'))
  assert.match(path, /my_project-[0-9a-f]{12}\.jsonl$/)
})

test('it is shortened to the newest, and very long entries are not kept', () => {
  const limits = { entries: 10, length: 20 }
  const history = openHistory(path, limits)
  for (let number = 0; number < 25; number++) history.add(`x = ${number}`)
  history.add('y'.repeat(21))
  const shorter = openHistory(path, limits)
  assert.equal([shorter.entries.length, shorter.entries.at(-1)], [10, 'x = 24'])
  assert.is(readFileSync(path, 'utf8').split('\n').length, 11)
  assert.is(statSync(path).mode & 0o777, 0o600)
  assert.equal(readdirSync(join(folder, 'history')).length, 1)
})

test('lines that a full disk has cut are left out', () => {
  openHistory(path).add('one')
  appendFileSync(path, '"tw')
  assert.equal(again(), ['one'])
  openHistory(path).add('three')
  assert.equal(again().at(-1), 'three')
})

test('where it cannot be written, it is kept in memory', () => {
  openHistory(path).add('one')
  chmodSync(path, 0o400)
  const nowhere = openHistory('/dev/null/history.jsonl')
  nowhere.add('two')
  assert.equal(nowhere.entries, ['two'])
})

test('several consoles write at once, one of them shortens it, and nothing of what is new is lost', async () => {
  const program = `
    import { openHistory } from ${JSON.stringify(join(PACKAGE_ROOT, 'dist/src/terminal/history.js'))}
    const [path, who] = process.argv.slice(1)
    for (let number = 0; number < 150; number++) openHistory(path, { entries: 300, length: 100 }).add(who + number)`
  const run = promisify(execFile)
  const who = ['a', 'b', 'c']
  await Promise.all(
    who.map(name => run(process.execPath, ['--input-type=module', '-e', program, path, name])),
  )
  const kept = openHistory(path, { entries: 1_000, length: 100 }).entries
  for (const name of who)
    assert.equal(
      kept.filter(entry => entry.startsWith(name)).slice(-50),
      Array.from({ length: 50 }, (_, number) => `${name}${number + 100}`),
    )
})
