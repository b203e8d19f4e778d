import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Envelope } from '../../tools/outcome.ts'
import { assert, suite } from '../support/harness.ts'
import { openRig, until } from '../support/rig.ts'

const test = suite('a crowd of clients', { limitMs: 120_000 })
const rig = openRig()
test.before(async () => {
  await rig.serve()
})
test.after(() => rig.close())

const codeOf = (envelope: Envelope) => (envelope.ok ? 'ok' : envelope.error.code)

test('a thousand clients with one call each are all answered, none is refused, and all of them ran', async () => {
  const first = await rig.connect()
  await first.call({ tool: 'eval_expr', args: { expr: 'served = []' } })
  const clients = await Promise.all(Array.from({ length: 999 }, () => rig.connect()))
  const answers = await Promise.all(
    [first, ...clients].map((client, number) =>
      client.call({
        tool: 'eval_expr',
        args: { expr: `served.append(${number}); ${number}`, patience: 100 },
      }),
    ),
  )
  const values = answers.map(answer => answer.ok && (answer.result as { value_repr: string }).value_repr)
  assert.equal(
    values,
    answers.map((_, number) => `${number}`),
  )
  const ran = await first.call({ tool: 'eval_expr', args: { expr: 'len(served), len(set(served))' } })
  assert.is(ran.ok && (ran.result as { value_repr: string }).value_repr, '(1000, 1000)')
  await Promise.all([first, ...clients].map(client => client.close()))
})

test('a client with hundreds of calls is refused its own beyond its share, and another one waits for few of them', async () => {
  const [greedy, other] = [await rig.connect(), await rig.connect()]
  const order: string[] = []
  // None ends before all of them have come: where one ended, there would be room for another.
  const held = 'import os, time\nwhile not os.path.exists("go"): time.sleep(0.01)\ntime.sleep(0.05)'
  const many = Array.from({ length: 200 }, () =>
    greedy.call({ tool: 'eval_expr', args: { expr: held, patience: 100 } }).then(answer => {
      if (answer.ok) order.push('greedy')
      return codeOf(answer)
    }),
  )
  const areRunning = (count: number) =>
    until(async () => (await other.request('status', {})).running === count, `${count} calls`)
  await areRunning(32)
  const mine = other.call({ tool: 'eval_expr', args: { expr: '"mine"', patience: 100 } }).then(answer => {
    order.push('mine')
    return codeOf(answer)
  })
  await areRunning(33)
  writeFileSync(join(rig.project, 'go'), '')
  assert.is(await mine, 'ok')
  const codes = await Promise.all(many)
  assert.equal([...new Set(codes)].sort(), ['busy', 'ok'])
  assert.is(codes.filter(code => code === 'ok').length, 32)
  assert.ok(order.indexOf('mine') < 20)
  await Promise.all([greedy.close(), other.close()])
})

test('a call that waits is a job that says what it waits behind, and an interrupt withdraws it', async () => {
  const [holder, other] = [await rig.connect(), await rig.connect()]
  const long = { expr: 'import time; time.sleep(60)', patience: 0 }
  const held = await holder.call({ tool: 'eval_expr', args: long })
  const jobOf = (answer: Envelope) =>
    answer.ok ? (answer.result as { job: string; behind?: string }) : undefined
  const behind = jobOf(held)?.job
  const waiting = []
  for (let number = 0; number < 5; number++)
    waiting.push(jobOf(await other.call({ tool: 'eval_expr', args: { expr: `${number}`, patience: 0 } })))
  assert.equal(
    waiting.map(one => one?.behind),
    waiting.map(() => behind),
  )
  const last = waiting.at(-1)?.job
  const report = await other.call({ tool: 'interrupt_job', args: { job: last } })
  assert.is(report.ok && (report.result as { status: string }).status, 'withdrawn')
  await holder.call({ tool: 'interrupt_job', args: { job: behind } })
  const first = await other.call({ tool: 'job', args: { job: waiting[0]?.job, action: 'wait' } })
  assert.is(first.ok && (first.result as { value_repr: string }).value_repr, '0')
  await Promise.all([holder.close(), other.close()])
})
