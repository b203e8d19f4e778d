import { readFileSync, writeFileSync } from 'node:fs'
import { arch, cpus, platform, totalmem } from 'node:os'
import { join } from 'node:path'
import { median, type Round, type Row } from './row.ts'
import { ROWS } from './rows/index.ts'

/**
 * `npm run bench [WORD…]`: five rounds of every row whose text contains one of the words, interleaved, each beside its
 * reference in the same round. Prints the table and writes `bench/results.json`, where rows that did not run stay as they were.
 */
const ROUNDS = 5
const words = process.argv.slice(2)
const wanted = ROWS.filter(row => words.length === 0 || words.some(word => row.what.includes(word)))
const rows = wanted.filter(row => row.lack?.() === undefined)
const rounds = new Map<Row, Round[]>(rows.map(row => [row, []]))

for (const row of rows) await row.setUp?.()
try {
  for (let round = 1; round <= ROUNDS; round++)
    for (const [row, done] of rounds) {
      done.push(await row.measure())
      process.stderr.write(
        `round ${round} of ${ROUNDS}: ${row.what}: ${done.at(-1)?.figure.toPrecision(3)}\n`,
      )
    }
} finally {
  for (const row of rows) await row.tearDown?.()
}

const results = rows.map(row => summary(row, rounds.get(row) ?? []))
for (const { what, figure, unit, bar, met } of results) {
  const verdict = met === null ? 'told' : met ? 'met ' : 'MISS'
  console.log(`${verdict}  ${what}: ${figure} ${unit}${bar === null ? '' : ` (bar ${bar})`}`)
}
for (const row of wanted) {
  const lack = row.lack?.()
  if (lack !== undefined) console.log(`none  ${row.what}: not run here: ${lack}`)
}
const machine = { node: process.version, cores: cpus().length, memory_gb: Math.round(totalmem() / 2 ** 30) }
const path = join(import.meta.dirname, 'results.json')
const before: readonly { readonly what: string }[] = JSON.parse(readFileSync(path, 'utf8')).rows
const file = {
  ...machine,
  system: `${platform()} ${arch()}`,
  rows: ROWS.flatMap(({ what }) => [...results, ...before].find(row => row.what === what) ?? []),
}
writeFileSync(path, `${JSON.stringify(file, null, 2)}\n`)
process.exit(0)

function summary(row: Row, done: readonly Round[]) {
  const figures = done.map(round => round.figure)
  const figure = Number(median(figures).toPrecision(3))
  return {
    what: row.what,
    how: row.how,
    figure,
    unit: row.bar.unit,
    ...held(figure, row.bar),
    lowest: Number(Math.min(...figures).toPrecision(3)),
    highest: Number(Math.max(...figures).toPrecision(3)),
    parts: medians(done),
    taken: new Date().toISOString().slice(0, 10),
  }
}

/** The bar as the table shows it, and whether it is met; nothing where none is set. */
function held(figure: number, bar: Row['bar']) {
  switch (bar.relation) {
    case 'stated':
      return { bar: null, met: null }
    case '≤':
      return { bar: `≤ ${bar.limit}`, met: figure <= bar.limit }
    case '≥':
      return { bar: `≥ ${bar.limit}`, met: figure >= bar.limit }
    default:
      return bar satisfies never
  }
}

function medians(done: readonly Round[]): Record<string, number> {
  const names = Object.keys(done[0]?.parts ?? {})
  return Object.fromEntries(
    names.map(name => [
      name,
      Number(median(done.map(round => round.parts[name] ?? Number.NaN)).toPrecision(3)),
    ]),
  )
}
