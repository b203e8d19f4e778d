import { loadSystem } from '../../tools/load.ts'
import type { Evaluated, Loaded } from '../../wire/contract/evaluation.ts'
import { assert, suite } from '../support/harness.ts'
import { errorOf, RAISED, resultOf, run } from './context.ts'
import { ending } from './ending.ts'

const test = suite('load_system')

const LOADED: Loaded = {
  module: 'shop',
  file: '/srv/shop/shop.asd',
  added: ['alexandria', 'shop'],
  replaced: [],
  kept: [],
  skipped: [],
  survivors: [],
  omitted: 0,
  complete: true,
}

const DONE: Evaluated = {
  type: 'done',
  values: [],
  elapsed_ms: 1_200,
  loaded: LOADED,
  diagnostics: [
    {
      severity: 'style_warning',
      message: 'unused: X',
      file: '/srv/shop/a.lisp',
      line: 3,
      column: 2,
      source: null,
    },
  ],
}

test('a system is asked for by name, and forced only where that was said', async () => {
  const { kernel, works } = ending(DONE)
  await run(loadSystem, { system: 'shop' }, { kernel })
  await run(loadSystem, { system: 'shop/tests', force: true }, { kernel })
  assert.equal(works, [
    { type: 'system', system: 'shop', force: false },
    { type: 'system', system: 'shop/tests', force: true },
  ])
})

test('which systems came in is said, what the compiler noted, and what was printed', async () => {
  const events = [{ type: 'output', stream: 'stdout', text: '; loading\n' }] as const
  const result = resultOf(await run(loadSystem, { system: 'shop' }, ending(DONE, events)))
  assert.equal(result.added, ['alexandria', 'shop'])
  assert.is(
    loadSystem.show(result),
    [
      'loaded shop from /srv/shop/shop.asd, 1.2 s: 1 style warning',
      'added: alexandria, shop',
      'style warning: unused: X  /srv/shop/a.lisp:3:2',
      'stdout:',
      '; loading',
    ].join('\n'),
  )
  const silent = resultOf(
    await run(loadSystem, { system: 'shop' }, ending({ type: 'done', values: [], elapsed_ms: 5 })),
  )
  assert.is(loadSystem.show(silent), 'loaded shop, 5 ms\nno system was added')
})

test('a component that does not load is a failure which says what stays done', async () => {
  const error = errorOf(
    await run(loadSystem, { system: 'shop' }, ending({ type: 'raised', exception: RAISED, elapsed_ms: 1 })),
  )
  assert.is(error.code, 'exception')
  assert.match(error.next ?? '', 'stays loaded')
})

test('loading a system runs its files, and a person approves its name', () => {
  assert.is(loadSystem.level, 'cautious')
  assert.match(loadSystem.preview({ system: 'shop', force: true }).title, 'shop, all of it compiled anew')
})
