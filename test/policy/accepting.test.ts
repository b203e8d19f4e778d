import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Approvals, openApprovals } from '../../src/approvals/queue.ts'
import { acceptPolicy } from '../../src/calls/policy-acceptance.ts'
import { type Journal, JournalError, openJournal } from '../../src/journal/journal.ts'
import { type OpenPolicy, openPolicy } from '../../src/policy/policy.ts'
import { decide } from '../../src/policy/rules.ts'
import type { Outcome } from '../../tools/outcome.ts'
import type { CallId } from '../../wire/contract/values.ts'
import { LightSignal } from '../../wire/signal.ts'
import { HandClock, settled } from '../support/calls-rig.ts'
import { assert, suite } from '../support/harness.ts'
import { invariantsOf, typesOf } from '../support/history.ts'
import { openFollowed, type Reply, takeSeat } from '../support/seat.ts'

const test = suite('policy accepting')

test.after.each(endRigs)

type Entry = Parameters<Journal['write']>[0]

/** A policy with a seat for its changes, and a journal of which any entry can be made to fail. */
interface Rig {
  readonly policy: OpenPolicy
  readonly approvals: Approvals
  readonly clock: HandClock
  readonly entries: Entry[]
  readonly root: string
  readonly userFile: string
  readonly projectFile: string
  readonly signal: LightSignal
  /** What the journal does for an entry. */
  journal: { fails?: Entry['type']; on?: (entry: Entry) => void; trouble?: string }
  /** How far the clock on the wall is ahead of the other one. */
  sleptMs: number
  accept(caller?: string): Promise<Outcome>
  allowed(): boolean
}

let open: { folder: string; journal: Journal; made: Rig }[] = []

/**
 * Clears away what the test made. Whatever it was about: each call that was put before a person has exactly one end,
 * and nothing comes after it.
 */
async function endRigs(): Promise<void> {
  const ended = open
  open = []
  for (const { folder, journal } of ended) {
    await journal.close()
    rmSync(folder, { recursive: true, force: true })
  }
  // A decision that could not be written is the one thing that may be missing.
  for (const { made } of ended)
    if (made.journal.fails !== 'decided') assert.equal(invariantsOf(linesOf(made), []), [])
}

/** Begins with these rules accepted in the user's file. */
function rig(accepted = ''): Rig {
  const folder = mkdtempSync(join(tmpdir(), 'imago-accepting-'))
  for (const name of ['config', 'state', 'project']) mkdirSync(join(folder, name))
  const root = join(folder, 'project')
  const userFile = join(folder, 'config/policy.toml')
  writeFileSync(userFile, accepted)
  const policy = openPolicy(join(folder, 'config'), { stateDir: join(folder, 'state') })
  policy.rulesFor(root)
  const real = openJournal({ stateDir: join(folder, 'state') })
  const clock = new HandClock()
  const approvals = openFollowed(openApprovals, {
    clock,
    wallClock: () => clock.now() + made.sleptMs,
    expiryMs: 30 * 60_000,
    journal: real,
  })
  const entries: Entry[] = []
  const hear = (entry: Entry) => {
    made.journal.on?.(entry)
    if (made.journal.fails === entry.type) throw new JournalError('The journal is full.')
    entries.push(entry)
  }
  const journal: Journal = {
    ...real,
    write: hear,
    later: hear,
    sync: async entry => hear(entry),
    get trouble() {
      return made.journal.trouble
    },
  }
  const signal = new LightSignal()
  const made: Rig = {
    policy,
    approvals,
    clock,
    entries,
    root,
    userFile,
    projectFile: join(root, 'imago.toml'),
    signal,
    journal: {},
    sleptMs: 0,
    accept: (caller = 'client-1') =>
      acceptPolicy(
        {
          call: `call-${++calls}` as CallId,
          root,
          who: 'imago policy',
          caller,
          origin: `cli ${root}`,
          signal,
        },
        { policy, approvals, journal, clock },
      ),
    allowed() {
      const { rules } = policy.rulesFor(root)
      const asked = { tool: 'write_file', level: 'dangerous', kernel: null } as const
      return decide({ ...asked, rules, paths: [join(root, 'docs/a.md')] }).decision === 'allow'
    },
  }
  open.push({ folder, journal: real, made })
  return made
}

let calls = 0

const linesOf = ({ entries }: Rig) => entries.map(entry => ({ ...entry }))

const codeOf = (outcome: Outcome) => (outcome.type === 'failed' ? outcome.error.code : outcome.type)

const types = (rigged: Rig) => typesOf(linesOf(rigged))

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
