import { assert, suite } from './support/harness.ts'
import { filesIn, textOf } from './support/imports.ts'

/**
 * A test that covers a row of the tables of threats and faults says so at the end of its name: `(threat 18)`. A name
 * may carry several, each in parentheses of its own, so that looking for one finds it.
 */
const test = suite('rows')
const files = filesIn(['test'], ['.ts']).filter(path => path !== 'test/rows.test.ts')

/** The rows of the gate, and of those who are asked. */
const ROWS = {
  threat: [...range(1, 24), ...range(28, 30), ...range(32, 37)],
  fault: [7, ...range(9, 12), ...range(15, 23), ...range(25, 29), 31, 33],
} as const

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index)
}

/** Lines in which a mark stands in a string, as in the names of tests. */
const lines = files.flatMap(path =>
  textOf(path)
    .split('\n')
    .map((line, index) => ({ path: `${path}:${index + 1}`, line }))
    .filter(({ line }) => /['"`].*\b(?:threat|fault)s? \d/.test(line)),
)

for (const kind of ['threat', 'fault'] as const)
  test(`each ${kind} that the gate is built against is carried by the name of a test`, () => {
    const carried = new Set(
      lines.flatMap(({ line }) =>
        [...line.matchAll(new RegExp(`\\(${kind} (\\d+)\\)`, 'g'))].map(([, row]) => row),
      ),
    )
    assert.equal(
      ROWS[kind].filter(row => !carried.has(String(row))),
      [],
    )
  })

test('every mark of a row has the one form', () => {
  const others = lines.filter(({ line }) =>
    /\b(?:threat|fault)s? \d/.test(line.replace(/\((?:threat|fault) \d+\)/g, '')),
  )
  assert.equal(
    others.map(({ path }) => path),
    [],
  )
})
