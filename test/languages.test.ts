import { LANGUAGES, SERVERS } from '../wire/languages.ts'
import { assert, suite } from './support/harness.ts'
import { filesIn, textOf } from './support/imports.ts'

/** Where a language may be named, and why: in its record, in the table of a layer, and in its adapter. */
const MAY_NAME: readonly (readonly [place: RegExp, why: string])[] = [
  [/^wire\/languages\.ts$/, 'the records'],
  [/^wire\/kernels\/languages\.ts$/, 'how each is started and joined'],
  [/^tools\/languages\.ts$/, 'the words of each'],
  [/^src\/kernels\/servers\.ts$/, 'what is said of the server of each'],
  [
    /^src\/front\/(languages|\w+-blocks|commands\/language-checks)\.ts$/,
    'how each is typed, checked and installed',
  ],
  [/^src\/terminal\/(languages|syntax)\.ts$/, 'how each is typed and coloured'],
  [/^wire\/kernels\/python\.ts$/, 'the adapter of Python'],
  [/^wire\/(swank\/|kernels\/(swank|lisp))/, 'the adapter of Common Lisp'],
  [/^wire\/kernels\/wolfram(-\w+)?\.ts$/, 'the adapter of Wolfram Language'],
  [/^src\/kernels\/trial\.ts$/, 'the Python in which an engine has its host'],
  [/^src\/config\.ts$/, "the names of settings in the user's file"],
  [/^src\/policy\/file\.ts$/, "the names of settings in a project's file"],
]

const test = suite('languages')
const schemes = SERVERS.map(({ scheme }) => scheme)
const names = [...LANGUAGES.map(({ name }) => name), ...schemes].join('|')
/** A language or its server as a text of its own, as the key of a record, or in an address. */
const NAMED = new RegExp(
  `(['"\`])(?:${names})\\1|(?:^|[{,(]\\s*)(?:${names}):(?!:)|\\b(?:${schemes.join('|')}):/`,
  'gm',
)

const code = (path: string) =>
  textOf(path)
    .replaceAll(/\/\*[\s\S]*?\*\//g, '')
    .replaceAll(/^\s*\/\/.*$/gm, '')
const namesIn = (text: string) => [...text.matchAll(NAMED)].map(([found]) => found.trim())

test('no file names a language but its record, the tables of the layers and its adapter', () => {
  const files = filesIn(['src', 'tools', 'wire'], ['.ts']).filter(path => !path.startsWith('wire/peers/'))
  const found = files
    .filter(path => !MAY_NAME.some(([place]) => place.test(path)))
    .flatMap(path => namesIn(code(path)).map(name => `${path}: ${name}`))
  assert.equal(found, [])
})

test('every place that may name a language does', () => {
  const files = filesIn(['src', 'tools', 'wire'], ['.ts'])
  const idle = MAY_NAME.filter(
    ([place]) => !files.some(path => place.test(path) && namesIn(code(path)).length > 0),
  )
  assert.equal(
    idle.map(([, why]) => why),
    [],
  )
})

test('a name is found as a text, as a key and in an address, and not in a sentence', () => {
  assert.is(namesIn("if (language === 'lisp') {}").length, 1)
  assert.is(namesIn('const table = {\n  python: 1,\n  lisp: 2 }').length, 2)
  assert.is(namesIn("'imago attach swank://4005'").length, 1)
  assert.is(namesIn("'imago start python'\nlisp::there").length, 0)
})
