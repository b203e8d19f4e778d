import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { policyText } from '../../src/front/commands/policy.ts'
import { openPolicy } from '../../src/policy/policy.ts'
import { previewOf, reportPolicy } from '../../src/policy/report.ts'
import { decide } from '../../src/policy/rules.ts'
import { assert, suite } from '../support/harness.ts'

/** What the policy says of the yes of MCP clients: loosened by a person alone, like any rule. */
const test = suite('policy for clients')

let folder = ''

let root = ''

test.before.each(() => {
  folder = mkdtempSync(join(tmpdir(), 'imago-clients-'))
  root = join(folder, 'project')
  for (const name of ['config', 'state', 'project']) mkdirSync(join(folder, name))
})

test.after.each(() => rmSync(folder, { recursive: true, force: true }))

const said = (name: string, yes: string) => `[[client]]\nname = "${name}"\nyes = "${yes}"\n`

const user = (text: string) => writeFileSync(join(folder, 'config/policy.toml'), text)

const project = (text: string) => writeFileSync(join(root, 'imago.toml'), text)

const open = () => openPolicy(join(folder, 'config'), { stateDir: join(folder, 'state') })

const accept = (policy: ReturnType<typeof open>) => policy.accept(policy.standing(root), 'seat-1')

test('a client of which nobody says anything is left to what is known of it', () => {
  user(said('codex*', 'counts'))
  assert.is(open().yesOf(root, 'claude-code'), undefined)
})

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

test('what is said of clients lets no call through, and stops none', () => {
  user(`${said('codex', 'counts')}${said('zed', 'asks_a_seat')}`)
  const { rules } = open().rulesFor(root)
  assert.equal(rules, [])
  const asked = { tool: 'write_file', level: 'dangerous', kernel: null, rules } as const
  assert.is(decide(asked).decision, 'ask')
  assert.is(decide({ ...asked, level: 'cautious' }).decision, 'allow')
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
