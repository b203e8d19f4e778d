import { assert, suite } from '../support/harness.ts'
import { type LispListener, openListener, until } from '../support/lisp-listener.ts'
import { type RealSwank, startSwank } from '../support/swank.ts'

const test = suite('what a Lisp image has done for us')
let swank: RealSwank
let lisp: LispListener

test.before(async () => {
  swank = await startSwank()
  lisp = await openListener(swank)
})
test.after(() => {
  lisp?.end()
  swank?.kill()
})

const THREADS = { limit: 50, frames: 10, locals: false }

test('nothing was evaluated, and nothing raised, before anything was', async () => {
  assert.equal(await lisp.look('history', { limit: 10 }), { entries: [], total: 0 })
  const { error, who, call, at } = await lisp.look('last_error', {})
  assert.equal([error, who, call, at], [null, null, null, null])
})

test('what was evaluated is remembered, the newest first, with who asked and what it came to', async () => {
  await lisp.run('(+ 1 2)', { who: 'a person' })
  await lisp.run('(list\n 1)', { file: '/nowhere/app.lisp', line: 7 })
  await lisp.run('(values)')
  await lisp.run('(error "not today")')
  const { entries, total } = await lisp.look('history', { limit: 10 })
  assert.is(total, 4)
  assert.equal(
    entries.map(({ number, who, source, place, outcome, result }) => [
      number,
      who,
      source,
      place,
      outcome,
      result,
    ]),
    [
      [4, 'test', '(error "not today")', null, 'raised', 'not today'],
      [3, 'test', '(values)', null, 'done', null],
      [2, 'test', '(list\n 1)', { file: '/nowhere/app.lisp', line: 7 }, 'done', '(1)'],
      [1, 'a person', '(+ 1 2)', null, 'done', '3'],
    ],
  )
  for (const { at, elapsed_ms } of entries) {
    assert.match(at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    assert.ok(Math.abs(Date.parse(at) - Date.now()) < 600_000)
    assert.ok(elapsed_ms !== null && elapsed_ms >= 0)
  }
})

test('the page before a number goes on from there', async () => {
  const { entries } = await lisp.look('history', { limit: 2, before: 4 })
  assert.equal(
    entries.map(({ number }) => number),
    [3, 2],
  )
  assert.equal((await lisp.look('history', { limit: 2, before: 1 })).entries, [])
})

test('what runs is told as running, and what was interrupted as that', async () => {
  const run = lisp.begin('(loop (sleep 0.01))')
  await until(() => run.thread !== undefined)
  const running = await lisp.look('history', { limit: 1 })
  assert.equal([running.entries[0]?.outcome, running.entries[0]?.elapsed_ms], ['running', null])
  lisp.interrupt(run)
  await run.result
  assert.is((await lisp.look('history', { limit: 1 })).entries[0]?.outcome, 'interrupted')
})

test('a long source is cut, and old entries make room', async () => {
  await lisp.run(`(length "${'x'.repeat(5_000)}")`)
  const [entry] = (await lisp.look('history', { limit: 1 })).entries
  assert.is(entry?.truncated, true)
  assert.ok((entry?.source.length ?? 0) <= 2_000)
  for (let turn = 0; turn < 210; turn++) await lisp.run('1')
  const { entries, total } = await lisp.look('history', { limit: 1_000 })
  assert.is(entries.length, 200)
  assert.is(total, 216)
})

test('the last error stays with its frames, whatever is evaluated after it', async () => {
  await lisp.run('(defun failing (x) (list (error "it was ~a" x)))\n(list (failing 1))')
  await lisp.run('(ignore-errors (error "handled"))')
  const { error, at, seen } = await lisp.look('last_error', {})
  assert.is(error?.message, 'it was 1')
  assert.equal(
    error?.frames.map(frame => frame.function),
    ['failing'],
  )
  assert.match(at ?? '', /Z$/)
  assert.match(seen.join(' '), 'through Imago')
})

test('what was refused before it ran is neither the last error nor remembered', async () => {
  await lisp.run('(error "mine")')
  const before = await lisp.look('history', { limit: 1 })
  await lisp.refused('1', { package: 'no-such-package' })
  await lisp.refused('', { work: 'load', file: '/no/such/file.lisp' })
  assert.is((await lisp.look('last_error', {})).error?.message, 'mine')
  assert.equal(await lisp.look('history', { limit: 1 }), before)
  await lisp.run('1')
  assert.is((await lisp.look('history', { limit: 1 })).entries[0]?.number, before.total + 1)
})

test('what the last error cannot tell is told in whole sentences', async () => {
  for (const sentence of (await lisp.look('last_error', {})).seen) assert.not.match(sentence, /\n| {2}/)
})

test('threads are told by name and role, and none is stopped to be looked at', async () => {
  await lisp.run('(sb-thread:make-thread (lambda () (sleep 1000)) :name "waits for ever")')
  const run = lisp.begin('(loop (sleep 0.01))')
  await until(() => run.thread !== undefined)
  const { threads, threads_total, notes, tasks } = await lisp.look('threads', THREADS)
  const roles = (role: string) =>
    threads.filter(thread => thread.role === role).flatMap(thread => thread.names)
  assert.equal(roles('main'), ['main thread'])
  assert.equal(roles('evaluating'), ['worker'])
  assert.ok(roles('user').includes('waits for ever'))
  assert.ok(roles('imago').includes('control-thread'))
  assert.ok(threads.every(thread => thread.frames.length === 0 && thread.count === 1))
  assert.match(notes.join(' '), 'a look stops nothing')
  assert.is(threads_total, threads.length - roles('imago').length)
  assert.equal(tasks, [])
  lisp.interrupt(run)
  await run.result
})

test('threads are found by a piece of their name, and counted beyond the limit', async () => {
  const some = await lisp.look('threads', { ...THREADS, filter: 'FOR EVER' })
  assert.equal(
    some.threads.map(thread => thread.names),
    [['waits for ever']],
  )
  const few = await lisp.look('threads', { ...THREADS, limit: 1 })
  assert.is(few.threads.length, 1)
  assert.ok(few.omitted >= 2)
})

test('the threads of another connection are the user’s', async () => {
  const other = await openListener(swank)
  const { threads } = await lisp.look('threads', { ...THREADS, filter: 'reader-thread' })
  assert.equal(threads.map(thread => thread.role).sort(), ['imago', 'user'])
  other.end()
})
