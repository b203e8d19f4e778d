import { join } from 'node:path'
import type { PlanEnd, WaitingPlan } from '../../src/approvals/contract.ts'
import type { DaemonClient } from '../../src/front/client.ts'
import { followPlans } from '../../src/front/commands/watch.ts'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { assert, suite } from '../support/harness.ts'
import { openRig, type Rig } from '../support/rig.ts'
import { openScreen } from '../support/screen.ts'
import { shownPlanOf } from '../support/shown-plans.ts'
import { codeOf, evaluating, openAsking, openWatch } from '../support/watching.ts'

const test = suite('watch in a pipe')

/** A model's error, which is suspended and given up again. */
async function raisesAndLeaves(rig: Rig): Promise<string> {
  const client = await rig.connect({ name: 'claude-code' })
  const raised = await client.call({ tool: 'eval_expr', args: { expr: '1 / 0', on_error: 'suspend' } })
  if (raised.ok) throw new Error('it did not raise')
  const left = await client.call({ tool: 'debug_restart', args: { leave: true } })
  assert.ok(left.ok, JSON.stringify(left))
  return (raised.error.details.suspension as { readonly id: string }).id
}

test('in a pipe it lists what comes and what is settled, cannot answer, and ends with Ctrl-C or with its reader', async () => {
  const rig = openAsking()
  try {
    await rig.serve()
    const { screen } = await openWatch(rig)
    const watching = rig.begin(['watch'])
    await watching.says(
      /^This is a list, and answers nothing: neither its input nor its output is a terminal\./,
    )
    const unread = rig.begin(['watch'])
    await unread.says(/This is a list/)
    unread.child.stdout?.destroy()
    const { answer } = await evaluating(rig, '1')
    await watching.says(/^waits {4}plan-\w+ {2}eval_expr on \S+ for imago test.* Run this code$/m)
    await screen.shows('Approve?')
    screen.type('y\n')
    assert.is(codeOf(await answer), 'ok')
    await watching.says(
      /^settled {2}plan-\w+ {2}approved {2}eval_expr {2}Run this code {2}terminal \S+ \(process \d+\) approved it\.$/m,
    )
    await unread.ended
    watching.child.kill('SIGINT')
    const { code, stderr } = await watching.ended
    assert.is(code, 0, stderr)
    screen.close()
    const last = rig.begin(['watch'])
    await last.says(/^This is a list/)
    await rig.imago(['shutdown', '--force'])
    const end = await last.ended
    assert.equal([end.code, end.stderr], [1, 'imago: The daemon has ended. To start again: imago watch\n'])
  } finally {
    await rig.close()
  }
})

test('what is suspended is a note on the whole screen, and a line at a terminal and in a pipe, which takes no seat', async () => {
  const rig = openRig()
  try {
    await rig.serve()
    const main = join(PACKAGE_ROOT, 'dist/src/main.cjs')
    const piped = openScreen(rig, {
      command: ['sh', '-c', `${process.execPath} ${main} watch | cat`],
      columns: 120,
    })
    await piped.shows(/its output is no terminal/)
    assert.match((await rig.imago(['approvals'])).stdout, 'Nobody has a seat')
    const screen = openScreen(rig, { args: ['watch'], columns: 120 })
    await screen.shows('seat-1')
    const plain = openScreen(rig, { args: ['watch', '--plain'], columns: 120 })
    await screen.shows(/ y let it /)
    screen.type('y')
    await plain.shows('Ctrl-C leaves')
    const id = await raisesAndLeaves(rig)
    const [raised, left] = [
      `${id} in project, of claude-code: suspended by ZeroDivisionError: division by zero`,
      `${id} in project, of claude-code: claude-code gave it up`,
    ]
    await screen.shows(raised)
    screen.type('h')
    await screen.shows(left)
    for (const told of [raised, left]) {
      await plain.shows(`! ${told}`)
      await piped.shows(new RegExp(`^suspended  ${told}$`, 'm'))
    }
    for (const one of [screen, plain, piped]) one.close()
  } finally {
    await rig.close()
  }
})

/** Tells these rows, one set after the other, the first as the snapshot. */
const telling =
  (sets: readonly Readonly<Record<string, unknown>>[]): DaemonClient['subscribe'] =>
  async ({ heard }) => {
    for (const [at, rows] of sets.entries()) {
      const changes = Object.entries(rows).map(
        ([key, value]) => ({ topic: 'approvals', key, value }) as const,
      )
      heard(at === 0 ? { rev: 'one:0', snapshot: changes } : { rev: `one:${at}`, changes })
    }
  }

test('a line is one line, whatever a plan is called', async () => {
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
  const row = { state: 'waits', ...(plan satisfies WaitingPlan) }
  const subscribe = telling([{ [plan.id]: row }, { [plan.id]: null }])
  const out = (text: string) => {
    printed += text
  }
  await followPlans({ client: { subscribe }, printer: { out }, signal: new AbortController().signal })
  assert.is(
    printed,
    'waits    plan-abcdefgh  write_file for y\\r\\nz, who has waited 1 min 1 s  x\\nsettled  plan-good\n' +
      'settled  plan-abcdefgh  ended  write_file  x\\nsettled  plan-good\n',
  )
})

test('each end is a line with its cause, of what nobody saw wait, too, and of nothing that ended before', async () => {
  const end = { tool: 'write_file', root: '/work', title: 'Write a.py', ago_ms: 1 }
  const ends: readonly PlanEnd[] = [
    { ...end, id: 'plan-before', outcome: 'approved', why: 'seat-1 approved it.' },
    { ...end, id: 'plan-stale', outcome: 'stale', why: 'It is out of date: a.py has\nchanged.' },
    { ...end, id: 'plan-late', outcome: 'timed_out', why: 'Nobody answered in time; it counts as denied.' },
  ]
  let printed = ''
  const rows = ends.map(end => ({ [end.id]: { state: 'ended', ...end } }))
  const subscribe = telling(rows)
  const out = (text: string) => {
    printed += text
  }
  await followPlans({ client: { subscribe }, printer: { out }, signal: new AbortController().signal })
  assert.is(
    printed,
    'settled  plan-stale  stale  write_file  Write a.py  It is out of date: a.py has\\nchanged.\n' +
      'settled  plan-late  timed out  write_file  Write a.py  Nobody answered in time; it counts as denied.\n',
  )
})
