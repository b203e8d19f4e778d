import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Envelope } from '../../tools/outcome.ts'
import { addressOf, codeOf, journalOf, openScene, textOf } from '../support/attacking.ts'
import { assert, suite } from '../support/harness.ts'

/**
 * Another program of the same user, which writes the files of Imago themselves: policy, configuration, what was
 * accepted, the journal. What succeeds is a test too, and docs/safety.md names each of them.
 */
const test = suite('attacker, files', { limitMs: 60_000 })

const DENY = '[[rule]]\ndecision = "deny"\ntool = "undo_change"\n'
const ALLOW = '[[rule]]\ndecision = "allow"\ntool = "write_file"\n'
const GUARDED = '[[rule]]\ndecision = "deny"\npath = "keys"\n'

const scene = openScene({ files: { 'imago.toml': GUARDED } })
const { folder, project, paths } = scene.rig
const userFile = join(paths.configDir, 'policy.toml')
const records = join(paths.stateDir, 'policy-accepted')

test.before(async () => {
  mkdirSync(paths.configDir, { recursive: true })
  mkdirSync(join(project, 'keys'))
})
test.before.each(async () => {
  for (const path of [records, join(paths.stateDir, 'journal'), join(paths.configDir, 'config.toml')])
    rmSync(path, { recursive: true, force: true })
  // A link that was put there goes away, and not what it leads to.
  for (const [path, text] of [
    [userFile, DENY],
    [join(project, 'imago.toml'), GUARDED],
  ] as const) {
    rmSync(path, { force: true })
    writeFileSync(path, text)
  }
  rmSync(join(project, 'theirs.txt'), { force: true })
  await scene.begin()
  assert.equal(await decisions(), UNCHANGED)
})
test.after.each(() => scene.kill())
test.after(() => scene.close())

const UNCHANGED = ['approval_unavailable', 'denied', 'denied']

/** What comes of a call that would ask, of one that the user denies, and of one that the project denies. */
async function decisions(root = project): Promise<readonly string[]> {
  const calls = [
    ['write_file', { path: join(project, 'theirs.txt'), content: 'theirs\n' }],
    ['undo_change', { change: 'plan-aaaaaaaa' }],
    ['write_file', { path: join(project, 'keys/theirs.txt'), content: 'theirs\n' }],
  ].map(([tool, args]) => ['call', { tool, args }])
  const [socket, version] = addressOf(scene)
  const answers = (await scene.intrudes('calls', socket, version, root, JSON.stringify(calls))) as readonly {
    readonly result: Envelope
  }[]
  return answers.map(({ result }) => codeOf(result))
}

const again = async () => {
  await scene.kill()
  await scene.begin()
}

for (const [how, script] of [
  ['written over', 'printf "%s" "$2" > "$1"'],
  ['replaced by a rename', 'printf "%s" "$2" > "$1.new"; mv "$1.new" "$1"'],
  ['replaced by a symbolic link', 'printf "%s" "$2" > "$3/elsewhere"; ln -sf "$3/elsewhere" "$1"'],
  ['replaced by a hard link', 'printf "%s" "$2" > "$3/elsewhere"; ln -f "$3/elsewhere" "$1"'],
  [
    'written over with its size and time of change kept',
    'touch -r "$1" "$3/time"; printf "%s" "$2" > "$1"; touch -r "$3/time" "$1"',
  ],
] as const)
  test(`a policy that is ${how} loosens nothing, and nothing after a restart (threat 10)`, async () => {
    await scene.shell(script, userFile, ALLOW, folder)
    assert.is(readFileSync(userFile, 'utf8'), ALLOW)
    await scene.shell(script, join(project, 'imago.toml'), '# nothing\n', folder)
    assert.equal(await decisions(), UNCHANGED)
    await again()
    assert.equal(await decisions(), UNCHANGED)
    assert.match((await scene.imago('policy')).text, 'imago policy accept')
  })

test('what is accepted cannot be edited while the daemon runs (threat 10)', async () => {
  await scene.shell('sed -i s/deny/allow/ "$1"/*', records)
  await scene.shell('printf "%s" "$2" > "$1"', userFile, ALLOW)
  assert.equal(await decisions(), UNCHANGED)
  await scene.shell('rm -r "$1"', records)
  assert.equal(await decisions(), UNCHANGED)
})

test('an attacker who edits what is accepted while no daemon runs succeeds: the next one goes by it', async () => {
  await scene.kill()
  writeFileSync(userFile, ALLOW)
  const record = join(records, 'user.json')
  const forged = readFileSync(record, 'utf8')
    .replace('"deny"', '"allow"')
    .replace('"undo_change"', '"write_file"')
  await scene.shell('printf "%s" "$2" > "$1"', record, forged)
  await scene.begin()
  assert.equal(await decisions(), ['ok', 'approval_unavailable', 'denied'])
  assert.is(textOf(scene, 'theirs.txt'), 'theirs\n')
})

test('an attacker who takes away what is accepted while no daemon runs succeeds: what stands in the files holds', async () => {
  await scene.kill()
  await scene.shell(
    'rm -r "$1"; printf "%s" "$2" > "$3"; : > "$4"',
    records,
    ALLOW,
    userFile,
    join(project, 'imago.toml'),
  )
  await scene.begin()
  assert.equal(await decisions(), ['ok', 'approval_unavailable', 'ok'])
  // What is left to see afterwards.
  assert.match(journalOf(scene).join('\n'), /"type":"policy".*accepted at first sight/)
  rmSync(join(project, 'keys/theirs.txt'))
})

test('an attacker who names another folder as its project succeeds in leaving what this project denies behind', async () => {
  // It is asked about like anything else, and what the user's own file denies stays denied.
  assert.equal(await decisions(folder), ['approval_unavailable', 'denied', 'approval_unavailable'])
})

test('an attacker who edits config.toml succeeds in widening where changes may be proposed, at the next start', async () => {
  const wider = join(folder, 'wider')
  mkdirSync(wider)
  const args = JSON.stringify({ path: join(wider, 'x.txt'), content: 'x\n' })
  assert.match((await scene.imago('call', 'write_file', args)).text, /^path_refused/)
  await scene.shell(
    'printf "%s" "$2" > "$1"',
    join(paths.configDir, 'config.toml'),
    `[files]\nroots = ["${wider}"]\n`,
  )
  assert.match((await scene.imago('call', 'write_file', args)).text, /^path_refused/)
  await again()
  // Each of them is asked about all the same.
  assert.match((await scene.imago('call', 'write_file', args)).text, /^approval_unavailable/)
  assert.equal(readdirSync(wider), [])
})
