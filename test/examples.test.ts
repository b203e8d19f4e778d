import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { PACKAGE_ROOT } from '../src/paths.ts'
import { assert, suite } from './support/harness.ts'
import { openRig, type Rig } from './support/rig.ts'

const test = suite('examples', { limitMs: 60_000 })
/** What each numbered example must print. */
const SHOWN: Readonly<Record<string, readonly RegExp[]>> = {
  '01-evaluate': [/^0\n1\n2\n/, /"value_repr": "3"/],
  '02-own-tool': [/^text:\ncount_globals/, /"readOnlyHint": true/, /refused \(name\): "countGlobals"/],
}
let rig: Rig

test.before(() => {
  rig = openRig()
})
test.after(() => rig.close())

test('every numbered example is run here', () => {
  const numbered = readdirSync(join(PACKAGE_ROOT, 'examples')).filter(name => /^\d/.test(name))
  assert.equal(
    numbered.sort(),
    Object.keys(SHOWN).map(name => `${name}.ts`),
  )
})

for (const [name, shown] of Object.entries(SHOWN))
  test(`${name} prints what it says`, async () => {
    const { code, stdout, stderr } = await rig.imago([], {
      main: join(PACKAGE_ROOT, 'dist/examples', `${name}.js`),
    })
    assert.is(code, 0, stderr)
    for (const expected of shown) assert.match(stdout, expected)
  })

test('npm run demo -- attach finds the stuck task of a server under load, mends it, and loses a daemon on the way', async () => {
  const demo = { main: join(PACKAGE_ROOT, 'dist/examples/demo.js') }
  const { code, stdout, stderr } = await rig.imago(['attach'], demo)
  assert.is(code, 0, stdout + stderr)
  assert.match(stdout, 'Everything was as expected.')
})

test('npm run demo -- lisp finds what a Lisp program does wrong while it serves, and compiles its function from its place', async () => {
  const demo = { main: join(PACKAGE_ROOT, 'dist/examples/demo.js') }
  const { code, stdout, stderr } = await rig.imago(['lisp'], demo)
  assert.is(code, 0, stdout + stderr)
  for (const shown of ['tea-house\\.lisp:32', '^864$', 'which runs on', 'Everything was as expected.'])
    assert.match(stdout, new RegExp(shown, 'm'))
})

test('npm run demo -- debugger has a long run go on where an error stopped it, and an owner in Emacs notices nothing', async () => {
  const demo = { main: join(PACKAGE_ROOT, 'dist/examples/demo.js') }
  const { code, stdout, stderr } = await rig.imago(['debugger'], demo)
  assert.is(code, 0, stdout + stderr)
  for (const shown of [
    '0: \\[RETRY\\]',
    '^1066750$',
    '\\* 6 7\\)\\\\n42',
    'KeyError',
    'Everything was as expected.',
  ])
    assert.match(stdout, new RegExp(shown, 'm'))
})

test('npm run demo changes a file as a person at a terminal approved it, and not when the file has moved on', async () => {
  const { code, stdout, stderr } = await rig.imago([], {
    main: join(PACKAGE_ROOT, 'dist/examples/demo.js'),
  })
  assert.is(code, 0, stdout + stderr)
  for (const shown of ['plan-\\w+: approved', 'stale_plan: .* was changed', 'Everything was as expected.'])
    assert.match(stdout, new RegExp(shown))
})

test('npm run demo -- approve tells a model which of its hunks a person took, refused and edited, and undoes them as one', async () => {
  const demo = { main: join(PACKAGE_ROOT, 'dist/examples/demo.js') }
  const { code, stdout, stderr } = await rig.imago(['approve'], demo)
  assert.is(code, 0, stdout + stderr)
  for (const shown of [
    'hunk 1 \\(shop/orders.py:7\\) was applied',
    'hunk 2 \\(shop/orders.py:11\\) was refused: the cashier reads it',
    'hunk 3 \\(shop/discounts.py:4\\) was edited',
    'Both files are as they were, to the last byte.',
    'Everything was as expected.',
  ])
    assert.match(stdout, new RegExp(shown))
})

test('a demo that does not exist is told those that do', async () => {
  const { code, stdout } = await rig.imago(['dance'], { main: join(PACKAGE_ROOT, 'dist/examples/demo.js') })
  assert.is(code, 2)
  assert.match(stdout, 'program, attach, lisp, debugger, approve')
})
