import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { assert, suite } from '../support/harness.ts'
import { openRig, within } from '../support/rig.ts'
import { CTRL_C, CTRL_D, ESCAPE, openTerminal, pasted, ranIn } from '../support/terminal.ts'

const test = suite('prompt', { limitMs: 60_000 })
const rig = openRig()
test.after(() => rig.close())

const atTerminal = openTerminal(rig)

test('imago without a terminal runs standard input piece by piece, and ends with it', async () => {
  const input = `1 + 2
def double(x):
    y = x * 2

    return y

print("printed")
double(21)
None
rows = [
    1,
]
rows`
  const { code, stdout, stderr } = await rig.imago([], { input })
  assert.equal(
    { code, stdout, stderr },
    {
      code: 0,
      stdout: '3\nprinted\n42\n[1]\n',
      stderr: 'project is a new and empty image: nothing of a running program is in it.\n',
    },
  )
})

test('without a terminal the first failure ends it with 1, after its traceback; the image stays', async () => {
  const { code, stdout, stderr } = await rig.imago([], { input: 'double(4)\n1/0\n2\n' })
  assert.equal([code, stdout], [1, '8\n'])
  assert.match(stderr, /^Traceback[\s\S]*ZeroDivisionError: division by zero\n$/)
})

test('input() takes the lines that follow, and meets the end of them', async () => {
  const { code, stdout, stderr } = await rig.imago([], { input: 'name = input("who? ")\nAda\nname\ninput()' })
  assert.equal([code, stdout], [1, "who? 'Ada'\n"])
  assert.match(stderr, /EOFError/)
})

test('SIGINT interrupts what runs without a terminal', async () => {
  const prompt = rig.begin([], { input: 'import time\nprint("on"); time.sleep(600)\n"never"\n' })
  await prompt.says(/on/)
  prompt.child.kill('SIGINT')
  const { code, stdout, stderr } = await within(prompt.ended, 'the prompt to end')
  assert.equal([code, stdout], [1, 'on\n'])
  assert.match(stderr, /KeyboardInterrupt|interrupted/)
})

test('a kernel that is not there exits with 4', async () => {
  const { code, stderr } = await rig.imago(['--kernel', 'nobody'], { input: '1\n' })
  assert.is(code, 4)
  assert.match(stderr, /nobody/)
})

test('at a terminal, blocks end with an empty line, and errors do not end it', async () => {
  const { code, text } = await atTerminal(
    [],
    [
      ['>>> ', 'def half(x):\r'],
      ['... ', '    return x / 2\r'],
      ['... ', '\r'],
      ['>>> ', 'half(42)\r'],
      ['21.0', ''],
      ['>>> ', '1/0\r'],
      ['ZeroDivisionError', ''],
      ['>>> ', 'def f(:\r'],
      ['... ', '\r'],
      ['SyntaxError', ''],
      ['>>> ', CTRL_D],
    ],
  )
  assert.is(code, 0, text)
  assert.match(text, /CPython[\s\S]*The image stays/)
})

test('a paste is one piece, empty lines and all, and goes on where it ends set in', async () => {
  const { text } = await atTerminal(
    [],
    [
      ['>>> ', pasted('class Pair:', '    def one(self):', '        return 1', '', '    def two(self):', '')],
      ['two', ''],
      ['... ', '        return 2\r'],
      ['... ', '\r'],
      ['>>> ', 'Pair().one(), Pair().two()\r'],
      ['(1, 2)', ''],
      ['>>> ', pasted('def f():', '\treturn 3', '', '', 'f() * 5', '')],
      ['15', ''],
      ['>>> ', CTRL_D],
    ],
  )
  assert.match(text, /\(1, 2\)[\s\S]*15/)
  assert.not.ok(text.includes(ESCAPE), 'nothing moves the cursor of a terminal that can only print lines')
})

test('code asks: it takes the first line of a paste, Ctrl-D is its end of input, and a secret is not echoed', async () => {
  const { code, text } = await atTerminal(
    [],
    [
      ['>>> ', 'first = input("who? ")\r'],
      ['who? ', pasted('Ada', 'first + "!"', '')],
      ["'Ada!'", ''],
      ['>>> ', 'input("more? ")\r'],
      ['more? ', CTRL_D],
      ['EOFError', ''],
      ['>>> ', 'import getpass; secret = getpass.getpass()\r'],
      ['Password: ', 'swordfish\r'],
      ['>>> ', 'len(secret)\r'],
      ['9', ''],
      ['>>> ', CTRL_D],
    ],
  )
  assert.is(code, 0, text)
  assert.match(text, "'Ada!'")
  assert.not.match(text, 'swordfish')
})

test('output without a line end stays: before the prompt, a value, and in front of what input() asks', async () => {
  const { text } = await atTerminal(
    [],
    [
      ['>>> ', 'print("x" + "y", end="")\r'],
      ['xy\r\n', ''],
      ['>>> ', 'print("begun", end=" "); 6 * 7\r'],
      ['begun \r\n42', ''],
      ['>>> ', 'import sys; print("Na" + "me:", end=" "); who = input("who? ")\r'],
      ['Name: who? ', 'Ada\r'],
      ['>>> ', 'who * 2\r'],
      ["'AdaAda'", ''],
      ['>>> ', CTRL_D],
    ],
  )
  assert.match(text, "'AdaAda'")
  const piped = await rig.imago([], { input: 'print("x", end="")\n1\n' })
  assert.is(piped.stdout, 'x1\n')
})

test('exit() leaves the prompt, and the image lives on; None is not shown, whatever else has its name is', async () => {
  const { code, text } = await atTerminal([], [['>>> ', 'kept = 6; exit()\r']])
  assert.is(code, 0, text)
  assert.match(text, 'The image stays.')
  assert.not.match(text, 'SystemExit')
  const nil = 'type("Nil", (), {"__repr__": lambda self: "None"})()'
  const piped = await rig.imago([], { input: `kept * 7\n${nil}\nimport sys; sys.exit("too bad")\n"never"\n` })
  assert.equal(piped, { code: 1, stdout: '42\nNone\n', stderr: 'too bad\n' })
})

test('Ctrl-C drops what is being typed; code that ignores it is said to run still, and code behind it to wait', async () => {
  const stubborn = [
    'import time; over = False',
    'def stubborn():',
    '    while not over:',
    '        try:',
    '            while not over:',
    '                try:',
    '                    time.sleep(0.01)',
    '                except KeyboardInterrupt:',
    '                    pass',
    '        except KeyboardInterrupt:',
    '            pass',
    '',
    '',
  ]
  const { text } = await atTerminal(
    [],
    [
      ['>>> ', 'nonsense('],
      ['nonsense(', CTRL_C],
      ['\r\nKeyboardInterrupt\r\n', ''],
      ['>>> ', 'import time; print("o" + "n"); time.sleep(600)\r'],
      ['on\r\n', CTRL_C],
      ['KeyboardInterrupt', ''],
      ['>>> ', pasted(...stubborn)],
      ['>>> ', 'print("up" + "on"); stubborn()\r'],
      ['upon\r\n', CTRL_C],
      ['It was interrupted and still runs (job-', ''],
      ['imago restart project ends the image.', ''],
      ['>>> ', '"never " + "run"\r'],
      ['waiting: project is busy; Ctrl-C withdraws', CTRL_C],
      ['withdrawn', ''],
      ['>>> ', CTRL_D],
    ],
  )
  assert.match(text, 'Nothing ran.')
  assert.not.match(text, /SyntaxError|never run/)
  await rig.imago(['restart', 'project'])
})

test('a kernel that runs a script is named at the start, with the script and how it failed', async () => {
  writeFileSync(join(rig.project, 'app.py'), 'import time\ntime.sleep(600)\n')
  writeFileSync(join(rig.project, 'bad.py'), '1 / 0\n')
  for (const name of ['app', 'bad'])
    await rig.imago(['start', 'python', '--name', name, '--script', `${name}.py`])
  const app = await atTerminal(['--kernel', 'app'], [['>>> ', CTRL_D]])
  assert.match(app.text, /CPython [\d.]+ in kernel app, which runs app\.py\. Ctrl-C/)
  const bad = await atTerminal(['--kernel', 'bad'], [['>>> ', CTRL_D]])
  assert.match(bad.text, /in kernel bad, which ran bad\.py\. [\s\S]*\nbad\.py failed: ZeroDivisionError/)
  for (const name of ['app', 'bad']) await rig.imago(['stop', name])
})

test('imago call at a terminal lets a person answer the code', async () => {
  const { code, text } = await atTerminal(
    ['call', 'eval_expr', '{"expr":"input(\'who? \') * 2"}'],
    [['who? ', 'Ada\r']],
  )
  assert.is(code, 0, text)
  assert.match(text, "'AdaAda'")
})

test('a prompt whose daemon is lost says so, and that its image is a new one', async () => {
  const pid = (await rig.connect()).daemon.pid
  const { text } = await atTerminal(
    [],
    [
      ['>>> ', `import os; os.kill(${pid}, 9)\r`],
      ['outcome_unknown', ''],
      ['>>> ', '"al" + "ive"\r'],
      ["'alive'", ''],
      ['>>> ', CTRL_D],
    ],
  )
  assert.match(text, 'the daemon was lost, and with it the image')
  assert.match(text, "'alive'")
})

test('nothing that code prints, raises, names or asks moves the cursor of a terminal (threat 16)', async () => {
  const evil = `${ESCAPE}]0;owned\x07${ESCAPE}[2J\x9b5n`
  writeFileSync(join(rig.project, 'evil.txt'), evil)
  const { text } = await atTerminal(
    [],
    [
      ['>>> ', 'evil = open("evil.txt", encoding="utf-8").read()\r'],
      ['>>> ', 'print(evil)\r'],
      ['>>> ', 'raise ValueError(evil)\r'],
      ['>>> ', 'type(evil, (), {"__repr__": lambda self: evil})()\r'],
      ['>>> ', 'input(evil)\r'],
      ['5n', 'x\r'],
      ['>>> ', CTRL_D],
    ],
  )
  for (const sign of [`${ESCAPE}]0;owned`, `${ESCAPE}[2J`, '\x9b', '\x07'])
    assert.not.ok(text.includes(sign), sign)
  assert.ok(text.includes('\\x1b]0;owned\\x07\\x1b[2J\\x9b5n'))

  const call = await atTerminal(
    ['call', 'eval_expr', '{"expr":"print(evil); raise ValueError(evil)"}', '--json'],
    [],
  )
  assert.not.ok(call.text.includes(ESCAPE))
  assert.not.ok(call.text.includes('\x9b'))
})

test('npm run demo finds the mistake, and fails on a program without one', async () => {
  const good = await demo([])
  assert.is(good.code, 0, good.text)
  assert.match(good.text, 'Everything was as expected.')
  const right = join(rig.folder, 'right.py')
  writeFileSync(right, 'scores = {}\n\n\ndef next(x):\n    return x + 1\n')
  const bad = await demo(['program', right])
  assert.is(bad.code, 1)
  assert.match(bad.text, 'This differs')
})

const demo = (args: readonly string[]) =>
  ranIn(rig, [process.execPath, join(PACKAGE_ROOT, 'dist/examples/demo.js'), ...args])
