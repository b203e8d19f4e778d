import { assert, suite } from '../support/harness.ts'
import { lispLooks } from '../support/lisp-looks.ts'

const test = suite('completions in a Lisp image')

const image = lispLooks(
  test,
  `(defpackage #:co-shop (:use #:cl) (:export #:total #:tax))
   (defun co-shop:total (orders &optional (rate 19) &key round (unit :euro)) (list orders rate round unit))
   (defun co-shop::tally () 1) (defun co-each (function &rest lists) (list function lists))
   (defun co-checkout (basket customer) (list basket customer)) (defvar *co-limit* 3)
   (defmacro co-with ((name) &body body) \`(let ((,name 1)) ,@body))
   (list :co-keyword-one :co-keyword-two)`,
)

/** Completes where the bar stands. */
async function at(marked: string) {
  const cursor = marked.indexOf('¦')
  const text = marked.replace('¦', '')
  const found = await image.found('complete', {
    text,
    cursor: [...marked.slice(0, cursor)].length,
    limit: 50,
  })
  return { ...found, texts: found.completions.map(one => one.text) }
}

test('a name that was begun is completed, with its kind', async () => {
  const { completions, from, to, total } = await at('(list (co-ch¦')
  assert.equal(completions, [{ text: 'co-checkout', kind: 'function', type_name: 'function' }])
  assert.equal([from, to, total], [7, 12, 1])
  assert.equal((await at('(setf *co-l¦imit* 1)')).completions, [
    { text: '*co-limit*', kind: 'variable', type_name: 'fixnum' },
  ])
  assert.equal((await at('CO-CHE¦')).texts, ['co-checkout'])
  assert.equal((await at("#'co-ea¦")).texts, ['co-each'])
  assert.equal((await at('no-such-name-her¦')).texts, [])
})

test('a name of another package is completed: external ones after one colon, all after two', async () => {
  assert.equal((await at('(co-shop:t¦')).texts, ['co-shop:tax', 'co-shop:total'])
  assert.equal((await at('(co-shop::ta¦')).texts, ['co-shop::tally', 'co-shop::tax'])
  assert.equal((await at('(co-sh¦')).texts, ['co-shop:'])
  assert.equal((await at('(no-such-package:a¦')).texts, [])
})

test('keywords that exist are completed', async () => {
  assert.equal((await at('(list :co-keyw¦')).texts, [':co-keyword-one', ':co-keyword-two'])
})

test('after characters beyond the first plane, places are counted as code points', async () => {
  const { from, to, texts } = await at('(list "🜁🜁" \'co-ch¦')
  assert.equal([from, to, texts], [12, 17, ['co-checkout']])
})

test('in a string or a comment nothing is completed', async () => {
  for (const text of ['(list "co-ch¦', '; co-ch¦', '#| co-ch¦', '(a "x\\"co-ch¦', '(list "a" #| "b" co-ch¦'])
    assert.equal((await at(text)).texts, [], text)
  for (const text of ['(list "a" co-ch¦', '#\\" co-ch¦', '; x\nco-ch¦', '#| x |# co-ch¦', '"a;" co-ch¦'])
    assert.equal((await at(text)).texts, ['co-checkout'], text)
})

const call = async (text: string) => {
  const { call } = await at(text)
  return call && [call.name, call.parameter]
}

test('the call that the cursor stands in is told, with the parameter', async () => {
  assert.equal(await call('(co-checkout ¦'), ['co-checkout', 0])
  assert.equal(await call('(co-checkout bas¦'), ['co-checkout', 0])
  assert.equal(await call('(co-checkout basket ¦'), ['co-checkout', 1])
  assert.equal(await call('(co-checkout (list 1 2) cus¦'), ['co-checkout', 1])
  assert.equal(await call('(co-checkout (list 1 ¦'), ['list', 0])
  assert.equal(await call("(co-each #'car a b ¦"), ['co-each', 1])
  assert.equal(await call('(co-shop:total 1 ¦'), ['co-shop:total', 1])
  assert.equal(await call('(co-shop:total 1 2 :unit ¦'), ['co-shop:total', 3])
  assert.equal(await call('(let ((x (co-checkout ¦'), ['co-checkout', 0])
  assert.equal(await call('(no-such-function ¦'), null)
  assert.equal(await call('(co-checkout¦'), null)
  assert.equal(await call('co-checkout ¦'), null)
  assert.is(
    (await at('(co-shop:total ¦')).call?.signature,
    '(orders &optional (rate 19) &key round (unit :euro))',
  )
})

test('a text that is no code ends a completion as any other (threat 25)', async () => {
  const texts = [
    '',
    '(',
    ')',
    '))))',
    '#',
    '#\\',
    '|',
    '"',
    "'",
    '#.',
    '#.(setf *co-limit* 9) (co-ch',
    ':',
    '::',
    'a:b:c',
    '(:',
    '((((',
    ',@',
    '#+',
    '\\',
  ]
  for (const text of [
    ...texts,
    '('.repeat(5_000),
    '"'.repeat(5_001),
    '#|'.repeat(5_000),
    `(${'a '.repeat(5_000)}`,
  ])
    assert.ok(Array.isArray((await at(`${text}¦`)).texts), text.slice(0, 20))
  assert.is(await image.run('*co-limit*'), '3')
})

test('the keywords that the call takes come before all others', async () => {
  assert.equal((await at('(co-shop:total 1 :¦')).texts.slice(0, 2), [':round', ':unit'])
  assert.is((await at('(co-shop:total 1 :un¦')).texts[0], ':unit')
  await image.run('(defclass co-order () ((id :initarg :zzz-id) (lines :initarg :lines)))')
  assert.equal((await at("(make-instance 'co-order :lines 1 :¦")).texts.slice(0, 2), [':lines', ':zzz-id'])
  assert.is((await at("(make-instance 'co-none :z¦")).texts.includes(':zzz-id'), true)
})
