import {
  closeSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type OpenPolicy, openPolicy, type PolicyChange } from '../../src/policy/policy.ts'
import { type Asked, decide } from '../../src/policy/rules.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('policy replaced')

let folder = ''

let root = ''

let changes: PolicyChange[] = []

let faults: string[] = []

test.before.each(() => {
  folder = mkdtempSync(join(tmpdir(), 'imago-accept-'))
  root = join(folder, 'project')
  for (const name of ['config', 'state', 'project', 'home']) mkdirSync(join(folder, name))
  changes = []
  faults = []
})

test.after.each(() => rmSync(folder, { recursive: true, force: true }))

const userFile = () => join(folder, 'config/policy.toml')

const open = (): OpenPolicy =>
  openPolicy(join(folder, 'config'), {
    stateDir: join(folder, 'state'),
    home: join(folder, 'home'),
    changed: change => changes.push(change),
    log: sentence => faults.push(sentence),
  })

const ALLOW = '[[rule]]\ndecision = "allow"\ntool = "write_file"\n'

/** What comes of a dangerous call of `write_file`, and of a cautious one of `eval_expr`. */
function decisions(policy: OpenPolicy, at = root): string {
  const { rules, problem } = policy.rulesFor(at)
  if (problem !== undefined) return 'problem'
  const say = (tool: string, level: Asked['level']) => decide({ tool, level, kernel: null, rules }).decision
  return `${say('write_file', 'dangerous')} ${say('eval_expr', 'cautious')}`
}

/** Ways to put other rules where the accepted ones stood. `text` has as many bytes as what is there. */
const REPLACEMENTS: readonly (readonly [string, (text: string) => void])[] = [
  ['written over', text => writeFileSync(userFile(), text)],
  [
    'replaced by a rename',
    text => {
      writeFileSync(`${userFile()}.new`, text)
      renameSync(`${userFile()}.new`, userFile())
    },
  ],
  [
    'replaced by a symbolic link',
    text => {
      writeFileSync(join(folder, 'elsewhere'), text)
      rmSync(userFile())
      symlinkSync(join(folder, 'elsewhere'), userFile())
    },
  ],
  [
    'replaced by a hard link',
    text => {
      writeFileSync(join(folder, 'elsewhere'), text)
      rmSync(userFile())
      linkSync(join(folder, 'elsewhere'), userFile())
    },
  ],
  [
    'under a folder that is a link',
    text => {
      mkdirSync(join(folder, 'fake'))
      writeFileSync(join(folder, 'fake/policy.toml'), text)
      renameSync(join(folder, 'config'), join(folder, 'config-before'))
      symlinkSync(join(folder, 'fake'), join(folder, 'config'))
    },
  ],
  [
    'written in place with its size and its times kept',
    text => {
      const { atime, mtime } = statSync(userFile())
      const fd = openSync(userFile(), 'r+')
      writeSync(fd, text)
      closeSync(fd)
      utimesSync(userFile(), atime, mtime)
    },
  ],
]

const CALM = '[[rule]]\ndecision = "deny"\ntool = "eval_expr" \n'

for (const [what, replace] of REPLACEMENTS) {
  test(`a file of rules ${what} loosens nothing (threat 10)`, () => {
    writeFileSync(userFile(), CALM)
    const policy = open()
    assert.is(decisions(policy), 'ask deny')
    const loose = ALLOW.padEnd(CALM.length).slice(0, CALM.length)
    assert.is(loose.length, CALM.length)
    replace(loose)
    assert.is(decisions(policy), 'ask deny')
    assert.equal(
      policy.rulesFor(root).waiting.map(({ what: kind }) => kind),
      ['allows', 'removed'],
    )
    assert.is(decisions(open()), 'ask deny')
  })

  test(`a file of rules ${what} tightens at once`, () => {
    const before = ALLOW.padEnd(CALM.length)
    writeFileSync(userFile(), before)
    const policy = open()
    assert.is(decisions(policy), 'allow allow')
    replace(CALM)
    assert.is(decisions(policy), 'ask deny')
  })
}

test('a file of rules that is renamed away or cannot be read lets go of nothing (threat 10)', () => {
  writeFileSync(userFile(), CALM)
  const policy = open()
  renameSync(userFile(), `${userFile()}.away`)
  assert.is(decisions(policy), 'ask deny')
  mkdirSync(userFile())
  const { rules, problem } = policy.rulesFor(root)
  assert.match(problem ?? '', 'not a regular file')
  assert.is(decide({ tool: 'eval_expr', level: 'safe', kernel: null, rules }).decision, 'deny')
})
