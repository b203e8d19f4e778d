import { assert, suite } from './support/harness.ts'
import { type Arrow, circlesIn, filesIn, importsOf, textOf } from './support/imports.ts'

/**
 * Who may import whom. A file belongs to the longest `layer` that its path begins with, may import its own layer,
 * and besides only what its row names; `node:` alone stands for all of Node that the row does not forbid.
 */
interface Row {
  readonly layer: string
  readonly may: readonly string[]
  /** Only with `import()`, so that whoever does not need it never loads it. */
  readonly lazily?: readonly string[]
  readonly packages: readonly string[]
  readonly never?: readonly string[]
}

const SOCKETS = ['node:net', 'node:tls', 'node:http', 'node:https', 'node:dgram', 'node:child_process']
const WIRE = [
  'wire/codec',
  'wire/link',
  'wire/kernels',
  'wire/swank',
  'wire/kernel.ts',
  'wire/contract',
  'wire/programs.ts',
  'wire/languages.ts',
  'wire/errors.ts',
  'wire/signal.ts',
  'wire/process-start.ts',
  'wire/bounded-file.ts',
  'wire/secret-file.ts',
  'wire/peer-folder.ts',
  'wire/cache-folder.ts',
]

const ROOMS = [
  'src/text',
  'src/journal',
  'src/files',
  'src/registry',
  'src/syntax',
  'src/sources',
  'src/policy',
  'src/kernels',
  'src/suspensions',
  'src/approvals',
  'src/calls',
]
const SMALL = ['src/clock.ts', 'src/sha256.ts']

/** A room of the daemon: it knows no socket and no front end. */
const room = (layer: string, may: readonly string[]): Row => ({
  layer,
  may: [
    ...may,
    ...SMALL,
    'tools',
    'wire/kernel.ts',
    'wire/programs.ts',
    'wire/languages.ts',
    'wire/errors.ts',
    'wire/signal.ts',
    'wire/invisible.ts',
    'wire/bounded-file.ts',
    'wire/secret-file.ts',
  ],
  packages: ['zod', 'p-timeout', 'smol-toml', 'node:'],
  never: SOCKETS,
})

/** A room of a far end in Python. Of its packages nothing is said: the standard library is large. */
const python = (layer: string, may: readonly string[] = []): Row => ({ layer, may, packages: [] })
const pythonFiles = (folder: string, names: string): string[] =>
  names.split(' ').map(name => `${folder}/${name}.py`)

const PEER = 'wire/peers/python/imago'
const LOOKING = `${PEER}/looking`
const ADAPTERS = `${LOOKING}/adapters`
/** What imports nothing of ours. */
const ALONE = pythonFiles(PEER, 'native sources redaction family mark version')
/** What is read from where it is stored, for adapters and all other looks. */
const STORED = pythonFiles(LOOKING, 'limits fields contents outcomes loaded')
/** What begins a kernel, and what a program calls to have one. */
const ENTRIES = pythonFiles(PEER, '__init__ __main__ boot kernel_process guest listening ipython run')
const WOLFRAM = 'wire/peers/wolfram/imago_wolfram'
const WSTP = pythonFiles(WOLFRAM, 'link wstp')

/** A kernel is built on looks, and looks on adapters; none of them knows what begins it. */
const PYTHON_ROOMS: readonly Row[] = [
  ...ALONE.map(file => python(file)),
  ...STORED.map(file => python(file, [...STORED, ...ALONE])),
  python(ADAPTERS, [...STORED, ...ALONE]),
  python(LOOKING, [ADAPTERS, ...STORED, ...ALONE]),
  // It runs beside the daemon, in no image.
  python(`${PEER}/compile_texts.py`, [LOOKING]),
  python(PEER, [LOOKING, ...STORED, ...ALONE]),
  ...ENTRIES.map(file => python(file, [...ENTRIES, PEER, LOOKING, ...STORED, ...ALONE])),
  ...WSTP.map(file => python(file, WSTP)),
  python(WOLFRAM, [...WSTP, `${PEER}/boot.py`, PEER, LOOKING, ...STORED, ...ALONE]),
]

const TABLE: readonly Row[] = [
  ...PYTHON_ROOMS,
  { layer: 'wire/errors.ts', may: [], packages: [] },
  { layer: 'wire/signal.ts', may: [], packages: [] },
  { layer: 'wire/invisible.ts', may: [], packages: [] },
  { layer: 'wire/languages.ts', may: [], packages: [] },
  { layer: 'wire/process-start.ts', may: [], packages: ['node:'] },
  { layer: 'wire/bounded-file.ts', may: [], packages: ['node:'] },
  { layer: 'wire/secret-file.ts', may: ['wire/bounded-file.ts', 'wire/errors.ts'], packages: ['node:'] },
  { layer: 'wire/cache-folder.ts', may: [], packages: ['node:'] },
  { layer: 'wire/peer-folder.ts', may: ['wire/errors.ts'], packages: ['node:'] },
  { layer: 'wire/kernel.ts', may: ['wire/contract', 'wire/signal.ts'], packages: [] },
  { layer: 'wire/programs.ts', may: ['wire/kernel.ts'], packages: [] },
  { layer: 'wire/contract', may: ['wire/signal.ts'], packages: ['zod'] },
  { layer: 'wire/codec', may: ['wire/errors.ts'], packages: ['msgpackr', 'node:buffer', 'node:module'] },
  { layer: 'wire/link', may: ['wire/codec', 'wire/errors.ts', 'wire/signal.ts'], packages: ['node:'] },
  {
    layer: 'wire/swank',
    may: [
      'wire/errors.ts',
      'wire/invisible.ts',
      'wire/signal.ts',
      'wire/peer-folder.ts',
      'wire/cache-folder.ts',
    ],
    packages: ['node:'],
  },
  { layer: 'wire/kernels', may: WIRE, packages: ['zod', 'node:'] },
  {
    layer: 'tools',
    may: ['wire/kernel.ts', 'wire/invisible.ts', 'wire/signal.ts'],
    packages: ['zod', 'diff'],
  },
  // The rooms of the daemon: an arrow leads from a room to those before it, and never back.
  { layer: 'src/clock.ts', may: [], packages: ['node:'], never: SOCKETS },
  { layer: 'src/sha256.ts', may: [], packages: ['node:'], never: SOCKETS },
  room('src/text', []),
  room('src/journal', []),
  room('src/files', []),
  room('src/registry', ['src/text']),
  room('src/syntax', ['src/registry']),
  room('src/sources', []),
  room('src/policy', ['src/text', 'src/journal', 'src/files', 'src/registry']),
  room('src/kernels', ['src/text', 'src/files', 'wire/process-start.ts']),
  room('src/suspensions', ['src/text', 'src/journal', 'src/kernels']),
  room('src/approvals', ['src/text', 'src/journal', 'src/files']),
  room('src/calls', [
    'src/text',
    'src/journal',
    'src/files',
    'src/registry',
    'src/policy',
    'src/kernels',
    'src/suspensions',
    'src/approvals',
  ]),
  // What a process needs before it is a client or the daemon: paths, configuration, the log.
  {
    layer: 'src',
    may: [
      'src/journal',
      'src/files',
      'src/syntax',
      'tools',
      'wire/errors.ts',
      'wire/process-start.ts',
      'wire/bounded-file.ts',
      'wire/cache-folder.ts',
    ],
    packages: ['zod', 'smol-toml', 'pino', 'node:'],
  },
  // The agent: loaded by nothing but `imago ask` and `imago runs`. It reaches the daemon as a client alone, and a model by HTTP.
  {
    layer: 'src/agent',
    may: [
      'src',
      'src/clock.ts',
      'src/registry',
      'src/syntax',
      'tools',
      'wire/errors.ts',
      'wire/secret-file.ts',
    ],
    packages: ['@ai-sdk/provider', '@ai-sdk/anthropic', '@ai-sdk/openai-compatible', 'zod', 'node:'],
    never: SOCKETS.filter(name => !/^node:https?$/.test(name)),
  },
  {
    layer: 'src/front',
    may: [
      'src',
      'src/agent',
      ...ROOMS,
      ...SMALL,
      'tools',
      'wire/bounded-file.ts',
      'wire/invisible.ts',
      'wire/process-start.ts',
      'wire/link',
      'wire/codec',
      'wire/kernel.ts',
      'wire/languages.ts',
      'wire/errors.ts',
      'wire/signal.ts',
      'wire/secret-file.ts',
    ],
    packages: [
      'zod',
      'p-timeout',
      '@modelcontextprotocol/server',
      'diff',
      'jsonc-parser',
      'smol-toml',
      'node:',
    ],
    lazily: ['src/terminal', 'src/front/lsp'],
  },
  // The language server: loaded by nothing but `imago lsp`.
  {
    layer: 'src/front/lsp',
    may: ['src', ...ROOMS, 'src/front', 'tools', 'wire/kernel.ts', 'wire/errors.ts', 'wire/languages.ts'],
    packages: ['vscode-languageserver', 'node:'],
  },
  // Loaded by a daemon that takes WebSockets.
  {
    layer: 'src/front/web.ts',
    may: ['src', 'src/journal', 'src/front', 'wire/codec', 'wire/link'],
    packages: ['ws', 'node:'],
  },
  // What a browser runs: of the daemon it knows the types of its protocol, how hunks are decided, and the words of plans.
  {
    layer: 'src/page',
    may: ['src/front', 'src/text', 'tools', 'wire/kernel.ts', 'wire/invisible.ts'],
    packages: ['preact'],
  },
  // The console and the desk: loaded by nothing but a person's terminal.
  {
    layer: 'src/terminal',
    may: [
      'src',
      ...ROOMS,
      ...SMALL,
      'src/front',
      'tools',
      'wire/kernel.ts',
      'wire/languages.ts',
      'wire/errors.ts',
    ],
    packages: [
      '@lezer/common',
      '@lezer/highlight',
      '@lezer/python',
      'diff',
      'get-east-asian-width',
      'zod',
      'node:',
    ],
  },
  {
    layer: 'src/daemon',
    may: ['src', ...ROOMS, ...SMALL, 'src/front', 'tools', ...WIRE],
    lazily: ['src/front/web.ts'],
    packages: ['zod', 'p-timeout', 'pino', 'node:'],
  },
  // The extension of VS Code: of ours only types, and the marks of what cannot be seen. What it decides knows no editor.
  {
    layer: 'editors/vscode/src',
    may: ['src/front', 'src/text', 'tools', 'wire/kernel.ts'],
    packages: ['node:crypto'],
  },
  {
    layer: 'editors/vscode/src/editor',
    may: ['editors/vscode/src', 'src/files', 'src/front', 'src/text'],
    packages: ['vscode', 'vscode-languageclient', 'node:fs', 'node:os', 'node:path'],
  },
  { layer: 'src/main.ts', may: ['src', 'src/front'], lazily: ['src/daemon'], packages: ['node:'] },
]

const test = suite('layers')

test('no import in wire, tools, src or an editor goes against the table', () => {
  const files = filesIn(
    ['wire', 'tools', 'src', 'editors/vscode/src'],
    ['.ts', '.tsx', '.mts', '.js', '.mjs'],
  )
  assert.ok(files.length > 20)
  const arrows = files.flatMap(path => importsOf(path, textOf(path)))
  assert.ok(arrows.length > files.length)
  assert.equal(arrows.map(fault).filter(Boolean), [])
})

test('no file can be reached from itself by its imports, type-only ones included', () => {
  const files = filesIn(['wire', 'tools', 'src'], ['.ts', '.mts', '.js', '.mjs'])
  assert.equal(circlesIn(files.flatMap(path => importsOf(path, textOf(path)))), [])
})

test('no import of a Python peer goes against the table, and none goes in a circle', () => {
  const files = filesIn([PEER, WOLFRAM], ['.py'])
  const arrows = files.flatMap(path => importsOf(path, textOf(path))).filter(({ to }) => to.includes('/'))
  assert.ok(arrows.length > 3 * files.length)
  assert.equal(arrows.map(fault).filter(Boolean), [])
  assert.equal(circlesIn(arrows), [])
})

test('what a browser runs takes nothing from the daemon but types, how hunks are decided, and the words of plans', () => {
  const files = filesIn(['src/page'], ['.ts', '.tsx'])
  const ours = files.flatMap(
    path => textOf(path).match(/^(?:import|export)\b[^']*'\.\.\/front\/[^']*'/gm) ?? [],
  )
  assert.ok(ours.length > 2)
  const meant =
    /^import type [^']*'\.\.\/front\/protocol\.ts'$|'\.\.\/front\/(?:hunks\/decisions|seat\/plan-text)\.ts'$/
  for (const line of ours) assert.match(line, meant)
})

test('whether a person is at a client is asked in one file for operations, and in one for the gate of calls', () => {
  const asks = filesIn(['src'], ['.ts']).filter(path =>
    /\bawait isPerson\(|\bisPerson\?\.\(|\.isPerson\(/.test(textOf(path)),
  )
  assert.equal(asks.sort(), ['src/calls/caller-kernels.ts', 'src/front/authority.ts'])
})

test('a circle of imports is found', () => {
  const texts = {
    'src/a.ts': "import './b.ts'",
    'src/b.ts': "import type { C } from './c.ts'",
    'src/c.ts': "type A = import('./a.ts').A",
  }
  const arrows = Object.entries(texts).flatMap(([path, text]) => importsOf(path, text))
  assert.equal(circlesIn(arrows), [['src/a.ts', 'src/b.ts', 'src/c.ts']])
})

test('a file belongs to the longest layer that its path begins with', () => {
  assert.is(rowOf('src/daemon.ts')?.layer, 'src/daemon')
  assert.is(rowOf('src/paths.ts')?.layer, 'src')
  assert.is(rowOf('src/calls/run.ts')?.layer, 'src/calls')
  assert.is(rowOf('wire/kernels/open.ts')?.layer, 'wire/kernels')
  assert.is(rowOf('test/run.ts'), undefined)
})

const PLANTED: readonly (readonly [kind: string, path: string, text: string])[] = [
  ['a type-only import', 'tools/x.ts', "import type { Link } from '../wire/link/link.ts'"],
  ['a re-export', 'wire/codec/x.ts', "export { openLink } from '../link/link.ts'"],
  [
    'an import over several lines',
    'src/calls/x.ts',
    "import {\n  launch,\n} from '../../wire/kernels/launch.ts'",
  ],
  ['a dynamic import', 'src/front/x.ts', "const daemon = await import('../daemon.ts')"],
  ['a require', 'wire/codec/x.ts', "const net = require('node:net')"],
  ['a half-computed import', 'src/calls/x.ts', 'await import(`./' + '$' + '{name}.ts`)'],
  ['a socket in the core', 'src/calls/x.ts', "import { connect } from 'node:net'"],
  [
    'a part of a package of another layer',
    'tools/x.ts',
    "import { serve } from '@modelcontextprotocol/server/stdio'",
  ],
  ['the daemon loaded at once', 'src/main.ts', "import { openDaemon } from './daemon.ts'"],
  ['a look that knows the kernel', `${LOOKING}/x.py`, 'from imago.evaluator import Evaluator'],
  ['an adapter that knows other looks', `${ADAPTERS}/x.py`, 'from imago.looking import (\n    display,\n)'],
  ['an import within a function', `${PEER}/x.py`, 'def f():\n    import os, imago.boot'],
  ['a file outside all layers', 'src/main.ts', "import { suite } from '../test/support/harness.ts'"],
]

for (const [kind, path, text] of PLANTED)
  test(`${kind} against the table is found`, () => {
    const ours = importsOf(path, text).filter(({ to }) => to !== 'os')
    const faults = ours.map(fault).filter(Boolean)
    assert.is(faults.length, 1, String(faults))
  })

test('imports with the table are not reported', () => {
  const good = [
    ...importsOf('src/main.ts', "await import('./daemon.ts')"),
    ...importsOf('tools/x.ts', "import type { Kernel } from '../wire/kernel.ts'\nimport { z } from 'zod'"),
    ...importsOf('src/calls/x.ts', "export * from './call.ts'\nimport { readFileSync } from 'node:fs'"),
  ]
  assert.is(good.length, 5)
  assert.equal(good.map(fault).filter(Boolean), [])
})

/** What is wrong with an import, if anything. */
function fault(arrow: Arrow): string | undefined {
  const row = rowOf(arrow.from)
  const said = `${arrow.from} → ${arrow.to}`
  if (row === undefined) return `${said}: ${arrow.from} is in no layer`
  const { layer, may, lazily = [], packages, never = [] } = row
  const target = rowOf(arrow.to)?.layer
  if (target !== undefined) {
    if (target === layer || may.includes(target) || (arrow.lazy && lazily.includes(target))) return undefined
    return `${said}: ${layer} may not import ${target}`
  }
  const named = packages.includes(arrow.to) || (packages.includes('node:') && arrow.to.startsWith('node:'))
  return named && !never.includes(arrow.to) ? undefined : `${said}: not a package of ${layer}`
}

function rowOf(path: string): Row | undefined {
  return TABLE.filter(({ layer }) => within(path, layer)).sort(
    (one, other) => other.layer.length - one.layer.length,
  )[0]
}

function within(path: string, layer: string): boolean {
  return path === layer || path.startsWith(`${layer}/`) || path === `${layer}.ts`
}
