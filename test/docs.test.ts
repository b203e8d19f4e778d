import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join, posix } from 'node:path'
import { attacksPage } from '../docs/pages/attacks.ts'
import { errorsPage } from '../docs/pages/errors.ts'
import { performancePage } from '../docs/pages/performance.ts'
import { syntaxesPage } from '../docs/pages/syntaxes.ts'
import { toolsPage } from '../docs/pages/tools.ts'
import { wireBytesPage } from '../docs/pages/wire-bytes.ts'
import { wireSchemaPage } from '../docs/pages/wire-schema.ts'
import { COMMANDS } from '../src/front/cli.ts'
import { METHODS } from '../src/front/methods.ts'
import { TOOLS } from '../tools/index.ts'
import { INTERNAL_REASONS, TOOL_ERRORS } from '../tools/outcome.ts'
import { WIRE_ERRORS } from '../wire/errors.ts'
import { assert, suite } from './support/harness.ts'
import { filesIn, importsOf, root, textOf } from './support/imports.ts'

const test = suite('docs')
const SPECIFICATIONS = ['docs/wire.md', 'docs/editor-protocol.md']
const PAGES = ['README.md', 'CHANGELOG.md', ...filesIn(['docs'], ['.md'])]

test('the pages made from code are as the code would write them', () => {
  assert.is(textOf('docs/attacks.md'), attacksPage())
  assert.is(textOf('docs/errors.md'), errorsPage())
  assert.is(textOf('docs/syntaxes.md'), syntaxesPage())
  assert.is(textOf('docs/tools.md'), toolsPage())
  assert.is(textOf('docs/performance.md'), performancePage())
  assert.is(textOf('docs/wire-bytes.md'), wireBytesPage())
  assert.is(textOf('docs/wire-schema.json'), wireSchemaPage())
})

for (const page of PAGES)
  test(`every relative link of ${page} leads to a file, and to a place in it`, () => {
    const broken = linksOf(page).filter(link => {
      const [path = '', anchor] = link.split('#')
      const target = path === '' ? page : posix.join(posix.dirname(page), path)
      if (!existsSync(join(root, target))) return true
      return anchor !== undefined && !anchorsOf(target).includes(anchor)
    })
    assert.equal(broken, [])
  })

test('docs/operations.md has a section for every operation that the daemon has, and for no other', () => {
  const names = [...textOf('docs/operations.md').matchAll(/^## `(\w+)`$/gm)].map(([, name]) => name)
  assert.equal(names.sort(), [...METHODS].sort())
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
  const sources = filesIn(['src', 'wire', 'tools'], ['.ts', '.tsx']).map(path => ({
    path,
    text: textOf(path),
  }))
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

test('nothing is claimed that has no code: commands, options, tools, arguments, and no code is without a caller', () => {
  const commands = shownCommands()
  assert.ok(commands.length > 80)
  assert.equal(
    commands.flatMap(shown => {
      const missing = missingOf(shown) ?? wrongCall(shown.words)
      return missing === undefined ? [] : [`${shown.page}: ${shown.line}: ${missing}`]
    }),
    [],
  )
  assert.equal(unreachedSource(), [])
})

test('the README has at most 1,000 words', () => {
  assert.ok(textOf('README.md').split(/\s+/).length <= 1_000)
})

test('pages that are written by hand have at most 15,000 words, and the two specifications 12,000', () => {
  const written = PAGES.filter(
    page => page.startsWith('docs/') && !textOf(page).includes('<!-- Made by docs/generate.ts'),
  )
  const wordsOf = (pages: readonly string[]) =>
    pages
      // What test/slime/table.ts writes is not written by hand.
      .map(page => textOf(page).replace(/<!-- table\.ts writes .*<!-- to here -->/s, ''))
      .flatMap(text => text.split(/\s+/))
      .filter(word => /[\p{L}\p{N}]/u.test(word)).length
  assert.ok(written.length > 12)
  const specified = (page: string) => SPECIFICATIONS.includes(page)
  const pages = wordsOf(written.filter(page => !specified(page)))
  const specifications = wordsOf(SPECIFICATIONS)
  assert.ok(pages <= 15_000, `${pages} words`)
  assert.ok(specifications <= 12_000, `${specifications} words`)
})

/** What is wrong with `imago call TOOL '{…}'`. */
function wrongCall([command, name = '', args = '{}']: readonly string[]): string | undefined {
  if (command !== 'call' || !/^[a-z_]+$/.test(name)) return undefined
  const tool = TOOLS.find(one => one.name === name || one.aliases.includes(name))
  if (tool === undefined) return `there is no tool ${name}`
  if (!args.startsWith('{')) return undefined
  const judged = tool.parameters.safeParse(tool.renamed(JSON.parse(args)))
  return judged.success ? undefined : judged.error.message
}

/** A call of the program as a page shows it. */
interface ShownCommand {
  readonly page: string
  /** All of it, on one line. */
  readonly line: string
  /** What stands after `imago`: words, without quotes. */
  readonly words: readonly string[]
}

/** Each `imago …` in the code of a page, in blocks and in lines. */
function shownCommands(): ShownCommand[] {
  return PAGES.flatMap(page => {
    const text = textOf(page)
    const blocks = [...text.matchAll(/^```\w*\n([\s\S]*?)^```$/gm)].flatMap(([, code = '']) =>
      code.split('\n'),
    )
    const spans = [...text.replace(/^```[\s\S]*?^```$/gm, '').matchAll(/`([^`\n]+)`/g)].map(
      ([, code = '']) => code,
    )
    return [...blocks, ...spans].flatMap(code => {
      const line = /^(?:\$ )?(?:npx )?imago ([a-z].*?)(?:\s{2,}.*)?$/.exec(code.trim())?.[1]
      return line === undefined ? [] : [{ page, line, words: wordsOf(line) }]
    })
  })
}

/** As a shell would part them; a comment, a pipe, and what a usage has in brackets are left out. */
function wordsOf(line: string): string[] {
  const words = [...line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
    ([all, single, double]) => single ?? double ?? all,
  )
  const end = words.findIndex(word => /^(#|\||>|&&|\[|…|\.\.\.$)/.test(word))
  return end < 0 ? words : words.slice(0, end)
}

/** What of it is not there: the command, or an option that it does not take; undefined where all is. */
function missingOf({ words }: ShownCommand): string | undefined {
  const [name = '', ...rest] = words
  const command = COMMANDS.find(one => one.name === name)
  if (command === undefined) return `there is no command ${name}`
  const options = rest.slice(0, rest.includes('--') ? rest.indexOf('--') : rest.length)
  const unknown = options
    .filter(word => word.startsWith('--'))
    .map(word => word.slice(2).replace(/=.*/, ''))
    .find(word => word !== 'help' && !(command.options as readonly string[]).includes(word))
  if (unknown !== undefined) return `${name} takes no --${unknown}`
  // Where the usage begins with words in small letters, what follows the name is one of them, or is left out.
  const under: readonly string[] =
    command.usage.split('--', 1)[0]?.match(/(?<![\w:/])[a-z]+(?![\w:/])/g) ?? []
  const [first] = rest
  if (under.length === 0 || first === undefined || !/^[a-z]+$/.test(first)) return undefined
  return under.includes(first) ? undefined : `${name} has no ${first}`
}

/** Where programs of others begin. */
const EXPORTED = [...textOf('package.json').matchAll(/"default": "\.\/dist\/(.*)\.js"/g)].map(
  ([, name = '']) => `${name}.ts`,
)

/** Source files that nothing of the program leads to, beginning at where it begins. */
function unreachedSource(): string[] {
  const all = filesIn(['src', 'tools', 'wire'], ['.ts', '.tsx'])
  const reached = new Set<string>()
  const open = ['src/main.ts', 'src/page/app.tsx', ...EXPORTED]
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (reached.has(path)) continue
    reached.add(path)
    for (const { to } of importsOf(path, textOf(path))) if (all.includes(to)) open.push(to)
  }
  return all.filter(path => !reached.has(path))
}

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
