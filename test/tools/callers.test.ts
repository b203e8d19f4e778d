import { whoCalls, whoReferences } from '../../tools/references.ts'
import { RELATIONS, type References, type Relation } from '../../wire/contract/names.ts'
import { assert, suite } from '../support/harness.ts'
import { errorOf, kernel as kernelOf, resultOf, run } from './context.ts'

const test = suite('who_calls')

const FOUND: References = {
  qualified: 'SHOP:TOTAL',
  references: [
    { kind: 'calls', from: 'SHOP::CHECKOUT', file: '/srv/shop/web.lisp', line: 21 },
    { kind: 'calls', from: '(method SHOP:SHIP (SHOP:GIFT))', file: null, line: null },
  ],
  total: 2,
  searched: ['the compiled code of all packages; calls through a variable cannot be seen'],
  complete: true,
}

function finding(value: References) {
  const queries: unknown[] = []
  const references = async (query: unknown) => {
    queries.push(query)
    return { type: 'found', value } as const
  }
  return { kernel: { references }, queries }
}

test('callers are asked for as such, in the package that is named', async () => {
  const { kernel, queries } = finding(FOUND)
  const result = resultOf(await run(whoCalls, { name: 'total', package: 'SHOP' }, { kernel }))
  await run(whoCalls, { name: 'shop:total', limit: 3 }, { kernel })
  assert.equal(queries, [
    { name: 'total', package: 'SHOP', limit: 50, relations: ['calls'] },
    { name: 'shop:total', limit: 3, relations: ['calls'] },
  ])
  assert.is(
    whoCalls.show(result),
    'SHOP:TOTAL · 2 callers\ncalled by:\n  SHOP::CHECKOUT  /srv/shop/web.lisp:21\n' +
      '  (method SHOP:SHIP (SHOP:GIFT))\nlooked through:\n  ' +
      'the compiled code of all packages; calls through a variable cannot be seen',
  )
})

test('none found, not available here, and failed are three different answers', async () => {
  const none = { ...FOUND, references: [], total: 0 }
  const result = resultOf(await run(whoCalls, { name: 'total' }, finding(none)))
  assert.match(whoCalls.show(result), /^SHOP:TOTAL · no callers found\nlooked through:/)

  const { identity } = kernelOf()
  const lacking = { identity: { ...identity, abilities: new Set(['references'] as const) } }
  const unavailable = errorOf(await run(whoCalls, { name: 'total' }, { kernel: lacking }))
  assert.is(unavailable.code, 'not_available')
  assert.match(unavailable.message, 'This does not say that there are none')

  const references = async () =>
    ({ type: 'not_found', what: 'SHOP::TOTLA', nearest: ['shop:total'] }) as const
  const failed = errorOf(await run(whoCalls, { name: 'shop::totla' }, { kernel: { references } }))
  assert.is(failed.code, 'not_found')
  assert.match(failed.message, 'Nearest: shop:total')
})

test('it is listed only for an image that tells callers apart', () => {
  assert.equal(whoCalls.needs, ['references', 'callers'])
  assert.is(whoCalls.level, 'safe')
})

test('who_references asks for one relation, and an image that does not tell it apart says so', async () => {
  for (const relation of RELATIONS) {
    const { kernel, queries } = finding(FOUND)
    resultOf(await run(whoReferences, { name: '*rate*', relation }, { kernel }))
    assert.equal(queries, [{ name: '*rate*', limit: 50, relations: [relation] }])
  }
  const { kernel } = finding(FOUND)
  const { identity } = kernelOf()
  const plain = { ...kernel, identity: { ...identity, abilities: new Set(['references'] as const) } }
  const told: Relation[] = ['uses', 'holds']
  for (const relation of RELATIONS) {
    const outcome = await run(whoReferences, { name: 'x', relation }, { kernel: plain })
    assert.is(outcome.type, told.includes(relation) ? 'ok' : 'failed', relation)
    if (outcome.type === 'failed') assert.is(outcome.error.code, 'not_available')
  }
})

test('each kind of reference has a heading of its own', () => {
  const references = RELATIONS.map(kind => ({ kind, from: `by-${kind}`, file: null, line: null }))
  const shown = whoReferences.show({ ...FOUND, references, total: 8, searched: [] })
  assert.is(
    shown,
    'SHOP:TOTAL · 8 references\nused by:\n  by-uses\nheld by:\n  by-holds\ncalled by:\n  by-calls\n' +
      'referenced by:\n  by-references\nbound by:\n  by-binds\nset by:\n  by-sets\nexpanded in:\n  by-macroexpands\n' +
      'specialized on by:\n  by-specializes',
  )
})

test('a look that takes too long is a fourth, and a fault of the image is no answer but thrown on', async () => {
  const slow = async () => ({ type: 'timed_out', deadline_ms: 5 }) as const
  const error = errorOf(await run(whoCalls, { name: 'x' }, { kernel: { references: slow } }))
  assert.is(error.details.reason, 'inspect_timeout')
  const fault = new Error('link lost')
  const kernel = { references: () => Promise.reject(fault) }
  assert.is(await run(whoCalls, { name: 'x' }, { kernel }).catch(thrown => thrown), fault)
})

test('a macro has no callers: it is said what it is, and who tells where it is expanded', async () => {
  const macro = { ...FOUND, qualified: 'shop::twice', references: [], total: 0, uncallable: 'macro' }
  const shown = whoCalls.show(resultOf(await run(whoCalls, { name: 'twice' }, finding(macro))))
  assert.match(shown, 'shop::twice · a macro: code does not call it, so it has no callers')
  assert.match(shown, 'next: who_references {"name":"shop::twice"}')
})
