import { join } from 'node:path'
import type { Ended, WaitingPlan } from '../../src/approvals/contract.ts'
import { followPlans } from '../../src/front/commands/watch.ts'
import { assert, suite } from '../support/harness.ts'
import { until } from '../support/rig.ts'
import { openScreen } from '../support/screen.ts'
import { shownPlanOf } from '../support/shown-plans.ts'
import { codeOf, evaluating, openAsking, openWatch } from '../support/watching.ts'

const test = suite('watch in a pipe')

test('in a pipe it lists what comes and what is settled, says that it cannot answer, and ends with Ctrl-C', async () => {
  const rig = openAsking()
  try {
    await rig.serve()
    const { screen } = await openWatch(rig)
    const watching = rig.begin(['watch'])
    await watching.says(
      /^This is a list, and answers nothing: neither its input nor its output is a terminal\./,
    )
    const { answer } = await evaluating(rig, '1')
    await watching.says(/^waits {4}plan-\w+ {2}eval_expr on \S+ for imago test.* Run this code$/m)
    await screen.shows('Approve?')
    screen.type('y\n')
    assert.is(codeOf(await answer), 'ok')
    await watching.says(
      /^settled {2}plan-\w+ {2}approved {2}eval_expr {2}Run this code {2}terminal \S+ \(process \d+\) approved it\.$/m,
    )
    watching.child.kill('SIGINT')
    const { code, stderr } = await watching.ended
    assert.is(code, 0, stderr)
    screen.close()
  } finally {
    await rig.close()
  }
})

test('a terminal whose output goes elsewhere gets the list there, and no seat', async () => {
  const rig = openAsking()
  await rig.serve()
  const main = join(import.meta.dirname, '../../dist/src/main.js')
  const screen = openScreen(rig, {
    command: ['sh', '-c', `${process.execPath} ${main} watch | head -n 1; echo piped`],
  })
  await screen.shows(/its output is no terminal/)
  assert.match((await rig.imago(['approvals'])).stdout, 'Nobody has a seat')
  screen.close()
  await rig.close()
})

test('a line is one line, whatever a plan is called', async () => {
  const over = new AbortController()
  let printed = ''
  const {
    body: _,
    hunks: __,
    code: ___,
    args: ____,
    ...plan
  } = shownPlanOf({
    title: 'x\nsettled  plan-good',
    who: 'y\r\nz',
    waited_ms: 61_000,
  })
  let asked = 0
  const request = (async () => {
    if (++asked === 3) over.abort()
    return {
      approvals: asked === 1 ? [plan satisfies WaitingPlan] : [],
      seats: [],
      grants: [],
      pauses: [],
      ends: [],
    }
  }) as never
  const out = (text: string) => {
    printed += text
  }
  await followPlans({ client: { request }, printer: { out }, signal: over.signal })
  assert.is(
    printed,
    'waits    plan-abcdefgh  write_file for y\\r\\nz, who has waited 1 min 1 s  x\\nsettled  plan-good\n' +
      'settled  plan-abcdefgh  ended  write_file  x\\nsettled  plan-good\n',
  )
})

test('each end is a line with its cause, of what nobody saw wait, too, and of nothing that ended before', async () => {
  const end = { tool: 'write_file', title: 'Write a.py', ago_ms: 1 }
  const ends: readonly Ended[] = [
    { ...end, id: 'plan-before', outcome: 'approved', why: 'seat-1 approved it.' },
    { ...end, id: 'plan-stale', outcome: 'stale', why: 'It is out of date: a.py has\nchanged.' },
    { ...end, id: 'plan-late', outcome: 'timed_out', why: 'Nobody answered in time; it counts as denied.' },
  ]
  const over = new AbortController()
  let asked = 0
  let printed = ''
  const request = (async () => {
    if (++asked === 3) over.abort()
    return { approvals: [], seats: [], grants: [], pauses: [], ends: ends.slice(0, asked === 1 ? 1 : 3) }
  }) as never
  const out = (text: string) => {
    printed += text
  }
  await followPlans({ client: { request }, printer: { out }, signal: over.signal })
  assert.is(
    printed,
    'settled  plan-stale  stale  write_file  Write a.py  It is out of date: a.py has\\nchanged.\n' +
      'settled  plan-late  timed out  write_file  Write a.py  Nobody answered in time; it counts as denied.\n',
  )
})

test('whoever reads no more ends it', async () => {
  const rig = openAsking()
  try {
    await rig.serve()
    const watching = rig.begin(['watch'])
    await watching.says(/This is a list/)
    watching.child.stdout?.destroy()
    const { answer } = await evaluating(rig, '1')
    answer.catch(() => {})
    let ended = false
    void watching.ended.then(() => {
      ended = true
    })
    const { screen } = await openWatch(rig)
    const second = await evaluating(rig, '2')
    second.answer.catch(() => {})
    await until(() => ended, 'the end of the list')
    screen.close()
  } finally {
    await rig.close()
  }
})
