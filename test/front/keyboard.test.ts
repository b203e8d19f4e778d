import { assert, suite } from '../support/harness.ts'
import { openRig } from '../support/rig.ts'
import { CTRL_C, CTRL_D, ESCAPE, openTerminal, pasted } from '../support/terminal.ts'

const test = suite('keyboard', { limitMs: 60_000 })
const rig = openRig()
test.after(() => rig.close())
const atTerminal = openTerminal(rig)

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
  assert.not.ok(text.includes(ESCAPE), 'nothing moves the cursor of a terminal that can only print lines')
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
      ['>>> ', CTRL_D],
    ],
  )
  assert.not.match(text, 'swordfish')
})
