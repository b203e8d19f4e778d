import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { addressOf, IMAGO, journalOf, openScene, type Tried, textOf } from '../support/attacking.ts'
import { assert, suite } from '../support/harness.ts'
import { until } from '../support/rig.ts'
import { APPROVE } from '../support/watching.ts'

/**
 * Another program of the same user, while nobody sits: what it tries in order to have a dangerous call done without a
 * person. What succeeds is a test too, and docs/attacks.md names each of them.
 */
const test = suite('attacker, nobody sits', { limitMs: 60_000 })
const scene = openScene({ files: { 'notes.txt': 'ours\n' } })
test.before(async () => {
  mkdirSync(scene.rig.paths.configDir, { recursive: true })
  await scene.begin()
})
test.after(() => scene.close())

const ARGS = { path: 'theirs.txt', content: 'theirs\n' }
const WRITE = JSON.stringify(ARGS)
const policyFile = join(scene.rig.paths.configDir, 'policy.toml')

const unchanged = () => assert.equal(readdirSync(scene.rig.project).sort(), ['notes.txt'])
const nobodySits = () =>
  until(async () => (await scene.imago('approvals')).text.includes('Nobody has a seat'), 'no seat')
const refused = (tried: Tried, words: RegExp) => {
  assert.is.not(tried.code, 0)
  assert.match(tried.text, words)
}

test('with nobody seated, a call that has to be asked about writes nothing and exits 3', async () => {
  const tried = await scene.imago('call', 'write_file', WRITE)
  assert.is(tried.code, 3)
  assert.match(tried.text, /^approval_unavailable: /)
  unchanged()
})

const WORDS =
  `approved approve approval allow allowed confirm confirmed force yes sudo role seat by code hash plan decision
  user as_user permission permissions policy rule bypass unsafe dangerous level auto_approve skip_approval __proto__`.split(
    /\s+/,
  )

test('no argument, parameter or role that a call carries approves it (threat 6)', async () => {
  const values = [true, 'approver', 'seat-1', { approved: true }]
  const calls = WORDS.flatMap(word =>
    values.flatMap(value => [
      ['call', { tool: 'write_file', args: { ...ARGS, [word]: value } }],
      ['call', { tool: 'write_file', args: ARGS, [word]: value }],
    ]),
  )
  const answers = (await scene.intrudes('calls', ...addressOf(scene), JSON.stringify(calls))) as {
    type: string
    error?: { code: string }
    result?: { ok: boolean; error?: { code: string } }
  }[]
  assert.is(answers.length, calls.length)
  const codes = answers.map(({ error, result }) => error?.code ?? result?.error?.code ?? 'ok')
  // A member called __proto__ is dropped on the way, so that those calls are asked about like any other.
  assert.equal([...new Set(codes)].sort(), ['approval_unavailable', 'invalid_args', 'invalid_params'])
  unchanged()
})

test('imago approve, deny, undo and log acknowledge change nothing without a code and a seat (threat 5)', async () => {
  for (const code of ['00000000', '12345678', ''])
    for (const word of ['approve', 'deny'])
      refused(
        await scene.imago(word, 'plan-aaaaaaaa', '--code', code),
        /no plan of that name|--code is missing/,
      )
  refused(await scene.imago('undo', 'plan-aaaaaaaa'), /^imago: .*plan-aaaaaaaa/m)
  refused(await scene.imago('log', 'acknowledge'), /needs a terminal/)
  unchanged()
})

test('imago watch gets no seat in a pipe, under nohup, or in a session without a terminal (threat 5)', async () => {
  const lists = async (said: string, command: readonly string[], cwd = scene.rig.project) => {
    const listing = scene.lets(command, { cwd })
    await listing.says(said)
    assert.match((await scene.imago('approvals')).text, 'Nobody has a seat')
    process.kill(-listing.pid, 'SIGKILL')
  }
  await lists('answers nothing', [...IMAGO, 'watch'])
  await lists('answers nothing', ['setsid', '--wait', ...IMAGO, 'watch'])
  const terminal = ['python3', join(import.meta.dirname, '../support/terminal.py'), '[]']
  const folder = scene.rig.folder
  await lists('nohup', [...terminal, 'nohup', ...IMAGO, 'watch'], folder)
  // The terminal is there, and is not that of its session.
  refused(await scene.runs([...terminal, 'setsid', '--wait', ...IMAGO, 'watch']), /has no terminal/)
  assert.not.match(journalOf(scene).join('\n'), '"what":"taken"')
  await nobodySits()
})

test('imago policy accept asks a person, and with nobody seated and no terminal nothing is accepted (threat 10)', async () => {
  writeFileSync(policyFile, '[[rule]]\ndecision = "allow"\ntool = "write_file"\n')
  refused(await scene.imago('policy', 'accept'), /Nobody has a seat/)
  const tried = await scene.imago('call', 'write_file', WRITE)
  assert.is(tried.code, 3)
  rmSync(policyFile)
  unchanged()
})

test('100 calls that need approval while nobody sits are all refused at once, and wait for nobody (threat 36)', async () => {
  const { waiting, answered } = (await scene.intrudes('flood', ...addressOf(scene), '4', '25')) as {
    waiting: number
    answered: string[]
  }
  assert.is(waiting, 0)
  assert.equal(answered, Array(100).fill('approval_unavailable'))
  unchanged()
})

test('an attacker who makes a terminal while nobody sits succeeds: it takes the seat, and approves its own plan', async () => {
  const screen = scene.lets([
    'python3',
    join(import.meta.dirname, '../support/terminal.py'),
    JSON.stringify([
      [APPROVE, 'y\n'],
      [': approved', '\x03'],
    ]),
    ...IMAGO,
    'watch',
  ])
  await until(async () => /seat-\d+/.test((await scene.imago('approvals')).text), 'its seat')
  assert.is((await scene.imago('call', 'write_file', WRITE)).code, 0)
  await screen.ended
  assert.is(textOf(scene, 'theirs.txt'), 'theirs\n')
  // What is left to see afterwards: who took the seat, and that it approved.
  assert.match(
    journalOf(scene).join('\n'),
    /"what":"taken","seat":"seat-\d+","who":"terminal \S+ \(process \d+\)"/,
  )
  rmSync(join(scene.rig.project, 'theirs.txt'))
  await nobodySits()
})

test('an attacker who makes a terminal while nobody sits succeeds: it loosens the policy, and is asked no more', async () => {
  writeFileSync(policyFile, '[[rule]]\ndecision = "allow"\ntool = "write_file"\n')
  const tried = await scene.atOwnTerminal([[APPROVE, 'y\n']], 'policy', 'accept')
  assert.is(tried.code, 0, tried.text)
  assert.is((await scene.imago('call', 'write_file', WRITE)).code, 0)
  assert.is(textOf(scene, 'theirs.txt'), 'theirs\n')
  assert.match(journalOf(scene).join('\n'), /"type":"policy".*accepted by seat-\d+/)
  rmSync(policyFile)
  rmSync(join(scene.rig.project, 'theirs.txt'))
})
