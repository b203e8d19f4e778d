import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PACKAGE_ROOT, VERSION } from '../../src/paths.ts'
import type { Envelope } from '../../tools/outcome.ts'
import { assert, suite } from '../support/harness.ts'
import { startProgram } from '../support/program.ts'
import { hello, RawClient } from '../support/raw-client.ts'
import { openRig, type Rig, until, within } from '../support/rig.ts'
import { ranIn } from '../support/terminal.ts'
import { APPROVE, openWatch, seatLines } from '../support/watching.ts'

const test = suite('seat attacks', { limitMs: 60_000 })

/**
 * What a program of the same user does in order to approve its own plans. Where it succeeds, the test says so, and so
 * does docs/safety.md.
 */
const ATTACKER = join(PACKAGE_ROOT, 'test/support/attacker.py')
const IMAGO = [process.execPath, join(PACKAGE_ROOT, 'dist/src/main.js')]

async function withRig(use: (rig: Rig) => Promise<void>) {
  const rig = openRig()
  mkdirSync(rig.paths.configDir, { recursive: true })
  writeFileSync(join(rig.paths.configDir, 'policy.toml'), '[[rule]]\ndecision = "ask"\ntool = "load_file"\n')
  try {
    await rig.serve()
    await use(rig)
  } finally {
    await rig.close()
  }
}

/** Runs the attacker from inside the project's kernel, with all that its user could tell it. */
async function fromKernel(rig: Rig, args: readonly string[]): Promise<string> {
  const client = await rig.connect()
  const given = JSON.stringify(JSON.stringify({ args: [ATTACKER, ...args], env: rig.env }))
  const expr = [
    'import json, subprocess, sys',
    `given = json.loads(${given})`,
    'ran = subprocess.run([sys.executable, *given["args"]], env=given["env"], capture_output=True, text=True)',
    'print(ran.stdout + ran.stderr)',
  ].join('\n')
  const envelope = await within<Envelope>(client.call({ tool: 'eval_expr', args: { expr } }), args.join(' '))
  await client.close()
  if (!envelope.ok) throw new Error(envelope.error.message)
  return String((envelope.result as { output: string }).output)
}

const fromShell = async (rig: Rig, args: readonly string[]) =>
  (await ranIn(rig, ['python3', ATTACKER, ...args])).text

const nobodySits = (rig: Rig) =>
  until(async () => (await rig.imago(['approvals'])).stdout.includes('Nobody has a seat'), 'no seat')

test('a caller that sends an answer is refused, which those who sit are told and the journal says (threat 4)', () =>
  withRig(async rig => {
    const { screen } = await openWatch(rig)
    const client = await rig.connect()
    writeFileSync(join(rig.project, 'loaded.py'), 'x = 1\n')
    const answer = client.call({ tool: 'load_file', args: { path: 'loaded.py' } })
    await screen.shows(APPROVE)
    const { approvals: waiting } = await client.request('approvals', {})
    const [plan] = waiting
    const given = { plan: plan?.id ?? '', hash: plan?.hash ?? '', decision: 'approve' } as const
    const refused = await client.request('answer', given).catch(error => error)
    assert.is(refused.remote?.code, 'no_seat')
    const admitted = await client.request('admit', { wanted: 'wanted-1', admit: true }).catch(error => error)
    assert.is(admitted.remote?.code, 'no_seat')
    const noted = await client.request('acknowledge', {}).catch(error => error)
    assert.is(noted.remote?.code, 'no_seat')
    await screen.shows(/! imago test \(client-\d+\): It tried to answer plan-\w+, and has no seat/)
    assert.is((await client.request('approvals', {})).approvals.length, 1)
    screen.type('n\n')
    await screen.shows('Why?')
    screen.type('\n')
    assert.is((await answer).ok, false)
    assert.match(seatLines(rig).join('\n'), /"what":"refused","seat":null,"who":"imago test \(client-\d+\)"/)
    screen.close()
  }))

for (const [what, fields] of [
  ['a role of its own making', { role: 'approver' }],
  ['a seat in its options', { options: { seat: 'seat-1', role: 'approver' } }],
  ['the name of imago watch', { name: 'imago watch' }],
] as const)
  test(`${what} in the hello gives no right to answer (threat 4)`, () =>
    withRig(async rig => {
      const client = await RawClient.dial(rig.paths.socket)
      client.send({ hello: { ...hello(rig.project), ...fields } })
      const welcome = await client.next()
      if (welcome === undefined) return
      client.send({
        type: 'call',
        id: 1,
        method: 'answer',
        params: { plan: 'plan-aaaaaaaa', hash: '0'.repeat(64), decision: 'approve' },
      })
      assert.match(JSON.stringify(await client.next()), /"code":"no_seat"/)
      client.close()
    }))

test('code in a kernel that says it wants a seat gets none: it has no terminal (threat 5)', () =>
  withRig(async rig => {
    const said = await fromKernel(rig, ['raw', rig.paths.socket, VERSION, '0'])
    assert.match(said, /seat_refused.*has no terminal/)
    assert.match(said, /no_seat/)
    await nobodySits(rig)
  }))

test('code in a kernel that claims to be the process of somebody who sits gets no seat (threat 5)', () =>
  withRig(async rig => {
    const { screen, pid } = await openWatch(rig)
    const said = await fromKernel(rig, ['raw', rig.paths.socket, VERSION, String(pid)])
    assert.match(said, /seat_refused.*has not opened the file/)
    await screen.shows(/wanted a seat and did not get it/)
    screen.close()
  }))

test('code in a kernel that makes a terminal of its own gets no seat (threat 5)', () =>
  withRig(async rig => {
    assert.match(await fromKernel(rig, ['pty', ...IMAGO, 'watch']), /No seat: .* inside a kernel/)
    await nobodySits(rig)
  }))

test('nor does one that forks twice, leaves its session and clears its environment (threat 5)', () =>
  withRig(async rig => {
    const out = join(rig.folder, 'out.txt')
    const cleared = [
      '/usr/bin/env',
      '-i',
      ...Object.entries(rig.env).map(([key, value]) => `${key}=${value}`),
    ]
    const said = await fromKernel(rig, ['lost', out, ...cleared, ...IMAGO, 'watch'])
    assert.match(said, /No seat: .* inside a kernel/)
    await nobodySits(rig)
  }))

test('code in an attached program that makes a terminal of its own gets no seat (threat 5)', () =>
  withRig(async rig => {
    const program = await startProgram({ folder: rig.project, runtimeDir: rig.paths.runtimeDir })
    try {
      assert.is((await rig.imago(['attach', 'web'])).code, 0)
      const said = await fromKernel(rig, ['pty', ...IMAGO, 'watch'])
      assert.match(said, /No seat: .* was started by web, a program that is attached/)
      await nobodySits(rig)
    } finally {
      program.signal('SIGKILL')
      await program.ended
    }
  }))

test('guessed codes approve nothing, and three of them end the code of a plan (threat 5)', () =>
  withRig(async rig => {
    const { screen } = await openWatch(rig)
    const client = await rig.connect()
    writeFileSync(join(rig.project, 'loaded.py'), 'x = 1\n')
    const answer = client.call({ tool: 'load_file', args: { path: 'loaded.py' } })
    await screen.shows(APPROVE)
    const plan = /plan-[a-z]{8}/.exec(screen.text())?.[0] ?? ''
    const code = /--code ([0-9a-z-]{19})/.exec(screen.text())?.[1] ?? ''
    for (let guess = 1; guess <= 3; guess++) {
      const wrong = code.replace(/^./, first => (first === `${guess}` ? 'z' : `${guess}`))
      const { code: exit, stderr } = await rig.imago(['approve', plan, '--code', wrong])
      assert.is(exit, 3)
      assert.match(stderr, /the code is wrong/)
    }
    await screen.shows(/gave a wrong code for plan-/)
    assert.is((await rig.imago(['approve', plan, '--code', code])).code, 3)
    screen.type('n\n')
    await screen.shows('Why?')
    screen.type('\n')
    assert.is((await answer).ok, false)
    screen.close()
  }))

test('nothing that the host of an MCP server starts gets a seat, even after the server has gone (threat 5)', () =>
  withRig(async rig => {
    const out = join(rig.folder, 'out.txt')
    const args = ['host', out, 'pty', ...IMAGO, 'mcp', '--', ...IMAGO, 'watch']
    const [during, after] = JSON.parse(await fromShell(rig, args))
    assert.match(during, /No seat: .*the host of an MCP server/)
    assert.match(after, /No seat: .*the host of an MCP server/)
    await nobodySits(rig)
  }))

test('what such a host starts and parts from succeeds while nobody sits, and is asked about while somebody does', () =>
  withRig(async rig => {
    const out = join(rig.folder, 'out.txt')
    const args = ['host', out, 'lost', ...IMAGO, 'mcp', '--', ...IMAGO, 'watch']
    const [alone] = JSON.parse(await fromShell(rig, args))
    assert.match(alone, /seat-1, terminal/)
    assert.match(seatLines(rig).join('\n'), /"what":"taken","seat":"seat-1"/)
    await nobodySits(rig)
    const { screen } = await openWatch(rig)
    const [beside] = JSON.parse(await fromShell(rig, args))
    assert.match(beside, /Waiting up to a minute/)
    assert.not.match(beside, /are shown here/)
    await screen.shows(/Somebody else wants to approve, too/)
    screen.close()
  }))
