import { existsSync } from 'node:fs'
import type { DaemonClient } from '../../src/front/client.ts'
import type { Inspected } from '../../wire/kernel.ts'
import { assert, suite } from '../support/harness.ts'
import { openRig } from '../support/rig.ts'
import { lispCache, mathicsPython } from '../support/runtimes.ts'

/** What leads on from a value to what it holds: an editor follows it, and never has to guess. */
const test = suite('what leads on to members', { limitMs: 180_000 })

process.env.XDG_CACHE_HOME = lispCache
const hasMathics = existsSync(mathicsPython)
const rig = openRig({ config: `[kernels]\nwolfram = ${JSON.stringify(mathicsPython)}\n` })
let client: DaemonClient

test.before(async () => {
  await rig.serve()
  client = await rig.connect()
})
test.after(() => rig.close())

async function result(tool: string, args: Readonly<Record<string, unknown>>): Promise<unknown> {
  const envelope = await client.call({ tool, args: { ...args, patience: 60 } })
  assert.ok(envelope.ok, envelope.ok ? '' : `${JSON.stringify(args)}: ${envelope.error.message}`)
  return envelope.result
}

const inspected = async (kernel: string, expr: string, more = {}) =>
  (await result('inspect', { kernel, expr, ...more })) as Inspected

const textOf = ({ repr }: Inspected) => (repr !== undefined && 'text' in repr ? repr.text : '')

const items = ({ sample }: Inspected) => {
  assert.ok(sample !== undefined && 'items' in sample)
  return sample.items.map((item, at) => [item, sample.exprs?.[at] ?? null] as const)
}

test('of a Python value, each leads to that very object without running code, and is null where only code could', async () => {
  await rig.imago(['start', 'python', '--name', 'py'])
  const expr = [
    'import collections, sys, types',
    'class Lower: __slots__ = ("slot",)',
    'class Zoo(Lower):',
    '    kind = "zoo"',
    '    def __getattr__(self, name): raise SystemExit(name)',
    '    @property',
    '    def total(self): raise SystemExit("ran")',
    '    @property',
    '    def hidden(self): raise SystemExit("ran")',
    '    def run(self): pass',
    'class Twice(Lower): __slots__ = ("slot",)',
    'zoo, twice = Zoo(), Twice()',
    'zoo.slot = [1]; twice.slot = [2]; Lower.slot.__set__(twice, [1])',
    'zoo.__dict__.update({"total": [2], "two words": [3], "class": [4], "\\ufb01": [5], "a\\"\'b\\\\\\n": [6]})',
    'odd = {"q\\"\'": [1], "\\u65e5\\n": [2], 1: [3], (1, "x"): [4], None: [5], b"b": [6], frozenset([1]): [7],',
    '  float("nan"): [8], "1in": [9], -3: [10], 2.5: [11], zoo: [12], "\\udc80": [13], 10**5000: [14]}',
    'many, kept = {frozenset([1]), 2}, collections.OrderedDict(a=[1], b=2)',
    'outer = types.ModuleType("outer"); outer.inner = [1]; sys.modules["outer"] = outer',
    'sys.modules["outer.inner"] = types.ModuleType("outer.inner")',
  ].join('\n')
  await result('eval_expr', { kernel: 'py', expr })
  const held: Record<string, string> = {
    slot: 'zoo.slot',
    total: 'zoo.__dict__["total"]',
    'two words': 'zoo.__dict__["two words"]',
    class: 'zoo.__dict__["class"]',
    ﬁ: 'zoo.__dict__["\\ufb01"]',
    'a"\'b\\\n': 'zoo.__dict__["a\\"\'b\\\\\\n"]',
    kind: 'Zoo.kind',
    run: 'Zoo.run',
  }
  const same = async (led: string, meant: string) => {
    const { handle } = await inspected('py', led)
    const other = await inspected('py', meant)
    assert.equal([handle, textOf(await inspected('py', led))], [other.handle, textOf(other)], led)
  }
  const { exprs = {} } = await inspected('py', 'zoo')
  for (const [name, meant] of Object.entries(held)) await same(String(exprs[name]), meant)
  assert.is(exprs.hidden, null)
  assert.is(exprs.slot, 'zoo.slot')
  // Two slots of one name: the outer one is shown, and its name leads to the other.
  const slots = await inspected('py', 'twice')
  assert.ok(slots.fields !== undefined && 'rows' in slots.fields)
  assert.is(slots.fields.rows[0]?.value, '[1]')
  assert.is(textOf(await inspected('py', String(slots.exprs?.slot))), '[1]')
  for (const [at, [, led]] of items(await inspected('py', 'odd')).entries())
    assert.is(textOf(await inspected('py', String(led))), `[${at + 1}]`)
  assert.is(items(await inspected('py', 'odd'))[0]?.[1], `odd['q"\\'']`)
  for (const [item, led] of [
    ...items(await inspected('py', 'many')),
    ...items(await inspected('py', 'kept')),
  ])
    if (led === null) assert.match(item, /2$/)
    else assert.ok(item.includes(textOf(await inspected('py', led))), item)
  // Items without an index or a plain key have handles, but plain values, which their text tells whole.
  const values = {
    'collections.deque([1, "text", [2]], maxlen=3)': [null, null, '[2]'],
    '{(1, 2)}': ['(1, 2)'],
    'collections.namedtuple("Pair", "x y")(1, [2])': [null, '[2]'],
    'collections.ChainMap({"a": [1]}, {})': ["{'a': [1]}", null],
    'collections.defaultdict(list, {"a": [1], "b": 2})': ['[1]', null],
    'types.MappingProxyType({"a": [1]})': ['[1]'],
    '{"a": [1]}.values()': ['[1]'],
    // Each look makes this pair again.
    '{"a": [1]}.items()': [null],
  }
  for (const [value, texts] of Object.entries(values)) {
    await result('eval_expr', { kernel: 'py', expr: `value = ${value}` })
    const ways = items(await inspected('py', 'value')).map(([, led]) => led)
    const led = await Promise.all(
      ways.map(async way => way && textOf(await inspected('py', way)).replaceAll(/…\d?/g, '')),
    )
    assert.equal(led, texts, value)
    assert.equal(
      items(await inspected('py', 'value')).map(([, way]) => way),
      ways,
    )
  }
  await result('eval_expr', { kernel: 'py', expr: 'ring = collections.deque([], 3)' })
  const { exprs: ofRing } = await inspected('py', 'ring')
  assert.is(textOf(await inspected('py', String(ofRing?.maxlen))), '3')
  // A loaded module goes before an attribute of the same dotted name, where the top level has neither.
  await result('eval_expr', { kernel: 'py', expr: 'del outer' })
  assert.is((await inspected('py', 'outer')).exprs?.inner, null)
  // A comment behind the expression would hide what is written after that.
  assert.is(textOf(await inspected('py', String(items(await inspected('py', 'zoo.slot # it'))[0]?.[1]))), '1')
})

test('of a Lisp value, each leads to that very item by stored places, or is a handle', async () => {
  await rig.imago(['start', 'lisp', '--name', 'cl'])
  await result('eval_expr', { kernel: 'cl', expr: '(defpackage :zoo (:use) (:export "OPEN"))' })
  const expr = `(progn (defvar zoo::open 9)
    (defstruct order (total 1.5d0) (lines (list 1 2)))
    (defclass thing () ((|odd Slot| :initform (list 3)) (zoo::inner :initform (vector 4)) unbound))
    (defvar *order* (make-order)) (defvar *thing* (make-instance 'thing))
    (defvar *dotted* (list* (list 1) (list 2) (vector 3)))
    (defvar *matrix* (make-array '(2 2) :initial-contents '(((1) (2)) ((3) (4)))))
    (defvar *table* (make-hash-table :test 'equal))
    (loop for key in (list "q\\"'\\\\" :key 'zoo::inner 5 #\\a '(1 "x") (vector 1) (make-symbol "GONE") 2.5d0)
          for value from 1 do (setf (gethash key *table*) (list value))))`
  await result('eval_expr', { kernel: 'cl', expr })
  for (const value of ['*order*', '*thing*', '*dotted*', '*matrix*', '*table*', "'(1 (2))"])
    for (const [item, led] of items(await inspected('cl', value)))
      if (led === null) assert.match(item, /unbound/)
      else assert.ok(item.endsWith(textOf(await inspected('cl', led))), `${led}: ${item}`)
  assert.is(items(await inspected('cl', '*order*'))[0]?.[1], "(slot-value *order* 'cl-user::total)")
  assert.is(items(await inspected('cl', '*dotted*'))[1]?.[1], '(nth 1 *dotted*)')
  assert.match(items(await inspected('cl', '*thing*')).join(), 'zoo::inner')
  const handles = items(await inspected('cl', '*table*')).filter(([, led]) => led?.startsWith('@'))
  assert.is(handles.length, 2)
  assert.match(
    textOf(await inspected('cl', String(items(await inspected('cl', '(find-package :zoo)'))[0]?.[1]))),
    '9',
  )
})

if (hasMathics)
  test('of a Wolfram expression, each leads to that very part, by its key where that is plain', async () => {
    await rig.imago(['start', 'wolfram', '--name', 'wl'])
    const expr =
      'list = {1, {2, 3}, f[4]}; assoc = <|"plain key" -> {1}, "q\\"\\[Alpha]" -> {2}, x -> {3}, 7 -> {4}|>;'
    await result('eval_expr', { kernel: 'wl', expr })
    const { handle } = await inspected('wl', 'list')
    for (const value of ['list', 'list[[2]]', 'assoc', 'assoc["plain key"]', `${handle}`, `${handle}[[3]]`])
      for (const [item, led] of items(await inspected('wl', value)))
        assert.ok(item.endsWith(textOf(await inspected('wl', String(led)))), `${led}: ${item}`)
    const [first, ...others] = items(await inspected('wl', 'assoc')).map(([, led]) => led)
    assert.equal([first, ...others], ['assoc["plain key"]', 'assoc[[2]]', 'assoc[[3]]', 'assoc[[4]]'])
  })
