import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, suite } from '../support/harness.ts'
import { openRig, until } from '../support/rig.ts'
import { openConsole } from '../support/screen.ts'
import { CTRL_C } from '../support/terminal.ts'

const test = suite('console shown', { limitMs: 60_000 })
const rig = openRig()
test.after(() => rig.close())
const { withConsole, run, lastAnswer } = openConsole(rig)

const UP = '\x1b[A'
const CTRL_L = '\x0c'
const CTRL_R = '\x12'

test('the cursor stands where it should behind wide characters, and at the end of a full row', () =>
  withConsole({ columns: 20, rows: 8 }, async screen => {
    screen.type('"日本"')
    await screen.shows('"日本"')
    assert.is(screen.cursor().column, 4 + 6)
    screen.type(CTRL_C)
    await screen.shows('^C')
    const { row } = screen.cursor()
    screen.type('x'.repeat(16))
    await until(() => screen.cursor().row === row + 1, 'the cursor in the next row')
    assert.is(screen.cursor().column, 0)
    screen.type('\x01')
    await until(() => screen.cursor().row === row && screen.cursor().column === 4, 'the cursor at the start')
  }))

test('a text that is longer than the screen is written and read, and stays whole above', () =>
  withConsole({ columns: 40, rows: 8 }, async screen => {
    screen.paste(...Array.from({ length: 30 }, (_, number) => `x${number} = ${number}`))
    await screen.shows('x29 = 29')
    assert.is(screen.rows().length, 8)
    screen.type('\x1b<')
    await screen.shows('>>> x0 = 0')
    screen.type('\x1b>')
    await screen.shows('x29 = 29')
    screen.type('\r')
    await screen.shows(/x29 = 29\n>>>/)
    const whole = screen.all().filter(row => /x\d+ = \d+$/.test(row))
    assert.is(whole.length, 30)
  }))

test('history is kept for the next time; a blank in front keeps a line out', async () => {
  await withConsole({}, async screen => {
    await run(screen, '"kept" + "1"')
    await run(screen, ' "hid" + "den"')
    assert.is(lastAnswer(screen), "'hidden'")
  })
  await withConsole({}, async screen => {
    screen.type(UP)
    await screen.shows('>>> "kept" + "1"')
    screen.type(`\x15${CTRL_R}kept`)
    await screen.shows('search: kept')
    screen.type('\r')
    await screen.shows("'kept1'")
  })
  const [file = ''] = readdirSync(join(rig.paths.stateDir, 'history'))
  assert.not.match(readFileSync(join(rig.paths.stateDir, 'history', file), 'utf8'), 'hid')
})

test('earlier entries are offered in dim letters, and taken with the right arrow', () =>
  withConsole({}, async screen => {
    await run(screen, '"unlikely" * 2')
    screen.type('"unl')
    await screen.shows(/>>> "unlikely" \* 2$/)
    assert.equal(screen.looks('kely" * 2'), ['dim'])
    screen.type('\x1b[C\r')
    await until(
      () => screen.all().filter(row => row === "'unlikelyunlikely'").length === 2,
      'it to run again',
    )
  }))

test('a value longer than the screen is shown in part, and all of it with :more, to be searched', () =>
  withConsole({ rows: 12 }, async screen => {
    await run(screen, 'list(range(20_000))')
    assert.match(screen.text(), /… 128890 characters; :more shows all of it\n>>>/)
    assert.is(screen.looks(':more shows')[0], 'dim')
    screen.type(':more\r')
    await screen.shows(/all of it {2}1–11 of \d{4}/)
    screen.type('/19990\r')
    await until(() => screen.looks('19990').includes('bg:3'), 'what is sought to stand out')
    screen.type('q')
    await screen.shows(/:more\n>>>/)
  }))

test('name? shows what a name stands for, name?? its source', () =>
  withConsole({}, async screen => {
    await run(screen, 'def quarter(x): return x / 4')
    await run(screen, 'quarter?')
    assert.match(screen.text(), /callable: \(x\)/)
    await run(screen, 'quarter??')
    assert.match(lastAnswer(screen), 'def quarter(x): return x / 4')
    await run(screen, 'nobody?')
    assert.match(lastAnswer(screen), 'not_found')
  }))

test('a colon says what there is, unknown commands name the nearest, and :log has what was called', () =>
  withConsole({}, async screen => {
    screen.type(':')
    await screen.shows(/>>> :\n:help {2}:more/)
    screen.type('ker')
    await screen.shows(':kernels')
    screen.type('\t\r')
    await screen.shows(/project +(ready|busy)/)
    await run(screen, ':interupt')
    assert.match(lastAnswer(screen), 'Did you mean :interrupt?')
    await run(screen, ':nosuch')
    assert.is(
      lastAnswer(screen),
      'There is no command or tool :nosuch. :help lists the commands, :tools the tools.',
    )
    await run(screen, ':use projekt')
    assert.match(lastAnswer(screen), 'There is no kernel projekt. Did you mean project?')
    await run(screen, ':call eval_expr {"expr": "print(6 * 7)"}')
    assert.match(lastAnswer(screen), '42')
    await run(screen, ':inspect [1, 2]')
    assert.match(lastAnswer(screen), 'list')
    await run(screen, ':time sum(range(10))')
    assert.match(lastAnswer(screen), /^45\n.* in the image, .* until it was shown$/)
    await run(screen, ':log 3')
    assert.match(lastAnswer(screen), /eval_expr +(ok|under way) .* client-\d+ +sum\(range\(10\)\)/)
    screen.type(':help\r')
    await screen.shows('Commands')
    screen.type('q:qu\r')
    assert.is(await screen.ended, 0)
  }))

test('a narrower terminal has its rows broken anew, and nothing above is harmed', () =>
  withConsole({ columns: 60 }, async screen => {
    await run(screen, '"above" + ""')
    screen.type(`"${'word '.repeat(9)}"`)
    await screen.shows('word "')
    screen.type('\x01')
    await until(() => screen.cursor().column === 4, 'the cursor at the start')
    await screen.resize(30, 24)
    await screen.shows(/>>> "word word word word word\nword word word word "$/)
    assert.match(screen.text(), "'above'\n>>> \"word")
    await screen.resize(60, 24)
    await screen.shows(/>>> "(word ){9}"$/)
    assert.is(screen.text().split('"word').length, 2)
  }))

test('Ctrl-L begins at the top with the line that is being written', () =>
  withConsole({}, async screen => {
    await run(screen, '1')
    screen.type(`abc${CTRL_L}`)
    await screen.shows(/^>>> abc$/)
  }))

test('NO_COLOR leaves the colours out', () =>
  withConsole({ env: { NO_COLOR: '1' } }, async screen => {
    await run(screen, '{"a": None}')
    assert.equal(screen.looks("{'a': None}"), [])
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are asked for with such sequences
    assert.not.match(screen.written, /\x1b\[(3\d|4\d|[\d;]*;3\d)m/)
  }))

test('Tab completes from the image: what is shared first, then a menu to choose from', () =>
  withConsole({}, async screen => {
    await run(screen, 'class Box: append_one = appeal_two = None')
    screen.type('Box.ap\t')
    await screen.shows(/>>> Box\.appe\nappeal_two +append_one/)
    screen.type('\t\t')
    await screen.shows(/>>> Box\.append_one\n/)
    assert.equal(screen.looks('append_one').includes('inverse'), true)
    screen.type('\r')
    await screen.hides('appeal_two  ')
    await run(screen, ' is None')
    assert.is(lastAnswer(screen), 'True')
  }))

test('a call shows its signature below, with the argument that is being written', () =>
  withConsole({}, async screen => {
    await run(screen, 'def price(item, count=1, *, note="(, "): pass')
    screen.type('price(')
    await screen.shows(/^price\(item, count=1, \*, note/m)
    assert.equal(screen.looks('item'), ['bold', 'underline'])
    screen.type('1, note=')
    await until(() => screen.looks("note='").includes('bold'), 'the other argument to stand out')
    screen.type('"")')
    await screen.hides(/^price/m)
  }))

test('Ctrl-X Ctrl-E goes on in the editor of the person, and comes back with what it has written', () =>
  withConsole({ env: { EDITOR: 'printf "6 * 7" >' } }, async screen => {
    screen.type('half\x18\x05')
    await screen.shows(/^>>> 6 \* 7$/m)
    screen.type('\r')
    await screen.shows(/^42$/m)
  }))
