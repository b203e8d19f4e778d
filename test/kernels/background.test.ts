import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Background } from '../../src/kernels/background.ts'
import { openTexts, type TextStore, type TextStores } from '../../src/text/texts.ts'
import { FakeLauncher } from '../support/fake-launcher.ts'
import { assert, suite } from '../support/harness.ts'
import { openKernels } from '../support/kernels-alone.ts'

const test = suite('background output')

let folder = ''

let stores: TextStores
let texts: TextStore

test.before.each(() => {
  folder = mkdtempSync(join(tmpdir(), 'imago-background-'))
  stores = openTexts({ stateDir: folder, log: message => assert.unreachable(message) })
  texts = stores.of('/project')
})

test.after.each(() => {
  stores.close()
  rmSync(folder, { recursive: true, force: true })
})

const whole = (handle: string | undefined) =>
  texts.read({ handle: handle ?? '', from: 0, count: 100_000_000 })?.text

test('a row shows the last lines, and its handle leads to all of them', () => {
  const log = new Background(texts)
  assert.is(log.row(), null)
  log.add('')
  assert.is(log.row(), null)
  log.add('one\n')
  log.add('two\n')
  assert.equal(log.row(), { handle: '@out.1', last: 'one\ntwo', truncated: false })
  const lines = Array.from({ length: 50 }, (_, number) => `line ${number}\n`).join('')
  log.add(lines)
  const row = log.row()
  assert.is(row?.truncated, true)
  assert.is(row?.last.split('\n').length, 10)
  assert.match(row?.last ?? '', /line 49$/)
  assert.is(whole(row?.handle), `one\ntwo\n${lines}`)
})

test('one line without an end is bounded in the row', () => {
  const log = new Background(texts)
  log.add('x'.repeat(1_000_000))
  assert.is(log.row()?.last.length, 1_024)
  assert.is(log.row()?.truncated, true)
})

test('of output without end the last of it is kept, in one text', async () => {
  const log = new Background(texts)
  const handles = new Set<string>()
  const piece = 'y'.repeat(1024 * 1024 - 8)
  for (let number = 0; number < 40; number++) {
    log.add(`${String(number).padStart(7)}\n${piece}`)
    handles.add(log.row()?.handle ?? '')
    await new Promise(resolve => setImmediate(resolve))
  }
  const kept = whole(log.row()?.handle) ?? ''
  assert.ok(kept.includes('     39\n'))
  assert.ok(kept.includes('     38\n'))
  assert.ok(kept.length <= 9 * 1024 * 1024, `${kept.length}`)
  assert.is([...handles].filter(handle => texts.has(handle)).length, 1)
})

test('pieces are the last of it as it was printed, whose places stay, and none cuts a character in two', () => {
  const log = new Background(texts)
  assert.equal(log.pieces(), [])
  const known = new Map<string, string>()
  let heard = ''
  let all = ''
  for (let number = 0; number < 300; number++) {
    const text = `${number} ${'🐞'.repeat(number * 7)}\n`
    log.add(text)
    all += text
    for (const { key, text } of log.pieces()) {
      heard += text.slice(known.get(key)?.length)
      known.set(key, text)
      assert.not.match(text, /^[\udc00-\udfff]|[\ud800-\udbff]$/)
    }
  }
  assert.is(heard, all)
  assert.ok(log.pieces().length <= 16 && log.pieces().every(({ text }) => text.length <= 4_097))
})

test('a log that made room for other texts begins anew', () => {
  const log = new Background(texts)
  log.add('early\n')
  const handle = log.row()?.handle ?? ''
  for (let number = 0; number < 200; number++) texts.keep('other')
  assert.is(texts.has(handle), false)
  log.add('late\n')
  assert.is(whole(log.row()?.handle), 'late\n')
})

test('a kernel has the log of its life, and after its end still that of its last', async () => {
  const launcher = new FakeLauncher()
  const kernels = openKernels({ launch: launcher.launch, texts: stores, home: '/nowhere' })
  const row = () => kernels.list()[0]?.background
  const { name } = await kernels.resolve({ root: folder, env: {} })
  assert.is(row(), null)
  launcher.listener.background('from a thread\n')
  assert.is(row()?.last, 'from a thread')
  await kernels.stop(name)
  assert.is(row()?.last, 'from a thread')
  await kernels.restart(name)
  assert.is(row(), null)
})
