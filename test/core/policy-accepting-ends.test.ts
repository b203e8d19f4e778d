import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf, endRigs, type Rig, rig, types } from '../support/accepting-rig.ts'
import { assert, suite } from '../support/harness.ts'
import { type Reply, takeSeat } from '../support/seat.ts'

const test = suite('ends of accepting')
test.after.each(endRigs)

const ALLOW = '[[rule]]\ndecision = "allow"\ntool = "write_file"\npath = "docs"\n'

/** What can happen once it is approved, each with the code of the answer. */
const LATE: readonly (readonly [string, (on: Rig) => unknown, string])[] = [
  ['the one who asked gives up', on => on.signal.abort(), 'withdrawn'],
  [
    'the journal comes into trouble',
    on => (on.journal.trouble = 'A line is not what was written.'),
    'denied',
  ],
  ['the approval expires', on => (on.sleptMs = 31 * 60_000), 'approval_timed_out'],
]
for (const [what, happens, code] of LATE)
  test(`${what} after the approval, or while it is used up: the answer is ${code}, and nothing loosens`, async () => {
    for (const when of ['decided', 'dispatched'] as const) {
      const on = rig()
      writeFileSync(on.userFile, ALLOW)
      takeSeat(on.approvals, () => 'approve')
      on.journal.on = entry => {
        if (entry.type === when) happens(on)
      }
      assert.is(codeOf(await on.accept()), code, when)
      assert.not.ok(on.allowed(), when)
      const end = when === 'decided' ? ['decided', `refused ${code}`] : ['dispatched', `ended ${code}`]
      assert.equal(types(on).slice(-2), end)
    }
  })

test('what was used up says how long it took, from the question to its end', async () => {
  const on = rig()
  writeFileSync(on.userFile, ALLOW)
  takeSeat(on.approvals, async (): Promise<Reply> => {
    await on.clock.pass(4_200)
    return 'approve'
  })
  assert.is(codeOf(await on.accept()), 'ok')
  const end = on.entries.at(-1)
  assert.is(end?.type === 'ended' && end.elapsed_ms, 4_200)
})

test('where a record cannot be kept, the end says so, and nothing loosens', async () => {
  const on = rig()
  writeFileSync(on.userFile, ALLOW)
  takeSeat(on.approvals, () => 'approve')
  const accepted = join(on.root, '../state/policy-accepted')
  rmSync(accepted, { recursive: true, force: true })
  writeFileSync(accepted, 'a file where a folder has to be')
  assert.is(codeOf(await on.accept()), 'file_failed')
  assert.is(types(on).at(-1), 'ended file_failed')
  assert.not.ok(on.allowed())
})

test('whoever is refused is told to stop, and the reason as it was given', async () => {
  const on = rig()
  writeFileSync(on.userFile, ALLOW)
  takeSeat(on.approvals, () => ({ deny: 'not on this machine' }))
  const outcome = await on.accept()
  assert.is(outcome.type, 'failed')
  if (outcome.type !== 'failed') return
  assert.match(outcome.error.message, /They refused it: not on this machine$/)
  assert.match(outcome.error.next ?? '', /^Stop here/)
})
