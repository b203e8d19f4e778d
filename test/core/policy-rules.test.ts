import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Disk, NODE_DISK } from '../../src/files/disk.ts'
import { openFiles } from '../../src/files/files.ts'
import { openPolicy } from '../../src/policy/policy.ts'
import { decide } from '../../src/policy/rules.ts'
import { openRegistry } from '../../src/registry/registry.ts'
import { TOOLS } from '../../tools/index.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('policy rules')

let folder = ''

let root = ''

test.before.each(() => {
  folder = mkdtempSync(join(tmpdir(), 'imago-policy-'))
  root = join(folder, 'project')
  mkdirSync(root)
})

test.after.each(() => rmSync(folder, { recursive: true, force: true }))

const userFile = () => join(folder, 'policy.toml')

const projectFile = () => join(root, 'imago.toml')

const read = () => openPolicy(folder).rulesFor(root)

const REAL: readonly (readonly [string, string, string, boolean])[] = [
  ['relative in the file of the user: in each project', 'user', 'secrets', true],
  ['relative in the file of a project', 'project', 'secrets', true],
  ['relative with a dot', 'project', './secrets/', true],
  ['another name with the same beginning', 'user', 'secret', false],
  ['in other letters, which some disks take for the same', 'user', 'Secrets', true],
  ['the root itself', 'project', '.', true],
]

for (const [what, whose, path, speaks] of REAL)
  test(`a path (${what}) ${speaks ? 'covers' : 'does not cover'} what is in it`, () => {
    const file = whose === 'user' ? userFile() : projectFile()
    writeFileSync(file, `[[rule]]\ndecision = "deny"\npath = ${JSON.stringify(path)}\n`)
    const asked = { tool: 't', level: 'dangerous', kernel: null, paths: [join(root, 'secrets/key')] } as const
    assert.is(decide({ ...asked, rules: read().rules }).decision === 'deny', speaks)
  })

test('on a disk that is blind to case, other letters are let past no denial and win no allowance (threat 22)', () => {
  mkdirSync(join(root, 'secrets'))
  writeFileSync(join(root, 'secrets/key'), 'k')
  const files = openFiles({ protected: [], stateDir: join(folder, 'state'), disk: blindToCase('secrets') })
  for (const decision of ['deny', 'ask', 'allow']) {
    writeFileSync(userFile(), `[[rule]]\ndecision = "${decision}"\npath = "secrets"\n`)
    const level = decision === 'ask' ? 'cautious' : 'dangerous'
    const said = ['secrets/key', 'SECRETS/key'].map(path => {
      const real = files.realPath({ root, path })
      if (typeof real !== 'string') throw new Error(real.error.message)
      return decide({ tool: 't', level, kernel: null, paths: [real], rules: read().rules }).decision
    })
    assert.equal(said, [decision, decision === 'allow' ? 'ask' : decision])
  }
})

/** The disk of this machine, on which that name is reached by any letters, as on macOS. */
function blindToCase(name: string): Disk {
  const spelt = (path: string) => path.replace(new RegExp(name, 'gi'), name)
  return {
    ...NODE_DISK,
    lstat: path => NODE_DISK.lstat(spelt(path)),
    readlink: path => NODE_DISK.readlink(spelt(path)),
    readdir: path => NODE_DISK.readdir(spelt(path)),
  }
}

test('~ is the home of the user, in the file of the user', () => {
  writeFileSync(
    userFile(),
    '[[rule]]\ndecision = "deny"\npath = "~/keys"\n[[rule]]\ndecision = "ask"\npath = "~"\n',
  )
  const { rules } = openPolicy(folder, { home: join(folder, 'home') }).rulesFor(root)
  assert.equal(
    rules.map(({ path }) => path),
    [join(folder, 'home/keys'), join(folder, 'home')],
  )
})

test('a denial of a path speaks about where its links lead, also once they are laid anew; an allowance does not', () => {
  const [one, other] = [join(folder, 'one'), join(folder, 'other')]
  mkdirSync(one)
  mkdirSync(other)
  symlinkSync(one, join(root, 'out'))
  const say = (path: string) => {
    const { rules } = policy.rulesFor(root)
    return decide({ tool: 't', level: 'dangerous', kernel: null, rules, paths: [path] }).decision
  }
  const policy = openPolicy(folder)
  writeFileSync(
    userFile(),
    `[[rule]]\ndecision = "deny"\npath = "out/new"\n[[rule]]\ndecision = "allow"\npath = "out"\n`,
  )
  assert.equal(
    [say(join(one, 'new')), say(join(one, 'x')), say(join(root, 'out/x'))],
    ['deny', 'ask', 'allow'],
  )
  rmSync(join(root, 'out'))
  symlinkSync(other, join(root, 'out'))
  assert.equal(
    [say(join(other, 'new')), say(join(other, 'x')), say(join(one, 'new'))],
    ['deny', 'ask', 'ask'],
  )
})

const TESTED = `
[[rule]]
decision = "allow"
tool = "write_file"
path = "docs"
effect = "write_file"

[[rule]]
decision = "deny"
path = "~/keys"
`

const TESTS: readonly (readonly [string, string, RegExp | undefined])[] = [
  [
    'holds',
    'tool = "write_file"\npath = "docs/a.md"\neffect = "write_file"\nexpect = "allow"\nrule = 1',
    undefined,
  ],
  [
    'holds by a default',
    'tool = "write_file"\npath = "src/a.py"\neffect = "write_file"\nexpect = "ask"',
    undefined,
  ],
  [
    'holds for home',
    'tool = "read_file"\nlevel = "safe"\npath = "~/keys/a"\nexpect = "deny"\nrule = 2',
    undefined,
  ],
  ['takes the level of the tool', 'tool = "eval_expr"\nexpect = "allow"', undefined],
  [
    'expects something else',
    'tool = "write_file"\npath = "docs/a.md"\neffect = "write_file"\nexpect = "deny"',
    /test 1 \(write_file, dangerous, write_file, docs\/a.md\) expects "deny", and rule 1 says "allow"\.$/,
  ],
  [
    'expects what a default does not say',
    'tool = "write_file"\nexpect = "allow"',
    /expects "allow", and the default for what is dangerous says "ask"\.$/,
  ],
  [
    'expects another rule',
    'tool = "read_file"\nlevel = "safe"\npath = "~/keys/a"\nexpect = "deny"\nrule = 1',
    /expects rule 1 to decide, and rule 2 did\.$/,
  ],
]

for (const [what, lines, expected] of TESTS)
  test(`a test of rules that ${what} is ${expected === undefined ? 'in order' : 'a problem that says so'}`, () => {
    writeFileSync(userFile(), `${TESTED}\n[[test]]\n${lines}\n`)
    const policy = openPolicy(folder, { tools: openRegistry(TOOLS) })
    const { problem } = policy.rulesFor(root)
    const [result] = policy.standing(root).user.text.tests
    assert.is(result?.problem, problem)
    if (expected === undefined) assert.is(problem, undefined)
    else assert.match(problem ?? '', expected)
    if (expected !== undefined) assert.match(problem ?? '', userFile())
  })

test('the tests of a project are put before its own rules, and those of the user do not disturb them', () => {
  writeFileSync(userFile(), '[[rule]]\ndecision = "allow"\ntool = "write_file"\n')
  writeFileSync(projectFile(), '[[test]]\ntool = "write_file"\nexpect = "ask"\n')
  assert.is(read().problem, undefined)
})
