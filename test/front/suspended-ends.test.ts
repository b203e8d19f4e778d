import { assert, suite } from '../support/harness.ts'
import { openRig } from '../support/rig.ts'

const test = suite('what ends with an image, at the command line', { limitMs: 60_000 })

test('whoever ends an image, or the daemon, is told what was suspended there; output keeps its own line', async () => {
  const rig = openRig()
  try {
    const raise = (code: string) => rig.imago(['call', 'eval_expr', JSON.stringify({ expr: code })])
    const raised = await raise('print("half", end="")\n1 / 0')
    assert.is(raised.stdout, 'half')
    assert.match(raised.stderr, /^\nexception: ZeroDivisionError/)
    const printed = await raise('print("half", end="")\n6 * 7')
    assert.is(printed.stdout, 'half\n42\n')
    const says = (kernel: string) =>
      new RegExp(
        `^imago: s\\d+@\\w+ in ${kernel}, of imago call, is suspended and ends with it: ZeroDivisionError: `,
        'm',
      )
    const stopped = await rig.imago(['stop', 'project'])
    assert.match(stopped.stderr, says('project'))
    assert.is((await rig.imago(['stop', 'project'])).stderr, '')
    await raise('1 / 0')
    const ended = await rig.imago(['shutdown'])
    assert.match(ended.stderr, says('project'))
    assert.match(ended.stdout, 'The daemon ended. With it: project.')
  } finally {
    await rig.close()
  }
})
