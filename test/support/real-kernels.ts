import { mkdtempSync, realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Kernel } from '../../wire/kernel.ts'
import { openPrograms } from '../../wire/kernels/programs.ts'
import { launchPython } from '../../wire/kernels/python.ts'
import { launchWolfram } from '../../wire/kernels/wolfram.ts'
import { atEnd } from './endings.ts'
import { startProgram } from './program.ts'
import { mathicsPython } from './runtimes.ts'

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'imago-kernels-')))
const runtimeDir = join(folder, 'run')
const kills = new Set<() => void>()
atEnd(() => {
  for (const kill of kills) kill()
  kills.clear()
})

interface PythonOptions {
  /** The interpreter, where it is not the one on the path. */
  readonly python?: string
  readonly address?: 'unix' | 'tcp'
}

/** A Python that is started, and ends with this process. */
export async function ownedPython({ python, address = 'unix' }: PythonOptions = {}): Promise<Kernel> {
  const one = await launchPython({
    name: 'python',
    root: folder,
    env: { PATH: process.env.PATH ?? '', HOME: folder },
    runtimeDir,
    address,
    ...(python && { python }),
  })
  kills.add(() => one.kill())
  return one.kernel
}

interface WolframOptions {
  readonly formatterSeconds?: number
  /** What is named for it, where that is not Mathics3; undefined: nothing is. */
  readonly wolfram?: string | undefined
  /** As of `WolframSettings`. */
  readonly installed?: string
  readonly usual?: readonly string[]
  readonly doing?: (what: string) => void
}

/** A Mathics3 that is started, or what is named instead; it ends with this process. */
export async function ownedWolfram(settings: WolframOptions = {}): Promise<Kernel> {
  const one = await launchWolfram({
    name: 'wolfram',
    root: folder,
    env: { PATH: process.env.PATH ?? '', HOME: folder },
    runtimeDir,
    wolfram: mathicsPython,
    ...settings,
  })
  kills.add(() => one.kill())
  return one.kernel
}

/** A kernel of the `wstpserver` at that port of this machine, whose host ends with this process. */
export async function attachedWolfram(port: number): Promise<Kernel> {
  return openPrograms({ runtimeDir }).attach({
    name: 'wl',
    address: `wstp://127.0.0.1:${port}`,
    process: null,
    key: undefined,
    open: true,
    found: () => {},
    background: () => {},
    away: () => {},
  })
}

/** A Python program that was there before, and listens. */
export async function pythonProgram({ python, address = 'unix' }: PythonOptions = {}): Promise<Listening> {
  const name = `program-${kills.size}`
  const listen = address === 'tcp' ? 'port=0' : ''
  const program = await startProgram({ folder, runtimeDir, name, listen, ...(python && { python }) })
  kills.add(() => program.signal('SIGKILL'))
  return { pid: program.pid, runtimeDir }
}

/** A program, and where it has announced itself. */
export interface Listening {
  readonly pid: number
  readonly runtimeDir: string
}

/** A kernel in a program that listens. */
export async function attachedTo({ pid, runtimeDir }: Listening): Promise<Kernel> {
  const programs = openPrograms({ runtimeDir })
  const announced = programs.read().programs.find(program => program.pid === pid)
  if (announced === undefined) throw new Error('it has not announced itself')
  const { address, started } = announced
  return programs.attach({
    name: 'program',
    address,
    process: { pid, started, seen: true },
    key: undefined,
    open: false,
    found: () => {},
    background: () => {},
    away: () => {},
  })
}

export const attachedPython = async (options: PythonOptions = {}): Promise<Kernel> =>
  attachedTo(await pythonProgram(options))
