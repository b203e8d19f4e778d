import { type ChildProcess, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { atEnd } from './endings.ts'
import { until } from './rig.ts'

/** A real Python program of the user's, which listens. */
export interface Program {
  readonly pid: number
  readonly address: string
  /** All that it has printed by itself since it began to listen, on either stream. */
  printed(): string
  /** Resolves once it has ended, however it did. */
  readonly ended: Promise<void>
  signal(name: NodeJS.Signals): void
}

export interface ProgramOptions {
  /** Where it runs. Its file is written there. */
  readonly folder: string
  readonly runtimeDir: string
  /** What it is called; its file is `NAME.py`. */
  readonly name?: string
  /** What stands between the parentheses of `imago.listen`. */
  readonly listen?: string
  /** What it does before it listens: imports, names. It then waits until it is killed. */
  readonly source?: string
  readonly env?: Readonly<Record<string, string>>
  readonly python?: string
}

const begun = new Set<ChildProcess>()
atEnd(() => {
  for (const child of begun) child.kill('SIGKILL')
})

/** Starts one, and waits until it listens. */
export async function startProgram(options: ProgramOptions): Promise<Program> {
  const { folder, runtimeDir, name = 'web', listen = '', source = '', env = {}, python = 'python3' } = options
  const file = join(folder, `${name}.py`)
  // It gives itself no names, so that at its top level there is what `source` defines and nothing else.
  const rest = `print(__import__('imago').listen(${listen}).address, flush=True)\n__import__('threading').Event().wait()\n`
  writeFileSync(file, `${source}\n${rest}`)
  const child = spawn(python, [file], {
    cwd: folder,
    env: {
      PATH: process.env.PATH ?? '',
      HOME: folder,
      PYTHONPATH: join(PACKAGE_ROOT, 'wire/peers/python'),
      IMAGO_RUNTIME_DIR: runtimeDir,
      IMAGO_STATE_DIR: join(dirname(runtimeDir), 'state'),
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  begun.add(child)
  let printed = ''
  const hear = (data: Buffer) => {
    printed += data.toString()
  }
  child.stdout.on('data', hear)
  child.stderr.on('data', hear)
  const ended = new Promise<void>(resolve => {
    child.once('exit', () => {
      begun.delete(child)
      resolve()
    })
  })
  await until(() => {
    if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode}: ${printed}`)
    return printed.includes('\n')
  }, `${name} to listen`)
  const [address = ''] = printed.split('\n')
  const said = printed.indexOf('\n') + 1
  return {
    pid: child.pid ?? 0,
    address,
    ended,
    printed: () => printed.slice(said),
    signal: signal => void child.kill(signal),
  }
}
