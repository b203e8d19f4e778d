import { execFileSync } from 'node:child_process'
import { truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Raised } from '../../wire/kernel.ts'
import { assert, suite } from '../support/harness.ts'
import { type LispListener, openListener } from '../support/lisp-listener.ts'
import { type RealSwank, startSwank } from '../support/swank.ts'
import { makeFolder } from '../support/temporary.ts'

const test = suite('places of Lisp code')
let swank: RealSwank
let lisp: LispListener
const folder = makeFolder()
const file = join(folder, 'shop.lisp')

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

test.before(async () => {
  writeFileSync(file, HEAD + CODE)
  swank = await startSwank()
  lisp = await openListener(swank)
  const ended = await lisp.run(CODE, { file, line: LINE })
  assert.is(ended.type, 'done')
})
test.after(() => {
  lisp?.end()
  swank?.kill()
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

test('a text that begins in the middle of its line is found there', async () => {
  const other = join(folder, 'middle.lisp')
  writeFileSync(other, '(list 1)\n(progn (defun in-the-middle () 1))\n')
  await lisp.run('(defun in-the-middle () 1)', { file: other, line: 2 })
  assert.match(await found('in-the-middle'), ` ${other} 17 0`)
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

test('what a placed evaluation loads has its own place', async () => {
  const loaded = join(folder, 'loaded.lisp')
  writeFileSync(loaded, '(in-package #:cl-user)\n\n(defun from-file (x)\n  (list\n    (car x)))\n')
  const fasl = join(folder, 'fasl.lisp')
  writeFileSync(fasl, '(in-package #:cl-user)\n\n\n(defun from-fasl (x)\n  (list (from-file x)))\n')
  await lisp.run(`(let ((one "${loaded}")) (load one) (load (compile-file "${fasl}")))`, { file, line: 1 })
  const error = await lisp.raised('(list (from-fasl 1))')
  assert.equal(
    error.frames.map(frame => [frame.file, frame.line, frame.source]),
    [
      [fasl, 5, '(list (from-file x)))'],
      [loaded, 5, '(car x)))'],
    ],
  )
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
