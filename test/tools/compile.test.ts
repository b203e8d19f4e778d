import { compileForm } from '../../tools/compile.ts'
import { loadSystem } from '../../tools/load.ts'
import { showError } from '../../tools/show.ts'
import type { Diagnostic, Evaluated, Loaded } from '../../wire/kernel.ts'
import { assert, suite } from '../support/harness.ts'
import { errorOf, kernel as kernelOf, RAISED, resultOf, run } from './context.ts'
import { ending } from './ending.ts'

const test = suite('compile_form and load_system')

const UNUSED: Diagnostic = {
  severity: 'style_warning',
  message: 'The variable R is defined but never used.',
  file: '/srv/shop.lisp',
  line: 40,
  column: 3,
  source: '(DEFUN AREA (R) (* PI RR RR))',
}
const UNDEFINED: Diagnostic = {
  ...UNUSED,
  severity: 'warning',
  message: 'undefined variable: RR',
  column: null,
}
const done = (...diagnostics: readonly Diagnostic[]): Evaluated => ({
  type: 'done',
  values: [],
  loaded: {
    ...{ module: 'SHOP', file: null, added: ['AREA'], replaced: ['SIDE'], kept: [], skipped: [] },
    ...{ survivors: [], omitted: 0, complete: true },
  },
  elapsed_ms: 12,
  diagnostics,
  package: 'SHOP',
  readtable: 'standard',
  changed: ['package'],
})

test('a form is sent with its package, and with its place as an absolute path', async () => {
  const { kernel, works } = ending(done())
  await run(compileForm, { expr: '(defun f ())' }, { kernel })
  await run(compileForm, { expr: 'f', package: 'SHOP', file: 'src/shop.lisp', line: 40 }, { kernel })
  await run(compileForm, { expr: 'f', file: '/srv/shop.lisp' }, { kernel })
  assert.equal(works, [
    { type: 'compile', source: '(defun f ())' },
    { type: 'compile', source: 'f', place: { file: '/project/src/shop.lisp', line: 40 }, package: 'SHOP' },
    { type: 'compile', source: 'f', place: { file: '/srv/shop.lisp', line: 1 } },
  ])
})

test('every note of the compiler is told with its severity, its place, and the form it is about', async () => {
  const result = resultOf(await run(compileForm, { expr: 'f' }, ending(done(UNUSED, UNDEFINED))))
  assert.is(result.compiled, true)
  assert.equal(result.diagnostics, [UNUSED, UNDEFINED])
  assert.is(
    compileForm.show(result),
    [
      'compiled and loaded, 12 ms: 1 warning, 1 style warning',
      'style warning: The variable R is defined but never used.  /srv/shop.lisp:40:3',
      '  in: (DEFUN AREA (R) (* PI RR RR))',
      'warning: undefined variable: RR  /srv/shop.lisp:40',
      '  in: (DEFUN AREA (R) (* PI RR RR))',
      'added: AREA',
      'replaced: SIDE',
      'package in force now: SHOP',
    ].join('\n'),
  )
})

test('what the compiler finds wrong is a result that says so, not a failure of the call', async () => {
  const typed = { file: null, line: 2, column: 5, source: null }
  const lost: Diagnostic = { severity: 'read_error', message: 'end of file\nin a list', ...typed }
  const result = resultOf(await run(compileForm, { expr: '(defun' }, ending(done(lost))))
  assert.is(result.compiled, false)
  assert.match(
    compileForm.show(result),
    /^it cannot be read, and none of it was loaded, 12 ms: 1 read error\nread error: end of file {2}line 2, column 5\n {2}in a list\n/,
  )
  const wrong = resultOf(
    await run(compileForm, { expr: 'f' }, ending(done({ ...UNUSED, severity: 'error' }))),
  )
  assert.is(wrong.compiled, false)
})

test('a note cannot forge another line', () => {
  const forged = { ...UNUSED, message: 'a\nwarning: b\u2028c', source: 'x\nerror: y' }
  const printed = { stdout: '', stderr: '', output: '', truncated: false, elapsed_ms: 1 }
  const lines = compileForm
    .show({ compiled: true, added: [], replaced: [], diagnostics: [forged], ...printed })
    .split(/[\n\u2028]/)
  assert.equal(lines.slice(1), [
    'style warning: a  /srv/shop.lisp:40:3',
    '  warning: b\\u2028c',
    '  in: x\\nerror: y',
  ])
})

test('of very many notes the first are told, and how many are not', async () => {
  const many = Array.from({ length: 900 }, () => UNUSED)
  const result = resultOf(await run(compileForm, { expr: 'f' }, ending(done(...many))))
  const kept = (result.diagnostics as readonly unknown[]).length
  assert.ok(kept > 50 && kept < 900)
  assert.is(result.diagnostics_omitted, 900 - kept)
  assert.match(compileForm.show(result), `and ${900 - kept} more diagnostics, not shown`)
})

test('an error while it is loaded is a failure that keeps what the compiler had said', async () => {
  const exception = { ...RAISED, restarts: [{ name: 'abort', description: 'Return to the top level.' }] }
  const ended = { type: 'raised', exception, elapsed_ms: 1, diagnostics: [UNUSED] } as const
  const error = errorOf(await run(compileForm, { expr: 'f' }, ending(ended)))
  assert.is(error.code, 'exception')
  assert.equal(error.details.diagnostics, [UNUSED])
  const text = showError(error)
  assert.match(text, '\nrestarts that stood there, none taken:\n  abort: Return to the top level.\n')
  assert.match(text, 'style warning: The variable R')
})

test('a line without a file, and a package where the language has none, are refused before anything runs', async () => {
  const line = errorOf(await run(compileForm, { expr: 'f', line: 3 }))
  assert.is(line.code, 'invalid_args')
  const { identity } = kernelOf()
  const kernel = { identity: { ...identity, abilities: new Set(['compile'] as const) } }
  const inside = errorOf(await run(compileForm, { expr: 'f', package: 'SHOP' }, { kernel }))
  assert.is(inside.code, 'invalid_args')
  assert.match(inside.message, 'python has no such packages')
})

test('compiling runs code: it is never safe, and a person approves the text and the place it would claim', () => {
  assert.is(compileForm.level, 'cautious')
  assert.is(compileForm.raise({ expr: 'f' }), 'cautious')
  const preview = compileForm.preview({ expr: '(evil)', package: 'SHOP', file: 'a.lisp' })
  assert.equal(preview, { title: 'Compile and load this as a.lisp:1 in the package SHOP', body: '(evil)' })
})

const LOADED: Loaded = {
  module: 'shop',
  file: '/srv/shop/shop.asd',
  added: ['alexandria', 'shop'],
  replaced: [],
  kept: [],
  skipped: [],
  survivors: [],
  omitted: 0,
  complete: true,
}

const LOADED_ALL: Evaluated = {
  type: 'done',
  values: [],
  elapsed_ms: 1_200,
  loaded: LOADED,
  diagnostics: [
    {
      severity: 'style_warning',
      message: 'unused: X',
      file: '/srv/shop/a.lisp',
      line: 3,
      column: 2,
      source: null,
    },
  ],
}

test('a system is asked for by name, and forced only where that was said', async () => {
  const { kernel, works } = ending(LOADED_ALL)
  await run(loadSystem, { system: 'shop' }, { kernel })
  await run(loadSystem, { system: 'shop/tests', force: true }, { kernel })
  assert.equal(works, [
    { type: 'system', system: 'shop', force: false },
    { type: 'system', system: 'shop/tests', force: true },
  ])
})

test('which systems came in is said, what the compiler noted, and what was printed', async () => {
  const events = [{ type: 'output', stream: 'stdout', text: '; loading\n' }] as const
  const result = resultOf(await run(loadSystem, { system: 'shop' }, ending(LOADED_ALL, events)))
  assert.equal(result.added, ['alexandria', 'shop'])
  assert.is(
    loadSystem.show(result),
    [
      'loaded shop from /srv/shop/shop.asd, 1.2 s: 1 style warning',
      'added: alexandria, shop',
      'style warning: unused: X  /srv/shop/a.lisp:3:2',
      'stdout:',
      '; loading',
    ].join('\n'),
  )
  const silent = resultOf(
    await run(loadSystem, { system: 'shop' }, ending({ type: 'done', values: [], elapsed_ms: 5 })),
  )
  assert.is(loadSystem.show(silent), 'loaded shop, 5 ms\nno system was added')
})

test('a component that does not load is a failure which says what stays done', async () => {
  const error = errorOf(
    await run(loadSystem, { system: 'shop' }, ending({ type: 'raised', exception: RAISED, elapsed_ms: 1 })),
  )
  assert.is(error.code, 'exception')
  assert.match(error.next ?? '', 'stays loaded')
})

test('loading a system runs its files, and a person approves its name', () => {
  assert.is(loadSystem.level, 'cautious')
  assert.match(loadSystem.preview({ system: 'shop', force: true }).title, 'shop, all of it compiled anew')
})
