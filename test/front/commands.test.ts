import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { COMMANDS } from '../../src/front/cli.ts'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import type { ToolError } from '../../tools/outcome.ts'
import { onlyEnvelope } from '../support/envelopes.ts'
import { assert, suite } from '../support/harness.ts'
import { openRig, type RunOptions, until } from '../support/rig.ts'

const test = suite('commands', { limitMs: 60_000 })
const rig = openRig()
test.after(() => rig.close())

const evaluate = (expr: string, options?: RunOptions) =>
  rig.imago(['call', 'eval_expr', JSON.stringify({ expr }), '--json'], options)

test('imago call starts a daemon and a kernel, and prints exactly one envelope', async () => {
  const { code, stdout, stderr } = await evaluate('1+2')
  assert.is(code, 0)
  assert.is(stderr, '')
  const envelope = JSON.parse(stdout)
  assert.is(envelope.ok, true)
  assert.is(envelope.result.value_repr, '3')
})

test('with --json the output goes to standard error, and the envelope has it too', async () => {
  const { code, stdout, stderr } = await evaluate('print("seen"); 7')
  assert.is(code, 0)
  assert.is(stderr, 'seen\n')
  const { result } = JSON.parse(stdout)
  assert.equal([result.value_repr, result.stdout], ['7', 'seen\n'])
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

interface Row {
  readonly what: string
  readonly args: readonly string[]
  readonly code: number
  readonly error: ToolError['code']
  readonly says?: RegExp
}

const FAILING: readonly Row[] = [
  {
    what: 'code that raises',
    args: ['eval_expr', '{"expr":"1/0"}'],
    code: 1,
    error: 'exception',
    says: /ZeroDivisionError/,
  },
  {
    what: 'a syntax error',
    args: ['eval_expr', '{"expr":"def"}'],
    code: 1,
    error: 'exception',
    says: /SyntaxError/,
  },
  { what: 'a NUL in the source', args: ['eval_expr', '{"expr":"1\\u0000"}'], code: 1, error: 'exception' },
  {
    what: 'a lone surrogate in the source',
    args: ['eval_expr', '{"expr":"\'\\ud800\'"}'],
    code: 1,
    error: 'exception',
  },
  {
    what: 'an unknown tool',
    args: ['eval_exp', '{}'],
    code: 2,
    error: 'unknown_function',
    says: /eval_expr/,
  },
  { what: 'a missing argument', args: ['eval_expr', '{}'], code: 2, error: 'invalid_args', says: /expr/ },
  { what: 'no arguments at all', args: ['eval_expr'], code: 2, error: 'invalid_args', says: /expr/ },
  {
    what: 'an argument of the wrong type',
    args: ['eval_expr', '{"expr":1}'],
    code: 2,
    error: 'invalid_args',
    says: /expr/,
  },
  {
    what: 'an unknown key',
    args: ['eval_expr', '{"expr":"1","exrp":"2"}'],
    code: 2,
    error: 'invalid_args',
    says: /exrp/,
  },
  { what: 'arguments that are no object', args: ['eval_expr', '[1]'], code: 2, error: 'invalid_args' },
  {
    what: 'arguments that are not JSON',
    args: ['eval_expr', '{expr:1}'],
    code: 2,
    error: 'invalid_args',
    says: /not JSON/,
  },
  { what: 'an empty name of a tool', args: ['', '{}'], code: 2, error: 'unknown_function' },
  {
    what: 'a patience that is no number',
    args: ['eval_expr', '{"expr":"1"}', '--patience', 'long'],
    code: 2,
    error: 'invalid_args',
  },
  {
    what: 'an unknown option',
    args: ['eval_expr', '--jason'],
    code: 2,
    error: 'invalid_args',
    says: /--jason/,
  },
  {
    what: 'an operand too many',
    args: ['eval_expr', '{}', '{}'],
    code: 2,
    error: 'invalid_args',
    says: /Usage/,
  },
  {
    what: 'no such kernel',
    args: ['eval_expr', '{"expr":"1"}', '--kernel', 'nobody'],
    code: 4,
    error: 'no_such_kernel',
    says: /nobody/,
  },
  { what: 'a stale handle', args: ['inspect', '{"expr":"@dead.1"}'], code: 1, error: 'stale_handle' },
]

for (const { what, args, code, error, says = /./ } of FAILING)
  test(`imago call with ${what}: exit ${code}, and one envelope with ${error}`, async () => {
    const ran = await rig.imago(['call', ...args, '--json'])
    const envelope = onlyEnvelope(ran)
    assert.is(ran.code, code, ran.stdout)
    assert.is(envelope.ok ? 'ok' : envelope.error.code, error, ran.stdout)
    if (!envelope.ok) assert.match(envelope.error.message, says)
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
  writeFileSync(policy, '[[rule]]\ndecison = "deny"\n')
  const broken = await evaluate(`open(${JSON.stringify(note)}, "w")`)
  writeFileSync(policy, '')
  const takenOut = await evaluate(`open(${JSON.stringify(note)}, "w")`)
  await forgetRules()
  assert.equal([denied.code, broken.code, takenOut.code], [3, 3, 3])
  assert.match(denied.stdout, policy)
  assert.match(broken.stdout, 'decison')
  assert.match(takenOut.stdout, 'until imago policy accept')
  assert.not.ok(existsSync(note))
  assert.is((await evaluate('1')).code, 0)
})

/** What was accepted of rules outlives the daemon that saw them. A person could accept; a test begins anew. */
async function forgetRules(): Promise<void> {
  await rig.imago(['shutdown', '--force'])
  rmSync(join(rig.paths.stateDir, 'policy-accepted'), { recursive: true })
}

test('a project can deny and not allow', async () => {
  const file = join(rig.project, 'imago.toml')
  writeFileSync(file, '[[rule]]\ndecision = "deny"\nlevel = "cautious"\n')
  const denied = await evaluate('1')
  writeFileSync(file, '[[rule]]\ndecision = "allow"\nlevel = "dangerous"\n')
  const loosening = await evaluate('1')
  writeFileSync(file, '')
  await forgetRules()
  assert.equal([denied.code, loosening.code], [3, 3])
  assert.match(loosening.stdout, 'a project may only tighten')
})

test('Ctrl-C cancels the call, says what was seen, and leaves the image', async () => {
  await evaluate('kept = 1')
  const call = rig.begin(['call', 'eval_expr', '{"expr":"import time\\nprint(\'on\')\\ntime.sleep(600)"}'])
  await call.says(/on/)
  call.child.kill('SIGINT')
  const { code, stderr } = await call.ended
  assert.is(code, 1)
  assert.match(stderr, /interrupted: The code was stopped/)
  assert.is((await evaluate('kept')).code, 0)
})

test('imago tools --profile core --format mcp lists exactly the three', async () => {
  const { code, stdout } = await rig.imago(['tools', '--profile', 'core', '--format', 'mcp'])
  assert.is(code, 0)
  const names = (JSON.parse(stdout) as { name: string }[]).map(({ name }) => name)
  assert.equal(names.sort(), ['eval_expr', 'inspect', 'list_globals'])
})

for (const [what, args, says] of [
  ['a tool that there is not', ['tools', 'evl_expr'], /eval_expr/],
  ['a profile that there is not', ['tools', '--profile', 'all'], /core, live, full/],
  ['a format that there is not', ['tools', '--format', 'xml'], /openai/],
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

test('-h, help and help COMMAND say what --help says', async () => {
  const [whole, own] = [await rig.imago(['--help']), await rig.imago(['call', '--help'])]
  for (const argv of [['-h'], ['help']]) assert.is((await rig.imago(argv)).stdout, whole.stdout)
  for (const argv of [
    ['call', '-h'],
    ['help', 'call'],
  ])
    assert.is((await rig.imago(argv)).stdout, own.stdout)
})

test('every command is in the help, has a help of its own, and has code', async () => {
  const { stdout } = await rig.imago(['--help'])
  for (const command of COMMANDS) {
    assert.match(stdout, `imago ${command.name}`.trim())
    if (command.name !== 'mcp') assert.type(await command.load(), 'function')
    const own = await rig.imago([...(command.name === '' ? [] : [command.name]), '--help'])
    assert.is(own.code, 0, command.name)
    assert.match(own.stdout, command.summary)
  }
})

test('imago runtime python prints the folder that pip installs', async () => {
  const { stdout } = await rig.imago(['runtime', 'python'])
  assert.is(stdout, `${join(PACKAGE_ROOT, 'wire/peers/python')}\n`)
  assert.ok(existsSync(join(stdout.trim(), 'pyproject.toml')))
})

test('the home directory is refused as a project when a kernel is needed, and not before', async () => {
  const cwd = rig.env.HOME ?? ''
  assert.is((await rig.imago(['kernels'], { cwd })).code, 0)
  const envelope = onlyEnvelope(await evaluate('1', { cwd }))
  assert.is(envelope.ok ? '' : envelope.error.code, 'kernel_unavailable')
  assert.match(JSON.stringify(envelope), /home directory.*"retryable":false/)
})

test('a call in a folder below the project works in the kernel of the project', async () => {
  mkdirSync(join(rig.project, '.git'), { recursive: true })
  mkdirSync(join(rig.project, 'deep/er'), { recursive: true })
  await evaluate('here = "top"')
  const envelope = onlyEnvelope(await evaluate('here', { cwd: join(rig.project, 'deep/er') }))
  assert.ok(envelope.ok)
})

test('a daemon that dies during a call leaves one envelope: outcome_unknown', async () => {
  const call = rig.begin([
    'call',
    'eval_expr',
    '{"expr":"import time\\nprint(\'on\')\\ntime.sleep(600)"}',
    '--json',
  ])
  await until(() => call.so.stderr.includes('on'), 'the code to run')
  process.kill((await rig.connect()).daemon.pid, 'SIGKILL')
  const envelope = onlyEnvelope(await call.ended)
  assert.is(envelope.ok ? '' : envelope.error.code, 'outcome_unknown')
})
