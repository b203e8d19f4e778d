import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Kernel } from '../../wire/kernel.ts'
import { openPrograms } from '../../wire/kernels/programs.ts'
import { suite } from '../support/harness.ts'
import { type Program, startProgram } from '../support/program.ts'
import { venvPython } from '../support/runtimes.ts'
import { PYTHON } from '../support/snippets.ts'
import { kernelSuite } from './kernel-suite.ts'

/** The same facts on real Python programs that were there before, and are only attached to. */
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'imago-attached-')))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))

const begun: Program[] = []
process.on('exit', () => {
  for (const program of begun) program.signal('SIGKILL')
})

function open(listen: string, python?: string): () => Promise<Kernel> {
  return async () => {
    const runtimeDir = join(folder, 'run')
    const name = `program-${begun.length}`
    const program = await startProgram({ folder, runtimeDir, name, listen, ...(python && { python }) })
    begun.push(program)
    const programs = openPrograms({ runtimeDir })
    const announced = programs.read().programs.find(({ pid }) => pid === program.pid)
    if (announced === undefined) throw new Error('it has not announced itself')
    const { address, started, pid } = announced
    return programs.attach({
      name,
      address,
      process: { pid, started, seen: true },
      key: undefined,
      open: false,
      found: () => {},
      background: () => {},
      away: () => {},
    })
  }
}

const facts = { snippets: PYTHON, descriptors: "the program's" } as const
kernelSuite({ ...facts, title: 'Python, attached, JSON, Unix socket', open: open('') })
kernelSuite({ ...facts, title: 'Python, attached, JSON, TCP', open: open('port=0') })
if (existsSync(venvPython)) {
  kernelSuite({ ...facts, title: 'Python, attached, msgpack, Unix socket', open: open('', venvPython) })
} else {
  suite('Python, attached, msgpack, Unix socket').skip(
    'the whole suite',
    'no Python with msgpack; run node test/setup.mjs',
  )
}
