import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openFiles } from '../../src/files/files.ts'
import { policyText } from '../../src/front/commands/policy.ts'
import type { Decision } from '../../src/journal/entries.ts'
import { openPolicy } from '../../src/policy/policy.ts'
import { previewOf, reportPolicy } from '../../src/policy/report.ts'
import { decide } from '../../src/policy/rules.ts'
import { openRegistry } from '../../src/registry/registry.ts'
import { TOOLS } from '../../tools/index.ts'
import { errorOf, rigsOf } from '../support/calls-rig.ts'
import { assert, suite } from '../support/harness.ts'

/** Rules about exactly one file: `file` beside `path`. */
const test = suite('rules about one file')

const open = rigsOf(test)

let folder = ''

let root = ''

test.before.each(() => {
  folder = mkdtempSync(join(tmpdir(), 'imago-policy-'))
  root = join(folder, 'project')
  mkdirSync(root)
})

test.after.each(() => rmSync(folder, { recursive: true, force: true }))

const write = (text: string) => writeFileSync(join(folder, 'policy.toml'), text)

const tools = openRegistry(TOOLS)

const problem = () => openPolicy(folder, { tools }).rulesFor(root).problem

const rule = (decision: Decision, lines: string) => `[[rule]]\ndecision = "${decision}"\n${lines}\n`

function said(path: string): Decision {
  const { rules } = openPolicy(folder).rulesFor(root)
  return decide({ tool: 't', level: 'dangerous', kernel: null, paths: [path], rules }).decision
}

test('a rule about a file speaks about it as it is written, and not about what lies below it', () => {
  for (const written of ['src/x', './src/x', join(root, 'src/x')]) {
    write(rule('allow', `file = ${JSON.stringify(written)}`))
    assert.is(said(join(root, 'src/x')), 'allow')
    for (const other of ['src/x/y', 'src/x/y/z', 'src', 'src/X', 'src/xy'])
      assert.is(said(join(root, other)), 'ask', other)
  }
})

test('one that denies speaks also about other letters, and about where its links lead now (threat 22)', () => {
  mkdirSync(join(root, 'real'))
  symlinkSync('real', join(root, 'src'))
  write(rule('deny', 'file = "src/x"'))
  for (const path of ['src/x', 'SRC/X', 'real/x', 'real/X']) assert.is(said(join(root, path)), 'deny', path)
  assert.is(said(join(root, 'real/x/y')), 'ask')
  write(rule('allow', 'file = "src/x"'))
  assert.is(said(join(root, 'real/x')), 'ask')
})

for (const [what, text, expected] of [
  ['a pattern', rule('deny', 'file = "src/*"'), /rule 1, file, is exactly one file/],
  ['a folder', rule('deny', 'file = "src/"'), /rule 1, file, is exactly one file/],
  ['the root', rule('deny', 'file = "."'), /rule 1, file, is exactly one file/],
  ['what is above', rule('deny', 'file = "src/.."'), /rule 1, file, is exactly one file/],
  ['a path besides', rule('deny', 'file = "a"\npath = "a"'), /rule 1 has a path and a file/],
  ['a home of somebody else', rule('deny', 'file = "~you/a"'), /rule 1 has a path that begins with ~/],
  [
    'a tool that has no files',
    rule('deny', 'tool = "eval_expr"\nfile = "a"'),
    /rule 1 names a file, and eval_expr names and changes no files: leave out file\./,
  ],
] as const)
  test(`a rule about a file and ${what} is a problem that says so`, () => {
    write(text)
    assert.match(problem() ?? '', expected)
  })

test('a project may only tighten by it', () => {
  writeFileSync(join(root, 'imago.toml'), rule('allow', 'tool = "write_file"\nfile = "a"'))
  assert.match(problem() ?? '', /rule 1 says "allow", and a project may only tighten/)
})

test('the tests beside it are put before it', () => {
  const asked = (path: string, expect: string) =>
    `[[test]]\ntool = "write_file"\npath = "${path}"\nexpect = "${expect}"\n`
  const allow = rule('allow', 'tool = "write_file"\nfile = "src/x"')
  write(`${allow}${asked('src/x', 'allow')}${asked('src/x/y', 'ask')}`)
  assert.is(problem(), undefined)
  write(`${allow}${asked('src/x/y', 'allow')}`)
  assert.match(problem() ?? '', /test 1 \(write_file, dangerous, src\/x\/y\) expects "allow"/)
})

test('it waits to be accepted as any other that allows, and is shown to the person and by imago policy', () => {
  const policy = openPolicy(folder, { stateDir: folder })
  policy.rulesFor(root)
  write(rule('allow', 'tool = "write_file"\nfile = "src/x"'))
  assert.match(policyText(reportPolicy(policy, root)), / 1 {2}allow tool=write_file file=src\/x {3}\(waits/)
  const shown = policy.standing(root)
  const { body } = previewOf([shown.user])
  assert.match(body, 'allows write_file on exactly src/x of the project without asking, in every project')
  assert.match(body, '+file = "src/x"')
  assert.is(policy.accept(shown, 'seat-1'), undefined)
  assert.equal(
    policy.rulesFor(root).rules.map(({ file, path }) => [file, path]),
    [[join(root, 'src/x'), undefined]],
  )
})

test('a search leaves out the file that one denies, and shows what lies beside it', async () => {
  const rig = open({
    policy: rule('deny', 'tool = "read_file"\nfile = "a"'),
    projectFiles: () => openFiles({ protected: [], stateDir: folder }),
  })
  for (const name of ['a', 'ab']) writeFileSync(join(rig.root, name), 'word\n')
  const answer = await rig.run('search_files', { text: 'word' })
  assert.ok(answer.ok)
  assert.match(JSON.stringify(answer), '"ab"')
  assert.not.match(JSON.stringify(answer), '"a"')
})

test('the rule told at the third time allows nothing below the file once a folder stands there (threat 22)', async () => {
  const rig = open({ projectFiles: () => openFiles({ protected: [], stateDir: folder }) })
  const person = rig.seat(() => ({ deny: 'no' }))
  const create = (path: string) => rig.run('create_file', { path, content: 'x\n' })
  for (let n = 0; n < 3; n++) assert.is(errorOf(await create('src/x')).code, 'denied')
  const told = person.plans.at(-1)?.rule ?? ''
  writeFileSync(join(rig.root, '../policy.toml'), told)
  mkdirSync(join(rig.root, 'src/x'), { recursive: true })
  await rig.clock.pass(5 * 60_000)
  assert.is(errorOf(await create('src/x/y')).code, 'denied')
  rmSync(join(rig.root, 'src/x'), { recursive: true })
  assert.ok((await create('src/x')).ok)
  assert.is(person.plans.length, 4)
})
