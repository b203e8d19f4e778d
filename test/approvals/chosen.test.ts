import { z } from 'zod'
import type { Approvals } from '../../src/approvals/queue.ts'
import { openRegistry } from '../../src/registry/registry.ts'
import type { Choice } from '../../tools/contract.ts'
import { defineTool } from '../../tools/define.ts'
import type { Fate } from '../../tools/hunks.ts'
import type { Envelope } from '../../tools/outcome.ts'
import { errorOf, resultOf } from '../support/calls-rig.ts'
import { assert, suite } from '../support/harness.ts'
import { type Happened, invariantsOf, type Line, ofCalls, typesOf } from '../support/history.ts'
import type { Reply } from '../support/seat.ts'
import { changes, Steps } from '../support/steps.ts'
import {
  afterwards,
  openGround,
  openWholePath,
  type WholeOptions,
  type WholePath,
} from '../support/whole-path.ts'

const test = suite('what a person chose')

// What is proposed to a person, and what they choose: three hunks in two files.

const SHOP = 'def price(n):\n    return 1 / n\n\n\ndef total(n):\n    return n\n'

const RATES = 'winter = 0.2\nsummer = 0.1\n'

const EDITS = [
  { path: 'shop.py', old_str: '1 / n', new_str: '1 / (n or 1)', why: 'n can be nothing' },
  { path: 'rates.py', old_str: 'summer = 0.1', new_str: 'summer = 0.15' },
  { path: 'shop.py', old_str: '    return n\n', new_str: '    return round(n)\n' },
]

const ACCEPT = (hunk: number): Choice => ({ hunk, decision: 'accept' })

const REFUSE = (hunk: number, reason: string | null = null): Choice => ({
  hunk,
  decision: 'refuse',
  reason,
})

const EDIT = (hunk: number, text: string, reason: string | null = null): Choice => ({
  hunk,
  decision: 'edit',
  text,
  reason,
})

/** What a scripted seat does that chooses so. */
const choosing =
  (...choose: Choice[]) =>
  (): Reply => ({ choose })

/** A daemon in this process, in whose project both files are. */
interface ChoosingRig extends Omit<WholePath, 'kernel' | 'files'> {
  readonly path: WholePath
  /** What both files hold. */
  texts(): (string | undefined)[]
  /** Proposes the three hunks. */
  propose(): Promise<Envelope>
}

const rigs: ChoosingRig[] = []

test.after.each(async () => {
  for (const { path, ground } of rigs.splice(0)) {
    await path.close()
    ground.remove()
  }
})

function opened(steps = new Steps(), limits: WholeOptions['limits'] = {}): ChoosingRig {
  const ground = openGround()
  ground.put('shop.py', SHOP)
  ground.put('rates.py', RATES)
  const path = openWholePath(ground, { steps, limits, calls: { patienceMs: 10 * 60 * 60_000 } })
  const rig: ChoosingRig = {
    ...path,
    path,
    texts: () => [ground.text('shop.py'), ground.text('rates.py')],
    propose: () => path.run('propose_file_edit', { edits: EDITS }),
  }
  rigs.push(rig)
  return rig
}

/** All lines of its journal about calls, which has to hold; `did` is what was done, by the names of plans. */
async function historyOf(
  { path, ground }: Pick<ChoosingRig, 'path' | 'ground'>,
  did: readonly string[] = [],
): Promise<Line[]> {
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

test('a file that moves while a person chooses makes the plan stale, even one of which they want nothing (threat 18)', async () => {
  const rig = opened()
  rig.seat(() => {
    rig.ground.put('rates.py', 'other = 1\n')
    return { choose: [ACCEPT(1), REFUSE(2), REFUSE(3)] }
  })
  const error = errorOf(await rig.propose())
  assert.is(error.code, 'stale_plan')
  assert.match(error.message, 'rates.py was changed')
  assert.equal(rig.texts(), [SHOP, 'other = 1\n'])
  await historyOf(rig)
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
    const [shop, rates] = rig.texts()
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
  await historyOf(rig, did)
  assert.ok(at > 10, `${at} moments`)
})

test('choices that fit no hunk approve nothing, whoever passed them on', async () => {
  const { ground, path } = opened()
  await path.close()
  const choices = [ACCEPT(1), ACCEPT(9), REFUSE(3)]
  const daemon = openWholePath(ground, {
    calls: {
      approvals: {
        seated: true,
        limit: () => undefined,
        expired: () => false,
        noteOn: () => undefined,
        ended: () => {},
        ask: async () => ({ type: 'chosen', by: 'seat-1', choices }),
      } as Partial<Approvals> as Approvals,
    },
  })
  const error = errorOf(await daemon.run('propose_file_edit', { edits: EDITS }))
  assert.is(error.code, 'denied')
  assert.match(error.message, 'in part, and it cannot be done so: It has no hunk 9; it has hunks 1, 3 and 2.')
  assert.equal([ground.text('shop.py'), ground.text('rates.py')], [SHOP, RATES])
  const lines = await historyOf({ path: daemon, ground })
  assert.equal(typesOf(lines), ['requested', 'decided', 'refused denied'])
  assert.equal([lines[1]?.answer, 'becomes' in (lines[1] ?? {})], ['chosen', false])
})

/** A tool of which a hunk can be taken, and which then changes something else. */
const straying = defineTool({
  name: 'stray',
  description: 'Changes another file than it showed.',
  parameters: {},
  level: 'dangerous',
  profile: 'full',
  categories: ['tests'],
  needs: [],
  examples: [],
  result: z.literal('done'),
  async plan(_, { files }) {
    const [file, other] = [await files.look('shop.py'), await files.look('rates.py')]
    if (file.type === 'failed' || other.type === 'failed') throw new Error('they are there')
    const [change, strays] = [files.changed(file, 'x = 1\n'), files.changed(other, 'y = 1\n')]
    if ('type' in change || 'type' in strays) throw new Error('they can be changed')
    const { path, shown } = file
    const hunk = { number: 1, path, shown, line: 1, before: SHOP, after: 'x = 1\n', diff: '@@', why: null }
    const proposal = {
      type: 'proposal',
      preview: { title: 'Change shop.py', body: 'x = 1\n' },
      evidence: [file.evidence],
      changes: [change],
      result: () => 'done' as const,
    } as const
    return { ...proposal, hunks: { all: [hunk], choose: () => ({ ...proposal, changes: [strays] }) } }
  },
})

test('a choice never becomes a change of a file that nobody was asked about', async () => {
  const { ground, path } = opened()
  await path.close()
  const daemon = openWholePath(ground, { calls: { registry: openRegistry([straying]) } })
  daemon.seat(choosing(ACCEPT(1)))
  const error = errorOf(await daemon.run('stray', {}))
  assert.is(error.code, 'denied')
  assert.match(error.message, 'stray itself failed over it')
  assert.match(String(daemon.faults[0]?.error), 'change a file that nobody was asked about')
  assert.equal([ground.text('shop.py'), ground.text('rates.py')], [SHOP, RATES])
  await historyOf({ path: daemon, ground })
})
