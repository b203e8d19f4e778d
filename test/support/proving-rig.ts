import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SYSTEM_CLOCK } from '../../src/clock.ts'
import { openSources, type SourcesOptions } from '../../src/sources/sources.ts'
import type { Definitions } from '../../tools/definition.ts'
import type { Kernel } from '../../wire/kernel.ts'
import { openCompiler } from '../../wire/kernels/compiler.ts'
import { openCommits } from '../../wire/kernels/git-commits.ts'
import { type CallsRig, openCallsRig, resultOf } from './calls-rig.ts'
import { ownedPython } from './real-kernels.ts'

/** A function of a module, the same lines further down, and another text of it there. */
export const PRICE = 'def price(order):\n    return order.total * 2\n'
export const MOVED = `import os\n\n\n${PRICE}`
export const EDITED = 'import os\n\n\ndef price(order):\n    return order.total * 3\n'

/** A Python image that imports modules from a folder of its own, and what is proved of their sources. */
export interface ProvingRig {
  readonly folder: string
  readonly kernel: Kernel
  readonly rig: CallsRig
  /** What the image came to. */
  run(expr: string): Promise<Record<string, unknown>>
  /** The facts of a symbol, with the text that is shown of it. */
  defined(
    symbol: string,
    args?: object,
  ): Promise<
    Extract<Definitions['symbols'][number], { ok: true }> & { markdown: string; source: string | null }
  >
  close(): Promise<void>
}

/** `compiled` is awaited after each text that was compiled. */
export async function openProvingRig({
  replaced = () => [],
  compiled = async () => {},
}: {
  readonly replaced?: SourcesOptions['replaced']
  compiled?(): Promise<void>
} = {}): Promise<ProvingRig> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'imago-sources-')))
  const compiler = openCompiler()
  const kernel = await ownedPython()
  const sources = openSources({
    compile: async request => {
      const found = await compiler.compile(request)
      await compiled()
      return found
    },
    replaced,
    committed: openCommits(),
  })
  const kernels = { resolve: async () => ({ name: 'python', kernel }) }
  const rig = openCallsRig({ options: { kernels, sources, clock: SYSTEM_CLOCK, lookMs: 15_000 } })
  const run = async (expr: string) => resultOf(await rig.run('eval_expr', { expr }))
  await run(
    `import sys, importlib; sys.path.insert(0, ${JSON.stringify(folder)}); sys.dont_write_bytecode = True`,
  )
  return {
    folder,
    kernel,
    rig,
    run,
    async defined(symbol, args = {}) {
      const { markdown, symbols } = resultOf(
        await rig.run('symbol_definition', { symbols: [symbol], ...args }),
      ) as unknown as Definitions
      const [facts] = symbols
      if (facts?.ok !== true) throw new Error(JSON.stringify(facts))
      const source = /\n```python\n([\s\S]*?)\n```/.exec(markdown)?.[1] ?? null
      return { ...facts, markdown, source }
    },
    async close() {
      compiler.close()
      await rig.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
