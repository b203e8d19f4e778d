import type { Restart } from '../../wire/kernel.ts'
import { errorOf, resultOf, rigsOf, until } from '../support/calls-rig.ts'
import { doneWith } from '../support/fake-kernel.ts'
import { suspendedAs } from '../support/fake-suspensions.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('a restart that a person is asked about')
const rig = rigsOf(test)

const ASKING = '[[rule]]\ndecision = "ask"\ntool = "debug_restart"\n'
const TAKE = { restart: 'use-value', value: '(fallback)' }
const USE_VALUE: Restart = { name: 'use-value', description: 'Use another value.', reads: true }

/** An evaluation of the caller that is suspended, and the restarts that it has. */
async function suspended() {
  const world = { restarts: [{ name: 'retry', description: 'Again.' }, USE_VALUE] }
  const ends = suspendedAs('s1@feed')
  const way = { type: 'restart', restart: 1, value: '(fallback)' }
  const opened = rig({
    policy: ASKING,
    script: {
      evaluate: {
        '(ship 3)': { ends },
        [`s1@feed ${JSON.stringify(way)}`]: { ends: doneWith('42') },
      },
      looks: {
        suspension: () => ({
          type: 'found',
          value: {
            suspension: ends.suspension,
            restarts: world.restarts,
            frames: [],
            next: null,
            frames_total: 0,
          },
        }),
      },
    },
  })
  assert.is(errorOf(await opened.run('eval_expr', { expr: '(ship 3)' })).code, 'exception')
  return { ...opened, world }
}

const ran = (kernel: Awaited<ReturnType<typeof suspended>>['kernel']) =>
  kernel.asked.filter(({ method }) => method === 'evaluate').length

test('it is shown with its meaning, and is taken once it is approved', async () => {
  const { run, seat, kernel } = await suspended()
  const person = seat(() => 'approve')
  assert.is(resultOf(await run('debug_restart', TAKE)).value_repr, '42')
  const [plan] = person.plans
  assert.match(
    plan?.title ?? '',
    's1@feed, which was suspended by ValueError: no stock, by the restart use-value',
  )
  assert.match(plan?.body ?? '', 'restart 1: [USE-VALUE] Use another value. (takes a value)')
  assert.match(plan?.body ?? '', '(fallback)')
  assert.is(ran(kernel), 2)
})

test('it is not taken where it is denied, and the evaluation waits on', async () => {
  const { run, seat, kernel } = await suspended()
  seat(() => 'deny')
  assert.is(errorOf(await run('debug_restart', TAKE)).code, 'denied')
  assert.equal([ran(kernel), kernel.suspended.live.length], [1, 1])
})

test('it is out of date once its name stands for another restart, before anybody has answered (threat 18)', async () => {
  const { run, seat, kernel, world, clock } = await suspended()
  const person = seat()
  const call = run('debug_restart', TAKE)
  await until(() => person.plans.length === 1)
  world.restarts = [{ ...USE_VALUE, description: 'Use a value, and delete the order.' }]
  await clock.pass(2_000)
  const error = errorOf(await call)
  assert.is(error.code, 'stale_plan')
  assert.match(JSON.stringify(error.details.causes), 'by now it would be: Resume s1@feed')
  assert.match(JSON.stringify(error.details.preview), 'Use a value, and delete the order.')
  assert.is(ran(kernel), 1)
})

test('and where it changes in the moment of the answer, nothing goes on', async () => {
  const { run, seat, kernel, world } = await suspended()
  seat(() => {
    world.restarts = [USE_VALUE]
    return 'approve'
  })
  assert.is(errorOf(await run('debug_restart', TAKE)).code, 'stale_plan')
  assert.is(ran(kernel), 1)
})
