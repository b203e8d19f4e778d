import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { TOOLS } from '../../tools/index.ts'
import type { ToolError } from '../../tools/outcome.ts'
import { type AttachedLisp, openAttachedLisp } from '../support/attached-lisp.ts'
import { errorOf, resultOf } from '../support/calls-rig.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('bad input to the tools on a real Lisp', { limitMs: 60_000 })

const PROGRAM = `
(defpackage :shop (:use :cl) (:export #:total #:*rate*))
(defpackage :shop-web (:use :cl))
(defpackage "My Shop" (:use :cl))
(in-package :cl-user)
(defvar shop:*rate* 3)
(defvar shop::*hidden*)
(defclass shop::order () ((shop::lines :initarg :lines)))
(defun shop:total (order) order)
(defun shop::subtotal (order) order)
(defun shop::|weird name| () 1)
(defun shop::|a:b| () 2)
(defun shop::|Mixed| () 3)
(defun shop::größe () 4)
(defun shop::日本 () 5)
(defun |My Shop|::|open (now)| () 6)
`

let lisp: AttachedLisp

test.before(async () => {
  lisp = await openAttachedLisp()
  resultOf(await lisp.run('load_file', { path: lisp.put('program.lisp', PROGRAM) }))
})
test.after(() => lisp?.close())

/** The tools that take one name of whatever kind, and the parameter in which they do. */
const OF_NAMES = TOOLS.filter(
  ({ level, parameters, needs }) => level === 'safe' && needs.length > 0 && 'name' in parameters.shape,
).map(({ name }) => [name, 'name'] as const)
const NAMED = [...OF_NAMES, ['symbol_definition', 'symbols'] as const, ['inspect', 'expr'] as const]
const call = (tool: string, parameter: string, name: string) =>
  lisp.run(tool, { [parameter]: parameter === 'symbols' ? [name] : name })

interface Refused {
  readonly code: string
  readonly said: RegExp
  readonly nearest?: readonly string[]
}

function assertRefused(error: ToolError, { code, said, nearest }: Refused, asked: string): void {
  assert.is(error.code, code, `${asked}: ${error.message}`)
  assert.match(error.message, said)
  assert.ok(error.next, `${asked} was told no next step`)
  if (nearest === undefined) return
  const all = error.details.nearest as readonly string[]
  for (const name of nearest) {
    assert.ok(all.includes(name), `${asked}: ${name} is not among ${all.join(', ')}`)
    assert.ok(error.message.includes(name), error.message)
  }
}

test('names with bars, colons, blanks, brackets, cases and letters of all languages are found', async () => {
  const names = [
    '|weird name|',
    '|a:b|',
    '|Mixed|',
    'größe',
    'GRÖSSE'.replace('SS', 'ß'),
    '日本',
    '\\M\\i\\x\\e\\d',
  ]
  for (const name of [...names.map(each => `shop::${each}`), '|My Shop|::|open (now)|'])
    for (const tool of ['describe_symbol', 'function_arglist', 'who_calls', 'who_references'])
      assert.ok(resultOf(await call(tool, 'name', name)), `${tool} ${name}`)
  for (const name of ['shop::|a:b|', 'shop::größe', '|My Shop|::|open (now)|']) {
    const { markdown } = resultOf(await call('symbol_definition', 'symbols', name)) as { markdown: string }
    assert.match(markdown, /program\.lisp:\d+/)
    assert.ok(markdown.includes(`(defun ${name} ()`), markdown)
    assert.not.match(markdown, /A macro call made it/)
    assert.is((resultOf(await call('inspect', 'expr', name)) as { kind: string }).kind, 'callable')
  }
})

const MISSING: readonly (readonly [string, Refused])[] = [
  ['shop:totl', { code: 'not_found', said: /Nothing is called shop:totl\./, nearest: ['shop:total'] }],
  ['shop::gröse', { code: 'not_found', said: /Nothing is called shop::gröse\./, nearest: ['shop::größe'] }],
  ['shop::mixed', { code: 'not_found', said: /Nothing is called shop::mixed\./, nearest: ['shop::|Mixed|'] }],
  ['total', { code: 'not_found', said: /Nothing is called total\./, nearest: ['shop:total'] }],
  ['shp:total', { code: 'not_found', said: /Nothing is called package SHP\./, nearest: ['SHOP'] }],
  [
    'shop:subtotal',
    { code: 'not_found', said: /not external; with two colons/, nearest: ['shop::subtotal'] },
  ],
  [
    'shop::a:b',
    { code: 'invalid_args', said: /too many colons; one that is part of a name is written \|:\|/ },
  ],
  ['|open', { code: 'invalid_args', said: /bar has no second one/ }],
  ['shop::x\\', { code: 'invalid_args', said: /backslash/ }],
]

for (const [name, refused] of MISSING)
  test(`${name} is told by every tool that takes a name, with what is nearest`, async () => {
    assert.ok(NAMED.length >= 8)
    for (const [tool, parameter] of NAMED)
      assertRefused(errorOf(await call(tool, parameter, name)), refused, `${tool} ${name}`)
  })

test('a symbol that stands for nothing, or for something else, is told from one that is not there', async () => {
  assert.match(
    errorOf(await call('inspect', 'expr', 'shop::*hidden*')).message,
    /symbol is there, but it is unbound/,
  )
  assert.match(errorOf(await call('inspect', 'expr', 'cl:quote')).message, /names an operator/)
  assert.match(
    errorOf(await call('class_slots', 'name', 'shop:total')).message,
    /as a class: it is a function/,
  )
  assert.match(errorOf(await call('function_arglist', 'name', 'shop:*rate*')).message, /it names a variable/)
  const { facts } = resultOf(await call('describe_symbol', 'name', 'shop::*hidden*')) as { facts: string[] }
  assert.ok(facts.includes('unbound'))
})

test('a package that is not there is told by every tool that takes one, with what is nearest', async () => {
  const refused = { said: /package shp\b/i, nearest: ['SHOP'] }
  for (const [tool] of OF_NAMES)
    assertRefused(
      errorOf(await lisp.run(tool, { name: 'total', package: 'shp' })),
      { code: 'not_found', ...refused },
      tool,
    )
  for (const [tool, args] of [
    ['list_globals', {}],
    ['list_package_symbols', {}],
    ['apropos_search', { pattern: 'total' }],
  ] as const)
    assertRefused(
      errorOf(await lisp.run(tool, { ...args, package: 'shp' })),
      { code: 'not_found', ...refused },
      tool,
    )
  for (const [tool, args] of [
    ['eval_expr', { expr: '(print 1)' }],
    ['compile_form', { form: '(print 1)' }],
    ['macroexpand_form', { form: '(when 1 2)' }],
  ] as const) {
    const error = errorOf(await lisp.run(tool, { ...args, package: 'shp' }))
    assertRefused(error, { code: 'not_found', ...refused }, tool)
    assert.match(error.message, /Nothing was run/)
  }
  // In all the ways in which people write it.
  for (const name of ['shop', 'SHOP', ':shop', '#:shop', 'My Shop', '|My Shop|'])
    assert.ok(
      resultOf(await lisp.run('list_package_symbols', { package: name, include_internal: true })),
      name,
    )
})

/** What went wrong in code that ran, as it is told. */
async function raised(tool: string, args: object) {
  const { code, message, details } = errorOf(await lisp.run(tool, args))
  assert.is(code, 'exception', message)
  const { exception } = details as {
    exception: { notes?: string[]; traceback: string; restarts: { name: string; description: string }[] }
  }
  return { ...exception, message }
}

test('an unbound variable, an undefined function and a missing package are told with what is nearest', async () => {
  for (const [expr, said, nearest] of [
    ['shop::*rat*', /The variable SHOP::\*RAT\* is unbound/, /shop:\*rate\*/],
    ['(shop::totl 1)', /The function SHOP::TOTL is undefined/, /shop:total/],
    ['(shp:total 1)', /Package SHP does not exist/, /SHOP/],
  ] as const) {
    const { message, notes = [], traceback } = await raised('eval_expr', { expr })
    assert.match(message, said)
    assert.match(notes.join(), nearest)
    assert.match(traceback, nearest)
  }
})

test('code that cannot be read is told with the place where it begins, and none of it runs', async () => {
  for (const [expr, said] of [
    ['(shop:totl 1)', /line 1, column 1 cannot be read: .*"TOTL" is not external/],
    ['(print 1)\n  (+ 1', /ends within the form that begins at line 2, column 3/],
    ['(print 1)\n)', /line 2, column 1 cannot be read: unmatched close parenthesis/],
    ['#<broken>', /cannot be read/],
  ] as const)
    assert.match((await raised('eval_expr', { expr })).message, said)
})

test('what a locked package forbids is told as such, with the ways to go on, and is not done', async () => {
  for (const tool of ['eval_expr', 'compile_form']) {
    const { message, restarts } = await raised(tool, {
      [tool === 'eval_expr' ? 'expr' : 'form']: '(defun cl:car (x) x)',
    })
    assert.match(
      message,
      /symbol-package-locked-error: Lock on package COMMON-LISP violated when [\s\S]*\bCAR\b/,
    )
    assert.ok(restarts.some(({ description }) => description === 'Unlock the package.'))
    assert.ok(restarts.some(({ description }) => description === 'Ignore the package lock.'))
  }
  const made = resultOf(await lisp.run('compile_form', { form: '(defvar cl::no-such-variable 1)' }))
  assert.is(made.compiled, false)
  assert.match(
    JSON.stringify(made.diagnostics),
    /Lock on package COMMON-LISP violated when interning NO-SUCH-VARIABLE/,
  )
  assert.is(await lisp.ask("(funcall 'car (list 1 2))"), '1')
  assert.is(await lisp.ask('(not (find-symbol "NO-SUCH-VARIABLE" :cl))'), 'T')
})

test('a system, a test and a file that are not there are told, with what to do about it', async () => {
  mkdirSync(join(lisp.root, 'folder'))
  for (const [tool, args, said] of [
    ['load_system', { system: 'swnk' }, /no system swnk that ASDF can find\. Nearest: .*swank/],
    ['load_system', { system: 'no/such' }, /no system no\/such that ASDF can find/],
    ['run_tests', { target: 'no-such-suite' }, /called no-such-suite\. /],
    ['run_tests', { target: 'x', framework: 'parachute' }, /parachute is not loaded in this image\./],
    ['load_file', { path: 'none.lisp' }, /There is no file .*project\/none\.lisp\./],
    ['load_file', { path: 'folder' }, /folder is a folder\./],
    [
      'load_file',
      { path: 'program.lisp', names: ['totl'] },
      /does not define totl at its top level\. Nearest: .*total/,
    ],
  ] as const)
    assertRefused(
      errorOf(await lisp.run(tool, args)),
      { code: 'path' in args && args.path === 'folder' ? 'invalid_args' : 'not_found', said },
      tool,
    )
  const { error } = resultOf(await lisp.run('get_last_error', {})) as { error: { message: string } | null }
  assert.not.match(error?.message ?? '', /no system|no file|folder/)
})
