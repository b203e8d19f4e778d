import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join, posix } from 'node:path'
import { errorsPage } from '../docs/pages/errors.ts'
import { performancePage } from '../docs/pages/performance.ts'
import { toolsPage } from '../docs/pages/tools.ts'
import { wireSchemaPage } from '../docs/pages/wire-schema.ts'
import { TOOLS } from '../tools/index.ts'
import { INTERNAL_REASONS, TOOL_ERRORS } from '../tools/outcome.ts'
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
  assert.is(textOf('docs/wire-schema.json'), wireSchemaPage())
})

test('docs/tools.md has a section for every tool, and no other', () => {
  const sections = [...textOf('docs/tools.md').matchAll(/^## `(\w+)`$/gm)].map(([, name]) => name)
  assert.equal(
    sections,
    TOOLS.map(tool => tool.name),
  )
})

for (const page of ['README.md', 'CHANGELOG.md', ...filesIn(['docs'], ['.md'])])
  test(`every relative link of ${page} leads to a file, and to a place in it`, () => {
    const broken = linksOf(page).filter(link => {
      const [path = '', anchor] = link.split('#')
      const target = path === '' ? page : posix.join(posix.dirname(page), path)
      if (!existsSync(join(root, target))) return true
      return anchor !== undefined && !anchorsOf(target).includes(anchor)
    })
    assert.equal(broken, [])
  })

test('npm run docs -- --check agrees, and writes nothing', () => {
  const before = textOf('docs/tools.md')
  const { status, stdout } = spawnSync(
    process.execPath,
    [...process.execArgv, 'docs/generate.ts', '--check'],
    {
      cwd: root,
      encoding: 'utf8',
    },
  )
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

/** A page without its blocks of code and its code in a line, where nothing is a link. */
const proseOf = (page: string) =>
  textOf(page)
    .replace(/^```[\s\S]*?^```$/gm, '')
    .replace(/`[^`\n]*`/g, '')

function linksOf(page: string): string[] {
  const targets = [...proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target)
  return targets.filter(target => !/^[a-z]+:/.test(target))
}

/** Those written out, and those that headings get: in small letters, without marks, with dashes for spaces. */
function anchorsOf(page: string): string[] {
  const text = textOf(page).replace(/^```[\s\S]*?^```$/gm, '')
  const written = [...text.matchAll(/<a id="([^"]+)"/g)].map(([, id = '']) => id)
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading)
  return [
    ...written,
    ...headings.map(heading =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N}_ -]/gu, '')
        .replaceAll(' ', '-'),
    ),
  ]
}

const USES = [
  { pattern: /\bnew WireError\(\s*'(\w+)'/g, table: WIRE_ERRORS },
  { pattern: /\b(?:failed|toolError)\(\s*'(\w+)'/g, table: TOOL_ERRORS },
  { pattern: /\bfailedInside\(\s*'(\w+)'/g, table: INTERNAL_REASONS },
]
