import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { GENERATED } from './markdown.ts'

const TESTS = join(import.meta.dirname, '../../test')

/** A test that stands for something an attacker tries: by its name, and the file that it is in. */
export interface Attack {
  readonly fact: string
  readonly file: string
}

/** Every test of an attacker, and every other one whose name gives the number of a threat. */
export function attacks(): Attack[] {
  return readdirSync(TESTS, { recursive: true, encoding: 'utf8' })
    .filter(path => path.endsWith('.test.ts'))
    .sort()
    .flatMap(path =>
      testsOf(readFileSync(join(TESTS, path), 'utf8'))
        .filter(fact => /\/attacker[^/]*$/.test(path) || fact.includes('(threat '))
        .map(fact => ({ fact, file: path.replace(/\.test\.ts$/, '') })),
    )
}

/** An attack that has an effect nobody approved, or a hidden one. */
export const succeeds = ({ fact }: Attack) => / succeeds\b/.test(fact)

/** `docs/attacks.md`: what was tried against the gate, from the names of the tests that try it. */
export function attacksPage(): string {
  const all = attacks()
  const rest = all.filter(attack => !succeeds(attack))
  const files = [...new Set(rest.map(({ file }) => file))]
  return `${[
    '# What was tried against the gate',
    GENERATED,
    'Each line is the name of a test, which `npm test` runs; [safety.md](safety.md) says who the attacker is. ' +
      'An ellipsis stands for several cases.',
    '## What succeeds',
    lines(all.filter(succeeds).map(({ fact, file }) => `**${fact}** (\`${file}\`)`)),
    '## What does not',
    ...files.flatMap(file => [
      `### ${file}`,
      lines(rest.filter(attack => attack.file === file).map(({ fact }) => fact)),
    ]),
  ].join('\n\n')}\n`
}

/** Names of tests as they stand in the source; what a template fills in is an ellipsis. */
function testsOf(source: string): string[] {
  const named = /(?:\btest\(|\bconst NAMED = )\s*(?:'([^'\n]+)'|`([^`\n]+)`)/g
  return [...source.matchAll(named)].map(([, plain, template]) =>
    (plain ?? template ?? '').replace(/\$\{[^}]+\}/g, '…'),
  )
}

/** A list, whose text is nothing but text: an underscore or a bracket in a name marks nothing. */
function lines(facts: readonly string[]): string {
  return facts.map(fact => `- ${fact.replace(/[_[\]<]/g, '\\$&')}`).join('\n')
}
