import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Envelope } from '../../tools/outcome.ts'
import { assert, suite } from '../support/harness.ts'
import { openRig, within } from '../support/rig.ts'
import { openScreen } from '../support/screen.ts'
import { codeOf, someSeat } from '../support/watching.ts'

/** What a person is shown of a plan that goes out of date while they do something else. */
const test = suite('plans that go stale before a person', { limitMs: 60_000 })

test('in the console it is said above the line that is being written, with the cause (fault 28)', async () => {
  const rig = openRig({ files: { 'shop.py': 'return 1\n' } })
  const path = join(rig.project, 'shop.py')
  try {
    await rig.serve()
    const screen = openScreen(rig, { columns: 160 })
    await screen.shows(/^>>>/m)
    await someSeat(rig)
    const client = await rig.connect({ name: 'a model' })
    const args = { path: 'shop.py', old_str: 'return 1', new_str: 'return 2' }
    const answer = within<Envelope>(client.call({ tool: 'edit_file', args }), 'the answer to an edit')
    await screen.shows('1 plan waits')
    screen.type('half')
    await screen.shows('>>> half')
    writeFileSync(path, 'return 7\n')
    await screen.shows(/^plan-\w+ It is out of date: shop\.py was changed/m)
    await screen.shows(/^>>> half$/m)
    assert.is(codeOf(await answer), 'stale_plan')
    assert.is(readFileSync(path, 'utf8'), 'return 7\n')
    screen.close()
  } finally {
    await rig.close()
  }
})
