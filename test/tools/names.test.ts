import type { Tool } from '../../tools/define.ts'
import { classHierarchy, classSlots, inspect } from '../../tools/inspect.ts'
import { aproposSearch, complete, listGlobals } from '../../tools/names.ts'
import { whoReferences } from '../../tools/references.ts'
import type { LookName, Looks } from '../../wire/contract/looks.ts'
import type { CompletionsQuery, NamedThing } from '../../wire/contract/names.ts'
import { assert, suite } from '../support/harness.ts'
import { errorOf, finding, kernel as kernelOf, resultOf, run } from './context.ts'

const test = suite('names')

const ORDER = { name: 'Order', module: 'shop.orders', qualified: 'shop.orders.Order' }
const OBJECT = { name: 'object', module: 'builtins', qualified: 'object' }
const nowhere = { file: null, line: null }
const named = (name: string): NamedThing => ({
  name,
  kind: 'function',
  type_name: 'function',
  doc: 'Does it.',
})

const FOUND: { readonly [Name in LookName]?: Looks[Name]['found'] } = {
  describe: {
    name: 'rates',
    qualified: 'shop.orders.rates',
    kind: 'variable',
    ...nowhere,
    signature: null,
    type: { name: 'dict', module: 'builtins', qualified: 'dict' },
    value: { text: "{'de': 19}", truncated: false, original_len: 10 },
    doc: { text: 'Counts.\n\nTwice.', truncated: true, original_len: 900, handle: '@ab12.4' },
    module: 'shop.orders',
    also: ['shop.orders.rates', 'shop.web.rates'],
    facts: ['1 item'],
    handle: '@ab12.9',
  },
  arglist: {
    name: 'ship',
    qualified: 'shop.orders.ship',
    file: '/srv/shop/orders.py',
    line: 30,
    signature: '(order, *, fast=False) -> str',
    because: null,
    returns: 'str',
    doc: 'Sends it.',
    parameters: [{ name: 'order', kind: 'positional_or_keyword', default: null, annotation: null }],
  },
  apropos: {
    matches: [
      named('shop.orders.ship'),
      { ...named('shop.SHIPS'), type_name: 'int', kind: 'constant', doc: null },
    ],
    total: 7,
    searched: 40,
    next: 'shop.SHIPS',
  },
  symbols: {
    module: 'shop.orders',
    file: '/srv/shop/orders.py',
    doc: 'Orders.\n\nMore of it.\n',
    total: 2,
    symbols: [
      { ...named('ship'), exported: true },
      { ...named('_pack'), exported: false },
    ],
  },
  slots: {
    class: ORDER,
    slots: [
      { name: 'lines', kind: 'field', from: 'shop.orders.Order', annotation: 'list[int]', default: '[]' },
      { name: 'total', kind: 'property', from: 'shop.orders.Order', annotation: null, default: null },
      { name: 'id', kind: 'slot', from: 'shop.Thing', annotation: null, default: null },
    ],
    total: 9,
  },
  hierarchy: {
    class: ORDER,
    metaclass: { name: 'ABCMeta', module: 'abc', qualified: 'abc.ABCMeta' },
    bases: [OBJECT],
    ancestors: [OBJECT],
    total: 300,
    file: '/srv/shop/orders.py',
    line: 5,
    subclasses: [
      { type: { ...ORDER, qualified: 'shop.Gift' }, depth: 1 },
      { type: { ...ORDER, qualified: 'shop.Box' }, depth: 2 },
    ],
  },
  references: {
    qualified: 'shop.orders.ship',
    references: [
      { kind: 'uses', from: 'shop.web.checkout', file: '/srv/shop/web.py', line: 21 },
      { kind: 'holds', from: 'shop.web.handlers (a dict)', ...nowhere },
    ],
    total: 2,
    searched: ['the code of all loaded functions'],
    complete: true,
  },
}

/** What each tool asks an image, and how it tells what was found. */
const TOLD: readonly (readonly [Tool, LookName, args: object, query: object, text: readonly string[]])[] = [
  [
    inspect,
    'describe',
    { expr: 'rates', detail: 'brief' },
    { name: 'rates' },
    [
      'shop.orders.rates · variable · dict · @ab12.9',
      'asked for as rates',
      'module: shop.orders',
      'facts: 1 item',
      'also known as: shop.web.rates',
      "value: {'de': 19}",
      'doc (cut at 15 of 900 characters; more: read_more @ab12.4):\n  Counts.\n\n  Twice.',
    ],
  ],
  [
    inspect,
    'arglist',
    { expr: 'ship', detail: 'signature' },
    { name: 'ship' },
    ['shop.orders.ship(order, *, fast=False) -> str', 'Sends it.', '/srv/shop/orders.py:30'],
  ],
  [
    aproposSearch,
    'apropos',
    { filter: 'ship', package: 'shop', limit: 2 },
    { pattern: 'ship', module: 'shop', limit: 2 },
    [
      '2 of 7 names; for more: after "shop.SHIPS"; 40 modules searched',
      'shop.orders.ship  function: Does it.',
      'shop.SHIPS  constant, int',
    ],
  ],
  [
    listGlobals,
    'symbols',
    { package: 'shop.orders', detail: 'docs', filter: 's' },
    { module: 'shop.orders', internal: false, filter: 's', limit: 100 },
    [
      'shop.orders · /srv/shop/orders.py',
      '  Orders.',
      '2 names',
      'ship  function: Does it.',
      '_pack  function: Does it. (internal)',
    ],
  ],
  [
    classSlots,
    'slots',
    { name: 'shop.Order' },
    { name: 'shop.Order' },
    [
      'shop.orders.Order · 3 of 9 slots',
      'from shop.orders.Order:\n  field lines: list[int] = []\n  property total',
      'from shop.Thing:\n  slot id',
    ],
  ],
  [
    classHierarchy,
    'hierarchy',
    { name: 'shop.Order' },
    { name: 'shop.Order' },
    [
      'shop.orders.Order · metaclass abc.ABCMeta · /srv/shop/orders.py:5',
      'bases: object',
      'asked in this order: shop.orders.Order → object',
      '300 subclasses, 2 of them shown:\n  shop.Gift\n    shop.Box',
    ],
  ],
  [
    whoReferences,
    'references',
    { name: 'shop.ship' },
    { name: 'shop.ship', limit: 50 },
    [
      'shop.orders.ship · 2 references',
      'used by:\n  shop.web.checkout  /srv/shop/web.py:21',
      'held by:\n  shop.web.handlers (a dict)',
      'looked through:\n  the code of all loaded functions',
    ],
  ],
]

for (const [tool, look, args, query, text] of TOLD)
  test(`${tool.name} asks (${look}) for what it was given, and tells what was found in as many lines`, async () => {
    const asked = finding(FOUND[look])
    const result = resultOf(await run(tool, args, { kernel: { [look]: asked.look } }))
    const [sent] = asked.queries as object[]
    assert.equal({ ...sent, ...query }, sent)
    assert.equal(result, FOUND[look])
    assert.is(tool.show(result), text.join('\n'))
  })

test('where nothing was found, or something is not known, that is said', () => {
  const { arglist, apropos, symbols, hierarchy, references } = FOUND
  const bare = { signature: null, because: 'it is built in', doc: null, ...nowhere }
  const none = {
    matches: [],
    symbols: [],
    references: [],
    subclasses: [],
    bases: [],
    ancestors: [],
    total: 0,
  }
  for (const [tool, found, said] of [
    [inspect, { ...arglist, ...bare }, 'its signature is not known: it is built in\nparameters: order'],
    [aproposSearch, { ...apropos, total: null }, 'the first 2 names;'],
    [aproposSearch, { ...none, searched: 1 }, 'no such name; 1 module searched'],
    [listGlobals, { ...symbols, ...none }, '\nno names'],
    [classHierarchy, { ...hierarchy, ...none }, 'bases: none\nno subclasses'],
    [
      whoReferences,
      { ...references, ...none, complete: false },
      'no references found; the search was ended early',
    ],
  ] as const)
    assert.match(tool.show(found), said)
})

test('complete looks at the end of the text unless told where, and counts characters as the image does', async () => {
  const found: Looks['complete']['found'] = {
    from: 12,
    to: 14,
    total: 9,
    because: null,
    completions: [
      { text: 'fast=', kind: 'parameter', type_name: null },
      { text: 'fares', kind: 'variable', type_name: 'dict' },
    ],
    call: { name: 'ship', signature: '(order, *, fast=False)', parameter: 1 },
  }
  const { look, queries } = finding(found)
  const asking = { kernel: { complete: look } }
  const result = resultOf(await run(complete, { text: 'ship(order, fa' }, asking))
  await run(complete, { text: 's = "𝒳"; shi' }, asking)
  await run(complete, { text: 'ship(order)', cursor: 0, limit: 3 }, asking)
  assert.equal(
    queries.map(query => (query as CompletionsQuery).cursor),
    [14, 12, 0],
  )
  assert.is(
    complete.show(result),
    'in ship(order, *, fast=False), at parameter 2\n2 of 9, each in place of characters 12 to 14:\n' +
      'fast=  parameter\nfares  variable, dict',
  )
  const nothing = { ...found, completions: [], total: 0, call: null, because: 'f() would have to run' }
  assert.is(complete.show(nothing), 'nothing is offered: f() would have to run')
  assert.is(errorOf(await run(complete, { text: 'abc', cursor: 4 })).code, 'invalid_args')
  const { identity } = kernelOf()
  const kernel = { identity: { ...identity, abilities: new Set(['complete'] as const) } }
  const inside = errorOf(await run(complete, { text: 'abc', package: 'SHOP' }, { kernel }))
  assert.equal([inside.code, inside.details.parameter], ['invalid_args', 'package'])
})

/** The tools that look at one name, each with what calls the name and with its other arguments. */
const NAMES: readonly (readonly [Tool, parameter: string, args: object])[] = [
  [inspect, 'expr', { detail: 'brief' }],
  [inspect, 'expr', { detail: 'signature' }],
  [classSlots, 'name', {}],
  [classHierarchy, 'name', {}],
  [whoReferences, 'name', {}],
]
const everyLook = (look: unknown) =>
  ({ describe: look, arglist: look, slots: look, hierarchy: look, references: look }) as never

test('a name that is no name is said to be none, and no tool speaks of an expression', async () => {
  const look = async () => ({ type: 'malformed', message: 'invalid syntax', line: 1, column: 3 }) as const
  for (const [tool, parameter, args] of NAMES) {
    const error = errorOf(await run(tool, { ...args, [parameter]: 'a b' }, { kernel: everyLook(look) }))
    assert.is(error.code, 'invalid_args')
    assert.is(error.message, `${parameter} is not a name: invalid syntax (line 1, column 3)`)
  }
})

test('a name is read in the package that is named, where the language has such, and else refused', async () => {
  const queries: unknown[] = []
  const look = async (query: unknown) => {
    queries.push(query)
    return { type: 'malformed', message: 'not a name' } as const
  }
  const abilities = new Set(['describe'] as const)
  const python = { identity: { ...kernelOf().identity, abilities } }
  for (const [tool, parameter, more] of NAMES) {
    const args = { ...more, [parameter]: 'rates', package: 'SHOP' }
    await run(tool, args, { kernel: everyLook(look) })
    const error = errorOf(await run(tool, args, { kernel: python }))
    assert.equal([error.code, error.details.parameter], ['invalid_args', 'package'])
  }
  assert.equal(
    queries.map(query => (query as { package?: string }).package),
    NAMES.map(() => 'SHOP'),
  )
})
