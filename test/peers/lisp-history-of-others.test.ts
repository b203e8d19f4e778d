import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { symbol } from '../../wire/swank/sexp.ts'
import { assert, suite } from '../support/harness.ts'
import { type LispListener, openListener } from '../support/lisp-listener.ts'
import { openSlime, type Slime } from '../support/slime.ts'
import { type RealSwank, startSwank } from '../support/swank.ts'
import { makeFolder } from '../support/temporary.ts'

const test = suite('what others evaluate in a Lisp image')
let swank: RealSwank
let person: Slime
let lisp: LispListener

test.before(async () => {
  swank = await startSwank()
  person = await openSlime(swank)
  await person.ask('(defvar *before* 1)')
  lisp = await openListener(swank)
})
test.after(async () => {
  lisp?.end()
  await person?.close()
  swank?.kill()
})

const newest = async (limit = 1) => (await lisp.look('history', { limit })).entries

test('what was evaluated before Imago came is not told', async () => {
  assert.equal(await newest(), [])
})

test('what somebody evaluates in an editor is in the history as theirs, and in the order in which it came', async () => {
  await lisp.run('(+ 1 2)', { who: 'a model' })
  await person.ask('(setf *before* (list "a \\" quote" 2))')
  const [theirs, ours] = await newest(2)
  assert.equal(
    [theirs?.who, theirs?.source, theirs?.outcome, theirs?.call],
    ['another client of Swank', '(setf *before* (list "a \\" quote" 2))', 'done', null],
  )
  assert.equal([ours?.who, ours?.number], ['a model', (theirs?.number ?? 0) - 1])
  assert.is((await newest())[0]?.number, theirs?.number, 'it is told once')
})

test('what somebody compiles or loads in an editor is told, too', async () => {
  const file = join(makeFolder(), 'theirs.lisp')
  writeFileSync(file, '(defvar *loaded* 1)')
  const compiled = [
    symbol('swank:compile-string-for-emacs'),
    '(defun theirs () 1)',
    'theirs',
    null,
    null,
    null,
  ]
  await person.request(compiled)
  await person.request([symbol('swank:load-file'), file])
  assert.equal(
    (await newest(2)).map(({ who, source, outcome }) => [who, source, outcome]),
    [
      ['another client of Swank', `load-file ${file}`, 'done'],
      ['another client of Swank', '(defun theirs () 1)', 'done'],
    ],
  )
})

test('an error of theirs shows as code that left, and nothing of it is ours', async () => {
  await person.ask('(error "mine")').catch(() => {})
  const [theirs] = await newest()
  assert.equal([theirs?.source, theirs?.outcome], ['(error "mine")', 'left'])
  assert.is((await lisp.look('last_error', {})).error, null)
})

test('a flood of theirs is told as far as Swank remembers it, and costs no more than that', async () => {
  for (let number = 0; number < 60; number++) await person.ask(`(list ${number})`)
  const entries = await newest(100)
  assert.is(entries[0]?.source, '(list 59)')
  assert.ok(entries.length < 60, `${entries.length} entries`)
})
