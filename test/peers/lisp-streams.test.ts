import { assert, suite } from '../support/harness.ts'
import { type Asked, type LispListener, openListener, until } from '../support/lisp-listener.ts'
import { type RealSwank, startSwank } from '../support/swank.ts'

const test = suite('streams of a Lisp evaluation', { limitMs: 50_000 })
let swank: RealSwank
let lisp: LispListener

test.before(async () => {
  swank = await startSwank()
  lisp = await openListener(swank)
})
test.after(() => {
  lisp?.end()
  swank?.kill()
})

test('what is written to both streams comes in its order, and all of it before the answer', async () => {
  const run = lisp.begin(
    `(progn (write-string "one") (write-string "two" *error-output*) (terpri) (write-line "three" *trace-output*)
            (format *query-io* "four~%") (format *terminal-io* "five~%") (format *debug-io* "six~%") (princ "seven"))`,
  )
  await run.result
  assert.is(run.text(), 'onetwo\nthree\nfour\nfive\nsix\nseven')
  assert.is(run.text('stderr'), 'two')
  const before = run.events.length
  await lisp.values('1')
  assert.is(run.events.length, before)
})

test('a line that code prints before it goes on is heard while it runs, and so is one without an end', async () => {
  const run = lisp.begin(
    '(progn (write-line "first") (write-line "second") (write-string "third") (loop (sleep 0.01)))',
  )
  await until(() => run.text() === 'first\nsecond\nthird')
  lisp.interrupt(run)
  assert.is((await run.result).type, 'interrupted')
})

test('fresh-line and columns go by what stands there', async () => {
  const run = lisp.begin('(progn (princ "a") (fresh-line) (fresh-line) (princ "b") (format t "~10tc~&d~&"))')
  await run.result
  assert.is(run.text(), 'a\nb         c\nd\n')
})

test('every character arrives as it was written', async () => {
  const text = '\u0001\t"\\ é → 𝒳 \u2028 ﻿'
  const run = lisp.begin(
    `(write-string ${JSON.stringify(text)
      .replace(/\\u0001/, '\u0001')
      .replace(/\\t/, '\t')})`,
  )
  await run.result
  assert.is(run.text(), text)
  const odd = lisp.begin(
    '(progn (write-char (code-char 0)) (write-char (code-char #xD800)) (write-char (code-char 127)))',
  )
  await odd.result
  assert.is(odd.text(), '\u0000\uFFFD\u007F')
})

test('a hundred megabytes arrive whole, in pieces, and cost the image no memory', async () => {
  const line = '0123456789'.repeat(10)
  const used = async () =>
    Number((await lisp.values('(progn (sb-ext:gc :full t) (sb-kernel:dynamic-usage))'))[0])
  const before = await used()
  const run = lisp.begin(`(loop repeat 1000000 do (write-line "${line}"))`)
  assert.is((await run.result).type, 'done')
  let characters = 0
  let longest = 0
  for (const event of run.events) {
    if (event.type !== 'output') throw new Error(event.type)
    characters += event.text.length
    longest = Math.max(longest, event.text.length)
  }
  run.events.length = 0
  assert.is(characters, 101_000_000)
  assert.ok(longest <= 8_192)
  assert.ok((await used()) - before < 16_000_000)
})

test('order holds in a flood, too', async () => {
  const run = lisp.begin(
    `(progn (loop repeat 3000 do (write-line "a flood of lines on the standard output"))
            (write-line "error" *error-output*) (write-line "after"))`,
  )
  await run.result
  assert.ok(run.text().endsWith('output\nerror\nafter\n'))
  assert.is(run.text('stderr'), 'error\n')
  assert.is(run.text('stdout').split('\n').length, 3_002)
})

test('a flood can be interrupted', async () => {
  const run = lisp.begin('(loop (write-line "on and on"))')
  await until(() => run.events.length > 20)
  lisp.interrupt(run)
  assert.is((await run.result).type, 'interrupted')
  const count = run.events.length
  await lisp.values('1')
  assert.is(run.events.length, count)
})

test('what is written to our streams after the end goes nowhere, and harms nobody', async () => {
  const run = lisp.begin(`
    (let ((out *standard-output*) (err *error-output*) (in *standard-input*))
      (setf (get :late :write) (lambda () (write-line "late" out) (finish-output out) (write-line "late" err)
                                 (list (read-line in nil :end) (y-or-n-p-late in))))
      (defun y-or-n-p-late (in) (read-char in nil :none))
      (write-line "in time"))`)
  await run.result
  assert.equal(await lisp.values('(funcall (get :late :write))'), ['(:end :none)'])
  assert.is(run.text(), 'in time\n')
})

test('a thread that an evaluation leaves behind goes on without its streams', async () => {
  const run = lisp.begin(`
    (let ((out *standard-output*))
      (setf (get :left :thread)
            (sb-thread:make-thread (lambda () (loop repeat 2000 do (write-line "left behind" out)) :wrote))))`)
  await run.result
  assert.equal(await lisp.values('(sb-thread:join-thread (get :left :thread))'), [':wrote'])
})

test('two threads that write at once lose nothing', async () => {
  const run = lisp.begin(`
    (let* ((out *standard-output*) (err *error-output*)
           (one (sb-thread:make-thread (lambda () (loop repeat 500 do (write-line "o" out)))))
           (two (sb-thread:make-thread (lambda () (loop repeat 500 do (write-line "e" err))))))
      (sb-thread:join-thread one) (sb-thread:join-thread two))`)
  await run.result
  assert.is(run.text('stdout'), 'o\n'.repeat(500))
  assert.is(run.text('stderr'), 'e\n'.repeat(500))
})

test('a line is asked for with the prompt that stands there, and read as it was given', async () => {
  const asked: Asked[] = []
  const answer = (question: Asked) => {
    asked.push(question)
    return asked.length === 1 ? 'Ada "L" \\\n' : '42\n'
  }
  const run = lisp.begin(
    '(progn (format t "hello~%who? ") (list (read-line) (progn (format *query-io* "how many? ") (read))))',
    {},
    answer,
  )
  const ended = await run.result
  assert.is(ended.type === 'done' && ended.values[0]?.repr.text, '("Ada \\"L\\" \\\\" 42)')
  assert.equal(
    asked.map(({ prompt }) => prompt),
    ['who? ', 'how many? '],
  )
})

test('yes-or-no questions are asked, and asked again', async () => {
  const answers = ['perhaps\n', 'yes\n', 'n\n']
  const run = lisp.begin('(list (yes-or-no-p "Really?") (y-or-n-p "More?"))', {}, () => answers.shift() ?? '')
  const ended = await run.result
  assert.is(ended.type === 'done' && ended.values[0]?.repr.text, '(t nil)')
  assert.match(run.text(), 'Really?')
})

test('a line that is refused is the end of the input', async () => {
  assert.is((await lisp.raised('(read-line)')).type.name, 'end-of-file')
  assert.equal(
    await lisp.values('(list (read-line nil nil :none) (read-char *query-io* nil :none) (listen))'),
    ['(:none :none nil)'],
  )
})

test('a question that nobody answers can be interrupted', async () => {
  let asked = 0
  const run = lisp.begin('(read-line)', {}, () => {
    asked++
    return undefined
  })
  await until(() => asked > 0)
  lisp.interrupt(run)
  assert.is((await run.result).type, 'interrupted')
})

test('an evaluation whose connection ends runs to its end all the same', async () => {
  const other = await openListener(swank)
  const run = other.begin(`
    (progn (write-line "runs")
           (loop repeat 30000 do (write-line "a flood that nobody hears any more, line by line"))
           (setf (get :alone :reached) (read-line nil nil :the-end)))`)
  await until(() => run.text().includes('runs'))
  other.end()
  assert.equal(
    await lisp.values('(loop (let ((it (get :alone :reached))) (when it (return it)) (sleep 0.01)))'),
    [':the-end'],
  )
})
