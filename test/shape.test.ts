import { assert, suite } from './support/harness.ts'
import { filesIn, textOf } from './support/imports.ts'

/** The rules of the house that a machine can hold: size, names, nothing left open. */
/** More is allowed only to a file that is named here, with its reason. */
const LONGER: Readonly<Record<string, string>> = {}
const MOST_LINES = 800
const BANNED = ['util', 'utils', 'helper', 'helpers', 'manager', 'base', 'misc', 'common', 'impl']
// Spelled so that this file keeps its own rule.
const OPEN_ENDS = new RegExp(
  `\\b(?:${['TO', 'FIX'].map((word, index) => word + ['DO', 'ME'][index]).join('|')})\\b`,
)

const test = suite('shape')
const files = filesIn(['src', 'wire', 'tools', 'editors', 'test'], ['.ts', '.tsx', '.mjs', '.py', '.toml'])

test(`no file is longer than ${MOST_LINES} lines`, () => {
  const long = files
    .map(path => ({ path, lines: textOf(path).split('\n').length - 1 }))
    .filter(({ path, lines }) => lines > MOST_LINES && !(path in LONGER))
  assert.equal(long, [])
})

test('no file, function, class or type has a name that says nothing', () => {
  assert.equal(
    files.filter(path => wordsOf(path).some(isBanned)),
    [],
  )
  assert.equal(
    files.flatMap(path => emptyNames(textOf(path)).map(name => `${path}: ${name}`)),
    [],
  )
})

test('a name that says nothing is found wherever it is declared', () => {
  const declared = (line: string) => line.replace('*', 'Manager').replace('+', '_helper')
  assert.equal(emptyNames(declared('export class Kernel* {}')), ['KernelManager'])
  assert.equal(emptyNames(declared('export type * = string')), ['Manager'])
  assert.equal(emptyNames(declared('def _read+(self):')), ['_read_helper'])
  assert.equal(emptyNames('class Database {}\nconst baseline = 1\nclass Frame(BaseException):\n'), [])
})

test('nothing is left to be done later', () => {
  assert.equal(
    files.filter(path => OPEN_ENDS.test(textOf(path))),
    [],
  )
})

function emptyNames(text: string): string[] {
  const declared = text.matchAll(
    /\b(?:class|interface|type|function|const|let|def|enum)\s+\*?\s*([A-Za-z_$][\w$]*)/g,
  )
  return [...declared].map(([, name = '']) => name).filter(name => wordsOf(name).some(isBanned))
}

/** `parseHTTPBase` → parse, http, base; `a/b-c.ts` → a, b, c, ts */
function wordsOf(name: string): string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .split(/[^A-Za-z0-9]+/)
    .map(word => word.toLowerCase())
}

function isBanned(word: string): boolean {
  return BANNED.includes(word)
}
