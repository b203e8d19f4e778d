import { openDesk } from '../support/desks.ts'
import { assert, suite } from '../support/harness.ts'
import { HUNKS, PROPOSED } from '../support/watch-plans.ts'

const test = suite('hunks at a desk')

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

test('the answer is sent once, after all is decided and a last y', () => {
  const { keys, text } = atHunks()
  keys('y')
  keys('nnot before Monday\r')
  assert.is(keys('y'), undefined)
  assert.match(text(), /2 of 3 hunks are applied, as one change; 1 is refused\./)
  assert.match(text(), /2 +✗ refused {2}shop\/orders\.py, line 16: not before Monday/)
  assert.equal(chosen(keys('y')), {
    plan: PROPOSED.id,
    hash: PROPOSED.hash,
    decision: 'choose',
    choices: [accept(1), refuse(2, 'not before Monday'), accept(3)],
  })
})

test('all hunks refused is said before it is sent', () => {
  const { keys, text } = atHunks()
  keys('n\r')
  keys('n\r')
  keys('n\r')
  assert.match(text(), /All 3 hunks are refused: nothing is done\./)
  assert.equal(chosen(keys('y'))?.choices, [refuse(1), refuse(2), refuse(3)])
})

test('n to the last question changes nothing, and J and K go through all hunks again', () => {
  const { keys, text } = atHunks()
  keys('yyy')
  assert.match(text(), /All 3 hunks are applied/)
  assert.is(keys('n'), undefined)
  assert.match(text(), /hunk +3 of 3[\s\S]*decided +✓ accepted/)
  keys('K')
  assert.match(text(), /hunk +2 of 3/)
  keys('nno\r')
  assert.match(text(), /2 of 3 hunks are applied/)
  assert.equal(chosen(keys('y'))?.choices, [accept(1), refuse(2, 'no'), accept(3)])
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

test('d refuses this and the rest of its file with one reason', () => {
  const { keys } = atHunks()
  keys('y')
  keys('dlater\r')
  assert.equal(chosen(keys('y'))?.choices, [accept(1), refuse(2, 'later'), refuse(3, 'later')])
})

test('the first hunk of a usual plan is whole at 80×24, and taken with one key', () => {
  const { keys, text } = atHunks({ rows: 24 })
  keys('y')
  assert.match(text(), /hunk +2 of 3/)
})

test('A takes all that is undecided in every file, and D none of it, with one reason', () => {
  const hunks = HUNKS.map((hunk, index) => ({ ...hunk, shown: `shop/${index}.py` }))
  const { keys, text, tell } = openDesk(TALL)
  tell({ ...PROPOSED, hunks })
  keys('nnot this\rA')
  assert.match(text(), /2 of 3 hunks are applied, as one change; 1 is refused\./)
  keys('G')
  assert.equal(chosen(keys('y'))?.choices, [refuse(1, 'not this'), accept(2), accept(3)])
  const other = openDesk(TALL)
  other.tell({ ...PROPOSED, hunks })
  other.keys('jyDlater\r')
  assert.match(other.text(), /1 of 3 hunks is applied/)
  assert.equal(chosen(other.keys('y'))?.choices, [refuse(1, 'later'), accept(2), refuse(3, 'later')])
})

test('what A took unseen has to be seen before the last y (threat 15)', () => {
  const { keys, text } = atHunks({ rows: 16 })
  keys('A')
  assert.is(keys('y'), undefined)
  assert.match(text(), /Not all of it was on the screen yet/)
  keys('>')
  assert.ok(chosen(keys('y')))
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

test('a and d stop at the end of a file', () => {
  const hunks = HUNKS.map((hunk, index) => (index === 2 ? { ...hunk, shown: 'shop/other.py' } : hunk))
  for (const key of ['a', 'd\r']) {
    const { keys, text, tell } = openDesk(TALL)
    tell({ ...PROPOSED, hunks })
    keys(key)
    assert.match(text(), /hunk +3 of 3 · shop\/other\.py/)
  }
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

const SAID = {
  nonsense: /begins with none of/,
  lost: /are not\s+those of shop\/orders\.py/,
  empty: /Nothing was left of it/,
}

test('an edited hunk that does not fit says why, and stays undecided', () => {
  const { desk, keys, text } = atHunks()
  const wish = keys('e')
  assert.ok(wish?.type === 'edit')
  for (const [written, said] of [
    ['nonsense', SAID.nonsense],
    [wish.text.replace(/^-.*\n/m, ''), SAID.lost],
    ['', SAID.empty],
  ] as const) {
    desk.edited(wish.about, { type: 'text', text: written })
    assert.match(text(), /hunk +1 of 3/)
    assert.match(text(), /··· Edit/)
    assert.match(text(), said)
  }
})

test('an editor has what I wrote again, with the reason above it', () => {
  const { desk, keys } = atHunks()
  const wish = keys('e')
  assert.ok(wish?.type === 'edit')
  const mine = wish.text.replace(/^-.*\n/m, '').replace('item.count', 'item.number')
  desk.edited(wish.about, { type: 'text', text: mine })
  const again = keys('e')
  assert.ok(again?.type === 'edit')
  const [why = '', ...rest] = again.text.split('\n')
  assert.match(why, /^# .*\bnot be used\b/)
  assert.is(rest.join('\n'), mine)
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
