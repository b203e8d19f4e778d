import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { systemIn } from '../../wire/swank/peer.ts'
import { assert, suite } from '../support/harness.ts'
import { lispCache } from '../support/runtimes.ts'

const test = suite('the sources of the Lisp peer', { limitMs: 120_000 })
const COLUMNS = 100
const FOLDER = join(import.meta.dirname, '../../wire/peers/lisp')

const { files } = systemIn(FOLDER)
const FILES = files.map(({ name }) => name)

/** No part of the system: what loads it, and what an image of our own begins with. */
const APART = ['loader', 'start']
const textOf = (name: string) => readFileSync(join(FOLDER, `${name}.lisp`), 'utf8')
const all = readdirSync(FOLDER)
  .filter(file => file.endsWith('.lisp'))
  .map(file => file.slice(0, -'.lisp'.length))

/** Without strings, characters and comments, in which anything may be said. */
const codeOf = (text: string) =>
  text.replace(/#\\.|"(?:\\.|[^"\\])*"|;[^\n]*|#\|.*?\|#/gs, found => (found[0] === ';' ? '' : '""'))

test('every file is a part of the system, or known to be read otherwise', () => {
  assert.equal([...FILES, ...APART].sort(), all.sort())
})

test('a person can load the system with ASDF, and nothing is warned of', async () => {
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
    ],
    { timeout: 100_000, env: { ...process.env, XDG_CACHE_HOME: lispCache } },
  )
  assert.equal(stdout.split('\n').filter(Boolean), ['done'])
})

test('another version can be loaded over it: it defines no class, no structure of its own type, and no method', () => {
  const forbidden =
    /\((defclass|defmethod|defgeneric|define-condition|deftype|defsetf|declaim|proclaim|defconstant|define-compiler-macro|define-setf-expander)\b|\(defstruct (?!\(,name \(:type vector\))/i
  for (const name of FILES) assert.not.match(codeOf(textOf(name)), forbidden, name)
})

test('no name is defined twice', () => {
  const definition =
    /^\((?:defun|defmacro|defvar|defparameter|define-session-variable|define-implementation) (\S+)/gm
  for (const lisp of ['sbcl', 'ecl']) {
    const defined = new Map<string, string>()
    for (const { name } of files.filter(file => file.lisp === undefined || file.lisp === lisp))
      for (const [, what = ''] of textOf(name).matchAll(definition)) {
        assert.is(defined.get(what), undefined, `${what} of ${name} is also defined in ${defined.get(what)}`)
        defined.set(what, name)
      }
  }
})

test('each file begins with what it is for, and keeps to its measure', () => {
  for (const name of FILES) {
    const lines = textOf(name).split('\n')
    assert.match(lines[0] ?? '', /^;;;; \S/, name)
    assert.ok(lines.length <= 800, `${name}.lisp has ${lines.length} lines`)
    const long = lines.flatMap((line, at) => (line.length > COLUMNS ? [`${name}.lisp:${at + 1}`] : []))
    assert.equal(long, [])
  }
})

test('nothing is read by running it', () => {
  for (const name of FILES) assert.not.match(codeOf(textOf(name)), /#\./, name)
})
