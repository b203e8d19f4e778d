import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { changesIn } from '../../src/front/topic-news.ts'
import { onlyEnvelope } from '../support/envelopes.ts'
import { assert, suite } from '../support/harness.ts'
import { openRig, type Rig, until } from '../support/rig.ts'
import { lispCache } from '../support/runtimes.ts'
import { type RealSwank, startSwank } from '../support/swank.ts'

/** Errors that servers of a Lisp catch: the real Hunchentoot and lparallel, and a package with the names of Clack's. */
const test = suite('errors that servers of a Lisp program catch', { limitMs: 120_000 })

process.env.XDG_CACHE_HOME = lispCache

const SERVER = `(progn
  (defvar cl-user::*shop* (make-instance 'hunchentoot:easy-acceptor :port 0 :address "127.0.0.1"
                                         :access-log-destination nil :message-log-destination nil))
  (defun cl-user::order (number)
    (declare (optimize (debug 3)))
    (if (oddp number) (error "No order ~A." number) "here"))
  (hunchentoot:define-easy-handler (cl-user::orders :uri "/orders") (number)
    (cl-user::order (parse-integer number)))
  (hunchentoot:start cl-user::*shop*))`
const ASK = `(defun cl-user::ask (number)
  (let ((socket (usocket:socket-connect "127.0.0.1" (hunchentoot:acceptor-port cl-user::*shop*))))
    (format (usocket:socket-stream socket) "GET /orders?number=~D HTTP/1.0~C~C~C~C" number
            #\\Return #\\Newline #\\Return #\\Newline)
    (finish-output (usocket:socket-stream socket))
    (subseq (read-line (usocket:socket-stream socket)) 9 12)))`
/** As Lack has it: the middleware calls it and goes on. */
const CLACK = [
  '(defpackage :lack.middleware.backtrace (:use :cl))',
  '(defun lack.middleware.backtrace::print-error (error env &optional stream) (list error env stream))',
]
const APP = `(defun cl-user::app ()
  (block nil
    (handler-bind ((error (lambda (it) (lack.middleware.backtrace::print-error it '()) (return 500))))
      (error "No tea."))))`
const TASK = `(defun cl-user::task ()
  (let ((lparallel:*kernel* (lparallel:make-kernel 1)))
    (unwind-protect (handler-case (lparallel:force (lparallel:future (error "No coffee.")))
                      (error (it) (princ-to-string it)))
      (lparallel:end-kernel :wait t))))`
/** Another's wrapper around the same function. */
const OTHER = `(progn
  (defvar cl-user::*others* 0)
  (sb-int:encapsulate 'hunchentoot:maybe-invoke-debugger 'cl-user::other
    (lambda (function &rest arguments) (incf cl-user::*others*) (apply function arguments))))`
const LOADS = [
  '(push :hunchentoot-no-ssl *features*)',
  '(asdf:load-system :hunchentoot)',
  '(asdf:load-system :lparallel)',
  '(setf lparallel:*debug-tasks-p* nil)',
]

let rig: Rig
let swank: RealSwank

test.before(async () => {
  rig = openRig()
  const secret = join(rig.env.HOME ?? '', '.slime-secret')
  writeFileSync(secret, 'correct horse battery staple\n')
  chmodSync(secret, 0o600)
  const forms = [...LOADS, SERVER, ASK, ...CLACK, APP, TASK, OTHER]
  swank = await startSwank({ home: rig.env.HOME ?? '', forms })
})
test.after(async () => {
  swank?.kill()
  await rig.close()
})

const attach = (...more: string[]) => rig.imago(['attach', `swank://${swank.port}`, ...more])
const value = async (expr: string) => {
  const envelope = onlyEnvelope(await rig.imago(['call', 'eval_expr', JSON.stringify({ expr }), '--json']))
  return (envelope as { result: { value_repr: string } }).result.value_repr
}
const hooks = "(mapcar #'first (sb-pcl::generic-function-encapsulations #'hunchentoot:maybe-invoke-debugger))"

test('without --errors nothing is promised, nothing is put into the program, and it is said what would note them', async () => {
  const attached = await attach()
  assert.is(attached.code, 0, attached.stderr)
  assert.not.match(attached.stdout, /noted|imago errors/)
  assert.is(await value('(ask 3)'), '"500"')
  const { stdout } = await rig.imago(['call', 'get_last_error', '{"whose": "program"}'])
  assert.match(stdout, /no error of this image has reached Imago/)
  assert.match(stdout, /those that a server catches are noted where it was attached with --errors/)
  assert.match(
    (await attach('--errors')).stdout,
    /--errors was left out\. .*imago detach lisp, and attach again/,
  )
  await rig.imago(['detach', 'lisp'])
})

test('with it an error of a handler is noted, with its request, frames and locals, and is answered as before', async () => {
  const attached = await attach('--errors')
  assert.match(attached.stdout, /its errors are noted/)
  assert.is(await value('(ask 3)'), '"500"')
  assert.is(await value('(ask 4)'), '"200"')
  const { stdout } = await rig.imago(['errors'])
  assert.match(stdout, /No order 3\./)
  assert.is(stdout.trim().split('\n').length, 1, stdout)
  const shown = await rig.imago(['errors', '1'])
  assert.match(shown.stdout, /request GET \/orders\?number=3: failed at /)
  assert.match(shown.stdout, /order[^\n]*\n[^\n]*number = 3/i)
  assert.is(await value('(progn (ask 3) (ask 3))'), '"500"')
  assert.match((await rig.imago(['errors'])).stdout, /3 times/)
})

test('what Clack and lparallel catch is noted too, and an error that two servers see counts once', async () => {
  assert.is(await value("(sb-thread:join-thread (sb-thread:make-thread #'app))"), '500')
  assert.is(await value('(app)'), '500', 'what callers evaluate is none of its own')
  assert.is(await value("(sb-thread:join-thread (sb-thread:make-thread #'task))"), '"No coffee."')
  const { stdout } = await rig.imago(['errors'])
  assert.match(stdout, /No tea\./)
  assert.match(stdout, /No coffee\./)
  assert.not.match(stdout, /times.*No tea|No tea.*times/)
  assert.is(stdout.trim().split('\n').length, 3, stdout)
})

/** Counts, in the image, the notes about errors that it sends and the looks at errors that it is asked for. */
const COUNTED = `(progn
  (defvar *notes* 0)
  (defvar *looks* 0)
  (sb-int:encapsulate 'imago-peer::send-over 'counted
    (lambda (function connection tree)
      (when (equal tree '(:object "news" "errors")) (incf *notes*))
      (funcall function connection tree)))
  (let ((look (gethash "errors" imago-peer::*calls*)))
    (setf (gethash "errors" imago-peer::*calls*)
          (lambda (arguments) (incf *looks*) (funcall look arguments)))))`

test('an error is a row for a follower by a note of the image, and no look is asked without one', async () => {
  await value(COUNTED)
  const rows = new Map<string, unknown>()
  const [client, ended] = [await rig.connect(), new AbortController()]
  const follows = client.subscribe({
    topics: ['errors'],
    signal: ended.signal,
    heard: event => {
      for (const { key, value: row } of changesIn(event)) rows.set(key, row)
    },
  })
  const hasRow = (said: RegExp) => until(() => said.test(JSON.stringify([...rows.values()])), `${said}`)
  await hasRow(/No order 3\./)
  for (const order of [21, 23, 25]) {
    assert.is(await value(`(ask ${order})`), '"500"')
    await hasRow(RegExp(`No order ${order}\\.`))
    const [notes, looks] = (await value('(list *notes* *looks*)')).match(/\d+/g)?.map(Number) ?? []
    assert.ok(notes && looks && notes > 0 && looks <= 1 + 2 * notes, `${looks} looks, ${notes} notes`)
  }
  const tellers = () =>
    value(
      '(count "imago: errors" (sb-thread:list-all-threads) :key (function sb-thread:thread-name) :test (function equal))',
    )
  assert.is(await tellers(), '1')
  ended.abort()
  await follows
  await until(async () => (await tellers()) === '0', 'an image that tells nobody of errors')
})

test('the next daemon goes on noting them, and a server that raises while it reports is none the worse', async () => {
  await rig.imago(['shutdown'])
  await value(`(progn (define-condition mute (error) () (:report (lambda (it stream) (list it stream) (error "No words."))))
    (defun order (number) (error (if (= number 9) 'mute "Again."))))`)
  assert.is(await value('(ask 11)'), '"500"')
  assert.match((await rig.imago(['errors'])).stdout, /Again\./)
  await value('(ignore-errors (ask 9))')
  assert.match((await rig.imago(['errors'])).stdout, /mute, whose report could not be had/)
  assert.is(await value('(ask 13)'), '"500"')
})

test('what others have put around the same function stays and is called, and detach takes ours away alone', async () => {
  const before = Number(await value('*others*'))
  await value('(ask 5)')
  assert.is(Number(await value('*others*')), before + 1)
  await rig.imago(['detach', 'lisp'])
  await attach()
  assert.is(await value(hooks), '(other)')
  assert.is(await value('(ask 7)'), '"500"')
  assert.match((await rig.imago(['errors'])).stdout, /No error of the program has reached Imago/)
})
