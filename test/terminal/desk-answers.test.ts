import { unifiedDiff } from '../../tools/diff.ts'
import { openDesk } from '../support/desks.ts'
import { assert, suite } from '../support/harness.ts'
import { shownPlanOf } from '../support/shown-plans.ts'
import { HUNKS, PROPOSED } from '../support/watch-plans.ts'

const test = suite('answers at a desk')

const long = (count: number) => Array.from({ length: count }, (_, n) => `line ${n + 1}`).join('\n')
const ONE = shownPlanOf({ id: 'plan-aaaaaaaa', hash: 'a'.repeat(64), title: 'Write one', turn: 'turn-1' })
const TWO = shownPlanOf({ id: 'plan-bbbbbbbb', hash: 'b'.repeat(64), title: 'Write two', turn: 'turn-1' })
const OTHER = shownPlanOf({ id: 'plan-cccccccc', hash: 'c'.repeat(64), title: 'Write three', turn: 'turn-2' })
const LONG = shownPlanOf({ id: 'plan-llllllll', title: 'Write much', body: long(200) })

const answerTo = ({ id, hash }: typeof ONE, decision: 'approve' | 'deny', more = {}) => ({
  type: 'answer',
  answers: [{ plan: id, hash, decision, ...more }],
})

test('y approves exactly what was shown, once, however often it is pressed', () => {
  const { tell, keys, text, desk } = openDesk()
  tell(ONE)
  assert.equal(keys('y'), answerTo(ONE, 'approve'))
  assert.match(text(), /approving…/)
  assert.is(keys('y'), undefined)
  assert.is(keys('n'), undefined)
  desk.answered(ONE.id, { type: 'taken' })
  assert.match(text(), /Nothing waits for you\.[\s\S]*plan-aaaaaaaa approved/)
})

test('at 80×24, one line of a file is approved with one key while another plan waits', () => {
  const before = Array.from({ length: 30 }, (_, n) => `line_${n} = ${n}\n`).join('')
  const diff = unifiedDiff({ path: 'a.py', before, after: before.replace('= 12', '= 120') })
  const edit = { tool: 'edit_file', title: 'Edit a.py', who: 'claude-code', root: '/home/ada/shop' }
  // Asked for the third time: the rule that is told then does not have to be looked at each time.
  const rule = '[[rule]]\ndecision = "allow"\ntool = "edit_file"\npath = "a.py"\n'
  const plan = { ...ONE, ...edit, body: `Edits a.py: 1 line added.\n\n${diff.text}`, times: 3, rule }
  const { tell, keys, text } = openDesk({ columns: 80, rows: 24 })
  tell(plan, { ...TWO, ...edit })
  assert.match(text(), /\| {2}line_15 = 15/)
  assert.equal(keys('y'), answerTo(plan, 'approve'))
})

test('of the headings of a file in a difference only those that say something are rows', () => {
  const diff = unifiedDiff({ path: 'a.py', before: 'one\n', after: 'two\n' })
  const { tell, text } = openDesk()
  tell(shownPlanOf({ ...ONE, body: diff.text }))
  assert.match(text(), /^\| --- a\/a\.py\n\| \+\+\+ b\/a\.py\n\| @@/m)
  assert.not.match(text(), /diff --git/)
  for (const body of [
    diff.text.replace('+++ b/a.py', '+++ b/other.py'),
    diff.text.replace('--- a/a.py', '--- /dev/null'),
    'diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\nno difference\n',
  ]) {
    const other = openDesk()
    other.tell(shownPlanOf({ ...ONE, body }))
    assert.match(other.text(), /^\| diff --git a\/a\.py b\/a\.py$/m)
  }
})

test('n asks why, and Enter alone gives no reason', () => {
  const { tell, keys, text } = openDesk()
  tell(ONE, OTHER)
  assert.is(keys('n'), undefined)
  assert.match(text(), /Why not\?/)
  assert.equal(keys('not today, y\r'), answerTo(ONE, 'deny', { reason: 'not today, y' }))
  assert.equal(keys('2n\r'), answerTo(OTHER, 'deny'))
})

test('a reason is written with the keys of a line editor, and Escape goes back to the plan', () => {
  const { desk, tell, keys, key, text } = openDesk()
  tell(ONE)
  keys('ntoo much')
  key('alt-backspace')
  keys('long')
  key('ctrl-a')
  keys('far ')
  assert.equal(desk.paint().length, 24)
  assert.equal(desk.cursor, { row: 22, column: 14 })
  assert.match(text(), /Why not\? far too long/)
  key('escape')
  assert.not.match(text(), /Why not/)
  keys('n')
  assert.equal(keys('other\r'), answerTo(ONE, 'deny', { reason: 'other' }))
})

test('what is pasted is a reason where one is written, and no key elsewhere', () => {
  const { desk, tell, keys } = openDesk()
  tell(ONE)
  stand(desk)
  assert.is(desk.press({ type: 'paste', text: 'y' }), undefined)
  keys('n')
  desk.press({ type: 'paste', text: 'one\ntwo\n' })
  assert.equal(keys('\r'), answerTo(ONE, 'deny', { reason: 'one two' }))
})

test('nothing is approved before the end of its text was on the screen, which may be left again (threat 15)', () => {
  const { tell, keys, text } = openDesk()
  tell(LONG)
  assert.is(keys('y'), undefined)
  assert.match(text(), /G shows the end; y after that/)
  assert.match(text(), /Not all of it was on the screen yet/)
  keys('G')
  assert.match(text(), /y approve/)
  assert.equal(keys('<y'), answerTo(LONG, 'approve'))
})

test('a text that was padded is approved after its far end was seen, and no sooner (threat 15)', () => {
  for (const body of [
    `x = 1;${' '.repeat(150_000)}last = 1`,
    `${'\n'.repeat(1_500)}last = 1`,
    `x = "${'é'.repeat(50_000)}"; last = 1`,
  ]) {
    const { tell, keys, text } = openDesk()
    tell({ ...ONE, body })
    for (let screens = 0; !/last = 1/.test(text()); screens++) {
      assert.is(keys('y'), undefined)
      assert.ok(screens < 10_000)
      keys(screens % 3 === 0 ? '>' : ' ')
    }
    keys('>')
    assert.is(keys('y')?.type, 'answer')
  }
})

test('after an answer the rest of the turn comes next', () => {
  const { desk, tell, keys, text } = openDesk()
  tell(ONE, OTHER, TWO)
  keys('y')
  desk.answered(ONE.id, { type: 'taken' })
  assert.match(text(), /^── plan-bbbbbbbb/m)
})

test('a approves the whole turn after it showed what was not seen of it, and no other turn', () => {
  const { tell, keys, text } = openDesk()
  tell(ONE, shownPlanOf({ ...TWO, body: long(100) }), OTHER)
  assert.is(keys('a'), undefined)
  assert.match(text(), /All 2 plans of this turn/)
  assert.is(keys('y'), undefined)
  assert.match(text(), /Not all of it was on the screen yet/)
  assert.equal(keys('Gy'), {
    type: 'answer',
    answers: [ONE, TWO].map(({ id, hash }) => ({ plan: id, hash, decision: 'approve' })),
  })
})

test('n to the question about a turn does nothing', () => {
  const { tell, keys, text } = openDesk()
  tell(ONE, TWO)
  keys('a')
  assert.match(text(), /All 2 plans of this turn/)
  assert.is(keys('n'), undefined)
  assert.match(text(), /^── plan-aaaaaaaa/m)
})

test('d denies the whole turn with one reason', () => {
  const { tell, keys, text } = openDesk()
  tell(ONE, TWO, OTHER)
  keys('d')
  assert.match(text(), /Why none of these 2\?/)
  assert.equal(keys('no\r'), {
    type: 'answer',
    answers: [ONE, TWO].map(({ id, hash }) => ({ plan: id, hash, decision: 'deny', reason: 'no' })),
  })
})

test('g offers what the plan offers, a digit approves with it, and Escape does not', () => {
  const { tell, keys, text } = openDesk()
  tell(shownPlanOf({ ...ONE, grants: ['src/shop.py', 'src/*.py'] }))
  keys('g')
  assert.match(text(), /1 +src\/shop\.py\n +2 +src\/\*\.py/)
  assert.is(keys('3'), undefined)
  keys('\x1bg')
  assert.equal(keys('2'), answerTo(ONE, 'approve', { grant: 'src/*.py' }))
})

const NOTHING: readonly (readonly [keys: string, said: RegExp])[] = [
  ['a', /It is the only plan of its turn/],
  ['g', /can be let through/],
  ['e', /There are no arguments/],
  ['s', /it has no hunks/],
]

for (const [key, said] of NOTHING)
  test(`${key} says so where there is nothing for it`, () => {
    const { tell, keys, text } = openDesk()
    tell(OTHER)
    assert.is(keys(key), undefined)
    assert.match(text(), said)
  })

test('g waits for the end of the text', () => {
  const { tell, keys, text } = openDesk()
  tell({ ...LONG, grants: ['a.py'] })
  keys('g')
  assert.match(text(), /Not all of it was on the screen yet/)
})

test('e gives the arguments to an editor, and answers with what came back', () => {
  const { desk, tell, keys, text } = openDesk()
  tell(shownPlanOf({ ...ONE, args: { path: 'a.py', content: 'one\n' } }))
  const wish = keys('e')
  assert.ok(wish?.type === 'edit')
  assert.equal(JSON.parse(wish.text), { path: 'a.py', content: 'one\n' })
  for (const [written, said] of [
    ['{', /are not JSON any more/],
    ['[1]', /have to be one JSON object/],
  ] as const) {
    assert.is(desk.edited(wish.about, { type: 'text', text: written }), undefined)
    assert.match(text(), said)
  }
  assert.is(desk.edited(wish.about, { type: 'unchanged' }), undefined)
  assert.is(desk.edited(wish.about, { type: 'failed', why: 'The editor is ill.' }), undefined)
  assert.match(text(), /The editor is ill\./)
  assert.equal(desk.edited(wish.about, { type: 'text', text: '{"path":"b.py"}' }), {
    type: 'answer',
    answers: [{ plan: ONE.id, hash: ONE.hash, decision: 'edit', args: { path: 'b.py' } }],
  })
})

const WANTED = { why: null, id: 'wanted-1', who: 'terminal 9', terminal: '/dev/pts/9' } as const
const wanted = { ...WANTED, pid: 9, command: 'imago watch' }

test('somebody else who wants a seat is let in by y alone', () => {
  const { desk, keys, text } = openDesk()
  desk.tell({ type: 'wanted', wanted })
  assert.match(text(), /Somebody else wants to approve, too[\s\S]*imago watch/)
  assert.equal(keys('y'), { type: 'admit', wanted: 'wanted-1', admit: true })
  desk.tell({ type: 'wanted', wanted })
  assert.equal(keys('n'), { type: 'admit', wanted: 'wanted-1', admit: false })
  desk.tell({ type: 'wanted', wanted })
  assert.is(desk.waits, 1)
  desk.tell({ type: 'settled', id: 'wanted-1', why: 'It has gone.' })
  assert.is(desk.waits, 0)
})

test('of an editor that wants a seat its code is shown, and what may drive it', () => {
  const { desk, text } = openDesk()
  const through = { code: 'k7mp-3xqr', driver: 'process 7 (code), the host of an MCP server' }
  desk.tell({ type: 'wanted', wanted: { ...wanted, through } })
  assert.match(text(), /shows the code k7mp-3xqr[\s\S]*may drive it: process 7 \(code\)/)
})

test('trouble with the journal is asked about first, and noted with y', () => {
  const { desk, keys, text } = openDesk()
  desk.sits({ id: 'seat-2', who: 'me', others: [], trouble: 'The journal was cut.' })
  assert.match(text(), /Dangerous calls are refused:\n The journal was cut\./)
  assert.equal(keys('y'), { type: 'acknowledge' })
  assert.is(desk.waits, 0)
})

const TALL = { rows: 60 }
const atHunks = (size: { rows: number } = TALL) => {
  const at = openDesk(size)
  at.tell(PROPOSED)
  return at
}

const chosen = (wish: ReturnType<ReturnType<typeof openDesk>['keys']>) =>
  wish?.type === 'answer' ? wish.answers[0] : undefined

const accept = (hunk: number) => ({ hunk, decision: 'accept' })
const refuse = (hunk: number, reason: string | null = null) => ({ hunk, decision: 'refuse', reason })

test('hunks are shown one at a time, and what the preview says besides before the last y', () => {
  const { keys, text } = atHunks()
  assert.match(text(), /propose_file_edit \(dangerous\)[\s\S]*hunk +1 of 3 · shop\/orders\.py, line 12/)
  assert.match(text(), /why +An order may have several of one thing\./)
  assert.not.match(text(), /FAST/)
  keys('y')
  assert.match(text(), /✓·· Edit shop[\s\S]*hunk +2 of 3/)
  assert.not.match(text(), /Edits shop\/orders\.py/)
  keys('yy')
  assert.match(
    text(),
    /sha256[\s\S]*Edits shop\/orders\.py: 3 lines added, 5 removed\.[\s\S]*All 3 hunks are applied/,
  )
})

test('the answer is sent once, after all is decided and a last y, and n to that changes nothing', () => {
  const { keys, text } = atHunks()
  keys('yyy')
  assert.match(text(), /All 3 hunks are applied/)
  assert.is(keys('n'), undefined)
  assert.match(text(), /hunk +3 of 3[\s\S]*decided +✓ accepted/)
  keys('K')
  assert.match(text(), /hunk +2 of 3/)
  keys('nnot before Monday\r')
  assert.match(text(), /2 of 3 hunks are applied, as one change; 1 is refused\./)
  assert.match(text(), /2 +✗ refused {2}shop\/orders\.py, line 16: not before Monday/)
  assert.equal(chosen(keys('y')), {
    plan: PROPOSED.id,
    hash: PROPOSED.hash,
    decision: 'choose',
    choices: [accept(1), refuse(2, 'not before Monday'), accept(3)],
  })
})

/** Each of its hunks is of another file. */
const OF_FILES = { ...PROPOSED, hunks: HUNKS.map((hunk, index) => ({ ...hunk, shown: `shop/${index}.py` })) }

const DECIDED: readonly (readonly [keys: string, said: RegExp, choices: object[], plan: typeof PROPOSED])[] =
  [
    ['n\rn\rn\r', /All 3 hunks are refused: nothing is done/, [refuse(1), refuse(2), refuse(3)], PROPOSED],
    ['ydlater\r', /1 of 3 hunks is applied/, [accept(1), refuse(2, 'later'), refuse(3, 'later')], PROPOSED],
    ['nno\rA', /1 is refused\./, [refuse(1, 'no'), accept(2), accept(3)], OF_FILES],
    ['jyDno\r', /2 are refused/, [refuse(1, 'no'), accept(2), refuse(3, 'no')], OF_FILES],
    ['add\r', /1 of 3 hunks is applied/, [accept(1), refuse(2, 'd'), refuse(3)], OF_FILES],
  ]

for (const [typed, said, choices, plan] of DECIDED)
  test(`hunks are decided on with ${JSON.stringify(typed)}, which is said before the last y`, () => {
    const { keys, text, tell } = openDesk(TALL)
    tell(plan)
    keys(typed)
    if (typed === 'add\r') keys('n\r')
    assert.match(text(), said)
    keys('G')
    assert.equal(chosen(keys('y'))?.choices, choices)
  })

test('j and k go to hunks that are undecided, and say where there is none', () => {
  const { keys, text } = atHunks()
  keys('jy')
  assert.match(text(), /hunk +3 of 3/)
  keys('k')
  assert.match(text(), /hunk +1 of 3/)
  keys('k')
  assert.match(text(), /No hunk before this one is undecided/)
  keys('j')
  assert.match(text(), /hunk +3 of 3/)
})

test('a takes this and the rest of its file, and what nobody saw has to be seen before the last y (threat 15)', () => {
  const { keys, text } = atHunks({ rows: 24 })
  keys('a')
  assert.match(text(), /All 3 hunks are applied/)
  assert.is(keys('y'), undefined)
  assert.match(text(), /Not all of it was on the screen yet/)
  keys('G')
  assert.match(text(), /\+ {4}return \(FAST if express/)
  assert.equal(chosen(keys('y'))?.choices, [accept(1), accept(2), accept(3)])
})

test('what is to be looked at twice stands above each hunk, and the sign for a split where there can be one', () => {
  const { keys, text, tell } = openDesk(TALL)
  tell({ ...PROPOSED, warnings: ['It has hidden characters.'] })
  for (const key of ['', 'y', 'y', 'y']) {
    keys(key)
    assert.match(text(), /LOOK +It has hidden characters\./)
  }
  const one = atHunks()
  one.keys('<')
  assert.match(one.text(), / e edit/)
  assert.not.match(one.text(), / s split/)
})

test('a hunk is accepted only once its end was on the screen (threat 15)', () => {
  const { keys, text } = atHunks({ rows: 16 })
  assert.is(keys('y'), undefined)
  assert.match(text(), /hunk +1 of 3|Not all of it/)
  keys('Gy')
  assert.match(text(), /hunk +2 of 3/)
})

test('e gives the hunk to an editor as git does, and what comes back is shown before it is sent', () => {
  const { desk, keys, text } = atHunks()
  const wish = keys('e')
  assert.ok(wish?.type === 'edit')
  assert.equal(wish.about, { type: 'hunk', plan: PROPOSED.id, piece: 0, suffix: '.diff' })
  assert.match(wish.text, /^\+ {8}return sum\(item\.price \* item\.count/m)
  const edited = wish.text.replace('* item.count', '* item.number')
  assert.is(desk.edited(wish.about, { type: 'text', text: edited }), undefined)
  assert.match(text(), /✎·· Edit[\s\S]*hunk +2 of 3/)
  keys('yy')
  assert.match(text(), /1 +✎ as you wrote it[\s\S]*\* item\.number/)
  assert.equal(chosen(keys('Gy'))?.choices?.[0], {
    hunk: 1,
    decision: 'edit',
    text: '        return sum(item.price * item.number for item in self.items)\n',
    reason: null,
  })
})

test('an edited hunk that does not fit says why, stays undecided, and can be gone on with', () => {
  const { desk, keys, text } = atHunks()
  const wish = keys('e')
  assert.ok(wish?.type === 'edit')
  const lost = wish.text.replace(/^-.*\n/m, '').replace('item.count', 'item.number')
  for (const [written, said] of [
    ['nonsense', /begins with none of/],
    ['', /Nothing was left of it/],
    [lost, /are not\s+those of shop\/orders\.py/],
  ] as const) {
    desk.edited(wish.about, { type: 'text', text: written })
    assert.match(text(), /··· Edit[\s\S]*hunk +1 of 3/)
    assert.match(text(), said)
  }
  const again = keys('e')
  assert.ok(again?.type === 'edit')
  const [why = '', ...rest] = again.text.split('\n')
  assert.match(why, /^# .*\bnot be used\b/)
  assert.is(rest.join('\n'), lost)
})

test('s splits a hunk into its separate changes, and a part that is refused leaves its lines', () => {
  const hunk = {
    number: 1,
    shown: 'a.py',
    line: 1,
    before: 'one\nmiddle\ntwo\n',
    after: 'ONE\nmiddle\nTWO\n',
    diff: '@@ -1,3 +1,3 @@\n-one\n+ONE\n middle\n-two\n+TWO\n',
    why: null,
  }
  const { keys, text, tell } = openDesk(TALL)
  tell({ ...PROPOSED, hunks: [hunk] })
  keys('<')
  assert.match(text(), / s split/)
  keys('s')
  assert.match(text(), /It is 2 parts now/)
  assert.match(text(), /hunk +1 of 2 · a\.py, line 1, a part of hunk 1/)
  keys('s')
  assert.match(text(), /cannot be split any further/)
  keys('y')
  keys('nkeep two\r')
  assert.equal(chosen(keys('Gy'))?.choices, [
    { hunk: 1, decision: 'edit', text: 'ONE\nmiddle\ntwo\n', reason: 'keep two', inPart: true },
  ])
})

test('where there is no Unicode, the states of hunks are letters', () => {
  const { keys, text, tell } = openDesk({ rows: 60, unicode: false })
  tell(PROPOSED)
  keys('y')
  keys('n\r')
  assert.match(text(), /yn\. Edit shop/)
  assert.ok([...text()].every(character => character <= '~'))
})

test('another plan can be looked at in the middle, and what was decided stays', () => {
  const { keys, text, tell } = atHunks()
  tell({ ...PROPOSED, id: 'plan-zzzzzzzz', hunks: [] })
  keys('y')
  keys('\t\t')
  assert.match(text(), /hunk +2 of 3/)
})

const LATE = { type: 'late', why: 'terminal 9 denied it.' } as const

const press = (desk: ReturnType<typeof openDesk>['desk'], text: string) => desk.press({ type: 'text', text })
/** What is asked is on the screen, and has stood there. */
const stand = (desk: ReturnType<typeof openDesk>['desk']) => {
  desk.paint()
  desk.rested()
}
const settle = (desk: ReturnType<typeof openDesk>['desk'], { id }: typeof ONE) =>
  desk.tell({ type: 'settled', id, why: 'Its caller gave up.' })

for (const key of ['y', 'n', 'a', 'd', 'e', 's', 'g', '1']) {
  const first = { ...ONE, args: { a: 1 }, grants: ['a.py'] }
  const BEGUN = /Why|All 2 plans|approving/

  test(`${key} does nothing before what it would answer was painted and stood (threat 20)`, () => {
    const { desk, tell, text } = openDesk()
    tell(first, TWO)
    assert.is(press(desk, key), undefined)
    desk.paint()
    assert.is(desk.settling, true)
    assert.is(press(desk, key), undefined)
    assert.not.match(text(), BEGUN)
  })

  test(`${key} does nothing when what it was meant for was settled under the cursor (threat 20)`, () => {
    const { desk, tell, keys, text } = openDesk()
    tell(first, TWO, OTHER)
    stand(desk)
    settle(desk, ONE)
    // Before anything was painted of it, and afterwards, however long.
    assert.is(press(desk, key), undefined)
    assert.is(keys(key), undefined)
    assert.match(text(), /plan-aaaaaaaa needs no answer any more\.\n Its caller gave up\./)
    assert.not.match(text(), BEGUN)
    keys('\r')
    assert.match(text(), /^── plan-bbbbbbbb/m)
    assert.is(press(desk, key), undefined)
  })
}

test('a reason that is being written when its plan is settled goes nowhere, nor do its keys (threat 20)', () => {
  const { desk, tell, keys, text } = openDesk()
  tell(ONE, TWO)
  keys('nbecau')
  settle(desk, ONE)
  assert.is(keys('se you say yes, jq1'), undefined)
  assert.match(text(), /plan-aaaaaaaa needs no answer any more/)
  // The Enter that was to send it.
  assert.is(keys('\r'), undefined)
  assert.match(text(), /^── plan-bbbbbbbb/m)
  assert.equal(keys('y'), {
    type: 'answer',
    answers: [{ plan: TWO.id, hash: TWO.hash, decision: 'approve' }],
  })
})

test('a reason goes to the plan that it was begun for, whatever comes and goes beside it', () => {
  const { desk, tell, keys } = openDesk()
  tell(ONE, OTHER)
  stand(desk)
  // What comes at once behind n is of the reason.
  press(desk, 'nbe')
  tell(TWO)
  settle(desk, OTHER)
  assert.equal(keys('cause\r'), {
    type: 'answer',
    answers: [{ plan: ONE.id, hash: ONE.hash, decision: 'deny', reason: 'because' }],
  })
})

test('a turn that is to be approved together is asked about anew when one of it is settled (threat 20)', () => {
  const { desk, tell, keys, text } = openDesk()
  tell(ONE, TWO)
  keys('a')
  assert.match(text(), /All 2 plans of this turn/)
  settle(desk, TWO)
  assert.is(keys('y'), undefined)
  assert.match(text(), /plan-bbbbbbbb needs no answer any more/)
  keys('\r')
  assert.match(text(), /^── plan-aaaaaaaa/m)
})

test('a plan that comes later is in no turn that is being approved', () => {
  const { tell, keys } = openDesk()
  tell(ONE, TWO)
  keys('a')
  tell(shownPlanOf({ ...ONE, id: 'plan-dddddddd', hash: 'd'.repeat(64) }))
  const wish = keys('y')
  assert.equal(wish?.type === 'answer' && wish.answers.map(({ plan }) => plan), [ONE.id, TWO.id])
})

test('another plan that is settled goes with a note, and changes nothing of the one that is looked at', () => {
  const { desk, tell, text } = openDesk()
  tell(ONE, OTHER)
  stand(desk)
  settle(desk, OTHER)
  assert.equal(press(desk, 'y'), {
    type: 'answer',
    answers: [{ plan: ONE.id, hash: ONE.hash, decision: 'approve' }],
  })
  assert.match(text(), /plan-cccccccc needs no answer any more: Its caller gave up\./)
})

test('what was withdrawn makes room by itself once no key was pressed for a while', () => {
  const { desk, tell, keys, text } = openDesk()
  tell(ONE, OTHER)
  desk.tick(1_000)
  settle(desk, ONE)
  desk.tick(10_999)
  assert.match(text(), /plan-aaaaaaaa needs no answer any more/)
  keys('y')
  desk.tick(20_998)
  assert.match(text(), /plan-aaaaaaaa needs no answer any more/)
  desk.tick(20_999)
  assert.match(text(), /^── plan-cccccccc/m)
})

test('a key that comes at once behind an answer is for nothing that the answer brought up', () => {
  const { desk, tell, text } = openDesk()
  tell(ONE, OTHER)
  stand(desk)
  const wish = press(desk, 'yyy')
  assert.equal(wish?.type === 'answer' && wish.answers.map(({ plan }) => plan), [ONE.id])
  desk.answered(ONE.id, { type: 'taken' })
  assert.is(press(desk, 'y'), undefined)
  assert.match(text(), /^── plan-cccccccc/m)
})

test('each hunk has to stand before a key answers it (threat 20)', () => {
  const { desk, tell, keys, text } = openDesk({ rows: 50 })
  tell(PROPOSED)
  keys('y')
  assert.match(text(), /hunk +2 of 3/)
  assert.is(press(desk, 'y'), undefined)
  assert.match(text(), /hunk +2 of 3/)
})

test('an answer that came too late says so, and the next plan is not answered by it (fault 27)', () => {
  const { desk, tell, keys, text } = openDesk()
  tell(ONE, OTHER)
  keys('y')
  desk.answered(ONE.id, LATE)
  assert.match(text().replace(/\s+/g, ' '), /did not count: it came too late\. terminal 9 denied it\./)
  assert.is(keys('y'), undefined)
  keys('\r')
  assert.match(text(), /^── plan-cccccccc/m)
})

test('an answer that does not fit leaves the plan to be answered', () => {
  const { desk, tell, keys, text } = openDesk()
  tell(ONE)
  keys('y')
  desk.answered(ONE.id, { type: 'unfit', why: 'that grant was not offered.' })
  assert.match(text(), /did not count: that grant was not offered\./)
  assert.is(keys('y')?.type, 'answer')
})

test('what was asked before something else had the screen has to stand again', () => {
  const { desk, tell } = openDesk()
  tell(ONE)
  stand(desk)
  desk.shownAgain()
  assert.is(press(desk, 'y'), undefined)
  desk.paint()
  assert.is(press(desk, 'y'), undefined)
  desk.rested()
  assert.is(press(desk, 'y')?.type, 'answer')
})

test('a seat that somebody wants is not granted by a key for a plan (threat 20)', () => {
  const { desk, tell, keys, text } = openDesk()
  tell(ONE)
  stand(desk)
  desk.tell({ type: 'wanted', wanted })
  settle(desk, ONE)
  assert.is(press(desk, 'y'), undefined)
  keys('\r')
  assert.match(text(), /Is that you\?/)
  desk.tell({ type: 'settled', id: 'wanted-1', why: 'It has gone.' })
  assert.is(keys('y'), undefined)
})
