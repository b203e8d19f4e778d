import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { FILES } from '../../wire/swank/peer.ts'
import { assert, suite } from '../support/harness.ts'
import { makeFolder } from '../support/temporary.ts'

const test = suite('the sources of the Lisp peer', { limitMs: 120_000 })
const COLUMNS = 100
const FOLDER = join(import.meta.dirname, '../../wire/peers/lisp')

/** Read by other means, or not by us at all. */
const APART = ['bootstrap', 'behind', 'door', 'package', 'start']
const textOf = (name: string) => readFileSync(join(FOLDER, `${name}.lisp`), 'utf8')
const all = readdirSync(FOLDER)
  .filter(file => file.endsWith('.lisp'))
  .map(file => file.slice(0, -'.lisp'.length))

/** Without strings, characters and comments, in which anything may be said. */
const codeOf = (text: string) =>
  text.replace(/#\\.|"(?:\\.|[^"\\])*"|;[^\n]*|#\|.*?\|#/gs, found => (found[0] === ';' ? '' : '""'))

test('every file is sent, in some order, or known to be read otherwise', () => {
  assert.equal([...FILES, ...APART].sort(), all.sort())
})

test('they compile as files without a warning', async () => {
  const { stdout } = await promisify(execFile)(
    'sbcl',
    [
      '--noinform',
      '--no-sysinit',
      '--no-userinit',
      '--disable-debugger',
      '--load',
      join(import.meta.dirname, '../support/compiling.lisp'),
      '--quit',
      '--end-toplevel-options',
      '--',
      FOLDER,
      makeFolder(),
      ...FILES,
    ],
    { timeout: 100_000 },
  )
  assert.equal(stdout.split('\n').filter(Boolean), ['done'])
})

test('none of them registers a name in the image for good', () => {
  const forbidden =
    /\((defstruct|defclass|defmethod|defgeneric|define-condition|deftype|defsetf|declaim|proclaim|defconstant|define-compiler-macro|define-setf-expander|define-symbol-macro|defpackage)\b/i
  for (const name of FILES) assert.not.match(codeOf(textOf(name)), forbidden, name)
})

test('no name is defined twice', () => {
  const defined = new Map<string, string>()
  for (const name of FILES)
    for (const [, , what = ''] of textOf(name).matchAll(/^\((defun|defmacro|defvar|defparameter) (\S+)/gm)) {
      assert.is(defined.get(what), undefined, `${what} of ${name} is also defined in ${defined.get(what)}`)
      defined.set(what, name)
    }
})

test('each file begins with what it is for, and keeps to its measure', () => {
  for (const name of FILES) {
    const lines = textOf(name).split('\n')
    assert.match(lines[0] ?? '', /^;;;; \S/, name)
    assert.ok(lines.length <= 301, `${name}.lisp has ${lines.length} lines`)
    const long = lines.flatMap((line, at) => (line.length > COLUMNS ? [`${name}.lisp:${at + 1}`] : []))
    assert.equal(long, [])
  }
})

test('nothing is read by running it', () => {
  for (const name of FILES) assert.not.match(codeOf(textOf(name)), /#\./, name)
})
