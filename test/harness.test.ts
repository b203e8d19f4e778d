import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, type Report, suite } from './support/harness.ts'

const test = suite('harness')
const harness = join(import.meta.dirname, 'support/harness.ts')

/** What a file with this body reports, and how its process ended. */
function run(body: string): { code: number | null; report: Report } {
  const folder = mkdtempSync(join(tmpdir(), 'imago-harness-'))
  const file = join(folder, 'sample.test.ts')
  const path = join(folder, 'report.json')
  writeFileSync(file, `import { suite, assert } from ${JSON.stringify(harness)}\n${body}`)
  const { status } = spawnSync(process.execPath, [...process.execArgv, file], {
    env: { ...process.env, IMAGO_TEST_REPORT: path },
    timeout: 15_000,
    cwd: join(import.meta.dirname, '..'),
  })
  const report = JSON.parse(readFileSync(path, 'utf8')) as Report
  rmSync(folder, { recursive: true })
  return { code: status, report }
}

test('a suite runs without being told to', () => {
  const { code, report } = run(`const test = suite('s'); test('a', () => assert.is(1, 1))`)
  assert.equal({ code, passed: report.passed, failed: report.failed }, { code: 0, passed: 1, failed: [] })
})

test('a throwing before hook fails the file', () => {
  const { code, report } = run(
    `const test = suite('s'); test.before(() => { throw new Error('no') }); test('a', () => {})`,
  )
  assert.is(code, 1)
  assert.equal(report.failed, ['s: before', 's: a'])
})

test('an open handle does not keep the file running', () => {
  const { code } = run(`const test = suite('s'); test('a', () => { setInterval(() => {}, 1000) })`)
  assert.is(code, 0)
})

test('a test that never ends fails at its limit', () => {
  const { code, report } = run(
    `const test = suite('s', { limitMs: 50 }); test('a', () => new Promise(() => { setInterval(() => {}, 1000) }))`,
  )
  assert.is(code, 1)
  assert.equal(report.failed, ['s: a'])
})

test('a stray rejection fails the file', () => {
  const { code } = run(
    `const test = suite('s'); test('a', () => { void Promise.reject(new Error('stray')) })`,
  )
  assert.is(code, 1)
})
