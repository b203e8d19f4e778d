import { METHODS } from '../../src/front/methods.ts'
import { assert, suite } from '../support/harness.ts'
import { textOf } from '../support/imports.ts'

const test = suite('the page of the client protocol')
const page = textOf('docs/editor-protocol.md')

/** The names in the first column of each table whose head is `| Method | Params | Result |`. */
function documented(): string[] {
  const tables = page.split('| Method | Params | Result |\n|---|---|---|\n').slice(1)
  const rows = tables.flatMap(table => (table.split('\n\n')[0] ?? '').split('\n'))
  return rows.flatMap(row => [...(row.split('|')[1] ?? '').matchAll(/`(\w+)`/g)].map(([, name = '']) => name))
}

test('its tables have every method that the daemon has, and no other', () => {
  assert.equal([...new Set(documented())].sort(), [...METHODS].sort())
  assert.ok(METHODS.length > 20)
})

test('it says of every method what it takes', () => {
  const known = documented()
  // The second table has what needs a seat; the first only refers to it.
  for (const method of METHODS) assert.ok(known.includes(method), method)
  for (const method of ['answer', 'admit', 'plan', 'lift', 'acknowledge'])
    assert.is(known.filter(name => name === method).length, 2, method)
})
