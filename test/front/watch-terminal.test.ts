import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, suite } from '../support/harness.ts'
import { type Rig, until } from '../support/rig.ts'
import { openScreen, type ScreenOf } from '../support/screen.ts'
import { codeOf, evaluating, openAsking, openSeatRigs } from '../support/watching.ts'

/** The real screen of `imago watch`, at a real terminal, with a real daemon. */
const test = suite('watch at a terminal')
const { withSeatScreen, close } = openSeatRigs()
test.after(close)

const OFFERED = / y approve /
const planOn = (screen: ScreenOf) => /^── (plan-[a-z]{8})/m.exec(screen.text())?.[1] ?? ''

/** A plan that nobody answers before the test is over. */
async function asked(rig: Rig, expr: string) {
  const { answer } = await evaluating(rig, expr)
  answer.catch(() => {})
}

test('y approves what is shown, and it says so', () =>
  withSeatScreen({}, async ({ rig, screen }) => {
    const { answer } = await evaluating(rig, 'x = 40\nx + 2')
    await screen.shows(OFFERED)
    for (const part of ['| x = 40\n| x + 2\n', 'eval_expr', 'imago test', rig.project])
      assert.ok(screen.text().includes(part), part)
    assert.match(screen.text(), /sha256 {3}[0-9a-f]{64}$/m)
    screen.type('y')
    assert.is(codeOf(await answer), 'ok')
    await screen.shows(/plan-\w+ approved/)
    await screen.shows('Nothing waits for you.')
  }))

test('n denies it with the reason that is typed', () =>
  withSeatScreen({}, async ({ rig, screen }) => {
    const { answer } = await evaluating(rig, '1')
    await screen.shows(OFFERED)
    screen.type('n')
    await screen.shows('Why not?')
    screen.type('not tody\x1b[Da\r')
    const denied = await answer
    assert.is(codeOf(denied), 'denied')
    assert.match(JSON.stringify(denied), 'not today')
    await screen.shows(/plan-\w+ denied/)
  }))

test('at 40×10 and without colours, too', () =>
  withSeatScreen({ columns: 40, rows: 10, env: { NO_COLOR: '1' } }, async ({ rig, screen }) => {
    const { answer } = await evaluating(rig, Array.from({ length: 30 }, (_, n) => `a${n} = ${n}`).join('\n'))
    await screen.shows(/ G end, then y /)
    screen.type('G')
    await screen.shows(OFFERED)
    assert.ok(
      screen.cells().every(row => row.every(({ looks }) => looks.every(look => !/^[fb]g:/.test(look)))),
    )
    screen.type('y')
    assert.is(codeOf(await answer), 'ok')
  }))

test('it fits a terminal that gets another size in the middle of a text, and shows the same place', () =>
  withSeatScreen({ columns: 100, rows: 30 }, async ({ rig, screen }) => {
    const code = Array.from({ length: 300 }, (_, n) => `name_${n} = "${'word '.repeat(12)}"`).join('\n')
    await asked(rig, code)
    await screen.shows(/ G shows the end/)
    screen.type('/name_150\r')
    await screen.shows(/^\| name_150 /m)
    await screen.resize(50, 16)
    await screen.shows(/^\| name_150 = .*\n\+ /m)
    assert.ok(screen.rows().every(row => row.length <= 50))
    await screen.resize(140, 40)
    await screen.shows(/^\| name_150 = .*\n\| name_151/m)
    assert.is(screen.rows().length, 40)
  }))

test('nothing of a hostile text reaches the terminal as a control, nor does anything else (threat 16)', () =>
  withSeatScreen({ rows: 40 }, async ({ rig, screen }) => {
    const hostile = `x = 1 # \x1b]0;owned\x07 \x1b[2J\x1b[31m \x9b31m \u202e evil \u200b \x1b]8;;http://a\x07b\r| y\n`
    await asked(rig, hostile)
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
  new RegExp(`${ESC}\\[\\d+;\\d+[Hr]`, 'g'),
  new RegExp(`${ESC}\\[\\d+[ST]`, 'g'),
  new RegExp(`${ESC}\\[[rKJ]`, 'g'),
  new RegExp(`${ESC}\\[2J`, 'g'),
  new RegExp(`${ESC}\\[(?:[0-47]|3[0-6]|43|;)*m`, 'g'),
]

test('it rings once for a turn of plans', () =>
  withSeatScreen({}, async ({ rig, screen }) => {
    const bells = () => screen.written.split('\x07').length - 1
    assert.is(bells(), 0)
    await asked(rig, '1')
    await screen.shows(OFFERED)
    assert.is(bells(), 1)
  }))

test('the person’s own editor gets the arguments, and what it writes comes back as another plan', () =>
  withSeatScreen({ env: { EDITOR: 'sed -i s/41/42/' } }, async ({ rig, screen }) => {
    const { answer } = await evaluating(rig, 'print(41)')
    await screen.shows(OFFERED)
    const first = planOn(screen)
    screen.type('e')
    await screen.shows('| print(42)')
    assert.is.not(planOn(screen), first)
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

for (const [what, options] of [
  ['TERM=dumb', { args: ['watch'], env: { TERM: 'dumb' } }],
  ['--plain', { args: ['watch', '--plain'] }],
] as const)
  test(`with ${what} it goes line by line`, () =>
    withPlain(options, async ({ rig, screen }) => {
      const { answer } = await evaluating(rig, '1')
      await screen.shows('Approve? [y]es [n]o')
      assert.not.match(screen.written, ESC)
      screen.type('y\n')
      assert.is(codeOf(await answer), 'ok')
    }))

async function withPlain(
  options: Parameters<typeof openScreen>[1],
  use: (parts: { rig: ReturnType<typeof openAsking>; screen: ScreenOf }) => Promise<void>,
) {
  const rig = openAsking()
  await rig.serve()
  const screen = openScreen(rig, options)
  try {
    await screen.shows(/seat-1, terminal/)
    await use({ rig, screen })
  } finally {
    screen.close()
    await rig.close()
  }
}

test('hunks are taken one by one: what is done, what is refused and why is what the model is told', () =>
  withSeatScreen({ rows: 40 }, async ({ rig, screen }) => {
    writeFileSync(join(rig.project, 'a.py'), 'one = 1\n')
    writeFileSync(join(rig.project, 'b.py'), 'two = 2\n')
    const client = await rig.connect()
    const edits = [
      { path: 'a.py', old_str: 'one = 1', new_str: 'one = 11' },
      { path: 'b.py', old_str: 'two = 2', new_str: 'two = 22', why: 'Twos are small.' },
    ]
    const answer = client.call({ tool: 'propose_file_edit', args: { edits } })
    await screen.shows(/hunk +1 of 2 · a\.py[\s\S]* y this hunk /)
    screen.type('y')
    await screen.shows(/why +Twos are small\.[\s\S]* y this hunk /)
    screen.type('nTwos are fine\r')
    await screen.shows(/1 of 2 hunks is applied, as one change; 1 is refused\.[\s\S]* y sends this /)
    screen.type('y')
    const told = JSON.stringify(await answer)
    assert.match(told, /"outcome":"refused","reason":"Twos are fine"/)
    assert.is(readFileSync(join(rig.project, 'a.py'), 'utf8'), 'one = 11\n')
    assert.is(readFileSync(join(rig.project, 'b.py'), 'utf8'), 'two = 2\n')
    await screen.shows(/plan-\w+ 1 of 2 hunks approved/)
  }))
