import { EventEmitter } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '../../src/config.ts'
import { guard } from '../../src/guard.ts'
import { findRoot, PACKAGE_ROOT } from '../../src/paths.ts'
import { openPolicy } from '../../src/rules.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('configuration')
const folder = mkdtempSync(join(tmpdir(), 'imago-configuration-'))
test.after(() => rmSync(folder, { recursive: true, force: true }))

const page = readFileSync(join(PACKAGE_ROOT, 'docs/configuration.md'), 'utf8')
const [configText = '', policyText = ''] = [...page.matchAll(/```toml\n([\s\S]*?)```/g)].map(
  ([, text]) => text,
)

test('the config.toml of docs/configuration.md is accepted, and says the defaults', () => {
  const written = place('documented', { 'config.toml': configText })
  const { kernels, ...documented } = readConfig(written)
  const { kernels: none, ...defaults } = readConfig(join(folder, 'nowhere'))
  assert.equal(documented, defaults)
  assert.equal(kernels, { python: '/usr/bin/python3', env: ['MY_SERVICE_TOKEN'] })
  assert.equal(none, { env: [] })
})

test('the rules of docs/configuration.md are accepted, from either file', () => {
  const config = place('rules', { 'policy.toml': policyText })
  const root = place('project', { 'imago.toml': policyText })
  const { rules, problem, userFile } = openPolicy(config).rulesFor(root)
  assert.is(problem, undefined)
  assert.is(userFile, join(config, 'policy.toml'))
  assert.equal(
    rules.map(({ decision, from, path }) => [decision, from.type, path]),
    [
      ['deny', 'user', undefined],
      ['ask', 'user', join(config, 'secrets')],
      ['deny', 'project', undefined],
      ['ask', 'project', join(root, 'secrets')],
    ],
  )
})

test('a rule is in force once it is written, and no longer once it is gone', () => {
  const config = place('changing', {})
  const policy = openPolicy(config)
  const count = () => policy.rulesFor(folder).rules.length
  assert.is(count(), 0)
  writeFileSync(join(config, 'policy.toml'), '[[rule]]\ndecision = "ask"\n')
  assert.is(count(), 1)
  rmSync(join(config, 'policy.toml'))
  assert.is(count(), 0)
})

for (const [what, text, says] of [
  [
    'a misspelt key',
    '[[rule]]\ndecision = "deny"\ntol = "x"\n',
    /policy\.toml: there is no key rule\.0\.tol/,
  ],
  ['a decision that there is not', '[[rule]]\ndecision = "maybe"\n', /rule\.0\.decision/],
  ['a rule without a decision', '[[rule]]\ntool = "x"\n', /rule\.0\.decision/],
  ['what is not TOML', '[[rule]\n', /is not TOML/],
] as const)
  test(`${what} in policy.toml is a problem of the whole policy, not an absence of rules`, () => {
    const config = place('broken', { 'policy.toml': text })
    assert.match(openPolicy(config).rulesFor(folder).problem ?? '', says)
  })

test('a policy that cannot be read is a problem until it can be', () => {
  const config = place('unreadable', {})
  mkdirSync(join(config, 'policy.toml'))
  const policy = openPolicy(config)
  assert.match(policy.rulesFor(folder).problem ?? '', /cannot be read/)
  rmSync(join(config, 'policy.toml'), { recursive: true })
  assert.is(policy.rulesFor(folder).problem, undefined)
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
