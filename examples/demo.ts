/**
 * `npm run demo`: why is next(42) None? A daemon and a Python kernel are started in a temporary project, a small
 * program is loaded, and three tools find its mistake. Every step is a real call; one that differs from what it
 * should be ends the demo with exit code 1. Another program may be given as an argument.
 */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectDaemon, type DaemonClient } from '../src/front/client.ts'
import { openPrinter } from '../src/front/terminal.ts'
import { findPaths, PACKAGE_ROOT } from '../src/paths.ts'
import type { Envelope } from '../tools/outcome.ts'

interface Step {
  readonly says: string
  readonly tool: string
  readonly args: Readonly<Record<string, unknown>>
  /** What the answer must show, and what it must not. */
  readonly expects: readonly RegExp[]
  readonly ok?: boolean
}

const STEPS: readonly Step[] = [
  {
    says: 'next(42) should be 43. What is it?',
    tool: 'eval_expr',
    args: { expr: 'next(42)' },
    expects: [/^None$/m],
  },
  {
    says: 'What does this program define? (Nothing runs to tell.)',
    tool: 'list_globals',
    args: {},
    expects: [/\bnext\b.*function/, /\bscores\b.*dict/],
  },
  {
    says: 'So `next` is not the builtin one. What is it, and what does its source say?',
    tool: 'inspect',
    args: { expr: 'next' },
    expects: [/def next\(x\):/, /x \+ 1/, /demo-program\.py/],
  },
  {
    says: 'It calculates x + 1 and returns nothing. The builtin behaves otherwise:',
    tool: 'eval_expr',
    args: { expr: '__import__("builtins").next(iter([42]))' },
    expects: [/^42$/m],
  },
  {
    says: 'Define it again, with its `return`. (The file stays as it is.)',
    tool: 'eval_expr',
    args: { expr: 'def next(x):\n    """The number after x."""\n    return x + 1' },
    expects: [/no value/],
  },
  {
    says: 'And now, in the same image, with everything else that was loaded:',
    tool: 'eval_expr',
    args: { expr: '(next(42), scores["ada"])' },
    expects: [/\(43, 41\)/],
  },
  {
    says: 'What goes wrong is told as well as what goes right:',
    tool: 'eval_expr',
    args: { expr: 'next("forty-two")' },
    expects: [/^exception: TypeError/, /return x \+ 1/],
    ok: false,
  },
]

const folder = mkdtempSync(join(tmpdir(), 'imago-demo-'))
const project = join(folder, 'project')
const { out } = openPrinter()
try {
  process.exitCode = await demo()
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function demo(): Promise<number> {
  mkdirSync(project)
  copyFileSync(
    process.argv[2] ?? join(PACKAGE_ROOT, 'examples/demo-program.py'),
    join(project, 'demo-program.py'),
  )
  Object.assign(process.env, {
    IMAGO_RUNTIME_DIR: join(folder, 'run'),
    IMAGO_STATE_DIR: join(folder, 'state'),
    IMAGO_CONFIG_DIR: join(folder, 'config'),
  })
  const client = await connectDaemon({
    name: 'imago demo',
    start: 'if-needed',
    root: project,
    paths: findPaths(),
  })
  try {
    const kernel = await client.request('start', { language: 'python', script: 'demo-program.py' })
    out(`$ imago start python --script demo-program.py\n${kernel.name}: ${kernel.implementation}\n`)
    for (const step of STEPS) if (!(await taken(client, step))) return 1
    out('\nEverything was as expected.\n')
    return 0
  } finally {
    await client.request('shutdown', { when: 'always' })
    await client.ended
  }
}

/** Makes one call, shows it as a model sees it, and compares. */
async function taken(client: DaemonClient, { says, tool, args, expects, ok = true }: Step): Promise<boolean> {
  out(`\n# ${says}\n> ${tool} ${JSON.stringify(args)}\n`)
  const envelope: Envelope = await client.call({ tool, args })
  const { text } = await client.request('show', { tool, envelope })
  out(`${text}\n`)
  const missing = expects.filter(expected => !expected.test(text))
  if (envelope.ok === ok && missing.length === 0) return true
  out(
    `\nThis differs: expected ${ok ? 'success' : 'a failure'} that shows ${expects.map(String).join(' and ')}.\n`,
  )
  return false
}
