import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, suite } from '../support/harness.ts'
import { type Rig, until } from '../support/rig.ts'
import { openScreen, type ScreenOf } from '../support/screen.ts'
import { codeOf, evaluating, openSeatRigs } from '../support/watching.ts'

/** The screen of `imago watch`, at a real terminal, with a real daemon and real files. */
const test = suite('watch at a terminal')
const { withSeatScreen, close } = openSeatRigs()
test.after(close)

const OFFERED = / y approve /
const TEN = Array.from({ length: 30 }, (_, n) => `line_${n} = ${n}\n`).join('')

const withFiles = (use: (parts: { rig: Rig; screen: ScreenOf }) => Promise<void>) =>
  withSeatScreen({}, async parts => {
    for (const name of ['a.py', 'b.py']) writeFileSync(join(parts.rig.project, name), TEN)
    await use(parts)
  })

const text = (rig: Rig, path: string) => readFileSync(join(rig.project, path), 'utf8')

/** One line of that file. */
async function editing(rig: Rig, path: string) {
  const client = await rig.connect()
  const args = { path, old_str: 'line_12 = 12', new_str: 'line_12 = 120' }
  return { client, args, answer: client.call({ tool: 'edit_file', args }) }
}

/** Two calls of one client at once: a turn. */
async function turnOf(rig: Rig) {
  const client = await rig.connect()
  const call = (path: string) =>
    client.call({ tool: 'edit_file', args: { path, old_str: 'line_12 = 12', new_str: 'line_12 = 120' } })
  return Promise.all([call('a.py'), call('b.py')])
}

test('y approves what is shown, n denies it with the reason that is typed, and each turn rings once', () =>
  withSeatScreen({}, async ({ rig, screen }) => {
    const bells = () => screen.written.split('\x07').length - 1
    const { answer } = await evaluating(rig, 'x = 40\nx + 2')
    await screen.shows(OFFERED)
    for (const part of ['| x = 40\n| x + 2\n', 'eval_expr', 'imago test', rig.project])
      assert.ok(screen.text().includes(part), part)
    assert.match(screen.text(), /sha256 {3}[0-9a-f]{64}$/m)
    assert.is(bells(), 1)
    screen.type('y')
    assert.is(codeOf(await answer), 'ok')
    await screen.shows(/plan-\w+ approved/)
    await screen.shows('Nothing waits for you.')
    const second = await evaluating(rig, '1')
    await screen.shows(OFFERED)
    screen.type('n')
    await screen.shows('Why not?')
    screen.type('not tody\x1b[Da\r')
    const denied = await second.answer
    assert.is(codeOf(denied), 'denied')
    assert.match(JSON.stringify(denied), 'not today')
    await screen.shows(/plan-\w+ denied/)
    assert.is(bells(), 2)
  }))

test('at 40×10 and without colours, too', () =>
  withSeatScreen({ columns: 40, rows: 10, env: { NO_COLOR: '1' } }, async ({ rig, screen }) => {
    const { answer } = await evaluating(rig, Array.from({ length: 30 }, (_, n) => `a${n} = ${n}`).join('\n'))
    await screen.shows(/ G end, then y /)
    screen.type('G')
    await screen.shows(OFFERED)
    const looks = screen.cells().flatMap(row => row.flatMap(cell => cell.looks))
    assert.ok(looks.every(look => !/^[fb]g:/.test(look)))
    screen.type('y')
    assert.is(codeOf(await answer), 'ok')
  }))

test('nothing of a hostile text reaches the terminal as a control, nor does anything else (threat 16)', () =>
  withSeatScreen({ rows: 40 }, async ({ rig, screen }) => {
    const hostile = `x = 1 # \x1b]0;owned\x07 \x1b[2J\x1b[31m \x9b31m \u202e evil \u200b \x1b]8;;http://a\x07b\r| y\n`
    const { answer } = await evaluating(rig, hostile)
    answer.catch(() => {})
    await screen.shows(/LOOK/)
    await screen.shows(OFFERED)
    assert.match(screen.text(), /⟦U\+001B⟧\]0;owned⟦U\+0007⟧/)
    const rest = OURS.reduce((text, ours) => text.replaceAll(ours, ''), screen.written)
    // What is left of all that was written is text: and the bell, once.
    assert.is(rest.replace('\x07', '').match(/\p{Cc}|\p{Cf}|\p{Zl}|\p{Zp}/gu), null)
  }))

const ESC = '\x1b'
/** All that this screen ever sends besides text. */
const OURS = [
  new RegExp(`${ESC}\\[\\?(?:1049|2004|25|7)[hl]`, 'g'),
  new RegExp(`${ESC}\\[\\d+;\\d+r`, 'g'),
  new RegExp(`${ESC}\\[(?:\\d+[ABC]|H)`, 'g'),
  /\r\n?/g,
  new RegExp(`${ESC}\\[\\d+[ST]`, 'g'),
  new RegExp(`${ESC}\\[[rKJ]`, 'g'),
  new RegExp(`${ESC}\\[2J`, 'g'),
  new RegExp(`${ESC}\\[(?:[0-47]|3[0-6]|43|;)*m`, 'g'),
]

test('the person’s own editor gets the arguments, and what it writes comes back as another plan', () =>
  withSeatScreen({ env: { EDITOR: 'sed -i s/41/42/' } }, async ({ rig, screen }) => {
    const { answer } = await evaluating(rig, 'print(41)')
    await screen.shows(OFFERED)
    screen.type('e')
    await screen.shows('| print(42)')
    await screen.shows(OFFERED)
    screen.type('y')
    assert.match(JSON.stringify(await answer), /42/)
  }))

test('a diff of 10,000 lines is gone through to its end, and only rows that change are written', () =>
  withSeatScreen({ columns: 100, rows: 30 }, async ({ rig, screen }) => {
    const before = Array.from({ length: 10_000 }, (_, n) => `line ${n} as it was\n`).join('')
    writeFileSync(join(rig.project, 'long.txt'), before)
    const client = await rig.connect()
    const content = before.replaceAll('as it was', 'as it is now')
    const answer = client.call({ tool: 'write_file', args: { path: 'long.txt', content } })
    await screen.shows(/ G shows the end/)
    assert.match(screen.text(), /line \d+ of 20,00\d/)
    screen.type('\x1b[B\x1b[B')
    await screen.shows(/line \d+ of 20,00\d/)
    const written = screen.written.length
    const top = screen.rows()[3]
    screen.type('\x1b[B')
    await until(() => screen.rows()[3] !== top, 'the next row')
    assert.ok(screen.written.length - written < 1_000, `${screen.written.length - written} characters`)
    screen.type('G')
    await screen.shows(/100% · line 20,00\d of/)
    assert.match(screen.text(), /^\| \+line 9999 as it is now$/m)
    screen.type('n\r')
    assert.is(codeOf(await answer), 'denied')
  }))

test('with TERM=dumb it goes line by line', () =>
  withSeatScreen({}, async ({ rig, screen }) => {
    screen.type('q')
    await screen.ended
    const plain = openScreen(rig, { args: ['watch'], env: { TERM: 'dumb' } })
    await plain.shows(/seat-\d+, terminal/)
    const { answer } = await evaluating(rig, '1')
    await plain.shows('Approve? [y]es [n]o')
    assert.not.match(plain.written, ESC)
    plain.type('y\n')
    assert.is(codeOf(await answer), 'ok')
    plain.close()
  }))

test('a approves a turn, once all of it was on the screen, and d denies one with one reason', () =>
  withFiles(async ({ rig, screen }) => {
    const refused = turnOf(rig)
    await screen.shows(/ d deny turn /)
    screen.type('d')
    await screen.shows('Why none of these 2?')
    screen.type('not on Fridays\r')
    for (const answer of await refused) {
      assert.is(codeOf(answer), 'denied')
      assert.match(JSON.stringify(answer), 'not on Fridays')
    }
    assert.is(text(rig, 'a.py') + text(rig, 'b.py'), TEN + TEN)
    const answers = turnOf(rig)
    await screen.shows(/ a approve turn /)
    screen.type('a')
    await screen.shows('All 2 plans of this turn')
    await screen.shows(/ G shows the end; y after that /)
    screen.type('G')
    await screen.shows(/ y approve all 2 /)
    screen.type('y')
    assert.equal((await answers).map(codeOf), ['ok', 'ok'])
    for (const path of ['a.py', 'b.py']) assert.match(text(rig, path), 'line_12 = 120')
  }))

test('g lets the next one through, which the idle screen says, and r and its number end that', () =>
  withFiles(async ({ rig, screen }) => {
    const { answer, client, args } = await editing(rig, 'a.py')
    await screen.shows(/ g grant /)
    screen.type('g')
    await screen.shows(/^ +1 +a\.py$/m)
    await screen.shows(/ 1 a\.py {2}/)
    screen.type('1')
    assert.is(codeOf(await answer), 'ok')
    const again = { ...args, old_str: 'line_12 = 120', new_str: 'line_12 = 121' }
    assert.is(codeOf(await client.call({ tool: 'edit_file', args: again })), 'ok')
    await screen.shows(/1 +edit_file on a\.py for .* more, let through\s+once/)
    screen.type('r')
    await screen.shows(/ 1 revoke /)
    screen.type('1')
    await screen.shows('There is no grant')
    assert.match((await rig.imago(['approvals', '--json'])).stdout, /"grants": ?\[\]/)
    screen.type('q')
    const asked = client.call({ tool: 'edit_file', args: { ...args, old_str: 'line_12 = 121' } })
    await screen.shows(OFFERED)
    screen.type('nenough\r')
    assert.is(codeOf(await asked), 'denied')
  }))

/** Two changes of one file that are one hunk, and another file. */
async function proposing(rig: Rig) {
  writeFileSync(join(rig.project, 'a.py'), 'one = 1\nmiddle = 0\ntwo = 2\n')
  const client = await rig.connect()
  const edits = [
    { path: 'a.py', old_str: 'one = 1\nmiddle = 0\ntwo = 2', new_str: 'one = 11\nmiddle = 0\ntwo = 22' },
    { path: 'b.py', old_str: 'line_12 = 12', new_str: 'line_12 = 120' },
  ]
  return client.call({ tool: 'propose_file_edit', args: { edits } })
}

test('a hunk is split and taken in part, others are refused, and the model is told which and why', () =>
  withFiles(async ({ rig, screen }) => {
    const answer = proposing(rig)
    await screen.shows(/ s split /)
    screen.type('s')
    await screen.shows(/hunk +1 of 3 · a\.py[\s\S]* y this hunk /)
    screen.type('y')
    await screen.shows(/hunk +2 of 3[\s\S]* y this hunk /)
    screen.type('D')
    await screen.shows('Why none of these hunks?')
    screen.type('enough\r')
    await screen.shows(/1 of 3 hunks is applied[\s\S]* y sends this /)
    screen.type('y')
    assert.match(JSON.stringify(await answer), /"outcome":"refused","reason":"enough"/)
    assert.is(text(rig, 'a.py'), 'one = 11\nmiddle = 0\ntwo = 2\n')
    assert.is(text(rig, 'b.py'), TEN)
    await screen.shows(/1 of 3 hunks approved/)
  }))

test('a plan that goes out of date is gone from the screen, with the cause, and y does not hit the next (fault 1)', () =>
  withFiles(async ({ rig, screen }) => {
    const { answer } = await editing(rig, 'a.py')
    await screen.shows(OFFERED)
    const next = await editing(rig, 'b.py')
    await screen.shows('2 wait')
    writeFileSync(join(rig.project, 'a.py'), TEN.replace('line_12', 'other_12'))
    await screen.shows(/plan-\w+ needs no answer any more\.\n.*out of date: a\.py /)
    screen.type('y')
    assert.is(codeOf(await answer), 'stale_plan')
    screen.type('\r')
    await screen.shows(/^\| --- a\/b\.py[\s\S]* y approve /m)
    assert.is(text(rig, 'b.py'), TEN)
    screen.type('y')
    assert.is(codeOf(await next.answer), 'ok')
    screen.type('h')
    await screen.shows(/What became of plans here[\s\S]*out of date: a\.py /)
    await until(() => text(rig, 'b.py').includes('line_12 = 120'), 'the second plan')
  }))
