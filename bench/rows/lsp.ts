import { type ChildProcess, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { type Editor, openEditor } from '../../test/support/editor.ts'
import { pause } from '../daemon.ts'
import { roundsFor, sharedGround } from '../ground.ts'
import { interleaved, median, percentile, type Row, ratio } from '../row.ts'

/** A program with 1,000 names in a dictionary, that listens. */
const PROGRAM = `import imago, threading
globals()['PRICES'] = {f'article {number}': number for number in range(1000)}
def total(order): return PRICES[order]
imago.listen('bench-shop')
threading.Event().wait()
`

let editor: Editor
let uri: string

const ground = sharedGround(async ({ env, folder }) => {
  const path = join(folder, 'shop.py')
  writeFileSync(path, PROGRAM)
  writeFileSync(join(folder, 'pyproject.toml'), '')
  const python = { ...env, PYTHONPATH: join(PACKAGE_ROOT, 'wire/peers/python') }
  const program: ChildProcess = spawn('python3', [path], { cwd: folder, env: python, stdio: 'ignore' })
  editor = await openEditor({ env, folder }, { roots: [folder] })
  uri = await editor.open(path)
  while ((await completed()) === 0) await pause(20)
  for (let warm = 0; warm < 200; warm++) await completed()
  return () => {
    editor.server.kill('SIGKILL')
    program.kill('SIGKILL')
  }
})

async function completed(): Promise<number> {
  const found = await editor.ask<{ items: unknown[] } | null>('completion', uri, 'return PRICES', 11)
  return found?.items.length ?? 0
}

const TEXT = 'def total(order): return PRI'

const taken = roundsFor(['p50', 'p99'], () =>
  interleaved({ blocks: 20, each: 50 }, completed, () =>
    ground.daemon.call('complete', {
      text: TEXT,
      kernel: 'bench-shop',
      file: join(ground.daemon.folder, 'shop.py'),
    }),
  ),
)

/** `figure` of the times through the language server, against that of those on the socket; both in microseconds. */
const completion = (
  name: 'p50' | 'p99',
  limit: number,
  figure: (times: readonly number[]) => number,
): Row => ({
  what: `completion through \`imago lsp\`, ${name}, against the bare socket`,
  how: 'a name that code has set in a loaded module, 1,000 times each in alternating blocks of 50: `textDocument/completion` to `imago lsp`, against `complete` on the socket of the daemon',
  bar: { relation: '≤', limit, unit: '×' },
  setUp: ground.setUp,
  tearDown: ground.tearDown,
  async measure() {
    const [ours = [], bare = []] = await taken(name)
    const [ours_us, bare_us] = [figure(ours), figure(bare)]
    return ratio(ours_us, bare_us, { ours_us, bare_us })
  },
})

export const lspCompletion = completion('p50', 1.6, median)

export const lspCompletionWorst = completion('p99', 2, times => percentile(times, 0.99))

let errors = 0

export const errorToDiagnostic: Row = {
  what: 'from an error of a program to its diagnostic in an editor',
  how: 'a thread of a Python program dies of another KeyError, 20 times; from its start to the notification of `imago lsp` that names it, median',
  bar: { relation: '≤', limit: 300, unit: 'ms' },
  setUp: ground.setUp,
  tearDown: ground.tearDown,
  async measure() {
    const times: number[] = []
    for (let round = 0; round < 20; round++) {
      // Each in a file of its own, so that it is none of those that came before.
      const name = `shop_${++errors}.py`
      const path = join(ground.daemon.folder, name)
      const code = `def total(order): return {}[order]\n`
      writeFileSync(path, code)
      const begun = performance.now()
      const expr = `exec(compile(${JSON.stringify(code)}, ${JSON.stringify(path)}, 'exec'), scope := {}); threading.Thread(target=scope['total'], args=(1,)).start()`
      await ground.daemon.call('eval_expr', { expr, kernel: 'bench-shop' })
      while (editor.diagnostics(pathToFileURL(path).href).length === 0) await pause(1)
      times.push(performance.now() - begun)
    }
    return { figure: median(times), parts: { median_ms: median(times), worst_ms: Math.max(...times) } }
  },
}
