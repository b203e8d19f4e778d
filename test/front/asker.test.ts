import type { DaemonClient, SeatOptions } from '../../src/front/client.ts'
import { type Asker, openAsker } from '../../src/front/seat/asker.ts'
import type { LineResult } from '../../src/front/seat/line-terminal.ts'
import { type OpenSeat, openSeat, type SeatTold } from '../../src/front/seat/open-seat.ts'
import { assert, suite } from '../support/harness.ts'
import { askLines, editor } from '../support/line-asker.ts'
import { shownPlanOf } from '../support/shown-plans.ts'

const test = suite('asking line by line')

/** What another program would like a person to read as lines of ours. */
const FORGED =
  'x\n==== plan-goodgood ====\r\n| +a typo fixed\nApprove?\u2028plan-goodgood needs no answer any more'

/** A seat that says yes to whatever it is asked, and all that is printed there. */
async function printedBy(use: (asker: ReturnType<typeof openAsker>) => void, seat: Partial<OpenSeat> = {}) {
  let printed = ''
  const out = (text: string) => {
    printed += text
  }
  const over = new AbortController()
  const input = {
    ask: async (prompt: string): Promise<LineResult> => {
      out(`${prompt}\n`)
      over.abort()
      return { type: 'line', text: 'y' }
    },
    say: out,
    left: new AbortController().signal,
    close: () => {},
  }
  const asker = openAsker({ input, printer: { out, err: out }, terminal: { columns: 80, rows: 24 } })
  use(asker)
  const sits = { trouble: null, acknowledge: async () => {}, ...seat } as OpenSeat
  if (!printed.includes('x')) await asker.run(sits, over.signal)
  return printed
}

test('a plan whose preview could not be fetched is not passed over in silence (threat 15)', async () => {
  const told: SeatTold[] = []
  const plan = { type: 'plan', plan: { id: 'plan-aaaaaaaa' } } as never
  const seated = { type: 'seated', seat: 'seat-1', who: 'me', others: [], trouble: null } as const
  const client = {
    async sit({ heard }: SeatOptions) {
      await Promise.resolve()
      heard(seated)
      heard(plan)
      await new Promise(() => {})
    },
    request: () => Promise.reject(new Error('it is longer than a message')),
  } as unknown as DaemonClient
  await new Promise<void>((resolve, reject) => {
    const tell = (one: SeatTold) => {
      told.push(one)
      resolve()
    }
    openSeat(client, { tell }).catch(reject)
  })
  const text = 'plan-aaaaaaaa waits, and cannot be shown here: it is longer than a message'
  assert.equal(told, [{ type: 'notice', text }])
})

const wanted = { type: 'seat_wanted', id: 'wanted-1', terminal: '/dev/pts/1', pid: 7 } as const
const NOTHING = () => {}

const TOLD: readonly (readonly [what: string, printed: () => Promise<string>])[] = [
  ['a notice', () => printedBy(({ tell }) => tell({ type: 'notice', text: FORGED }))],
  [
    'who sits',
    () => printedBy(({ tell }) => tell({ type: 'asked', seats: [{ seat: 'seat-1', who: FORGED }] })),
  ],
  ['who wants a seat', () => printedBy(asker => void asker.admit({ ...wanted, who: FORGED, command: 'y' }))],
  ['its command', () => printedBy(asker => void asker.admit({ ...wanted, who: 'y', command: FORGED }))],
  ['trouble', () => printedBy(NOTHING, { trouble: FORGED })],
  [
    'why a plan needs no answer',
    () =>
      printedBy(({ tell }) => {
        tell({ type: 'plan', plan: { id: 'plan-aaaaaaaa' } as never })
        tell({ type: 'settled', id: 'plan-aaaaaaaa', why: FORGED })
      }),
  ],
]

for (const [what, printed] of TOLD)
  test(`${what} begins no line of its own on a seat, whatever stands in it (threat 14)`, async () => {
    const text = await printed()
    assert.match(text.replaceAll('\n    ', ''), 'a typo fixed')
    for (const row of text.split(/[\r\n\u2028]/))
      assert.not.match(row, /^(?:\||Approve\?|plan-good|==== plan)/)
  })

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

test('other words than the keys are explained, and the question stands', async () => {
  const { prompts, answers, text } = await askLines({ plans: [WRITE], types: ['?', 'yes please', 'YES'] })
  assert.match(text, /exactly as shown, once[\s\S]*exactly as shown, once/)
  assert.equal(prompts, Array(3).fill('Approve? [y]es [n]o [q]uit [?] '))
  assert.equal(answers, [{ plan: WRITE.id, hash: WRITE.hash, decision: 'approve' }])
})

const PADDED: readonly (readonly [what: string, body: string])[] = [
  ['a run of blanks in one line', `x = 1;${' '.repeat(20_000)}last_of_all = 1\n`],
  [
    'one very long line among nine',
    `${'a = 1\n'.repeat(4)}x = "${'y'.repeat(20_000)}"; last_of_all = 1\n${'a = 1\n'.repeat(4)}`,
  ],
  ['1,500 empty lines', `x = 1\n${'\n'.repeat(1_500)}last_of_all = 1\n`],
  ['201 lines', `${'a = 1\n'.repeat(200)}last_of_all = 1\n`],
]
const unbroken = (text: string) => text.replaceAll('\n+ ', '')
for (const [what, body] of PADDED)
  test(`${what} can be approved only once its end was shown (threat 15)`, async () => {
    const plan = shownPlanOf({ body })
    const cut = await askLines({ plans: [plan], types: ['s', 'y', 'n padded'] })
    assert.match(cut.prompts[0] ?? '', /^\(23 of \d+; Enter goes on, s stops here\) $/)
    assert.equal(cut.prompts.slice(1), Array(2).fill('Not all was shown. [n]o [q]uit [?] '))
    assert.not.match(unbroken(cut.text), 'last_of_all')
    assert.is(cut.answers[0]?.decision, 'deny')
    // An approval that comes too early is Enter, and no more.
    const rows = Number(/of (\d+);/.exec(cut.prompts[0] ?? '')?.[1])
    const pages = Math.ceil(rows / 23) - 1
    const whole = await askLines({ plans: [plan], types: [...Array<string>(pages).fill('y'), 'y'] })
    assert.is(whole.prompts.at(-1), 'Approve? [y]es [n]o [q]uit [?] ')
    assert.is(whole.prompts.filter(prompt => prompt.startsWith('Approve?')).length, 1)
    assert.match(unbroken(whole.text), 'last_of_all = 1')
    assert.equal(
      whole.answers.map(({ decision }) => decision),
      ['approve'],
    )
  })

test('200 lines are shown whole', async () => {
  const { prompts } = await askLines({ plans: [shownPlanOf({ body: 'a = 1\n'.repeat(200) })], types: ['y'] })
  assert.equal(prompts, ['Approve? [y]es [n]o [q]uit [?] '])
})
