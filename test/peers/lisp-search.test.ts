import { assert, suite } from '../support/harness.ts'
import { lispLooks } from '../support/lisp-looks.ts'

const test = suite('lists of names in a Lisp image')

const image = lispLooks(
  test,
  `(defpackage #:ls (:use #:cl) (:export #:offered #:total #:never-made) (:documentation "A shop."))
   (defpackage #:ls.below (:use #:cl)) (defpackage #:ls/deep (:use #:cl)) (defpackage #:lsx (:use #:cl))
   (defun ls:total () "Adds up." 1) (defvar ls:offered 1 "On offer.") (defun ls::hidden () 1) (defclass ls::kind () ())
   (defun ls.below::zz-total () 1) (defvar ls/deep::zz-total 1) (defun lsx::zz-total () 1)
   (import 'cl-user::ls-imported :ls) (defun cl-user::ls-imported () 1)
   (defvar ls::|Mixed Case| "text") (define-symbol-macro ls::alias 1) (defmacro ls::mac () 1)
   (defpackage #:ls-many (:use #:cl))
   (dotimes (i 10000) (setf (symbol-value (intern (format nil "MANY-~5,'0D" i) :ls-many)) i))`,
)

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
  const { matches, total, searched } = await image.found('apropos', { pattern: 'zz-ToTaL' })
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
  const mixed = await image.found('apropos', { pattern: 'mixed c' })
  assert.equal(
    mixed.matches.map(({ name, type_name }) => [name, type_name]),
    [['ls::|Mixed Case|', 'simple-string']],
  )
})

test('a package can be searched with what is below it', async () => {
  const names = async (module: string) =>
    (await image.found('apropos', { pattern: 'total', module })).matches.map(({ name }) => name)
  assert.equal(await names('ls'), ['ls:total', 'ls.below::zz-total', 'ls/deep::zz-total'])
  assert.equal(await names('lsx'), ['lsx::zz-total'])
  assert.is((await image.look('apropos', { pattern: '', module: 'no-such' })).type, 'not_found')
})

test('the pages of a search are what the whole of it is', async () => {
  const whole = await image.found('apropos', { pattern: 'defin', limit: 1_000 })
  assert.is(whole.matches.length, whole.total)
  const paged = await pages(async after => {
    const found = await image.found('apropos', {
      pattern: 'defin',
      limit: 7,
      ...(after !== undefined && { after }),
    })
    assert.is(found.total, whole.total)
    return { items: found.matches, next: found.next }
  })
  assert.equal(paged, whole.matches)
})

test('everything is found without choking, a page at a time', async () => {
  const first = await image.found('apropos', { pattern: '', limit: 100 })
  assert.ok((first.total ?? 0) > 20_000, `${first.total}`)
  assert.is(first.matches.length, 100)
  const many = await image.found('symbols', { module: 'ls-many', internal: true, limit: 5 })
  assert.equal([many.total, many.symbols[4]?.name], [10_000, 'many-00004'])
  const last = await image.found('globals', { module: 'ls-many', after: 'ls-many::many-09997', limit: 5 })
  assert.equal(
    last.globals.map(({ name }) => name),
    ['ls-many::many-09998', 'ls-many::many-09999'],
  )
})

test('a package lists what it offers, and what is internal only on demand', async () => {
  const offered = await image.found('symbols', { module: 'ls' })
  assert.equal(
    offered.symbols.map(({ name, kind, exported, doc }) => [name, kind, exported, doc]),
    [
      ['never-made', 'variable', true, null],
      ['offered', 'variable', true, 'On offer.'],
      ['total', 'function', true, 'Adds up.'],
    ],
  )
  assert.equal([offered.module, offered.doc, offered.total], ['LS', 'A shop.', 3])
  const all = await image.found('symbols', { module: 'ls', internal: true })
  const named = new Map(all.symbols.map(one => [one.name, one]))
  assert.is(named.get('hidden')?.exported, false)
  assert.is(named.get('kind')?.kind, 'class')
  assert.is(named.get('mac')?.kind, 'macro')
  assert.ok([...named.keys()].some(name => name.endsWith('ls-imported')))
  assert.not.ok(named.has('car'))
  const filtered = await image.found('symbols', { module: 'ls', internal: true, filter: 'HID' })
  assert.equal(
    filtered.symbols.map(({ name }) => name),
    ['hidden'],
  )
})

test('COMMON-LISP has its 978 names, on all pages together', async () => {
  const names = await pages(async after => {
    const query = { module: 'COMMON-LISP', limit: 200, ...(after !== undefined && { after }) }
    const found = await image.found('symbols', query)
    return { items: found.symbols.map(({ name }) => name), next: found.next }
  })
  assert.is(new Set(names).size, 978)
  for (const name of ['car', 'if', '*print-pretty*', '&rest', '1+', 'standard-object'])
    assert.ok(names.includes(name), name)
})

test('the globals of a package are those that are at home in it', async () => {
  const { globals, total } = await image.found('globals', { module: 'ls', limit: 100 })
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
  const packages = await image.found('globals', { modules: true, filter: 'ls.BELOW' })
  assert.equal(packages.globals, [{ name: 'ls.below:', type_name: 'package' }])
})

test('nothing of ours is among the names', async () => {
  for (const pattern of ['imago', 'write-json', 'needs-evaluation'])
    assert.is((await image.found('apropos', { pattern })).total, 0)
  assert.is((await image.found('globals', { modules: true, filter: 'imago' })).total, 0)
})
