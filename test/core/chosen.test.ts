import type { Choice } from '../../tools/contract.ts'
import type { Fate } from '../../tools/hunks.ts'
import { errorOf, resultOf } from '../support/calls-rig.ts'
import {
  ACCEPT,
  choosing,
  choosingRigsOf,
  EDIT,
  EDITS,
  historyOf,
  RATES,
  REFUSE,
  SHOP,
} from '../support/choosing.ts'
import { assert, suite } from '../support/harness.ts'
import { typesOf } from '../support/history.ts'

const test = suite('what a person chose')

const opened = choosingRigsOf(test)

const fatesOf = (result: Record<string, unknown>) => result.hunks as Fate[]

test('the hunks that a person accepts are applied, and the model is told which were refused and why', async () => {
  const rig = opened()
  const { plans } = rig.seat(choosing(ACCEPT(1), REFUSE(2, 'not before the winter sale'), ACCEPT(3)))
  const result = resultOf(await rig.propose())
  const now = SHOP.replace('1 / n', '1 / (n or 1)').replace('return n\n', 'return round(n)\n')
  assert.equal(rig.texts(), [now, RATES])
  assert.equal(fatesOf(result), [
    { number: 1, path: 'shop.py', line: 2, outcome: 'applied', reason: null },
    { number: 2, path: 'rates.py', line: 2, outcome: 'refused', reason: 'not before the winter sale' },
    { number: 3, path: 'shop.py', line: 6, outcome: 'applied', reason: null },
  ])
  assert.equal(
    (result.files as { path: string }[]).map(({ path }) => path),
    ['shop.py'],
  )
  assert.is(
    result.approval,
    'A person decided on each of 3 hunks. They approved hunks 1 and 3 as proposed. They refused hunk 2 (not before the winter sale). What they refused was left as it was: do not try it another way.',
  )
  assert.equal(
    plans.map(({ hunks }) => hunks.map(({ number }) => number)),
    [[1, 3, 2]],
  )
  const lines = await historyOf(rig, [String(result.undo)])
  assert.equal(typesOf(lines), ['requested', 'decided', 'dispatched', 'ended ok'])
  const [requested, decided, dispatched] = lines
  assert.equal(decided?.answer, 'chosen')
  assert.equal(decided?.choices, [
    { hunk: 1, decision: 'accept' },
    { hunk: 2, decision: 'refuse', reason: 'not before the winter sale' },
    { hunk: 3, decision: 'accept' },
  ])
  const { plan: becomes, hash } = (decided?.becomes ?? {}) as { plan?: string; hash?: string }
  assert.equal([dispatched?.plan, result.undo], [becomes, becomes])
  const asked = requested?.plan as { id: string; hash: string }
  assert.not.equal([asked.id, asked.hash], [becomes, hash])
})

test('of a hunk that was taken in part the model is told that, and that the rest of it was refused', async () => {
  const rig = opened()
  const part = { ...EDIT(1, '    return 1 / max(n, 1)\n', 'only that'), inPart: true } as const
  rig.seat(choosing(part, ACCEPT(2), REFUSE(3, 'no')))
  const result = resultOf(await rig.propose())
  assert.is(fatesOf(result)[0]?.outcome, 'in part')
  assert.match(String(result.approval), 'They approved hunk 2 as proposed, and hunk 1 in part.')
  assert.match(String(result.approval), 'They refused the rest of hunk 1 (only that), hunk 3 (no).')
  const [, decided] = await historyOf(rig, [String(result.undo)])
  const [inPart] = (decided?.choices ?? []) as { in_part?: boolean }[]
  assert.is(inPart?.in_part, true)
})

test('what a person wrote in place of a hunk is what is written, and the model is told the text', async () => {
  const rig = opened()
  rig.seat(choosing(EDIT(1, '    return 1 / max(n, 1)\n', 'clearer'), REFUSE(2), REFUSE(3, 'no')))
  const result = resultOf(await rig.propose())
  assert.equal(rig.texts(), [SHOP.replace('1 / n', '1 / max(n, 1)'), RATES])
  const [first] = fatesOf(result)
  assert.equal(first, {
    number: 1,
    path: 'shop.py',
    line: 2,
    outcome: 'edited',
    reason: 'clearer',
    text: '    return 1 / max(n, 1)\n',
  })
  assert.match(String(result.approval), 'They approved hunk 1 with other text, which is theirs.')
  assert.match(String(result.approval), 'They refused hunk 2 (without a reason), hunk 3 (no).')
  const [, decided] = await historyOf(rig, [String(result.undo)])
  const [edited] = (decided?.choices ?? []) as { sha256: string; bytes: number }[]
  assert.equal([edited?.sha256.length, edited?.bytes, 'text' in (edited ?? {})], [64, 25, false])
})

test('all hunks refused is a denial, with the reasons', async () => {
  const rig = opened()
  rig.seat(choosing(REFUSE(1, 'too much'), REFUSE(2), REFUSE(3, 'not now')))
  const error = errorOf(await rig.propose())
  assert.is(error.code, 'denied')
  assert.match(error.message, 'hunk 1 (too much), hunk 2 (without a reason), hunk 3 (not now)')
  const fates = error.details.hunks as Fate[]
  assert.equal(
    fates.map(({ number, outcome, reason }) => [number, outcome, reason]),
    [
      [1, 'refused', 'too much'],
      [2, 'refused', null],
      [3, 'refused', 'not now'],
    ],
  )
  assert.equal(rig.texts(), [SHOP, RATES])
  const lines = await historyOf(rig)
  assert.equal(typesOf(lines), ['requested', 'decided', 'refused denied'])
  assert.equal([lines[1]?.answer, lines[1]?.becomes], ['denied', undefined])
})

test('what was applied in two files is taken back as one change', async () => {
  const rig = opened()
  rig.seat(plan =>
    plan.tool === 'undo_change' ? 'approve' : { choose: [ACCEPT(1), EDIT(2, 'summer = 0.3\n'), REFUSE(3)] },
  )
  const { undo } = resultOf(await rig.propose())
  assert.equal(rig.texts(), [SHOP.replace('1 / n', '1 / (n or 1)'), RATES.replace('0.1', '0.3')])
  const undone = resultOf(await rig.run('undo_change', { change: undo }))
  assert.equal(rig.texts(), [SHOP, RATES])
  await historyOf(rig, [String(undo), String(undone.undo)])
})

test('a change that edit_file makes in several places is taken in part too', async () => {
  const rig = opened()
  const lines = Array.from({ length: 40 }, (_, index) => (index % 20 === 5 ? 'rate = 1\n' : `# ${index}\n`))
  rig.ground.put('long.py', lines.join(''))
  const { plans } = rig.seat(plan => ({
    choose: plan.hunks.map(({ number }) => (number === 2 ? ACCEPT(2) : REFUSE(number, 'this one stays'))),
  }))
  const args = { path: 'long.py', old_str: 'rate = 1', new_str: 'rate = 2', count: 2 }
  const result = resultOf(await rig.run('edit_file', args))
  assert.is(plans[0]?.hunks.length, 2)
  lines[25] = 'rate = 2\n'
  assert.is(rig.ground.text('long.py'), lines.join(''))
  assert.equal(
    fatesOf(result).map(({ line, outcome }) => [line, outcome]),
    [
      [6, 'refused'],
      [26, 'applied'],
    ],
  )
  assert.equal([result.lines_added, result.lines_removed], [1, 1])
  await historyOf(rig, [String(result.undo)])
})

test('choices that do not fit are not taken, and the plan goes on waiting', async () => {
  const rig = opened()
  const seat = rig.seat()
  const answered = rig.propose()
  await seat.next()
  const misfits: readonly (readonly [Choice[], string])[] = [
    [[], 'hunks 1, 3 and 2 are not'],
    [[ACCEPT(1), ACCEPT(2)], 'hunk 3 is not'],
    [[ACCEPT(1), ACCEPT(2), ACCEPT(2), ACCEPT(3)], 'Hunk 2 is decided twice'],
    [[ACCEPT(1), ACCEPT(2), ACCEPT(3), ACCEPT(4)], 'It has no hunk 4'],
    [[REFUSE(1), REFUSE(2), EDIT(3, '    return n\n')], 'hunk 3 (shop.py) cannot be used: it is what stands'],
    [[EDIT(1, '\ud800\n'), REFUSE(2), REFUSE(3)], 'hunk 1 (shop.py) cannot be used: the text holds half'],
  ]
  for (const [choose, why] of misfits) {
    const taken = seat.answer({ choose })
    assert.is(taken.type, 'unfit')
    assert.match(taken.type === 'unfit' ? taken.why : '', why)
  }
  assert.equal(rig.texts(), [SHOP, RATES])
  assert.is(seat.answer({ choose: [REFUSE(1), ACCEPT(2), REFUSE(3)] }).type, 'taken')
  const { undo } = resultOf(await answered)
  assert.equal(rig.texts(), [SHOP, RATES.replace('0.1', '0.15')])
  await historyOf(rig, [String(undo)])
})

test('a plan without parts cannot be approved in part', async () => {
  const rig = opened()
  const seat = rig.seat()
  const answered = rig.run('edit_file', { path: 'rates.py', old_str: '0.2', new_str: '0.3' })
  const plan = await seat.next()
  assert.equal(plan.hunks, [])
  assert.is(seat.answer({ choose: [ACCEPT(1)] }).type, 'unfit')
  seat.answer('deny')
  assert.is(errorOf(await answered).code, 'denied')
  await historyOf(rig)
})

test('a person can change the arguments first, and choose among the hunks that this makes', async () => {
  const rig = opened()
  rig.seat(plan =>
    plan.hunks.length === 3
      ? { edit: { edits: EDITS.slice(0, 2) } }
      : { choose: [REFUSE(1, 'as it is'), ACCEPT(2)] },
  )
  const result = resultOf(await rig.propose())
  assert.equal(rig.texts(), [SHOP, RATES.replace('0.1', '0.15')])
  assert.match(
    String(result.approval),
    /^A person approved this with other arguments than were asked for: edits\. .* They refused hunk 1 \(as it is\)\./,
  )
  assert.equal(Object.keys(result.edited as object), ['edits'])
  const lines = await historyOf(rig, [String(result.undo)])
  assert.equal(typesOf(lines), ['requested', 'decided', 'requested', 'decided', 'dispatched', 'ended ok'])
})
