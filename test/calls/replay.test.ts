import { cpSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CallId } from '../../wire/kernel.ts'
import { errorOf, resultOf } from '../support/calls-rig.ts'
import { assert, suite } from '../support/harness.ts'
import { type Step, Steps } from '../support/steps.ts'
import {
  type Ground,
  openGround,
  openWholePath,
  type WholeOptions,
  type WholePath,
} from '../support/whole-path.ts'
import { wrongInJournal } from '../support/whole-truth.ts'

const test = suite('an approval is for one daemon, one call and one folder')

const closing: (() => Promise<void>)[] = []

test.after.each(async () => {
  for (const close of closing.splice(0)) await close()
})

const [OLD, NEW] = ['one\ntwo\nthree\n', 'one\n2\nthree\n']

const EDIT = { path: 'a.txt', old_str: 'two', new_str: '2' }

const CALL = 'mine' as CallId

function ground(): Ground {
  const made = openGround()
  made.put('a.txt', OLD)
  closing.push(async () => made.remove())
  return made
}

function daemon(on: Ground, options: WholeOptions = {}): WholePath {
  const path = openWholePath(on, options)
  closing.unshift(() => path.close())
  return path
}

/** Whether it is the write of such a line to the journal. */
const isLine = ({ of, name, args }: Step, type: string) =>
  of === 'journal' &&
  name === 'write' &&
  String(Buffer.from(args[1] as Uint8Array)).includes(`"type":"${type}"`)

/** A daemon in which something happens right before such a line is written. */
function daemonThat(on: Ground, { before: type, act }: { before: string; act(): void }): WholePath {
  const steps = new Steps()
  const path = daemon(on, { steps })
  steps.begin({
    before(step) {
      if (isLine(step, type)) act()
    },
  })
  return path
}

/** The disk as it was after the approval was on it, and before it was used up: there the daemon died. */
async function diedApproved(): Promise<{ left: Ground; plan: string; code: string; hash: string }> {
  const here = ground()
  const left = ground()
  const path = daemonThat(here, {
    before: 'dispatched',
    act: () => cpSync(here.folder, left.folder, { recursive: true, force: true }),
  })
  const { plans } = path.seat(() => 'approve')
  // The folder has another name after the copy, so the plan would be of another folder; the call is what counts here.
  resultOf(await path.run('edit_file', EDIT, { call: CALL }))
  const { id = '', code = '', hash = '' } = plans[0] ?? {}
  return { left, plan: id, code, hash }
}

test('an approval that a daemon died with is worth nothing to the next one (threat 19)', async () => {
  const { left, plan, code } = await diedApproved()
  const path = daemon(left)
  const person = path.seat()
  assert.equal(path.approvals.waiting(), [])
  assert.is(path.approvals.answerWithCode({ plan, code, decision: 'approve' }).type, 'unknown')
  const error = errorOf(await path.run('edit_file', EDIT, { call: CALL }))
  assert.equal([error.code, error.details.outcome], ['withdrawn', 'withdrawn'])
  assert.equal([person.plans, left.text('a.txt')], [[], OLD])
})

test('the same call of the next daemon is another plan, which the answer to the first does not fit (threat 19)', async () => {
  const { left, plan, code, hash } = await diedApproved()
  const path = daemon(left)
  const person = path.seat()
  const answered = path.run('edit_file', EDIT)
  const now = await person.next()
  assert.is.not(now.id, plan)
  assert.is(path.approvals.answerWithCode({ plan, code, decision: 'approve' }).type, 'unknown')
  assert.is(path.approvals.answerWithCode({ plan: now.id, code, decision: 'approve' }).type, 'wrong_code')
  assert.is(person.answer({ crossed: hash }, now.id).type, 'wrong_hash')
  assert.is(left.text('a.txt'), OLD)
  person.answer('approve', now.id)
  assert.ok((await answered).ok)
  await path.close()
  assert.equal(await wrongInJournal(left, { effects: [{ change: now.id }] }), [])
})

test('a line in the journal that says approved approves nothing (threat 10) (threat 19)', async () => {
  const here = ground()
  const path = daemon(here)
  const person = path.seat()
  const answered = path.run('edit_file', EDIT, { call: CALL })
  const { id: plan } = await person.next()
  const decided = { v: 2, type: 'decided', call: CALL, plan, answer: 'approved', by: 'seat-1', reason: null }
  writeFileSync(join(here.stateDir, 'journal/000001.jsonl'), `${JSON.stringify(decided)}\n`, { flag: 'a' })
  await path.clock.pass(10_000)
  assert.equal(
    path.approvals.waiting().map(({ id }) => id),
    [plan],
  )
  await path.clock.pass(30 * 60_000)
  await answered
  assert.is(here.text('a.txt'), OLD)
})

test('the approval of one session is worth nothing in another, nor is its code (threat 19) (threat 20)', async () => {
  const here = ground()
  const path = daemon(here)
  const person = path.seat()
  const sessions = ['one', 'other'].map(id => path.run('edit_file', EDIT, { caller: { id } }))
  const [one, other] = [await person.next(), await person.next()]
  assert.is.not(one.hash, other.hash)
  assert.is(person.answer({ crossed: one.hash }, other.id).type, 'wrong_hash')
  const crossed = path.approvals.answerWithCode({ plan: other.id, code: one.code, decision: 'approve' })
  assert.is(crossed.type, 'wrong_code')
  person.answer('approve', one.id)
  assert.ok((await sessions[0])?.ok)
  assert.is(person.answer('approve', one.id).type, 'late')
  person.answer('approve', other.id)
  assert.is(errorOf((await sessions[1]) ?? { ok: true, result: null }).code, 'stale_plan')
  assert.is(here.text('a.txt'), NEW)
  await path.close()
  assert.equal(await wrongInJournal(here, { effects: [{ change: one.id }] }), [])
})

const SWAPS: Readonly<Record<string, (here: Ground) => void>> = {
  'another folder with the same content was put in its place': here => {
    renameSync(here.project, join(here.folder, 'moved'))
    mkdirSync(here.project)
    here.put('a.txt', OLD)
  },
  'a link to where it is now was put in its place': here => {
    renameSync(here.project, join(here.folder, 'moved'))
    symlinkSync(join(here.folder, 'moved'), here.project)
  },
  'a link to another folder was put in its place': here => {
    renameSync(here.project, join(here.folder, 'moved'))
    mkdirSync(join(here.folder, 'elsewhere'))
    writeFileSync(join(here.folder, 'elsewhere/a.txt'), OLD)
    symlinkSync(join(here.folder, 'elsewhere'), here.project)
  },
}

for (const [what, swap] of Object.entries(SWAPS))
  for (const when of ['requested', 'shown', 'decided', 'dispatched'])
    test(`an approval is worth nothing once the project was moved away and ${what}, as soon as it is ${when} (threat 21)`, async () => {
      const here = ground()
      const path = daemonThat(here, { before: when, act: () => swap(here) })
      path.seat(() => {
        if (when === 'shown') swap(here)
        return 'approve'
      })
      const error = errorOf(await path.run('edit_file', EDIT))
      assert.is(error.code, 'stale_plan')
      for (const folder of ['project', 'moved', 'elsewhere'])
        assert.ok([undefined, OLD].includes(here.text(`../${folder}/a.txt`)))
      await path.close()
      assert.equal(await wrongInJournal(here, { effects: [] }), [])
    })

for (const when of ['decided', 'dispatched'])
  test(`an approval does not outlive an hour that passes before ${when} is written (fault 25)`, async () => {
    const here = ground()
    const path: WholePath = daemonThat(here, {
      before: when,
      act() {
        path.wall.ahead += 3_600_000
      },
    })
    path.seat(() => 'approve')
    assert.is(errorOf(await path.run('edit_file', EDIT)).code, 'approval_timed_out')
    assert.is(here.text('a.txt'), OLD)
    await path.close()
    assert.equal(await wrongInJournal(here, { effects: [] }), [])
  })

test('a clock that is set back an hour gives a plan no longer life (fault 25)', async () => {
  const here = ground()
  const path = daemon(here)
  const person = path.seat()
  const answered = path.run('edit_file', EDIT)
  const { id } = await person.next()
  path.wall.ahead = -3_600_000
  await path.clock.pass(30 * 60_000)
  assert.is(person.answer('approve', id).type, 'late')
  await answered
  assert.is(here.text('a.txt'), OLD)
})
