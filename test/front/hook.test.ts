import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, suite } from '../support/harness.ts'
import { openRig, type Rig, until } from '../support/rig.ts'
import { APPROVE, noSeat, openWatch } from '../support/watching.ts'

/** A `PreToolUse` hook of Claude Code, as it is run: one event on standard input, one answer on standard output. */
const test = suite('imago hook claude-code', { limitMs: 90_000 })

const COMMAND = { command: 'make clean', timeout: 5 }

let rig: Rig
let seen = ''
test.before(async () => {
  rig = openRig({ files: { 'pyproject.toml': '', 'resume.mjs': RESUME } })
  seen = join(rig.project, 'resumed')
  await rig.imago(['kernels'])
})
test.after(() => rig.close())

/** Stands for `claude -p --resume`. */
const RESUME = `import { appendFileSync } from 'node:fs'
appendFileSync('resumed', process.argv[2] + ' ' + process.env.ANTHROPIC_API_KEY + '\\n')\n`

interface How {
  readonly tool?: string
  readonly patience?: string
  readonly agent_id?: string
  readonly entrypoint?: string
}

async function hook(
  id: string,
  { tool = 'Bash', patience = '0', entrypoint = 'sdk-cli', ...more }: How = {},
) {
  const event = {
    hook_event_name: 'PreToolUse',
    session_id: 'session-1',
    transcript_path: '/nowhere',
    cwd: rig.project,
    tool_name: tool,
    tool_input: COMMAND,
    tool_use_id: id,
    ...more,
  }
  const ran = await rig.imago(['hook', 'claude-code', '--patience', patience], {
    input: JSON.stringify(event),
    env: { ANTHROPIC_API_KEY: 'key-of-session', CLAUDE_CODE_ENTRYPOINT: entrypoint },
  })
  assert.is(ran.code, 0, ran.stderr)
  return ran.stdout === '' ? undefined : JSON.parse(ran.stdout).hookSpecificOutput
}

test('a call of the host is put off where nobody answers, and once a person has allowed it, the same call is allowed', async () => {
  assert.is((await hook('toolu_1')).permissionDecision, 'defer')
  assert.is((await hook('toolu_1')).permissionDecision, 'defer')
  assert.match((await rig.imago(['approvals'])).stdout, /^claude-code:session-1 +permission_prompt /m)
  const { screen } = await openWatch(rig)
  await screen.shows(APPROVE)
  assert.match(screen.text(), /Allow Bash: make clean/)
  screen.type('y\n')
  await screen.shows('approved')
  const allowed = await hook('toolu_1')
  assert.equal([allowed.permissionDecision, allowed.updatedInput], ['allow', COMMAND])
  screen.close()
  await noSeat(rig)
  const { stdout } = await rig.imago(['log', '--outcome', 'allowed'])
  assert.match(stdout, /permission_prompt .*Allow Bash: make clean/)
})

test('what a person denies in time is denied with their reason', async () => {
  const { screen } = await openWatch(rig)
  const asked = hook('toolu_2', { patience: '60' })
  await screen.shows(APPROVE)
  screen.type('n\n')
  await screen.shows('Why')
  screen.type('not on this branch\n')
  const { permissionDecision, permissionDecisionReason } = await asked
  assert.is(permissionDecision, 'deny')
  assert.match(permissionDecisionReason, /not on this branch/)
  screen.close()
  await noSeat(rig)
})

for (const [what, how, decision] of [
  ['in a session at a terminal is left to its own dialog', { entrypoint: 'cli' }, 'ask'],
  ['of a subagent, without which its session goes on, is denied', { agent_id: 'agent-1' }, 'deny'],
] as const)
  test(`a call ${what} where nobody answers, and no question is left behind`, async () => {
    assert.is((await hook(`toolu_5_${decision}`, { ...how, patience: '60' })).permissionDecision, decision)
    const { screen } = await openWatch(rig)
    assert.is((await hook(`toolu_6_${decision}`, how)).permissionDecision, decision)
    screen.close()
    await noSeat(rig)
    assert.not.match((await rig.imago(['approvals'])).stdout, /permission_prompt/)
  })

test('tools of Imago pass, since they ask by themselves, and what cannot be read is left to the host', async () => {
  assert.is(await hook('toolu_3', { tool: 'mcp__imago__edit_file' }), undefined)
  assert.is(
    (await hook('toolu_3_evil', { tool: 'mcp__imago__evil', patience: '0' })).permissionDecision,
    'defer',
  )
  const { code, stdout } = await rig.imago(['hook', 'claude-code'], { input: '{"tool_name":"Bash"}' })
  assert.equal([code, JSON.parse(stdout).hookSpecificOutput.permissionDecision], [0, 'ask'])
  assert.is((await rig.imago(['hook', 'codex'])).code, 2)
})

test('the command of [runs] resume goes on with the session and its key, once the question is answered', async () => {
  await rig.imago(['shutdown', '--force'])
  const command = JSON.stringify([process.execPath, join(rig.project, 'resume.mjs')])
  writeFileSync(join(rig.paths.configDir, 'config.toml'), `[runs]\nresume = ${command}\n`)
  assert.is((await hook('toolu_4')).permissionDecision, 'defer')
  const { screen } = await openWatch(rig)
  await screen.shows(APPROVE)
  screen.type('y\n')
  await until(() => existsSync(seen), 'the session to go on')
  assert.is(readFileSync(seen, 'utf8'), 'session-1 key-of-session\n')
  screen.close()
})
