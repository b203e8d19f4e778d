import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { MAIN, type Rig } from './rig.ts'
import { venvPython } from './runtimes.ts'

/** A notebook without a window: a real IPython kernel, driven by its own client. */
export interface Notebook {
  /** Runs a cell, and resolves with all that it shows. */
  run(code: string): Promise<string>
  /** Begins a cell, and does not wait for it. */
  begin(code: string): Promise<void>
  /** Restarts the kernel, and resolves once it runs cells again. */
  restart(): Promise<void>
  close(): Promise<void>
}

/** The environment of a program in which `import imago` finds the Python side of this checkout. */
export const withImago = (rig: Rig) => ({ ...rig.env, PYTHONPATH: join(PACKAGE_ROOT, 'wire/peers/python') })

/** With `run` it is begun by `imago run`, and nothing in it loads Imago. */
export async function openNotebook(rig: Rig, name: string, { run = false } = {}): Promise<Notebook> {
  const driver = [venvPython, join(PACKAGE_ROOT, 'test/support/notebook.py')]
  const [program = '', ...args] = run ? [process.execPath, MAIN, 'run', '--', ...driver] : driver
  const child: ChildProcess & { stdin: NodeJS.WritableStream; stdout: NodeJS.ReadableStream } = spawn(
    program,
    args,
    {
      cwd: rig.project,
      env: { ...(run ? rig.env : withImago(rig)), JPY_SESSION_NAME: `/somewhere/${name}.ipynb` },
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
    restart: async () => void (await ask({ restart: true })),
    async close() {
      if (child.exitCode !== null) return
      child.stdin.end()
      await once(child, 'close')
    },
  }
}
