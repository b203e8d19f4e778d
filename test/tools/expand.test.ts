import { openRegistry } from '../../src/registry/registry.ts'
import { compileForm, macroexpandForm } from '../../tools/compile.ts'
import { evalExpr } from '../../tools/evaluate.ts'
import { TOOLS } from '../../tools/index.ts'
import { loadFile, loadSystem, reload, runTests } from '../../tools/load.ts'
import { assert, suite } from '../support/harness.ts'
import { errorOf, kernel as kernelOf, RAISED, resultOf, run, shown } from './context.ts'
import { ending } from './ending.ts'

const test = suite('macroexpand_form')

const EXPANDED = '(IF READY\n    (PROGN (SHIP ORDER)))'

const DONE = { type: 'done', values: [shown(EXPANDED)], elapsed_ms: 2, package: 'SHOP' } as const

test('a form is expanded once unless all of it is asked for, in the package that is named', async () => {
  const { kernel, works } = ending(DONE)
  const result = resultOf(await run(macroexpandForm, { form: '(when ready (ship order))' }, { kernel }))
  await run(macroexpandForm, { form: '(f)', full: true, package: 'SHOP' }, { kernel })
  assert.equal(works, [
    { type: 'expand', source: '(when ready (ship order))', fully: false },
    { type: 'expand', source: '(f)', fully: true, package: 'SHOP' },
  ])
  assert.is(result.expansion, EXPANDED)
  assert.is(macroexpandForm.show(result), EXPANDED)
})

test('an expansion that was cut leads to the rest, and what a macro printed stands below it', async () => {
  const repr = { text: '(PROGN', truncated: true, original_len: 90_000, handle: '@ab12.4' }
  const value = shown('', { repr, preview: 'not a macro form' })
  const events = [{ type: 'output', stream: 'stdout', text: 'expanding\n' }] as const
  const result = resultOf(
    await run(macroexpandForm, { form: '(f)' }, ending({ ...DONE, values: [value] }, events)),
  )
  assert.is(result.handle, '@ab12.4')
  assert.is(result.truncated, true)
  assert.is(
    macroexpandForm.show(result),
    '(PROGN\n(not a macro form)\n(cut at 6 of 90000 characters · all of it: read_more @ab12.4)\nstdout:\nexpanding',
  )
})

test('a macro that raises is a failure as of any code, and keeps what it printed', async () => {
  const events = [{ type: 'output', stream: 'stderr', text: 'oh\n' }] as const
  const error = errorOf(
    await run(
      macroexpandForm,
      { form: '(f)' },
      ending({ type: 'raised', exception: RAISED, elapsed_ms: 1 }, events),
    ),
  )
  assert.is(error.code, 'exception')
  assert.is(error.details.stderr, 'oh\n')
})

test('a package where the language has none is refused, and nothing runs', async () => {
  const { identity } = kernelOf()
  const kernel = { identity: { ...identity, abilities: new Set(['expand'] as const) } }
  const error = errorOf(await run(macroexpandForm, { form: '(f)', package: 'SHOP' }, { kernel }))
  assert.is(error.code, 'invalid_args')
  assert.match(error.next ?? '', 'Leave package out')
})

test('reading and expanding run code: macroexpand_form is cautious, as everything that is given code is', () => {
  const running = [evalExpr, compileForm, macroexpandForm, loadFile, reload, loadSystem, runTests]
  for (const tool of running) assert.is(tool.level, 'cautious', tool.name)
  const registry = openRegistry(TOOLS)
  for (const name of ['eval_form', 'compile_form', 'macroexpand_form'])
    assert.is.not(registry.find(name)?.level, 'safe', name)
  // Whoever takes a form takes something that a reader may run.
  for (const tool of TOOLS)
    if ('form' in tool.parameters.shape || Object.values(tool.parameterAliases).includes('form'))
      assert.is.not(tool.level, 'safe', tool.name)
  const preview = macroexpandForm.preview({ form: '#.(evil)', full: true })
  assert.equal(preview, { title: 'Read and fully expand this form', body: '#.(evil)' })
})
