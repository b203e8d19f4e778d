import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { emacsPaths } from '../support/runtimes.ts'
import { accompany, type Done } from './companion.ts'
import { type Result, runSuite, type Screen, type Target } from './suite.ts'

/**
 * `node --import tsx test/slime/table.ts [TARGET…]`, after `npm run build`: SLIME's own tests, without Imago and with
 * Imago at work in the same image, in turn, three times each. Prints what differs; when all targets ran, writes the
 * table of docs/slime.md. Exits 1 where a test came out otherwise with Imago than it did without.
 */
const ROUNDS = 3
const TARGETS: readonly Target[] = [
  'core',
  'repl',
  'presentations',
  'autodoc',
  'c-p-c',
  'enclosing-context',
  'fontifying-fu',
  'indentation',
  'macrostep',
  'mdot-fu',
  'parse',
]
const SCREENS: readonly Screen[] = ['batch', 'terminal']
const PAGE = join(import.meta.dirname, '../../docs/slime.md')

/** Of one test: what became of it in each round, without Imago and with it. */
interface Fate {
  readonly without: Result[]
  readonly beside: Result[]
}
type Fates = Map<string, Fate>

const wanted = process.argv.slice(2)
const targets = wanted.length === 0 ? TARGETS : TARGETS.filter(target => wanted.includes(target))
const all = new Map<string, Fates>()
const sum = { images: 0, calls: 0, faults: [] as string[] }

for (const target of targets)
  for (const screen of SCREENS) {
    const fates: Fates = new Map()
    all.set(`${target}, ${screen}`, fates)
    for (let round = 1; round <= ROUNDS; round++)
      for (const beside of [false, true]) {
        const { results, done } = await oneRun({ target, screen, beside })
        for (const [name, result] of results) {
          const fate = fates.get(name) ?? { without: [], beside: [] }
          fates.set(name, fate)
          fate[beside ? 'beside' : 'without'].push(result)
        }
        sum.images += done.images
        sum.calls += done.calls
        sum.faults.push(...done.faults)
        const counts = `${counted([...results.values()])}; ${done.calls} calls`
        process.stderr.write(`${target}, ${screen}, ${beside ? 'with' : 'without'}: ${counts}\n`)
      }
  }

const otherwise = [...all].flatMap(([what, fates]) =>
  [...fates].filter(([, fate]) => differs(fate)).map(([name, fate]) => `${what}: ${name}: ${shown(fate)}`),
)
for (const line of [...otherwise, ...sum.faults]) console.log(line)
if (wanted.length === 0) writePage()
process.exit(otherwise.length + sum.faults.length > 0 ? 1 : 0)

async function oneRun({
  target,
  screen,
  beside,
}: {
  readonly target: Target
  readonly screen: Screen
  readonly beside: boolean
}): Promise<{ results: Map<string, Result>; done: Done }> {
  const folder = mkdtempSync(join(tmpdir(), 'imago-suite-'))
  const [doors, ready] = [join(folder, 'doors'), join(folder, 'ready')]
  mkdirSync(doors)
  if (!beside) writeFileSync(ready, '')
  const companion = beside ? await accompany({ doors, ready }) : undefined
  try {
    const results = await runSuite({ target, screen, doors, ready })
    return { results, done: (await companion?.close()) ?? { images: 0, calls: 0, faults: [] } }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A test that comes out in two ways without Imago may come out in both with it; any other way is another way. */
function differs({ without, beside }: Fate): boolean {
  return beside.length !== without.length || beside.some(result => !without.includes(result))
}

function shown({ without, beside }: Fate): string {
  return `without ${without.join(' ')}; with ${beside.join(' ')}`
}

function counted(results: readonly Result[]): string {
  const count = (of: Result) => results.filter(result => result === of).length
  return `${count('passed')} / ${count('failed') + count('FAILED')} / ${count('skipped')}`
}

function writePage(): void {
  const page = readFileSync(PAGE, 'utf8')
  const [begin, end] = ['<!-- table.ts writes from here -->', '<!-- to here -->']
  const [before = '', rest = ''] = page.split(begin)
  const [, after = ''] = rest.split(end)
  writeFileSync(PAGE, `${before}${begin}\n\n${tables()}\n${end}${after}`)
}

function tables(): string {
  const rows = [...all].map(([what, fates]) => {
    const each = (of: keyof Fate) =>
      Array.from({ length: ROUNDS }, (_, round) =>
        counted([...fates.values()].flatMap(fate => fate[of][round] ?? [])),
      )
    const column = (of: keyof Fate) => [...new Set(each(of))].join(', ')
    const other = [...fates.values()].filter(differs).length
    return `| \`${what}\` | ${fates.size} | ${column('without')} | ${column('beside')} | ${other} |`
  })
  const odd = [...all].flatMap(([what, fates]) =>
    [...fates]
      .filter(([, { without, beside }]) => new Set([...without, ...beside, 'passed']).size > 1)
      .map(
        ([name, { without, beside }]) =>
          `| \`${what}\` | \`${name}\` | ${without.join(', ')} | ${beside.join(', ')} |`,
      ),
  )
  return [
    `${versions()}. ${ROUNDS} rounds of each, in turn.`,
    `Imago was attached to ${sum.images} images and made ${sum.calls} calls there.`,
    '',
    '| Tests | How many | Passed / failed / skipped without Imago | With Imago | Otherwise with Imago |',
    '|---|---|---|---|---|',
    ...rows,
    '',
    'All tests that did not pass in every run:',
    '',
    '| Tests | Test | Without Imago, each round | With Imago, each round |',
    '|---|---|---|---|',
    ...collapsed(odd),
    '',
  ].join('\n')
}

/** The tests of one name with a number, where all of them came out alike, are one row. */
function collapsed(rows: readonly string[]): string[] {
  const alike = new Map<string, string[]>()
  for (const row of rows) {
    const name = row.replace(/-\d+` \| (?=\w)/, '-N` | ')
    alike.set(name, [...(alike.get(name) ?? []), row])
  }
  return [...alike].flatMap(([name, each]) =>
    each.length === 1 ? each : name.replace('-N`', `-N\` (${each.length})`),
  )
}

function versions(): string {
  const { emacs, slime } = emacsPaths()
  const said = (command: string, ...args: string[]) =>
    spawnSync(command, args, { encoding: 'utf8' }).stdout.split('\n')[0] ?? ''
  const version = /^;; Version: (\S+)/m.exec(readFileSync(join(slime, 'slime.el'), 'utf8'))?.[1]
  return `${said(emacs, '--version')}, SLIME ${version}, ${said('sbcl', '--version')}`
}
