import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Arguments } from '../../wire/swank/peer.ts'
import { assert, suite } from '../support/harness.ts'
import { type LispListener, openListener } from '../support/lisp-listener.ts'
import { type RealSwank, startSwank } from '../support/swank.ts'
import { makeFolder, removeFolder } from '../support/temporary.ts'

const test = suite('loading systems into a Lisp image')
const folder = makeFolder()
let swank: RealSwank
let lisp: LispListener

const FILES: Readonly<Record<string, string>> = {
  'shop-e.asd': '(defsystem "shop-e" :depends-on ("base-e") :components ((:file "orders") (:file "prices")))',
  'base-e.asd': '(defsystem "base-e" :components ((:file "base")))',
  'wrong-e.asd': '(defsystem "wrong-e" :components ((:file "wrong")))',
  'lacking-e.asd': '(defsystem "lacking-e" :depends-on ("no-such-dependency"))',
  'absent-e.asd': '(defsystem "absent-e" :components ((:file "no-such-file")))',
  'raising-e.asd': '(defsystem "raising-e" :components ((:file "raising")))',
  'base.lisp': '(cl:in-package :cl-user)\n(format t "loading base~%")\n(defmacro base-macro () 1)',
  'orders.lisp': '(cl:in-package :cl-user)\n\n(defun total (lines unused) (reduce (function +) lines))',
  'prices.lisp': '(cl:in-package :cl-user)\n(defparameter *prices* (list (base-macro)))',
  'wrong.lisp': '(cl:in-package :cl-user)\n\n(defun fails () (let ((x)) (if)))',
  'raising.lisp': '(cl:in-package :cl-user)\n(defun raise-it () (error "at load"))\n(raise-it)',
}

test.before(async () => {
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(folder, name), text)
  swank = await startSwank({
    forms: [`(push ${JSON.stringify(`${folder}/`)} asdf:*central-registry*)`],
  })
  lisp = await openListener(swank)
})
test.after(() => {
  lisp?.end()
  swank?.kill()
  removeFolder(folder)
})

const begin = (system: string, more: Arguments = {}) =>
  lisp.begin('', { work: 'system', system, force: false, ...more })

async function load(system: string, more: Arguments = {}) {
  const begun = begin(system, more)
  const ended = await begun.result
  if (ended.type !== 'done' || ended.loaded === undefined) throw new Error(JSON.stringify(ended))
  return { ...ended.loaded, diagnostics: ended.diagnostics ?? [], printed: begun.text() }
}

test('a system is loaded with what it depends on, and the answer says which systems came in', async () => {
  const loaded = await load('shop-e')
  assert.equal([loaded.module, loaded.file], ['shop-e', join(folder, 'shop-e.asd')])
  assert.equal(loaded.added, ['base-e', 'shop-e'])
  assert.match(loaded.printed, /^loading base\n/)
  assert.equal(
    loaded.diagnostics.map(one => [one.severity, one.file, one.line, one.source]),
    [
      [
        'style_warning',
        join(folder, 'orders.lisp'),
        3,
        '(defun total (lines unused) (reduce (function +) lines))',
      ],
    ],
  )
  assert.equal(await lisp.values('(total *prices* nil)'), ['1'])
})

test('what is loaded and unchanged is let be, unless that is forced', async () => {
  const again = await load('shop-e')
  assert.equal([again.added, again.diagnostics], [[], []])
  const forced = await load('SHOP-E', { force: true })
  assert.equal(forced.added, [])
  assert.is(forced.diagnostics.length, 1)
  // Only of the system itself: what it depends on is not made again.
  assert.not.match(forced.printed, /loading base/)
})

test('a system that ASDF cannot find is refused with the nearest names', async () => {
  const refused = await lisp.refused('', { work: 'system', system: 'shpo-e', force: false })
  assert.match(refused.message, /no system shpo-e that ASDF can find/)
  assert.equal([refused.reason, refused.what, refused.nearest?.[0]], ['not_found', 'shpo-e', 'shop-e'])
})

test('a component that cannot be compiled fails, and says where and why', async () => {
  const ended = await begin('wrong-e').result
  if (ended.type !== 'raised') throw new Error('it has not raised')
  assert.is(ended.exception.type.name, 'compile-file-error')
  const [error] = (ended.diagnostics ?? []).filter(one => one.severity === 'error')
  assert.equal([error?.file, error?.line, error?.source], [join(folder, 'wrong.lisp'), 3, '(if)'])
  assert.ok((ended.exception.restarts ?? []).some(({ name }) => name === 'retry'))
})

test('a component that raises, a missing file and a missing dependency are raised as ASDF says it', async () => {
  const raised = await lisp.raised('', { work: 'system', system: 'raising-e', force: false })
  assert.match(raised.message, /at load/)
  const absent = await lisp.raised('', { work: 'system', system: 'absent-e', force: false })
  assert.match(absent.message, /no-such-file/)
  const lacking = await lisp.raised('', { work: 'system', system: 'lacking-e', force: false })
  assert.match(lacking.message, /"no-such-dependency" not found, required by/)
})

test('hostile names of systems are names', async () => {
  for (const system of ['', '") (setf cl-user::*hit* t) ("', '#.(setf cl-user::*hit* t)', '../shop-e', '|'])
    await lisp.run('', { work: 'system', system, force: true })
  assert.equal(await lisp.values("(boundp 'cl-user::*hit*)"), ['nil'])
})

test('an image without ASDF says so, and what to do', async () => {
  await lisp.run('(rename-package "ASDF" "HIDDEN-ASDF")')
  const { message, next } = await lisp.refused('', { work: 'system', system: 'shop-e', force: false })
  await lisp.run('(rename-package "HIDDEN-ASDF" "ASDF" \'("ASDF/INTERFACE"))')
  assert.match(message, /ASDF is not loaded/)
  assert.match(next ?? '', /\(require "asdf"\)/)
  assert.equal((await load('shop-e')).added, [])
})
