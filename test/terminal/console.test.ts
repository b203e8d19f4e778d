import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { helpSpans } from '../../src/terminal/colon-table.ts'
import { textOf } from '../../src/terminal/layout.ts'
import { assert, suite } from '../support/harness.ts'
import { openRig, until } from '../support/rig.ts'
import { openConsole, openScreen, type ScreenOf } from '../support/screen.ts'
import { CTRL_C, CTRL_D } from '../support/terminal.ts'

const test = suite('console', { limitMs: 60_000 })
const rig = openRig()
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
    await until(() => screen.cursor().row === 2 && screen.cursor().column === 8, 'the cursor set in')
    screen.type('return x / 2\r\r')
    await screen.shows(/return x \/ 2\n>>>/)
    await run(screen, 'half(42)')
    assert.is(lastAnswer(screen), '21.0')
    // The last values have names, which agents do not touch.
    await rig.imago(['call', 'eval_expr', '{"expr": "5"}'])
    await run(screen, '_ * 2')
    assert.is(lastAnswer(screen), '42.0')
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
    await screen.shows('>>> def twice(x):\n...     y = x * 2\n...\n...     return y')
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
    screen.type('import os, time\rfor i in range(4):\rprint("step", i, end=" "); time.sleep(1)\r')
    screen.type('while i == 2 and not os.path.exists("go"): time.sleep(0.01)\r\r')
    await screen.shows('step 0 step 1')
    await screen.shows(/step 2.*\n\d+ s · Ctrl-C interrupts/)
    writeFileSync(join(rig.project, 'go'), '')
    await screen.hides('Ctrl-C interrupts')
    await screen.shows(/step 3\n>>>/)
    assert.not.match(screen.all().join('\n'), 'Ctrl-C interrupts')
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
      '        try:',
      '            while not over:',
      '                try: time.sleep(0.01)',
      '                except KeyboardInterrupt: pass',
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

test('code asks: an answer is written behind the question, a secret is not shown, Ctrl-D is the end of input', () =>
  withConsole({}, async screen => {
    screen.type('who = input("who? ")\r')
    await screen.shows(/\nwho\?/)
    // The first line of a paste is the answer, and the prompt gets the others.
    screen.type('G\x7f')
    screen.paste('Ada', 'who + "!"')
    await screen.shows(/who\? Ada\n>>> who \+ "!"/)
    screen.type('\r')
    await screen.shows("'Ada!'")
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

test('what is typed while code runs is there when the prompt is, and what a thread prints goes above it', () =>
  withConsole({}, async screen => {
    screen.type('import threading; threading.Event().wait(0.5)\r1 + ')
    await screen.shows('>>> 1 +')
    screen.type('1\r')
    await screen.shows(/\nFalse\n>>> 1 \+ 1\n2\n>>>/)
    await run(screen, 'threading.Timer(0.3, lambda: print("from a thread")).start()')
    screen.type('half typed\x1b[D\x1b[D')
    await screen.shows(/from a thread\n>>> half typed/)
    await until(() => screen.cursor().column === 4 + 'half typ'.length, 'the cursor where it was')
    screen.type('X')
    await screen.shows('half typXed')
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

test('a console whose image is lost, or its daemon, says so, and goes on with a new one', () =>
  withConsole({}, async screen => {
    screen.type('import os; os._exit(3)\r')
    await screen.shows('outcome_unknown')
    await run(screen, '"al" + "ive"')
    assert.match(screen.text(), /This is a new and empty image[\s\S]*'alive'/)
    const { pid } = (await rig.connect()).daemon
    screen.type(`import os; os.kill(${pid}, 9)\r`)
    await screen.shows(/outcome_unknown[\s\S]*outcome_unknown/)
    await run(screen, '"al" + "ive again"')
    assert.match(screen.text(), /the daemon was lost, and with it the image[\s\S]*'alive again'/)
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
    assert.is(screen.all().filter(row => /x\d+ = \d+$/.test(row)).length, 30)
  }))

test('history is kept for the next time, offered in dim letters and searched; a blank in front keeps a line out', async () => {
  await withConsole({}, async screen => {
    await run(screen, '"kept" + "1"')
    await run(screen, ' "hid" + "den"')
    screen.type(CTRL_D)
    await screen.ended
  })
  await withConsole({}, async screen => {
    screen.type('"ke')
    await screen.shows('>>> "kept" + "1"')
    assert.equal(screen.looks('pt" + "1"'), ['dim'])
    screen.type('\x15\x12kept')
    await screen.shows('search: kept')
    screen.type('\r')
    await screen.shows("'kept1'")
  })
  const [file = ''] = readdirSync(join(rig.paths.stateDir, 'history'))
  assert.not.match(readFileSync(join(rig.paths.stateDir, 'history', file), 'utf8'), 'hid')
})

test('a value longer than the screen is shown in part, and all of it with :more, to be searched', () =>
  withConsole({ rows: 12 }, async screen => {
    await run(screen, 'list(range(20_000))')
    assert.match(screen.text(), /… 128890 characters; :more shows all of it\n>>>/)
    assert.is(screen.looks(':more shows')[0], 'dim')
    screen.type(':more\r')
    await screen.shows(/all of it {2}0% · line 1 of 1 /)
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
    await screen.shows(/>>> :\n:help \[NAME \| all\] {2}:more/)
    screen.type('ker')
    await screen.shows(':kernels')
    screen.type('\t\r')
    await screen.shows(/project +(ready|busy)/)
    for (const [line, said] of [
      [':interupt', /Did you mean :interrupt\?/],
      [':nosuch', /^There is no command or tool :nosuch\. :help lists the commands, :tools the tools\.$/],
      [':use projekt', /There is no kernel projekt\. Did you mean project\?/],
      [':call eval_expr {"expr": "print(6 * 7)"}', /42/],
      [':inspect [1, 2]', /list/],
      [':time sum(range(10))', /^45\n.* in the image, .* until it was shown$/],
      [':log 3', /eval_expr +(ok|under way) [\s\S]* imago\s+sum\(range\(10\)\)/],
    ] as const) {
      await run(screen, line)
      assert.match(lastAnswer(screen), said)
    }
    screen.type(':help\r')
    await screen.shows(/Commands[\s\S]*:help NAME tells of one/)
    await run(screen, ':help detach')
    assert.match(lastAnswer(screen), /^ *:detach NAME {2}let go of such a program, which runs on$/)
    await run(screen, ':help detahc')
    assert.match(lastAnswer(screen), /There is no command :detahc\. Did you mean :detach\?/)
    screen.type(':help all\r')
    await screen.shows(/:time \[CODE\] +how long it takes/)
    screen.type('q:qu\r')
    assert.is(await screen.ended, 0)
  }))

test('the help is a screen at most, and names every command; :help all has each with what it does', () => {
  const lines = (operand: string) =>
    textOf(helpSpans(operand) ?? [])
      .trimEnd()
      .split('\n')
  const [short, all] = [lines(''), lines('all')]
  assert.ok(short.length <= 22, `${short.length} lines`)
  assert.equal(
    short.filter(line => line.length > 79),
    [],
  )
  const named = all.flatMap(line => /^ {2}(:\w+)/.exec(line)?.[1] ?? [])
  assert.ok(named.length > 30)
  assert.equal(
    named.filter(name => !short.some(line => line.split(/\s+/).includes(name))),
    [],
  )
  assert.is(helpSpans('nothing'), undefined)
})

test('a narrower terminal has its rows broken anew, nothing above is harmed, and Ctrl-L begins at the top', () =>
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
    screen.type('\x0c')
    await screen.shows(/^>>> "(word ){9}"$/)
  }))

test('Tab completes from the image, and a call shows its signature with the argument that is being written', () =>
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

/** The console below a shell, which has the terminal before and after it. */
const shell = suite('console terminal', { limitMs: 60_000 })
shell.after(() => rig.close())

const CTRL_Z = '\x1a'
const MAIN = join(PACKAGE_ROOT, 'dist/src/main.cjs')

interface Below extends ScreenOf {
  /** The process of the console. */
  readonly pid: number
}

async function belowShell(node: string, use: (screen: Below) => Promise<void>): Promise<void> {
  const screen = openScreen(rig, { command: ['bash', '--norc', '--noprofile', '-i'] })
  try {
    await screen.shows(/^bash-.*[$#]$/m)
    writeFileSync(
      join(rig.project, 'begin.sh'),
      `echo "process $$"; exec ${process.execPath} ${node} ${MAIN}`,
    )
    screen.type('sh begin.sh; echo "code $?"\r')
    await screen.shows(/^>>>/m)
    const pid = Number(/^process (\d+)/m.exec(screen.text())?.[1])
    await use(Object.create(screen, { pid: { value: pid } }))
  } finally {
    screen.close()
  }
}

/** The shell finds its terminal as it was: lines, echo, signals, and nothing that marks pastes for a program. */
async function isSane(screen: ScreenOf) {
  screen.type('clear; stty -a | tr -d ";" | tr " " "\\n" | grep -c -x -e echo -e icanon -e isig -e opost\r')
  await screen.shows(/^4$/m)
}

shell(
  'Ctrl-Z gives the shell its terminal, and fg brings back the line, the pager, and what was printed meanwhile',
  () =>
    belowShell('', async screen => {
      screen.type('half typed')
      await screen.shows('>>> half typed')
      screen.type(CTRL_Z)
      await screen.shows('Stopped')
      await isSane(screen)
      screen.type('fg\r')
      await screen.shows(/^>>> half typed$/m)
      assert.ok(screen.marksPastes)
      screen.type('\x15import time; time.sleep(1); print("done" + "!")\r')
      await screen.shows(/^>>> import/m)
      screen.type(CTRL_Z)
      await screen.shows(/import time[\s\S]*Stopped/)
      // What runs goes on meanwhile, and is shown when the console is back.
      screen.type('sleep 1; fg\r')
      await screen.shows(/^done!\n>>>$/m)
      screen.type(':help all\r')
      await screen.shows('Commands')
      screen.type(CTRL_Z)
      await screen.shows(/Stopped[\s\S]*Stopped/)
      screen.type('fg\r')
      await screen.shows('Commands')
      screen.type(CTRL_C)
      await screen.hides('Commands')
      screen.type('half again')
      await screen.shows('>>> half again')
      process.kill(screen.pid, 'SIGINT')
      await screen.shows(/half again\^C\n>>>/)
      screen.type(CTRL_D)
      await screen.shows('The image stays.')
      await isSane(screen)
    }),
)

shell('where no shell could wake it, Ctrl-Z does not stop it', async () => {
  const screen = openScreen(rig)
  try {
    await screen.shows(/^>>>/m)
    screen.type(`5 + ${CTRL_Z}`)
    const begun = () => screen.written.split('\x1b[?2004h').length - 1
    await until(() => begun() === 2, 'it to take the terminal again')
    await screen.shows(/^>>> 5 \+$/m)
    screen.type('2\r')
    await screen.shows(/^7$/m)
  } finally {
    screen.close()
  }
})

for (const [signal, code] of [
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const)
  shell(`${signal} ends it, and the terminal is as it was`, () =>
    belowShell('', async screen => {
      screen.type('half typed')
      await screen.shows('half typed')
      process.kill(screen.pid, signal)
      await screen.shows(`code ${code}`)
      await isSane(screen)
    }),
  )

shell('an error of our own is reported on a terminal that is as it was', () => {
  writeFileSync(join(rig.project, 'boom.mjs'), "process.once('SIGUSR2', () => { throw new Error('boom') })\n")
  return belowShell(`--import ${join(rig.project, 'boom.mjs')}`, async screen => {
    screen.type('half typed')
    await screen.shows('half typed')
    process.kill(screen.pid, 'SIGUSR2')
    await screen.shows('Error: boom')
    await screen.shows(/code \d+/)
    await isSane(screen)
  })
})

shell('a terminal that is closed ends it with the code of a hang-up', async () => {
  const code = join(rig.project, 'code')
  // Whoever waits for the console outlives the terminal.
  const command = ['sh', '-c', `trap '' HUP; ${process.execPath} ${MAIN}; echo "$?" > ${code}`]
  const screen = openScreen(rig, { command })
  await screen.shows(/^>>>/m)
  screen.close()
  const written = () => existsSync(code) && readFileSync(code, 'utf8').endsWith('\n')
  await until(written, 'the console to end')
  assert.is(readFileSync(code, 'utf8'), '129\n')
})
