import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Decision } from '../../src/journal/entries.ts'
import { openPolicy } from '../../src/policy/policy.ts'
import { reportPolicy } from '../../src/policy/report.ts'
import { decide } from '../../src/policy/rules.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('policy of nested folders')

let folder = ''

test.before.each(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'imago-policy-')))
  for (const name of ['config', 'state', 'mono/shop/sub/deep', 'other'])
    mkdirSync(at(name), { recursive: true })
})

test.after.each(() => rmSync(folder, { recursive: true, force: true }))

const at = (name: string) => join(folder, name)

const open = () => openPolicy(at('config'), { stateDir: at('state'), freshMs: Number.POSITIVE_INFINITY })

const write = (name: string, ...rules: string[]) =>
  writeFileSync(at(name), rules.map(rule => `[[rule]]\n${rule}\n`).join(''))

/** What is said of writing that file for a caller with that root. */
function said(policy = open(), { root = 'mono/shop', path = 'mono/shop/a', tool = 'write_file' } = {}) {
  const paths = tool === 'write_file' ? [at(path)] : []
  const { rules, problem } = policy.rulesFor(at(root), { paths })
  const verdict = decide({ tool, level: 'cautious', kernel: null, paths, rules })
  const { from } = verdict.rule
  return { decision: verdict.decision, file: 'file' in from ? from.file : null, problem }
}

const DENIED = 'decision = "deny"\ntool = "write_file"'

const CALLERS: readonly (readonly [string, string, string, Decision])[] = [
  ['in the root itself', 'mono/shop', 'mono/shop/sub/x', 'deny'],
  ['in a folder below', 'mono/shop/sub/deep', 'mono/shop/sub/deep/x', 'deny'],
  ['in the folder above', 'mono', 'mono/shop/sub/new/x', 'deny'],
  ['far above', '.', 'mono/shop/x', 'deny'],
  ['elsewhere, with that folder as a further root', 'other', 'mono/shop/x', 'deny'],
  ['above, about another project', 'mono', 'mono/else/x', 'allow'],
  ['elsewhere', 'other', 'other/x', 'allow'],
]

for (const [what, root, path, decision] of CALLERS)
  test(`what a project denies is judged for a caller ${what}: ${decision} (threat 9)`, () => {
    write('mono/shop/imago.toml', DENIED)
    const found = said(open(), { root, path })
    assert.equal([found.decision, found.problem], [decision, undefined])
    assert.is(found.file, decision === 'deny' ? at('mono/shop/imago.toml') : null)
  })

test('the paths of a file count from its own folder, whoever calls', () => {
  write('mono/shop/imago.toml', 'decision = "deny"\npath = "sub"')
  const policy = open()
  for (const root of ['.', 'mono', 'mono/shop', 'mono/shop/sub', 'other']) {
    assert.is(said(policy, { root, path: 'mono/shop/sub/x' }).decision, 'deny', root)
    assert.is(said(policy, { root, path: 'mono/shop/x' }).decision, 'allow', root)
    assert.is(said(policy, { root, path: 'mono/shop/sub/sub/x' }).decision, 'deny', root)
    assert.is(said(policy, { root, path: 'mono/sub/x' }).decision, 'allow', root)
  }
})

test('a file in a folder of the call is seen as soon as it is written, and its problem forbids (threat 10)', () => {
  const policy = open()
  const path = 'mono/shop/sub/x'
  assert.is(said(policy, { root: 'mono', path }).decision, 'allow')
  write('mono/shop/sub/imago.toml', DENIED)
  assert.is(said(policy, { root: 'mono', path }).decision, 'deny')
  writeFileSync(at('mono/shop/sub/imago.toml'), 'nonsense')
  assert.match(said(policy, { root: 'mono', path }).problem ?? '', at('mono/shop/sub/imago.toml'))
  assert.is(said(policy, { root: 'mono' }).problem, undefined)
})

test('what a file in a folder of the call denied holds on once it is gone, until a person accepts that', () => {
  write('mono/shop/imago.toml', DENIED)
  const before = { root: 'mono', path: 'mono/shop/x' }
  assert.is(said(open(), before).decision, 'deny')
  rmSync(at('mono/shop/imago.toml'))
  const policy = open()
  assert.is(said(policy, before).decision, 'deny')
  const shown = policy.standing(at('mono'))
  assert.equal(
    shown.files.flatMap(({ place, waiting }) => waiting.map(({ what }) => [place.file, what])),
    [[at('mono/shop/imago.toml'), 'removed']],
  )
  assert.is(policy.accept(shown, 'seat-1'), undefined)
  for (const one of [policy, open()])
    for (const root of ['mono', 'mono/shop', 'mono/shop/sub'])
      assert.is(said(one, { root, path: 'mono/shop/sub/x' }).decision, 'allow', root)
})

test('nothing is accepted where one of the files that were shown is another by then', () => {
  write('mono/imago.toml', DENIED)
  write('mono/shop/imago.toml', DENIED)
  const policy = open()
  said(policy)
  for (const name of ['mono/imago.toml', 'mono/shop/imago.toml']) write(name)
  const shown = policy.standing(at('mono/shop'))
  write('mono/imago.toml', 'decision = "ask"')
  assert.equal(policy.accept(shown, 'seat-1')?.causes, [
    `${at('mono/imago.toml')} is not what was shown any more`,
  ])
  assert.is(said(policy).decision, 'deny')
})

test('imago policy lists the files above a project and those met below it, and leaves out those that say nothing', () => {
  for (const name of ['mono/imago.toml', 'mono/shop/sub/imago.toml']) write(name, DENIED)
  const policy = open()
  const listed = () => reportPolicy(policy, at('mono/shop')).files.map(({ file }) => file)
  const always = [at('config/policy.toml'), at('mono/shop/imago.toml'), at('mono/imago.toml')]
  assert.equal(listed(), always)
  said(policy, { path: 'mono/shop/sub/x' })
  assert.equal(listed(), [...always, at('mono/shop/sub/imago.toml')])
})

test('however many folders calls are about, what is denied in one stays denied', () => {
  write('mono/shop/imago.toml', DENIED)
  const policy = open()
  assert.is(said(policy, { root: 'mono', path: 'mono/shop/x' }).decision, 'deny')
  rmSync(at('mono/shop/imago.toml'))
  for (let count = 0; count < 5_000; count++) said(policy, { root: 'other', path: `other/${count}/x` })
  assert.is(said(policy, { root: 'mono', path: 'mono/shop/x' }).decision, 'deny')
})

/** What is said of `eval_expr` on a kernel of `other`, for a caller in the shop. */
function between(paths: readonly string[] = []) {
  const asked = { tool: 'eval_expr', level: 'cautious', kernel: 'k', paths } as const
  const { rules, problem } = open().rulesFor(at('mono/shop'), { paths, roots: [at('other')] })
  const { decision, rule } = decide({ ...asked, rules })
  return { decision, file: 'file' in rule.from ? rule.from.file : null, problem }
}

const EVAL = 'tool = "eval_expr"'

for (const [ours, theirs, decision, file] of [
  ['ask', 'deny', 'deny', 'other/imago.toml'],
  ['deny', 'ask', 'deny', 'mono/shop/imago.toml'],
  [undefined, 'ask', 'ask', 'other/imago.toml'],
  ['ask', undefined, 'ask', 'mono/shop/imago.toml'],
  [undefined, undefined, 'allow', null],
] as const)
  test(`where the caller's project says ${ours ?? 'nothing'} and that of the kernel ${theirs ?? 'nothing'}: ${decision}`, () => {
    if (ours) write('mono/shop/imago.toml', `decision = "${ours}"\n${EVAL}`)
    if (theirs) write('other/imago.toml', `decision = "${theirs}"\n${EVAL}`)
    assert.equal(between(), { decision, file: file && at(file), problem: undefined })
  })

test('what the user denies on a path of each project is denied on that of the kernel, and a rule that allows is not widened', () => {
  const path = [at('other/keys/x')]
  write('config/policy.toml', 'decision = "deny"\npath = "keys"')
  assert.is(between(path).decision, 'deny')
  assert.is(between().decision, 'allow')
  rmSync(at('state'), { recursive: true })
  write('config/policy.toml', 'decision = "allow"\npath = "keys"', 'decision = "ask"\ntool = "eval_expr"')
  assert.is(between(path).decision, 'ask')
})

test('a file of the kernel’s project that is not in order forbids for callers of other projects, too', () => {
  writeFileSync(at('other/imago.toml'), 'nonsense')
  assert.match(between().problem ?? '', at('other/imago.toml'))
})
