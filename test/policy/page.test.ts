import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { MATCHERS } from '../../src/policy/file.ts'
import { type FileRules, openPolicy } from '../../src/policy/policy.ts'
import { openRegistry } from '../../src/registry/registry.ts'
import { TOOLS } from '../../tools/index.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('policy page')

const page = readFileSync(join(PACKAGE_ROOT, 'docs/policy.md'), 'utf8')

const examples = [...page.matchAll(/```toml\n([\s\S]*?)```/g)].map(([, text = '']) => text)

const tools = openRegistry(TOOLS)

/** What becomes of the text as the file of the user, and as that of a project. */
function filed(text: string): { readonly user: FileRules; readonly project: FileRules } {
  const folder = mkdtempSync(join(tmpdir(), 'imago-policy-page-'))
  try {
    const root = join(folder, 'project')
    mkdirSync(root)
    const file = text.startsWith('# imago.toml') ? join(root, 'imago.toml') : join(folder, 'policy.toml')
    writeFileSync(file, text)
    return openPolicy(folder, { tools }).standing(root)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

test('every example of docs/policy.md is in order as the file that it says it is, and its tests hold', () => {
  assert.is(examples.length, 3)
  for (const text of examples) {
    const { user, project } = filed(text)
    const looked = text.startsWith('# imago.toml') ? project : user
    assert.equal([user.problem, project.problem], [undefined, undefined])
    assert.is(looked.held.length, text.split(/\[\[(?:rule|client)\]\]/).length - 1)
    assert.is(looked.text.tests.length, text.split('[[test]]').length - 1)
    assert.ok(looked.text.tests.length > 0 || !text.includes('[[rule]]'))
  }
})

test('what docs/policy.md prints of the tests is what comes of them', () => {
  const [text = ''] = examples
  for (const { number, call, got, by } of filed(text).user.text.tests)
    assert.match(page, `  ok   ${number}  ${call}: ${got}, by ${by}\n`)
})

test('docs/policy.md has every word of a rule, and a test of an example that is made wrong fails', () => {
  for (const word of MATCHERS) assert.match(page, `| \`${word}\` |`)
  const [text = ''] = examples
  assert.match(
    filed(text.replace('expect = "ask"', 'expect = "allow"')).user.problem ?? '',
    /test 2 .* rule 2 says "ask"/,
  )
})
