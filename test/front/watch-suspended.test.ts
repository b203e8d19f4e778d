import { assert, suite } from '../support/harness.ts'
import { openRig, type Rig } from '../support/rig.ts'
import { openScreen } from '../support/screen.ts'

/** What `imago watch` says of suspended evaluations, of whatever project. */
const test = suite('watch and what is suspended')

/** A model's error, which is suspended and given up again. */
async function raisesAndLeaves(rig: Rig): Promise<string> {
  const client = await rig.connect({ name: 'claude-code' })
  const raised = await client.call({ tool: 'eval_expr', args: { expr: '1 / 0' } })
  if (raised.ok) throw new Error('it did not raise')
  const left = await client.call({ tool: 'debug_restart', args: { leave: true } })
  assert.ok(left.ok, JSON.stringify(left))
  return (raised.error.details.suspension as { readonly id: string }).id
}

test('on the whole screen a note says what was suspended, and what became of it', async () => {
  const rig = openRig()
  try {
    await rig.serve()
    const screen = openScreen(rig, { args: ['watch'], columns: 120 })
    await screen.shows('seat-1')
    const id = await raisesAndLeaves(rig)
    await screen.shows(`${id} in project, of claude-code: suspended by ZeroDivisionError: division by zero`)
    screen.type('h')
    await screen.shows(`${id} in project, of claude-code: claude-code gave it up`)
    screen.close()
  } finally {
    await rig.close()
  }
})

test('line by line, and in a pipe, it is a line for each', async () => {
  const rig = openRig()
  try {
    await rig.serve()
    const screen = openScreen(rig, { args: ['watch', '--plain'], columns: 120 })
    await screen.shows('Ctrl-C leaves')
    const piped = rig.begin(['watch'])
    await piped.says(/answers nothing/)
    const id = await raisesAndLeaves(rig)
    await screen.shows(`! ${id} in project, of claude-code: suspended by ZeroDivisionError: division by zero`)
    await screen.shows(`! ${id} in project, of claude-code: claude-code gave it up`)
    await piped.says(new RegExp(`^suspended  ${id} in project, of claude-code: suspended by Zero`, 'm'))
    await piped.says(new RegExp(`^suspended  ${id} in project, of claude-code: claude-code gave it up$`, 'm'))
    screen.close()
  } finally {
    await rig.close()
  }
})
