import { z } from 'zod'
import { LOOKS } from '../../wire/contract/looks.ts'
import type { SwankConnection } from '../../wire/swank/connection.ts'
import type { SwankPeer } from '../../wire/swank/peer.ts'
import { assert, suite } from '../support/harness.ts'
import { until } from '../support/rig.ts'
import { openPeer, type RealSwank, startSwank } from '../support/swank.ts'

const test = suite('tracepoints in SBCL')

const PROGRAM = [
  '(defpackage :pond (:use :cl) (:lock t))',
  '(sb-ext:unlock-package :pond)',
  '(defun pond::area (w &optional (h 2) &rest more &key deep &allow-other-keys) (list w h deep (length more)))',
  '(defun pond::plain (w &rest more) (list w more))',
  '(defgeneric pond::depth (thing more))',
  '(defmethod pond::depth ((thing integer) more) (values thing more))',
  '(defun (setf pond::level) (value thing) (setf (car thing) value))',
  '(declaim (inline pond::small))',
  '(defun pond::small (x) x)',
  '(defstruct fish size)',
  '(defun pond::twice (x) (* 2 x))',
  '(define-compiler-macro pond::twice (x) `(+ ,x ,x))',
  '(defun pond::endless (x) (1+ (pond::endless (1+ x))))',
  '(defun pond::waits () (sleep 3600))',
  '(defun pond::three () (values 1 "two" :three))',
  '(sb-ext:lock-package :pond)',
]

let image: RealSwank
let connection: SwankConnection
let peer: SwankPeer

test.before(async () => {
  image = await startSwank({ forms: PROGRAM })
  ;({ connection, peer } = await openPeer(image))
})
test.after(() => {
  connection.end()
  image.kill()
})

const found = z.object({ type: z.literal('found'), value: z.unknown() })
const shown = z.object({
  type: z.string(),
  values: z.array(z.object({ repr: z.object({ text: z.string() }) })),
})

const call = async (name: string, args: Readonly<Record<string, string | number>>) =>
  found.parse(await peer.call(name, { deadline_ms: 10_000, ...args })).value
const trace = async (name: string, calls = 10) =>
  LOOKS.trace.found.parse(await call('trace', { name, calls, expires_ms: 600_000, who: 'test' }))
const pageOf = async ({ id }: { readonly id: string }) =>
  LOOKS.traces.found.parse(await call('traces', { tracepoint: id, from: 1, count: 100 }))
const untrace = ({ id }: { readonly id: string }) => call('untrace', { tracepoint: id })

let evaluations = 0
async function run(source: string): Promise<string> {
  const evaluated = await peer.call('evaluate', {
    work: 'source',
    source,
    who: 'test',
    call: `tracing-${++evaluations}`,
  })
  const { values } = shown.parse(evaluated)
  return values.map(value => value.repr.text).join(' ')
}

async function argumentsOf(one: { readonly id: string }): Promise<string[]> {
  const { calls } = await pageOf(one)
  return calls.map(({ arguments: given }) =>
    given.map(({ name, value }) => `${name}=${value.repr.text}`).join(' '),
  )
}

async function outcomesOf(one: { readonly id: string }): Promise<string[]> {
  const { calls } = await pageOf(one)
  return calls.map(({ outcome }) =>
    outcome.type === 'returned'
      ? outcome.values.map(value => value.repr.text).join(' ')
      : outcome.type === 'raised'
        ? outcome.exception.type.name
        : outcome.type,
  )
}

test('arguments go by the names of the lambda list, keys by theirs', async () => {
  const area = await trace('pond::area')
  const plain = await trace('pond::plain')
  await run('(list (pond::area 1) (pond::area 1 2 :deep 3 :other 4) (pond::plain 5 6 7))')
  assert.equal(await argumentsOf(area), ['w=1', 'w=1 h=2 :deep=3 :other=4'])
  assert.equal(await argumentsOf(plain), ['w=5 more=(6 7)'])
})

test('generic functions, setf functions and several values are seen', async () => {
  const generic = await trace('pond::depth (integer t)')
  assert.is(generic.name, 'pond::depth')
  assert.match(generic.notes.join(' '), 'all methods')
  const setter = await trace('(setf pond::level)')
  const three = await trace('pond::three')
  await run("(list (pond::depth 1 2) (setf (pond::level (list 3)) 4) (mapcar #'pond::depth '(5) '(6)))")
  assert.equal(await argumentsOf(generic), ['thing=1 more=2', 'thing=5 more=6'])
  assert.equal(await argumentsOf(setter), ['value=4 thing=(3)'])
  await run('(pond::three)')
  assert.equal(await outcomesOf(three), ['1 "two" :three'])
})

test('what goes past a tracepoint is said', async () => {
  for (const [name, word] of [
    ['pond::small', 'inline'],
    ['cl-user::fish-size', 'structure'],
    ['pond::twice', 'compiler macro'],
  ] as const)
    assert.match((await trace(name)).notes.join(' '), word)
})

test('TRACE of the person is hers: it neither shows ours nor ends with it', async () => {
  const ours = await trace('pond::plain')
  assert.is(await run('(trace)'), 'nil')
  await run('(progn (trace pond::plain) nil)')
  const again = await trace('pond::plain')
  const told = '(count #\\Newline (with-output-to-string (*trace-output*) (pond::plain 1)))'
  assert.is(await run(told), '2')
  await untrace(ours)
  await untrace(again)
  assert.is(await run('(trace)'), '(pond::plain)')
  assert.is(await run(told), '2')
  await run('(progn (untrace pond::plain) nil)')
  assert.is(await run(told), '0')
  assert.equal(await argumentsOf(ours), ['w=1'])
})

test('a function that is defined anew stays traced, and one that is made unbound is told as such', async () => {
  const on = await trace('pond::plain')
  await run('(progn (sb-ext:unlock-package :pond) nil)')
  const define = (body: string) => run(`(defun pond::plain (w &rest more) (list ${body} w more))`)
  await define(':new')
  assert.is(await run('(pond::plain 1)'), '(:new 1 nil)')
  assert.equal(await outcomesOf(on), ['(:new 1 nil)'])
  await run("(progn (fmakunbound 'pond::plain) nil)")
  await define(':newest')
  assert.is(await run('(pond::plain 2)'), '(:newest 2 nil)')
  const { tracepoints, calls } = await pageOf(on)
  assert.is(calls.length, 1)
  assert.match(tracepoints[0]?.notes.at(-1) ?? '', 'unbound')
  await untrace(on)
  assert.is(await run('(pond::plain 3)'), '(:newest 3 nil)')
})

test('a stack that comes to its end, and a thread that is ended, leave what is traced as they would', async () => {
  const endless = await trace('pond::endless', 3)
  assert.is(await run('(handler-case (pond::endless 0) (storage-condition () :out))'), ':out')
  const [first] = await outcomesOf(endless)
  assert.match(first ?? '', 'exhausted')
  const waits = await trace('pond::waits')
  await run('(progn (defvar *waiter* (sb-thread:make-thread (lambda () (pond::waits)))) nil)')
  await until(async () => (await outcomesOf(waits)).length === 1, 'it to wait')
  await run('(progn (sb-thread:terminate-thread *waiter*) (sb-thread:join-thread *waiter* :default :ended))')
  assert.equal(await outcomesOf(waits), ['left'])
})

test('wherever the stack ends that calls of a traced function use up, the image lives', async () => {
  for (let deeper = 0; deeper < 100; deeper++) {
    const on = await trace('pond::endless', 3)
    const source = `(labels ((pad (count) (if (zerop count) (pond::endless 0) (list (pad (1- count))))))
                      (handler-case (pad ${deeper}) (storage-condition () :out)))`
    assert.is(await run(source), ':out')
    await untrace(on)
  }
})

test('an interrupt of the thread lands in the program, and not in what takes its calls down', async () => {
  await trace('pond::area', 1000)
  const source = `
(let* ((landed 0)
       (thread (sb-thread:make-thread
                (lambda ()
                  (loop for calls from 0
                        until (and (>= calls 3000) (plusp landed))
                        count (not (equal (pond::area 1 2) '(1 2 nil 0))))))))
  ;; One at a time: SBCL would keep all that are asked for meanwhile, and come to nothing else.
  (loop for before = landed
        while (sb-thread:thread-alive-p thread)
        do (ignore-errors (sb-thread:interrupt-thread thread (lambda () (pond::area 9) (incf landed))))
           (loop while (and (= landed before) (sb-thread:thread-alive-p thread))
                 do (sb-thread:thread-yield)))
  (list (sb-thread:join-thread thread) (plusp landed)))`
  assert.is(await run(source), '(0 t)')
})
