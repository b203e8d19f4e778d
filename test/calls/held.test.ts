import { chmodSync, readFileSync, renameSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Envelope } from '../../tools/outcome.ts'
import { errorOf, resultOf, settled, until } from '../support/calls-rig.ts'
import { assert, suite } from '../support/harness.ts'
import { EDIT, type HeldRig, heldFiles, openHeld } from '../support/held-rig.ts'
import type { Line } from '../support/history.ts'
import { type Reply, takeSeat } from '../support/seat.ts'
import { afterwards, type Ground, openGround, type WholeOptions } from '../support/whole-path.ts'

const test = suite('held questions')

const grounds: Ground[] = []
const open: HeldRig[] = []
test.after.each(async () => {
  for (const rig of open.splice(0)) await rig.close()
  for (const ground of grounds.splice(0)) ground.remove()
})

function newGround(): Ground {
  const ground = openGround()
  ground.put('a.txt', 'one\ntwo\nthree\n')
  grounds.push(ground)
  return ground
}

/** A daemon on that ground; one before it has ended. */
async function daemon(ground = newGround(), options: WholeOptions = {}): Promise<HeldRig> {
  for (const rig of open.splice(0)) await rig.close()
  const rig = openHeld(ground, options)
  open.push(rig)
  return rig
}

const sit = ({ approvals }: HeldRig, script?: () => Reply) => takeSeat(approvals, script)

const codeOf = (envelope: Envelope) => (envelope.ok ? 'ok' : envelope.error.code)

const over = ({ settled: ended }: HeldRig, count = 1) => until(() => ended.length >= count)

const NEW = 'one\n2\nthree\n'

async function linesOf(ground: Ground): Promise<Line[]> {
  for (const rig of open.splice(0)) await rig.close()
  const { lines, problems } = await afterwards(ground)
  assert.equal(problems, [])
  return lines
}

const dispatchedIn = (lines: readonly Line[]) => lines.filter(({ type }) => type === 'dispatched').length

test('a question waits on the disk without an end and without a daemon: who, which tool, which arguments, which name', async () => {
  const ground = newGround()
  const rig = await daemon(ground)
  const error = errorOf(await rig.ask({ run: 'run-3' }))
  assert.equal([error.code, error.details.title], ['approval_held', 'Edit a.txt'])
  await rig.clock.pass(90 * 86_400_000)
  const [path = ''] = heldFiles(ground)
  const { asked_at, ...kept } = JSON.parse(readFileSync(path, 'utf8'))
  const wanted = {
    call: 'c1',
    tool: 'edit_file',
    args: EDIT,
    root: ground.project,
    who: 'test, run-3',
    run: 'run-3',
  }
  assert.equal(kept, wanted)
  assert.equal([typeof asked_at, (statSync(path).mode & 0o777).toString(8)], ['number', '600'])
  assert.equal([rig.calls.busy(), rig.clock.waiting], [0, 0])
  const next = await daemon(ground)
  assert.equal(
    next.held.list().map(({ call, run }) => [call, run]),
    [['c1', 'run-3']],
  )
})

test('the next who sits is shown it as the files are then, and it is done once', async () => {
  const ground = newGround()
  await (await daemon(ground)).ask({ run: 'run-3' })
  ground.put('a.txt', 'zero\none\ntwo\n')
  const next = await daemon(ground)
  const seat = sit(next)
  const plan = await seat.next()
  assert.match(JSON.stringify(plan), /zero/)
  seat.answer('approve')
  await over(next)
  assert.equal([ground.text('a.txt'), next.settled[0]?.run], ['zero\none\n2\n', 'run-3'])
  const again = await next.ask({ run: 'run-3' })
  assert.is(codeOf(again), 'ok')
  assert.is(dispatchedIn(await linesOf(ground)), 1)
  const third = await daemon(ground)
  assert.equal(await third.ask({}), again)
  assert.is(ground.text('a.txt'), 'zero\none\n2\n')
})

test('refused with a reason, its caller reads the reason, also from the next daemon', async () => {
  const ground = newGround()
  const rig = await daemon(ground)
  await rig.ask({})
  sit(rig, () => ({ deny: 'not on a Friday' }))
  await over(rig)
  const next = await daemon(ground)
  const error = errorOf(await next.ask({}))
  assert.is(error.code, 'denied')
  assert.match(error.message, /not on a Friday/)
  assert.equal([ground.text('a.txt'), next.held.list()], ['one\ntwo\nthree\n', []])
})

test('a caller that waits is answered once somebody has answered, however late they sit', async () => {
  const rig = await daemon()
  const answer = rig.ask({ leave: false })
  await until(() => rig.held.list().length === 1)
  await rig.clock.pass(3 * 86_400_000)
  sit(rig, () => 'approve')
  assert.is(codeOf(await answer), 'ok')
  assert.equal(rig.settled, [])
})

test('one caller leaves and another waits: both have the same question, and there is one effect', async () => {
  const ground = newGround()
  const rig = await daemon(ground)
  const waiting = rig.ask({ leave: false })
  assert.is(codeOf(await rig.ask({ leave: true })), 'approval_held')
  const seat = sit(rig)
  await seat.next()
  assert.is(errorOf(await rig.ask({ leave: true })).details.title, 'Edit a.txt')
  seat.answer('approve')
  assert.is(codeOf(await waiting), 'ok')
  assert.equal([seat.plans.length, rig.settled.length, dispatchedIn(await linesOf(ground))], [1, 0, 1])
})

test('a caller that has gone is not waited for: the answer is kept, and told', async () => {
  const rig = await daemon()
  const gone = new AbortController()
  void rig.ask({ leave: false, gone: gone.signal, run: 'run-1' })
  await until(() => rig.held.list().length === 1)
  gone.abort()
  sit(rig, () => 'approve')
  await over(rig)
  assert.is(codeOf(await rig.ask({ leave: false })), 'ok')
})

test('patience begins once a person has answered, and none of it hangs the daemon', async () => {
  const ground = newGround()
  writeFileSync(join(ground.folder, 'config/policy.toml'), '[[rule]]\ndecision = "ask"\ntool = "eval_expr"\n')
  const rig = await daemon(ground)
  const waiting = rig.ask({ tool: 'eval_expr', args: { expr: 'x', patience: 0 }, leave: false })
  const seat = sit(rig)
  await seat.next()
  await rig.clock.pass(5_000)
  assert.is(rig.approvals.waiting().length, 1)
  seat.answer('approve')
  assert.is(codeOf(await waiting), 'ok')
})

test('the approval of a question that was put before a person days ago is as old as its answer', async () => {
  const ground = newGround()
  const rig = await daemon(ground)
  await rig.ask({})
  const seat = sit(rig)
  await seat.next()
  rig.wall.ahead = 2 * 86_400_000
  await rig.clock.pass(3_000)
  assert.is(seat.answer('approve').type, 'taken')
  await over(rig)
  assert.is(ground.text('a.txt'), NEW)
})

test('an approval that is not used in time counts no more, also of a held question', async () => {
  const ground = newGround()
  const rig = await daemon(ground)
  await rig.ask({})
  const unlock = await rig.files.lock([join(ground.project, 'a.txt')])
  const seat = sit(rig, () => 'approve')
  await seat.next()
  await until(() => rig.approvals.waiting().length === 0)
  rig.wall.ahead = 31 * 60_000
  unlock()
  await over(rig)
  assert.equal([codeOf(await rig.ask({})), ground.text('a.txt')], ['approval_timed_out', 'one\ntwo\nthree\n'])
})

test('a file that changes while a person looks is drawn and asked again, and again after a yes that came too late', async () => {
  const ground = newGround()
  const rig = await daemon(ground)
  await rig.ask({})
  const seat = sit(rig)
  await seat.next()
  ground.put('a.txt', 'zero\ntwo\n')
  const polled = rig.clock.pass(2_000)
  const second = await seat.next()
  await polled
  assert.match(JSON.stringify(second), /zero/)
  ground.put('a.txt', 'minus\ntwo\n')
  seat.answer('approve')
  const third = await seat.next()
  assert.match(JSON.stringify(third), /minus/)
  seat.answer('approve')
  await over(rig)
  assert.is(ground.text('a.txt'), 'minus\n2\n')
  const lines = await linesOf(ground)
  const ends = lines.filter(({ type }) => type === 'dispatched' || type === 'ended')
  assert.equal(
    ends.map(({ call, type, outcome }) => [call, type, outcome].filter(Boolean).join(' ')),
    ['c1~2 dispatched', 'c1~2 ended stale_plan', 'c1~3 dispatched', 'c1~3 ended ok'],
  )
})

test('a daemon that ends while it asks leaves the question for the next, under a name of its own', async () => {
  const ground = newGround()
  for (let time = 0; time < 3; time++) {
    const rig = await daemon(ground)
    const waiting = time === 0 ? rig.ask({ leave: false }) : undefined
    const seat = sit(rig)
    await seat.next()
    await rig.close()
    if (waiting !== undefined) assert.is(codeOf(await waiting), 'approval_held')
  }
  const last = await daemon(ground)
  sit(last, () => 'approve')
  await over(last)
  assert.is(ground.text('a.txt'), NEW)
  const lines = await linesOf(ground)
  assert.equal(
    lines.filter(({ type }) => type === 'dispatched').map(({ call }) => call),
    ['c1~4'],
  )
})

test('a seat that leaves takes the question from nobody: the next one is asked, also where they sit at once', async () => {
  const ground = newGround()
  const rig = await daemon(ground)
  await rig.ask({})
  for (let time = 0; time < 3; time++) {
    const seat = sit(rig)
    await seat.next()
    seat.leave()
  }
  assert.is(rig.settled.length, 0)
  sit(rig, () => 'approve')
  await over(rig)
  assert.is(ground.text('a.txt'), NEW)
  const next = await daemon(ground)
  assert.is(codeOf(await next.ask({})), 'ok')
})

test('asked while somebody sat who left, it is asked again by the next daemon', async () => {
  const ground = newGround()
  const rig = await daemon(ground)
  await rig.ask({})
  const seat = sit(rig)
  await seat.next()
  seat.leave()
  await settled()
  const next = await daemon(ground)
  sit(next, () => 'approve')
  await over(next)
  assert.is(ground.text('a.txt'), NEW)
})

test('what was dispatched by a daemon that was lost is not asked again, and the run is told at the next start', async () => {
  const ground = newGround()
  const rig = await daemon(ground)
  await rig.ask({ run: 'run-1' })
  await rig.close()
  const [path = ''] = heldFiles(ground)
  const kept = JSON.parse(readFileSync(path, 'utf8'))
  writeFileSync(path, JSON.stringify({ ...kept, attempt: 2, dispatched: true }), { mode: 0o600 })
  const next = await daemon(ground)
  assert.equal(next.held.list(), [])
  next.held.begin()
  await over(next)
  assert.is(next.settled[0]?.run, 'run-1')
  const seat = sit(next)
  await settled()
  const error = errorOf(await next.ask({}))
  assert.equal(
    [error.code, seat.plans.length, ground.text('a.txt')],
    ['outcome_unknown', 0, 'one\ntwo\nthree\n'],
  )
})

test('a daemon that was lost before it told of an answer: the next one does, once', async () => {
  const ground = newGround()
  const rig = await daemon(ground)
  await rig.ask({ run: 'run-1' })
  sit(rig, () => 'approve')
  await over(rig)
  const next = await daemon(ground)
  next.held.begin()
  assert.is(next.settled.length, 1)
  await next.ask({})
  next.held.begin()
  assert.is(next.settled.length, 1)
})

test('an answer is kept for days after it was given, and not for days after it was asked for', async () => {
  const ground = newGround()
  const rig = await daemon(ground)
  await rig.ask({})
  await rig.close()
  const [path = ''] = heldFiles(ground)
  const old = { ...JSON.parse(readFileSync(path, 'utf8')), asked_at: Date.now() - 60 * 86_400_000 }
  writeFileSync(path, JSON.stringify(old), { mode: 0o600 })
  const next = await daemon(ground)
  sit(next, () => ({ deny: 'too late' }))
  await over(next)
  await settled()
  assert.is(codeOf(await next.ask({})), 'denied')
  const told = JSON.parse(readFileSync(path, 'utf8'))
  writeFileSync(path, JSON.stringify({ ...told, answered_at: Date.now() - 2 * 86_400_000 }), { mode: 0o600 })
  next.held.list()
  assert.equal(heldFiles(ground), [])
})

test('in another project the name is another call: nothing of either is told to the other', async () => {
  const [ground, other] = [newGround(), newGround()]
  const rig = await daemon(ground)
  await rig.ask({})
  await settled()
  const caller = { root: other.project }
  const theirs = await rig.ask({ caller, args: { ...EDIT, new_str: 'theirs' } })
  assert.is(codeOf(theirs), 'approval_held')
  assert.is(rig.held.withdraw('c1', other.folder), false)
  assert.equal(
    rig.held.list().map(({ root }) => root),
    [ground.project, other.project],
  )
  assert.is(rig.held.withdraw('c1', other.project), true)
  sit(rig, () => 'approve')
  await over(rig)
  assert.is(ground.text('a.txt'), NEW)
  assert.is.not(codeOf(await rig.ask({ caller, leave: true })), 'ok')
})

test('a name keeps its meaning: other arguments are refused, and change nothing of what waits', async () => {
  const ground = newGround()
  const rig = await daemon(ground)
  await rig.ask({})
  const error = errorOf(await rig.ask({ args: { ...EDIT, new_str: 'other' } }))
  assert.is(error.code, 'invalid_args')
  const next = await daemon(ground)
  assert.is(
    errorOf(await next.ask({ tool: 'write_file', args: { path: 'b.txt', content: '' } })).code,
    'invalid_args',
  )
  sit(next, () => 'approve')
  await over(next)
  assert.is(codeOf(await next.ask({ args: { ...EDIT, new_str: 'other' } })), 'invalid_args')
  assert.is(ground.text('a.txt'), NEW)
})

test('a question that cannot be kept is not asked, and nothing ran', async () => {
  const ground = newGround()
  const rig = await daemon(ground)
  rig.disk.full = true
  const error = errorOf(await rig.ask({}))
  assert.equal([error.code, error.details.reason, rig.held.list()], ['internal', 'journal_unavailable', []])
  assert.match(error.message, /ENOSPC/)
  rig.disk.full = false
  assert.is(codeOf(await rig.ask({})), 'approval_held')
})

test('a disk that is full once a person has answered: it is done once, its answer is given, and nobody is asked again', async () => {
  const ground = newGround()
  const rig = await daemon(ground)
  await rig.ask({})
  rig.disk.full = true
  const seat = sit(rig, () => 'approve')
  await over(rig)
  for (let turn = 0; turn < 20; turn++) await settled()
  assert.equal([codeOf(await rig.ask({})), seat.plans.length, ground.text('a.txt')], ['ok', 1, NEW])
  const next = await daemon(ground)
  const again = sit(next)
  await over(next)
  assert.equal([codeOf(await next.ask({})), again.plans.length], ['outcome_unknown', 0])
  assert.is(ground.text('a.txt'), NEW)
})

const SPOILT: readonly (readonly [what: string, spoil: (path: string) => void])[] = [
  ['cut short', path => writeFileSync(path, readFileSync(path).subarray(0, 40), { mode: 0o600 })],
  ['edited to another name', path => edit(path, text => text.replace('"c1"', '"c2"'))],
  ['edited to another project', path => edit(path, text => text.replace('/project"', '/elsewhere"'))],
  ['of a question with a field too many', path => edit(path, text => text.replace('{', '{"more":1,'))],
  ['that others can write', path => chmodSync(path, 0o666)],
  [
    'that is a link',
    path => {
      renameSync(path, `${path}.real`)
      symlinkSync(`${path}.real`, path)
    },
  ],
]

function edit(path: string, change: (text: string) => string): void {
  const text = readFileSync(path, 'utf8')
  assert.is.not(change(text), text)
  writeFileSync(path, change(text), { mode: 0o600 })
}

for (const [what, spoil] of SPOILT)
  test(`a file ${what} asks nothing; who asks again is asked about as at first`, async () => {
    const ground = newGround()
    const rig = await daemon(ground)
    await rig.ask({})
    const [path = ''] = heldFiles(ground)
    spoil(path)
    const seat = sit(rig)
    for (let turn = 0; turn < 5; turn++) await settled()
    assert.equal([rig.held.list(), seat.plans], [[], []])
    assert.ok(rig.faults.some(({ message }) => message.endsWith('is passed over')))
    assert.is(codeOf(await rig.ask({})), 'approval_held')
    assert.is(rig.held.list().length, 1)
    seat.answer('approve')
    await over(rig)
    assert.is(ground.text('a.txt'), NEW)
  })

test('arguments that were edited are those that the person is shown', async () => {
  const ground = newGround()
  const rig = await daemon(ground)
  await rig.ask({})
  edit(heldFiles(ground)[0] ?? '', text => text.replace('"new_str":"2"', '"new_str":"evil"'))
  const plan = await sit(rig).next()
  assert.match(JSON.stringify(plan), /evil/)
})

test('withdrawn while nobody sits, while it is asked and while its caller waits, nobody is asked any more', async () => {
  const ground = newGround()
  const rig = await daemon(ground)
  await rig.ask({})
  await until(() => rig.calls.busy() === 0)
  assert.equal(
    [rig.held.withdraw('c1', ground.project), rig.held.withdraw('c1', ground.project)],
    [true, false],
  )
  const seat = sit(rig)
  const waiting = rig.ask({ leave: false })
  const { id } = await seat.next()
  assert.is(rig.held.withdraw('c1', ground.project), true)
  assert.is(codeOf(await waiting), 'withdrawn')
  assert.is(seat.answer('approve', id).type, 'late')
  seat.leave()
  const later = rig.ask({ leave: false, call: 'c2' })
  await until(() => rig.held.list().length === 1)
  rig.held.withdraw('c2', ground.project)
  assert.is(codeOf(await later), 'withdrawn')
  assert.equal([heldFiles(ground), rig.settled, ground.text('a.txt')], [[], [], 'one\ntwo\nthree\n'])
})

test('a caller that cancels takes its question back, before and while it is asked', async () => {
  const ground = newGround()
  const rig = await daemon(ground)
  for (const isSeated of [false, true]) {
    const cancel = new AbortController()
    const waiting = rig.ask({ leave: false, call: `c-${isSeated}`, signal: cancel.signal })
    await until(() => rig.held.list().length === 1)
    if (isSeated) await sit(rig).next()
    cancel.abort()
    assert.is(codeOf(await waiting), 'withdrawn')
  }
  assert.equal(rig.held.list(), [])
})

test('asked again while what was withdrawn still ends, it is asked about as at first', async () => {
  const ground = newGround()
  const rig = await daemon(ground)
  const seat = sit(rig)
  const first = rig.ask({ leave: false })
  const { id } = await seat.next()
  rig.held.withdraw('c1', ground.project)
  const again = rig.ask({ leave: false })
  assert.is(codeOf(await first), 'withdrawn')
  const next = await seat.next()
  assert.is.not(next.id, id)
  seat.answer('approve')
  assert.is(codeOf(await again), 'ok')
  assert.equal([ground.text('a.txt'), dispatchedIn(await linesOf(ground))], [NEW, 1])
})

test('an answer cannot be withdrawn', async () => {
  const ground = newGround()
  const rig = await daemon(ground)
  await rig.ask({})
  sit(rig, () => 'approve')
  await over(rig)
  assert.is(rig.held.withdraw('c1', ground.project), false)
  assert.is(codeOf(await rig.ask({})), 'ok')
})

test('after three refusals the rest waits for the end of the pause, or until the person wants to be asked again', async () => {
  for (const how of ['waits', 'lifts']) {
    const rig = await daemon()
    const names = Array.from({ length: 12 }, (_, at) => `c${at}`)
    for (const call of names) await rig.ask({ call, args: { ...EDIT, new_str: call } })
    let said: Reply = 'deny'
    const seat = rig.approvals.sit('one who refuses')
    const answer = () => {
      const [plan] = rig.approvals.waiting()
      if (plan === undefined) return false
      const { id, hash } = plan
      seat.answer({ plan: id, hash, decision: said === 'deny' ? 'deny' : 'approve' })
      return true
    }
    // Those that came together are one refusal.
    for (let count = 0; count < 3 || rig.approvals.waiting().length > 0; ) {
      await rig.clock.pass(3_000)
      if (answer()) count++
    }
    await rig.clock.pass(10_000)
    const left = rig.held.list().length
    assert.ok(left > 0 && left < names.length, `${left} left`)
    assert.is(rig.approvals.waiting().length, 0)
    if (how === 'lifts') seat.lift()
    else await rig.clock.pass(5 * 60_000)
    await settled()
    said = 'approve'
    await until(() => rig.approvals.waiting().length > 0)
    seat.leave()
  }
})

test('100 of one project may wait; one more is refused, and is told why, and what needs nobody is done all the same', async () => {
  const ground = newGround()
  const rig = await daemon(ground)
  for (let at = 0; at < 100; at++) assert.is(codeOf(await rig.ask({ call: `c${at}` })), 'approval_held')
  const error = errorOf(await rig.ask({ call: 'one-more' }))
  assert.equal([error.code, error.details.most], ['busy', 100])
  assert.is(codeOf(await rig.ask({ call: 'c7' })), 'approval_held')
  assert.is(codeOf(await rig.ask({ call: 'cautious', tool: 'eval_expr', args: { expr: 'x' } })), 'ok')
  const seat = sit(rig)
  await until(() => seat.plans.length === 8)
  for (let turn = 0; turn < 20; turn++) await settled()
  assert.is(seat.plans.length, 8)
  seat.answer({ deny: 'no' })
  await until(() => seat.plans.length === 9)
  assert.is(rig.held.list().length, 99)
})

test('a question is told of once, and only where nobody sits', async () => {
  const ground = newGround()
  const rig = await daemon(ground)
  await rig.ask({})
  await rig.ask({})
  const seat = sit(rig)
  await seat.next()
  await rig.ask({ call: 'c2' })
  seat.leave()
  await settled()
  assert.equal(
    rig.toldWaits.map(({ call }) => call),
    ['c1'],
  )
})

test('the same answer, whether there is something to ask about or not, where a file may not be read', async () => {
  const ground = newGround()
  writeFileSync(
    join(ground.folder, 'config/policy.toml'),
    '[[rule]]\ndecision = "deny"\ntool = "read_file"\n',
  )
  const rig = await daemon(ground)
  const answers = await Promise.all([
    rig.ask({ call: 'right' }),
    rig.ask({ call: 'wrong', args: { ...EDIT, old_str: 'a guess' } }),
  ])
  const [right, wrong] = answers.map(errorOf)
  assert.equal(right, wrong)
  assert.is(right?.code, 'approval_held')
})

test('what a rule allows by then is done without a person', async () => {
  const ground = newGround()
  await (await daemon(ground)).ask({})
  const allow = '[[rule]]\ndecision = "allow"\ntool = "edit_file"\nlevel = "dangerous"\n'
  writeFileSync(join(ground.folder, 'config/policy.toml'), allow)
  const next = await daemon(ground)
  const answer = await next.ask({})
  assert.is(codeOf(answer), 'ok', JSON.stringify(answer))
  assert.equal([resultOf(answer).path, next.settled, ground.text('a.txt')], ['a.txt', [], NEW])
})
