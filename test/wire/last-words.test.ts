import { lastWords } from '../../wire/kernels/process.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('last words')

const OWN = '/opt/imago/wire/peers/python/imago'
const frames = (...places: string[]) => places.map(place => `  File ${place}`).join('\n')

test('of a crash, the fault, the thread that crashed and other threads of the user are told, in this order', () => {
  const report = [
    'before it',
    'Fatal Python error: Segmentation fault',
    '',
    `Thread 0x1 (most recent call first):\n${frames('"/usr/lib/socket.py", line 9 in recv', `"${OWN}/link.py", line 3 in read`)}`,
    '',
    `Thread 0x2 (most recent call first):\n${frames('"/home/shop/worker.py", line 2 in work')}`,
    '',
    `Current thread 0x3 (most recent call first):\n${frames('"/home/shop/app.py", line 7 in deep', `"${OWN}/evaluator.py", line 80 in run`)}`,
    '',
  ].join('\n')
  assert.is(
    lastWords(report, OWN),
    [
      'before it',
      'Fatal Python error: Segmentation fault',
      'Current thread 0x3 (most recent call first):',
      '  File "/home/shop/app.py", line 7 in deep',
      'Thread 0x2 (most recent call first):',
      '  File "/home/shop/worker.py", line 2 in work',
    ].join('\n'),
  )
})

test('of a crash in a deep recursion the first frames are told, and how many more there were', () => {
  const deep = frames(
    ...Array.from({ length: 100 }, (_, number) => `"/home/shop/app.py", line ${number} in f`),
  )
  const lines = lastWords(`Fatal Python error: Aborted\n\nCurrent thread 0x1:\n${deep}\n`, OWN).split('\n')
  assert.is(lines.length, 25)
  assert.is(lines[2], '  File "/home/shop/app.py", line 0 in f')
  assert.is(lines.at(-1), '… and 78 more lines')
})

test('of anything else the last lines are told, and a line without an end is cut', () => {
  assert.is(lastWords('', OWN), '')
  assert.is(lastWords('\n out of cheese \n', OWN), 'out of cheese')
  const many = Array.from({ length: 100 }, (_, number) => `line ${number}`).join('\n')
  assert.match(lastWords(many, OWN), /^line 76\n.*line 99$/s)
  assert.is(lastWords('x'.repeat(16_000), OWN).length, 4_096)
})
