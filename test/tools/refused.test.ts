import { evalExpr } from '../../tools/evaluate.ts'
import { loadFile, runTests } from '../../tools/load.ts'
import { showError } from '../../tools/show.ts'
import { assert, suite } from '../support/harness.ts'
import { errorOf, run } from './context.ts'
import { ending } from './ending.ts'

const test = suite('what an image would not begin')

test('what is missing is not_found: with what is nearest, that nothing ran, and what to do', async () => {
  const error = errorOf(
    await run(
      evalExpr,
      { expr: 'x', package: 'shp' },
      ending({
        type: 'refused',
        reason: 'not_found',
        message: 'There is no package shp.',
        what: 'shp',
        nearest: ['SHOP', 'SHOP-WEB'],
        next: 'Load it first.',
      }),
    ),
  )
  assert.is(error.code, 'not_found')
  assert.equal(error.details, { what: 'shp', nearest: ['SHOP', 'SHOP-WEB'] })
  assert.match(
    showError(error),
    /^not_found: There is no package shp\. Nearest: SHOP, SHOP-WEB\. Nothing was run\.\nnext: Load it first\./,
  )
})

test('what is missing has nearest names even where there are none, and what is malformed has none', async () => {
  const missing = { type: 'refused', reason: 'not_found', message: 'There is no file /a.lisp.' } as const
  const error = errorOf(await run(loadFile, { path: '/a.lisp' }, ending(missing)))
  assert.equal([error.code, error.details], ['not_found', { nearest: [] }])
  const twice = { type: 'refused', reason: 'malformed', message: 'X is known to two.', what: 'X' } as const
  const two = errorOf(await run(runTests, { target: 'X' }, ending(twice)))
  assert.equal([two.code, two.details, two.next], ['invalid_args', { what: 'X' }, null])
})
