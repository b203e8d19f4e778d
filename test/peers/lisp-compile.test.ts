import { readdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Diagnostic } from '../../wire/kernel.ts'
import { assert, suite } from '../support/harness.ts'
import { type LispListener, openListener } from '../support/lisp-listener.ts'
import { openSlime, type Slime } from '../support/slime.ts'
import { type RealSwank, startSwank } from '../support/swank.ts'
import { makeFolder, removeFolder } from '../support/temporary.ts'

const test = suite('compiling and expanding in a Lisp image')
const folder = makeFolder()
let swank: RealSwank
let lisp: LispListener
let person: Slime

test.before(async () => {
  swank = await startSwank({ forms: ['(defpackage :shop (:use :cl) (:export #:total))'] })
  lisp = await openListener(swank)
  person = await openSlime(swank)
})
test.after(async () => {
  await person?.close()
  lisp?.end()
  swank?.kill()
  removeFolder(folder)
})

async function compile(source: string, more: Record<string, string | number> = {}) {
  const ended = await lisp.run(source, { work: 'compile', ...more })
  if (ended.type !== 'done') throw new Error(JSON.stringify(ended))
  return { diagnostics: ended.diagnostics ?? [], package: ended.package, loaded: ended.loaded }
}

const brief = ({ severity, line, column, source }: Diagnostic) => [severity, line, column, source]

test('each note of the compiler has its severity, its line and column, and the form as it was written', async () => {
  const { diagnostics } = await compile('(defun area (r) (* pi rr))\n\n(defun other ()\n  (area 1 2))')
  assert.equal(diagnostics.map(brief), [
    ['style_warning', 1, 1, '(defun area (r) (* pi rr))'],
    ['warning', 4, 3, '(area 1 2)'],
    ['warning', 1, 17, '(* pi rr)'],
  ])
  assert.match(
    diagnostics.map(one => one.message).join('\n'),
    /R is defined but never used.*\n.*two arguments/,
  )
  for (const { file } of diagnostics) assert.is(file, null)
})

test('what cannot be compiled is an error at its place, and the rest is loaded', async () => {
  const { diagnostics } = await compile(
    '(defun good () :good)\n(defmacro bad () (error "in the macro"))\n(defun uses () (bad))\n(defun h () (let ((x)) (if)))',
  )
  const errors = diagnostics.filter(one => one.severity === 'error')
  assert.equal(errors.map(brief), [
    ['error', 3, 16, '(bad)'],
    ['error', 4, 24, '(if)'],
  ])
  assert.match(errors[0]?.message ?? '', /in the macro/)
  assert.equal(await lisp.values('(good)'), [':good'])
})

test('an error that the code itself handles while it is compiled is none of the compiler’s', async () => {
  const { diagnostics } = await compile(
    '(defmacro careful () (handler-case (error "handled") (error () 3)))\n(defun c () (careful))',
  )
  assert.equal(diagnostics, [])
  assert.equal(await lisp.values('(c)'), ['3'])
})

test('what cannot be read is told with its place, and nothing of the text runs', async () => {
  const ended = await compile('(defparameter *ran* t)\n\n(defun broken (x)')
  assert.equal(ended.diagnostics.map(brief), [['read_error', 3, 1, '(defun broken (x)']])
  const extra = await compile('(defparameter *ran* t)\n  (list 1))')
  assert.equal(
    extra.diagnostics.map(one => [one.severity, one.line]),
    [['read_error', 2]],
  )
  assert.match(extra.diagnostics[0]?.message ?? '', /unmatched close parenthesis/)
  assert.equal(await lisp.values("(boundp '*ran*)"), ['nil'])
  const unknown = await compile('(defun f () (nowhere:g))')
  assert.is(unknown.diagnostics[0]?.severity, 'read_error')
  assert.match(unknown.diagnostics[0]?.message ?? '', /NOWHERE/)
})

test('what loading raises is raised at its line in the person’s file, after what the compiler had to say', async () => {
  const file = join(folder, 'raising.lisp')
  const ended = await lisp.run('(defun unused (x) 1)\n(warn "careful")\n(error "at load")', {
    work: 'compile',
    file,
    line: 30,
  })
  if (ended.type !== 'raised') throw new Error('it has not raised')
  assert.is(ended.exception.message, 'at load')
  const [frame] = ended.exception.frames.slice(-1)
  assert.equal([frame?.file, frame?.line], [file, 32])
  assert.equal(
    ended.diagnostics?.map(one => [one.severity, one.file, one.line]),
    [
      ['style_warning', file, 30],
      ['warning', null, null],
    ],
  )
})

test('after compiling with file and line, M-. in SLIME leads to the person’s file', async () => {
  const file = join(folder, 'area.lisp')
  const text = ';; A file of ü.\n(in-package :shop)\n\n(defun before () 1)\n(defun total (x)\n  (* x x))\n'
  writeFileSync(file, text)
  await compile('(defun total (x)\n  (* x x))', { file, line: 5, package: 'shop' })
  const found = await person.ask('(swank:find-definitions-for-emacs "shop:total")')
  const at = text.indexOf('(defun total') + 1
  assert.match(found, file)
  assert.match(found, new RegExp(`:offset ${at} 0|:position ${at}\\b`, 'i'))
  assert.match(found, /:snippet "\(defun total/i)
  // An editor looks for a buffer of that name first: none may be called so.
  assert.match(found, /:buffer-and-file "" /i)
})

test('what a second form of the text defines is found where that stands', async () => {
  const file = join(folder, 'second.lisp')
  const text = '\n\n(defun one () 1)\n\n(defun two ()\n  2)\n'
  writeFileSync(file, text)
  await compile('(defun one () 1)\n\n(defun two ()\n  2)', { file, line: 3 })
  const found = await person.ask('(swank:find-definitions-for-emacs "cl-user::two")')
  const offset = /:offset (\d+) (\d+)/i.exec(found)
  assert.is(Number(offset?.[1]) + Number(offset?.[2]), text.indexOf('(defun two') + 1)
})

test('code without a file is compiled as what was typed in, and no file is left behind', async () => {
  await compile('(defun typed-in () 1)')
  const found = await person.ask('(swank:find-definitions-for-emacs "cl-user::typed-in")')
  assert.not.match(found, /:file /i)
  assert.match(found, /\(defun typed-in/)
  assert.equal(
    readdirSync(tmpdir()).filter(name => name.startsWith('slime')),
    [],
  )
})

test('what was compiled without a file is said to have been typed in, by every look', async () => {
  await compile('(defun typed-too (x) "Twice." (* 2 x))')
  const { definition, place } = {
    definition: await lisp.look('definition', { name: 'typed-too' }),
    place: await lisp.look('describe', { name: 'typed-too' }),
  }
  assert.equal([definition.origin, definition.file, definition.line], ['typed', null, null])
  assert.equal(definition.source?.text, '(defun typed-too (x) "Twice." (* 2 x))')
  assert.equal([place.file, place.line], [null, null])
})

test('what was defined is told by name, apart from what it has replaced', async () => {
  const first = await compile('(defun named-first () 1)\n(defvar *named* 2)')
  assert.equal([first.loaded?.added, first.loaded?.replaced], [['named-first', '*named*'], []])
  const again = await compile('(defun named-first () 2)\n(defmethod named-later :after ((x integer)) x)')
  assert.equal(
    [again.loaded?.added, again.loaded?.replaced],
    [['named-later :after (integer)'], ['named-first']],
  )
})

test('what the compiler says is told once: it is not printed, and no file of ours is named', async () => {
  for (const source of ['(defun told-once () (if))', '(defun told-once () (nowhere))', '(if)']) {
    const begun = lisp.begin(source, { work: 'compile' })
    const ended = await begun.result
    const said = ended.type === 'done' || ended.type === 'raised' ? ended.diagnostics : undefined
    assert.ok(said !== undefined && said.length > 0, source)
    assert.is(begun.text(), '', source)
    assert.not.match(JSON.stringify(said), tmpdir())
  }
})

test('the package is the one that was named, and an in-package of the text holds for the text', async () => {
  assert.is((await compile('(defun inside () *package*)', { package: 'Shop' })).package, 'COMMON-LISP-USER')
  assert.equal(await lisp.values("(fboundp 'shop::inside)"), ['#<function shop::inside>'])
  const { package: after } = await compile('(in-package :shop)\n(defun second-one () 1)')
  assert.is(after, 'COMMON-LISP-USER')
  assert.equal(await lisp.values("(and (fboundp 'shop::second-one) t)"), ['t'])
  const missing = await lisp.refused('(f)', { work: 'compile', package: 'shpo' })
  assert.equal([missing.reason, missing.what, missing.nearest?.[0]], ['not_found', 'shpo', 'SHOP'])
})

test('what macros print while they expand is output, and the compiler’s own chatter is not', async () => {
  const begun = lisp.begin(
    '(defmacro shout () (format t "out~%") (format *error-output* "err~%") 1)\n(defun s (unused) (shout))',
    { work: 'compile' },
  )
  await begun.result
  assert.is(begun.text('stdout'), 'out\n')
  assert.match(begun.text('stderr'), /^err\n/)
  assert.not.match(begun.text(), /never used|compiling file|wrote/)
})

test('a macro that is new is not said to be defined again', async () => {
  assert.equal((await compile('(defmacro brand-new () 1)')).diagnostics, [])
})

test('hostile texts are text: no argument can become a form of ours', async () => {
  for (const hostile of [
    '") (setf cl-user::*hit* t) ("',
    '#.(setf cl-user::*hit* t)',
    '|',
    "'(",
    ':',
    '\\',
  ]) {
    await lisp.run('(defun f () 1)', { work: 'compile', file: hostile, line: 1 })
    await lisp.run('(defun f () 1)', { work: 'compile', package: hostile })
    await lisp.run('(f)', { work: 'expand', fully: true, package: hostile })
  }
  assert.equal(await lisp.values("(boundp 'cl-user::*hit*)"), ['nil'])
})

async function expand(source: string, more: Record<string, string | boolean> = {}) {
  const ended = await lisp.run(source, { work: 'expand', fully: false, ...more })
  if (ended.type !== 'done') throw new Error(JSON.stringify(ended))
  const [value] = ended.values
  return { text: value?.repr.text, note: value?.preview, count: ended.values.length }
}

test('a macro form is expanded once, or with all forms in it, and printed as SLIME prints it', async () => {
  await lisp.run('(defmacro twice (x) `(progn ,x ,x))\n(defmacro four (x) `(twice (twice ,x)))')
  assert.equal(await expand('(four (f))'), { text: '(TWICE (TWICE (F)))', note: undefined, count: 1 })
  const { text } = await expand('(four (f))', { fully: true })
  assert.is(text?.replace(/\s+/g, ' '), '(PROGN (PROGN (F) (F)) (PROGN (F) (F)))')
  assert.is(
    (await expand('(four (f))', { package: 'shop' })).note,
    'no macro form: this is the form as it was read',
  )
  assert.is((await expand('(when a b)', { package: 'shop' })).text, '(IF A\n    B)')
})

test('what the expansion would do is not done', async () => {
  await lisp.run('(defvar *done* nil)')
  await expand('(when t (setf *done* t))', { fully: true })
  assert.equal(await lisp.values('*done*'), ['nil'])
})

test('the form is one: none, two and half a form are refused, and say where', async () => {
  assert.match((await lisp.refused(' ; nothing', { work: 'expand', fully: false })).message, /holds none/)
  const two = await lisp.refused('(when #.(setf cl-user::*hit* t) b)\n(f)', { work: 'expand', fully: false })
  assert.match(two.message, /second begins at line 2, column 1/)
  const half = await lisp.raised('(when #.(setf cl-user::*hit* t) b', { work: 'expand', fully: false })
  assert.match(half.message, /begins at line 1, column 1/)
  assert.equal(await lisp.values("(boundp 'cl-user::*hit*)"), ['nil'])
})

test('reading a form runs what it tells the reader to run: that is why macroexpand_form is cautious', async () => {
  await lisp.run('(defvar *read* 0)')
  await expand('(when #.(incf *read*) b)')
  assert.equal(await lisp.values('*read*'), ['1'])
})

test('a long expansion is cut, and leads to the rest', async () => {
  const ended = await lisp.run(`(when a ${'(f) '.repeat(20_000)})`, { work: 'expand', fully: false })
  if (ended.type !== 'done') throw new Error('it has not ended well')
  const repr = ended.values[0]?.repr
  assert.is(repr?.truncated, true)
  assert.is(repr?.text.length, 20_000)
  const piece = await lisp.look('more', { handle: repr?.handle ?? '', from: 20_000, count: 10 })
  assert.is(piece.type, 'text')
})
