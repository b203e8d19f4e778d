import { spawnSync } from 'node:child_process'
import { errorsPage } from '../docs/pages/errors.ts'
import { performancePage } from '../docs/pages/performance.ts'
import { toolsPage } from '../docs/pages/tools.ts'
import { INTERNAL_REASONS, TOOL_ERRORS } from '../tools/errors.ts'
import { TOOLS } from '../tools/index.ts'
import { FAILURES } from '../wire/codec/messages.ts'
import { WIRE_ERRORS } from '../wire/errors.ts'
import { assert, suite } from './support/harness.ts'
import { filesIn, root, textOf } from './support/imports.ts'

const test = suite('docs')

test('docs/errors.md lists every code of every table, and no other', () => {
  const listed = [...textOf('docs/errors.md').matchAll(/^\| `(\w+)` \|/gm)].map(([, code]) => code)
  const tables = [TOOL_ERRORS, INTERNAL_REASONS, WIRE_ERRORS, FAILURES]
  assert.equal(
    listed,
    tables.flatMap(table => Object.keys(table)),
  )
})

test('the pages made from code are as the code would write them', () => {
  assert.is(textOf('docs/errors.md'), errorsPage())
  assert.is(textOf('docs/tools.md'), toolsPage())
  assert.is(textOf('docs/performance.md'), performancePage())
})

test('docs/tools.md has a section for every tool, and no other', () => {
  const sections = [...textOf('docs/tools.md').matchAll(/^## `(\w+)`$/gm)].map(([, name]) => name)
  assert.equal(
    sections,
    TOOLS.map(tool => tool.name),
  )
})

test('npm run docs -- --check agrees, and writes nothing', () => {
  const before = textOf('docs/tools.md')
  const { status, stdout } = spawnSync(process.execPath, ['--import', 'tsx', 'docs/generate.ts', '--check'], {
    cwd: root,
    encoding: 'utf8',
  })
  assert.is(stdout, '')
  assert.is(status, 0)
  assert.is(textOf('docs/tools.md'), before)
})

test('no code is thrown or answered that its table does not have', () => {
  const sources = filesIn(['src', 'wire', 'tools'], ['.ts']).map(path => ({ path, text: textOf(path) }))
  const unknown = sources.flatMap(({ path, text }) =>
    USES.flatMap(({ pattern, table }) =>
      [...text.matchAll(pattern)]
        .map(([, code = '']) => code)
        .filter(code => !Object.hasOwn(table, code))
        .map(code => `${path}: ${code}`),
    ),
  )
  assert.equal(unknown, [])
})

const USES = [
  { pattern: /\bnew WireError\(\s*'(\w+)'/g, table: WIRE_ERRORS },
  { pattern: /\b(?:failed|toolError)\(\s*'(\w+)'/g, table: TOOL_ERRORS },
  { pattern: /\bfailedInside\(\s*'(\w+)'/g, table: INTERNAL_REASONS },
]
