import { utimesSync, writeFileSync } from 'node:fs'
import type { Definition } from '../../wire/kernel.ts'
import { assert, suite } from '../support/harness.ts'
import { contents, lispImage } from '../support/lisp-image.ts'

const test = suite('what a Lisp image recorded when it compiled, beside what the file says now', {
  limitMs: 100_000,
})
const lisp = lispImage(test, { code: '(defpackage :rec (:use :cl))' })

let files = 0
let second = 1_700_000_000

/** Loads a file of that text, from source or compiled, and gives its path. */
async function loaded(text: string, how: 'source' | 'compiled' = 'source'): Promise<string> {
  const file = lisp.write(`recorded-${++files}.lisp`, text)
  utimesSync(file, second, second)
  await lisp.ask(how === 'source' ? `(load "${file}")` : `(load (compile-file "${file}"))`)
  return file
}

function edit(file: string, text: string): void {
  writeFileSync(file, text)
  second += 100
  utimesSync(file, second, second)
}

const define = (name: string): Promise<Definition> => lisp.found('definition', { name })
const from = ({ current, proof }: Definition) => [current, proof?.from]

test('a definition that an edit has only moved is what runs, on its line of now', async () => {
  const file = await loaded('(defun r-stays (x) (list x 1)) (defun r-goes () 1)')
  edit(file, ';;; new\n(defvar *r-new* 1)\n(defun r-stays (x)\n  ;; a word\n  (list x 1))\n')
  const found = await define('r-stays')
  assert.equal([...from(found), found.line], [true, 'file', 3])
  assert.match(found.notes.join(), 'The file has changed since it was loaded, and this has not.')
})

test('of one whose text is another now, the form that was kept is shown, and never the text', async () => {
  const file = await loaded('(defun r-price (x) "Price." (list x 19))\n(defun r-gone () 3)\n')
  edit(file, '\n\n(defun r-price (x) "Price." (list x 22))\n')
  const found = await define('r-price')
  assert.equal([...from(found), found.line, found.proof?.line], [true, 'form', null, 3])
  assert.is(found.source?.text.replace(/\s+/g, ' '), '(defun r-price (x) "Price." (list x 19))')
  assert.match(found.notes.join(), 'another text of that name is on line 3 now')
  const gone = await define('r-gone')
  assert.equal(
    [...from(gone), gone.source?.text, gone.proof?.line],
    [true, 'form', '(defun r-gone () 3)', null],
  )
})

test('of compiled files nothing is kept: what cannot be told is said, and why', async () => {
  const file = await loaded(
    '(defun r-flat (x) (list x 1)) (defun r-takes (x) (list x)) (defvar *r-var* 1) (defun r-lost () 1)',
    'compiled',
  )
  edit(file, '(defun r-flat (x) (list x 2)) (defun r-takes (x y) (list x y)) (defvar *r-var* 2)')
  const flat = await define('r-flat')
  assert.equal(from(flat), [null, null])
  assert.match(flat.proof?.because ?? '', 'cannot be told: the file was written after')
  assert.equal(from(await define('*r-var*')), [null, null])
  const takes = await define('r-takes')
  assert.equal([...from(takes), takes.proof?.because], [false, null, 'The image runs one that takes (x).'])
  const lost = await define('r-lost')
  assert.equal([lost.source, lost.current], [null, false])
  assert.match(lost.because ?? '', 'does not define it any more')
})

test('the text that Swank kept of a compiled file is what runs, whatever the file says now', async () => {
  const file = await loaded('(defun r-kept (x)\n  (list x 1)) ; tail\n(defvar *r-kept* 1)\n', 'compiled')
  await lisp.ask(`(swank/source-file-cache:source-cache-get "${file}" (file-write-date "${file}"))`)
  edit(file, ';;; one\n(defun r-kept (x) (list x 2))\n(defvar *r-kept* 1)\n')
  const found = await define('r-kept')
  assert.equal([...from(found), found.proof?.line], [true, 'as compiled', 2])
  assert.is(found.source?.text, '(defun r-kept (x)\n  (list x 1))')
  const moved = await define('*r-kept*')
  assert.equal([...from(moved), moved.line], [true, 'file', 3])
})

test('a text that was looked at before the edit is kept', async () => {
  const file = await loaded('(defun r-seen (x) (list x 1)) (defclass r-class () (a))', 'compiled')
  assert.equal(from(await define('r-seen')), [true, 'file'])
  edit(file, '(defun r-seen (x) (list x 2)) (defclass r-class () (a b))')
  assert.equal((await define('r-seen')).source?.text, '(defun r-seen (x) (list x 1))')
  const found = await define('r-class')
  assert.equal([...from(found), found.source?.text], [true, 'as compiled', '(defclass r-class () (a))'])
})

test('an edit that has left the date of the file is seen where the form was kept', async () => {
  const file = await loaded('(defun r-dated () 1)')
  writeFileSync(file, '(defun r-dated () 2)')
  utimesSync(file, second, second)
  assert.equal((await define('r-dated')).source?.text, '(defun r-dated () 1)')
})

test('an edit that has left the date of a compiled file is seen where its text was kept, or it takes others', async () => {
  const file = await loaded('(defun r-same (x) (list x 1)) (defun r-other (x) x)', 'compiled')
  assert.equal((await define('r-same')).source?.text, '(defun r-same (x) (list x 1))')
  writeFileSync(file, '(defun r-same (x) (list x 2)) (defun r-other (x y) (list x y))')
  utimesSync(file, second, second)
  const kept = await define('r-same')
  assert.equal([...from(kept), kept.source?.text], [true, 'as compiled', '(defun r-same (x) (list x 1))'])
  const unseen = await loaded('(defun r-unseen (x) x)', 'compiled')
  writeFileSync(unseen, '(defun r-unseen (x y) (list x y))')
  utimesSync(unseen, second, second)
  const found = await define('r-unseen')
  assert.equal([...from(found), found.proof?.because], [false, null, 'The image runs one that takes (x).'])
})

test('of a file as it was loaded, all that can be written in Lisp is what runs, loaded either way', async () => {
  const names = ['macro', 'whole', 'keys', 'dotted', 'auxes', 'traps', 'setter']
  const text = `(defmacro x-macro (&environment env (a . b) &body c) "Doc." (list env a b c))
(defmacro x-whole (&whole w a) (list w a))
(defun x-keys (&optional (a 1.5d0 ap) &key ((:b c) #.(+ 1 2)) &allow-other-keys) "Doc." (declare (ignorable ap)) (list a c ap))
(defmacro x-dotted (a . b) (declare (ignorable a)) (list a b))
(defun x-auxes (&rest r &aux (n (length r))) (declare (fixnum n)) "n" n)
(defun x-traps () #+sbcl (list '#(1 2) #\\a #c(1 2) :k '|x y| #*101 "a\\"b") #-sbcl 2)
(define-modify-macro x-setter (n) +)
`
  for (const how of ['source', 'compiled'] as const) {
    await loaded(text, how)
    for (const name of names) {
      const found = await define(`x-${name}`)
      assert.equal(from(found), [true, 'file'], `${how}: ${JSON.stringify(found)}`)
    }
  }
})

test('methods and all else that a name is say for themselves whether they are what runs', async () => {
  const file = await loaded(
    '(defclass r-shape () ()) (defgeneric r-area (it)) (defmethod r-area ((it r-shape)) (list it 1))' +
      '(defmethod r-area :around ((it integer)) (call-next-method))',
  )
  edit(
    file,
    '(defclass r-shape () ()) (defgeneric r-area (it &key)) (defmethod r-area ((it r-shape)) (list it 2))' +
      '(defmethod r-area :around ((it integer)) (call-next-method))',
  )
  const { current, parts = [] } = await define('r-area')
  assert.is(current, null)
  const told = parts.map(({ current, proof, source }) => [current, proof?.from, source?.text])
  assert.equal(told.sort(), [
    [true, 'file', '(defmethod r-area :around ((it integer)) (call-next-method))'],
    [true, 'form', '(defmethod r-area ((it r-shape)) (list it 1))'],
  ])
})

/** Whether the second of two texts of one definition reads as the first. */
const SAME: readonly (readonly [was: string, is: string])[] = [
  ['(defun NAME (x) (list x))', '(DEFUN NAME (x) ; so\n  #| or |# (List X))'],
  [
    '(defun NAME (x) "Doc." (declare (fixnum x)) (list x))',
    '(defun NAME (x)\n "Doc."\n (declare (fixnum x)) (list x))',
  ],
  ['(defun NAME (&key (a 1.50) (b #\\a)) (list a b))', '(defun NAME (&key (a 1.5) (b #\\a)) (list a b))'],
  ["(defun NAME () '(a . (b)))", '(defun NAME () (quote (a b)))'],
  ['(defun NAME (x) `(a ,x ,@x #\\b))', '(defun NAME (x) `(a ,x ,@x  #\\b))'],
  ["(defun NAME () (list #'car #xFF :k '|a b|))", "(defun NAME () (list #'car #xff :k '|a b|))"],
  [
    '(defmacro NAME (a &body b) "Doc." `(progn ,a ,@b))',
    '(defmacro NAME (a &body b)\n "Doc."\n `(progn ,a ,@b))',
  ],
  ['(defun NAME (x) (cl:list x 1/2))', '(defun NAME (x) (list x 1/2))'],
  ['(defun NAME () "text")', '(defun NAME ()\n"text")'],
  ['(defun NAME ())', '(defun NAME ( ))'],
  ['(defmacro NAME ((a &key b) . c) (list a b c))', '(defmacro NAME ((a &key b) . c)\n(list a b c))'],
  ['(let ((q 1)) (defun NAME (x) (list x q)))', '(let ((q 1))\n(defun NAME (x) (list x q)))'],
  ['(defun NAME (x) (declare) x)', '(defun NAME (x) (declare) x)'],
]
const OTHER: readonly (readonly [was: string, is: string])[] = [
  ['(defun NAME () 1)', '(defun NAME () 1.0)'],
  ['(defun NAME () 1.0)', '(defun NAME () 1.0d1)'],
  ['(defun NAME () (list 1 2))', '(defun NAME () (list 1))'],
  ['(defun NAME () (list 1))', '(defun NAME () (list 1 2))'],
  ['(defun NAME () "Doc." 1)', '(defun NAME () 1)'],
  ['(defun NAME (x) (declare (fixnum x)) x)', '(defun NAME (x) x)'],
  ["(defun NAME () '|a|)", "(defun NAME () 'b)"],
  ['(defun NAME () "a")', '(defun NAME () #\\a)'],
  ['(defun NAME (x) `(a ,x))', '(defun NAME (x) `(a ,@x))'],
  ["(defun NAME () #'car)", "(defun NAME () #'cdr)"],
  ['(defun NAME (x) x)', '(defun NAME (x y) x)'],
  ['(defmacro NAME (a) `(list ,a))', '(defmacro NAME (a) `(vector ,a))'],
  ['(defun NAME () #xFF)', '(defun NAME () 256)'],
  ["(defun NAME () 'rec::mine)", "(defun NAME () 'rec::yours)"],
  // What only the reader can tell is not said to be the same.
  ["(defun NAME () '(1 2))", "(defun NAME () '#.(list 1 2))"],
  ["(defun NAME () 'rec::mine)", "(defun NAME () 'mine)"],
  ['(defun NAME () 1)', '(defun NAME () #+sbcl 1 #-sbcl 2 3)'],
]

for (const [list, expected] of [
  [SAME, 'file'],
  [OTHER, 'form'],
] as const)
  test(`an edit is told from another layout: ${expected === 'file' ? 'the same' : 'another'} code`, async () => {
    for (const [index, [was, is]] of list.entries()) {
      const name = `r-${expected}-${index}`
      const file = await loaded(was.replace('NAME', name))
      edit(file, `;;; above\n${is.replace('NAME', name)}`)
      const found = await define(name)
      assert.equal(from(found), [true, expected], `${is}: ${JSON.stringify(found)}`)
    }
  })

test('names are those of the package that the file says, and a macro of the name of defun is none', async () => {
  const head = '(defpackage :rec-one (:use :cl) (:shadow #:defun))\n(in-package :rec-one)\n'
  const macro = '(defmacro defun (name value) `(cl:defun ,name () ,value))\n'
  const file = await loaded(`${head}${macro}(defun made 1)\n(cl:defun named () 'it)\n`)
  edit(file, `\n${head}${macro}(defun made 2)\n(cl:defun named () 'it)\n`)
  assert.equal(from(await define('rec-one::named')), [true, 'file'])
  const made = await define('rec-one::made')
  assert.equal([...from(made), made.source?.text], [true, 'form', '(defun rec-one::made () 1)'])
})

test('a text that would run code, or never ends, is compared without either', async () => {
  const file = await loaded('(defun r-evil (x) (list x))')
  edit(
    file,
    `(defun r-evil (x) (list #.(setf (get 'r-evil 'ran) t) ${"'".repeat(20_000)}${'('.repeat(20_000)}`,
  )
  assert.equal(from(await define('r-evil')), [true, 'form'])
  assert.is(await lisp.ask("(get 'r-evil 'ran)"), 'NIL')
  const tied = await loaded("(defun r-tied () '#1=(1 . #1#))")
  edit(tied, `(defun r-tied () '(${'1 '.repeat(5000)}))`)
  assert.is((await define('r-tied')).current, true)
})

test('inspect of a function shows what runs, and says so where that is not the text of the file', async () => {
  const file = await loaded('(defun r-look (x) (list x 1))')
  edit(file, '(defun r-look (x) (list x 2))')
  const form = contents((await lisp.inspect("#'r-look")).callable)
  assert.is(form.source_preview, '(defun r-look (x) (list x 1))')
  assert.match(
    form.proof_note ?? '',
    'The file has changed since; another text of that name is on line 1 now',
  )
  const compiled = await loaded('(defun r-looks (x) (list x 1))', 'compiled')
  edit(compiled, '(defun r-looks (x y) (list x y))')
  const differs = contents((await lisp.inspect("#'r-looks")).callable)
  assert.equal([differs.source_preview, differs.proof?.from], [null, null])
  edit(compiled, '(defun r-looks (x) (list x 2))')
  assert.match(contents((await lisp.inspect("#'r-looks")).callable).proof_note ?? '', 'cannot be told')
})

test('a line in a file that has changed since is not guessed for who calls', async () => {
  const file = await loaded('(defun r-called () 1)\n(defun r-calls () (list (r-called)))', 'compiled')
  const place = async () =>
    (await lisp.found('references', { name: 'r-called', relations: ['calls'] })).references.map(
      one => one.line,
    )
  assert.equal(await place(), [2])
  edit(file, '\n\n\n(defun r-called () 1)\n(defun r-calls () (list (r-called)))')
  assert.equal(await place(), [null])
})
