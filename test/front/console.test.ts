import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, suite } from '../support/harness.ts'
import { openRig } from '../support/rig.ts'
import { openConsole } from '../support/screen.ts'
import { CTRL_C, CTRL_D } from '../support/terminal.ts'

const test = suite('console', { limitMs: 60_000 })
const rig = openRig()
test.after(() => rig.close())
const { withConsole, run, lastAnswer } = openConsole(rig)

const UP = '\x1b[A'

test('a block is written, run and used; values, names and reports are coloured', () =>
  withConsole({}, async screen => {
    assert.match(
      screen.text(),
      /^Imago [\d.]+, CPython [\d.]+ in kernel project\. :help helps, Ctrl-D leaves\.\n>>>$/,
    )
    screen.type('def half(x):\r')
    await screen.shows('...')
    assert.equal(screen.cursor(), { row: 2, column: 8 })
    screen.type('return x / 2\r\r')
    await screen.shows(/return x \/ 2\n>>>/)
    await run(screen, 'half(42)')
    assert.is(lastAnswer(screen), '21.0')
    await run(screen, 'half(None)')
    assert.match(screen.text(), /TypeError: unsupported operand/)
    assert.equal(
      ['def', 'half(42)', '21.0', 'TypeError:'].map(text => screen.looks(text)),
      [['fg:5'], [], ['fg:6'], ['fg:1', 'bold']],
    )
  }))

test('a function is pasted whole, with its empty lines, and runs with Enter', () =>
  withConsole({}, async screen => {
    assert.ok(screen.marksPastes)
    screen.paste('>>> def twice(x):', '...     y = x * 2', '... ', '...     return y', '')
    await screen.shows(/\.\.\. {5}return y/)
    assert.match(screen.text(), '>>> def twice(x):\n...     y = x * 2\n...\n...     return y')
    screen.type('\r')
    await screen.shows(/return y\n>>>/)
    await run(screen, 'twice(21)')
    assert.is(lastAnswer(screen), '42')
    screen.type(CTRL_D)
    assert.is(await screen.ended, 0)
    assert.not(screen.marksPastes)
    assert.match(screen.text(), 'The image stays.')
  }))

test('what runs long shows its output as it comes, and below it how long it has been running', () =>
  withConsole({}, async screen => {
    screen.type('import time\rfor i in range(4):\rprint("step", i, end=" "); time.sleep(1)\r\r')
    await screen.shows('step 0 step 1')
    await screen.shows(/step 2.*\n2 s · Ctrl-C interrupts/)
    await screen.shows(/step 3/)
    await screen.hides('Ctrl-C interrupts')
    await screen.shows(/step 3\n>>>/)
    assert.not.match(screen.all().join('\n'), 'Ctrl-C interrupts')
  }))

test('a progress bar prints over itself, and over nothing else', () =>
  withConsole({}, async screen => {
    await run(screen, 'print("kept"); print("\\r10%", end=""); print("\\r20%", end="\\n")')
    assert.is(lastAnswer(screen), 'kept\n20%')
  }))

test('Ctrl-C drops what is written, and interrupts what runs', () =>
  withConsole({}, async screen => {
    screen.type(`nonsense(${CTRL_C}`)
    await screen.shows('nonsense(^C')
    screen.type('import time; print("o" + "n"); time.sleep(600)\r')
    await screen.shows(/\non/)
    screen.type(CTRL_C)
    await screen.shows('KeyboardInterrupt')
    await screen.shows(/on request\. What it did before is done\.\n>>>/)
    await run(screen, '"al" + "ive"')
    assert.is(lastAnswer(screen), "'alive'")
  }))

test('the second Ctrl-C says what can be done, the third gives the prompt back', () =>
  withConsole({}, async screen => {
    screen.paste(
      'import time; over = False',
      'def stubborn():',
      '    while not over:',
      '        try: time.sleep(0.01)',
      '        except KeyboardInterrupt: pass',
    )
    screen.type('\r')
    await screen.shows(/pass\n>>>/)
    screen.type('print("o" + "n"); stubborn()\r')
    await screen.shows(/\non/)
    screen.type(CTRL_C)
    await screen.shows('interrupting…')
    screen.type(CTRL_C)
    await screen.shows('Once more gives the prompt back')
    screen.type(CTRL_C)
    await screen.shows('It was left to itself')
    screen.type(':restart\r')
    await screen.shows('[y/N]')
    screen.type('y\r')
    await screen.shows('begins anew')
    await run(screen, '"al" + "ive"')
    assert.is(lastAnswer(screen), "'alive'")
  }))

test('code asks: the answer is written behind the question, a secret is not shown, Ctrl-D is the end of input', () =>
  withConsole({}, async screen => {
    screen.type('who = input("who? ")\r')
    await screen.shows(/\nwho\?/)
    screen.type('Adam\x7f\r')
    await screen.shows(/who\? Ada\n>>>/)
    await run(screen, 'who * 2')
    assert.is(lastAnswer(screen), "'AdaAda'")
    screen.type('import getpass; secret = getpass.getpass()\r')
    await screen.shows('Password:')
    screen.type('swordfish\r')
    await screen.shows(/Password:\n>>>/)
    await run(screen, 'len(secret)')
    assert.is(lastAnswer(screen), '9')
    assert.not.match(screen.written, 'swordfish')
    screen.type('input("more? ")\r')
    await screen.shows(/\nmore\?/)
    screen.type(CTRL_D)
    await screen.shows('EOFError')
    screen.type(`${UP}${UP}`)
    await screen.shows('>>> len(secret)')
  }))

test('a question takes the first line of a paste, and the prompt gets the others', () =>
  withConsole({}, async screen => {
    screen.type('first = input("who? ")\r')
    await screen.shows(/\nwho\?/)
    screen.paste('Ada', 'first + "!"')
    await screen.shows('>>> first + "!"')
    screen.type('\r')
    await screen.shows("'Ada!'")
  }))

test('what is typed while code runs is there when the prompt is', () =>
  withConsole({}, async screen => {
    screen.type('import time; time.sleep(0.5)\r1 + ')
    await screen.shows('>>> 1 +')
    screen.type('1\r')
    await screen.shows(/\n2\n>>>/)
  }))

test('what a thread prints goes above the line that is being written, and leaves it as it is', () =>
  withConsole({}, async screen => {
    await run(screen, 'import threading; threading.Timer(0.3, lambda: print("from a thread")).start()')
    screen.type('half typed\x1b[D\x1b[D')
    await screen.shows(/from a thread\n>>> half typed/)
    assert.is(screen.cursor().column, 4 + 'half typ'.length)
    screen.type('X')
    await screen.shows('half typXed')
  }))

test('the last values have names, which agents do not touch', () =>
  withConsole({}, async screen => {
    await run(screen, '20 + 1')
    await run(screen, 'None')
    await rig.imago(['call', 'eval_expr', '{"expr": "5"}'])
    await run(screen, '_ * 2')
    await run(screen, '_, __')
    assert.is(lastAnswer(screen), '(42, 21)')
  }))

test('exit() leaves, with its code, and the image lives on', async () => {
  await withConsole({}, async screen => {
    screen.type('kept = 6; exit()\r')
    assert.is(await screen.ended, 0)
    assert.match(screen.text(), 'The image stays.')
  })
  await withConsole({}, async screen => {
    await run(screen, 'kept * 7')
    assert.is(lastAnswer(screen), '42')
    screen.type('import sys; sys.exit("too bad")\r')
    assert.is(await screen.ended, 1)
    assert.match(screen.text(), 'too bad')
  })
})

test('a console whose image is lost says so, and goes on with a new one', () =>
  withConsole({}, async screen => {
    screen.type('import os; os._exit(3)\r')
    await screen.shows('outcome_unknown')
    await run(screen, '"al" + "ive"')
    assert.match(screen.text(), /This is a new and empty image[\s\S]*'alive'/)
  }))

test('a console whose daemon is lost says so, and goes on with another', () =>
  withConsole({}, async screen => {
    const { pid } = (await rig.connect()).daemon
    screen.type(`import os; os.kill(${pid}, 9)\r`)
    await screen.shows('outcome_unknown')
    await run(screen, '"al" + "ive"')
    assert.match(screen.text(), /the daemon was lost, and with it the image[\s\S]*'alive'/)
  }))

test('nothing that code prints, raises, names, asks or is pasted moves the cursor (threat 16)', () =>
  withConsole({}, async screen => {
    writeFileSync(join(rig.project, 'evil.txt'), '\x1b]0;owned\x07\x1b[2J\x9b5n')
    await run(screen, 'evil = open("evil.txt", encoding="utf-8").read()')
    await run(screen, 'print(evil)')
    await run(screen, 'raise ValueError(evil)')
    await run(screen, 'type(evil, (), {"__repr__": lambda self: evil})()')
    screen.type('input(evil)\r')
    await screen.shows(/5n$/)
    screen.type('x\r')
    await screen.shows(/x\n.*\n?>>>$/)
    screen.paste('"\x1b[2J"')
    await screen.shows('"\\x1b[2J"')
    for (const sign of ['\x1b]0;owned', '\x1b[2J', '\x9b', '\x07'])
      assert.not.ok(screen.written.includes(sign), sign)
  }))
