import type { Looked } from '../../wire/kernel.ts'
import { assert, suite } from '../support/harness.ts'
import { contents, type Inspecting, ORDERS, openInspecting } from '../support/lisp-inspecting.ts'
import { type RealSwank, startSwank } from '../support/swank.ts'

const test = suite('looking at Lisp values')
let swank: RealSwank
let at: Inspecting

test.before(async () => {
  swank = await startSwank()
  at = await openInspecting(swank)
  await at.define(ORDERS)
})
test.after(() => {
  at?.lisp.end()
  swank?.kill()
})

const text = async (expr: string) => contents((await at.inspect(expr)).repr).text
const why = (looked: Looked<unknown>) =>
  looked.type === 'not_found'
    ? looked.what
    : looked.type === 'needs_evaluation'
      ? looked.because
      : JSON.stringify(looked)

test('each value has its kind, and the sections that make sense for it', async () => {
  const kinds: Record<string, [kind: string, sections: string]> = {
    nil: ['none', ''],
    t: ['bool', ''],
    '3/4': ['number', ''],
    '"text"': ['string', 'size'],
    ':key': ['other', ''],
    '#\\a': ['other', ''],
    '*numbers*': ['sequence', 'size sample handle'],
    '*grid*': ['sequence', 'size sample handle'],
    '*table*': ['mapping', 'size sample handle'],
    '*order*': ['object', 'sample members doc handle'],
    '*point*': ['object', 'sample members handle'],
    "#'area": ['callable', 'doc callable handle'],
    order: ['class', 'members doc handle'],
    '(find-package "CL-USER")': ['module', 'members doc handle'],
    '*standard-output*': ['object', 'sample members handle'],
  }
  for (const [expr, [kind, sections]] of Object.entries(kinds)) {
    const value = await at.inspect(expr)
    assert.is(value.kind, kind, expr)
    assert.is(value.read, 'static')
    const always = ['type', 'kind', 'read', 'repr', 'limits']
    assert.equal(
      Object.keys(value).filter(section => !always.includes(section)),
      sections.split(' ').filter(Boolean),
      expr,
    )
  }
})

test('a name is a value before it is a function, a class or a package', async () => {
  assert.is(await text('both'), ':value')
  assert.is(await text("#'both"), '#<function both>')
  assert.is(await text('area'), '#<function area>')
  assert.is(await text('order'), '#<standard-class order>')
  assert.is(await text('cl-user'), '#<package "COMMON-LISP-USER">')
  assert.is(await text('swank:'), '#<package "SWANK">')
  assert.is(await text('cl:car'), '#<function car>')
  assert.is(await text('when'), '#<function (macro-function when)>')
  assert.is(await text('*package*'), '#<package "COMMON-LISP-USER">')
  assert.is(await text("'order"), 'order')
  assert.is(await text('\'(order "a" 1)'), '(order "a" 1)')
})

test('what is stored is reached in the words of Lisp, without running anything', async () => {
  const places: Record<string, string> = {
    '(car *numbers*)': '0',
    '(caddr *numbers*)': '2',
    '(tenth *numbers*)': '9',
    '(nth 42 *numbers*)': '42',
    '(nth 1000 *numbers*)': 'nil',
    '(nthcdr 98 *numbers*)': '(98 99)',
    '(elt *numbers* 7)': '7',
    '(aref *grid* 1 2)': '6',
    '(row-major-aref *grid* 3)': '4',
    '(char "abc" 1)': '#\\b',
    '(gethash "key 3" *table*)': '(3 9)',
    '(second (gethash "key 5" *table*))': '25',
    "(slot-value *order* 'customer)": '"Ada"',
    "(first (slot-value (gethash :other *table*) 'lines))": ':tea',
    '(point-x *point*)': 'nil',
    '(point-y *point*)': '2',
    '(point-y (getf *plist* :b))': '2',
    "(get 'order :colour)": ':green',
    "(symbol-value '*point*)": '#S(point :x nil :y 2)',
    "(symbol-function 'area)": '#<function area>',
    "(find-class 'order)": '#<standard-class order>',
    '(class-of *order*)': '#<standard-class order>',
    '(find-package :swank)': '#<package "SWANK">',
    '; the first\n  (car #|of|# *numbers*) ': '0',
    '#xFF': '255',
    '-1.5d3': '-1500.0d0',
  }
  for (const [expr, shown] of Object.entries(places)) assert.is(await text(expr), shown, expr)
})

test('what is missing is named, with what is nearest', async () => {
  const misses: Record<string, [what: RegExp, nearest: string]> = {
    '*nummers*': [/^\*nummers\*$/, 'cl-user::*numbers*'],
    '(car *nummers*)': [/^\*nummers\*$/, 'cl-user::*numbers*'],
    '(gethash "key 333" *table*)': [/an entry of .* under "key 333"/, '"key 3"'],
    "(slot-value *order* 'customers)": [/a slot customers of #<order/, 'customer'],
    "(slot-value *order* 'area)": [/a slot area of #<order/, ''],
    "(slot-value *order* 'total)": [/slot total, which is unbound/, ''],
    '(car 3)': [/car of 3, which is not a list/, ''],
    '(car)': [/car does not take 0 arguments/, ''],
    '(aref *grid* 2 0)': [/aref \(2 0\) of #2A.*no such element/, ''],
    '(elt *numbers* 100)': [/elt 100 of .*no such element/, ''],
    '(point-x *order*)': [/point-x of #<order.*not such a structure/, ''],
    'nowhere::x': [/package nowhere/i, ''],
    'sb-impl:%random-double-float': [/sb-impl:%random-double-float/, ''],
  }
  for (const [expr, [what, nearest]] of Object.entries(misses)) {
    const looked = await at.looked(expr)
    assert.is(looked.type, 'not_found', `${expr}: ${JSON.stringify(looked)}`)
    assert.match(why(looked), what, expr)
    if (nearest !== '') assert.ok(looked.type === 'not_found' && looked.nearest.includes(nearest), expr)
  }
})

test('what would run is left to evaluation, and says why', async () => {
  const runs: Record<string, RegExp> = {
    '(area 1 2)': /area is not known to read only what is stored/,
    '(car (area 1 2))': /area is not known/,
    '(let ((x 1)) x)': /let is not known/,
    here: /symbol macro/,
    '(lambda (x) x)': /lambda is not known/,
    '#.(area 1 2)': /#\./,
    '#+sbcl 1': /#\+/,
    '#(1 2)': /#\(/,
    '`(a ,b)': /quasiquoted/,
    '1 2': /several forms/,
    '((lambda (x) x) 1)': /no name/,
  }
  for (const [expr, because] of Object.entries(runs)) {
    const looked = await at.looked(expr)
    assert.is(looked.type, 'needs_evaluation', `${expr}: ${JSON.stringify(looked)}`)
    assert.match(why(looked), because, expr)
  }
})

test('what is no expression is refused with its place', async () => {
  const wrong: Record<string, [message: RegExp, line: number, column: number]> = {
    '': [/nothing here/, 1, 1],
    '(car\n  (cdr x)': [/not closed/, 1, 1],
    '(car\n  "x)': [/string is not closed/, 2, 3],
    '(car x))': [/closes nothing/, 1, 8],
    ' |x': [/bar/, 1, 2],
    '#<order>': [/cannot be read/, 1, 1],
    '#\\Nonsense': [/no character named Nonsense/, 1, 1],
    '#|x': [/comment is not closed/, 1, 1],
  }
  for (const [expr, [message, line, column]] of Object.entries(wrong)) {
    const looked = await at.looked(expr)
    if (looked.type !== 'malformed') throw new Error(`${expr}: ${JSON.stringify(looked)}`)
    assert.match(looked.message, message)
    assert.equal([looked.line, looked.column], [line, column], expr)
    assert.is((await at.looked(expr || '(', true)).type, 'malformed', expr)
  }
})

test('what is evaluated is shown by its own printer, and a listener’s variables stay as they are', async () => {
  await at.define(`
    (defmethod print-object ((point point) stream) (format stream "<~A>" (point-y point)))
    (defclass broken () ((id :initform 7)))
    (defmethod print-object ((broken broken) stream) (error "no ~A" :print))
    (defclass endless () ((id :initform 8)))
    (defmethod print-object ((endless endless) stream) (loop))
    (defclass talkative () ((id :initform 9)))
    (defmethod print-object ((talkative talkative) stream) (loop (write-string "and so on, " stream)))
    (+ 40 2)`)
  const evaluated = async (expr: string) => {
    const looked = await at.looked(expr, true)
    if (looked.type !== 'found') throw new Error(JSON.stringify(looked))
    assert.is(looked.value.read, 'evaluated')
    return contents(looked.value.repr)
  }
  assert.is((await evaluated('(list *point* (area 1 2))')).text, '(<2> (2 :m))')
  assert.is(await text('*point*'), '#S(point :x nil :y 2)')
  const broken = await evaluated("(make-instance 'broken)")
  assert.is(broken.text, '#<broken :id 7>')
  assert.match(broken.error ?? '', /printer of broken failed: .*no ~A/)
  const endless = await evaluated("(make-instance 'endless)")
  assert.is(endless.text, '#<endless :id 8>')
  assert.match(endless.error ?? '', /took longer/)
  assert.ok((await evaluated("(make-instance 'talkative)")).truncated)
  assert.is(await text('*'), '42')
  const raised = await at.looked('(error "not ~A" 1)', true)
  assert.is(raised.type === 'raised' && raised.exception.message, 'not 1')
})

test('an expression that does not end ends with its time', async () => {
  const query = { expr: '(loop)', evaluate: true, call: 'look-loop', deadline_ms: 300 }
  assert.equal(await at.lisp.peer.call('inspect', query), { type: 'timed_out', deadline_ms: 300 })
  assert.is(await text('(car *numbers*)'), '0')
})
