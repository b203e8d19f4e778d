import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'

const RESULTS = z.object({
  node: z.string(),
  cores: z.number(),
  memory_gb: z.number(),
  system: z.string(),
  rows: z.array(
    z.object({
      what: z.string(),
      how: z.string(),
      figure: z.number(),
      unit: z.string(),
      /** Both are `null` where the row is stated and held to nothing. */
      bar: z.string().nullable(),
      met: z.boolean().nullable(),
      lowest: z.number(),
      highest: z.number(),
      parts: z.record(z.string(), z.number()),
      /** The day. */
      taken: z.string(),
    }),
  ),
})
type Row = z.infer<typeof RESULTS>['rows'][number]

/** `docs/performance.md`: the last results of `npm run bench`, each bar said to be met or missed. */
export function performancePage(): string {
  const results = RESULTS.parse(
    JSON.parse(readFileSync(join(import.meta.dirname, '../../bench/results.json'), 'utf8')),
  )
  const { node, cores, memory_gb, system, rows } = results
  const held = rows.filter(row => row.met !== null)
  const missed = held.filter(row => !row.met).length
  return `${[
    '# Performance',
    '<!-- Made by docs/generate.ts from bench/results.json: run npm run bench, then npm run docs. -->',
    `Taken with Node ${node} on ${cores} shared cores and ${memory_gb} GB (${system}). ` +
      `${held.length - missed} of ${held.length} bars were met${missed === 0 ? '.' : `, and ${missed} missed.`} ` +
      'The machine is noisy: ratios within one run say more than figures, and the range of the five rounds is given.',
    'To repeat: `npm ci`, `node test/setup.mjs`, `npm run bench`. A word after it runs the rows that contain it.',
    '| What | Median of 5 | Range | Bar | | Taken |',
    '| --- | --- | --- | --- | --- | --- |',
  ]
    .join('\n\n')
    .replace('Taken |\n\n| ---', 'Taken |\n| ---')}
${rows.map(line).join('\n')}

## How each was measured

${rows.map(detail).join('\n')}
`
}

function line({ what, figure, unit, lowest, highest, bar, met, taken }: Row): string {
  const verdict = bar === null ? 'none | stated' : `${bar} ${unit} | ${met ? 'met' : '**missed**'}`
  return `| ${what} | ${figure} ${unit} | ${lowest} to ${highest} | ${verdict} | ${taken} |`
}

function detail({ what, how, parts }: Row): string {
  const medians = Object.entries(parts).map(([name, value]) => `\`${name}\` ${value}`)
  return `- **${what}**: ${how}. Medians: ${medians.join(', ')}.`
}
