import { loadFile, reload, runTests } from '../../tools/load.ts'
import { showError } from '../../tools/show.ts'
import type { TestReport } from '../../wire/contract/evaluation.ts'
import type { Evaluated, Loaded } from '../../wire/kernel.ts'
import { assert, suite } from '../support/harness.ts'
import { errorOf, RAISED, resultOf, run } from './context.ts'
import { ending } from './ending.ts'

const test = suite('load_file, reload and run_tests')

const LOADED: Loaded = {
  module: 'shop.orders',
  file: '/project/shop/orders.py',
  omitted: 0,
  complete: true,
  added: ['ship'],
  replaced: ['Order', 'total'],
  kept: ['old_rate'],
  skipped: ['The block under if __name__ == "__main__" was not run.'],
  survivors: [
    { name: 'Order', kind: 'class', instances: 2, held_by: [] },
    { name: 'Gift', kind: 'class', instances: 0, held_by: ['shop.kinds (a list)'] },
    { name: 'total', kind: 'function', instances: null, held_by: ['shop.web (a dict)', 'a closure of late'] },
  ],
}
const DONE: Evaluated = { type: 'done', values: [], elapsed_ms: 3, loaded: LOADED }

const PRINTED = [{ type: 'output', stream: 'stdout', text: 'loading\n' } as const]

test('a file is sent as an absolute path, with the names that were asked for', async () => {
  const { kernel, works } = ending(DONE)
  await run(loadFile, { path: 'shop/orders.py' }, { kernel })
  await run(loadFile, { path: '/srv/other.py', names: ['total', 'Order'] }, { kernel })
  await run(reload, { package: 'shop.orders' }, { kernel })
  assert.equal(works, [
    { type: 'load', file: '/project/shop/orders.py' },
    { type: 'load', file: '/srv/other.py', names: ['total', 'Order'] },
    { type: 'reload', module: 'shop.orders' },
  ])
})

test('what was added, replaced, left and skipped is said, and in plain words what of the old lives on', async () => {
  const result = resultOf(await run(loadFile, { path: 'shop/orders.py' }, ending(DONE, PRINTED)))
  assert.equal(result.loaded, LOADED)
  assert.is(result.stdout, 'loading\n')
  assert.is(
    loadFile.show(result),
    [
      'loaded /project/shop/orders.py into shop.orders, 3 ms',
      'added: ship',
      'replaced: Order, total',
      'left as they were, though the new text does not define them: old_rate',
      'not run: The block under if __name__ == "__main__" was not run.',
      'still alive: 2 instances of the old class Order',
      'still alive: the old class Gift is still held by shop.kinds (a list)',
      'still alive: the old function total is still held by shop.web (a dict); a closure of late',
      'stdout:',
      'loading',
    ].join('\n'),
  )
})

test('an import that keeps what was replaced is named, with the line that rebinds it', async () => {
  const imports = [
    { module: 'shop.views', name: 'cost', old: 'total', rebind: 'import shop.views, shop.orders; …' },
    { module: 'shop.web', name: 'total', old: 'total', rebind: 'import shop.web, shop.orders; …' },
  ]
  const ended = ending({ ...DONE, loaded: { ...LOADED, survivors: [], imports } }, PRINTED)
  const shown = reload.show(resultOf(await run(reload, { package: 'shop.orders' }, ended)))
  assert.match(
    shown,
    'still imported: shop.views has the old total, as cost; to rebind it: import shop.views,',
  )
  assert.match(
    shown,
    'still imported: shop.web has the old total; to rebind it: import shop.web, shop.orders; …\n',
  )
})

test('what an earlier load has replaced, and still lives on, is said as that', async () => {
  const survivors = [
    { name: 'Order', kind: 'class', instances: 2, held_by: [], loads_ago: 1 },
    { name: 'total', kind: 'function', instances: null, held_by: ['shop.web.total'], loads_ago: 2 },
  ] as const
  const result = resultOf(
    await run(
      reload,
      { package: 'shop.orders' },
      ending({ ...DONE, loaded: { ...LOADED, survivors } }, PRINTED),
    ),
  )
  const shown = reload.show(result)
  assert.match(shown, 'still alive: 2 instances of the old class Order of 1 load before\n')
  assert.match(
    shown,
    'still alive: the old function total of 2 loads before is still held by shop.web.total\n',
  )
})

test('what is not known is said: names left out, a search that was ended early, an image that does not tell', () => {
  const none = { ...LOADED, module: null, added: [], replaced: [], kept: [], skipped: [], survivors: [] }
  const printed = { stdout: '', stderr: '', output: '', truncated: false, elapsed_ms: 3 }
  assert.is(
    reload.show({ loaded: { ...none, omitted: 1, complete: false }, ...printed }),
    'loaded /project/shop/orders.py at the top level, 3 ms\nno name was added or replaced\n' +
      'the search for old objects was ended early; there may be more\n1 more name not shown',
  )
  const { elapsed_ms: _, ...silent } = printed
  assert.is(reload.show({ loaded: null, ...silent, elapsed_ms: 7 }), 'done, 7 ms')
})

test('a file that raises is a failure as of any code, and says what stays done', async () => {
  const error = errorOf(
    await run(
      loadFile,
      { path: 'a.py' },
      ending({ type: 'raised', exception: RAISED, elapsed_ms: 1 }, PRINTED),
    ),
  )
  assert.is(error.code, 'exception')
  assert.match(error.message, 'ZeroDivisionError')
  assert.is(error.details.stdout, 'loading\n')
  assert.match(error.next ?? '', 'stays done')
  const again = await run(
    reload,
    { package: 'm' },
    ending({ type: 'raised', exception: RAISED, elapsed_ms: 1 }),
  )
  assert.match(errorOf(again).next ?? '', 'reload')
})

test('a file that could not be read is said to have run nothing', async () => {
  const exception = { ...RAISED, unread: true } as const
  const error = errorOf(
    await run(loadFile, { path: 'a.wl' }, ending({ type: 'raised', exception, elapsed_ms: 1 })),
  )
  assert.is(error.next, 'Nothing of the file was run. Correct it, and load it again.')
})

test('a failure before anything of the file ran does not speak of what ran, and says its one line once', async () => {
  const exception = { ...RAISED, frames: [], traceback: 'ZeroDivisionError: division by zero\n' }
  const error = errorOf(
    await run(loadFile, { path: 'a.py' }, ending({ type: 'raised', exception, elapsed_ms: 1 }, PRINTED)),
  )
  assert.is(error.next, null)
  assert.is(showError(error), 'exception: ZeroDivisionError: division by zero\nstdout:\nloading')
})

test('what a reader could not read is said once, with its place', async () => {
  const message = 'READ error during LOAD:\n\n  Package NOSUCH does not exist.\n\n    Line: 2'
  const exception = { ...RAISED, message, frames: [], traceback: '' }
  const place = { file: '/srv/a.lisp', line: 2, column: 2, source: 'nosuch:foo' }
  const lost = {
    severity: 'read_error',
    message: 'Package NOSUCH does not exist.\n\nLine: 2',
    ...place,
  } as const
  const ended = { type: 'raised', exception, elapsed_ms: 1, diagnostics: [lost] } as const
  const shown = showError(errorOf(await run(loadFile, { path: 'a.lisp' }, ending(ended))))
  assert.equal(shown.split('NOSUCH').length, 2)
  assert.match(shown, 'read error: as said above  /srv/a.lisp:2:2\n  in: nosuch:foo')
})

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

const tested = (tests: TestReport) => ({ type: 'done', values: [], elapsed_ms: 340, tests }) as const

test('a target is sent as it is, and a framework only where one was named', async () => {
  const { kernel, works } = ending(tested(FAILED))
  await run(runTests, { target: 'shop-tests:totals' }, { kernel })
  await run(runTests, { target: 'shop', framework: 'asdf' }, { kernel })
  assert.equal(works, [
    { type: 'tests', target: 'shop-tests:totals' },
    { type: 'tests', target: 'shop', framework: 'asdf' },
  ])
})

test('failing tests are a result: the verdict, then each failure with its place, reason and check', async () => {
  const result = resultOf(await run(runTests, { target: 'x' }, ending(tested(FAILED))))
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
    runTests.show(resultOf(await run(runTests, { target: 'x' }, ending(tested(passed))))),
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
    const result = resultOf(await run(runTests, { target: 'x' }, ending(tested(tests), printed)))
    return runTests.show(result).split('\n')[0] ?? ''
  }
  const uncounted: TestReport = {
    ...FAILED,
    framework: 'asdf',
    ok: null,
    passed: null,
    failed: null,
    skipped: null,
    failures: [],
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
    await run(runTests, { target: 'x' }, ending(tested({ ...FAILED, failures, omitted: 5 }))),
  )
  const { failures: kept, omitted } = result.tests as TestReport
  assert.ok(kept.length > 10 && kept.length < 1_000)
  assert.is(omitted, 1_005 - kept.length)
  assert.match(runTests.show(result), `and ${omitted} more failures, not shown`)
})
