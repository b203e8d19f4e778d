import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { COMMANDS } from '../../src/front/cli.ts'
import { exitOf } from '../../src/front/print.ts'
import { PACKAGE_ROOT, PROGRAM } from '../../src/paths.ts'
import type { ToolErrorCode } from '../../tools/outcome.ts'
import { onlyEnvelope } from '../support/envelopes.ts'
import { assert, suite } from '../support/harness.ts'
import { openRig, type RunOptions, until } from '../support/rig.ts'

const test = suite('commands', { limitMs: 60_000 })
const rig = openRig()
test.after(() => rig.close())

const evaluate = (expr: string, options?: RunOptions) =>
  rig.imago(['call', 'eval_expr', JSON.stringify({ expr }), '--json'], options)

test('imago call starts a daemon and a kernel, prints exactly one envelope, and what the code printed on standard error', async () => {
  const { code, stdout, stderr } = await evaluate('print("seen"); 1 + 2')
  assert.is(code, 0)
  assert.is(stderr, 'seen\n')
  const { ok, result } = JSON.parse(stdout)
  assert.equal([ok, result.value_repr, result.stdout], [true, '3', 'seen\n'])
})

test('without --json output is shown as it comes, each stream on its own, and then the result', async () => {
  const flag = join(rig.folder, 'go')
  const expr = `import os, sys, time
print("first")
print("other", file=sys.stderr)
while not os.path.exists(${JSON.stringify(flag)}): time.sleep(0.01)
print("second")
42`
  const call = rig.begin(['call', 'eval_expr', JSON.stringify({ expr })])
  await call.says(/^first\n$/)
  assert.is(call.child.exitCode, null)
  writeFileSync(flag, '')
  const { code, stdout, stderr } = await call.ended
  assert.is(code, 0)
  assert.is(stdout, 'first\nsecond\n42\n')
  assert.is(stderr, 'other\n')
})

test('imago eval says where a value is cut, and how to read on', async () => {
  const { stdout, stderr } = await rig.imago(['eval', '"a" * 100_000'])
  assert.ok(stdout.length < 100_000)
  const [, handle = ''] =
    /it is cut; the rest: imago call read_more '\{"handle":"(.+)"\}'\n$/.exec(stderr) ?? []
  assert.is((await rig.imago(['call', 'read_more', JSON.stringify({ handle })])).code, 0)
})

test('commands that are one call are one caller, so that each is in the package that another went to', async () => {
  await rig.imago(['eval', '"of one caller"'])
  await rig.imago(['call', 'eval_expr', 'expr="of one caller"'])
  const { stdout } = await rig.imago(['log', '--json'])
  const entries = stdout
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
  const ours = entries.filter(({ args }) => args?.expr === '"of one caller"')
  assert.equal([ours.length > 1, new Set(ours.map(({ who }) => who)).size], [true, 1])
})

test('a pipe that is read late gets all of what a command prints', () => {
  const late = spawnSync(
    'sh',
    ['-c', '"$0" "$1" tools --format json | { sleep 1; cat; }', process.execPath, PROGRAM],
    {
      encoding: 'utf8',
      env: { ...process.env, ...rig.env },
      maxBuffer: 10_000_000,
    },
  )
  assert.ok(late.stdout.length > 65_536)
  assert.ok(JSON.parse(late.stdout).length > 40)
})

const evaluating = (expr: string) => ['eval_expr', JSON.stringify({ expr })]
const FAILING: readonly (readonly [
  what: string,
  args: readonly string[],
  code: number,
  error: ToolErrorCode,
  says: RegExp,
])[] = [
  ['code that raises', evaluating('1/0'), 1, 'exception', /ZeroDivisionError/],
  ['a NUL in the source', evaluating('1\0'), 1, 'exception', /./],
  ['a lone surrogate in the source', evaluating("'\ud800'"), 1, 'exception', /./],
  ['a stale handle', ['inspect', '{"expr":"@dead.1"}'], 1, 'stale_handle', /./],
  ['an unknown tool', ['eval_exp', '{}'], 2, 'unknown_function', /eval_expr/],
  ['no arguments at all', ['eval_expr'], 2, 'invalid_args', /expr/],
  ['an unknown key', ['eval_expr', '{"expr":"1","exrp":"2"}'], 2, 'invalid_args', /exrp/],
  ['arguments that are not JSON', ['eval_expr', '{expr:1}'], 2, 'invalid_args', /not JSON/],
  ['a patience that is no number', [...evaluating('1'), '--patience', 'long'], 2, 'invalid_args', /long/],
  ['an unknown option', ['eval_expr', '--jason'], 2, 'invalid_args', /--jason/],
  ['an operand too many', ['eval_expr', '{}', '{}'], 2, 'invalid_args', /beside others/],
  ['no such kernel', [...evaluating('1'), '--kernel', 'nobody'], 4, 'no_such_kernel', /nobody/],
]

for (const [what, args, code, error, says] of FAILING)
  test(`imago call with ${what}: exit ${code}, and one envelope with ${error}`, async () => {
    const ran = await rig.imago(['call', ...args, '--json'])
    const envelope = onlyEnvelope(ran)
    assert.is(ran.code, code, ran.stdout)
    assert.is(envelope.ok || envelope.error.code, error, ran.stdout)
    if (!envelope.ok) assert.match(envelope.error.message, says)
  })

for (const [what, result, code] of [
  ['tests that fail', { tests: { ok: false, failed: 2 } }, 1],
  ['tests that pass', { tests: { ok: true, failed: 0 } }, 0],
  ['tests of which nobody knows', { tests: { ok: null } }, 0],
  ['a run that tells no tests', { tests: null }, 0],
  ['source that did not compile', { compiled: false, diagnostics: [{ severity: 'error' }] }, 1],
  ['source that did', { compiled: true }, 0],
  ['a file that could not replace a name', { loaded: { not_replaced: ['twice is Protected'] } }, 1],
  ['a job that has ended with failed tests', { status: 'done', job: 'job-1', tests: { ok: false } }, 1],
  ['a job that runs', { status: 'running', job: 'job-1' }, 5],
  ['a text', 'compiled', 0],
  ['nothing', null, 0],
] as const)
  test(`${what}: exit ${code}, although the call succeeded`, () => {
    assert.is(exitOf({ ok: true, result }), code)
  })

test('a lone surrogate that code makes is shown, and breaks nothing', async () => {
  const envelope = onlyEnvelope(await evaluate('print(chr(0xd800)); chr(0xd800) + "\\0"'))
  assert.ok(envelope.ok)
  assert.match(JSON.stringify(envelope), /ud800/)
})

test('10 MB of source are carried, or refused by name with nothing lost', async () => {
  const input = JSON.stringify({ expr: `big = "${'x'.repeat(10_000_000)}"; len(big)` })
  const envelope = onlyEnvelope(await rig.imago(['call', 'eval_expr', '-', '--json'], { input }))
  if (envelope.ok) assert.is((envelope.result as { value_repr: string }).value_repr, '10000000')
  else assert.is(envelope.error.code, 'invalid_args')
  assert.is(onlyEnvelope(await evaluate('1')).ok, true)
})

test('a call that outlives its patience exits with 5 and names its job, which then has the result', async () => {
  const expr = 'import time; time.sleep(1); "late"'
  const ran = await rig.imago(['call', 'eval_expr', JSON.stringify({ expr }), '--patience', '0.1', '--json'])
  assert.is(ran.code, 5)
  const envelope = onlyEnvelope(ran)
  const { job } = (envelope.ok && envelope.result) as { job: string }
  const waited = await rig.imago(['call', 'job', JSON.stringify({ job, action: 'wait' })])
  assert.is(waited.code, 0)
  assert.match(waited.stdout, /'late'/)
})

test('what the policy denies exits with 3, and runs nothing', async () => {
  const note = join(rig.folder, 'ran')
  const policy = join(rig.paths.configDir, 'policy.toml')
  mkdirSync(rig.paths.configDir, { recursive: true })
  writeFileSync(policy, '[[rule]]\ndecision = "deny"\ntool = "eval_expr"\n')
  const denied = await evaluate(`open(${JSON.stringify(note)}, "w")`)
  writeFileSync(policy, '')
  // What was accepted of rules outlives the daemon that saw them. A person could accept; a test begins anew.
  await rig.imago(['shutdown', '--force'])
  rmSync(join(rig.paths.stateDir, 'policy-accepted'), { recursive: true })
  assert.is(denied.code, 3)
  assert.match(denied.stdout, policy)
  assert.not.ok(existsSync(note))
  assert.is((await evaluate('1')).code, 0)
})

test('Ctrl-C cancels the call, says what was seen, and leaves the image', async () => {
  await evaluate('kept = 1')
  const call = rig.begin(['call', ...evaluating('import time\nprint("on")\ntime.sleep(600)')])
  await call.says(/on/)
  call.child.kill('SIGINT')
  const { code, stderr } = await call.ended
  assert.is(code, 1)
  assert.match(stderr, /interrupted: The code was stopped/)
  assert.is((await evaluate('kept')).code, 0)
})

for (const [what, args, says] of [
  ['a profile that there is not', ['tools', '--profile', 'all'], /core, live, full/],
  ['a command that there is not', ['strat'], /start/],
  ['an operand that is missing', ['start'], /Usage: imago start python/],
  ['a language without a runtime', ['runtime', 'cobol'], /python/],
  ['an option of another command', ['kernels', '--force'], /--force/],
] as const)
  test(`${what} exits with 2 and says what there is`, async () => {
    const { code, stdout, stderr } = await rig.imago(args)
    assert.is(code, 2)
    assert.is(stdout, '')
    assert.match(stderr, says)
  })

test('every command is in the help, has a help of its own, and has code', async () => {
  const { stdout } = await rig.imago(['--help'])
  assert.match(
    stdout,
    /^.*\n\nStart your program with: .*\n\n {2}imago errors .*\n {2}imago threads .*\n {2}imago watch /,
  )
  assert.ok(stdout.split('\n').length < 50, stdout)
  assert.match(
    (await rig.imago(['tools'])).stdout,
    /^Start with these; .*\n {2}get_last_error [\s\S]*\n\nkernels {2}safe\n/,
  )
  for (const command of COMMANDS) {
    assert.match(stdout, `imago ${command.name}`.trim())
    if (command.name !== 'mcp') assert.type(await command.load(), 'function')
    const own = await rig.imago([...(command.name === '' ? [] : [command.name]), '--help'])
    assert.is(own.code, 0, command.name)
    assert.match(own.stdout, command.summary)
  }
  assert.is((await rig.imago(['help'])).stdout, stdout)
  assert.is((await rig.imago(['help', 'call'])).stdout, (await rig.imago(['call', '-h'])).stdout)
})

test('imago runtime python prints the folder that pip installs', async () => {
  const { stdout } = await rig.imago(['runtime', 'python'])
  assert.is(stdout, `${join(PACKAGE_ROOT, 'wire/peers/python')}\n`)
})

test('the home directory is refused as a project when a kernel is needed, and not before', async () => {
  const cwd = rig.env.HOME ?? ''
  assert.is((await rig.imago(['kernels'], { cwd })).code, 0)
  const envelope = onlyEnvelope(await evaluate('1', { cwd }))
  assert.is(envelope.ok ? '' : envelope.error.code, 'kernel_unavailable')
  assert.match(JSON.stringify(envelope), /home directory.*"retryable":false/)
})

test('a daemon that dies during a call leaves one envelope: outcome_unknown', async () => {
  const call = rig.begin(['call', ...evaluating('import time\nprint("on")\ntime.sleep(600)'), '--json'])
  await until(() => call.so.stderr.includes('on'), 'the code to run')
  process.kill((await rig.connect()).daemon.pid, 'SIGKILL')
  const envelope = onlyEnvelope(await call.ended)
  assert.is(envelope.ok ? '' : envelope.error.code, 'outcome_unknown')
})

test('a call runs no interpreter that came with the folder, and says why (threat 9)', async () => {
  const own = openRig()
  try {
    const bin = join(own.project, '.venv/bin')
    const mark = join(own.folder, 'ran')
    mkdirSync(bin, { recursive: true })
    writeFileSync(join(bin, 'python'), `#!/bin/sh\ntouch ${mark}\nexec python3 "$@"\n`, { mode: 0o755 })
    const refused = await own.imago(['call', 'eval_expr', '{"expr":"1"}', '--json'])
    const envelope = onlyEnvelope(refused)
    assert.is(envelope.ok, false)
    assert.match(JSON.stringify(envelope), 'holds no pyvenv.cfg')
    assert.match(JSON.stringify(envelope), 'trusted in [kernels]')
    assert.not.ok(existsSync(mark))
  } finally {
    await own.close()
  }
})
