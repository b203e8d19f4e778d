import { GONE_MS } from '../../src/core/presence.ts'
import { HandClock, until } from '../support/calls-rig.ts'
import { assert, suite } from '../support/harness.ts'
import { ADA, CLAUDE, CODEX, client, kernelOf, leasesRigsOf, S1, stops } from '../support/leases-rig.ts'

const test = suite('holders of suspended evaluations that have gone')
const rigOf = leasesRigsOf(test)

const S2 = 's2@ab12'
const SCRIPT = { evaluate: { boom: stops(S1), bang: stops(S2) } }

function opened() {
  const clock = new HandClock()
  const rig = rigOf(SCRIPT, { clock })
  const holders = async (who = CODEX) =>
    (await rig.desk.list(who)).map(({ id, holder }) => [
      id,
      holder.type === 'other' ? holder.who : holder.type,
    ])
  return { ...rig, rig, clock, holders }
}

test('what a person has had suspended is given up when the connection ends, and what was taken is for anyone', async () => {
  const { rig, call, leases, desk, holders } = opened()
  const gone = leases.came(ADA.caller)
  await call(ADA.caller, 'eval_expr', { expr: 'bang' })
  await call(CLAUDE, 'eval_expr', { expr: 'boom' })
  await desk.take(ADA, { kernel: 'main', suspension: S1 })
  gone()
  await until(() => rig.noted.some(({ what }) => what === 'left'))
  assert.equal(await holders(), [[S1, 'anyone']])
  const resumes = kernelOf(rig).asked.filter(one => one.method === 'evaluate')
  assert.is(resumes.length, 3)
})

test('what stops after its person has gone is given up as well', async () => {
  const { rig, call, leases, holders } = opened()
  const gone = leases.came(ADA.caller)
  const answer = call(ADA.caller, 'eval_expr', { expr: 'bang' })
  gone()
  await answer
  await until(() => rig.noted.some(({ what }) => what === 'left'))
  assert.equal(await holders(), [])
})

test('what a program holds is its own for a while after it has gone, and then for whoever comes first', async () => {
  const { call, leases, clock, holders } = opened()
  const gone = leases.came(CLAUDE)
  await call(CLAUDE, 'eval_expr', { expr: 'boom' })
  assert.equal(await holders(), [[S1, 'claude-code']])
  gone()
  assert.equal(await holders(), [[S1, 'claude-code (gone)']])
  await clock.pass(GONE_MS)
  assert.equal(await holders(), [[S1, 'anyone']])
})

test('a program that connects anew in time still holds its own', async () => {
  const { call, leases, clock, holders } = opened()
  const [one, other] = [leases.came(CLAUDE), leases.came({ ...CLAUDE, id: 'another' })]
  await call(CLAUDE, 'eval_expr', { expr: 'boom' })
  one()
  assert.equal(await holders(), [[S1, 'claude-code']])
  other()
  leases.came({ ...CLAUDE, id: 'a third' })
  await clock.pass(GONE_MS)
  assert.equal(await holders(), [[S1, 'claude-code']])
  assert.equal(await holders(CLAUDE), [[S1, 'you']])
})

test('nothing can be put before a caller that has gone', async () => {
  const { call, leases, desk } = opened()
  const gone = leases.came(CLAUDE)
  await call(CLAUDE, 'eval_expr', { expr: 'boom' })
  await call(CODEX, 'eval_expr', { expr: '1' })
  gone()
  assert.equal(
    desk.callers().map(({ who }) => who),
    ['codex'],
  )
})

test('what was taken over is given back to whom it was taken from, by any name of theirs', async () => {
  const { call, leases, desk, holders } = opened()
  const gone = leases.came(CLAUDE)
  await call(CLAUDE, 'eval_expr', { expr: 'boom' })
  const named = { kernel: 'main', suspension: S1 }
  await desk.take(ADA, named)
  await desk.hand(ADA, { ...named, to: 'back' })
  assert.equal(await holders(), [[S1, 'claude-code']])
  await desk.take(ADA, named)
  gone()
  let refused = ''
  try {
    await desk.hand(ADA, { ...named, to: 'back' })
  } catch (error) {
    refused = String(error)
  }
  assert.match(refused, /was taken from claude-code, which has gone/)
  assert.equal(await holders(ADA.caller), [[S1, 'you']])
})

test('a caller is known by each name that it has had, and of several of one name only those there are are shown', async () => {
  const { call, leases, desk } = opened()
  const shell = client('imago call', { kind: 'cli', origin: undefined })
  await call(shell, 'eval_expr', { expr: 'boom' })
  await call({ ...shell, who: 'imago' }, 'eval_expr', { expr: '1' })
  const named = { kernel: 'main', suspension: S1 }
  await desk.take(ADA, named)
  await desk.hand(ADA, { ...named, to: 'imago call' })
  const twins = ['a', 'b', 'c'].map(origin => ({ ...CODEX, id: origin, origin }))
  const left = twins.map(twin => leases.came(twin))
  for (const twin of twins) await call(twin, 'eval_expr', { expr: '1' })
  left[1]?.()
  let refused = ''
  try {
    await desk.hand(ADA, { ...named, to: 'codex' })
  } catch (error) {
    refused = String(error)
  }
  assert.match(refused, /There are, the last to call first: caller-4 \(codex, \/shop\), caller-2 \(codex/)
  assert.not.match(refused, 'caller-3')
})
