import { compileForm, macroexpandForm } from '../../tools/compile.ts'
import type { Tool } from '../../tools/define.ts'
import { evalExpr } from '../../tools/evaluate.ts'
import { loadFile, loadSystem, reload, runTests } from '../../tools/load.ts'
import { showError } from '../../tools/show.ts'
import type { Evaluated } from '../../wire/contract/evaluation.ts'
import { ABILITIES, type Ability } from '../../wire/kernel.ts'
import { assert, suite } from '../support/harness.ts'
import { errorOf, RAISED, run } from './context.ts'
import { lispImage, PYTHON, RESTARTS, STOPPED, suspendedBy, UNWOUND } from './suspended-image.ts'

const test = suite('errors that suspend what raised them')

const WOLFRAM = { ...PYTHON, language: 'wolfram', implementation: 'Mathics3' }

const RUNNING: readonly (readonly [Tool, object])[] = [
  [evalExpr, { expr: '(ship 3)' }],
  [compileForm, { expr: '(ship 3)' }],
  [macroexpandForm, { expr: '(ship 3)' }],
  [loadFile, { path: '/srv/shop.lisp' }],
  [reload, { package: 'shop' }],
  [loadSystem, { system: 'shop' }],
]

test('in Lisp every tool that runs code has its errors suspended, for the caller; tests do not', async () => {
  for (const [tool, args] of RUNNING) {
    const image = lispImage({ ends: suspendedBy(STOPPED) })
    const error = errorOf(await run(tool, args, image.script))
    assert.is(error.code, 'exception')
    assert.equal(image.evaluated[0]?.suspend, {}, tool.name)
    assert.equal(image.taken, ['s3@ab12'])
  }
  const image = lispImage({ ends: { type: 'raised', exception: RAISED, elapsed_ms: 1 } })
  await run(runTests, { target: 'shop' }, image.script)
  assert.is(image.evaluated[0]?.suspend, undefined)
})

test('in Python an error ends what raised it, and suspends it only where on_error asks', async () => {
  for (const [tool, args, suspend] of [
    [evalExpr, { expr: 'x' }, undefined],
    [evalExpr, { expr: 'x', on_error: 'end' }, undefined],
    [evalExpr, { expr: 'x', on_error: 'suspend' }, {}],
    [evalExpr, { expr: 'x', on_error: 'hold' }, { hold: true }],
    [loadFile, { path: '/srv/shop.py' }, undefined],
    [reload, { package: 'shop' }, undefined],
  ] as const) {
    const image = lispImage({}, PYTHON)
    await run(tool, args, image.script)
    assert.equal(image.evaluated[0]?.suspend, suspend, `${tool.name} ${JSON.stringify(args)}`)
  }
})

test('of an error that has ended what raised it, one line says how to look, as far as there is anything', async () => {
  const look = 'get_last_error {"whose":"callers"} shows its frames and locals'
  const without = (ability: Ability) => ({
    ...PYTHON,
    abilities: new Set(ABILITIES.filter(one => one !== ability)),
  })
  for (const [args, identity, exception, next] of [
    [{}, PYTHON, RAISED, `${look}; on_error: "suspend" keeps such an evaluation open.`],
    [{ on_error: 'end' }, PYTHON, RAISED, `${look}.`],
    [{ on_error: 'suspend' }, PYTHON, RAISED, `${look}.`],
    [{ on_error: 'end' }, {}, RAISED, `${look}.`],
    [{}, without('suspend'), RAISED, `${look}.`],
    [{}, without('errors'), RAISED, /^get_last_error shows its frames/],
    [{}, without('last_error'), RAISED, ''],
    [{}, PYTHON, { ...RAISED, frames: [] }, ''],
    [{}, WOLFRAM, RAISED, ''],
  ] as const) {
    const image = lispImage({ ends: { type: 'raised', exception, elapsed_ms: 1 } }, identity)
    const error = errorOf(await run(evalExpr, { expr: 'x', ...args }, image.script))
    if (typeof next === 'string') assert.is(error.next ?? '', next)
    else assert.match(error.next ?? '', next)
  }
})

test('where an error keeps no frames, to hold it is refused before anything runs, and nothing else is promised', async () => {
  const abilities = new Set(ABILITIES.filter(one => one !== 'suspend' && one !== 'hold'))
  const image = lispImage({}, { ...WOLFRAM, abilities })
  const error = errorOf(await run(evalExpr, { expr: 'x', on_error: 'hold' }, image.script))
  assert.is(error.code, 'invalid_args')
  assert.is(error.next, 'Leave on_error out: an error is told all the same.')
  assert.equal(image.evaluated, [])
})

test('nothing is suspended where nobody could go on, or the image cannot', async () => {
  const nobody = lispImage()
  const leases = { ...nobody.script.leases, maySuspend: false }
  await run(evalExpr, { expr: 'x' }, { ...nobody.script, leases })
  const cannot = lispImage(
    {},
    { abilities: new Set(ABILITIES.filter(one => one !== 'suspend' && one !== 'hold')) },
  )
  await run(evalExpr, { expr: 'x' }, cannot.script)
  const not = lispImage()
  await run(evalExpr, { expr: 'x', on_error: 'end' }, not.script)
  for (const { evaluated } of [nobody, cannot, not]) {
    assert.is(evaluated.length, 1)
    assert.is(evaluated[0]?.suspend, undefined)
  }
})

test('a stack is held alive where that can be asked for, and is anyhow in Lisp', async () => {
  const lisp = lispImage()
  await run(evalExpr, { expr: 'x', on_error: 'hold' }, lisp.script)
  assert.equal(lisp.evaluated[0]?.suspend, {})
  const python = lispImage({}, PYTHON)
  await run(evalExpr, { expr: 'x', on_error: 'hold' }, python.script)
  assert.equal(python.evaluated[0]?.suspend, { hold: true })
})

test('where a stack could not be held, the answer says why, and only where that was wanted', async () => {
  const told = async (args: object, ends: Evaluated) => {
    const image = lispImage({ ends }, PYTHON)
    return showError(errorOf(await run(evalExpr, { expr: 'x', ...args }, image.script)))
  }
  const unheld = /\nnote: It could not be held alive at the raise: /
  assert.match(await told({ on_error: 'hold' }, suspendedBy(UNWOUND)), unheld)
  assert.not.match(await told({}, suspendedBy(UNWOUND)), unheld)
  assert.not.match(await told({ on_error: 'hold' }, suspendedBy(STOPPED)), unheld)
})

test('where no stack can be held, a call that wants it held is refused, and runs nothing', async () => {
  const attached = lispImage({}, { ...PYTHON, abilities: new Set(ABILITIES.filter(one => one !== 'hold')) })
  const core = lispImage({}, PYTHON)
  for (const [image, maySuspend, said] of [
    [attached, true, 'demo (CPython 3.11.7) cannot hold an evaluation alive'],
    [core, false, 'this client is shown no tool to go on'],
  ] as const) {
    const leases = { ...image.script.leases, maySuspend }
    const error = errorOf(await run(evalExpr, { expr: 'x', on_error: 'hold' }, { ...image.script, leases }))
    assert.is(error.code, 'invalid_args')
    assert.match(error.message, said)
    assert.equal(image.evaluated, [])
  }
})

test('the answer has the error, the suspension with its restarts by number, and what can be done', async () => {
  const ends = suspendedBy(STOPPED, { restarts: RESTARTS, frames: [], traceback: 'Cannot ship 3.' })
  const error = errorOf(await run(evalExpr, { expr: 'x' }, lispImage({ ends }).script))
  assert.equal(error.details.suspension, {
    id: 's3@ab12',
    how: 'held',
    level: 1,
    within: null,
    expires_in_ms: 600_000,
    restarts: RESTARTS.map((restart, number) => ({ number, ...restart })),
  })
  const [first, next, ...rest] = showError(error).split('\n')
  assert.is(first, 'exception: simple-error: Cannot ship 3.')
  assert.match(
    next ?? '',
    'next: It is suspended as s3@ab12. debug_frame {"suspension":"s3@ab12"} shows its variables',
  )
  assert.match(next ?? '', 'debug_restart has it go on')
  assert.match(rest.join('\n'), 'suspended as s3@ab12: its stack is alive')
  assert.match(
    rest.join('\n'),
    '\nrestarts, for debug_restart:\n  0: [USE-VALUE] Use another value. (takes a value)\n',
  )
  assert.not.match(rest.join('\n'), /none taken|details:/)
})

test('of a stack that has unwound, running it again is what a restart does', async () => {
  const image = lispImage({ ends: suspendedBy(UNWOUND) }, PYTHON)
  const error = errorOf(await run(evalExpr, { expr: 'x' }, image.script))
  assert.match(error.next ?? '', 'debug_restart runs it again or gives it up')
  assert.match(showError(error), 'its stack has unwound, and its frames are kept to be looked at')
})

test('why an error was not suspended is said, as the image says it', async () => {
  const note = 'It was not suspended: 8 evaluations wait already. Leave one with debug_restart.'
  const ends = { type: 'raised', exception: { ...RAISED, notes: [note] }, elapsed_ms: 1 } as const
  const error = errorOf(await run(evalExpr, { expr: 'x' }, lispImage({ ends }).script))
  assert.is(error.details.suspension, undefined)
  assert.match(showError(error), `\nnote: ${note}\n`)
})
