import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openBlocks } from '../../src/front/blocks.ts'
import { escapeControls, escapeControlsInJson } from '../../src/front/terminal.ts'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { assert, suite } from '../support/harness.ts'
import { openRig, until, within } from '../support/rig.ts'

const test = suite('prompt', { limitMs: 60_000 })
const rig = openRig()
test.after(() => rig.close())

const CTRL_C = '\x03'
const CTRL_D = '\x04'
const ESCAPE = '\x1b'

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
  assert.equal({ code, stdout, stderr }, { code: 0, stdout: '3\nprinted\n42\n[1]\n', stderr: '' })
})

test('the image stays when the prompt ends', async () => {
  assert.is((await rig.imago([], { input: 'double(4)\n' })).stdout, '8\n')
})

test('without a terminal the first failure ends it with 1, after its traceback', async () => {
  const { code, stdout, stderr } = await rig.imago([], { input: '1\n1/0\n2\n' })
  assert.equal([code, stdout], [1, '1\n'])
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

test('at a terminal, blocks end with an empty line, input() is answered, and errors do not end it', async () => {
  const { code, text } = await atTerminal(
    [],
    [
      ['>>> ', 'def half(x):\r'],
      ['... ', '    return x / 2\r'],
      ['... ', '\r'],
      ['>>> ', 'half(42)\r'],
      ['21.0', ''],
      ['>>> ', 'who = input("who? ")\r'],
      ['who? ', 'Grace\r'],
      ['>>> ', 'print("hi", who)\r'],
      ['hi Grace', ''],
      ['>>> ', '1/0\r'],
      ['ZeroDivisionError', ''],
      ['>>> ', CTRL_D],
    ],
  )
  assert.is(code, 0, text)
  assert.match(text, 'CPython')
  assert.match(text, 'The image stays')
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
      ['0JName: who? ', 'Ada\r'],
      ['>>> ', 'who * 2\r'],
      ["'AdaAda'", ''],
      ['>>> ', CTRL_D],
    ],
  )
  assert.match(text, "'AdaAda'")
  const piped = await rig.imago([], { input: 'print("x", end="")\n1\n' })
  assert.is(piped.stdout, 'x1\n')
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
  assert.match(text, '(1, 2)')
  assert.match(text, '15')
  assert.ok(text.includes(`${ESCAPE}[?2004h`) && text.includes(`${ESCAPE}[?2004l`))
})

test('an empty line ends what has begun, whatever is open, and the kernel says what is wrong with it', async () => {
  const { text } = await atTerminal(
    [],
    [
      ['>>> ', 'def f(:\r'],
      ['... ', '\r'],
      ['SyntaxError', ''],
      ['>>> ', '"al" + "ive"\r'],
      ["'alive'", ''],
      ['>>> ', CTRL_D],
    ],
  )
  assert.match(text, "'alive'")
})

test('a question takes the first line of a paste, and the code that is asked for next takes the others', async () => {
  const { text } = await atTerminal(
    [],
    [
      ['>>> ', 'first = input("who? ")\r'],
      ['who? ', pasted('Ada', 'first + "!"', '')],
      ["'Ada!'", ''],
      ['>>> ', CTRL_D],
    ],
  )
  assert.match(text, "'Ada!'")
})

test('Ctrl-D ends what input() asks for, and not the prompt', async () => {
  const { code, text } = await atTerminal(
    [],
    [
      ['>>> ', 'input("who? ")\r'],
      ['who? ', CTRL_D],
      ['EOFError', ''],
      ['>>> ', 'who = input("and? ")\r'],
      ['and? ', 'Grace\r'],
      ['>>> ', 'who * 2\r'],
      ["'GraceGrace'", ''],
      ['>>> ', CTRL_D],
    ],
  )
  assert.is(code, 0, text)
  assert.match(text, "'GraceGrace'")
})

test('Tab sets in by four spaces', async () => {
  const { text } = await atTerminal(
    [],
    [
      ['>>> ', 'def half(x):\r'],
      ['... ', '\t'],
      ['    ', 'return x / 2\r'],
      ['... ', '\r'],
      ['>>> ', 'half(42)\r'],
      ['21.0', ''],
      ['>>> ', CTRL_D],
    ],
  )
  assert.match(text, '21.0')
  assert.not.match(text, '\t')
})

test('exit() leaves the prompt, and the image lives on', async () => {
  const { code, text } = await atTerminal([], [['>>> ', 'kept = 6; exit()\r']])
  assert.is(code, 0, text)
  assert.match(text, 'The image stays.')
  assert.not.match(text, 'SystemExit')
  const piped = await rig.imago([], { input: 'kept * 7\nimport sys; sys.exit("too bad")\n"never"\n' })
  assert.equal(piped, { code: 1, stdout: '42\n', stderr: 'too bad\n' })
  assert.equal(await rig.imago([], { input: 'quit()\n"never"\n' }), { code: 0, stdout: '', stderr: '' })
})

test('None is not shown, whatever else has its name is', async () => {
  const input = 'print("a")\ntype("Nil", (), {"__repr__": lambda self: "None"})()\n'
  assert.is((await rig.imago([], { input })).stdout, 'a\nNone\n')
})

test('code that ignores Ctrl-C is said to run still, and code behind it to wait', async () => {
  const stubborn = [
    'import time; over = False',
    'def stubborn():',
    '    while not over:',
    '        try:',
    '            time.sleep(0.01)',
    '        except KeyboardInterrupt:',
    '            pass',
    '',
    '',
  ]
  const { text } = await atTerminal(
    [],
    [
      ['>>> ', pasted(...stubborn)],
      ['>>> ', 'print("o" + "n"); stubborn()\r'],
      ['on\r\n', CTRL_C],
      ['It was interrupted and still runs (job-', ''],
      ['imago restart project ends the image.', ''],
      ['>>> ', '"never " + "run"\r'],
      ['waiting: project is busy; Ctrl-C withdraws', CTRL_C],
      ['withdrawn', ''],
      ['>>> ', CTRL_D],
    ],
    30,
  )
  assert.match(text, 'Nothing ran.')
  assert.not.match(text, 'never run')
  await rig.imago(['restart', 'project'])
})

test('a kernel that runs a script is named at the start, with the script and how it failed', async () => {
  const other = join(rig.folder, 'other')
  mkdirSync(other)
  writeFileSync(join(other, 'app.py'), 'import time\ntime.sleep(600)\n')
  writeFileSync(join(other, 'bad.py'), '1 / 0\n')
  for (const name of ['app', 'bad'])
    await rig.imago(['start', 'python', '--name', name, '--script', `${name}.py`], { cwd: other })
  const app = await atTerminal(['--kernel', 'app'], [['>>> ', CTRL_D]])
  assert.match(app.text, /CPython [\d.]+ in kernel app, which runs app\.py\. Ctrl-C/)
  const bad = await atTerminal(['--kernel', 'bad'], [['>>> ', CTRL_D]])
  assert.match(bad.text, /in kernel bad, which ran bad\.py\. [\s\S]*\nbad\.py failed: ZeroDivisionError/)
  for (const name of ['app', 'bad']) await rig.imago(['stop', name])
})

test('Ctrl-C drops what is being typed, and interrupts what runs', async () => {
  const { code, text } = await atTerminal(
    [],
    [
      ['>>> ', 'nonsense('],
      ['nonsense(', CTRL_C],
      ['\r\nKeyboardInterrupt\r\n', ''],
      ['>>> ', CTRL_C],
      ['\r\nKeyboardInterrupt\r\n', ''],
      ['>>> ', 'import time; print("o" + "n"); time.sleep(600)\r'],
      ['on\r\n', CTRL_C],
      ['KeyboardInterrupt', ''],
      ['>>> ', '"al" + "ive"\r'],
      ["'alive'", ''],
      ['>>> ', CTRL_D],
    ],
  )
  assert.is(code, 0, text)
  assert.not.match(text, 'SyntaxError')
})

test('a secret is not echoed', async () => {
  const { text } = await atTerminal(
    [],
    [
      ['>>> ', 'import getpass; secret = getpass.getpass()\r'],
      ['Password: ', 'swordfish\r'],
      ['>>> ', 'len(secret)\r'],
      ['9', ''],
      // What was entered before, and before that: code.
      ['>>> ', `${ESCAPE}[A${ESCAPE}[A`],
      ['secret = getpass', CTRL_C],
      ['>>> ', CTRL_D],
    ],
  )
  assert.not.match(text, 'swordfish')
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

test('threat 16: nothing that code prints, raises, names or asks moves the cursor of a terminal', async () => {
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

const MARKED: readonly (readonly [what: string, text: string, shown: string])[] = [
  ['plain text, tabs and line ends', 'a\tb\nc\r\nd é 語 👩‍🔬', 'a\tb\nc\nd é 語 👩‍🔬'],
  ['a carriage return that would overwrite', 'safe\revil', 'safe\\x0devil'],
  ['C0, delete and C1', '\x00\x07\x08\x1b\x7f\x9b', '\\x00\\x07\\x08\\x1b\\x7f\\x9b'],
  ['marks that turn text', 'a\u202eb\u2066c', 'a\\u202eb\\u2066c'],
  ['marks that hide', 'a\u200bb\ufeff', 'a\\u200bb\\ufeff'],
]

for (const [what, text, shown] of MARKED)
  test(`threat 16: ${what}, as a terminal is sent it`, () => assert.is(escapeControls(text), shown))

test('threat 16: JSON keeps its value when its controls are escaped', () => {
  const text = JSON.stringify({ a: MARKED.map(([, raw]) => raw).join('') })
  assert.equal(JSON.parse(escapeControlsInJson(text)), JSON.parse(text))
  assert.is(escapeControls(escapeControlsInJson(text)), escapeControlsInJson(text))
})

const BLOCKS: readonly (readonly [what: string, lines: string, person: string[], program?: string[]])[] = [
  ['expressions', '1\n\n2', ['1', '2']],
  ['a bracket over lines', 'f(1,\n\n2)\n3', ['f(1,', '2)', '3'], ['f(1,\n\n2)', '3']],
  ['a bracket too many', 'def f(:\n\n2', ['def f(:', '2'], ['def f(:\n\n2']],
  ['a backslash', 'x = 1 + \\\n2\n3', ['x = 1 + \\\n2', '3']],
  ['a triple-quoted text', 's = """a\nb"""\n3', ['s = """a\nb"""', '3']],
  ['an empty line in a text', 's = """a\n\n3', ['s = """a', '3'], ['s = """a\n\n3']],
  ['brackets and colons in texts and comments', 'x = "(:"  # [ {\ny', ['x = "(:"  # [ {', 'y']],
  ['an escaped quote', "x = 'it\\'s ('\ny", ["x = 'it\\'s ('", 'y']],
  ['a function, a line and an expression', 'def f():\n  1\n\nf()', ['def f():\n  1', 'f()']],
  ['a function at once followed', 'def f():\n  1\nf()', ['def f():\n  1', 'f()']],
  ['else and its kin', 'if x:\n  1\nelse:\n  2\n\n3', ['if x:\n  1\nelse:\n  2', '3']],
  ['decorators', '@a\n@b\ndef f():\n  1\n\n2', ['@a\n@b\ndef f():\n  1', '2']],
  [
    'an empty line in a function',
    'def f():\n  1\n\n  2\n3',
    ['def f():\n  1', '  2', '3'],
    ['def f():\n  1\n\n  2', '3'],
  ],
  ['what is not complete at the end', 'f(', ['f(']],
]

for (const [what, lines, person, program = person] of BLOCKS)
  test(`blocks: ${what}`, () => {
    for (const [emptyLineEnds, expected] of [
      [true, person],
      [false, program],
    ] as const) {
      const blocks = openBlocks({ emptyLineEnds })
      const done = lines.split('\n').flatMap(line => blocks.push(line))
      const rest = blocks.rest()
      assert.equal(rest === undefined ? done : [...done, rest], expected)
    }
  })

test('npm run demo finds the mistake, and fails on a program without one', async () => {
  const good = await demo([])
  assert.is(good.code, 0, good.text)
  assert.match(good.text, 'Everything was as expected.')
  const right = join(rig.folder, 'right.py')
  writeFileSync(right, 'scores = {}\n\n\ndef next(x):\n    return x + 1\n')
  const bad = await demo([right])
  assert.is(bad.code, 1)
  assert.match(bad.text, 'This differs')
})

const pasted = (...lines: string[]) => `${ESCAPE}[200~${lines.join('\r')}${ESCAPE}[201~`

type Steps = readonly (readonly [awaited: string, typed: string])[]

/** Types the steps at a terminal of its own, which is given that many seconds before it counts as a hang. */
function atTerminal(args: readonly string[], steps: Steps, seconds = 10) {
  const script = join(PACKAGE_ROOT, 'test/support/terminal.py')
  const imago = [process.execPath, join(PACKAGE_ROOT, 'dist/src/main.js'), ...args]
  return ran('python3', [script, String(seconds), JSON.stringify(steps), ...imago])
}

const demo = (args: readonly string[]) =>
  ran(process.execPath, [join(PACKAGE_ROOT, 'dist/examples/demo.js'), ...args])

/** Both streams together, and the exit code. */
async function ran(program: string, args: readonly string[]): Promise<{ code: number | null; text: string }> {
  const child = spawn(program, args, {
    cwd: rig.project,
    env: { ...rig.env, TERM: 'xterm' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', data => {
      text += data
    })
  let code: number | null | undefined
  child.on('close', exit => {
    code = exit
  })
  await until(() => code !== undefined, `${program} to end`).catch(error => {
    child.kill('SIGKILL')
    throw new Error(`${error.message}: ${text}`)
  })
  return { code: code ?? null, text }
}
