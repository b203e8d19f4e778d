import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Envelope } from '../../tools/outcome.ts'
import { addressOf, codeOf, journalOf, openScene, textOf } from '../support/attacking.ts'
import { assert, suite } from '../support/harness.ts'

/**
 * Another program of the same user, which writes the files of Imago themselves: policy, configuration, what was
 * accepted, the journal. What succeeds is a test too, and docs/attacks.md names each of them.
 */
const test = suite('attacker, files', { limitMs: 60_000 })

/** Of one size. */
const DENY = '[[rule]]\ndecision = "deny"\ntool = "read_file" #\n'
const ALLOW = '[[rule]]\ndecision = "allow"\ntool = "write_file"\n'
const GUARDED = '[[rule]]\ndecision = "deny"\npath = "keys"\n'

const scene = openScene({ files: { 'imago.toml': GUARDED, 'notes.txt': 'ours\n' } })
const { folder, project, paths } = scene.rig
const userFile = join(paths.configDir, 'policy.toml')
const records = join(paths.stateDir, 'policy-accepted')

test.before(async () => {
  assert.is(DENY.length, ALLOW.length)
  mkdirSync(paths.configDir, { recursive: true })
  mkdirSync(join(project, 'keys'))
  await afresh()
})
test.after(() => scene.close())

/** The rules as they were accepted. */
function laid() {
  for (const [path, text] of [
    [userFile, DENY],
    [join(project, 'imago.toml'), GUARDED],
  ] as const) {
    // A link that was put there goes away, and not what it leads to.
    rmSync(path, { force: true })
    writeFileSync(path, text)
  }
  rmSync(join(project, 'theirs.txt'), { force: true })
}

/** A daemon that sees those rules for the first time. */
async function afresh() {
  await scene.kill()
  for (const path of [records, join(paths.stateDir, 'journal'), join(paths.configDir, 'config.toml')])
    rmSync(path, { recursive: true, force: true })
  laid()
  await scene.begin()
  assert.equal(await decisions(), UNCHANGED)
}

const UNCHANGED = ['approval_unavailable', 'denied', 'denied']

/** What comes of a call that would ask, of one that the user denies, and of one that the project denies. */
function decisions(): Promise<readonly string[]> {
  return codesOf(
    [
      { tool: 'write_file', args: { path: join(project, 'theirs.txt'), content: 'theirs\n' } },
      { tool: 'read_file', args: { path: 'notes.txt' } },
      { tool: 'write_file', args: { path: join(project, 'keys/theirs.txt'), content: 'theirs\n' } },
    ],
    project,
  )
}

const codesOf = async (made: readonly object[], root: string): Promise<readonly string[]> =>
  (await answersTo(made, root)).map(codeOf)

async function answersTo(made: readonly object[], root: string): Promise<readonly Envelope[]> {
  const [socket, version] = addressOf(scene)
  const calls = JSON.stringify(made.map(call => ['call', call]))
  const answers = (await scene.intrudes('calls', socket, version, root, calls)) as readonly {
    readonly result: Envelope
  }[]
  return answers.map(({ result }) => result)
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
  test(`a policy that is ${how} loosens nothing (threat 10)`, async () => {
    laid()
    await scene.shell(script, userFile, ALLOW, folder)
    assert.is(readFileSync(userFile, 'utf8'), ALLOW)
    await scene.shell(script, join(project, 'imago.toml'), '# nothing\n', folder)
    assert.equal(await decisions(), UNCHANGED)
  })

test('a policy that was written over loosens nothing once the daemon was killed and started again (threat 10)', async () => {
  laid()
  await scene.shell('printf "%s" "$2" > "$1"; : > "$3"', userFile, ALLOW, join(project, 'imago.toml'))
  await again()
  assert.equal(await decisions(), UNCHANGED)
  assert.match((await scene.imago('policy')).text, 'imago policy accept')
})

test('what is accepted cannot be edited while the daemon runs (threat 10)', async () => {
  laid()
  await scene.shell('sed -i s/deny/allow/ "$1"/*', records)
  await scene.shell('printf "%s" "$2" > "$1"', userFile, ALLOW)
  assert.equal(await decisions(), UNCHANGED)
  await scene.shell('rm -r "$1"', records)
  assert.equal(await decisions(), UNCHANGED)
})

test('an attacker who edits what is accepted while no daemon runs succeeds: the next one goes by it', async () => {
  await afresh()
  await scene.kill()
  writeFileSync(userFile, ALLOW)
  const record = join(records, 'user.json')
  const forged = readFileSync(record, 'utf8')
    .replace('"deny"', '"allow"')
    .replace('"read_file"', '"write_file"')
  await scene.shell('printf "%s" "$2" > "$1"', record, forged)
  await scene.begin()
  assert.equal(await decisions(), ['ok', 'ok', 'denied'])
  assert.is(textOf(scene, 'theirs.txt'), 'theirs\n')
})

test('an attacker who takes away what is accepted while no daemon runs succeeds: what stands in the files holds', async () => {
  await afresh()
  await scene.kill()
  await scene.shell(
    'rm -r "$1"; printf "%s" "$2" > "$3"; : > "$4"',
    records,
    ALLOW,
    userFile,
    join(project, 'imago.toml'),
  )
  await scene.begin()
  assert.equal(await decisions(), ['ok', 'ok', 'ok'])
  // What is left to see afterwards.
  assert.match(journalOf(scene).join('\n'), /"type":"policy".*accepted at first sight/)
  rmSync(join(project, 'keys/theirs.txt'))
})

test('whatever folder a caller names as its project, it is bound by what the project of the file denies (threat 9)', async () => {
  laid()
  const shop = join(project, 'shop')
  mkdirSync(join(shop, 'keys'), { recursive: true })
  await scene.shell('printf "%s" "$2" > "$1"', join(shop, 'imago.toml'), GUARDED)
  const call = { tool: 'write_file', args: { path: join(shop, 'keys/theirs.txt'), content: 'theirs\n' } }
  for (const root of [shop, project, join(shop, 'keys')])
    assert.equal(await codesOf([call], root), ['denied'])
})

test('a caller in another project learns no kernel of this one, and runs nothing in one that it names (threat 9)', async () => {
  laid()
  const call = { tool: 'eval_expr', args: { expr: 'open("theirs.txt", "w")' } }
  assert.is((await scene.imago('start', 'python', '--name', 'guarded')).code, 0)
  const [unknown] = await answersTo([{ ...call, args: { ...call.args, kernel: 'guard' } }], folder)
  assert.match(JSON.stringify(unknown), /no_such_kernel.*Others live in other projects/)
  assert.not.match(JSON.stringify(unknown), 'guarded')
  const looks = { tool: 'inspect', args: { expr: 'x', kernel: 'guarded' } }
  const named = { ...call, args: { ...call.args, kernel: 'guarded' } }
  assert.equal(await codesOf([looks, named], folder), ['approval_unavailable', 'approval_unavailable'])
  assert.is(textOf(scene, 'theirs.txt'), undefined)
})

test('an attacker who edits config.toml succeeds in widening where changes may be proposed, at the next start', async () => {
  await afresh()
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
