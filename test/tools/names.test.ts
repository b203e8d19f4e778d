import { classHierarchy, classSlots } from '../../tools/inspect.ts'
import {
  aproposSearch,
  complete,
  describeSymbol,
  functionArglist,
  listPackageSymbols,
} from '../../tools/names.ts'
import { whoReferences } from '../../tools/references.ts'
import type { Looked } from '../../wire/contract/looks.ts'
import type {
  Apropos,
  Arglist,
  Completions,
  CompletionsQuery,
  Description,
  Hierarchy,
  ModulePage,
  NamedThing,
  References,
  Slots,
} from '../../wire/contract/names.ts'
import type { TypeName } from '../../wire/contract/values.ts'
import { assert, suite } from '../support/harness.ts'
import { errorOf, kernel as kernelOf, resultOf, run } from './context.ts'

const test = suite('names')

/** An answer to a look that finds this, and what it was asked. */
function finding<Found>(value: Found) {
  const queries: unknown[] = []
  const look = async (query: unknown): Promise<Looked<Found>> => {
    queries.push(query)
    return { type: 'found', value }
  }
  return { look, queries }
}

const ORDER: TypeName = { name: 'Order', module: 'shop.orders', qualified: 'shop.orders.Order' }

const OBJECT: TypeName = { name: 'object', module: 'builtins', qualified: 'object' }

const text = (of: string) => ({ text: of, truncated: false, original_len: of.length })

const RATES: Description = {
  name: 'rates',
  qualified: 'shop.orders.rates',
  kind: 'variable',
  type: { name: 'dict', module: 'builtins', qualified: 'dict' },
  file: null,
  line: null,
  value: text("{'de': 19}"),
  doc: null,
  signature: null,
  module: 'shop.orders',
  also: ['shop.orders.rates', 'shop.web.rates'],
  facts: ['1 item'],
  handle: '@ab12.9',
}

test('describe_symbol tells what a name stands for, a line for each fact', async () => {
  const { look, queries } = finding(RATES)
  const result = resultOf(await run(describeSymbol, { name: 'rates' }, { kernel: { describe: look } }))
  assert.equal(result, RATES)
  assert.equal(queries, [{ name: 'rates' }])
  assert.is(
    describeSymbol.show(result),
    [
      'shop.orders.rates · variable · dict · @ab12.9',
      'asked for as rates',
      'module: shop.orders',
      'facts: 1 item',
      'also known as: shop.web.rates',
      "value: {'de': 19}",
    ].join('\n'),
  )
  const {
    value: _,
    handle: __,
    ...function_
  } = { ...RATES, name: 'f', qualified: 'f', kind: 'function' as const }
  const shown = describeSymbol.show({
    ...function_,
    file: '/srv/f.py',
    line: 3,
    signature: '(x, *, key=None)',
    doc: { text: 'Counts.\n\nTwice.', truncated: true, original_len: 900, handle: '@ab12.4' },
    also: [],
  })
  assert.match(shown, /^f · function · \/srv\/f\.py:3\nsignature: \(x, \*, key=None\)\n/)
  assert.match(
    shown,
    /\ndoc \(cut at 15 of 900 characters; more: read_more @ab12\.4\):\n {2}Counts\.\n\n {2}Twice\.$/,
  )
})

const SHIP: Arglist = {
  name: 'ship',
  qualified: 'shop.orders.ship',
  signature: '(order, *, fast=False) -> str',
  because: null,
  parameters: [{ name: 'order', kind: 'positional_or_keyword', default: null, annotation: null }],
  returns: 'str',
  doc: 'Sends an order on its way.',
  file: '/srv/shop/orders.py',
  line: 30,
}

test('function_arglist reads as the call would be written; where that is not known it says why', async () => {
  const { look } = finding(SHIP)
  const result = resultOf(await run(functionArglist, { name: 'ship' }, { kernel: { arglist: look } }))
  assert.is(
    functionArglist.show(result),
    'shop.orders.ship(order, *, fast=False) -> str\nSends an order on its way.\n/srv/shop/orders.py:30',
  )
  assert.is(
    functionArglist.show({
      ...SHIP,
      signature: null,
      because: 'it is built in',
      doc: null,
      file: null,
      line: null,
    }),
    'shop.orders.ship\nits signature is not known: it is built in\nparameters: order\nreturns: str',
  )
})

const named = (name: string): NamedThing => ({
  name,
  kind: 'function',
  type_name: 'function',
  doc: 'Does it.',
})

const FOUND: Apropos = {
  matches: [named('shop.orders.ship'), { name: 'shop.SHIPS', kind: 'constant', type_name: 'int', doc: null }],
  total: 7,
  searched: 40,
  next: 'shop.SHIPS',
}

test('apropos_search says a line about each name, how many there are, and how to go on', async () => {
  const { look, queries } = finding(FOUND)
  const args = { pattern: 'ship', package: 'shop', limit: 2 }
  const result = resultOf(await run(aproposSearch, args, { kernel: { apropos: look } }))
  assert.equal(queries, [{ pattern: 'ship', module: 'shop', limit: 2 }])
  assert.equal(result, FOUND)
  assert.is(
    aproposSearch.show(result),
    '2 of 7 names; for more: after "shop.SHIPS"; 40 modules searched\n' +
      'shop.orders.ship  function: Does it.\nshop.SHIPS  constant, int',
  )
  assert.match(aproposSearch.show({ ...FOUND, total: null }), /^the first 2 names;.*ended early/)
  assert.is(aproposSearch.show({ matches: [], total: 0, searched: 1 }), 'no such name; 1 module searched')
})

test('a page of names that is too long ends early, and its `next` is the last name on it', async () => {
  const matches = Array.from({ length: 500 }, (_, index) => ({ ...named(`n${index}`), doc: 'd'.repeat(300) }))
  const { look } = finding({ ...FOUND, matches, next: 'n499' })
  const result = resultOf(await run(aproposSearch, { pattern: 'n' }, { kernel: { apropos: look } }))
  const kept = result.matches as NamedThing[]
  assert.ok(kept.length > 50 && kept.length < 200)
  assert.is(result.next, kept.at(-1)?.name)
})

const MODULE: ModulePage = {
  module: 'shop.orders',
  file: '/srv/shop/orders.py',
  doc: 'Orders, and what they come to.\n\nMore of it.\n',
  symbols: [
    { ...named('ship'), exported: true },
    { ...named('_pack'), exported: false },
  ],
  total: 2,
}

test('list_package_symbols lists what a module offers, and marks what is internal', async () => {
  const { look, queries } = finding(MODULE)
  const kernel = { symbols: look }
  const result = resultOf(await run(listPackageSymbols, { package: 'shop.orders', filter: 's' }, { kernel }))
  assert.equal(queries, [{ module: 'shop.orders', internal: false, filter: 's', limit: 50 }])
  assert.is(
    listPackageSymbols.show(result),
    'shop.orders · /srv/shop/orders.py\n  Orders, and what they come to.\n2 names\n' +
      'ship  function: Does it.\n_pack  function: Does it. (internal)',
  )
  assert.is(
    listPackageSymbols.show({ ...MODULE, file: null, doc: null, symbols: [], total: 0 }),
    'shop.orders\nno names',
  )
})

test('a module that is not loaded is not found, and the answer says what can be listed', async () => {
  const symbols = async () => ({ type: 'not_found', what: 'shop.odrers', nearest: ['shop.orders'] }) as const
  const error = errorOf(await run(listPackageSymbols, { package: 'shop.odrers' }, { kernel: { symbols } }))
  assert.is(error.code, 'not_found')
  assert.match(error.message, 'Nearest: shop.orders')
  assert.match(error.next ?? '', 'Only what is loaded')
})

const SLOTS: Slots = {
  class: ORDER,
  slots: [
    { name: 'lines', kind: 'field', from: 'shop.orders.Order', annotation: 'list[int]', default: '[]' },
    { name: 'total', kind: 'property', from: 'shop.orders.Order', annotation: null, default: null },
    { name: 'id', kind: 'slot', from: 'shop.Thing', annotation: null, default: null },
  ],
  total: 3,
}

test('class_slots tells what each class contributes', async () => {
  const { look } = finding(SLOTS)
  const result = resultOf(await run(classSlots, { name: 'shop.Order' }, { kernel: { slots: look } }))
  assert.is(
    classSlots.show(result),
    'shop.orders.Order · 3 slots\nfrom shop.orders.Order:\n  field lines: list[int] = []\n  property total\n' +
      'from shop.Thing:\n  slot id',
  )
  assert.match(classSlots.show({ ...SLOTS, total: 9 }), '3 of 9 slots')
})

const HIERARCHY: Hierarchy = {
  class: ORDER,
  metaclass: { name: 'ABCMeta', module: 'abc', qualified: 'abc.ABCMeta' },
  bases: [OBJECT],
  ancestors: [OBJECT],
  subclasses: [
    { type: { ...ORDER, qualified: 'shop.Gift' }, depth: 1 },
    { type: { ...ORDER, qualified: 'shop.Box' }, depth: 2 },
  ],
  total: 2,
  file: '/srv/shop/orders.py',
  line: 5,
}

test('class_hierarchy shows ancestors in order, and subclasses as a tree', async () => {
  const { look } = finding(HIERARCHY)
  const result = resultOf(await run(classHierarchy, { name: 'shop.Order' }, { kernel: { hierarchy: look } }))
  assert.is(
    classHierarchy.show(result),
    'shop.orders.Order · metaclass abc.ABCMeta · /srv/shop/orders.py:5\nbases: object\n' +
      'asked in this order: object\n2 subclasses:\n  shop.Gift\n    shop.Box',
  )
  const alone = { ...HIERARCHY, metaclass: null, bases: [], ancestors: [], subclasses: [], total: 0 }
  assert.is(
    classHierarchy.show(alone),
    'shop.orders.Order · /srv/shop/orders.py:5\nbases: none\nno subclasses',
  )
  assert.match(classHierarchy.show({ ...HIERARCHY, total: 300 }), '300 subclasses, 2 of them shown:')
})

const REFERENCES: References = {
  qualified: 'shop.orders.ship',
  references: [
    { kind: 'uses', from: 'shop.web.checkout', file: '/srv/shop/web.py', line: 21 },
    { kind: 'holds', from: 'shop.web.handlers (a dict)', file: null, line: null },
  ],
  total: 2,
  searched: ['the code of all loaded functions'],
  complete: true,
}

test('who_references tells users from holders, and says what was looked through', async () => {
  const { look, queries } = finding(REFERENCES)
  const result = resultOf(await run(whoReferences, { name: 'shop.ship' }, { kernel: { references: look } }))
  assert.equal(queries, [{ name: 'shop.ship', limit: 50 }])
  assert.is(
    whoReferences.show(result),
    'shop.orders.ship · 2 references\nused by:\n  shop.web.checkout  /srv/shop/web.py:21\n' +
      'held by:\n  shop.web.handlers (a dict)\nlooked through:\n  the code of all loaded functions',
  )
  const none = { ...REFERENCES, references: [], total: 0, complete: false }
  assert.match(
    whoReferences.show(none),
    /^shop\.orders\.ship · no references found; the search was ended early/,
  )
})

const COMPLETIONS: Completions = {
  from: 12,
  to: 14,
  completions: [
    { text: 'fast=', kind: 'parameter', type_name: null },
    { text: 'fares', kind: 'variable', type_name: 'dict' },
    { text: 'fax', kind: 'function', type_name: 'function' },
  ],
  total: 9,
  call: { name: 'ship', signature: '(order, *, fast=False)', parameter: 1 },
  because: null,
}

test('complete looks at the end of the text unless told where, and counts characters as the image does', async () => {
  const { look, queries } = finding(COMPLETIONS)
  const kernel = { complete: look }
  const result = resultOf(await run(complete, { text: 'ship(order, fa' }, { kernel }))
  await run(complete, { text: 's = "𝒳"; shi' }, { kernel })
  await run(complete, { text: 'ship(order)', cursor: 0, limit: 3 }, { kernel })
  assert.equal(
    queries.map(query => (query as CompletionsQuery).cursor),
    [14, 12, 0],
  )
  assert.is(
    complete.show(result),
    'in ship(order, *, fast=False), at parameter 2\n3 of 9, each in place of characters 12 to 14:\n' +
      'fast=  parameter\nfares  variable, dict\nfax  function',
  )
  const nothing = { ...COMPLETIONS, completions: [], total: 0, call: null }
  assert.is(complete.show(nothing), 'no completions')
  assert.is(
    complete.show({ ...nothing, because: 'f() would have to run' }),
    'nothing is offered: f() would have to run',
  )
})

test('complete refuses a cursor beyond the text', async () => {
  const error = errorOf(await run(complete, { text: 'abc', cursor: 4 }))
  assert.is(error.code, 'invalid_args')
  assert.match(error.message, 'has 3 characters')
})

test('a name that is no name is said to be none, and no tool speaks of an expression', async () => {
  const look = async () => ({ type: 'malformed', message: 'invalid syntax', line: 1, column: 3 }) as const
  const kernel = { describe: look, arglist: look, slots: look, hierarchy: look, references: look }
  for (const tool of [describeSymbol, functionArglist, classSlots, classHierarchy, whoReferences]) {
    const error = errorOf(await run(tool, { name: 'a b' }, { kernel }))
    assert.is(error.code, 'invalid_args')
    assert.is(error.message, 'name is not a name: invalid syntax (line 1, column 3)')
  }
})

test('a name is read in the package that is named, where the language has such, and else refused', async () => {
  const { look, queries } = finding(RATES)
  const tools = [describeSymbol, functionArglist, classSlots, classHierarchy, whoReferences]
  const found = { describe: look, arglist: look, slots: look, hierarchy: look, references: look } as never
  const { identity } = kernelOf()
  const python = { identity: { ...identity, abilities: new Set(['describe'] as const) } }
  for (const tool of tools) {
    await run(tool, { name: 'rates', package: 'SHOP' }, { kernel: found }).catch(() => undefined)
    assert.equal(tool.renamed({ symbol: 'rates' }), { name: 'rates' })
    const error = errorOf(await run(tool, { name: 'rates', package: 'SHOP' }, { kernel: python }))
    assert.is(error.code, 'invalid_args')
    assert.is(error.details.parameter, 'package')
  }
  assert.is(queries.length, tools.length)
  for (const query of queries) assert.is((query as { package?: string }).package, 'SHOP')
})
