import { attacks, attacksPage, succeeds } from '../docs/pages/attacks.ts'
import { assert, suite } from './support/harness.ts'
import { filesIn } from './support/imports.ts'

/** docs/attacks.md is a list of tests by their names, so that what it says is what was seen. */
const test = suite('safety pages')

const page = attacksPage()

test('every test of an attacker is on the page', () => {
  const attackers = filesIn(['test/front'], ['.test.ts']).filter(path =>
    /\/attacker[\w-]*\.test\.ts$/.test(path),
  )
  const named = new Set(attacks().map(({ file }) => `test/${file}.test.ts`))
  assert.ok(attackers.length > 5)
  assert.equal(
    attackers.filter(path => !named.has(path)),
    [],
  )
  assert.ok(attacks().length > 300)
})

test('what succeeds is printed bold, and nothing else is', () => {
  const bold = [...page.matchAll(/^- \*\*(.+)\*\*/gm)].map(([, fact = '']) => fact)
  assert.ok(bold.length > 20)
  assert.is(bold.length, attacks().filter(succeeds).length)
})
