import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { TOOLS } from '../tools/index.ts'
import { assert, suite } from './support/harness.ts'

interface Locked {
  readonly resolved?: string
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

const test = suite('package')
const root = join(import.meta.dirname, '..')
const read = (name: string) => JSON.parse(readFileSync(join(root, name), 'utf8')) as Record<string, unknown>
const locked = Object.entries(read('package-lock.json').packages as Record<string, Locked>)

test('the lock file has an entry for every optional package, or npm ci refuses it', () => {
  const names = new Set(locked.map(([path]) => path.replace(/^.*node_modules\//, '')))
  const wanted = locked.flatMap(([, entry]) => Object.keys(entry.optionalDependencies ?? {}))
  assert.ok(wanted.length > 0)
  assert.equal(
    wanted.filter(name => !names.has(name)),
    [],
  )
})

test('the lock file names no address to download from', () => {
  assert.equal(
    locked.filter(([, entry]) => entry.resolved?.startsWith('http')),
    [],
  )
})

test('dependencies are pinned', () => {
  const { dependencies, devDependencies } = read('package.json') as Record<string, Record<string, string>>
  const loose = Object.entries({ ...dependencies, ...devDependencies }).filter(([, range]) =>
    /[^\d.]/.test(range),
  )
  assert.equal(loose, [])
})

test('what is published has both far ends and the plugins, without what Python compiled and without its tests', () => {
  const folder = mkdtempSync(join(tmpdir(), 'imago-packed-'))
  try {
    const python = 'wire/peers/python'
    const shipped = [
      'dist/src/main.cjs',
      'docs/index.md',
      'editors/emacs/imago.el',
      'editors/neovim/plugin/imago.lua',
      'editors/vscode/dist/imago-0.2.0.vsix',
      'package.json',
      'wire/peers/lisp/imago-peer.asd',
      'wire/peers/lisp/start.lisp',
      `${python}/imago/looking/fields.py`,
    ]
    const left = [
      'editors/vscode/src/plan.ts',
      `${python}/imago/looking/__pycache__/fields.cpython-311.pyc`,
      `${python}/imago/stray.pyc`,
      `${python}/tests/test_calls.py`,
    ]
    for (const name of [...shipped, ...left]) {
      mkdirSync(dirname(join(folder, name)), { recursive: true })
      writeFileSync(join(folder, name), '')
    }
    cpSync(join(root, 'package.json'), join(folder, 'package.json'))
    const said = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
      cwd: folder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const [packed] = JSON.parse(said) as { files: { path: string }[] }[]
    assert.equal(packed?.files.map(({ path }) => path).sort(), shipped)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test('imago/protocol and imago/syntax can be imported from an installed package, with their types', () => {
  const folder = mkdtempSync(join(tmpdir(), 'imago-installed-'))
  try {
    mkdirSync(join(folder, 'node_modules'))
    symlinkSync(root, join(folder, 'node_modules/imago'))
    const program = [
      "import { CLIENT_FAILURES, type Methods, type PlanRow } from 'imago/protocol'",
      "import { openRegistry, SYNTAXES, TOOLS } from 'imago/syntax'",
      'const registry = openRegistry(TOOLS)',
      "const text: string = SYNTAXES.hermes.renderCall({ tool: 'job', args: {} }, registry)",
      "const undo = (row: PlanRow): string | null => (row.state === 'ended' ? (row.ended?.undo ?? null) : null)",
      "const plan: Methods['plan']['params'] = { plan: 'plan-aaaaaaaa' }",
      '// @ts-expect-error a plan has a name',
      "const wrong: Methods['plan']['params'] = { plan: 1 }",
      'console.log(JSON.stringify([text, typeof undo, plan, wrong, Object.keys(CLIENT_FAILURES).length > 0]))',
    ].join('\n')
    writeFileSync(join(folder, 'uses.ts'), program)
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
    const run = (...words: string[]) =>
      execFileSync(process.execPath, words, { cwd: folder, encoding: 'utf8' })
    const strict = ['--strict', '--module', 'nodenext', '--target', 'es2023', '--skipLibCheck', '--types', '']
    run(join(root, 'node_modules/typescript/bin/tsc'), ...strict, 'uses.ts')
    const [text, undo] = JSON.parse(run('uses.js'))
    assert.equal([/"name":"job"/.test(text), undo], [true, 'function'])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

const PLUGIN = 'plugins/claude-code'

test('what the MCP registry and Claude Code are told has the name and version of the package', () => {
  const { name, version, mcpName } = read('package.json')
  const server = read('server.json')
  const [npm] = server.packages as readonly Record<string, unknown>[]
  assert.equal([server.name, server.version], [mcpName, version])
  assert.equal([npm?.identifier, npm?.version], [name, version])
  assert.is(read(`${PLUGIN}/.claude-plugin/plugin.json`).version, version)
})

test('the entry for the MCP registry keeps the bounds of its schema', () => {
  const { $schema, name, title, description } = read('server.json') as Record<string, string>
  assert.match(
    $schema ?? '',
    /^https:\/\/static\.modelcontextprotocol\.io\/schemas\/[\d-]+\/server\.schema\.json$/,
  )
  assert.match(name ?? '', /^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/)
  for (const text of [title, description]) assert.ok(text && text.length <= 100, text)
})

test('the skill of the plugin names only tools of the default profile, and nothing but its own server', () => {
  const { mcpServers } = read(`${PLUGIN}/.mcp.json`) as { mcpServers: Record<string, { args: string[] }> }
  assert.equal(Object.entries(mcpServers), [['imago', { command: 'imago', args: ['mcp'] }]])
  const skill = readFileSync(join(root, PLUGIN, 'skills/live-image/SKILL.md'), 'utf8')
  const known = new Set(TOOLS.filter(({ profile }) => profile !== 'full').map(({ name }) => name))
  const quoted = [...skill.matchAll(/`([a-z]+(?:_[a-z]+)*)`/g)].map(([, word = '']) => word)
  const words = ['imago', 'running', 'wait', 'interrupt', 'needs_evaluation', 'outcome_unknown', 'denied']
  assert.equal(
    quoted.filter(word => !known.has(word) && ![...words, 'approval_unavailable'].includes(word)),
    [],
  )
  for (const tool of ['get_last_error', 'threads', 'inspect', 'symbol_definition'])
    assert.ok(quoted.includes(tool))
})
