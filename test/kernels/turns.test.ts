import { KernelError } from '../../src/kernels/kernel-error.ts'
import { KernelLife } from '../../src/kernels/owned-kernel.ts'
import { WireError } from '../../wire/errors.ts'
import type { CallId, Evaluated, Evaluation } from '../../wire/kernel.ts'
import { LightSignal } from '../../wire/signal.ts'
import { doneWith, FakeKernel, type Script } from '../support/fake-kernel.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('turns at a kernel')

/** What an image is given before anything has ended there, and while what it runs takes long. */
const AHEAD = 2

let made = 0

interface Asked {
  readonly call: CallId
  readonly result: Promise<Evaluated>
  readonly cancel: () => void
}

/** A kernel in which `hold` runs until it is let go of, and everything else ends at once. */
function openKernel(script: Script['evaluate'] = {}) {
  let letGo: (end: Evaluated) => void = () => {}
  const held = new Promise<Evaluated>(resolve => {
    letGo = resolve
  })
  const fake = new FakeKernel({ evaluate: { ...script, hold: { ends: held } } })
  const life = new KernelLife(fake, { now: () => 0, changed() {} })
  const ask = (caller: string, source: string): Asked => {
    const call = `turn-${++made}` as CallId
    const signal = new LightSignal()
    const evaluation: Evaluation = { call, caller, who: 'a test', work: { type: 'source', source } }
    const result = life.evaluate(evaluation, { signal })
    result.catch(() => {})
    return { call, result, cancel: () => signal.abort() }
  }
  const many = (caller: string, count: number) =>
    Array.from({ length: count }, (_, index) => ask(caller, `${caller}${index}`))
  const ran = () => fake.asked.flatMap(one => (one.method === 'evaluate' ? [one.source] : []))
  return { fake, life, ask, many, ran, letGo: () => letGo(doneWith()) }
}

const turn = () => new Promise(resolve => setImmediate(resolve))

const faultOf = (asked: Asked): Promise<unknown> =>
  asked.result.then(
    () => undefined,
    error => error,
  )

test('callers take turns, and those of one caller keep their order', async () => {
  const { ask, many, ran, letGo } = openKernel()
  const first = [ask('a', 'hold'), ...many('a', 6)]
  const others = [...many('b', 3), ...many('c', 1), ...many('d', 2)]
  letGo()
  await Promise.all([...first, ...others].map(({ result }) => result))
  assert.equal(ran(), ['hold', 'a0', 'a1', 'b0', 'c0', 'd0', 'a2', 'b1', 'd1', 'a3', 'b2', 'a4', 'a5'])
})

test('one evaluation of a new caller waits for few of a caller with a thousand', async () => {
  const { ask, many, ran, letGo } = openKernel()
  const all = [ask('a', 'hold'), ...many('a', 1_000), ask('b', 'mine')]
  letGo()
  await Promise.all(all.map(({ result }) => result))
  assert.ok(ran().indexOf('mine') <= AHEAD + 1)
  assert.is(ran().length, 1_002)
})

test('a thousand callers with one evaluation each are all served, in the order in which they came', async () => {
  const { ask, ran, letGo } = openKernel()
  const held = ask('holder', 'hold')
  const all = Array.from({ length: 1_000 }, (_, number) => ask(`caller ${number}`, `${number}`))
  letGo()
  for (const { result } of [held, ...all]) assert.is((await result).type, 'done')
  assert.equal(ran(), ['hold', ...all.map((_, number) => `${number}`)])
})

test('one that waits is withdrawn by its caller or by an interrupt, and never reaches the image', async () => {
  const { ask, life, ran, letGo } = openKernel()
  const given = [ask('a', 'hold'), ask('a', '1')]
  const [cancelled, interrupted, stays] = [ask('b', 'x'), ask('b', 'y'), ask('b', 'z')]
  cancelled.cancel()
  assert.equal(await cancelled.result, { type: 'withdrawn' })
  const report = await life.interrupt(interrupted.call)
  assert.is(report.outcome, 'withdrawn')
  assert.equal(await interrupted.result, { type: 'withdrawn' })
  assert.is((await life.status({ deadlineMs: 100 })).queued >= 1, true)
  letGo()
  await Promise.all([...given, stays].map(({ result }) => result))
  assert.equal(ran(), ['hold', '1', 'z'])
})

test('an image is given few at first, more while they are quick, and few again once one takes long', async () => {
  const slow: Evaluated = { type: 'done', values: [], elapsed_ms: 500 }
  const { life, ask, many } = openKernel({ slow: { ends: slow } })
  const waiting = async () => (await life.status({ deadlineMs: 100 })).queued
  const quick = many('a', 20)
  assert.is(await waiting(), 18)
  await quick[3]?.result
  assert.is(await waiting(), 0)
  const held = [ask('a', 'slow'), ask('a', 'hold')]
  await held[0]?.result
  many('b', 5)
  assert.is(await waiting(), 4)
})

test('what waits when the image ends is told that nothing of it ran', async () => {
  const { ask, many, fake, ran } = openKernel()
  const held = ask('a', 'hold')
  many('a', AHEAD - 1)
  const waiting = many('b', 5)
  await turn()
  fake.die()
  assert.ok((await faultOf(held)) instanceof WireError)
  for (const one of waiting) {
    const fault = await faultOf(one)
    assert.ok(fault instanceof KernelError)
    assert.match(fault.message, 'nothing of it ran')
  }
  assert.ok(ran().every(source => !source.startsWith('b')))
})

test('what waits is bounded by bytes: those with many are refused first, and one of a new caller is not', async () => {
  const { ask, many, letGo } = openKernel()
  const given = [ask('a', 'hold'), ...many('a', AHEAD - 1)]
  const large = 'x'.repeat(1024 * 1024)
  const greedy = Array.from({ length: 40 }, () => ask('greedy', large))
  const refused = (await Promise.all(greedy.map(one => Promise.race([faultOf(one), turn()])))).filter(Boolean)
  assert.ok(
    refused.length > 20 && refused.every(fault => fault instanceof WireError && fault.code === 'BUSY'),
  )
  const crowd = Array.from({ length: 10 }, (_, number) => ask(`new ${number}`, large))
  assert.equal(await Promise.race([Promise.race(crowd.map(faultOf)), turn()]), undefined)
  const last = Array.from({ length: 10 }, (_, number) => ask(`newer ${number}`, large)).at(-1)
  assert.is(((await faultOf(last as Asked)) as WireError).code, 'BUSY')
  letGo()
  const kept = [...given, ...crowd]
  for (const { result } of kept) assert.is((await result).type, 'done')
})

test('after all of that the kernel is as it was: nothing waits, and what comes is run at once', async () => {
  const { ask, many, life, letGo } = openKernel()
  const all = [ask('a', 'hold'), ...many('b', 20)]
  for (const { cancel } of all.slice(10)) cancel()
  letGo()
  await Promise.all(all.map(({ result }) => result))
  assert.is(life.running, null)
  assert.is((await ask('c', '1').result).type, 'done')
})

test('what runs is told of each evaluation that waits behind it, and of nothing else', async () => {
  const { life, ask, letGo } = openKernel()
  const held = ask('one', 'hold')
  const waiting = [ask('two', 'a'), ask('two', 'b'), ask('three', 'c')]
  await turn()
  for (const { call } of waiting) assert.is(life.before(call)?.call, held.call)
  assert.is(life.before(held.call), null)
  assert.is(life.before('a-look' as CallId), null)
  letGo()
  await Promise.all([held, ...waiting].map(({ result }) => result))
  for (const { call } of waiting) assert.is(life.before(call), null)
})
