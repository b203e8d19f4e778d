import { LightSignal } from '../../wire/signal.ts'
import { book, MINUTE } from '../support/book.ts'
import { settled } from '../support/calls-rig.ts'
import { assert, suite } from '../support/harness.ts'
import { evidenceThat, somePlan } from '../support/plans.ts'
import { type Reply, takeSeat } from '../support/seat.ts'
import { someHunks } from '../support/some-hunks.ts'

const test = suite('how plans ended')

test('each plan that waited is listed with its outcome and the cause, and with nothing of what it shows', async () => {
  const { approvals, clock } = book()
  const person = takeSeat(approvals)
  const gone = new LightSignal()
  let moved = false
  const put = (given: Parameters<typeof somePlan>[0] = {}, signal = new LightSignal()) => {
    const plan = somePlan({ title: 'Write a.py', body: 'the password\n', ...given })
    void approvals.ask(plan, { signal })
    return plan.id
  }
  const answers: readonly Reply[] = ['approve', { deny: 'the reason' }, { edit: { path: 'secret' } }]
  for (const answer of answers) {
    const id = put()
    person.answer(answer, id)
  }
  const hunks = someHunks(2)
  const number = hunks.all.map(hunk => hunk.number)
  const first = put({ hunks })
  person.answer(
    {
      choose: number.map(hunk =>
        hunk === 1 ? { hunk, decision: 'accept' } : { hunk, decision: 'refuse', reason: 'no' },
      ),
    },
    first,
  )
  const none = put({ hunks })
  person.answer({ choose: number.map(hunk => ({ hunk, decision: 'refuse', reason: 'no' })) }, none)
  put({}, gone)
  gone.abort()
  put({ evidence: [evidenceThat(() => (moved ? 'a.py has changed' : undefined))] })
  moved = true
  await clock.pass(1_000)
  await settled()
  put()
  await clock.pass(30 * MINUTE)
  put()
  approvals.close()
  assert.equal(
    approvals.ends().map(({ outcome, why }) => [outcome, why]),
    [
      ['approved', 'a scripted seat approved it.'],
      ['denied', 'a scripted seat denied it.'],
      ['edited', 'a scripted seat approved it with other arguments, which are a plan of their own.'],
      ['approved_in_part', 'a scripted seat approved a part of it.'],
      ['denied', 'a scripted seat refused every part of it.'],
      ['withdrawn', 'Its caller gave up.'],
      ['stale', 'It is out of date: a.py has changed.'],
      ['timed_out', 'Nobody answered in time; it counts as denied.'],
      ['withdrawn', 'The daemon ends.'],
    ],
  )
  const [one] = approvals.ends()
  assert.equal([one?.tool, one?.title, one?.ago_ms], [somePlan().tool, 'Write a.py', 30 * MINUTE + 1_000])
  assert.not.match(JSON.stringify(approvals.ends()), /password|secret|the reason/)
})

test('the last 64 are listed, oldest first, and none that was never put before anybody', () => {
  const { approvals } = book()
  void approvals.ask(somePlan(), { signal: new LightSignal() })
  assert.equal(approvals.ends(), [])
  const person = takeSeat(approvals)
  const ids = Array.from({ length: 70 }, () => {
    const plan = somePlan()
    void approvals.ask(plan, { signal: new LightSignal() })
    person.answer('approve', plan.id)
    return plan.id
  })
  assert.equal(
    approvals.ends().map(({ id }) => id),
    ids.slice(-64),
  )
})
