import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { policyText } from '../../src/front/commands/policy.ts'
import type { Decision } from '../../src/journal/entries.ts'
import { openPolicy } from '../../src/policy/policy.ts'
import { reportPolicy } from '../../src/policy/report.ts'
import { decide } from '../../src/policy/rules.ts'
import { openRegistry } from '../../src/registry/registry.ts'
import { defineTool } from '../../tools/define.ts'
import { TOOLS } from '../../tools/index.ts'
import { ok } from '../../tools/outcome.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('policy about tools')

const own = defineTool({
  name: 'press_button',
  description: 'Presses it.',
  parameters: {},
  profile: 'full',
  categories: ['own'],
  needs: [],
  examples: [],
  handler: () => ok(null),
})

const tools = openRegistry([...TOOLS, own])

let folder = ''

let root = ''

test.before.each(() => {
  folder = mkdtempSync(join(tmpdir(), 'imago-policy-'))
  root = join(folder, 'project')
  mkdirSync(root)
})

test.after.each(() => rmSync(folder, { recursive: true, force: true }))

const userFile = () => join(folder, 'policy.toml')

const write = (...blocks: string[]) => writeFileSync(userFile(), blocks.join('\n'))

const rule = (about: string, decision: Decision = 'deny') => `[[rule]]\ndecision = "${decision}"\n${about}\n`

const open = () => openPolicy(folder, { tools })

const problem = () => open().rulesFor(root).problem

const ALIASES = TOOLS.flatMap(({ name, aliases }) => aliases.map(alias => [alias, name] as const))

test('there are older names of tools', () => assert.ok(ALIASES.length > 0))

for (const [alias, name] of ALIASES)
  test(`a rule about ${alias} holds for ${name}, and so does a test of it (threat 9)`, () => {
    write(
      rule(`tool = "${alias}"`),
      ...[alias, name].map(of => `[[test]]\ntool = "${of}"\nexpect = "deny"\nrule = 1\n`),
    )
    const policy = open()
    const { rules, problem } = policy.rulesFor(root)
    assert.is(problem, undefined)
    assert.is(decide({ tool: name, level: 'safe', kernel: null, rules }).decision, 'deny')
  })

const VOID: readonly (readonly [string, string, string])[] = [
  [
    'a misspelt tool',
    rule('tool = "write_flie"'),
    'rule 1 is about the tool "write_flie", and there is none; nearest: write_file',
  ],
  [
    'a tool that is like no other',
    rule('tool = "qqqqqqqqq"'),
    'rule 1 is about the tool "qqqqqqqqq", and there is none.',
  ],
  [
    'a misspelt tool of a test',
    '[[test]]\ntool = "eval_exp"\nexpect = "allow"\n',
    'test 1 is about the tool "eval_exp"',
  ],
  [
    'a path for a tool that has no files',
    rule('tool = "eval_expr"\npath = "secrets"'),
    'rule 1 names a path, and eval_expr names and changes no files: leave out path.',
  ],
  [
    'a path for an older name of such a tool',
    rule('tool = "eval_form"\npath = "secrets"'),
    'rule 1 names a path, and eval_form names and changes no files',
  ],
  [
    'a path for such a tool in a test',
    '[[test]]\ntool = "press_button"\npath = "a"\nexpect = "ask"\n',
    'test 1 names a path, and press_button',
  ],
]

for (const [what, text, expected] of VOID)
  test(`${what} is a problem, and forbids what is not safe`, () => {
    write(text)
    assert.match(problem() ?? '', `${userFile()}: ${expected}`)
  })

const HOLD = [
  rule('tool = "press_button"'),
  rule('tool = "write_file"\npath = "docs"'),
  rule('tool = "undo_change"\npath = "docs"'),
  rule('tool = "load_file"\npath = "docs"'),
  rule('path = "docs"'),
  rule('tool = "*"\npath = "docs"'),
  rule('tool = "write_*"\npath = "docs"'),
]

for (const text of HOLD)
  test(`${text.split('\n').slice(2).join(' ').trim()} is in order`, () => {
    write(text)
    assert.is(problem(), undefined)
    assert.equal(open().standing(root).user.text.warnings, [])
  })

test('a pattern that no tool has, or none with files, is a warning that imago policy prints, and forbids nothing', () => {
  write(rule('tool = "wrlte_*"'), rule('tool = "eval_*"\npath = "docs"'))
  assert.is(problem(), undefined)
  const shown = policyText(reportPolicy(open(), root))
  assert.match(shown, `${userFile()}: rule 1 is about wrlte_*, and there is no tool whose name begins so.`)
  assert.match(shown, `${userFile()}: rule 2 names a path, and no tool eval_* names or changes files.`)
})

test('a problem of a file below the project is printed with that file', () => {
  mkdirSync(join(root, 'sub'))
  writeFileSync(join(root, 'sub/imago.toml'), rule('tool = "write_flie"'))
  const policy = open()
  assert.match(
    policy.rulesFor(root, { paths: [join(policy.standing(root).root, 'sub/x')] }).problem ?? '',
    'write_flie',
  )
  const report = reportPolicy(policy, root)
  assert.is(report.problem, null)
  assert.match(policyText(report), 'sub/imago.toml: rule 1 is about the tool "write_flie"')
})
