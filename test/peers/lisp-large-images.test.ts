import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, suite } from '../support/harness.ts'
import { contents, type Inspecting, openInspecting } from '../support/lisp-inspecting.ts'
import { type RealSwank, startSwank } from '../support/swank.ts'
import { makeFolder } from '../support/temporary.ts'

const test = suite('Lisp images in which things are odd or very large', { limitMs: 50_000 })

let swank: RealSwank
let at: Inspecting

test.before(async () => {
  swank = await startSwank()
  at = await openInspecting(swank)
})
test.after(() => {
  at?.lisp.end()
  swank?.kill()
})

const text = async (expr: string) => contents((await at.inspect(expr)).repr).text

test('a number of a million digits is not read by a look (threat 25)', async () => {
  for (const digits of ['9'.repeat(1_000_000), `#x${'f'.repeat(1_000_000)}`, `1.${'1'.repeat(100_000)}`]) {
    const looked = await at.looked(digits)
    assert.is(looked.type, 'needs_evaluation')
    assert.match(looked.type === 'needs_evaluation' ? looked.because : '', 'digits')
  }
  assert.is((await text('9'.repeat(1000))).length, 1000)
  assert.is((await at.looked(`#\\${'x'.repeat(1_000_000)}`)).type, 'malformed')
})

test('where a source file has become a pipe, an error in its code is told all the same (threat 26)', async () => {
  const folder = makeFolder()
  const file = join(folder, 'source.lisp')
  writeFileSync(file, '(in-package :cl-user)\n(defun from-file (x) (error "In a file: ~A." x))\n')
  await at.define(`(load (compile-file ${JSON.stringify(file)}))`)
  execFileSync('rm', [file])
  execFileSync('mkfifo', [file])
  const raised = await at.lisp.run('(from-file 1)')
  assert.match(raised.type === 'raised' ? raised.exception.message : '', 'In a file: 1.')
  const placed = await at.lisp.run('(error "In a pipe.")', { file, line: 1 })
  assert.match(placed.type === 'raised' ? placed.exception.message : '', 'In a pipe.')
})

test('names and lambda lists that go round in a circle are told as far as they are worth it (threat 25)', async () => {
  await at.define(`(progn
    (defun odd (function) (compile nil function))
    (defparameter *odd-name* (odd '(lambda (x) x)))
    (setf (sb-kernel:%simple-fun-name *odd-name*) '#1=(flet #1# :in #1#))
    (defparameter *odd-list* (odd '(lambda (y) y)))
    (setf (sb-kernel:%simple-fun-arglist *odd-list*) '#2=(a . #2#))
    (defparameter *odd-default* (odd '(lambda (z) z)))
    (setf (sb-kernel:%simple-fun-arglist *odd-default*) '(&optional (a #3=(b #3#)) #4=(c #4#))))`)
  assert.match(await text('*odd-name*'), '#<function')
  assert.match(await text('*odd-list*'), '#<function')
  assert.match(await text('*odd-default*'), '#<function')
})

test('of a name of twenty million characters only the beginning is written (threat 25)', async () => {
  await at.define(`(progn
    (defparameter *long* (make-symbol (make-string 20000000 :initial-element #\\X)))
    (defparameter *many* (make-list 50 :initial-element *long*)))`)
  assert.match(await text('*long*'), /^#:x{4000,}…$/)
  assert.match(await text('*many*'), /^\(#:x{4000,}…$/)
})

/** Bytes that the image uses after everything that nobody keeps was collected. */
const used = async () => {
  const [bytes = ''] = await at.lisp.values('(progn (sb-ext:gc :full t) (sb-kernel:dynamic-usage))')
  return Number(bytes)
}
const MB = 2 ** 20

test('what is kept of large results and sources is bounded by its size, not only by its number (threat 26)', async () => {
  const before = await used()
  for (let times = 0; times < 20; times++) await at.lisp.run(`;${'x'.repeat(2 * MB)}\n 1`)
  const ended = await at.lisp.run('(make-list 600000)')
  const first = ended.type === 'done' ? (ended.values[0]?.handle ?? '') : ''
  await at.define('(defparameter *mine* (make-list 600000))')
  const kept = (await at.inspect('*mine*')).handle ?? ''
  for (let times = 0; times < 60; times++) await at.lisp.run('(make-list 600000)')
  assert.ok((await used()) - before < 250 * MB)
  assert.is((await at.looked(first)).type, 'stale_handle')
  assert.is((await at.looked(kept)).type, 'found')
})

test('a package of very many symbols is listed, completed and searched without sorting all of them (threat 25)', async () => {
  await at.define(`(progn
    (make-package "BIG" :use '())
    (dotimes (number 200000)
      (let ((symbol (intern (format nil "SYM-~6,'0D" number) "BIG")))
        (setf (symbol-value symbol) number)
        (export symbol "BIG"))))`)
  const ask = async (name: string, query: object) => {
    const answer = await at.lisp.peer.call(name, { limit: 3, deadline_ms: 40_000, ...query })
    return JSON.stringify(answer)
  }
  const globals = await ask('globals', { module: 'BIG', after: 'big:sym-000009', modules: false })
  assert.match(globals, /sym-000010.*sym-000011.*sym-000012.*"total":200000/)
  const symbols = await ask('symbols', { module: 'BIG', internal: true })
  assert.match(symbols, /sym-000000.*sym-000001.*sym-000002.*"total":200000/)
  const completed = await ask('complete', { text: 'big:sym-1', cursor: 9 })
  assert.match(completed, /big:sym-100000.*big:sym-100001.*big:sym-100002.*"total":100000/)
  const missing = await ask('describe', { name: 'big:sym-01234' })
  assert.match(missing, /not_found.*sym-0/)
  const members = (await at.inspect('(find-package "BIG")')).members
  assert.match(JSON.stringify(members), /sym-000000.*sym-000001.*"truncated":true/)
})
