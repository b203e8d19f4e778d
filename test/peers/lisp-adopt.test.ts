import type { Evaluated, SuspendedState, Suspension } from '../../wire/kernel.ts'
import { textOf } from '../../wire/swank/connection.ts'
import type { Sexp } from '../../wire/swank/sexp.ts'
import { assert, suite } from '../support/harness.ts'
import { type LispListener, openListener } from '../support/lisp-listener.ts'
import { type Owner, openOwner } from '../support/slime-owner.ts'
import { type RealSwank, startSwank } from '../support/swank.ts'

const test = suite('errors in the debugger of somebody else', { limitMs: 50_000 })
let swank: RealSwank
let lisp: LispListener
let owner: Owner

test.before(async () => {
  swank = await startSwank({
    forms: [
      '(locally (declare (optimize (debug 3))) (defun dose (pots) (restart-case (error "No tea for ~D." pots) (use-value (value) (* 2 value)))))',
    ],
  })
  owner = await openOwner(swank)
  lisp = await openListener(swank)
})
test.after(() => {
  lisp?.end()
  owner?.end()
  swank?.kill()
})

const LOOK = { deadline_ms: 20_000 }
const theirs = async () => (await lisp.look('theirs', LOOK)).errors
const adopt = async (leaseMs = 60_000): Promise<Suspension> => {
  const [error] = await theirs()
  return lisp.look('adopt', { ...LOOK, id: error?.id ?? '', lease_ms: leaseMs })
}
let calls = 0
const resume = async (id: string, way: object) =>
  (await lisp.peer.call('resume', {
    suspension: id,
    call: `adopted-${++calls}`,
    who: 'a model',
    ...way,
  })) as Evaluated
const until = async (so: () => Promise<boolean>) => {
  while (!(await so())) await new Promise(resolve => setTimeout(resolve, 20))
}

test('an error in SLIME is told of, by no code of its own, and stays there', async () => {
  assert.equal(await theirs(), [])
  const { thread, answer } = await owner.err('(dose 3)')
  const [error, ...others] = await theirs()
  assert.equal(others, [])
  assert.match(error?.where ?? '', /in SLIME$/)
  assert.match(error?.message ?? '', /No tea for/)
  assert.equal((await lisp.look('suspensions', LOOK)).suspensions, [])
  await owner.press('swank:sldb-abort', thread)
  await answer
  assert.equal(await theirs(), [])
})

test('one that is handed over has its owner’s restarts and frames, and goes on in its owner’s own evaluation', async () => {
  const { answer } = await owner.err('(dose 3)')
  const { id, call, how } = await adopt()
  assert.equal([call, how], [null, 'held'])
  assert.equal(await theirs(), [], 'it is told of as a suspension now')
  const state: SuspendedState = await lisp.look('suspension', { ...LOOK, suspension: id, from: 0, count: 20 })
  assert.is(state.restarts[0]?.name, 'use-value')
  const frame = state.frames.find(it => it.function === 'dose')
  assert.match(frame?.call ?? '', /\(dose 3\)/)
  const evaluated = (await lisp.peer.call('evaluate', {
    work: 'frame',
    suspension: id,
    frame: frame?.number,
    source: '(* pots 100)',
    call: 'in their frame',
    who: 'a model',
  })) as Evaluated
  assert.is(evaluated.type === 'done' && evaluated.values[0]?.repr.text, '300')
  assert.is((await resume(id, { way: 'restart', restart: 0, value: '21' })).type, 'done')
  const { ok } = (await answer) as { readonly ok?: Sexp }
  assert.match(textOf(ok), /^=> 42/)
})

test('one that is given back waits in its owner’s debugger as before', async () => {
  const { thread, answer } = await owner.err('(dose 4)')
  const { id } = await adopt()
  assert.is((await resume(id, { way: 'leave' })).type, 'left')
  await until(async () => (await theirs()).length === 1)
  await owner.press('swank:sldb-abort', thread)
  assert.ok('abort' in ((await answer) as object))
})

test('an owner who presses a key in the debugger has it back, and the key does what it does', async () => {
  const { thread, answer } = await owner.err('(dose 5)')
  const { id } = await adopt()
  await owner.press('swank:sldb-abort', thread)
  assert.ok('abort' in ((await answer) as object))
  const looked = (await lisp.peer.call('frame', { ...LOOK, suspension: id, frame: 0 })) as { type: string }
  assert.is(looked.type, 'not_found')
})

/** Code of a model's that goes on for ever in the frame of one that was handed over. */
const runForEver = async (id: string) => {
  const running = lisp.peer.call('evaluate', {
    work: 'frame',
    suspension: id,
    frame: 0,
    source: '(loop)',
    call: `for-ever-${++calls}`,
    who: 'a model',
  }) as Promise<Evaluated>
  await until(async () => (await lisp.look('suspensions', LOOK)).suspensions.some(({ busy }) => busy))
  return { running }
}

test('an owner who interrupts her thread ends what a model runs there, and the error stays handed over', async () => {
  const { thread, answer } = await owner.err('(dose 7)')
  const { id } = await adopt()
  const { running } = await runForEver(id)
  owner.interrupt(thread)
  assert.is((await running).type, 'interrupted')
  assert.equal(
    (await lisp.look('suspensions', LOOK)).suspensions.map(it => [it.id, it.busy]),
    [[id, false]],
  )
  await owner.press('swank:sldb-abort', thread)
  assert.ok('abort' in ((await answer) as object))
})

test('an owner who presses a key in the debugger need not wait for what a model runs there', async () => {
  for (const key of ['swank:sldb-abort', 'swank:throw-to-toplevel']) {
    const { thread, answer } = await owner.err('(dose 8)')
    const { id } = await adopt()
    const { running } = await runForEver(id)
    await owner.press(key, thread)
    assert.ok('abort' in ((await answer) as object))
    assert.is((await running).type, 'interrupted')
    assert.equal((await lisp.look('suspensions', LOOK)).suspensions, [])
  }
})

test('one that nobody comes to is given back, and so is one when Imago goes', async () => {
  const { thread, answer } = await owner.err('(dose 6)')
  await adopt(50)
  await until(async () => (await lisp.look('suspensions', LOOK)).suspensions.length === 0)
  await until(async () => (await theirs()).length === 1)
  await adopt()
  lisp.end()
  await owner.press('swank:sldb-abort', thread)
  assert.ok('abort' in ((await answer) as object))
  lisp = await openListener(swank)
  assert.match(await owner.ask('(+ 1 2)'), /^=> 3/)
})
