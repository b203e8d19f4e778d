import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, suite } from '../support/harness.ts'
import { openRig, until } from '../support/rig.ts'
import { openScreen } from '../support/screen.ts'
import { APPROVE, asks, openAsking, openWatch } from '../support/watching.ts'

const test = suite('asking here')

test('imago policy accept asks whoever runs it at a terminal, where nobody has a seat, and leaving withdraws it', async () => {
  const rig = openAsking()
  const accepting = () => openScreen(rig, { args: ['policy', 'accept'], columns: 100, rows: 60 })
  try {
    await rig.serve()
    await rig.imago(['policy'])
    writeFileSync(join(rig.paths.configDir, 'policy.toml'), '')
    for (const keys of ['\x03', 'q\n']) {
      const screen = accepting()
      await asks(screen, 1)
      screen.type(keys)
      assert.is(await screen.ended, 3)
      const { stdout } = await rig.imago(['approvals'])
      assert.match(stdout, /No plan waits[\s\S]*Nobody has a seat/)
    }
    const screen = accepting()
    await asks(screen, 1)
    assert.match((await rig.imago(['approvals'])).stdout, /seat-\d+ {2}terminal/)
    screen.type('y\n')
    assert.is(await screen.ended, 0)
    assert.match((await rig.imago(['approvals'])).stdout, /Nobody has a seat/)
    assert.is(JSON.parse((await rig.imago(['call', 'eval_expr', '{"expr":"1"}', '--json'])).stdout).ok, true)
  } finally {
    await rig.close()
  }
})

test('imago undo asks there, too, for as long as a person takes, and somebody who sits instead where there is one', async () => {
  const rig = openRig({ config: '[calls]\npatience_seconds = 1\n' })
  try {
    await rig.serve()
    const watch = await openWatch(rig)
    const args = JSON.stringify({ path: 'made.txt', content: 'made\n' })
    const written = rig.imago(['call', 'write_file', args, '--json'])
    await watch.screen.shows(APPROVE)
    watch.screen.type('y\n')
    const { result } = JSON.parse((await written).stdout)
    watch.screen.type('\x03')
    await watch.screen.ended
    const made = join(rig.project, 'made.txt')
    assert.is(readFileSync(made, 'utf8'), 'made\n')
    const screen = openScreen(rig, { args: ['undo', result.undo], columns: 100, rows: 60 })
    await asks(screen, 1)
    // It waits as a job by now: its patience was a second.
    await until(async () => {
      const asked = await Promise.all(
        ['job-1', 'job-2'].map(job => rig.imago(['call', 'job', JSON.stringify({ job }), '--json'])),
      )
      return asked.some(({ code }) => code === 5)
    }, 'a job that waits')
    screen.type('y\n')
    assert.is(await screen.ended, 0)
    assert.is(existsSync(made), false)
  } finally {
    await rig.close()
  }
})
