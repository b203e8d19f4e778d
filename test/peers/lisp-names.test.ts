import { assert, suite } from '../support/harness.ts'
import { lispImage, missing } from '../support/lisp-image.ts'

const test = suite('names in a Lisp image', { limitMs: 100_000 })

const CODE = `(defpackage #:names-shop (:use #:cl) (:export #:total #:rate) (:nicknames #:nsh))
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
   (intern "NAMES-BARE" "COMMON-LISP-USER")
(defpackage #:ls (:use #:cl) (:export #:offered #:total #:never-made) (:documentation "A shop."))
   (defpackage #:ls.below (:use #:cl)) (defpackage #:ls/deep (:use #:cl)) (defpackage #:lsx (:use #:cl))
   (defun ls:total () "Adds up." 1) (defvar ls:offered 1 "On offer.") (defun ls::hidden () 1) (defclass ls::kind () ())
   (defun ls.below::zz-total () 1) (defvar ls/deep::zz-total 1) (defun lsx::zz-total () 1)
   (import 'cl-user::ls-imported :ls) (defun cl-user::ls-imported () 1)
   (defvar ls::|Mixed Case| "text") (define-symbol-macro ls::alias 1) (defmacro ls::mac () 1)
   (defpackage #:ls-many (:use #:cl))
   (dotimes (i 10000) (setf (symbol-value (intern (format nil "MANY-~5,'0D" i) :ls-many)) i))
(defpackage #:co-shop (:use #:cl) (:export #:total #:tax))
   (defun co-shop:total (orders &optional (rate 19) &key round (unit :euro)) (list orders rate round unit))
   (defun co-shop::tally () 1) (defun co-each (function &rest lists) (list function lists))
   (defun co-checkout (basket customer) (list basket customer)) (defvar *co-limit* 3)
   (defmacro co-with ((name) &body body) \`(let ((,name 1)) ,@body))
   (list :co-keyword-one :co-keyword-two)`
const lisp = lispImage(test, { code: CODE })

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
    const looked = await lisp.look('describe', { name: written })
    if (value === '') return assert.is(looked.type, 'not_found')
    if (looked.type !== 'found') throw new Error(JSON.stringify(looked))
    assert.is(looked.value.value?.text, value)
    const again = await lisp.found('describe', { name: looked.value.qualified })
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
    const looked = await lisp.look('describe', { name: written })
    assert.is(looked.type, 'malformed', JSON.stringify(looked))
  })

test('a form is told apart from a name, and does not run', async () => {
  const looked = await lisp.look('describe', { name: '(cl:setq names-shop:rate 99)' })
  assert.is(looked.type, 'needs_evaluation')
  assert.is((await lisp.found('describe', { name: 'names-shop:rate' })).value?.text, '7')
})

test('no name that is asked for is interned, and nothing of it runs (threat 25)', async () => {
  const count = () =>
    lisp.ask(
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
      assert.is.not((await lisp.look(look, { name })).type, 'found')
  for (const text of names) await lisp.look('complete', { text, cursor: text.length })
  for (const pattern of names) await lisp.look('apropos', { pattern })
  for (const module of names) await lisp.look('symbols', { module })
  assert.is(await count(), before)
  assert.is((await lisp.found('describe', { name: 'names-shop:rate' })).value?.text, '7')
})

test('a name that is not there comes with what is like it', async () => {
  const { what, nearest } = missing(await lisp.look('describe', { name: 'names-chekcout' }))
  assert.is(what, 'names-chekcout')
  assert.ok(nearest.includes('cl-user::names-checkout'), nearest.join())
})

test('a name of another package is found by its namesake there', async () => {
  const { nearest } = missing(await lisp.look('describe', { name: 'hidden' }))
  assert.ok(nearest.includes('names-shop::hidden'), nearest.join())
})

test('a symbol that is not external says how it is written', async () => {
  const { what, nearest } = missing(await lisp.look('describe', { name: 'names-shop:hidden' }))
  assert.match(what, 'not external')
  assert.equal(nearest, ['names-shop::hidden'])
  assert.is((await lisp.found('describe', { name: 'names-shop::hidden' })).kind, 'function')
})

test('a package that is not there comes with what is like it', async () => {
  for (const name of ['name-shop:total', 'names-shpo::total']) {
    const { what, nearest } = missing(await lisp.look('describe', { name }))
    assert.match(what, 'package')
    assert.ok(nearest.includes('NAMES-SHOP'), nearest.join())
  }
  assert.ok(missing(await lisp.look('symbols', { module: 'name-shop' })).nearest.includes('NAMES-SHOP'))
})

test('a symbol that stands for nothing is told apart from one that is not there', async () => {
  assert.match(missing(await lisp.look('describe', { name: 'names-bare' })).what, 'unbound')
})

test('a package can be named in each way that people write it', async () => {
  for (const module of ['names-shop', 'NAMES-SHOP', ':names-shop', '#:names-shop', 'nsh', '|NAMES-SHOP|'])
    assert.is((await lisp.found('symbols', { module })).module, 'NAMES-SHOP')
  assert.is((await lisp.found('describe', { name: 'names-shop:' })).kind, 'module')
  assert.is((await lisp.found('symbols', { module: 'Odd Shop' })).module, 'Odd Shop')
})

test('a name can be read in a package that the caller names', async () => {
  const there = await lisp.found('describe', { name: 'hidden', package: 'names-shop' })
  assert.is(there.qualified, 'names-shop::hidden')
  assert.is((await lisp.look('describe', { name: 'hidden', package: 'no-such' })).type, 'not_found')
})

test('setf functions and methods have names, too', async () => {
  const setf = await lisp.found('describe', { name: '(setf names-shop:total)' })
  assert.equal([setf.kind, setf.signature], ['function', '(new x)'])
  const qualified = 'cl-user::names-area :around ((shape cl-user::names-shape))'
  for (const name of [
    '(method names-area :around (names-shape))',
    'names-area :around ((shape names-shape))',
    '(defmethod names-area :around ((it cl-user::names-shape)))',
  ])
    assert.is((await lisp.found('describe', { name })).qualified, qualified)
  const { nearest } = missing(await lisp.look('describe', { name: '(method names-area (string))' }))
  assert.ok(nearest.includes('cl-user::names-area ((shape (eql 3)))'), nearest.join())
  assert.is((await lisp.look('describe', { name: '(setf names-checkout)' })).type, 'not_found')
})

test('a nickname that only the package in force has counts', async () => {
  await lisp.ask('(sb-ext:add-package-local-nickname "N-LOCAL" :names-shop :cl-user)')
  assert.is((await lisp.found('describe', { name: 'n-local:rate' })).value?.text, '7')
  assert.is((await lisp.found('symbols', { module: 'n-local' })).module, 'NAMES-SHOP')
})

/** All pages of a list, each of so many names. */
async function pages<Item>(
  read: (after?: string) => Promise<{ items: readonly Item[]; next?: string | undefined }>,
) {
  const all: Item[] = []
  let page = await read()
  for (let count = 0; count < 100; count++) {
    all.push(...page.items)
    if (page.next === undefined) break
    page = await read(page.next)
  }
  return all
}

test('a part of a name finds it in whatever package and case', async () => {
  const { matches, total, searched } = await lisp.found('apropos', { pattern: 'zz-ToTaL' })
  assert.equal(
    matches.map(({ name, kind }) => [name, kind]),
    [
      ['ls.below::zz-total', 'function'],
      ['ls/deep::zz-total', 'variable'],
      ['lsx::zz-total', 'function'],
    ],
  )
  assert.is(total, 3)
  assert.ok(searched > 20)
  const mixed = await lisp.found('apropos', { pattern: 'mixed c' })
  assert.equal(
    mixed.matches.map(({ name, type_name }) => [name, type_name]),
    [['ls::|Mixed Case|', 'simple-string']],
  )
})

test('a package can be searched with what is below it', async () => {
  const names = async (module: string) =>
    (await lisp.found('apropos', { pattern: 'total', module })).matches.map(({ name }) => name)
  assert.equal(await names('ls'), ['ls:total', 'ls.below::zz-total', 'ls/deep::zz-total'])
  assert.equal(await names('lsx'), ['lsx::zz-total'])
  assert.is((await lisp.look('apropos', { pattern: '', module: 'no-such' })).type, 'not_found')
})

test('the pages of a search are what the whole of it is', async () => {
  const whole = await lisp.found('apropos', { pattern: 'defin', limit: 1_000 })
  assert.is(whole.matches.length, whole.total)
  const paged = await pages(async after => {
    const found = await lisp.found('apropos', {
      pattern: 'defin',
      limit: 7,
      ...(after !== undefined && { after }),
    })
    assert.is(found.total, whole.total)
    return { items: found.matches, next: found.next }
  })
  assert.equal(paged, whole.matches)
})

test('a package lists what it offers, and what is internal only on demand', async () => {
  const offered = await lisp.found('symbols', { module: 'ls' })
  assert.equal(
    offered.symbols.map(({ name, kind, exported, doc }) => [name, kind, exported, doc]),
    [
      ['never-made', 'variable', true, null],
      ['offered', 'variable', true, 'On offer.'],
      ['total', 'function', true, 'Adds up.'],
    ],
  )
  assert.equal([offered.module, offered.doc, offered.total], ['LS', 'A shop.', 3])
  const all = await lisp.found('symbols', { module: 'ls', internal: true })
  const named = new Map(all.symbols.map(one => [one.name, one]))
  assert.is(named.get('hidden')?.exported, false)
  assert.is(named.get('kind')?.kind, 'class')
  assert.is(named.get('mac')?.kind, 'macro')
  assert.ok([...named.keys()].some(name => name.endsWith('ls-imported')))
  assert.not.ok(named.has('car'))
  const filtered = await lisp.found('symbols', { module: 'ls', internal: true, filter: 'HID' })
  assert.equal(
    filtered.symbols.map(({ name }) => name),
    ['hidden'],
  )
})

test('the globals of a package are those that are at home in it', async () => {
  const { globals, total } = await lisp.found('globals', { module: 'ls', limit: 100 })
  assert.equal(
    globals.map(({ name, type_name }) => [name, type_name]),
    [
      ['ls::alias', 'symbol-macro'],
      ['ls::hidden', 'function'],
      ['ls::mac', 'macro'],
      ['ls::|Mixed Case|', 'simple-string'],
      ['ls:offered', 'fixnum'],
      ['ls:total', 'function'],
    ],
  )
  assert.is(total, 6)
  const packages = await lisp.found('globals', { modules: true, filter: 'ls.BELOW' })
  assert.equal(packages.globals, [{ name: 'ls.below:', type_name: 'package' }])
})

test('nothing of ours is among the names', async () => {
  for (const pattern of ['imago', 'write-json', 'needs-evaluation'])
    assert.is((await lisp.found('apropos', { pattern })).total, 0)
  assert.is((await lisp.found('globals', { modules: true, filter: 'imago' })).total, 0)
})

/** Completes where the bar stands. */
async function at(marked: string) {
  const cursor = marked.indexOf('¦')
  const text = marked.replace('¦', '')
  const found = await lisp.found('complete', {
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

test('after characters beyond the first plane, places are counted as code points', async () => {
  const { from, to, texts } = await at('(list "🜁🜁" \'co-ch¦')
  assert.equal([from, to, texts], [12, 17, ['co-checkout']])
})

for (const [text, completed, inside] of [
  ['(m-v-b', 'multiple-value-bind', undefined],
  ['(mvb', 'multiple-value-bind', undefined],
  ['co-shop::t', 'co-shop::tally', undefined],
  ['(n-ch', 'names-checkout', undefined],
  ['(tal', 'tally', 'co-shop'],
] as const)
  test(`${text}${inside === undefined ? '' : ` in the package ${inside}`} is completed to ${completed}`, async () => {
    const package_ = inside === undefined ? {} : { package: inside }
    const { completions } = await lisp.found('complete', { text, cursor: text.length, ...package_ })
    assert.ok(
      completions.some(one => one.text === completed),
      JSON.stringify(completions),
    )
  })

test('what is no abbreviation is completed to nothing, and a package that is not there is said', async () => {
  assert.is((await lisp.found('complete', { text: '(m-q-zz', cursor: 7 })).total, 0)
  const { what } = missing(await lisp.look('complete', { text: '(ta', cursor: 3, package: 'co-shpo' }))
  assert.match(what, 'co-shpo')
})

test('in a string or a comment nothing is completed', async () => {
  for (const text of ['(list "co-ch¦', '; co-ch¦', '#| co-ch¦', '(a "x\\"co-ch¦', '(list "a" #| "b" co-ch¦'])
    assert.equal((await at(text)).texts, [], text)
  for (const text of ['(list "a" co-ch¦', '#\\" co-ch¦', '; x\nco-ch¦', '#| x |# co-ch¦', '"a;" co-ch¦'])
    assert.equal((await at(text)).texts, ['co-checkout'], text)
})

const calls = async (text: string) => {
  const { call } = await at(text)
  return call && [call.name, call.parameter]
}

test('the call that the cursor stands in is told, with the parameter', async () => {
  assert.equal(await calls('(co-checkout ¦'), ['co-checkout', 0])
  assert.equal(await calls('(co-checkout bas¦'), ['co-checkout', 0])
  assert.equal(await calls('(co-checkout basket ¦'), ['co-checkout', 1])
  assert.equal(await calls('(co-checkout (list 1 2) cus¦'), ['co-checkout', 1])
  assert.equal(await calls('(co-checkout (list 1 ¦'), ['list', 0])
  assert.equal(await calls("(co-each #'car a b ¦"), ['co-each', 1])
  assert.equal(await calls('(co-shop:total 1 ¦'), ['co-shop:total', 1])
  assert.equal(await calls('(co-shop:total 1 2 :unit ¦'), ['co-shop:total', 3])
  assert.equal(await calls('(let ((x (co-checkout ¦'), ['co-checkout', 0])
  assert.equal(await calls('(no-such-function ¦'), null)
  assert.equal(await calls('(co-checkout¦'), null)
  assert.equal(await calls('co-checkout ¦'), null)
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
  assert.is(await lisp.ask('*co-limit*'), '3')
})

test('the keywords that the call takes come before all others', async () => {
  assert.equal((await at('(co-shop:total 1 :¦')).texts.slice(0, 2), [':round', ':unit'])
  assert.is((await at('(co-shop:total 1 :un¦')).texts[0], ':unit')
  await lisp.ask('(defclass co-order () ((id :initarg :zzz-id) (lines :initarg :lines)))')
  assert.equal((await at("(make-instance 'co-order :lines 1 :¦")).texts.slice(0, 2), [':lines', ':zzz-id'])
  assert.is((await at("(make-instance 'co-none :z¦")).texts.includes(':zzz-id'), true)
})
