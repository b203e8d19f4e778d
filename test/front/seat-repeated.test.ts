import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Envelope } from '../../tools/outcome.ts'
import { assert, suite } from '../support/harness.ts'
import { openRig, within } from '../support/rig.ts'
import { openWatch } from '../support/watching.ts'

const test = suite('what a person is asked time and again', { limitMs: 60_000 })

test('at the third time the seat and the caller are told the rule by which nobody would be asked (threat 36)', async () => {
  const rig = openRig()
  try {
    await rig.serve()
    const { screen } = await openWatch(rig, { columns: 120 })
    const client = await rig.connect({ name: 'a model' })
    const answers: Envelope[] = []
    for (const n of [1, 2, 3]) {
      const args = { path: 'notes.txt', content: `${n}\n` }
      const answer = within<Envelope>(client.call({ tool: 'write_file', args }), `the answer to ${n}`)
      await screen.shows(new RegExp(`\\| \\+${n}\\n[\\s\\S]*Approve\\?`))
      if (n < 3) assert.not.match(screen.text(), 'nobody would be asked')
      screen.type('y\n')
      answers.push(await answer)
    }
    assert.match(screen.text(), 'asked for 3 times by now; with this rule nobody would be asked:')
    const file = `file = "${join(rig.project, 'notes.txt')}"`
    const rule = ['[[rule]]', 'decision = "allow"', 'tool = "write_file"', 'level = "dangerous"', file]
    for (const line of rule) assert.match(screen.text(), `\n           ${line}\n`)
    const [first, second, third] = answers.map(answer => JSON.stringify(answer))
    assert.not.match(`${first}${second}`, 'A person was asked')
    assert.match(third ?? '', 'A person was asked 3 times for write_file on notes.txt by now. Tell them')
    assert.match(third ?? '', JSON.stringify(rule.join('\n')).slice(1, -1))
    assert.is(readFileSync(join(rig.project, 'notes.txt'), 'utf8'), '3\n')
    screen.close()
  } finally {
    await rig.close()
  }
})
