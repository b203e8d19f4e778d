import { execFileSync, spawn } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { mathicsPython } from '../../test/support/runtimes.ts'

/** A session of Mathics3 in a Python of its own, with nothing of ours in it. */
export interface BareMathics {
  /** Microseconds of so many evaluations of `1+2`, one after another. */
  times(count: number): Promise<number[]>
  close(): void
}

/** Resolves once it has evaluated `1+2` for the first time. */
export async function openBareMathics(): Promise<BareMathics> {
  const script = join(import.meta.dirname, 'mathics_loop.py')
  const child = spawn(mathicsPython, ['-I', script], { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const line = async () => {
    const { value, done } = await lines.next()
    if (done) throw new Error('the bare session of Mathics3 ended')
    return value
  }
  const first = await line()
  if (first !== '3') throw new Error(`the bare session of Mathics3 says ${first}`)
  return {
    async times(count) {
      child.stdin.write(`${count}\n`)
      return JSON.parse(await line()) as number[]
    },
    close: () => void child.stdin.end(),
  }
}

/** A copy of the environment of Mathics3 that nobody else reads. */
export interface MathicsCopy {
  readonly python: string
  /** Takes away what Python has compiled of it, and has the system forget what it has read of it. */
  chill(): void
  remove(): void
}

export function copyMathics(): MathicsCopy {
  const folder = mkdtempSync(join(tmpdir(), 'imago-mathics-'))
  const from = dirname(dirname(mathicsPython))
  const python = join(folder, 'bin', 'python')
  cpSync(join(from, 'lib'), join(folder, 'lib'), {
    recursive: true,
    filter: path => basename(path) !== '__pycache__',
  })
  cpSync(join(from, 'pyvenv.cfg'), join(folder, 'pyvenv.cfg'))
  mkdirSync(dirname(python))
  symlinkSync(realpathSync(mathicsPython), python)
  return {
    python,
    chill: () => void execFileSync('python3', ['-c', CHILL, folder]),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** What is not on the disk yet cannot be forgotten. */
const CHILL = `
import os, shutil, sys
for folder, folders, files in os.walk(sys.argv[1]):
    if '__pycache__' in folders:
        folders.remove('__pycache__')
        shutil.rmtree(os.path.join(folder, '__pycache__'))
    for name in files:
        path = os.path.join(folder, name)
        if os.path.islink(path):
            continue
        file = os.open(path, os.O_RDONLY)
        os.fsync(file)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)
`
