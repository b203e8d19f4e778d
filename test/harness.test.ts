import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { assert, suite } from './support/harness.ts'

const test = suite('harness', { limitMs: 120_000 })

const HARNESS = JSON.stringify(join(import.meta.dirname, 'support/harness.ts'))
const RUN = join(import.meta.dirname, 'run.ts')
/** Files with this have a process of their own. */
const ALONE = `import 'node:child_process'\n`

/** A folder `test` with files of these bodies. */
function folderOf(bodies: Record<string, string>): string {
  const root = join(mkdtempSync(join(tmpdir(), 'imago-harness-')), 'test')
  for (const [name, body] of Object.entries(bodies)) {
    const path = join(root, `${name}.test.ts`)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, `import { suite, assert } from ${HARNESS}\nconst test = suite('s')\n${body}`)
  }
  return root
}

/** What the runner prints about files with these bodies, and how it ends. It runs in the folder above them. */
function run(bodies: Record<string, string>, limitMs = 60_000, words: readonly string[] = [], measures = '') {
  const root = folderOf(bodies)
  const { status, stdout, stderr } = spawnSync(process.execPath, [...process.execArgv, RUN, ...words], {
    cwd: dirname(root),
    env: {
      ...process.env,
      IMAGO_TEST_ROOT: root,
      IMAGO_TEST_LIMIT_MS: String(limitMs),
      IMAGO_TEST_MEASURE: measures,
    },
    encoding: 'utf8',
    timeout: 100_000,
  })
  const failed = stdout.match(/^failed: .*/gm)?.map(line => line.slice('failed: '.length)) ?? []
  return { root, status, stdout, stderr, failed: failed.sort(), last: stdout.trimEnd().split('\n').at(-1) }
}

test('a suite runs without being told to, with or without other files, and the last line counts', () => {
  const passes = `test('a', () => assert.is(1, 1))`
  const { status, stdout, last } = run({ one: passes, other: passes, third: ALONE + passes })
  assert.equal([status, last], [0, '3 passed, 0 failed'])
  for (const name of ['one', 'other', 'third']) assert.match(stdout, new RegExp(`ok +.*${name}.test.ts  1  `))
})

test('what throws fails by its name, and an open handle of a process of its own keeps nothing running', () => {
  const { status, failed, last } = run({
    'a-hook': `test.before(() => { throw new Error('no') }); test('a', () => {})`,
    'b-assertion': `test('b', () => assert.is(1, 2))`,
    'c-stray': `test('c', async () => { void Promise.reject(new Error('stray')) })`,
    'd-top': `throw new Error('at the top')`,
    'e-empty': '',
    'f-thrown': `test('f', () => { setTimeout(() => { throw new Error('later') }); return new Promise(() => {}) })`,
    'g-open': `${ALONE}test('g', () => { setInterval(() => {}, 1000) })`,
    'h-exit': `${ALONE}test('h', () => { process.on('exit', () => { process.exitCode = 3 }) })`,
  })
  const loaded = failed.find(name => name.includes('d-top'))
  assert.match(loaded ?? '', /d-top\.test\.ts: could not be loaded$/)
  assert.equal(
    failed.filter(name => name !== loaded),
    [
      'an unhandled rejection',
      'e-empty.test.ts: reported no test',
      'f-thrown.test.ts: ended before its report (exit 1)',
      'h-exit.test.ts: exit 3',
      's: a',
      's: b',
      's: before',
    ],
  )
  assert.equal([status, last], [1, '3 passed, 8 failed'])
})

test('files that start processes share one, one after another, until a file leaves it changed', () => {
  const notes = `import { appendFileSync } from 'node:fs'\ntest('a', () => appendFileSync('pids', process.pid + ' '))\n`
  const pids = (body: string) => {
    const names = Array.from({ length: 3 }, (_, at) => [`f${at}`, ALONE + notes + body])
    const { root, last } = run(Object.fromEntries(names))
    assert.is(last, '3 passed, 0 failed')
    return new Set(
      readFileSync(join(dirname(root), 'pids'), 'utf8')
        .trim()
        .split(' '),
    ).size
  }
  assert.ok(pids('') < 3)
  assert.is(pids(`process.on('exit', () => {})`), 3)
})

test('what hangs is killed, and fails by its name, in company too, and the files after it run', () => {
  // Nothing else can run in its process, as in an endless loop, but no processor has to.
  const hangs = `test('a', () => { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0) })`
  const { failed, last } = run({ alone: ALONE + hangs, hangs, next: `test('a', () => {})` }, 3_000)
  assert.equal(failed, [
    'alone.test.ts: still running after 3000 ms, killed',
    'hangs.test.ts: still running after 3000 ms, killed',
  ])
  assert.is(last, '1 passed, 2 failed')
})

test('a test that never ends fails at its limit, and so does one after a suite was made too late', () => {
  const { failed } = run({
    ends: `suite('t', { limitMs: 50 })('b', () => new Promise(() => { setTimeout(() => {}, 200) }))`,
    late: `test('a', () => { suite('late') })`,
  })
  assert.equal(failed, ['s: a', 't: b'])
})

test('who leaves something behind in a process that others share fails by name, with what it is', () => {
  const { failed } = run({
    environment: `test('a', () => { process.env.LEFT = '1' })`,
    folder: `test('a', () => process.chdir('/'))`,
    handle: `test('a', () => { setInterval(() => {}, 1000) })`,
    listener: `test('a', () => { process.on('SIGUSR2', () => {}) })`,
    nothing: `test('a', () => { const t = setInterval(() => {}, 1000); setTimeout(() => clearInterval(t), 100) })`,
  })
  assert.equal(
    failed.map(name => name.replace(/^.*?(\w+)\.test\.ts: leaves (.*) changed.*$/, '$1: $2')),
    [
      'environment: the environment',
      'folder: the current folder',
      'handle: open handles',
      'listener: listeners of the process',
    ],
  )
})

test('a word selects files by a part of their path, or by a path as a shell completes it', () => {
  const passes = `test('a', () => {})`
  const bodies = { 'front/mcp': passes, 'front/web': passes, 'core/web': passes }
  const ran = (...words: string[]) =>
    [...run(bodies, 60_000, words).stdout.matchAll(/^ok +test\/(\S+)\.test\.ts/gm)]
      .map(([, name]) => name)
      .sort()
  assert.equal(ran('mcp'), ['front/mcp'])
  assert.equal(ran('./test/core/', 'test/front/mcp.test.ts'), ['core/web', 'front/mcp'])
  assert.equal(ran('./test'), ['core/web', 'front/mcp', 'front/web'])
})

test('a word that selects nothing is named, and nothing runs', () => {
  const { status, stdout, stderr } = run({ one: `test('a', () => {})` }, 60_000, ['one', 'tow'])
  assert.equal([status, stdout, stderr.trim()], [2, '', 'no test file is named tow'])
})

test('a run keeps no times, and one that measures keeps seconds and those of the processors, of what was started too', () => {
  const works = `import { spawnSync } from 'node:child_process'
    test('a', () => { spawnSync(process.execPath, ['-e', 'while (performance.now() < 700);']) })`
  const waits = `${ALONE}test('a', () => new Promise(resolve => { setTimeout(resolve, 1500) }))`
  assert.not.ok(existsSync(join(run({ one: `test('a', () => {})` }).root, 'times.json')))
  const { root } = run({ works, waits }, 60_000, [], '1')
  const times = JSON.parse(readFileSync(join(root, 'times.json'), 'utf8'))
  assert.equal(Object.keys(times), ['waits.test.ts', 'works.test.ts'])
  const share = (file: string) => times[file].processor / times[file].seconds
  assert.ok(share('works.test.ts') > share('waits.test.ts'), JSON.stringify(times))
})

test('a run that is broken off ends what its tests have started, and counts that', () => {
  const root = folderOf({
    waits: `import { spawn } from 'node:child_process'
      test('a', () => {
        spawn('sleep', ['100'], { detached: true })
        process.kill(process.ppid, 'SIGINT')
        return new Promise(() => setInterval(() => {}, 1000))
      })`,
  })
  const { status, stdout } = spawnSync(process.execPath, [...process.execArgv, RUN], {
    env: { ...process.env, IMAGO_TEST_ROOT: root },
    encoding: 'utf8',
    timeout: 60_000,
  })
  assert.match(stdout, /failed: the run was ended by SIGINT\n0 passed, \d failed\n$/)
  assert.is(status, 1)
  assert.match(stdout, /left behind and ended: sleep 100/)
})
