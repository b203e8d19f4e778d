import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findPaths, PACKAGE_ROOT } from '../../src/paths.ts'
import { languageNamed, pythonOfEngine } from '../../wire/languages.ts'
import { imago, withDaemon } from './house.ts'
import { Differs, out, type Step, take } from './steps.ts'

const FIND: readonly Step[] = [
  {
    says: 'A small package is loaded, and what it has defined is told.',
    tool: 'load_file',
    args: { path: 'parcels.wl' },
    expects: [/into parcels`/, /parcels`postage/],
  },
  {
    says: 'Two parcels of 400 grams should cost 580.',
    tool: 'eval_expr',
    args: { expr: 'quote[{400, 400}]' },
    expects: [/^1100$/m],
  },
  {
    says: 'What does the kernel really have? Reading evaluates nothing.',
    tool: 'symbol_definition',
    args: { symbols: 'parcels`quote, parcels`postage', includeContextDetails: true },
    expects: [/^# quote$/m, /Last @ Last\[Select\[rates/, /"parcels`Private`": \["rates"\]/],
  },
  {
    says: 'The rates are in order.',
    tool: 'inspect',
    args: { expr: 'parcels`Private`rates' },
    expects: [/\{\{500, 290\}, \{1000, 390\}, \{2000, 550\}\}/],
  },
  {
    says: 'Who counts on a postage?',
    tool: 'who_references',
    args: { name: 'postage' },
    expects: [/quote\[weights_List\]/],
  },
]

const RIGHT: readonly Step[] = [
  {
    says: '`Last` took the dearest of the rates that fit, and `First` was meant. The file is mended, and that name loaded.',
    tool: 'load_file',
    args: { path: 'parcels.wl', names: ['postage'] },
    expects: [/replaced: parcels`postage/],
  },
  { says: 'Now it is right.', tool: 'eval_expr', args: { expr: 'quote[{400, 400}]' }, expects: [/^580$/m] },
  {
    says: 'And what cannot be sent is an error with its name.',
    tool: 'eval_expr',
    args: { expr: 'quote[{400, 9000}]' },
    expects: [/Throw::nocatch: Uncaught Throw\["no parcel: 9000"\]/],
    ok: false,
  },
]

/** A package for Wolfram Language quotes too much. Its definitions are read, its fault found and mended, on Mathics3. */
export async function playWolfram(project: string, args: readonly string[]): Promise<void> {
  cpSync(join(PACKAGE_ROOT, 'examples/demos/parcels'), project, { recursive: true })
  writeFileSync(join(project, 'imago.toml'), '')
  const { configDir } = findPaths()
  mkdirSync(configDir, { recursive: true })
  writeFileSync(join(configDir, 'config.toml'), `[kernels]\nwolfram = ${JSON.stringify(findEngine(args))}\n`)
  try {
    out(`\n$ imago start wolfram\n${imago(project, 'start', 'wolfram')}`)
    await withDaemon(project, async client => {
      for (const step of FIND) await take(client, step)
      const file = join(project, 'parcels.wl')
      writeFileSync(file, readFileSync(file, 'utf8').replace('Last[Last[Select', 'Last[First[Select'))
      for (const step of RIGHT) await take(client, step)
    })
  } finally {
    imago(project, 'shutdown', '--force')
  }
}

/** That of `--python`, else of the user's own installation, else of the tests. */
function findEngine([option, named]: readonly string[]): string {
  if (option === '--python' && named !== undefined) return named
  const { IMAGO_STATE_DIR: _, ...env } = process.env
  const engine = languageNamed('wolfram')?.engine
  const places = [
    ...(engine === undefined ? [] : [pythonOfEngine(engine, findPaths(env).stateDir)]),
    join(PACKAGE_ROOT, '.test-runtimes/mathics/bin/python'),
  ]
  const found = places.find(path => existsSync(path))
  if (found === undefined) throw new Differs('there is no Mathics3 here; imago install wolfram brings it')
  return found
}
