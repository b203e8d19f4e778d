import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AnswerOutcome, SeatAnswer, ShownHunk, ShownPlan } from '../../src/approvals/contract.ts'
import type { DaemonClient, SeatOptions, SubscribeOptions } from '../../src/front/client.ts'
import type { Draft, DraftResult } from '../../src/front/person-editor.ts'
import { type Asker, openAsker } from '../../src/front/seat/asker.ts'
import type { LineResult } from '../../src/front/seat/line-terminal.ts'
import { type OpenSeat, openSeat, type SeatTold } from '../../src/front/seat/open-seat.ts'
import { hunksFrom } from '../../tools/hunks.ts'
import { linesOf } from '../../tools/newlines.ts'
import type { Envelope } from '../../tools/outcome.ts'
import { assert, suite } from '../support/harness.ts'
import { openRig, within } from '../support/rig.ts'
import { openScreen } from '../support/screen.ts'
import { shownPlanOf } from '../support/shown-plans.ts'

const test = suite('asking line by line', { limitMs: 60_000 })

test('a plan whose preview could not be fetched is not passed over in silence (threat 15)', async () => {
  const told: SeatTold[] = []
  const value = { state: 'waits', id: 'plan-aaaaaaaa' }
  const plan = { topic: 'approvals', key: value.id, value } as const
  const seated = { type: 'seated', seat: 'seat-1', who: 'me', others: [], trouble: null } as const
  const client = {
    async sit({ heard }: SeatOptions) {
      await Promise.resolve()
      heard(seated)
      await new Promise(() => {})
    },
    async subscribe({ topics, heard }: SubscribeOptions) {
      if (topics[0] === 'approvals') heard({ rev: '', snapshot: [plan] })
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

interface Asked {
  /** What the person types, one line for each question; a function is done first, and says what they type. */
  readonly types: readonly (string | ((asker: Asker) => string))[]
  readonly plans: readonly ShownPlan[]
  readonly edit?: (draft: Draft) => Promise<DraftResult>
  readonly taken?: (answer: SeatAnswer) => AnswerOutcome
}

interface Came {
  /** All that was printed, and what was typed after each question. */
  readonly text: string
  readonly prompts: readonly string[]
  readonly answers: readonly SeatAnswer[]
}

/** Plans before a person who types these lines, until they have nothing more to say. */
async function askLines({ types, plans, edit, taken = () => ({ type: 'taken' }) }: Asked): Promise<Came> {
  const over = new AbortController()
  const lines = [...types]
  const [prompts, answers]: [string[], SeatAnswer[]] = [[], []]
  let text = ''
  /** Nothing more is typed: what follows from the last answer is done first. */
  const ended = () => void (lines.length === 0 && setImmediate(() => over.abort()))
  const out = (more: string) => {
    text += more
  }
  const input = {
    async ask(prompt: string, drop?: AbortSignal): Promise<LineResult> {
      const next = lines.shift()
      out(prompt)
      prompts.push(prompt)
      if (next === undefined) {
        over.abort()
        return { type: 'dropped' }
      }
      const line = typeof next === 'string' ? next : next(asker)
      if (drop?.aborted) ended()
      out(`${line}\n`)
      return drop?.aborted ? { type: 'dropped' } : { type: 'line', text: line }
    },
    say: out,
    left: new AbortController().signal,
  }
  const asker = openAsker({
    input,
    printer: { out, err: out },
    terminal: { columns: 80, rows: 24 },
    ...(edit && { edit }),
  })
  const seat = {
    trouble: null,
    answer: async (answer: SeatAnswer) => {
      answers.push(answer)
      ended()
      return taken(answer)
    },
  } as Partial<OpenSeat> as OpenSeat
  for (const plan of plans) asker.tell({ type: 'plan', plan })
  await asker.run(seat, over.signal)
  return { text, prompts, answers }
}

/** An editor that makes one text of the draft. */
const editor = (change: (text: string) => string) => (draft: Draft) => redraftBy(draft, change)

async function redraftBy({ text }: Draft, change: (text: string) => string): Promise<DraftResult> {
  const after = change(text)
  return after === text ? { type: 'unchanged' } : { type: 'text', text: after }
}

/** The lines of a file that are their own numbers. */
const numbered = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => `${from + index}\n`).join('')

/** Lines of a file with numbers, in which these are to be others. */
function hunksOf(
  shown: string,
  edits: readonly (readonly [line: number, put: string])[],
  first = 1,
): ShownHunk[] {
  const file = { path: `/project/${shown}`, shown, newline: '\n' as const, text: numbered(1, 40) }
  const changes = edits.map(([line, put], index) => {
    const lines = linesOf(put)
    const why = index === 0 ? 'it was wrong' : null
    return { number: first + index, why, at: line - 1, removed: lines.length, put: lines }
  })
  return hunksFrom(file, changes).map(({ path: _, ...hunk }) => hunk)
}

/** Three hunks in two files; the second has two parts. */
const HUNKS = [
  ...hunksOf('a.py', [
    [3, 'three\n'],
    [20, 'twenty\n21\ntwenty-two\n'],
  ]),
  ...hunksOf('b.py', [[7, 'seven\n']], 3),
]

const LEAD = 'Edits 2 files: 4 lines added, 4 removed.\nThis is no diff.'

const PLAN = shownPlanOf({
  id: 'plan-hhhhhhhh',
  tool: 'propose_file_edit',
  title: 'Edit 2 files: 3 hunks',
  body: `${LEAD}\n\ndiff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n${HUNKS[0]?.diff}${HUNKS[1]?.diff}`,
  hunks: HUNKS,
})

const CHOOSE = { plan: PLAN.id, hash: PLAN.hash, decision: 'choose' } as const

test('hunks are asked about one after the other, and one answer is sent once all are decided', async () => {
  const { answers, prompts, text } = await askLines({
    plans: [PLAN],
    types: ['y', 'n', 'not in this release', 'y', 'y'],
  })
  assert.equal(prompts.slice(0, 5), [
    '(1/3) Apply this hunk? [y,n,q,a,d,A,D,j,?] ',
    '(2/3) Apply this hunk? [y,n,q,a,d,A,D,s,j,K,?] ',
    'Why? (Enter: no reason) ',
    '(3/3) Apply this hunk? [y,n,q,a,d,K,?] ',
    'Is that to be done? [y,n,D,q,?] ',
  ])
  assert.equal(answers, [
    {
      ...CHOOSE,
      choices: [
        { hunk: 1, decision: 'accept' },
        { hunk: 2, decision: 'refuse', reason: 'not in this release' },
        { hunk: 3, decision: 'accept' },
      ],
    },
  ])
  assert.match(text, '2 of 3 hunks are done, as one change, in a.py, b.py.')
  assert.match(text, `${PLAN.id}: approved, as you decided`)
})

test('n at the last question sends nothing, and lets the person decide anew with what they decided kept', async () => {
  const { answers, prompts, text } = await askLines({
    plans: [PLAN],
    types: ['y', 'n not in this release', 'y', 'n', 'K', 'K', 'n never', 'y'],
  })
  assert.match(text, 'Nothing was sent. Decide anew what you like')
  assert.equal(
    prompts.slice(4).map(prompt => /^\((\d)/.exec(prompt)?.[1] ?? 'all'),
    ['3', '2', '1', 'all'],
  )
  assert.equal(
    answers.map(({ choices }) => choices),
    [
      [
        { hunk: 1, decision: 'refuse', reason: 'never' },
        { hunk: 2, decision: 'refuse', reason: 'not in this release' },
        { hunk: 3, decision: 'accept' },
      ],
    ],
  )
})

test('q asks first where decisions were not sent, and leaves at once where there is none', async () => {
  const asked = await askLines({ plans: [PLAN], types: ['y', 'n no good', 'q', 'n', 'y', 'q', 'y'] })
  assert.is(asked.prompts[3], '2 decisions are not sent: leave? [y]es [n]o ')
  assert.is(asked.prompts[4], '(3/3) Apply this hunk? [y,n,q,a,d,K,?] ')
  assert.is(asked.prompts[6], '3 decisions are not sent: leave? [y]es [n]o ')
  assert.is(asked.prompts.length, 7)
  assert.equal(asked.answers, [])
  const atOnce = await askLines({ plans: [PLAN], types: ['q', 'y', 'y'] })
  assert.is(atOnce.prompts.length, 1)
})

test('all hunks refused is a denial with their reasons', async () => {
  const { answers, text } = await askLines({ plans: [PLAN], types: ['n one', 'n two', 'n', '', 'y'] })
  assert.equal(
    answers[0]?.choices?.map(choice => choice.decision === 'refuse' && choice.reason),
    ['one', 'two', null],
  )
  assert.match(text, 'Nothing is done: all 3 hunks are refused.')
  assert.match(text, `${PLAN.id}: denied`)
})

test('s splits a hunk, and what is taken of it is an edit of that hunk', async () => {
  const { answers, prompts } = await askLines({
    plans: [PLAN],
    types: ['y', 's', 'y', 'n only one', 'y', 'y'],
  })
  assert.equal(prompts.slice(2, 4), [
    '(2/4) Apply this hunk? [y,n,q,a,d,A,D,j,K,?] ',
    '(3/4) Apply this hunk? [y,n,q,a,d,A,D,j,K,?] ',
  ])
  assert.equal(answers[0]?.choices?.[1], {
    hunk: 2,
    decision: 'edit',
    text: 'twenty\n21\n22\n',
    reason: 'only one',
    inPart: true,
  })
})

test('an answer that does not fit leaves the plan waiting, and the hunks as they were decided', async () => {
  const { answers, text } = await askLines({
    plans: [PLAN],
    types: ['y', 'y', 'y', 'y', 'n', 'no', 'y'],
    taken: ({ choices }) =>
      choices?.[2]?.decision === 'accept'
        ? { type: 'unfit', why: 'b.py cannot spell it.' }
        : { type: 'taken' },
  })
  assert.match(text, 'your answer did not count: b.py cannot spell it.')
  assert.equal(
    answers.map(({ choices }) => choices?.[2]?.decision),
    ['accept', 'refuse'],
  )
})

test('a plan that is withdrawn between two hunks is asked about no more, with the cause', async () => {
  const { answers, text } = await askLines({
    plans: [PLAN],
    types: [
      'y',
      asker => {
        asker.tell({ type: 'settled', id: PLAN.id, why: 'a.py was changed.' })
        return 'y'
      },
    ],
  })
  assert.equal(answers, [])
  assert.match(text, `${PLAN.id} needs no answer any more: a.py was changed.`)
})

test('a long hunk is shown page by page, and is not accepted before its end was', async () => {
  const long = `${Array.from({ length: 300 }, (_, line) => `new ${line}`).join('\n')}\n`
  const hunks = hunksFrom({ path: '/project/c.py', shown: 'c.py', newline: '\n', text: '' }, [
    { number: 1, why: null, at: 0, removed: 0, put: linesOf(long) },
  ])
  const plan = { ...PLAN, hunks, body: LEAD }
  const { prompts, answers, text } = await askLines({
    plans: [plan],
    types: ['s', 'y', 'a', 'p', ...Array(13).fill('')],
  })
  assert.equal(prompts.slice(1, 4), Array(3).fill('(1/1) Not all of it was shown. [n,q,d,p,?] '))
  assert.is(prompts.at(-1), '(1/1) Apply this hunk? [y,n,q,a,d,?] ')
  assert.match(text, '| +new 299\n')
  assert.equal(answers, [])
})

test('e gives a hunk to an editor, shows what it made of it, and sends that', async () => {
  const { answers, text } = await askLines({
    plans: [PLAN],
    types: ['e', 'y', 'y', 'y'],
    edit: editor(patch => patch.replace('+three', '+drei\n+\u202e')),
  })
  assert.match(text, '| +drei\n| +⟦U+202E⟧\n')
  assert.equal(answers[0]?.choices?.[0], { hunk: 1, decision: 'edit', text: 'drei\n\u202e\n', reason: null })
  assert.match(text, '1 of them as you wrote it')
})

test('e again has what could not be used, with the cause in front, which the next cause replaces', async () => {
  const drafts: string[] = []
  const written = [
    (patch: string) => patch.replace('-3\n', ''),
    (patch: string) => patch.replace('+three', 'three'),
    (patch: string) => patch.replace('\nthree', '\n-3\n+drei'),
  ]
  const { answers, text } = await askLines({
    plans: [PLAN],
    types: ['e', 'e', 'e', 'y', 'y', 'y'],
    edit: async ({ text: draft }) => {
      drafts.push(draft)
      return { type: 'text', text: written[drafts.length - 1]?.(draft) ?? draft }
    },
  })
  assert.match(text.replaceAll('\n    ', ''), 'e goes on with what you wrote.')
  assert.match(
    drafts[1] ?? '',
    /^# This could not be used: The lines with ' ' and '-' are not those of a\.py, from /,
  )
  assert.not.match(drafts[1] ?? '', '\n-3\n')
  const line = (drafts[2] ?? '').split('\n').indexOf('three') + 1
  assert.match(drafts[2] ?? '', `# This could not be used: Line ${line} of the patch begins with none of`)
  assert.is(drafts[2]?.split('could not be used').length, 2)
  assert.equal(answers[0]?.choices?.[0], { hunk: 1, decision: 'edit', text: 'drei\n', reason: null })
})

test('a hunk that was edited and is looked at again is accepted as it was edited', async () => {
  const { answers } = await askLines({
    plans: [PLAN],
    types: ['y', 'y', 'e', 'n', 'y', 'y'],
    edit: editor(patch => patch.replace('+seven', '+sieben')),
  })
  assert.equal(answers[0]?.choices?.[2], { hunk: 3, decision: 'edit', text: 'sieben\n', reason: null })
})

test('at a real terminal one hunk is refused, one is edited there, and the caller is told which and why', async () => {
  const rig = openRig({ files: { 'a.py': numbered(1, 40) } })
  const editing = join(rig.folder, 'editor')
  writeFileSync(editing, '#!/bin/sh\nsed -i \'s/^+twenty$/+zwanzig/\' "$1"\n', { mode: 0o700 })
  const env = { EDITOR: editing, VISUAL: '' }
  try {
    await rig.serve()
    const screen = openScreen(rig, { args: ['watch', '--plain'], rows: 60, columns: 100, env })
    await screen.shows(/seat-\d+, terminal/)
    const client = await rig.connect()
    const edits = [
      { path: 'a.py', old_str: '\n3\n', new_str: '\nthree\n' },
      { path: 'a.py', old_str: '\n20\n', new_str: '\ntwenty\n', why: 'words' },
    ]
    const answer = within<Envelope>(
      client.call({ tool: 'propose_file_edit', args: { edits } }),
      'what was proposed',
    )
    await screen.shows('(1/2) Apply this hunk? [y,n,q,a,d,e,j,?]')
    screen.type('n keep it\n')
    await screen.shows('(2/2) Apply this hunk? [y,n,q,a,d,e,K,?]')
    screen.type('e\n')
    await screen.shows('Is that to be done?')
    assert.match(screen.text(), '| +zwanzig')
    screen.type('y\n')
    const told = JSON.stringify(await answer)
    assert.match(told, '"outcome":"refused","reason":"keep it"')
    assert.match(told, '"outcome":"edited"')
    assert.is(
      readFileSync(join(rig.project, 'a.py'), 'utf8'),
      numbered(1, 40).replace('\n20\n', '\nzwanzig\n'),
    )
    screen.close()
  } finally {
    await rig.close()
  }
})
