import { LightSignal } from '../../wire/signal.ts'
import { book } from '../support/book.ts'
import { assert, suite } from '../support/harness.ts'
import { somePlan } from '../support/plans.ts'
import { takeSeat } from '../support/seat.ts'

const test = suite('codes of approvals')

const still = new LightSignal()
const SEVENS = '7777-7777-7777-7777'

test('a code has 80 random bits, is told to seats alone, and answers its own plan once', async () => {
  const { approvals } = book()
  const person = takeSeat(approvals)
  const plans = [somePlan(), somePlan()]
  const answers = plans.map(plan => approvals.ask(plan, { signal: still }))
  const [code = '', other = ''] = person.plans.map(shown => shown.code)
  assert.match(code, /^(?:[0-9a-hjkmnp-tv-z]{4}-){3}[0-9a-hjkmnp-tv-z]{4}$/)
  assert.not.match(JSON.stringify(approvals.waiting()), code)
  const [plan] = plans
  const given = { plan: plan?.id ?? '', decision: 'approve' } as const
  assert.is(approvals.answerWithCode({ ...given, code: other }).type, 'wrong_code')
  assert.is(approvals.answerWithCode({ ...given, code }).type, 'taken')
  assert.is(approvals.answerWithCode({ ...given, code }).type, 'late')
  assert.equal(await answers[0], { type: 'approved', by: `code of ${plan?.id}` })
  assert.equal(person.told.at(-1), {
    type: 'settled',
    id: plan?.id,
    why: 'A script that had its code approved it.',
  })
})

test('each letter of a code is drawn evenly from 32', () => {
  const limits: number[] = []
  const randomness = (limit: number) => limits.push(limit) - 1
  const { approvals } = book({ randomness })
  const person = takeSeat(approvals)
  void approvals.ask(somePlan(), { signal: still })
  assert.equal([limits, person.plans[0]?.code], [Array(16).fill(32), '0123-4567-89ab-cdef'])
})

test('a code is taken as people type it', async () => {
  for (const given of [
    '0123456789ABCDEF',
    ' 0123 4567 89ab cdef',
    'OI23-4567-89ab-cdef',
    'ol23456789abcdef',
  ]) {
    let drawn = 0
    const { approvals } = book({ randomness: () => drawn++ })
    const person = takeSeat(approvals)
    const answer = approvals.ask(somePlan(), { signal: still })
    const plan = person.plans[0]?.id ?? ''
    assert.is(approvals.answerWithCode({ plan, code: given, decision: 'approve' }).type, 'taken', given)
    assert.is((await answer).type, 'approved')
  }
})

test('three wrong codes end the code of a plan, the seats are warned, and a seat can still answer', async () => {
  const { approvals, journal } = book({ randomness: () => 7 })
  const person = takeSeat(approvals)
  const plan = somePlan()
  const answer = approvals.ask(plan, { signal: still })
  const given = { plan: plan.id, decision: 'approve' } as const
  for (const code of ['', '7777-7777-7777-777', '7777-7777-7777-7778', SEVENS, SEVENS])
    assert.is(approvals.answerWithCode({ ...given, code }).type, 'wrong_code')
  assert.equal(
    person.plans.map(({ code }) => code),
    [SEVENS, ''],
  )
  assert.match(person.plans[1]?.warnings.join() ?? '', '3 wrong codes')
  assert.is(journal.filter(entry => entry.type === 'seat' && entry.what === 'refused').length, 1)
  assert.is(person.answer('approve', plan.id).type, 'taken')
  assert.is((await answer).type, 'approved')
})

test('after ten wrong codes, of whatever plans, none works until a seat answers something (threat 5)', async () => {
  const { approvals, journal } = book({ randomness: () => 7 })
  const person = takeSeat(approvals)
  const guessed = [somePlan(), somePlan(), somePlan(), somePlan(), somePlan()]
  const other = somePlan()
  for (const plan of [...guessed, other]) void approvals.ask(plan, { signal: still })
  const give = (plan: { id: string }, code: string) =>
    approvals.answerWithCode({ plan: plan.id, code, decision: 'approve' }).type
  for (const plan of guessed) for (const code of ['a', 'b']) assert.is(give(plan, code), 'wrong_code')
  assert.equal(
    person.told.flatMap(news => (news.type === 'notice' ? [news.text] : [])),
    ['10 wrong codes were tried. No code works until a plan is answered on a seat.'],
  )
  assert.is(journal.filter(entry => entry.type === 'seat' && entry.what === 'refused').length, 1)
  assert.is(give(other, SEVENS), 'wrong_code')
  const later = somePlan()
  void approvals.ask(later, { signal: still })
  assert.match(person.plans.at(-1)?.warnings.join() ?? '', 'No code works')
  assert.is(person.answer({ deny: 'who guesses?' }, guessed[0]?.id).type, 'taken')
  assert.is(give(later, SEVENS), 'taken')
  assert.is(give(other, SEVENS), 'taken')
})
