import type { Asker } from '../../src/front/seat/asker.ts'
import { assert, suite } from '../support/harness.ts'
import { askLines, editor } from '../support/line-asker.ts'
import { shownPlanOf } from '../support/shown-plans.ts'

const test = suite('whole plans at the seat that asks line by line')

const WRITE = shownPlanOf({ args: { path: 'a.py', content: 'one\n' }, tool: 'write_file' })

test('the arguments of a plan are edited as JSON, and what comes of it is asked about anew', async () => {
  const { answers, text } = await askLines({
    plans: [WRITE],
    types: ['e'],
    edit: editor(json => json.replace('one', 'two')),
  })
  assert.equal(answers, [
    { plan: WRITE.id, hash: WRITE.hash, decision: 'edit', args: { path: 'a.py', content: 'two\n' } },
  ])
  assert.match(text, 'edited; what comes of that is asked about anew')
})

for (const [what, change, why] of [
  ['no JSON', (json: string) => `${json}}\u202e`, 'not JSON any more'],
  ['no object', () => '[1]', 'have to be one JSON object'],
] as const)
  test(`arguments that are ${what} any more are not sent, and it is said why`, async () => {
    const { answers, text } = await askLines({ plans: [WRITE], types: ['e', 'q'], edit: editor(change) })
    assert.equal(answers, [])
    assert.match(text.replaceAll('\n    ', ''), why)
    assert.is(text.includes('\u202e'), false)
  })

test('e again has the arguments that could not be used, with the cause, and they are kept while others are looked at', async () => {
  const drafts: string[] = []
  const other = shownPlanOf({ id: 'plan-zzzzzzzz' })
  const { answers, text } = await askLines({
    plans: [WRITE, other],
    types: ['e', 'j', 'k', 'e', 'e'],
    edit: async ({ text: draft }) => {
      drafts.push(draft)
      const change = [
        draft.replace('"a.py"', '"b.py'),
        `${draft}[]`,
        draft.replace('"b.py', '"b.py"').replace('[]', ''),
      ]
      return { type: 'text', text: change[drafts.length - 1] ?? draft }
    },
  })
  assert.match(text.replaceAll('\n    ', ''), 'e goes on with what you wrote.')
  assert.match(
    drafts[1] ?? '',
    /^# This could not be used: The arguments are not JSON any more: .*\n\{\n {2}"path": "b\.py,\n/,
  )
  assert.is(drafts[2]?.split('could not be used').length, 2)
  assert.equal(answers, [
    { plan: WRITE.id, hash: WRITE.hash, decision: 'edit', args: { path: 'b.py', content: 'one\n' } },
  ])
})

test('g offers what can be granted, and takes one of it or nothing', async () => {
  const plan = { ...WRITE, grants: ['src/a.py', 'src/*.py'] }
  const { prompts, answers, text } = await askLines({ plans: [plan], types: ['g', '', 'g', '3', 'g', '2'] })
  assert.is(prompts[0], 'Approve? [y]es [n]o [g]rant [q]uit [?] ')
  assert.match(
    text,
    'From now on write_file is done without asking, for a model, in:\n  1  src/a.py\n  2  src/*.py\n',
  )
  assert.equal(answers, [{ plan: plan.id, hash: plan.hash, decision: 'approve', grant: 'src/*.py' }])
})

const turn = (count: number) =>
  Array.from({ length: count }, (_, index) =>
    shownPlanOf({
      id: `plan-${'abcdefgh'[index]?.repeat(8)}`,
      turn: 'plan-aaaaaaaa',
      body: `body ${index}\n`,
    }),
  )

test('a shows the rest of the turn whole, and approves all of it with one answer more', async () => {
  const { answers, text, prompts } = await askLines({ plans: turn(3), types: ['a', 'y'] })
  assert.is(prompts[0], 'Approve? [y]es [n]o [a]ll 3 [d]eny 3 [j] [k] [q]uit [?] ')
  assert.is(prompts[1], 'Approve these 3, as shown? [y]es [n]o ')
  assert.ok(text.indexOf('| body 2') < text.indexOf('Approve these 3'))
  assert.equal(
    answers.map(({ plan, decision }) => [plan, decision]),
    turn(3).map(({ id }) => [id, 'approve']),
  )
})

test('what was withdrawn while the rest of the turn was shown is not approved, and n approves none', async () => {
  const withdrawn = (asker: Asker) => {
    asker.tell({ type: 'settled', id: 'plan-bbbbbbbb', why: 'gone' })
    return 'y'
  }
  const some = await askLines({ plans: turn(3), types: ['a', withdrawn] })
  assert.equal(
    some.answers.map(({ plan }) => plan),
    ['plan-aaaaaaaa', 'plan-cccccccc'],
  )
  const none = await askLines({ plans: turn(3), types: ['a', 'n', 'q'] })
  assert.equal(none.answers, [])
})

test('d denies the whole turn with one reason, and no other', async () => {
  const other = shownPlanOf({ id: 'plan-zzzzzzzz' })
  const { answers } = await askLines({ plans: [...turn(2), other], types: ['d', 'all wrong', 'q'] })
  assert.equal(
    answers.map(({ plan, decision, reason }) => [plan, decision, reason]),
    turn(2).map(({ id }) => [id, 'deny', 'all wrong']),
  )
})

test('j and k look at other plans first', async () => {
  const plans = ['a', 'b', 'c'].map(letter =>
    shownPlanOf({ id: `plan-${letter.repeat(8)}`, body: `${letter}\n` }),
  )
  const { answers } = await askLines({ plans, types: ['j', 'k', 'y', 'y', 'y'] })
  assert.equal(
    answers.map(({ plan }) => plan.slice(-1)),
    ['a', 'b', 'c'],
  )
})

test('that the same is asked for again is said, with the rule that would settle it (threat 14)', async () => {
  const rule = '[[rule]]\ndecision = "allow"\ntool = "write_file"\n'
  const { text } = await askLines({ plans: [{ ...WRITE, times: 3, rule }], types: [] })
  assert.match(text, /asked for 3 times by now; with this rule nobody would be asked:/)
  for (const line of rule.trimEnd().split('\n')) assert.match(text, `\n           ${line}\n`)
})
