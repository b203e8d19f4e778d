import { rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Outcome } from '../../tools/outcome.ts'
import { codeOf, endRigs, type Rig, rig, types } from '../support/accepting-rig.ts'
import { settled } from '../support/calls-rig.ts'
import { assert, suite } from '../support/harness.ts'
import { type Reply, takeSeat } from '../support/seat.ts'

const test = suite('policy accepting')
test.after.each(endRigs)

const ALLOW = '[[rule]]\ndecision = "allow"\ntool = "write_file"\npath = "docs"\n'
const DENY = '[[rule]]\ndecision = "deny"\ntool = "eval_*"\nkernel = "live"\n'

test('a person approves the difference, in words and in the rules, and then it holds', async () => {
  const on = rig(DENY)
  writeFileSync(on.userFile, ALLOW)
  const seat = takeSeat(on.approvals, () => 'approve')
  assert.not.ok(on.allowed())
  assert.is(codeOf(await on.accept()), 'ok')
  assert.ok(on.allowed())
  assert.equal(on.policy.rulesFor(on.root).waiting, [])
  const [plan] = seat.plans
  assert.is(plan?.tool, 'accept_policy')
  assert.is(plan?.level, 'dangerous')
  assert.match(plan?.title ?? '', on.userFile)
  assert.is(
    plan?.body,
    [
      'From now on, until these files are changed again, the policy',
      '  allows write_file on docs of the project without asking, in every project (rule 1, written)',
      '  no longer denies every tool eval_* in the kernel live, in every project (rule 1, taken out)',
      '',
      `--- ${on.userFile}, as accepted`,
      `+++ ${on.userFile}, as it stands`,
      '@@ rule 1 @@',
      '+[[rule]]',
      '+decision = "allow"',
      '+tool = "write_file"',
      '+path = "docs"',
      '@@ rule 1, taken out @@',
      '-[[rule]]',
      '-decision = "deny"',
      '-tool = "eval_*"',
      '-kernel = "live"',
      '',
    ].join('\n'),
  )
  assert.equal(types(on), ['requested', 'decided', 'dispatched', 'ended ok'])
  assert.match(on.policy.standing(on.root).user.acceptance?.by ?? '', 'seat-1')
})

test('where nothing waits nobody is asked', async () => {
  const on = rig(DENY)
  const seat = takeSeat(on.approvals, () => 'approve')
  assert.is(codeOf(await on.accept()), 'ok')
  assert.equal([seat.plans, types(on)], [[], []])
})

/** Ways in which it is not approved, each with the code of the answer. */
const REPLIES: readonly (readonly [string, Reply, string])[] = [
  ['refused', 'deny', 'denied'],
  ['refused with a reason', { deny: 'not on this machine' }, 'denied'],
  ['edited', { edit: { tool: '*' } }, 'denied'],
]
for (const [what, reply, code] of REPLIES)
  test(`${what}: the answer is ${code}, and nothing loosens`, async () => {
    const on = rig()
    writeFileSync(on.userFile, ALLOW)
    takeSeat(on.approvals, () => reply)
    const outcome = await on.accept()
    assert.is(codeOf(outcome), code)
    if (typeof reply === 'object' && 'deny' in reply) assert.match(JSON.stringify(outcome), reply.deny)
    assert.not.ok(on.allowed())
    assert.equal(types(on), ['requested', 'decided', `refused ${code}`])
  })

test('with nobody on a seat it is approval_unavailable, and nothing loosens', async () => {
  const on = rig()
  writeFileSync(on.userFile, ALLOW)
  assert.is(codeOf(await on.accept()), 'approval_unavailable')
  assert.not.ok(on.allowed())
})

test('nobody answers in time, or the one who asked gives up: nothing loosens', async () => {
  const late = rig()
  writeFileSync(late.userFile, ALLOW)
  takeSeat(late.approvals)
  const waited = late.accept()
  await settled()
  await late.clock.pass(31 * 60_000)
  assert.is(codeOf(await waited), 'approval_timed_out')
  const gone = rig()
  writeFileSync(gone.userFile, ALLOW)
  takeSeat(gone.approvals)
  const asked = gone.accept()
  await settled()
  gone.signal.abort()
  assert.is(codeOf(await asked), 'withdrawn')
  assert.equal([late.allowed(), gone.allowed()], [false, false])
  assert.is(types(late).at(-1), 'refused approval_timed_out')
  assert.is(types(gone).at(-1), 'refused withdrawn')
})

/** What can happen to the files between the preview and the answer. */
const MOVES: readonly (readonly [string, (on: Rig) => void])[] = [
  ['more is allowed', on => writeFileSync(on.userFile, `${ALLOW}[[rule]]\ndecision = "allow"\ntool = "*"\n`)],
  ['as many other bytes are written', on => writeFileSync(on.userFile, ALLOW.replace('docs', '..//'))],
  ['only a comment is added', on => writeFileSync(on.userFile, `# fine\n${ALLOW}`)],
  ['it is taken back', on => writeFileSync(on.userFile, '')],
  ['it is removed', on => rmSync(on.userFile)],
  ['it is broken', on => writeFileSync(on.userFile, 'nonsense')],
  [
    'it is made a link',
    on => {
      writeFileSync(join(on.root, 'other.toml'), ALLOW.replace('docs', '.'))
      rmSync(on.userFile)
      symlinkSync(join(on.root, 'other.toml'), on.userFile)
    },
  ],
  ['the file of the project appears', on => writeFileSync(on.projectFile, DENY)],
]
for (const [what, move] of MOVES)
  test(`${what} while it waits, and after the answer: it is stale, and nothing loosens (threat 10)`, async () => {
    for (const when of ['while it waits', 'at the answer', 'as it is dispatched'] as const) {
      const on = rig()
      writeFileSync(on.userFile, ALLOW)
      if (when === 'as it is dispatched')
        on.journal.on = entry => {
          if (entry.type === 'dispatched') move(on)
        }
      takeSeat(on.approvals, async (): Promise<Reply> => {
        if (when === 'while it waits') move(on)
        if (when === 'while it waits') await on.clock.pass(5_000)
        if (when === 'at the answer') move(on)
        return 'approve'
      })
      assert.is(codeOf(await on.accept()), 'stale_plan', when)
      assert.not.ok(on.allowed(), when)
      if (when === 'as it is dispatched')
        assert.equal(types(on).slice(-2), ['dispatched', 'ended stale_plan'])
      else assert.equal(types(on).slice(-2), ['decided', 'refused stale_plan'], when)
    }
  })

test('two who ask at once: one plan holds, and the other is stale', async () => {
  const on = rig()
  writeFileSync(on.userFile, ALLOW)
  const seat = takeSeat(on.approvals)
  const both = [on.accept('client-1'), on.accept('client-2')]
  await settled()
  assert.is(seat.plans.length, 2)
  for (const { id } of seat.plans) seat.answer('approve', id)
  const outcomes = await Promise.all(both)
  assert.equal(outcomes.map(codeOf).sort(), ['ok', 'stale_plan'])
})

for (const fails of ['requested', 'decided', 'dispatched'] as const)
  test(`where the journal cannot write "${fails}" nothing loosens`, async () => {
    const on = rig()
    writeFileSync(on.userFile, ALLOW)
    takeSeat(on.approvals, () => 'approve')
    on.journal.fails = fails
    assert.is(codeOf(await on.accept()), 'internal')
    assert.not.ok(on.allowed())
    assert.is(types(on).at(-1), 'refused internal')
  })

test('where the journal is in trouble nobody is asked; where it comes into trouble meanwhile nothing loosens', async () => {
  const on = rig()
  writeFileSync(on.userFile, ALLOW)
  const seat = takeSeat(on.approvals, () => {
    on.journal.trouble = 'A line is not what was written.'
    return 'approve'
  })
  assert.is(codeOf(await on.accept()), 'denied')
  assert.is(seat.plans.length, 1)
  assert.is(codeOf(await on.accept()), 'denied')
  assert.is(seat.plans.length, 1)
  assert.not.ok(on.allowed())
})

test('one caller can have no more than 8 such plans waiting (threat 36)', async () => {
  const on = rig()
  writeFileSync(on.userFile, ALLOW)
  const seat = takeSeat(on.approvals)
  const asked = Array.from({ length: 9 }, () => on.accept())
  assert.is(codeOf((await asked[8]) as Outcome), 'busy')
  assert.is(seat.plans.length, 8)
  on.signal.abort()
  await Promise.all(asked)
})

test('a file that is not in order is not put before anybody', async () => {
  const on = rig()
  writeFileSync(on.userFile, `${ALLOW}[[test]]\ntool = "write_file"\nexpect = "deny"\n`)
  const seat = takeSeat(on.approvals, () => 'approve')
  const outcome = await on.accept()
  assert.is(codeOf(outcome), 'denied')
  assert.match(JSON.stringify(outcome), /test 1/)
  assert.is(seat.plans.length, 0)
})

test('no rule that allows everything spares the question (threat 10)', async () => {
  const on = rig('[[rule]]\ndecision = "allow"\ntool = "*"\n')
  writeFileSync(on.userFile, `[[rule]]\ndecision = "allow"\ntool = "*"\n${ALLOW.replace('docs', '/')}`)
  assert.is(codeOf(await on.accept()), 'approval_unavailable')
  assert.is(on.policy.rulesFor(on.root).waiting.length, 1)
})

test('what would not be seen in a rule is refused, or shown as a mark', async () => {
  const on = rig()
  writeFileSync(on.userFile, '[[rule]]\ndecision = "allow"\ntool = "read_\u202eelif_etirw"\n')
  const seat = takeSeat(on.approvals, () => 'deny')
  await on.accept()
  const [plan] = seat.plans
  assert.not.match(plan?.body ?? '', '\u202e')
  assert.is(plan?.warnings.length, 1)
})
