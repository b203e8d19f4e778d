import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { ShownPlan } from '../../src/core/approvals.ts'
import type { Fate } from '../../tools/hunks.ts'
import type { Choice } from '../../tools/proposal.ts'
import { errorOf, resultOf, settled } from '../support/calls-rig.ts'
import { assert, suite } from '../support/harness.ts'
import { type Happened, invariantsOf, ofCalls, typesOf } from '../support/history.ts'
import type { Reply } from '../support/seat.ts'
import { changes, type Step, Steps, systemError } from '../support/steps.ts'
import {
  afterwards,
  openGround,
  openWholePath,
  type WholeOptions,
  type WholePath,
} from '../support/whole-path.ts'

const test = suite('what a person chose')

const SHOP = 'def price(n):\n    return 1 / n\n\n\ndef total(n):\n    return n\n'
const RATES = 'winter = 0.2\nsummer = 0.1\n'

/** Three hunks in two files. */
const EDITS = [
  { path: 'shop.py', old_str: '1 / n', new_str: '1 / (n or 1)', why: 'n can be nothing' },
  { path: 'rates.py', old_str: 'summer = 0.1', new_str: 'summer = 0.15' },
  { path: 'shop.py', old_str: '    return n\n', new_str: '    return round(n)\n' },
]
const ACCEPT = (hunk: number): Choice => ({ hunk, decision: 'accept' })
const REFUSE = (hunk: number, reason: string | null = null): Choice => ({ hunk, decision: 'refuse', reason })
const EDIT = (hunk: number, text: string, reason: string | null = null): Choice => ({
  hunk,
  decision: 'edit',
  text,
  reason,
})

const grounds: { remove(): void }[] = []
const paths: WholePath[] = []
test.after.each(async () => {
  for (const path of paths.splice(0)) await path.close()
  for (const ground of grounds.splice(0)) ground.remove()
})

function opened(steps = new Steps(), limits: WholeOptions['limits'] = {}) {
  const ground = openGround()
  grounds.push(ground)
  ground.put('shop.py', SHOP)
  ground.put('rates.py', RATES)
  const path = openWholePath(ground, { steps, limits, calls: { patienceMs: 10 * 60 * 60_000 } })
  paths.push(path)
  const files = () => [ground.text('shop.py'), ground.text('rates.py')]
  const propose = () => path.run('propose_file_edit', { edits: EDITS })
  return { ...path, path, ground, files, propose }
}

type Rig = ReturnType<typeof opened>
const choosing =
  (...choose: Choice[]) =>
  (): Reply => ({ choose })

/** All lines of its journal, which has to hold; `did` is what was done, by the names of plans. */
async function journal({ path, ground }: Rig, did: readonly string[] = []) {
  await path.close()
  const { lines, problems } = await afterwards(ground)
  const effects: Happened[] = did.map(change => ({ change }))
  assert.equal([...problems, ...invariantsOf(lines, effects)], [])
  return ofCalls(lines)
}

const fatesOf = (result: Record<string, unknown>) => result.hunks as Fate[]

test('the hunks that a person accepts are applied, and the model is told which were refused and why', async () => {
  const rig = opened()
  const { plans } = rig.seat(choosing(ACCEPT(1), REFUSE(2, 'not before the winter sale'), ACCEPT(3)))
  const result = resultOf(await rig.propose())
  const now = SHOP.replace('1 / n', '1 / (n or 1)').replace('return n\n', 'return round(n)\n')
  assert.equal(rig.files(), [now, RATES])
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
  const lines = await journal(rig, [String(result.undo)])
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

test('what a person wrote in place of a hunk is what is written, and the model is told the text', async () => {
  const rig = opened()
  rig.seat(choosing(EDIT(1, '    return 1 / max(n, 1)\n', 'clearer'), REFUSE(2), REFUSE(3, 'no')))
  const result = resultOf(await rig.propose())
  assert.equal(rig.files(), [SHOP.replace('1 / n', '1 / max(n, 1)'), RATES])
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
  const [, decided] = await journal(rig, [String(result.undo)])
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
  assert.equal(rig.files(), [SHOP, RATES])
  const lines = await journal(rig)
  assert.equal(typesOf(lines), ['requested', 'decided', 'refused denied'])
  assert.equal([lines[1]?.answer, lines[1]?.becomes], ['denied', undefined])
})

test('what was applied in two files is taken back as one change', async () => {
  const rig = opened()
  rig.seat(plan =>
    plan.tool === 'undo_change' ? 'approve' : { choose: [ACCEPT(1), EDIT(2, 'summer = 0.3\n'), REFUSE(3)] },
  )
  const { undo } = resultOf(await rig.propose())
  assert.equal(rig.files(), [SHOP.replace('1 / n', '1 / (n or 1)'), RATES.replace('0.1', '0.3')])
  const undone = resultOf(await rig.run('undo_change', { change: undo }))
  assert.equal(rig.files(), [SHOP, RATES])
  await journal(rig, [String(undo), String(undone.undo)])
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
  await journal(rig, [String(result.undo)])
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
  assert.equal(rig.files(), [SHOP, RATES])
  assert.is(seat.answer({ choose: [REFUSE(1), ACCEPT(2), REFUSE(3)] }).type, 'taken')
  const { undo } = resultOf(await answered)
  assert.equal(rig.files(), [SHOP, RATES.replace('0.1', '0.15')])
  await journal(rig, [String(undo)])
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
  await journal(rig)
})

test('a file that moves while a person chooses makes the plan stale, even one of which they want nothing (threat 18)', async () => {
  const rig = opened()
  rig.seat(() => {
    rig.ground.put('rates.py', 'other = 1\n')
    return { choose: [ACCEPT(1), REFUSE(2), REFUSE(3)] }
  })
  const error = errorOf(await rig.propose())
  assert.is(error.code, 'stale_plan')
  assert.match(error.message, 'rates.py was changed')
  assert.equal(rig.files(), [SHOP, 'other = 1\n'])
  await journal(rig)
})

test('a file that moves between the answer and the effect is found, whatever the moment (threat 18) (fault 28)', async () => {
  const steps = new Steps()
  const rig = opened(steps, { undoBytes: 0 })
  const did: string[] = []
  let at = 0
  let acted = true
  rig.seat(() => {
    let moment = 0
    steps.begin({
      before(step) {
        if (!changes(step) || ++moment !== at) return
        acted = true
        rig.ground.put('rates.py', `other = ${at}\n`)
      },
    })
    return { choose: [ACCEPT(1), ACCEPT(2), REFUSE(3)] }
  })
  while (acted) {
    acted = false
    at++
    rig.ground.put('shop.py', SHOP)
    rig.ground.put('rates.py', RATES)
    const answer = await rig.propose()
    steps.begin()
    const [shop, rates] = rig.files()
    if (answer.ok) {
      // Ours was in place already, and theirs came on top of it; or it came only when all was over.
      did.push(String(resultOf(answer).undo))
      assert.is(shop, SHOP.replace('1 / n', '1 / (n or 1)'), `moment ${at}`)
    } else {
      // The tool looks once more when it is run, and says what it finds.
      const { code } = answer.error
      assert.ok(['stale_plan', 'file_failed', 'no_unique_match'].includes(code), `moment ${at}: ${code}`)
      assert.equal([shop, rates], [SHOP, `other = ${at}\n`], `moment ${at}`)
    }
  }
  await journal(rig, did)
  assert.ok(at > 10, `${at} moments`)
})

for (const [what, act] of [
  ['the machine slept', (rig: Rig) => rig.clock.pass(31 * 60_000)],
  [
    'its clock was set',
    async (rig: Rig) => {
      rig.wall.ahead = 31 * 60_000
    },
  ],
] as const)
  test(`what was chosen counts no more once the plan that was asked about has expired: ${what} (threat 19)`, async () => {
    const steps = new Steps()
    const rig = opened(steps)
    const seat = rig.seat()
    const answered = rig.propose()
    const plan = await seat.next()
    // The approval is being written to the disk meanwhile.
    let late: Promise<unknown> = Promise.resolve()
    steps.begin({
      before(step) {
        if (step.of !== 'journal' || step.name !== 'sync') return
        steps.begin()
        late = act(rig)
      },
    })
    seat.answer({ choose: [ACCEPT(1), REFUSE(2), REFUSE(3)] })
    const error = errorOf(await answered)
    await late
    assert.equal([error.code, error.details.plan], ['approval_timed_out', plan.id])
    assert.equal(rig.files(), [SHOP, RATES])
    await journal(rig)
  })

test('a policy that denies by now is kept to, though a person chose before', async () => {
  const rig = opened()
  rig.seat(() => {
    rig.ground.put('imago.toml', '[[rule]]\ndecision = "deny"\npath = "shop.py"\n')
    return { choose: [ACCEPT(1), ACCEPT(2), REFUSE(3)] }
  })
  const error = errorOf(await rig.propose())
  assert.is(error.code, 'denied')
  assert.match(JSON.stringify(error), 'imago.toml')
  assert.equal(rig.files(), [SHOP, RATES])
  await journal(rig)
})

test('a rule about one of its files holds for all of it, before anything is read', async () => {
  const rig = opened()
  rig.ground.put('imago.toml', '[[rule]]\ndecision = "deny"\npath = "secret"\n')
  mkdirSync(join(rig.ground.project, 'secret'))
  rig.ground.put('secret/key.txt', 'abc\n')
  const seat = rig.seat(() => 'approve')
  const edits = [...EDITS, { path: 'secret/key.txt', old_str: 'not there', new_str: 'x' }]
  const error = errorOf(await rig.run('propose_file_edit', { edits }))
  assert.is(error.code, 'denied')
  assert.match(JSON.stringify(error), 'imago.toml')
  assert.equal([seat.plans, rig.files()], [[], [SHOP, RATES]])
  await journal(rig)
})

test('choices that the journal cannot take approve nothing (fault 12)', async () => {
  const steps = new Steps()
  const rig = opened(steps)
  const plans: ShownPlan[] = []
  rig.seat(plan => {
    plans.push(plan)
    steps.begin({
      before(step: Step) {
        if (step.of === 'journal' && ['write', 'sync'].includes(step.name)) throw systemError('ENOSPC')
      },
    })
    return { choose: [ACCEPT(1), REFUSE(2), REFUSE(3)] }
  })
  const error = errorOf(await rig.propose())
  steps.begin()
  assert.equal([error.code, error.details.reason], ['internal', 'journal_unavailable'])
  assert.equal([plans.length, rig.files()], [1, [SHOP, RATES]])
})

test('after a crash between the choices and the effect nothing runs, and the next daemon says so (fault 7)', async () => {
  const steps = new Steps()
  const rig = opened(steps)
  let dead = false
  steps.begin({
    before({ of, name, args: [, bytes] }) {
      if (dead) throw systemError('EIO')
      if (of === 'journal' && name === 'write' && String(bytes).includes('"type":"dispatched"')) {
        dead = true
        throw systemError('EIO')
      }
    },
  })
  rig.seat(choosing(ACCEPT(1), ACCEPT(2), REFUSE(3)))
  assert.is((await rig.propose()).ok, false)
  await settled()
  await rig.path.close()
  assert.equal(rig.files(), [SHOP, RATES])
  const { lines } = await afterwards(rig.ground)
  assert.equal(typesOf(ofCalls(lines)), ['requested', 'decided', 'ended withdrawn'])
  assert.equal(invariantsOf(lines, []), [])
  const next = openWholePath(rig.ground)
  paths.push(next)
  next.seat(() => 'approve')
  await next.files.tidied
  assert.equal(rig.files(), [SHOP, RATES])
})

test('where the second file cannot be written, none is (fault 12)', async () => {
  const steps = new Steps()
  const rig = opened(steps)
  rig.seat(() => {
    let renames = 0
    steps.begin({
      before({ of, name }) {
        if (of === 'files' && name === 'rename' && ++renames === 2) throw systemError('EACCES')
      },
    })
    return { choose: [ACCEPT(1), EDIT(2, 'summer = 0.3\n'), REFUSE(3)] }
  })
  const error = errorOf(await rig.propose())
  steps.begin()
  assert.is(error.code, 'file_failed')
  assert.equal(rig.files(), [SHOP, RATES])
  assert.match(String(error.details.approval), 'They approved hunk 1 as proposed')
  await journal(rig)
})
