import { assert, suite } from '../support/harness.ts'
import { lispLooks, missing } from '../support/lisp-looks.ts'

const test = suite('names in a Lisp image')

const image = lispLooks(
  test,
  `(defpackage #:names-shop (:use #:cl) (:export #:total #:rate) (:nicknames #:nsh))
   (defpackage |Odd Shop| (:use #:cl))
   (defun names-shop::total (x) x)
   (defun names-shop::hidden (x) x)
   (defvar names-shop:rate 7)
   (defun cl-user::names-checkout () 1)
   (defvar cl-user::|two words| 1)
   (defvar cl-user::|lower| 2)
   (defvar cl-user::|with:colon| 3)
   (defvar cl-user::|with\\|bar| 4)
   (defvar cl-user::|| 5)
   (defvar cl-user::größe 6)
   (defvar cl-user::|Ωmega🜁| 7)
   (defvar |Odd Shop|::|odd one| 8)
   (defun (setf names-shop:total) (new x) (list new x))
   (defclass names-shape () ())
   (defgeneric names-area (shape))
   (defmethod names-area :around ((shape names-shape)) (call-next-method))
   (defmethod names-area ((shape (eql 3))) 9)
   (intern "NAMES-BARE" "COMMON-LISP-USER")`,
)

const ODD: readonly (readonly [written: string, value: string])[] = [
  ['|two words|', '1'],
  ['cl-user::|two words|', '1'],
  ['|lower|', '2'],
  ['\\l\\o\\w\\e\\r', '2'],
  ['|with:colon|', '3'],
  ['with\\:colon', ''],
  ['|with|\\:|colon|', '3'],
  ['|with\\|bar|', '4'],
  ['||', '5'],
  ['größe', '6'],
  ['GRÖßE', '6'],
  ['|Ωmega🜁|', '7'],
  ['|Odd Shop|::|odd one|', '8'],
  ['names-shop:rate', '7'],
  ['NAMES-SHOP:RATE', '7'],
  ['nsh:rate', '7'],
  ['|NAMES-SHOP|:|RATE|', '7'],
  ['  names-shop:rate\n', '7'],
  ["'names-shop:rate", '7'],
]

for (const [written, value] of ODD)
  test(`${JSON.stringify(written)} is read as Lisp reads it`, async () => {
    const looked = await image.look('describe', { name: written })
    if (value === '') return assert.is(looked.type, 'not_found')
    if (looked.type !== 'found') throw new Error(JSON.stringify(looked))
    assert.is(looked.value.value?.text, value)
    const again = await image.found('describe', { name: looked.value.qualified })
    assert.is(again.value?.text, value, `${looked.value.qualified} leads back`)
  })

for (const written of [
  '',
  '   ',
  ':',
  '|open',
  'a:b:c',
  'a:::b',
  'ends\\',
  'two words',
  'a"b',
  'a;b',
  '(a',
  'a)',
  '`a',
])
  test(`${JSON.stringify(written)} is no name`, async () => {
    const looked = await image.look('describe', { name: written })
    assert.is(looked.type, 'malformed', JSON.stringify(looked))
  })

test('a form is told apart from a name, and does not run', async () => {
  const looked = await image.look('describe', { name: '(cl:setq names-shop:rate 99)' })
  assert.is(looked.type, 'needs_evaluation')
  assert.is((await image.found('describe', { name: 'names-shop:rate' })).value?.text, '7')
})

test('no name that is asked for is interned, and nothing of it runs (threat 25)', async () => {
  const count = () =>
    image.run(
      '(let ((n 0)) (do-symbols (s :cl-user n) (incf n)) (do-symbols (s :keyword n) (incf n)) (do-symbols (s :names-shop n) (incf n)))',
    )
  const before = await count()
  const names = [
    'names-nowhere',
    'names-shop::names-nowhere',
    ':names-nowhere-key',
    '#.(setq names-shop:rate 1)',
  ]
  for (const name of names)
    for (const look of ['describe', 'arglist', 'definition', 'slots', 'hierarchy', 'references'] as const)
      assert.is.not((await image.look(look, { name })).type, 'found')
  for (const text of names) await image.look('complete', { text, cursor: text.length })
  for (const pattern of names) await image.look('apropos', { pattern })
  for (const module of names) await image.look('symbols', { module })
  assert.is(await count(), before)
  assert.is((await image.found('describe', { name: 'names-shop:rate' })).value?.text, '7')
})

test('a name that is not there comes with what is like it', async () => {
  const { what, nearest } = missing(await image.look('describe', { name: 'names-chekcout' }))
  assert.is(what, 'names-chekcout')
  assert.ok(nearest.includes('cl-user::names-checkout'), nearest.join())
})

test('a name of another package is found by its namesake there', async () => {
  const { nearest } = missing(await image.look('describe', { name: 'hidden' }))
  assert.is(nearest[0], 'names-shop::hidden')
})

test('a symbol that is not external says how it is written', async () => {
  const { what, nearest } = missing(await image.look('describe', { name: 'names-shop:hidden' }))
  assert.match(what, 'not external')
  assert.equal(nearest, ['names-shop::hidden'])
  assert.is((await image.found('describe', { name: 'names-shop::hidden' })).kind, 'function')
})

test('a package that is not there comes with what is like it', async () => {
  for (const name of ['name-shop:total', 'names-shpo::total']) {
    const { what, nearest } = missing(await image.look('describe', { name }))
    assert.match(what, 'package')
    assert.ok(nearest.includes('NAMES-SHOP'), nearest.join())
  }
  assert.ok(missing(await image.look('symbols', { module: 'name-shop' })).nearest.includes('NAMES-SHOP'))
})

test('a symbol that stands for nothing is told apart from one that is not there', async () => {
  assert.match(missing(await image.look('describe', { name: 'names-bare' })).what, 'unbound')
})

test('a package can be named in each way that people write it', async () => {
  for (const module of ['names-shop', 'NAMES-SHOP', ':names-shop', '#:names-shop', 'nsh', '|NAMES-SHOP|'])
    assert.is((await image.found('symbols', { module })).module, 'NAMES-SHOP')
  assert.is((await image.found('describe', { name: 'names-shop:' })).kind, 'module')
  assert.is((await image.found('symbols', { module: 'Odd Shop' })).module, 'Odd Shop')
})

test('a name can be read in a package that the caller names', async () => {
  const there = await image.found('describe', { name: 'hidden', package: 'names-shop' })
  assert.is(there.qualified, 'names-shop::hidden')
  assert.is((await image.look('describe', { name: 'hidden', package: 'no-such' })).type, 'not_found')
})

test('setf functions and methods have names, too', async () => {
  const setf = await image.found('describe', { name: '(setf names-shop:total)' })
  assert.equal([setf.kind, setf.signature], ['function', '(new x)'])
  const qualified = 'cl-user::names-area :around ((shape cl-user::names-shape))'
  for (const name of [
    '(method names-area :around (names-shape))',
    'names-area :around ((shape names-shape))',
    '(defmethod names-area :around ((it cl-user::names-shape)))',
  ])
    assert.is((await image.found('describe', { name })).qualified, qualified)
  const { nearest } = missing(await image.look('describe', { name: '(method names-area (string))' }))
  assert.ok(nearest.includes('cl-user::names-area ((shape (eql 3)))'), nearest.join())
  assert.is((await image.look('describe', { name: '(setf names-checkout)' })).type, 'not_found')
})

test('a nickname that only the package in force has counts', async () => {
  await image.run('(sb-ext:add-package-local-nickname "N-LOCAL" :names-shop :cl-user)')
  assert.is((await image.found('describe', { name: 'n-local:rate' })).value?.text, '7')
  assert.is((await image.found('symbols', { module: 'n-local' })).module, 'NAMES-SHOP')
})

test('a name of ten thousand letters is looked for as any other', async () => {
  for (const name of ['x'.repeat(10_000), `${'x'.repeat(5_000)}:${'y'.repeat(5_000)}`, '('.repeat(10_000)])
    assert.is.not((await image.look('describe', { name })).type, 'found')
})
