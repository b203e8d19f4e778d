import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { openRepeated, ruleAgainst } from '../../src/approvals/preview.ts'
import { LightSignal } from '../../wire/signal.ts'
import { book } from '../support/book.ts'
import { errorOf, resultOf } from '../support/calls-rig.ts'
import { fileRigsOf } from '../support/file-rigs.ts'
import { assert, suite } from '../support/harness.ts'
import { somePlan, somePlanOn } from '../support/plans.ts'
import { takeSeat } from '../support/seat.ts'

const test = suite('what is asked again')

const rig = fileRigsOf(test)

const still = new LightSignal()

test('from the third time on, whoever sits and whoever called are told how often, and the rule that settles it', async () => {
  const { run, seat, root, folder } = rig()
  const person = seat(() => 'approve')
  const put = (text: string, path = 'a.txt') => run('put', { path, text })
  const notices = [await put('1'), await put('2'), await put('3')].map(one => resultOf(one).notice)
  const rule = `[[rule]]\ndecision = "allow"\ntool = "put"\nlevel = "dangerous"\nfile = "${root}/a.txt"`
  assert.equal(
    person.plans.map(({ times, rule }) => [times, rule]),
    [
      [1, null],
      [2, null],
      [3, rule],
    ],
  )
  const policy = join(folder, 'policy.toml')
  assert.equal(notices, [
    undefined,
    undefined,
    `Approval of put on a.txt was asked for 3 times by now. Tell the person, and leave it to them: do not write this yourself. These lines in ${policy}, and then imago policy accept, would let it through without asking:\n${rule}`,
  ])
  appendFileSync(policy, rule)
  assert.ok((await put('4')).ok)
  assert.is(person.plans.length, 3)
  await put('5', 'b.txt')
  assert.is(person.plans.length, 4)
})

test('who is refused is told as well, and not before somebody was asked', async () => {
  const { run, seat } = rig()
  const unasked = errorOf(await run('put', { path: 'a.txt', text: 'x' }))
  const person = seat(() => ({ deny: 'no' }))
  const told = [unasked]
  for (let n = 0; n < 3; n++) told.push(errorOf(await run('put', { path: 'a.txt', text: 'x' })))
  assert.equal(
    told.map(({ code, details }) => [code, typeof details.notice]),
    [
      ['approval_unavailable', 'undefined'],
      ['denied', 'undefined'],
      ['denied', 'undefined'],
      ['denied', 'string'],
    ],
  )
  assert.is(person.plans.length, 3)
})

test('where a rule wants a person to be asked, no rule is told that would end it', async () => {
  const { run, seat } = rig({ policy: '[[rule]]\ndecision = "ask"\ntool = "put"\n' })
  const person = seat(() => 'approve')
  for (const text of ['1', '2', '3'])
    assert.is(resultOf(await run('put', { path: 'a.txt', text })).notice, undefined)
  assert.equal(
    person.plans.map(({ times, rule }) => [times, rule]),
    [
      [1, null],
      [2, null],
      [3, null],
    ],
  )
})

test('the same is the same tool, files, project and place it comes from; or arguments where there are no files', () => {
  const { approvals } = book()
  const person = takeSeat(approvals)
  const plans = [
    somePlanOn('a.py', { args: { text: 'one' } }),
    somePlanOn('a.py', { args: { text: 'other' }, caller: 'anew' }),
    somePlanOn('b.py'),
    somePlanOn(['a.py', 'b.py']),
    somePlanOn(['b.py', 'a.py']),
    somePlanOn('a.py', { tool: 'edit_file' }),
    somePlanOn('a.py', { origin: 'elsewhere' }),
    somePlanOn('a.py', { root: '/other' }),
    somePlan({ args: { expr: '1' } }),
    somePlan({ args: { expr: '2' } }),
    somePlan({ args: { expr: '1' } }),
    somePlan({ args: { expr: '1' }, kernel: 'other' }),
  ]
  for (const plan of plans) void approvals.ask(plan, { signal: still })
  assert.equal(
    person.plans.map(({ times }) => times),
    [1, 2, 1, 1, 2, 1, 1, 1, 1, 1, 2, 1],
  )
})

test('a rule names each of a few files, and the kernel where there are none', () => {
  const files = ruleAgainst(somePlanOn(['a.py', 'src/b.py']), 3)
  const allow = '[[rule]]\ndecision = "allow"\ntool = "write_file"\nlevel = "dangerous"\n'
  assert.is(files, `${allow}file = "/project/a.py"\n\n${allow}file = "/project/src/b.py"`)
  assert.is(
    ruleAgainst(somePlan(), 3),
    '# Whatever its arguments are: a rule cannot tell them apart.\n[[rule]]\ndecision = "allow"\ntool = "do_dangerous"\nlevel = "dangerous"\nkernel = "main"',
  )
  assert.is(ruleAgainst(somePlanOn(['a', 'b', 'c', 'd', 'e']), 3), null)
})

test('no rule is made of a name that would not be seen as it is (threat 15)', () => {
  assert.is(ruleAgainst(somePlanOn('a\u202e.py'), 3), null)
  assert.is(ruleAgainst(somePlanOn('a\n[[rule]].py'), 3), null)
  assert.ok(ruleAgainst(somePlanOn('a"b\\.py'), 3)?.endsWith('file = "/project/a\\"b\\\\.py"'))
})

test('what was asked longest ago is forgotten, so that memory is bounded (threat 36)', () => {
  const repeated = openRepeated()
  const first = somePlanOn('first.py')
  const again = somePlanOn('again.py')
  repeated.count(first)
  repeated.count(again)
  for (let n = 0; n < 1_023; n++) {
    repeated.count(somePlanOn(`${n}.py`))
    if (n === 500) repeated.count(again)
  }
  assert.is(repeated.size, 1_024)
  assert.equal([repeated.count(again), repeated.count(first)], [3, 1])
})

test('to take back another change of the same file is another thing', () => {
  const repeated = openRepeated()
  const undo = (change: string) => repeated.count({ ...somePlanOn('a.py'), undoes: change })
  assert.equal([undo('plan-aaaaaaaa'), undo('plan-bbbbbbbb'), undo('plan-aaaaaaaa')], [1, 1, 2])
})
