import {
  closeSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
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
import { policyText } from '../../src/front/commands/policy.ts'
import { type OpenPolicy, openPolicy, type PolicyChange } from '../../src/policy/policy.ts'
import { previewOf, reportPolicy } from '../../src/policy/report.ts'
import { type Asked, decide } from '../../src/policy/rules.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('what of a policy a person has accepted')

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

const projectFile = () => join(root, 'imago.toml')

const records = () => join(folder, 'state/policy-accepted')

const open = (): OpenPolicy =>
  openPolicy(join(folder, 'config'), {
    stateDir: join(folder, 'state'),
    home: join(folder, 'home'),
    changed: change => changes.push(change),
    log: sentence => faults.push(sentence),
  })

const ALLOW = '[[rule]]\ndecision = "allow"\ntool = "write_file"\n'

const ASK = '[[rule]]\ndecision = "ask"\ntool = "eval_expr"\n'

const DENY = '[[rule]]\ndecision = "deny"\ntool = "eval_expr"\n'

/** What comes of a dangerous call of `write_file`, and of a cautious one of `eval_expr`. */
function decisions(policy: OpenPolicy, at = root): string {
  const { rules, problem } = policy.rulesFor(at)
  if (problem !== undefined) return 'problem'
  const say = (tool: string, level: Asked['level']) => decide({ tool, level, kernel: null, rules }).decision
  return `${say('write_file', 'dangerous')} ${say('eval_expr', 'cautious')}`
}

const accept = (policy: OpenPolicy) => policy.accept(policy.standing(root), 'seat-1')

test('what stands in the files at their first sight is accepted, and a record says so', () => {
  writeFileSync(userFile(), ALLOW)
  const policy = open()
  assert.is(decisions(policy), 'allow allow')
  assert.is(policy.standing(root).user.acceptance?.how, 'first_sight')
  const record = join(records(), 'user.json')
  assert.is(statSync(record).mode & 0o777, 0o600)
  assert.is(statSync(records()).mode & 0o777, 0o700)
  assert.match(readFileSync(record, 'utf8'), '"first_sight"')
  assert.equal(
    changes.map(({ file, what }) => [file, what]),
    [[userFile(), 'accepted at first sight']],
  )
})

test('that no file was there is a first sight too, and told as one: one that allows later waits', () => {
  const policy = open()
  assert.equal(
    changes.map(({ what }) => what),
    ['no policy file, so that the defaults hold'],
  )
  writeFileSync(userFile(), ALLOW)
  assert.is(decisions(policy), 'ask allow')
  assert.is(decisions(open()), 'ask allow')
})

test('of a file that is not in order at first sight nothing is accepted, also once it is mended', () => {
  writeFileSync(userFile(), 'nonsense')
  const policy = open()
  assert.is(decisions(policy), 'problem')
  writeFileSync(userFile(), ALLOW)
  assert.is(decisions(policy), 'ask allow')
})

/** Each: what was accepted, what is written then, what comes of it at once, and once it is accepted. */
const STEPS: readonly (readonly [string, string, string, string, string])[] = [
  ['an allowance that is added waits', '', ALLOW, 'ask allow', 'allow allow'],
  ['an allowance that is taken out is gone at once', ALLOW, '', 'ask allow', 'ask allow'],
  ['a denial that is added holds at once', '', DENY, 'ask deny', 'ask deny'],
  ['a denial that is taken out holds on', DENY, '', 'ask deny', 'ask allow'],
  ['asking that is added holds at once', '', ASK, 'ask ask', 'ask ask'],
  ['asking that is taken out holds on', ASK, '', 'ask ask', 'ask allow'],
  ['asking made denial holds at once', ASK, DENY, 'ask deny', 'ask deny'],
  ['denial made asking stays denial', DENY, ASK, 'ask deny', 'ask ask'],
  ['both at once are each for themselves', DENY, ALLOW, 'ask deny', 'allow allow'],
  ['the order of rules means nothing', ALLOW + DENY, DENY + ALLOW, 'allow deny', 'allow deny'],
  [
    'a file that is only written otherwise is the same',
    ALLOW,
    `# new\n\n${ALLOW}`,
    'allow allow',
    'allow allow',
  ],
]

for (const [what, before, after, atOnce, accepted] of STEPS)
  test(`${what}, in this daemon and in the next, until a person accepts`, () => {
    writeFileSync(userFile(), before)
    const policy = open()
    policy.rulesFor(root)
    writeFileSync(userFile(), after)
    assert.is(decisions(policy), atOnce)
    const next = open()
    assert.is(decisions(next), atOnce)
    assert.is(accept(next), undefined)
    assert.is(decisions(next), accepted)
    assert.equal(next.rulesFor(root).waiting, [])
    assert.is(decisions(open()), accepted)
  })

test('a rule that tightened holds on when it is taken out again, and an allowance taken out has to be accepted anew', () => {
  writeFileSync(userFile(), ALLOW)
  const policy = open()
  writeFileSync(userFile(), DENY)
  assert.is(decisions(policy), 'ask deny')
  writeFileSync(userFile(), ALLOW)
  assert.is(decisions(policy), 'ask deny')
  assert.equal(
    policy.rulesFor(root).waiting.map(({ what, rule }) => [what, rule.decision]),
    [
      ['allows', 'allow'],
      ['removed', 'deny'],
    ],
  )
})

test('a rule that was taken out says so where it decides', () => {
  writeFileSync(userFile(), DENY)
  const policy = open()
  rmSync(userFile())
  assert.equal(policy.rulesFor(root).rules[0]?.from, {
    type: 'user',
    file: userFile(),
    number: 1,
    removed: true,
  })
})

test('a project cannot take back what it tightened, and its rules hold for it alone', () => {
  const other = join(folder, 'other')
  mkdirSync(other)
  writeFileSync(projectFile(), DENY)
  const policy = open()
  assert.equal([decisions(policy), decisions(policy, other)], ['ask deny', 'ask allow'])
  rmSync(projectFile())
  assert.equal([decisions(policy), decisions(open())], ['ask deny', 'ask deny'])
  accept(policy)
  assert.equal([decisions(policy), decisions(open())], ['ask allow', 'ask allow'])
})

test('a file that is broken lets go of nothing that was accepted, and takes nothing over', () => {
  writeFileSync(userFile(), `${ALLOW}[[rule]]\ndecision = "deny"\ntool = "list_globals"\n`)
  const policy = open()
  writeFileSync(userFile(), 'nonsense')
  const { rules, problem } = policy.rulesFor(root)
  assert.match(problem ?? '', 'is not TOML')
  assert.is(decide({ tool: 'list_globals', level: 'safe', kernel: null, rules }).decision, 'deny')
  assert.is(decide({ tool: 'write_file', level: 'dangerous', kernel: null, rules }).decision, 'ask')
  writeFileSync(userFile(), ALLOW)
  assert.is(decisions(policy), 'allow allow')
  assert.is(policy.rulesFor(root).waiting.length, 1)
})

test('what was shown is accepted, or nothing', () => {
  const policy = open()
  writeFileSync(userFile(), ALLOW)
  const shown = policy.standing(root)
  writeFileSync(userFile(), ALLOW + ALLOW.replace('write_file', '*'))
  assert.match(policy.accept(shown, 'seat-1')?.causes.join() ?? '', userFile())
  assert.is(decisions(policy), 'ask allow')
  writeFileSync(userFile(), ALLOW)
  assert.ok(
    policy.accept(shown, 'seat-1'),
    'the same words again are another file than the one that was shown',
  )
})

test('a record that changes while the daemon runs changes nothing (threat 10)', () => {
  const policy = open()
  writeFileSync(userFile(), ALLOW)
  assert.is(decisions(policy), 'ask allow')
  const record = join(records(), 'user.json')
  const forged = readFileSync(record, 'utf8').replace(
    '"rules": []',
    '"rules": [{"number": 1, "rule": {"decision": "allow", "tool": "write_file"}}]',
  )
  assert.match(forged, 'allow')
  for (const change of [
    () => writeFileSync(record, forged),
    () => rmSync(record),
    () => rmSync(records(), { recursive: true }),
    () => symlinkSync(folder, records()),
  ]) {
    change()
    assert.is(decisions(policy), 'ask allow')
  }
})

const BROKEN_RECORDS: readonly (readonly [string, (record: string) => void])[] = [
  ['that is no JSON', record => writeFileSync(record, '{')],
  ['of another form', record => writeFileSync(record, '{"v": 2, "rules": []}')],
  [
    'with an unknown word',
    record => writeFileSync(record, readFileSync(record, 'utf8').replace('"v": 1', '"v": 1, "w": 1')),
  ],
  [
    'that is a folder',
    record => {
      rmSync(record)
      mkdirSync(record)
    },
  ],
  [
    'that is a link',
    record => {
      renameSync(record, `${record}.old`)
      symlinkSync(`${record}.old`, record)
    },
  ],
]

for (const [what, spoil] of BROKEN_RECORDS)
  test(`a record ${what} forbids what is not safe, until a person accepts anew`, () => {
    writeFileSync(userFile(), ALLOW)
    open()
    const record = join(records(), 'user.json')
    spoil(record)
    const policy = open()
    assert.match(policy.rulesFor(root).problem ?? '', record)
    assert.is(
      decide({ tool: 'write_file', level: 'dangerous', kernel: null, rules: policy.rulesFor(root).rules })
        .decision,
      'ask',
    )
    if (statSync(record).isDirectory()) rmSync(record, { recursive: true })
    assert.is(accept(policy), undefined)
    assert.is(decisions(policy), 'allow allow')
    assert.is(decisions(open()), 'allow allow')
  })

test('what tightens holds although it cannot be recorded, and what loosens is not accepted then', () => {
  const policy = open()
  rmSync(records(), { recursive: true })
  writeFileSync(records(), 'in the way')
  writeFileSync(userFile(), DENY)
  assert.is(decisions(policy), 'ask deny')
  assert.is(faults.length, 1)
  writeFileSync(userFile(), ALLOW)
  assert.is(decisions(policy), 'ask deny')
  assert.throws(() => accept(policy))
  assert.is(decisions(policy), 'ask deny')
})

test('what has not changed is the same object, and is not recorded again', () => {
  writeFileSync(userFile(), ALLOW)
  const policy = open()
  const first = policy.rulesFor(root)
  const { ino } = statSync(join(records(), 'user.json'))
  assert.is(policy.rulesFor(root), first)
  open().rulesFor(root)
  assert.is(statSync(join(records(), 'user.json')).ino, ino)
})

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

const said = (name: string, yes: string) => `[[client]]\nname = "${name}"\nyes = "${yes}"\n`

const user = (text: string) => writeFileSync(userFile(), text)

const project = (text: string) => writeFileSync(projectFile(), text)

test('a name matches whole, or by its beginning before a star', () => {
  user(`${said('codex*', 'counts')}${said('zed', 'counts')}`)
  const policy = open()
  assert.equal(
    ['codex', 'codex-mcp-client', 'Codex', 'zed', 'zed-2'].map(name => policy.yesOf(root, name)),
    ['counts', 'counts', undefined, 'counts', undefined],
  )
})

test('a yes that is to count has no effect until a person has accepted that', () => {
  const policy = open()
  user(said('codex', 'counts'))
  assert.is(policy.yesOf(root, 'codex'), undefined)
  accept(policy)
  assert.is(policy.yesOf(root, 'codex'), 'counts')
  assert.is(open().yesOf(root, 'codex'), 'counts')
})

test('that a seat is asked holds as soon as it is written, and until a person has accepted that it is gone', () => {
  const policy = open()
  user(said('*', 'asks_a_seat'))
  assert.is(policy.yesOf(root, 'anybody'), 'asks_a_seat')
  user('')
  assert.is(policy.yesOf(root, 'anybody'), 'asks_a_seat')
  accept(policy)
  assert.is(policy.yesOf(root, 'anybody'), undefined)
})

test('the stricter word holds, and a project may only say that a seat is asked', () => {
  user(said('codex', 'counts'))
  const policy = open()
  assert.is(policy.yesOf(root, 'codex'), 'counts')
  project(said('cod*', 'asks_a_seat'))
  assert.is(policy.yesOf(root, 'codex'), 'asks_a_seat')
  project(said('codex', 'counts'))
  assert.match(policy.rulesFor(root).problem ?? '', /client 1 says "counts", and a project may only tighten/)
})

test('while a file is not in order no yes is said to count', () => {
  user(said('codex', 'counts'))
  const policy = open()
  project('[[rule]]\ndecision = "perhaps"\n')
  assert.is(policy.yesOf(root, 'codex'), 'asks_a_seat')
})

test('what cannot be meant is refused: every client, a word that there is not, a name that hides something', () => {
  const policy = open()
  for (const [text, problem] of [
    [said('*', 'counts'), /client 1 would have the yes of every client count/],
    [said('codex', 'sometimes'), /client 1, yes/],
    [said('co*dex', 'counts'), /client 1, name/],
    [said('codex\\u202e', 'counts').replace('u202e', 'u0007'), /control characters/],
    ['[[client]]\nname = "codex"\n', /client 1, yes/],
    ['[[rule]]\ndecision = "allow"\nclient = "codex"\n', /"client", which is not a word of a policy/],
  ] as const) {
    user(text)
    assert.match(policy.rulesFor(root).problem ?? '', problem)
  }
})

test('a person is shown what they would accept, in words and as it stands in the file', () => {
  const policy = open()
  user(`${said('codex', 'counts')}[[rule]]\ndecision = "allow"\ntool = "write_file"\n`)
  const { title, body } = previewOf([policy.standing(root).user])
  assert.match(title, /^Accept 2 rules of /)
  assert.match(
    body,
    / {2}takes the yes of a client that calls itself codex for a person's, in every project \(client 1, written\)\n/,
  )
  assert.match(body, /@@ client 1 @@\n\+\[\[client\]\]\n\+name = "codex"\n\+yes = "counts"\n/)
  assert.match(body, /@@ rule 1 @@\n\+\[\[rule\]\]\n/)
})

test('a person is shown all that stands in the file where the record is broken, rules and clients of one number alike', () => {
  user(said('codex', 'counts'))
  open()
  writeFileSync(join(folder, 'state/policy-accepted/user.json'), 'nothing of ours')
  user(`${said('codex', 'counts')}[[rule]]\ndecision = "deny"\ntool = "eval_expr"\n`)
  const { body } = previewOf([open().standing(root).user])
  assert.match(body, /@@ client 1 @@/)
  assert.match(body, /@@ rule 1 @@/)
})

test('imago policy says what is in force of clients, and what waits', () => {
  const policy = open()
  user(`${said('*', 'asks_a_seat')}${said('codex', 'counts')}`)
  const report = reportPolicy(policy, root)
  const [first, second] = report.files[0]?.clients ?? []
  assert.equal([first?.name, first?.yes, first?.state], ['*', 'asks_a_seat', 'in_force'])
  assert.equal([second?.name, second?.yes, second?.state], ['codex', 'counts', 'waits'])
  const text = policyText(report)
  assert.match(text, / {2}client 1 {2}\*: a seat is asked\n/)
  assert.match(text, / {2}client 2 {2}codex: its yes counts {3}\(waits to be accepted\)\n/)
  assert.match(text, / {2}takes the yes of a client that calls itself codex for a person's, in every project/)
})
