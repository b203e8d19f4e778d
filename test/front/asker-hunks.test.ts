import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { hunksFrom } from '../../tools/hunks.ts'
import { linesOf } from '../../tools/newlines.ts'
import type { Envelope } from '../../tools/outcome.ts'
import { CHOOSE, HUNKS, LEAD, numbered, PLAN } from '../support/asked-hunks.ts'
import { assert, suite } from '../support/harness.ts'
import { askLines, editor } from '../support/line-asker.ts'
import { openRig, within } from '../support/rig.ts'
import { openScreen } from '../support/screen.ts'

const test = suite('hunks at the seat that asks line by line')

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

test('what is no diff in the preview is shown first, then each hunk with its file and what it is for', async () => {
  const { text } = await askLines({ plans: [PLAN], types: ['y', 'y', 'y'] })
  assert.match(text, '| Edits 2 files: 4 lines added, 4 removed.\n| This is no diff.\n')
  assert.not.match(text, '| diff --git')
  assert.match(text, 'Hunk 1 of 3, in a.py\n  why      it was wrong\n| @@ -1,6 +1,6 @@\n')
  for (const { diff } of HUNKS)
    for (const line of diff.trimEnd().split('\n')) assert.match(text, `\n| ${line}\n`)
  assert.match(text, `sha256   ${PLAN.hash}`)
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

test('D at the last question refuses the whole plan, with one reason', async () => {
  const { answers } = await askLines({ plans: [PLAN], types: ['y', 'y', 'y', 'D', 'all wrong'] })
  assert.equal(answers, [{ plan: PLAN.id, hash: PLAN.hash, decision: 'deny', reason: 'all wrong' }])
})

test('A shows and accepts all that is undecided in the plan, and D refuses all of that', async () => {
  const all = await askLines({ plans: [PLAN], types: ['n not this', 'A', 'y'] })
  assert.match(all.text, 'Hunk 3 of 3, in b.py')
  assert.equal(
    all.answers[0]?.choices?.map(({ decision }) => decision),
    ['refuse', 'accept', 'accept'],
  )
  const none = await askLines({ plans: [PLAN], types: ['y', 'D no more', 'y'] })
  assert.equal(none.answers[0]?.choices, [
    { hunk: 1, decision: 'accept' },
    { hunk: 2, decision: 'refuse', reason: 'no more' },
    { hunk: 3, decision: 'refuse', reason: 'no more' },
  ])
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

test('a and d decide this hunk and the later ones of its file, which a shows first', async () => {
  const all = await askLines({ plans: [PLAN], types: ['a', 'd nothing here', 'y'] })
  assert.match(all.text, 'Hunk 2 of 3, in a.py')
  assert.equal(
    all.answers[0]?.choices?.map(({ decision }) => decision),
    ['accept', 'accept', 'refuse'],
  )
  const none = await askLines({ plans: [PLAN], types: ['d not here', 'y', 'y'] })
  assert.equal(none.answers[0]?.choices, [
    { hunk: 1, decision: 'refuse', reason: 'not here' },
    { hunk: 2, decision: 'refuse', reason: 'not here' },
    { hunk: 3, decision: 'accept' },
  ])
})

test('j and k go over undecided hunks, and only keys that make sense are offered', async () => {
  const { prompts, answers } = await askLines({
    plans: [PLAN],
    types: ['j', 'k', 'k', 'j', 'y', 'y', 'y', 'y'],
  })
  assert.equal(
    prompts.map(prompt => /^\((\d)/.exec(prompt)?.[1] ?? 'all'),
    ['1', '2', '1', '1', '2', '3', '1', 'all', 'all'].slice(0, prompts.length),
  )
  assert.equal(prompts[3], prompts[0])
  assert.is(answers.length, 1)
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

test('q leaves all undecided, and other words are explained', async () => {
  const { answers, text } = await askLines({ plans: [PLAN], types: ['y', 'yes please', '?', 'q', 'y'] })
  assert.equal(answers, [])
  assert.match(text, 's  it is split into its separate changes\n')
  assert.not.match(text, 'e  it is changed')
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

test('an edit that cannot be used says why, and the question stands', async () => {
  const { answers, text, prompts } = await askLines({
    plans: [PLAN],
    types: ['e', 'q'],
    edit: editor(patch => patch.replace('-3\n', '')),
  })
  assert.match(text.replaceAll('\n    ', ''), "To keep a line, make its '-' a ' '")
  assert.equal(prompts, Array(2).fill('(1/3) Apply this hunk? [y,n,q,a,d,A,D,e,j,?] '))
  assert.equal(answers, [])
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

test('an editor that failed, or left it as it was, decides nothing', async () => {
  const failed = await askLines({
    plans: [PLAN],
    types: ['e', 'q'],
    edit: async () => ({ type: 'failed', why: 'The editor ended with code 1: what it wrote was dropped.' }),
  })
  assert.match(failed.text, 'ended with code 1')
  const unchanged = await askLines({ plans: [PLAN], types: ['e', 'q'], edit: editor(text => text) })
  for (const { prompts } of [failed, unchanged])
    assert.equal(prompts, Array(2).fill('(1/3) Apply this hunk? [y,n,q,a,d,A,D,e,j,?] '))
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
