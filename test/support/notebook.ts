import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import type { Rig } from './rig.ts'
import { venvPython } from './runtimes.ts'

/** A notebook without a window: a real IPython kernel, driven by its own client. */
export interface Notebook {
  /** Runs a cell, and resolves with all that it shows. */
  run(code: string): Promise<string>
  /** Begins a cell, and does not wait for it. */
  begin(code: string): Promise<void>
  close(): Promise<void>
}

/** The environment of a program in which `import imago` finds the Python side of this checkout. */
export const withImago = (rig: Rig) => ({ ...rig.env, PYTHONPATH: join(PACKAGE_ROOT, 'wire/peers/python') })

export async function openNotebook(rig: Rig, name: string): Promise<Notebook> {
  const child: ChildProcess & { stdin: NodeJS.WritableStream; stdout: NodeJS.ReadableStream } = spawn(
    venvPython,
    [join(PACKAGE_ROOT, 'test/support/notebook.py')],
    {
      cwd: rig.project,
      env: { ...withImago(rig), JPY_SESSION_NAME: `/somewhere/${name}.ipynb` },
      stdio: ['pipe', 'pipe', 'ignore'],
    },
  )
  const answers = createInterface({ input: child.stdout })
  const ask = async (request: object): Promise<{ text?: string }> => {
    child.stdin.write(`${JSON.stringify(request)}\n`)
    const [line] = await once(answers, 'line')
    return JSON.parse(line)
  }
  return {
    run: async code => (await ask({ run: code })).text ?? '',
    begin: async code => void (await ask({ begin: code })),
    async close() {
      if (child.exitCode !== null) return
      child.stdin.end()
      await once(child, 'close')
    },
  }
}
