import { debugEval, debugRestart } from '../../tools/debug-act.ts'
import { debugState } from '../../tools/debug-look.ts'
import { showError } from '../../tools/show.ts'
import { ABILITIES, type Evaluated } from '../../wire/kernel.ts'
import { assert, suite } from '../support/harness.ts'
import { errorOf, kernel as kernelOf, RAISED, resultOf, run, shown } from './context.ts'
import { lispImage, PYTHON, STOPPED, suspendedBy } from './suspended-image.ts'

const test = suite('debug_restart and debug_eval')

/** What the image was asked to do, by a call with these arguments. */
async function workOf(args: object) {
  const image = lispImage()
  const outcome = await run(debugRestart, args, image.script)
  if (outcome.type !== 'ok') throw new Error(JSON.stringify(outcome))
  assert.is(image.evaluated.length, 1)
  return image.evaluated[0]?.work
}

test('a restart is taken by its number or its name, then the innermost, in any case; a frame returns or is called again; or all of it is left', async () => {
  const useValue = { type: 'restart', restart: 0, value: '(+ 1 2)' }
  const named = ['use-value', 'USE-VALUE', ':use-value', '[USE-VALUE]', '0', 0]
  for (const [args, way] of [
    ...named.map(restart => [{ restart, value: '(+ 1 2)' }, useValue] as const),
    [{ restart: '2' }, { type: 'restart', restart: 2 }],
    [
      { suspension: 's3', restart: 'Retry' },
      { type: 'restart', restart: 1 },
    ],
    [
      { return_from: 1, value: '7' },
      { type: 'return', frame: 1, value: '7' },
    ],
    [{ restart_frame: 2 }, { type: 'again', frame: 2 }],
    [{ leave: true }, { type: 'leave' }],
  ] as const)
    assert.equal(await workOf(args), { type: 'resume', suspension: 's3@ab12', way })
})

test('exactly one way is taken, and a value only where something is done with it', async () => {
  for (const [args, said] of [
    [{}, /None of restart, return_from, restart_frame and leave was given/],
    [{ leave: false }, /None of/],
    [{ restart: '0', leave: true }, /2 of restart, return_from, restart_frame and leave were given/],
    [{ restart: '0', return_from: 0, restart_frame: 0, leave: true, value: '1' }, /4 of/],
    [{ return_from: 1 }, /return_from needs value/],
    [{ leave: true, value: '1' }, /nothing would be done with it/],
    [{ restart_frame: 0, value: '1' }, /nothing would be done with it/],
  ] as const) {
    const image = lispImage()
    const error = errorOf(await run(debugRestart, args, image.script))
    assert.is(error.code, 'invalid_args')
    assert.match(error.message, said)
    assert.equal(image.evaluated, [])
  }
})

test('a restart that takes a value is not taken without one where nobody can be asked for it', async () => {
  const image = lispImage()
  const error = errorOf(await run(debugRestart, { restart: 'use-value' }, { ...image.script, canAsk: false }))
  assert.is(error.code, 'invalid_args')
  assert.match(error.next ?? '', '"value":"42"')
  assert.equal(image.evaluated, [])
})

test('what was handed over runs code in its frames by default, and is resumed only by its name', async () => {
  const image = lispImage()
  const script = {
    ...image.script,
    leases: { ...image.script.leases, ownershipOf: () => ({ type: 'anyone' }) as const },
  }
  const error = errorOf(await run(debugRestart, { leave: true }, script))
  assert.is(error.code, 'not_found')
  assert.match(error.message, 's3@ab12, which is for the agents of this project')
  assert.equal(image.evaluated, [])
  const evaluated = resultOf(await run(debugEval, { expr: '1' }, script))
  assert.is((evaluated as { acted_on: string }).acted_on, 's3@ab12')
  assert.is((await run(debugRestart, { suspension: 's3', leave: true }, script)).type, 'ok')
})

test('a restart that is not there is told with those that are, and nothing is run', async () => {
  for (const restart of ['4', '99999999999999999999', '-1', '__proto__']) {
    const image = lispImage()
    const error = errorOf(await run(debugRestart, { restart }, image.script))
    assert.is(error.code, 'not_found')
    assert.match(
      error.message,
      `s3@ab12 has no restart ${JSON.stringify(restart)}. It has:\n0: [USE-VALUE] Use another value.`,
    )
    assert.equal(error.details.nearest, ['use-value', 'retry', 'use-value', 'abort'])
    assert.equal(image.evaluated, [])
  }
})

test('to leave is a success with no value, whether asked for or by a restart that leads there', async () => {
  for (const args of [{ leave: true }, { restart: 'abort' }]) {
    const ends = { type: 'left', message: 'It was left by the restart ABORT.', elapsed_ms: 3 } as const
    const result = resultOf(await run(debugRestart, args, lispImage({ ends }).script))
    assert.is(result.status, 'left')
    assert.is(
      debugRestart.show(result),
      'left s3@ab12 (3 ms): It was left by the restart ABORT.\nnothing of yours is suspended here now',
    )
  }
})

test('what was left is named, and what is the caller’s newest by then', async () => {
  const inner = { ...STOPPED, id: 's4@ab12', level: 2, within: STOPPED.id }
  const theirs = { ...STOPPED, id: 's5@ab12' }
  const image = lispImage({
    suspensions: [theirs, inner, STOPPED],
    holders: {
      [theirs.id]: { type: 'other', who: 'cursor', person: false },
      [inner.id]: { type: 'you' },
      [STOPPED.id]: { type: 'you' },
    },
    ends: { type: 'left', message: 'It was left, on request.', elapsed_ms: 3 },
  })
  const leave = async (suspension: string) =>
    debugRestart.show(resultOf(await run(debugRestart, { suspension, leave: true }, image.script)))
  assert.is(
    await leave('s4'),
    'left s4@ab12 (3 ms): It was left, on request.\nyour newest is now s3@ab12: simple-error: Cannot ship 3.',
  )
  // What stood on it has ended with it.
  assert.match(await leave('s3'), 'nothing of yours is suspended here now')
})

test('every answer names the suspension that it acted on', async () => {
  const ends: readonly Evaluated[] = [
    { type: 'done', values: [], elapsed_ms: 1 },
    { type: 'left', message: 'It was left.', elapsed_ms: 1 },
    { type: 'interrupted', elapsed_ms: 1 },
    { type: 'withdrawn' },
    { type: 'refused', reason: 'malformed', message: 'No.' },
    { type: 'raised', exception: RAISED, elapsed_ms: 1 },
    suspendedBy({ ...STOPPED, id: 's4@ab12' }),
  ]
  for (const end of ends)
    for (const [tool, args] of [
      [debugRestart, { leave: true }],
      [debugEval, { expr: '1' }],
    ] as const) {
      const outcome = await run(tool, args, lispImage({ ends: end }).script)
      if (outcome.type === 'rises') throw new Error('it wants to rise')
      const known = outcome.type === 'ok' ? (outcome.result as object) : outcome.error.details
      assert.is(Reflect.get(known, 'acted_on'), STOPPED.id, `${tool.name}, ${end.type}`)
      const text = outcome.type === 'ok' ? tool.show(outcome.result) : showError(outcome.error)
      assert.match(text, STOPPED.id)
    }
})

test('one that is in another kernel is named with that kernel, also where a kernel does not answer', async () => {
  const elsewhere = { ...STOPPED, id: 's9@cd34' }
  const suspensions = () => Promise.reject(new Error('the link is closed'))
  const others = [
    { name: 'py', kernel: kernelOf(lispImage({ suspensions: [elsewhere] }).script.kernel) },
    { name: 'gone', kernel: kernelOf({ suspensions }) },
  ]
  for (const suspension of ['s9@cd34', 's9'])
    for (const [tool, args] of [
      [debugState, {}],
      [debugRestart, { restart: '0' }],
      [debugEval, { expr: '1' }],
    ] as const) {
      const ends = {
        type: 'refused',
        reason: 'not_found',
        message: 'No such one.',
        what: suspension,
      } as const
      const { script } = lispImage({ ends })
      const error = errorOf(await run(tool, { suspension, ...args }, { ...script, others }))
      assert.is(error.code, 'not_found')
      assert.match(error.message, 's9@cd34 is in py.')
      assert.is(error.next, 'Name that kernel as well: {"kernel": "py"}.')
    }
})

test('an error on the way, or in a frame where that is asked for, is suspended as a new one that is the caller’s', async () => {
  const next = { ...STOPPED, id: 's4@ab12', level: 2, within: STOPPED.id }
  for (const [tool, args] of [
    [debugRestart, { restart: 'retry' }],
    [debugEval, { expr: '(error "x")', on_error: 'suspend' }],
  ] as const) {
    const image = lispImage({ ends: suspendedBy(next) })
    const error = errorOf(await run(tool, args, image.script))
    assert.is(error.code, 'exception')
    assert.match(showError(error), 'suspended as s4@ab12, level 2, within s3@ab12: ')
    assert.equal([image.taken, image.evaluated[0]?.suspend], [['s4@ab12'], {}])
  }
})

test('an error in a frame suspends nothing, in any language, and what was suspended waits as before', async () => {
  for (const identity of [{}, PYTHON]) {
    const image = lispImage({ ends: { type: 'raised', exception: RAISED, elapsed_ms: 1 } }, identity)
    const error = errorOf(await run(debugEval, { expr: 'x' }, image.script))
    assert.equal([image.evaluated[0]?.suspend, image.taken], [undefined, []])
    assert.match(error.next ?? '', /; s3@ab12 waits as before\.$/)
  }
})

test('a stack in a frame is not held alive where that cannot be, and nothing is run', async () => {
  const attached = { ...PYTHON, abilities: new Set(ABILITIES.filter(one => one !== 'hold')) }
  const image = lispImage({}, attached)
  const error = errorOf(await run(debugEval, { expr: 'x', on_error: 'hold' }, image.script))
  assert.equal([error.code, error.details.parameter, image.evaluated], ['invalid_args', 'on_error', []])
})

test('another’s is not acted on: the answer names the owner, and how a person hands it over', async () => {
  for (const person of [false, true]) {
    const image = lispImage({ holders: { [STOPPED.id]: { type: 'other', who: 'cursor 1.2', person } } })
    for (const [tool, args] of [
      [debugRestart, { restart: '0' }],
      [debugRestart, { leave: true }],
      [debugEval, { expr: '(print 1)' }],
    ] as const) {
      const error = errorOf(await run(tool, { suspension: STOPPED.id, ...args }, image.script))
      assert.is(error.code, 'held_by_other')
      assert.equal(error.details, { suspension: 's3@ab12', holder: 'cursor 1.2', person })
      assert.match(error.message, /owned by cursor 1\.2.*Nothing was run/)
      assert.match(error.next ?? '', /:hand s3@ab12/)
    }
    assert.equal(image.evaluated, [])
  }
})

test('code runs in the frame, and its value is answered as of eval_expr', async () => {
  const image = lispImage({ ends: { type: 'done', values: [shown('3')], elapsed_ms: 1 } })
  const result = resultOf(await run(debugEval, { expr: 'n', frame: 1 }, image.script))
  assert.is(debugEval.show(result), '3\nin s3@ab12, frame 1')
  assert.equal(image.evaluated[0]?.work, {
    type: 'frame',
    suspension: 's3@ab12',
    frame: 1,
    source: 'n',
  })
})
