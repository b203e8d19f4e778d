import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Loaded } from '../../wire/kernel.ts'
import type { Arguments } from '../../wire/swank/peer.ts'
import { assert, suite } from '../support/harness.ts'
import { type LispListener, openListener } from '../support/lisp-listener.ts'
import { openSlime, type Slime } from '../support/slime.ts'
import { type RealSwank, startSwank } from '../support/swank.ts'
import { makeFolder, removeFolder } from '../support/temporary.ts'

const test = suite('loading files into a Lisp image')
const folder = makeFolder()
let swank: RealSwank
let lisp: LispListener
let person: Slime

const SHOP = `;;; A shop, with ü in it.
(defpackage :shop (:use :cl) (:export #:total))
(in-package :shop)
(defvar *rate* 19)
(defparameter *limit* 3)
(defclass order () ((lines :initarg :lines :accessor lines)))
(defstruct (gift (:conc-name g-)) name)
#+no-such-feature (defun absent () 1)
#-no-such-feature
(defun total (order) (reduce #'+ (lines order)))
(defun (setf total) (new order) (setf (lines order) (list new)))
(defmacro twice (x) \`(+ ,x ,x))
(defgeneric area (shape))
(defmethod area ((shape order)) 1)
(defmethod area :around ((shape (eql 3))) 1)
(when nil (defun never-defined () 1))
(defparameter *evil* (progn (incf cl-user::*count*) nil))
`
const file = (name: string, text: string) => {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

test.before(async () => {
  swank = await startSwank({ forms: ['(defvar cl-user::*count* 0)'] })
  lisp = await openListener(swank)
  person = await openSlime(swank)
})
test.after(async () => {
  await person?.close()
  lisp?.end()
  swank?.kill()
  removeFolder(folder)
})

async function load(path: string, more: Arguments = {}) {
  const ended = await lisp.run('', { work: 'load', file: path, ...more })
  if (ended.type !== 'done' || ended.loaded === undefined) throw new Error(JSON.stringify(ended))
  return { ...ended.loaded, diagnostics: ended.diagnostics ?? [], package: ended.package }
}

const refused = async (path: string, more: Arguments = {}) =>
  await lisp.refused('', { work: 'load', file: path, ...more })

test('what a file defines is told by name: what is new, and what takes the place of another', async () => {
  const path = file('shop.lisp', SHOP)
  const first = await load(path)
  assert.equal([first.module, first.file, first.replaced], ['SHOP', path, []])
  assert.equal(first.added, [
    'package SHOP',
    'shop::*rate*',
    'shop::*limit*',
    'shop::order',
    'shop::gift',
    'shop:total',
    '(setf shop:total)',
    'shop::twice',
    'shop::area',
    'shop::area (shop::order)',
    'shop::area :around ((eql 3))',
    'shop::*evil*',
  ])
  const again = await load(path)
  assert.equal(again.added, [])
  // A variable that is bound is left alone by defvar.
  assert.equal(
    again.replaced,
    first.added.filter(name => name !== 'shop::*rate*'),
  )
})

test('the file’s in-package holds for the file: the package in force stays as it was', async () => {
  assert.is(
    (await load(file('packaged.lisp', '(in-package :shop)\n(defun p () 1)'))).package,
    'COMMON-LISP-USER',
  )
  assert.equal(await lisp.values('(package-name *package*)'), ['"COMMON-LISP-USER"'])
})

test('only the definitions that are named are loaded, in their package, and each keeps its place', async () => {
  const text = SHOP.replace("(reduce #'+ (lines order))", ':changed')
  const path = file('shop.lisp', text)
  const before = await lisp.values('cl-user::*count*')
  const loaded: Loaded = await load(path, { names: ['total', '(SETF total)', 'shop::area'] })
  assert.is(loaded.module, 'SHOP')
  assert.equal(loaded.replaced, [
    'shop:total',
    '(setf shop:total)',
    'shop::area',
    'shop::area (shop::order)',
    'shop::area :around ((eql 3))',
  ])
  assert.equal(await lisp.values('(shop:total nil)'), [':changed'])
  assert.equal(await lisp.values('cl-user::*count*'), before)
  const found = await person.ask('(swank:find-definitions-for-emacs "shop:total")')
  assert.match(found, new RegExp(`:offset ${text.indexOf('(defun total') + 1} 0`, 'i'))
})

test('of names that the file does not define nothing is loaded, and the answer says what is like them', async () => {
  const path = file('two.lisp', '(defun one-1 () :new)\n(defun two-2 () :new)')
  const { reason, message, nearest } = await refused(path, { names: ['one-1', 'tow-2'] })
  assert.match(message, /does not define tow-2 at its top level/)
  assert.equal([reason, nearest?.[0]], ['not_found', 'two-2'])
  assert.equal(await lisp.values("(fboundp 'one-1)"), ['nil'])
})

test('a definition that is taken from its own file again is no redefinition, however it is loaded', async () => {
  const said = (loaded: { diagnostics: readonly { severity: string }[] }) =>
    loaded.diagnostics.map(({ severity }) => severity)
  await lisp.run('(defun redefined () :typed)')
  const path = file('redefined.lisp', '(in-package :cl-user)\n(defun redefined () :filed)')
  assert.equal(said(await load(path)), ['redefinition'])
  assert.equal(said(await load(path)), [])
  const loaded = await load(path, { names: ['redefined'] })
  assert.equal([loaded.replaced, said(loaded)], [['redefined'], []])
  assert.equal(said(await load(path, { names: ['redefined'] })), [])
  await lisp.run('(defun redefined () :typed)')
  assert.equal(said(await load(path, { names: ['redefined'] })), ['redefinition'])
})

test('what is not asked for is not even read: neither its packages nor its code for the reader', async () => {
  const path = file(
    'unreadable.lisp',
    '(defun wanted-3 () 3)\n(defun f () (nowhere:g #.(setf cl-user::*hit* t)))\n(print #.(setf cl-user::*hit* t))',
  )
  assert.equal((await load(path, { names: ['wanted-3'] })).added, ['wanted-3'])
  assert.equal(await lisp.values("(boundp 'cl-user::*hit*)"), ['nil'])
})

test('what the compiler says of a file comes with its place there', async () => {
  const path = file('noted.lisp', '(in-package :cl-user)\n\n(defun noted (x)\n  (+ yy 1))\n')
  const { diagnostics } = await load(path)
  assert.equal(
    diagnostics.map(one => [one.severity, one.file, one.line, one.column]),
    [
      ['style_warning', path, 3, 1],
      ['warning', path, 4, 3],
    ],
  )
})

test('a file that breaks off, or raises, says where; what ran before stays done', async () => {
  const cut = file('broken.lisp', '(defun fine-4 () 4)\n\n(defun broken (')
  const broken = await lisp.raised('', { work: 'load', file: cut })
  assert.match(broken.message, /end of file.*line: 3/is)
  assert.equal(await lisp.values('(fine-4)'), ['4'])
  const path = file('deep.lisp', '(defun shallow () 1)\n\n(defun deep (x)\n  (car x))\n(deep 7)\n')
  const begun = lisp.begin('', { work: 'load', file: path })
  const ended = await begun.result
  if (ended.type !== 'raised') throw new Error('it has not raised')
  const [frame] = ended.exception.frames.slice(-1)
  assert.equal([frame?.function, frame?.file, frame?.line], ['deep', path, 4])
  assert.match(begun.text('stderr'), /line 5/)
})

test('a relative path, a missing file and a folder are refused in plain words', async () => {
  const told = async (path: string) => {
    const { reason, message } = await refused(path)
    return `${reason}: ${message}`
  }
  assert.match(await told('shop.lisp'), /malformed: .*no absolute path/)
  assert.match(await told(join(folder, 'none.lisp')), /not_found: There is no file .*none\.lisp/)
  mkdirSync(join(folder, 'a folder'))
  assert.match(await told(join(folder, 'a folder')), /malformed: .*is a folder/)
  for (const hostile of ['', '#.(setf cl-user::*hit* t)', '/tmp/*.lisp', '/tmp/[', '/"'])
    assert.match(await told(hostile), /absolute|no file/, hostile)
})

test('a name that Lisp would take for a pattern is the name of a file', async () => {
  assert.equal((await load(file('star * [1].lisp', '(defun starred () 1)'))).added, ['starred'])
})

test('compiled code is loaded, and what it defines cannot be told, which is said', async () => {
  const source = file('compiled.lisp', '(defun from-fasl () :compiled)')
  execFileSync('sbcl', [
    '--noinform',
    '--non-interactive',
    '--eval',
    `(compile-file ${JSON.stringify(source)})`,
  ])
  const path = join(folder, 'compiled.fasl')
  const loaded = await load(path)
  assert.equal(loaded.added, [])
  assert.match(loaded.diagnostics[0]?.message ?? '', /what it defines cannot be told/)
  assert.equal(await lisp.values('(from-fasl)'), [':compiled'])
  assert.match((await refused(path, { names: ['from-fasl'] })).next ?? '', /Give its source/)
})

test('a macro of the user’s that defines something is seen through', async () => {
  await lisp.run(
    '(defmacro define-handler (name) `(progn (defun ,name () :handled) (defvar ,(intern "*H*"))))',
  )
  const { added } = await load(file('handlers.lisp', '(in-package :cl-user)\n(define-handler on-click)'))
  assert.equal(added, ['on-click'])
})

test('the user’s own macroexpand hook is called all the same, and is theirs again afterwards', async () => {
  await lisp.run(
    '(defvar *hooked* 0) (setf *macroexpand-hook* (lambda (e f env) (incf *hooked*) (funcall e f env)))',
  )
  await load(file('hooked.lisp', '(defun hooked () 1)'))
  assert.equal(await lisp.values('(list (plusp *hooked*) (hooked))'), ['(t 1)'])
  assert.equal(await lisp.values("(progn (setf *macroexpand-hook* 'funcall) 1)"), ['1'])
})
