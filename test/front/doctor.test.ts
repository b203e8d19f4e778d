import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { checkNode } from '../../src/front/commands/doctor.ts'
import type { Area, Check } from '../../src/front/commands/language-checks.ts'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { LANGUAGES } from '../../wire/languages.ts'
import { assert, suite } from '../support/harness.ts'
import { lispCache, plainPythonFolder } from '../support/runtimes.ts'

const test = suite('imago doctor')

let folder = ''
test.before.each(() => {
  folder = mkdtempSync(join(tmpdir(), 'imago-doctor-'))
  for (const name of ['project/.git', 'home', 'config']) mkdirSync(join(folder, name), { recursive: true })
})
test.after.each(() => {
  imago('shutdown', '--force')
  rmSync(folder, { recursive: true, force: true })
})

let state = 'state'

function imago(...args: string[]) {
  const env = {
    PATH: [join(folder, 'bin'), process.env.PATH].join(delimiter),
    HOME: join(folder, 'home'),
    XDG_CACHE_HOME: lispCache,
    IMAGO_STATE_DIR: join(folder, state),
    IMAGO_RUNTIME_DIR: join(folder, 'run'),
    IMAGO_CONFIG_DIR: join(folder, 'config'),
  }
  const main = join(PACKAGE_ROOT, 'dist/src/main.cjs')
  const cwd = join(folder, 'project')
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], {
    cwd,
    env,
    encoding: 'utf8',
    timeout: 30_000,
  })
  return { code: status, stdout, stderr }
}

/** The checks by name, and the exit code. */
function examined(...languages: string[]): { code: number | null; checks: Map<string, Check> } {
  const { code, stdout } = imago('doctor', ...languages, '--json')
  const { result } = JSON.parse(stdout) as { result: { areas: Area[] } }
  return { code, checks: new Map(result.areas.flatMap(({ checks }) => checks).map(one => [one.name, one])) }
}

test('on a machine that is well, it says what answers and how fast, names what is missing with its line, and ends with 0', () => {
  // The `python3` of the tests is in an environment; behind it is one that is not.
  mkdirSync(join(folder, 'bin'))
  symlinkSync(realpathSync(join(plainPythonFolder, 'python3')), join(folder, 'bin/python3'))
  writeFileSync(join(folder, 'config/policy.toml'), '[[test]]\ntool = "eval_expr"\nexpect = "allow"\n')
  imago('call', 'eval_expr', '{"expr": "1"}')
  const { code, stdout } = imago('doctor')
  assert.is(code, 0, stdout)
  assert.match(stdout, /ok {2}interpreter +CPython 3.*; the project has no environment of its own/)
  assert.match(stdout, 'Common Lisp was not looked at: imago doctor lisp, or imago doctor --all.')
  assert.match(stdout, /ok {2}a kernel +starts in .*; round trip [\d.]+ ms/)
  assert.match(stdout, /ok {2}project +CPython .*, ready; round trip [\d.]+ ms/)
  assert.match(
    stdout,
    /no entry for claude-code, .*; with it, the model of that client sees the running program\n.*do: imago install CLIENT/,
  )
  assert.match(stdout, 'Everything that Imago needs works.')
  const { kernels } = JSON.parse(imago('kernels', '--json').stdout).result
  assert.equal(
    kernels.map((row: { name: string }) => row.name),
    ['project'],
  )
})

test('the interpreter that is looked at is the one of the project’s environment, and another imago in it is broken', () => {
  const venv = join(folder, 'project/.venv')
  const made = spawnSync('python3', ['-m', 'venv', '--without-pip', venv], { encoding: 'utf8' })
  assert.is(made.status, 0, made.stderr)
  const { code, checks } = examined()
  assert.is(code, 0)
  assert.match(checks.get('interpreter')?.found ?? '', join(venv, 'bin/python'))
  assert.not.match(checks.get('interpreter')?.found ?? '', 'no environment')
  assert.is(checks.get('imago-agent')?.state, 'missing')
  const [lib = ''] = readdirSync(join(venv, 'lib'))
  const metadata = join(venv, 'lib', lib, 'site-packages/imago-1.0.5.dist-info')
  mkdirSync(metadata)
  writeFileSync(
    join(metadata, 'METADATA'),
    'Metadata-Version: 2.1\nName: imago\nVersion: 1.0.5\nSummary: Imago is a python tool that extract digital evidences from images.\n',
  )
  const found = examined()
  assert.is(found.code, 1)
  assert.match(found.checks.get('another imago')?.found ?? '', 'imago 1.0.5 is installed there')
  assert.match(found.checks.get('another imago')?.fix ?? '', 'pip uninstall imago')
})

test('another language is looked at where it is named, alone, and each with --all; a name that is none is refused with all of them', () => {
  const { checks } = examined('lisp')
  assert.is(checks.get('a lisp kernel')?.state, 'ok')
  assert.is(checks.get('interpreter'), undefined)
  const all = examined('--all').checks
  assert.equal([all.get('interpreter')?.state, all.get('a lisp kernel')?.state], ['ok', 'ok'])
  assert.equal([all.get('wolfram')?.state, all.get('wolfram')?.fix], ['missing', 'imago install wolfram'])
  const { code, stderr } = imago('doctor', 'cobol')
  assert.is(code, 2)
  assert.match(
    stderr,
    `There is no language cobol. Languages: ${LANGUAGES.map(({ name }) => name).join(', ')}.`,
  )
})

test('a runtime directory that is a link is broken, once; what hangs on it is not checked, and says why', () => {
  mkdirSync(join(folder, 'elsewhere'))
  symlinkSync(join(folder, 'elsewhere'), join(folder, 'run'))
  const { code, checks } = examined()
  assert.is(code, 1)
  assert.match(checks.get('sockets')?.found ?? '', 'symbolic link')
  assert.is(checks.get('answers')?.state, 'unknown')
  assert.match(checks.get('a kernel')?.found ?? '', 'not checked, because the folders')
  assert.match(checks.get('interpreter')?.found ?? '', /Python 3/)
  assert.equal([...checks.values()].filter(({ state }) => state === 'broken').length, 1)
  assert.is(checks.get('config.toml')?.state, 'ok')
  rmSync(join(folder, 'run'))
})

test('an interpreter that is not there is broken, with what to do', () => {
  writeFileSync(join(folder, 'config/config.toml'), `[kernels]\npython = "${folder}/no-python"\n`)
  const { code, checks } = examined()
  assert.is(code, 1)
  assert.match(checks.get('a kernel')?.found ?? '', 'no-python')
  assert.match(checks.get('a kernel')?.fix ?? '', 'config.toml')
})

test('settings that were changed after the daemon had read them are told of', () => {
  assert.is(examined().checks.get('settings'), undefined)
  writeFileSync(join(folder, 'config/config.toml'), '[daemon]\nidle_minutes = 3\n')
  assert.match(examined().checks.get('settings')?.fix ?? '', 'imago shutdown')
  imago('shutdown')
  assert.is(examined().checks.get('settings'), undefined)
})

test('a daemon that keeps its journal in another state directory is told of, with where that is', () => {
  assert.is(examined().checks.get('log')?.state, 'ok')
  state = 'other'
  const { state: found, found: where, fix } = examined().checks.get('log') ?? {}
  state = 'state'
  assert.equal([found, fix?.includes('imago shutdown')], ['missing', true])
  assert.match(where ?? '', join(folder, 'state'))
})

test('whatever is broken has a line that mends it', () => {
  writeFileSync(join(folder, 'state'), '')
  writeFileSync(join(folder, 'config/config.toml'), '[daemon]\nidle = 3\n')
  writeFileSync(join(folder, 'config/policy.toml'), '[[test]]\ntool = "eval_expr"\nexpect = "deny"\n')
  writeFileSync(join(folder, 'project/.mcp.json'), '[1')
  const broken = [...examined().checks.values()].filter(({ state }) => state === 'broken')
  assert.equal(
    broken.map(({ name }) => name),
    ['state', 'config.toml', 'policy', 'claude-code'],
  )
  assert.match(broken[1]?.found ?? '', /config\.toml.*daemon\.idle/)
  assert.match(broken[2]?.found ?? '', 'test 1 (eval_expr, cautious)')
  for (const { name, fix, found } of broken) {
    assert.ok(fix, name)
    assert.not.match(found, '\n')
  }
  rmSync(join(folder, 'state'))
})

test('a directory that others could enter is said to have been closed', () => {
  mkdirSync(join(folder, 'run'), { mode: 0o777 })
  chmodSync(join(folder, 'run'), 0o777)
  assert.match(examined().checks.get('sockets')?.found ?? '', 'was 0777, open to others; is 0700 now')
})

test('an entry of an MCP client whose program is gone is broken, and installing again is what it says to do', () => {
  writeFileSync(
    join(folder, 'project/.mcp.json'),
    '{"mcpServers":{"imago":{"command":"/gone/imago","args":["mcp"]}}}',
  )
  const { checks } = examined()
  assert.is(checks.get('claude-code')?.state, 'broken')
  assert.match(checks.get('claude-code')?.fix ?? '', 'imago install claude-code')
})

test('a Node that package.json refuses is broken, whatever its digits look like as text', () => {
  const states = ['20.9.0', '20.19.0', '100.0.0'].map(version => checkNode(version).state)
  assert.equal(states, ['broken', 'ok', 'ok'])
})
