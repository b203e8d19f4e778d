import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Area, Check } from '../../src/front/commands/checks.ts'
import { checkNode } from '../../src/front/commands/doctor.ts'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { assert, suite } from '../support/harness.ts'
import { lispCache } from '../support/runtimes.ts'

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

function imago(...args: string[]) {
  const env = {
    PATH: process.env.PATH,
    HOME: join(folder, 'home'),
    XDG_CACHE_HOME: lispCache,
    IMAGO_STATE_DIR: join(folder, 'state'),
    IMAGO_RUNTIME_DIR: join(folder, 'run'),
    IMAGO_CONFIG_DIR: join(folder, 'config'),
  }
  const main = join(PACKAGE_ROOT, 'dist/src/main.js')
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
function examined(): { code: number | null; checks: Map<string, Check> } {
  const { code, stdout } = imago('doctor', '--json')
  const { result } = JSON.parse(stdout) as { result: { areas: Area[] } }
  return { code, checks: new Map(result.areas.flatMap(({ checks }) => checks).map(one => [one.name, one])) }
}

test('on a machine that is well, it says what answers and how fast, names what is missing with its line, and ends with 0', () => {
  imago('call', 'eval_expr', '{"expr": "1"}')
  const { code, stdout } = imago('doctor')
  assert.is(code, 0, stdout)
  assert.match(stdout, /ok {2}interpreter +CPython 3/)
  assert.match(stdout, /ok {2}a kernel +starts in .*; round trip [\d.]+ ms/)
  assert.match(stdout, /ok {2}project +CPython .*, ready; round trip [\d.]+ ms/)
  assert.match(stdout, /no entry for claude-code, .*; it would give .*\n.*do: imago install CLIENT/)
  assert.match(stdout, 'Everything that Imago needs works.')
  const { kernels } = JSON.parse(imago('kernels', '--json').stdout).result
  assert.equal(
    kernels.map((row: { name: string }) => row.name),
    ['project'],
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

test('settings and policies that are wrong are told with the file and the key', () => {
  writeFileSync(join(folder, 'config/config.toml'), '[daemon]\nidle = 3\n')
  writeFileSync(join(folder, 'config/policy.toml'), 'rules = 1\n')
  const { code, checks } = examined()
  assert.is(code, 1)
  assert.match(checks.get('config.toml')?.found ?? '', /config\.toml.*daemon\.idle/)
  assert.match(checks.get('policy')?.found ?? '', 'policy.toml')
})

test('a policy whose tests hold at the level of a tool is in order', () => {
  writeFileSync(join(folder, 'config/policy.toml'), '[[test]]\ntool = "eval_expr"\nexpect = "allow"\n')
  assert.is(examined().checks.get('policy')?.state, 'ok')
  writeFileSync(join(folder, 'config/policy.toml'), '[[test]]\ntool = "eval_expr"\nexpect = "deny"\n')
  assert.match(examined().checks.get('policy')?.found ?? '', 'test 1 (eval_expr, cautious)')
})

test('an interpreter that is not there is broken, with what to do', () => {
  writeFileSync(join(folder, 'config/config.toml'), `[kernels]\npython = "${folder}/no-python"\n`)
  const { code, checks } = examined()
  assert.is(code, 1)
  assert.match(checks.get('a kernel')?.found ?? '', 'no-python')
  assert.match(checks.get('a kernel')?.fix ?? '', 'config.toml')
})

test('whatever is broken has a line that mends it', () => {
  writeFileSync(join(folder, 'state'), '')
  writeFileSync(join(folder, 'config/config.toml'), 'a = [\n')
  writeFileSync(join(folder, 'config/policy.toml'), 'b = {')
  writeFileSync(join(folder, 'project/.mcp.json'), '[1')
  const broken = [...examined().checks.values()].filter(({ state }) => state === 'broken')
  assert.equal(
    broken.map(({ name }) => name),
    ['state', 'config.toml', 'policy', 'claude-code'],
  )
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
  assert.is(checkNode('20.9.0').state, 'broken')
  assert.is(checkNode('20.19.0').state, 'ok')
  assert.is(checkNode('100.0.0').state, 'ok')
})
