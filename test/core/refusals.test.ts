import * as refusals from '../../src/calls/refusals.ts'
import type { Rules } from '../../src/policy/policy.ts'
import { LEVELS, type Level } from '../../tools/contract.ts'
import { failed, type Outcome, type ToolError } from '../../tools/outcome.ts'
import { toolAt } from '../support/calls-rig.ts'
import { FakeKernel } from '../support/fake-kernel.ts'
import { assert, suite } from '../support/harness.ts'
import { somePlan } from '../support/plans.ts'

const test = suite('refusals')

const { tool } = toolAt('dangerous')

const plan = somePlan()

const policy: Rules = { rules: [], problem: undefined, waiting: [], userFile: '/config/policy.toml' }

const fromUser = { type: 'user', file: '/config/policy.toml', number: 2 } as const

function judged(level: Level, from: typeof fromUser | { readonly type: 'default' } | typeof takenOut) {
  const rule = { decision: 'ask', level, from } as const
  return { tool, level, kernel: 'main', policy, verdict: { decision: 'ask', rule } } as const
}

const takenOut = { ...fromUser, removed: true } as const

const inside = failed('invalid_args', { message: 'text is too long.' })

/** Every refusal there is, and whether whoever is refused has to stop. */
const ALL: Readonly<Record<string, readonly (readonly [Outcome<never>, stop: boolean])[]>> = {
  needsEvaluation: [[refusals.needsEvaluation(tool, 'it calls a function.'), false]],
  tooManyPending: [[refusals.tooManyPending({ pending: 32, most: 32 }), false]],
  otherCall: [[refusals.otherCall('call-1'), false]],
  forgotten: [[refusals.forgotten('call-1'), false]],
  journalUnavailable: [[refusals.journalUnavailable(new Error('The disk is full.')), false]],
  journalInTrouble: [[refusals.journalInTrouble('line 3 is not what was written.'), true]],
  ranEarlier: [
    [refusals.ranEarlier('call-1', { tool: 'put', outcome: 'ok' }), false],
    [refusals.ranEarlier('call-1', { tool: 'put', outcome: 'withdrawn' }), false],
  ],
  lacksAbility: [[refusals.lacksAbility({ tool, kernel: 'main', missing: ['inspect'] }), false]],
  kernelGone: [[refusals.kernelGone({ name: 'main', kernel: new FakeKernel() }), false]],
  policyBroken: [[refusals.policyBroken('line 3 of policy.toml is no TOML.'), true]],
  denied: [[refusals.denied(judged('dangerous', fromUser)), true]],
  unavailable: LEVELS.map(level => [refusals.unavailable(judged(level, fromUser)), true] as const),
  deniedByPerson: [
    [refusals.deniedByPerson({ plan, reason: null }), true],
    [refusals.deniedByPerson({ plan, reason: 'not on a Friday' }), true],
  ],
  unanswered: [
    [refusals.unanswered({ plan, reason: null }), true],
    [refusals.unanswered({ plan, reason: 'nobody answered there' }), true],
  ],
  badChoice: [[refusals.badChoice(plan, 'The text of hunk 2 cannot be written.'), true]],
  allRefused: [
    [refusals.allRefused(plan, [{ number: 1, path: 'a', line: 1, outcome: 'refused', reason: 'no' }]), true],
  ],
  untold: (['ask', 'deny'] as const).map(
    decision =>
      [refusals.untold(tool, { decision, rule: { decision, from: fromUser } }), decision === 'deny'] as const,
  ),
  timedOut: [[refusals.timedOut({ plan, afterMs: 60_000 }), true]],
  expired: [[refusals.expired(plan), true]],
  planWithdrawn: [
    [refusals.planWithdrawn(plan), false],
    [refusals.planWithdrawn(plan, 'the daemon ended'), false],
  ],
  stale: [[refusals.stale({ plan, causes: ['a.txt was changed'] }), false]],
  notNow: [
    [refusals.notNow({ type: 'waiting', of: 'caller', waiting: 8, most: 8 }), false],
    [refusals.notNow({ type: 'waiting', of: 'all', waiting: 64, most: 64 }), false],
    [refusals.notNow({ type: 'paused', refusals: 3, leftMs: 60_000 }), true],
  ],
  editRises: [[refusals.editRises(tool, 'it runs code'), true]],
  badEdit: [
    [refusals.badEdit(tool), true],
    [refusals.badEdit(tool, inside), true],
  ],
}

function errorOf(outcome: Outcome<never>): ToolError {
  if (outcome.type !== 'failed') throw new Error(`${outcome.type} is no refusal`)
  return outcome.error
}

test('these are all refusals of the gate', () => {
  const made = Object.entries({ ...refusals })
    .filter(([name, made]) => typeof made === 'function' && !['unknownTool', 'reasonsIn'].includes(name))
    .map(([name]) => name)
  assert.equal(Object.keys(ALL).sort(), made.sort())
})

for (const [name, cases] of Object.entries(ALL))
  test(`${name} says that nothing ran, and whether to stop`, () => {
    for (const [outcome, stop] of cases) {
      const { message, next, code } = errorOf(outcome)
      assert.match(message, /[Nn]othing ran|Nothing was changed\.|It was not run again\./)
      assert.is((next ?? '').startsWith(refusals.STOP), stop, `${code}: ${next}`)
      assert.match(next ?? '', /\.$/)
      assert.ok((next ?? '').length > refusals.STOP.length || !stop, `${name} says what to tell the person`)
    }
  })

test('who refused without a reason is said in a whole sentence; a reason stands there to the letter', () => {
  assert.match(errorOf(refusals.deniedByPerson({ plan, reason: null })).message, /gave no reason\.$/)
  const { message, details } = errorOf(refusals.deniedByPerson({ plan, reason: 'no!  no' }))
  assert.match(message, /: no! {2}no$/)
  assert.is(details.reason, 'no!  no')
})

test('an approval that nobody gave and one that came too late are one code with two reasons', () => {
  const [nobody, late] = [refusals.timedOut({ plan, afterMs: 1 }), refusals.expired(plan)].map(errorOf)
  assert.equal([nobody?.code, late?.code], ['approval_timed_out', 'approval_timed_out'])
  assert.equal([nobody?.details.reason, late?.details.reason], ['nobody_answered', 'approval_expired'])
})

test('a journal in trouble is a refusal by the gate, and names what shows it and what ends it', () => {
  const { code, details, next } = errorOf(refusals.journalInTrouble('line 3 is not what was written.'))
  assert.equal([code, details.reason], ['denied', 'journal_in_trouble'])
  assert.match(next ?? '', /imago log verify .* imago log acknowledge /)
})

test('where the default allows, taking out the rule that asks is all there is to do', () => {
  const said = (level: Level, from: Parameters<typeof judged>[1]) =>
    errorOf(refusals.unavailable(judged(level, from))).message
  assert.match(said('cautious', fromUser), /a person takes that rule out, and runs imago policy accept\.$/)
  assert.not.match(said('cautious', fromUser), /\[\[rule\]\]/)
  assert.match(said('cautious', takenOut), /a person runs imago policy accept\.$/)
  assert.match(said('dangerous', fromUser), /take that rule out, add these lines to .*\n\[\[rule\]\]/)
  assert.match(said('dangerous', { type: 'default' }), /add these lines to .*\n\[\[rule\]\]/)
})

test('a kernel that cannot reload is told what can run a source again', () => {
  const outcome = refusals.lacksAbility({ tool, kernel: 'main', missing: ['reload'] })
  assert.match(outcome.type === 'failed' ? (outcome.error.next ?? '') : '', /load_file.*load_system.*force/)
})

test('a plan that the daemon took with it was not cancelled by its caller', () => {
  const [caller, daemon] = [refusals.planWithdrawn(plan), refusals.planWithdrawn(plan, 'the daemon ended')]
  assert.match(errorOf(caller).message, 'was cancelled')
  assert.match(errorOf(daemon).message, 'The daemon ended while')
  assert.not.match(errorOf(daemon).message, 'cancelled')
})
