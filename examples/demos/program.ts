import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { connectDaemon } from '../../src/front/client.ts'
import { findPaths, PACKAGE_ROOT } from '../../src/paths.ts'
import { playApproval } from './approved.ts'
import { out, type Step, take } from './steps.ts'

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

/**
 * Why is next(42) None? A kernel is started on a small program, three tools find its mistake, and a person approves the
 * change of its file. Another program may be named.
 */
export async function playProgram(project: string, [program]: readonly string[]): Promise<void> {
  const own = join(PACKAGE_ROOT, 'examples/demos/demo-program.py')
  copyFileSync(program ?? own, join(project, 'demo-program.py'))
  const client = await connectDaemon({
    name: 'imago demo',
    start: 'if-needed',
    root: project,
    paths: findPaths(),
  })
  try {
    const kernel = await client.request('start', { language: 'python', script: 'demo-program.py' })
    out(`$ imago start python --script demo-program.py\n${kernel.name}: ${kernel.implementation}\n`)
    for (const step of STEPS) await take(client, step)
    await playApproval(client, project)
  } finally {
    await client.request('shutdown', { when: 'always' })
    await client.ended
  }
}
