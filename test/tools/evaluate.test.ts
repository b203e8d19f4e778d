import { compileForm, macroexpandForm } from '../../tools/compile.ts'
import { evalExpr } from '../../tools/evaluate.ts'
import { TOOLS } from '../../tools/index.ts'
import { loadFile, loadSystem, reload, runTests } from '../../tools/load.ts'
import { showError } from '../../tools/show.ts'
import type { EvalEvent } from '../../wire/kernel.ts'
import { assert, suite } from '../support/harness.ts'
import { context, errorOf, kernel as kernelOf, outputLog, RAISED, resultOf, run, shown } from './context.ts'
import { ending } from './ending.ts'

const test = suite('eval_expr and macroexpand_form')

const HELLO: readonly EvalEvent[] = [
  { type: 'output', stream: 'stdout', text: 'hello\n' },
  { type: 'output', stream: 'stderr', text: 'careful\n' },
]

test('the value of an expression comes with its output and how long it took', async () => {
  const { kernel } = ending({ type: 'done', values: [shown('3')], elapsed_ms: 4 }, HELLO)
  const result = resultOf(await run(evalExpr, { expr: '1 + 2' }, { kernel }))
  assert.equal(result, {
    value_repr: '3',
    values: [shown('3')],
    stdout: 'hello\n',
    stderr: 'careful\n',
    output: 'hello\ncareful\n',
    truncated: false,
    elapsed_ms: 4,
  })
  assert.is(evalExpr.show(result), '3\nstdout and stderr, in order:\nhello\ncareful')
})

test('a statement has no value; of several values all are given, and the first is the value', async () => {
  for (const [values, value_repr, said] of [
    [[], null, 'no value, 12 ms'],
    [[shown('3'), shown('1')], '3', '3\n1'],
  ] as const) {
    const { kernel } = ending({ type: 'done', values, elapsed_ms: 12 })
    const result = resultOf(await run(evalExpr, { expr: '(floor 10 3)' }, { kernel }))
    assert.equal([result.value_repr, result.values], [value_repr, values])
    assert.is(evalExpr.show(result), said)
  }
})

test('a value worth a closer look comes with a preview, a handle, and what to do with it', async () => {
  const repr = { text: '[0, 1, …]', truncated: true, original_len: null, handle: '@ab12.4' }
  const value = shown('', { repr, handle: '@ab12.3', preview: 'len 10000000' })
  const { kernel } = ending({ type: 'done', values: [value], elapsed_ms: 4 })
  const result = resultOf(await run(evalExpr, { expr: 'xs' }, { kernel }))
  assert.is(result.handle, '@ab12.3')
  assert.is(result.preview, 'len 10000000')
  assert.is(result.next, 'inspect @ab12.3')
  assert.is(result.truncated, true)
  assert.is(
    evalExpr.show(result),
    '[0, 1, …]\n(int · len 10000000 · cut at 9 characters · all of it: read_more @ab12.4 · inspect @ab12.3)',
  )
})

test('output that was cut or dropped says so, and leads to the rest', async () => {
  const { kernel } = ending({ type: 'done', values: [], elapsed_ms: 1 }, HELLO.slice(0, 1))
  const output = outputLog({ truncated: true, dropped: 5_000, handle: '@out.7' })
  const result = resultOf(await run(evalExpr, { expr: 'flood()' }, { kernel, output }))
  assert.is(result.truncated, true)
  assert.is(result.dropped, 5_000)
  assert.is(result.output_handle, '@out.7')
  assert.match(
    evalExpr.show(result),
    'stdout (cut; all that was kept: read_more @out.7; 5000 characters were dropped):\nhello',
  )
})

test('seed 2, case 10: an exception is a failure that keeps its output, frames and locals', async () => {
  const { kernel } = ending({ type: 'raised', exception: RAISED, elapsed_ms: 8 }, HELLO)
  const error = errorOf(await run(evalExpr, { expr: 'ratio(0)' }, { kernel }))
  assert.is(error.code, 'exception')
  assert.is(error.message, 'ZeroDivisionError: division by zero (in ratio, app.py:3)')
  assert.equal(error.details, {
    exception: RAISED,
    stdout: 'hello\n',
    stderr: 'careful\n',
    output: 'hello\ncareful\n',
    truncated: false,
    elapsed_ms: 8,
  })
  assert.is(
    showError(error),
    [
      'exception: ZeroDivisionError: division by zero (in ratio, app.py:3)',
      '    …',
      'locals of ratio, app.py:3:\n  n = 0\n  and 2 more',
      'stdout and stderr, in order:\nhello\ncareful',
    ].join('\n'),
  )
})

test('what the image knows that mends an error is said before how to look at it', async () => {
  const next = 'The module shop.prices is loaded'
  const raised = ending({ type: 'raised', exception: RAISED, elapsed_ms: 1, next })
  const error = errorOf(await run(evalExpr, { expr: 'shop.prices.PRICES' }, raised))
  assert.ok(error.next?.startsWith(next), error.next ?? 'nothing')
  assert.is(error.details.mend, next)
})

test('where the implementation has raised, the place and the locals are those of the program', async () => {
  const own = RAISED.frames.at(-1)
  if (own === undefined) throw new Error('there is none')
  const inner = { ...own, function: 'two-arg-*', file: 'numbers.lisp', implementation: true } as const
  const exception = { ...RAISED, frames: [own, inner] }
  const error = errorOf(
    await run(evalExpr, { expr: 'f' }, ending({ type: 'raised', exception, elapsed_ms: 1 })),
  )
  assert.match(error.message, /\(in ratio, app\.py:3\)$/)
  assert.match(showError(error), '\nlocals of ratio, app.py:3:')
})

test('an interrupted evaluation keeps its output and where it was stopped', async () => {
  const { kernel } = ending({ type: 'interrupted', exception: RAISED, elapsed_ms: 61_500 }, HELLO)
  const error = errorOf(await run(evalExpr, { expr: 'train()' }, { kernel }))
  assert.is(error.code, 'interrupted')
  assert.match(error.message, 'after 1 min 1 s, on request')
  assert.is(error.details.stdout, 'hello\n')
  assert.equal(error.details.exception, RAISED)
  const bare = ending({ type: 'interrupted', elapsed_ms: 1 })
  assert.not.ok('exception' in errorOf(await run(evalExpr, { expr: 'x' }, bare)).details)
})

/** An image in which the names of each file are in that module; `null`: no file is loaded. */
const inModule = (module: string | null) => (async () => ({ type: 'found', value: { module } })) as never

test('code of a file that is loaded runs in its module, and the answer names that', async () => {
  const { kernel, works } = ending({ type: 'done', values: [], elapsed_ms: 1 })
  const loaded = { kernel: { ...kernel, look: inModule('shop.orders') } }
  const result = resultOf(await run(evalExpr, { expr: 'total', file: 'shop/orders.py' }, loaded))
  assert.equal(works, [
    {
      type: 'source',
      source: 'total',
      place: { file: 'shop/orders.py', line: 1 },
      package: 'shop.orders',
    },
  ])
  assert.is(Reflect.get(result, 'names_of'), 'shop.orders')
})

test('the kernel is given the call, the source unchanged, the place, the signal and the asker', async () => {
  const { kernel: ended, seen } = ending({ type: 'done', values: [], elapsed_ms: 1 })
  const kernel = { ...ended, look: inModule(null) }
  const { signal } = new AbortController()
  const expr = 'def f():\r\n\treturn "ü\u0000"\n'
  await run(evalExpr, { expr, file: 'app.py', line: 12 }, { kernel, signal })
  assert.equal(seen.evaluation, {
    call: context().call,
    who: 'test',
    caller: 'client-1',
    work: { type: 'source', source: expr, place: { file: 'app.py', line: 12 } },
  })
  assert.is(seen.watcher?.signal, signal)
  assert.is(await seen.watcher?.ask?.({ type: 'stdin', prompt: '? ', secret: false }), 'an answer')
  await run(evalExpr, { expr, file: 'app.py' }, { kernel })
  assert.equal(seen.evaluation?.work, { type: 'source', source: expr, place: { file: 'app.py', line: 1 } })
  await run(evalExpr, { expr }, { kernel })
  assert.equal(seen.evaluation?.work, { type: 'source', source: expr })
})

test('a line without a file is refused, and nothing runs', async () => {
  const error = errorOf(await run(evalExpr, { expr: 'x', line: 3 }))
  assert.is(error.code, 'invalid_args')
  assert.match(error.next ?? '', 'file')
})

test('a person approves the code itself, and the place it would claim', () => {
  const expr = 'import os\nos.remove("x")'
  assert.equal(evalExpr.preview({ expr }), { title: 'Run this code', body: expr })
  assert.is(evalExpr.preview({ expr, file: 'app.py', line: 3 }).title, 'Run this code as app.py:3')
})

test('a package goes to an image that reads in packages, and another refuses it before anything runs', async () => {
  const { kernel, seen } = ending({
    type: 'done',
    values: [],
    elapsed_ms: 1,
    package: 'SHOP',
    readtable: 'rt',
    changed: ['readtable'],
  })
  const result = resultOf(await run(evalExpr, { expr: '(f)', package: 'SHOP' }, { kernel }))
  assert.equal(seen.evaluation?.work, { type: 'source', source: '(f)', package: 'SHOP' })
  assert.is(result.package, 'SHOP')
  assert.is(evalExpr.show(result), 'no value, 1 ms\nreadtable in force now: rt')
  assert.is(evalExpr.preview({ expr: 'f', package: 'SHOP' }).title, 'Run this code in the package SHOP')
  const { identity } = kernelOf()
  const python = { identity: { ...identity, abilities: new Set(['evaluate'] as const) } }
  const error = errorOf(await run(evalExpr, { expr: 'f', package: 'SHOP' }, { kernel: python }))
  assert.is(error.code, 'invalid_args')
  assert.match(error.message, 'no such packages. Nothing was run')
})

test('warnings are told below the values, and with a failure too; so are the restarts that stood there', async () => {
  const warned = {
    severity: 'warning',
    message: 'careful',
    file: null,
    line: null,
    column: null,
    source: null,
  } as const
  const { kernel } = ending(
    { type: 'done', values: [shown('3')], elapsed_ms: 1, diagnostics: [warned] },
    HELLO,
  )
  const result = resultOf(await run(evalExpr, { expr: '(f)' }, { kernel }))
  assert.equal(result.diagnostics, [warned])
  assert.match(evalExpr.show(result), /^3\nwarning: careful\nstdout and stderr/)
  const restarts = [
    { name: 'use-value', description: 'Use a value.' },
    { name: 'abort', description: '' },
  ]
  const exception = { ...RAISED, restarts }
  const raised = ending({ type: 'raised', exception, elapsed_ms: 1, diagnostics: [warned] })
  const error = errorOf(await run(evalExpr, { expr: '(f)' }, raised))
  assert.equal(error.details.diagnostics, [warned])
  assert.match(
    showError(error),
    '\nrestarts that stood there, none taken:\n  use-value: Use a value.\n  abort\nwarning: careful',
  )
  // A report that names them, as SLIME’s does, is not repeated.
  const told = { ...exception, traceback: 'Restarts:\n 0: [USE-VALUE] Use a value.\n 1: [abort]' }
  const reported = ending({ type: 'raised', exception: told, elapsed_ms: 1 })
  assert.not.match(showError(errorOf(await run(evalExpr, { expr: '(f)' }, reported))), 'none taken')
})

const EXPANDED = '(IF READY\n    (PROGN (SHIP ORDER)))'

const DONE = { type: 'done', values: [shown(EXPANDED)], elapsed_ms: 2, package: 'SHOP' } as const

test('a form is expanded once unless all of it is asked for, in the package that is named', async () => {
  const { kernel, works } = ending(DONE)
  const result = resultOf(await run(macroexpandForm, { expr: '(when ready (ship order))' }, { kernel }))
  await run(macroexpandForm, { expr: '(f)', full: true, package: 'SHOP' }, { kernel })
  assert.equal(works, [
    { type: 'expand', source: '(when ready (ship order))', fully: false },
    { type: 'expand', source: '(f)', fully: true, package: 'SHOP' },
  ])
  assert.is(result.expansion, EXPANDED)
  assert.is(macroexpandForm.show(result), EXPANDED)
})

test('reading and expanding run code: macroexpand_form is cautious, as everything that is given code is', () => {
  const running = [evalExpr, compileForm, macroexpandForm, loadFile, reload, loadSystem, runTests]
  for (const tool of running) assert.is(tool.level, 'cautious', tool.name)
  // Whoever takes a form takes something that a reader may run.
  for (const tool of TOOLS)
    if ('form' in tool.parameters.shape || Object.values(tool.parameterAliases).includes('form'))
      assert.is.not(tool.level, 'safe', tool.name)
  const preview = macroexpandForm.preview({ expr: '#.(evil)', full: true })
  assert.equal(preview, { title: 'Read and fully expand this form', body: '#.(evil)' })
})
