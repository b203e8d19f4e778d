import { EventEmitter } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '../../src/config.ts'
import { guard } from '../../src/daemon.ts'
import { findRoot, PACKAGE_ROOT } from '../../src/paths.ts'
import { openPolicy } from '../../src/policy/policy.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('configuration')

const folder = mkdtempSync(join(tmpdir(), 'imago-configuration-'))

test.after(() => rmSync(folder, { recursive: true, force: true }))

const page = readFileSync(join(PACKAGE_ROOT, 'docs/configuration.md'), 'utf8')

const [, configText = ''] = /```toml\n([\s\S]*?)```/.exec(page) ?? []

const RULES = `
[[rule]]
decision = "deny"
tool = "eval_*"
kernel = "production"

[[rule]]
decision = "deny"
path = "secrets"

[[rule]]
decision = "ask"
level = "cautious"

[[rule]]
decision = "deny"
path = "migrations"
effect = "write_file"
`

test('the config.toml of docs/configuration.md is accepted, and says the defaults', () => {
  const written = place('documented', { 'config.toml': configText })
  const { kernels, files, tools, web, ...documented } = readConfig(written)
  const nothing = readConfig(join(folder, 'nowhere'))
  const { kernels: none, files: noRoots, tools: noSyntax, web: noWeb, ...defaults } = nothing
  assert.equal(documented, defaults)
  assert.equal(kernels, {
    python: '/usr/bin/python3',
    lisp: 'sbcl',
    swank: join(homedir(), 'src/slime'),
    wolfram: join(homedir(), 'm3/bin/python'),
    wolfram_formatter_seconds: 5,
    trusted: [join(homedir(), 'shop')],
    env: ['MY_SERVICE_TOKEN'],
  })
  assert.equal(none, { wolfram_formatter_seconds: 5, trusted: [], env: [] })
  assert.equal([files, noRoots], [{ roots: [join(homedir(), 'notes')] }, { roots: [] }])
  assert.equal([tools, noSyntax], [{ syntax: 'hermes' }, {}])
  assert.equal([web, noWeb], [{ port: 7777 }, {}])
})

test('a further folder for files is absolute, and neither the home directory nor what it lies in', () => {
  for (const root of ['notes', '', '/', '~', homedir(), '~/.', join(homedir(), '..')]) {
    const written = place('roots', { 'config.toml': `[files]\nroots = [${JSON.stringify(root)}]` })
    assert.throws(() => readConfig(written), /files\.roots\.0: must be the absolute path/, root)
  }
})

for (const [what, config, says] of [
  ['an unknown key', '[daemon]\nidel_minutes = 3\n', /config\.toml: there is no key daemon\.idel_minutes/],
  ['an unknown section', '[demon]\n', /there is no key demon/],
  [
    'a syntax that there is not',
    '[tools]\nsyntax = "yaml"\n',
    /tools\.syntax: .*"emoji".*"hermes".*"pythonic"/,
  ],
  ['a value of the wrong type', '[calls]\npatience_seconds = "long"\n', /calls\.patience_seconds/],
  ['what is not TOML', '[daemon\n', /config\.toml is not TOML/],
] as const)
  test(`${what} in the user's configuration is refused with its name`, () => {
    assert.throws(() => readConfig(place('wrong', { 'config.toml': config })), says)
  })

test('rules that tighten are accepted from either file', () => {
  const config = place('rules', { 'policy.toml': RULES })
  const root = place('project', { 'imago.toml': RULES })
  const { rules, problem, userFile } = openPolicy(config).rulesFor(root)
  assert.is(problem, undefined)
  assert.is(userFile, join(config, 'policy.toml'))
  assert.equal(
    rules.map(({ decision, from, path }) => [decision, from.type, path]),
    [
      ['deny', 'user', undefined],
      ['deny', 'user', join(root, 'secrets')],
      ['ask', 'user', undefined],
      ['deny', 'user', join(root, 'migrations')],
      ['deny', 'project', undefined],
      ['deny', 'project', join(root, 'secrets')],
      ['ask', 'project', undefined],
      ['deny', 'project', join(root, 'migrations')],
    ],
  )
})

test('a project is the nearest folder upwards that is marked, below the home directory', () => {
  const home = place('home', { 'package.json': '{}' })
  const project = place('home/project', { 'pyproject.toml': '' })
  const deep = place('home/project/a/b', {})
  const loose = place('home/loose', {})
  assert.is(findRoot(deep, home), project)
  assert.is(findRoot(loose, home), loose)
  assert.is(findRoot('/', home), '/')
})

test('an error that nobody caught ends the daemon only where its state is in doubt', () => {
  const process = new EventEmitter()
  const logged: string[] = []
  let ended = 0
  const stop = guard({ log: { error: (_, sentence) => logged.push(sentence) }, end: () => ended++, process })
  process.emit('unhandledRejection', new Error('nobody waited'))
  process.emit(
    'uncaughtException',
    Object.assign(new Error('write EPIPE'), { syscall: 'write', code: 'EPIPE' }),
  )
  assert.equal([logged.length, ended], [2, 0])
  process.emit('uncaughtException', new TypeError('undefined is not a function'))
  assert.equal([logged.length, ended], [3, 1])
  stop()
  assert.is(process.listenerCount('uncaughtException'), 0)
})

function place(name: string, files: Readonly<Record<string, string>>): string {
  const path = join(folder, name)
  mkdirSync(path, { recursive: true })
  for (const [file, text] of Object.entries(files)) writeFileSync(join(path, file), text)
  return path
}
