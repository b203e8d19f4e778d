import { runTests } from '../../tools/load.ts'
import type { TestReport } from '../../wire/contract/evaluation.ts'
import { assert, suite } from '../support/harness.ts'
import { errorOf, RAISED, resultOf, run } from './context.ts'
import { ending } from './ending.ts'

const test = suite('run_tests')

const FAILED: TestReport = {
  framework: 'fiveam',
  target: 'SHOP-TESTS::TOTALS',
  ok: false,
  passed: 11,
  failed: 2,
  skipped: 1,
  failures: [
    {
      test: 'SHOP-TESTS::ADDS-UP',
      reason: 'TOTAL evaluated to\n  4\nwhich is not =\n  5',
      expression: '(IS (= 5 (TOTAL ORDER)))',
      file: '/srv/shop/tests.lisp',
      line: 12,
    },
    { test: 'SHOP-TESTS::EMPTY', reason: 'Unexpected error', expression: null, file: null, line: null },
  ],
  omitted: 0,
}

const done = (tests: TestReport) => ({ type: 'done', values: [], elapsed_ms: 340, tests }) as const

test('a target is sent as it is, and a framework only where one was named', async () => {
  const { kernel, works } = ending(done(FAILED))
  await run(runTests, { target: 'shop-tests:totals' }, { kernel })
  await run(runTests, { target: 'shop', framework: 'asdf' }, { kernel })
  assert.equal(works, [
    { type: 'tests', target: 'shop-tests:totals' },
    { type: 'tests', target: 'shop', framework: 'asdf' },
  ])
})

test('failing tests are a result: the verdict, then each failure with its place, reason and check', async () => {
  const result = resultOf(await run(runTests, { target: 'x' }, ending(done(FAILED))))
  assert.equal(result.tests, FAILED)
  assert.is(
    runTests.show(result),
    [
      'FAIL SHOP-TESTS::TOTALS (fiveam), 340 ms: 11 passed, 2 failed, 1 skipped',
      '✗ SHOP-TESTS::ADDS-UP  /srv/shop/tests.lisp:12',
      '  TOTAL evaluated to\n    4\n  which is not =\n    5',
      '  in: (IS (= 5 (TOTAL ORDER)))',
      '✗ SHOP-TESTS::EMPTY',
      '  Unexpected error',
    ].join('\n'),
  )
})

test('tests that pass say so in a line', async () => {
  const passed = { ...FAILED, ok: true, failed: 0, skipped: 0, failures: [] }
  assert.is(
    runTests.show(resultOf(await run(runTests, { target: 'x' }, ending(done(passed))))),
    'PASS SHOP-TESTS::TOTALS (fiveam), 340 ms: 11 passed, 0 failed',
  )
  const none = resultOf(
    await run(runTests, { target: 'x' }, ending({ type: 'done', values: [], elapsed_ms: 1 })),
  )
  assert.is(none.tests, null)
  assert.match(runTests.show(none), 'the image tells no results')
})

test('what nobody knows to have passed is never told as passed', async () => {
  const told = async (tests: TestReport, output = '') => {
    const printed = output === '' ? [] : [{ type: 'output', stream: 'stdout', text: output } as const]
    const result = resultOf(await run(runTests, { target: 'x' }, ending(done(tests), printed)))
    return runTests.show(result).split('\n')[0] ?? ''
  }
  const uncounted: TestReport = {
    ...FAILED,
    ...{ framework: 'asdf', ok: null, passed: null, failed: null, skipped: null, failures: [] },
  }
  assert.is(
    await told(uncounted, 'Fail: 1'),
    'ran SHOP-TESTS::TOTALS (asdf), 340 ms: without an error; whether the tests passed is in the output',
  )
  assert.match(await told(uncounted), /^ran .*: without an error, and printed nothing: .*nothing was tested$/)
  assert.match(
    await told({ ...uncounted, passed: 0, failed: 0, skipped: 2 }),
    /^ran .*: 0 passed, 0 failed, 2 skipped: no check came to anything, so nothing was tested$/,
  )
  assert.match(await told({ ...uncounted, ok: false, failures: FAILED.failures }), /^FAIL .*: asdf does not/)
})

test('of very many failures the first are told, and the others counted', async () => {
  const [failure] = FAILED.failures
  const failures = Array.from({ length: 1_000 }, () => ({ ...failure, reason: 'r'.repeat(400) }) as never)
  const result = resultOf(
    await run(runTests, { target: 'x' }, ending(done({ ...FAILED, failures, omitted: 5 }))),
  )
  const { failures: kept, omitted } = result.tests as TestReport
  assert.ok(kept.length > 10 && kept.length < 1_000)
  assert.is(omitted, 1_005 - kept.length)
  assert.match(runTests.show(result), `and ${omitted} more failures, not shown`)
})

test('a run that could not even begin is a failure', async () => {
  const error = errorOf(
    await run(runTests, { target: 'x' }, ending({ type: 'raised', exception: RAISED, elapsed_ms: 1 })),
  )
  assert.is(error.code, 'exception')
})
