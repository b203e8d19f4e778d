import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Envelope } from '../../tools/outcome.ts'
import {
  addressOf,
  asMcpClient,
  codeOf,
  IMAGO,
  INTRUDER,
  journalOf,
  openScene,
  textOf,
} from '../support/attacking.ts'
import { assert, suite } from '../support/harness.ts'
import { startProgram } from '../support/program.ts'
import { hello, RawClient } from '../support/raw-client.ts'
import { openRig, type Rig, until } from '../support/rig.ts'
import { APPROVE } from '../support/watching.ts'

/**
 * A model that attacks through what it was given: code in a kernel, tools over MCP, and what its host starts. What succeeds is a test too, and
 * docs/attacks.md names each of them.
 */
const test = suite('attacker, from within', { limitMs: 60_000 })
const scene = openScene()
const { project, folder } = scene.rig
const TERMINAL = join(import.meta.dirname, '../support/terminal.py')
test.before(async () => {
  await scene.begin()
  // The kernel of the project, with all that the environment could tell its code.
  assert.is((await scene.imago('start', 'python', '--name', 'project')).code, 0)
})
test.after(() => scene.close())

/** What the code printed, evaluated in the kernel of the project as a model has it done. */
async function evaluates(expr: string): Promise<string> {
  const call = ['call', { tool: 'eval_expr', args: { expr } }]
  const [answer] = (await scene.intrudes('calls', ...addressOf(scene), JSON.stringify([call]))) as {
    readonly result: Envelope
  }[]
  const envelope = answer?.result
  if (envelope?.ok !== true) throw new Error(JSON.stringify(answer))
  return String((envelope.result as { output?: string }).output)
}

const nobodySits = () =>
  until(async () => (await scene.imago('approvals')).text.includes('Nobody has a seat'), 'no seat')

test('code in a kernel cannot take off the mark that keeps whatever it starts from a seat (threat 5)', async () => {
  const said = await evaluates(
    [
      'import os, resource, subprocess, sys',
      // A kernel is not told where the daemon of its user is.
      `env = {**os.environ, **${JSON.stringify(scene.rig.env)}}`,
      'for limits in ((-1, -1), (2**50, 2**50)):',
      '    try:',
      '        resource.setrlimit(10, limits)',
      '        print("raised")',
      '    except (ValueError, OSError) as error:',
      '        print("refused:", error)',
      `words = ['setsid', '--wait', sys.executable, ${JSON.stringify(TERMINAL)}, '[]', *${JSON.stringify([...IMAGO, 'watch'])}]`,
      'print(subprocess.run(words, capture_output=True, text=True, env=env).stdout)',
    ].join('\n'),
  )
  assert.match(said, /^refused:.*\nrefused:.*\n/)
  assert.match(said, /No seat: .* inside a kernel/)
  await nobodySits()
})

/** Code that runs the intruder, with all that its user could tell it, and prints what came of it. */
const runningIn = ({ env }: Pick<Rig, 'env'>, words: readonly string[]) =>
  [
    'import json, subprocess',
    `given = json.loads(${JSON.stringify(JSON.stringify({ args: [...INTRUDER, ...words], env }))})`,
    'ran = subprocess.run(given["args"], env=given["env"], capture_output=True, text=True)',
    'print(ran.stdout + ran.stderr)',
  ].join('\n')

const parted = join(folder, 'out.txt')

test('code in a kernel that forks twice, leaves its session and clears its environment gets no seat (threat 5)', async () => {
  const env = Object.entries(scene.rig.env).map(([key, value]) => `${key}=${value}`)
  const said = await evaluates(
    runningIn(scene.rig, ['lost', parted, '/usr/bin/env', '-i', ...env, ...IMAGO, 'watch']),
  )
  assert.match(said, /No seat: .* inside a kernel/)
  await nobodySits()
})

test('code in an attached program that makes a terminal of its own gets no seat (threat 5)', async () => {
  // With the power of whoever runs the tests: a program that was started so shows nothing to a daemon that has less.
  const rig = openRig()
  await rig.serve()
  const program = await startProgram({ folder: rig.project, runtimeDir: rig.paths.runtimeDir })
  try {
    assert.is((await rig.imago(['attach', 'web'])).code, 0)
    const client = await rig.connect()
    const expr = runningIn(rig, ['pty', ...IMAGO, 'watch'])
    const said = JSON.stringify(await client.call({ tool: 'eval_expr', args: { expr } }))
    assert.match(said, /No seat: .* was started by web, a program that is attached/, said)
  } finally {
    program.signal('SIGKILL')
    await program.ended
    await rig.close()
  }
})

const hosting = async (via: 'pty' | 'lost') =>
  (await scene.intrudes('host', parted, via, ...IMAGO, 'mcp', '--', ...IMAGO, 'watch')) as [string, string]

test('nothing that the host of an MCP server starts gets a seat, even after the server has gone (threat 5)', async () => {
  for (const said of await hosting('pty')) assert.match(said, /No seat: .*the host of an MCP server/)
  await nobodySits()
})

test('what such a host starts and parts from succeeds while nobody sits, and is asked about while somebody does', async () => {
  const [alone] = await hosting('lost')
  assert.match(alone, /seat-\d+, terminal/)
  await nobodySits()
  const { screen } = await scene.sits()
  const [beside] = await hosting('lost')
  assert.match(beside, /Waiting up to a minute/)
  assert.not.match(beside, /are shown here/)
  await screen.shows(/Somebody else wants to approve, too/)
  screen.close()
  await nobodySits()
})

for (const [what, fields] of [
  ['a role of its own making', { role: 'approver' }],
  ['a seat in its options', { options: { seat: 'seat-1', role: 'approver' } }],
  ['the name of imago watch', { name: 'imago watch' }],
] as const)
  test(`${what} in the hello gives no right to answer (threat 4)`, async () => {
    const client = await RawClient.dial(scene.rig.paths.socket)
    client.send({ hello: { ...hello(project), ...fields } })
    if ((await client.next()) === undefined) return
    const params = { plan: 'plan-aaaaaaaa', hash: '0'.repeat(64), decision: 'approve' }
    client.send({ type: 'call', id: 1, method: 'answer', params })
    assert.match(JSON.stringify(await client.next()), /"code":"no_seat"/)
    client.close()
  })

test('an attacker whose code may run in a kernel succeeds: it writes the file itself, and nobody is asked', async () => {
  await evaluates(`open(${JSON.stringify(join(project, 'theirs.txt'))}, 'w').write('theirs\\n')`)
  assert.is(textOf(scene, 'theirs.txt'), 'theirs\n')
  // What is left to see afterwards.
  assert.match(journalOf(scene).join('\n'), /"type":"dispatched".*"tool":"eval_expr".*theirs\.txt/)
  rmSync(join(project, 'theirs.txt'))
})

test('an attacker in a kernel that has another program start things succeeds while nobody sits', async () => {
  // Any program of the user's that runs what it is told does: a multiplexer of terminals, at, a service manager.
  const pipe = join(folder, 'asked')
  assert.is(spawnSync('mkfifo', [pipe]).status, 0)
  scene.lets(['sh', '-c', 'while read -r line; do eval "$line" & done < "$1"', 'sh', pipe])
  const steps = JSON.stringify([
    [APPROVE, 'y\n'],
    [': approved', '\x03'],
  ])
  const watch = ['python3', TERMINAL, steps, ...IMAGO, 'watch'].map(word => `'${word}'`).join(' ')
  await evaluates(
    `print(watch := ${JSON.stringify(watch)}, file=open(${JSON.stringify(pipe)}, 'w'), flush=True)`,
  )
  await until(async () => /seat-\d+/.test((await scene.imago('approvals')).text), 'its seat')
  const { answer } = await scene.proposes('theirs.txt')
  assert.is(codeOf(await answer), 'ok')
  assert.is(textOf(scene, 'theirs.txt'), 'theirs\n')
  rmSync(join(project, 'theirs.txt'))
  await nobodySits()
})

const ARGS = { path: 'theirs.txt', content: 'theirs\n' }

test('over MCP, approval-like arguments, tools and methods approve nothing (threat 6)', async () => {
  const asks = await asMcpClient(scene)
  const tool = (more: object) => asks('tools/call', { name: 'write_file', arguments: ARGS, ...more })
  assert.match(await tool({ _meta: { approved: true, role: 'approver' } }), 'approval_unavailable')
  assert.match(await tool({ approved: true, requestState: 'approved' }), 'approval_unavailable')
  assert.match(await tool({ arguments: { ...ARGS, approved: true } }), 'invalid_args')
  const answer = { plan: 'plan-aaaaaaaa', hash: '0'.repeat(64), decision: 'approve' }
  for (const name of ['answer', 'approve', 'sit', 'accept_policy', 'acknowledge'])
    assert.match(await asks('tools/call', { name, arguments: answer }), 'Unknown tool')
  for (const method of ['answer', 'sit', 'approve', 'accept_policy', 'elicitation/create'])
    assert.match(await asks(method, answer), 'Method not found')
  assert.is(textOf(scene, 'theirs.txt'), undefined)
})
