import { assert, suite } from './support/harness.ts'
import { filesIn, textOf } from './support/imports.ts'

/** docs/safety.md is a list of tests by their names, so that what it says is what was seen. */
const test = suite('safety page')

const ROW = /^\| (?:\*\*)?(.+?)(?:\*\*)? \| ([\w/-]+) \|$/gm
const rows = [...textOf('docs/safety.md').matchAll(ROW)].map(([, fact = '', file = '']) => ({ fact, file }))

/** As they stand in the source; what a template fills in is an ellipsis. */
function testsOf(path: string): string[] {
  const named = /(?:\btest\(|\bconst NAMED = )\s*(?:'([^'\n]+)'|`([^`\n]+)`)/g
  return [...textOf(path).matchAll(named)].map(([, plain, template]) =>
    (plain ?? template ?? '').replace(/\$\{[^}]+\}/g, '…'),
  )
}

test('every test that the page names is there by that name, in the file that it names', () => {
  assert.ok(rows.length > 40)
  const missing = rows.filter(({ fact, file }) => !testsOf(`test/${file}.test.ts`).includes(fact))
  assert.equal(missing, [])
})

test('every test of an attacker is on the page, once', () => {
  const attackers = filesIn(['test/front'], ['.test.ts']).filter(path =>
    /\/attacker[\w-]*\.test\.ts$/.test(path),
  )
  const there = attackers.flatMap(path => testsOf(path)).sort()
  const named = rows.filter(({ file }) => file.startsWith('front/attacker')).map(({ fact }) => fact)
  assert.ok(there.length > 30)
  assert.equal(named.sort(), there)
})

test('what succeeds is printed bold, and nothing else is', () => {
  const bold = [...textOf('docs/safety.md').matchAll(/^\| \*\*(.+)\*\* \|/gm)].map(([, fact = '']) => fact)
  assert.equal(
    bold,
    rows.filter(({ fact }) => / succeeds\b/.test(fact)).map(({ fact }) => fact),
  )
})
