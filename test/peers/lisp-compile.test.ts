import { execFileSync } from 'node:child_process'
import { readdirSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Diagnostic, Raised } from '../../wire/kernel.ts'
import { assert, suite } from '../support/harness.ts'
import { lispImage } from '../support/lisp-image.ts'
import { openSlime, type Slime } from '../support/slime.ts'

const test = suite('compiling in a Lisp image, and the places of its code', { limitMs: 100_000 })
const lisp = lispImage(test)
const { folder } = lisp
let person: Slime

test.before(async () => {
  await lisp.define('(defpackage :shop (:use :cl) (:export #:total))')
  person = await openSlime(lisp.swank)
})
test.after(() => person?.close())

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

for (const [form, token, said] of [
  ['(defun f () (nosuchpkg:foo 1))', 'nosuchpkg:foo', 'NOSUCHPKG does not exist'],
  ['(defun f () (list cl:nosuch 2))', 'cl:nosuch', 'NOSUCH'],
  ['(list #<unreadable> 3)', '#<unreadable>', 'illegal sharp macro character'],
  ['(list #\\Nosuchchar)', '#\\Nosuchchar', 'Nosuchchar'],
  ['(list #zz 2)', '#zz', 'no dispatch function'],
  ['(list 1/0)', '1/0', 'ratio'],
  ['(list a . b c)', 'c', 'More than one object'],
] as const)
  test(`a reader’s error is placed where ${token} begins, in the second of three forms`, async () => {
    const { diagnostics } = await compile(`(defun e2-a () 1)\n  ${form}\n(defun e2-b () 2)`)
    assert.not.match(lisp.printed(), 'compilation unit')
    const { severity, line, column, source, message } = diagnostics[0] ?? {}
    assert.equal([severity, line, column, source], ['read_error', 2, 3 + form.indexOf(token), token])
    assert.match(message ?? '', said)
    assert.equal(await lisp.values("(list (fboundp 'e2-a) (fboundp 'e2-b))"), ['(nil nil)'])
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

/** A file as a person has it in an editor; what is evaluated begins at its line 6. */
const HEAD = ';;;; Wörter → before the code\n(in-package #:cl-user)\n\n(defvar *tax* 19)\n\n'
const CODE = `(defun total (orders)
  ;; (not here)
  (let ((sum (reduce #'+ orders)))
    (when (minusp sum)
      (list
        (error "total of ~a" orders)))
    \`(sum ,(1+ sum))))

(defmacro with-total ((name orders) &body body)
  \`(let ((,name (total ,orders)))
     (list ,@body)))

(defclass order () ((lines :initarg :lines)))

(defgeneric price (order))

(defmethod price ((it order))
  (let ((lines (slot-value it 'lines)))
    #+(or) (list (total 'never)) #| (total) |#
    (list 'quoted "((" #\\( '(total (total))
          (total lines))))

(defvar *orders* (list (list 1 2)))
`
const LINE = 6

const file = lisp.write('placed.lisp', HEAD + CODE)
test('a text that has a place is evaluated', async () => {
  assert.is((await lisp.run(CODE, { file, line: LINE })).type, 'done')
})

/** Where SLIME would go for M-. */
async function found(name: string): Promise<string> {
  const source = `(with-output-to-string (out)
    (loop for (nil (nil buffer position)) in (swank:find-definitions-for-emacs "${name}")
          do (format out "~{~a ~}~{~a ~}" (rest buffer) (rest position))))`
  return JSON.parse((await lisp.values(source))[0] ?? '""')
}

/** Where each frame stands, innermost last: the function, the line and its text. */
const places = ({ frames }: Raised) => frames.map(({ function: name, line, source }) => [name, line, source])

/** The character of the file at which that text begins, as Emacs counts. */
const position = (text: string) => (HEAD + CODE).indexOf(text) + 1

test('after an evaluation with a place, M-. leads to the definition in the file of the person', async () => {
  for (const [name, ...texts] of [
    ['total', '(defun total'],
    ['with-total', '(defmacro with-total'],
    ['order', '(defclass order'],
    ['price', '(defgeneric price', '(defmethod price'],
    ['*orders*', '(defvar *orders*'],
  ] as const) {
    const locations = await found(name)
    for (const text of texts) assert.match(locations, ` ${file} ${position(text)} 0`)
  }
})

test('what is no file, or a very large one, is not read for a place', async () => {
  const pipe = join(folder, 'pipe.lisp')
  // Nobody writes to it: whoever opens it to read waits.
  execFileSync('mkfifo', [pipe])
  assert.equal(await lisp.values('(+ 1 2)', { file: pipe, line: 1 }), ['3'])
  assert.equal(await lisp.values('(+ 1 2)', { file: '/dev/zero', line: 1 }), ['3'])
  const compiled = await lisp.run('(defun of-a-pipe () 1)', { work: 'compile', file: pipe, line: 3 })
  assert.is(compiled.type, 'done')
  const large = join(folder, 'large.lisp')
  writeFileSync(large, '    (defun of-a-large-file () 1)\n')
  truncateSync(large, 9 * 1024 * 1024)
  await lisp.run('(defun of-a-large-file () 1)', { file: large, line: 1 })
  assert.match(await found('of-a-large-file'), ` ${large} 1 0`)
})

test('frames of code with a place stand in its file, at the line of the very form', async () => {
  const error = await lisp.raised("(list (price (make-instance 'order :lines '(-1 -2))))")
  assert.equal(places(error), [
    ['(method price (order))', 26, '(total lines))))'],
    ['total', 11, '(error "total of ~a" orders)))'],
  ])
  assert.ok(error.frames.every(frame => frame.file === file))
  assert.match(error.traceback, `1: ((method price (order))`)
  assert.match(error.traceback, ` at ${file}:26`)
})

test('what the features of the image leave out is not counted, however they are combined', async () => {
  for (const [features, holds] of [
    ['(and sbcl (not nope))', true],
    ['(or nope (and sbcl (or nope common-lisp)))', true],
    ['(not (or nope (not sbcl)))', true],
    ['(not (and sbcl (not nope)))', false],
    ['(or)', false],
  ] as const) {
    const { frames } = await lisp.raised(
      `(defun chosen (x)\n  #${holds ? '+' : '-'}${features} (list (list 1) (list 2))\n` +
        `  #${holds ? '-' : '+'}${features} #+nope (list) (list (list 1) (list 2))\n` +
        '  (list 1 (car x)))\n(list (chosen 1))',
    )
    assert.is(frames[0]?.line, 4, features)
  }
})

test('what a macro expands to stands where the macro is called', async () => {
  const error = await lisp.raised("\n(list\n (with-total (sum '(-1))\n   sum))", { file, line: 100 })
  assert.equal(
    error.frames.map(frame => frame.line),
    [102, 11],
  )
})

test('a file that is not there, or not yet, gives lines all the same', async () => {
  const error = await lisp.raised('(defun far (x)\n  (list (car x)))\n\n(list\n  (far 1))', {
    file: '/nowhere/app.lisp',
    line: 40,
  })
  assert.equal(
    error.frames.map(frame => [frame.function, frame.file, frame.line]),
    [['far', '/nowhere/app.lisp', 41]],
  )
})

test('code that was typed in keeps its text, and its frames have their lines', async () => {
  const error = await lisp.raised('(defun typed (x)\n  (list x\n    (car x)))\n\n(list (typed 1))')
  assert.equal(places(error), [['typed', 3, '(car x)))']])
  assert.is(error.frames[0]?.file, null)
  const kept = await lisp.values(
    "(getf (sb-introspect:definition-source-plist (sb-introspect:find-definition-source #'typed)) :emacs-string)",
  )
  assert.equal(kept, ['"(defun typed (x)\\n  (list x\\n    (car x)))"'.replace(/\\n/g, '\n')])
})

test('lines of a file that has changed since are not guessed', async () => {
  const changed = join(folder, 'changed.lisp')
  writeFileSync(changed, '(defun was-here (x)\n  (list (car x)))\n')
  await lisp.run(`(load "${changed}")`)
  writeFileSync(changed, ';; another\n;; text\n(defun was-here (x)\n  (list (cdr x)))\n')
  await lisp.run(`(sb-posix:utime "${changed}" 0 0)`)
  const error = await lisp.raised('(list (was-here 1))')
  assert.equal(
    error.frames.map(frame => [frame.function, frame.file, frame.line, frame.source]),
    [['was-here', changed, null, null]],
  )
})

test('code that a person has compiled in Emacs stands in that file', async () => {
  const text = '(defun by-hand (x)\n  (list (car x)))'
  writeFileSync(join(folder, 'hand.lisp'), `;; one\n;; two\n${text}\n`)
  await lisp.run(
    `(swank/backend:swank-compile-string ${JSON.stringify(text).replace(/\\n/g, '\n')}
       :buffer "hand.lisp" :position 15 :filename "${join(folder, 'hand.lisp')}")`,
  )
  const error = await lisp.raised('(list (by-hand 1))')
  assert.equal(places(error), [['by-hand', 4, '(list (car x)))']])
})

test('taking a stack down reads no source with the reader of Lisp', async () => {
  await lisp.run(
    `(defun reads-once (x) (list #.(progn (incf (get :read :times 0)) 1) (car x) 'seen-only-here))`,
  )
  const error = await lisp.raised('(list (reads-once 1))')
  assert.is(error.frames[0]?.line, 1)
  assert.equal(await lisp.values('(get :read :times)'), ['1'])
})
