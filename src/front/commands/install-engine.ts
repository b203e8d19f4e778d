import { spawn, spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { type FreeEngine, pythonOfEngine } from '../../../wire/languages.ts'
import { EXIT, type ExitCode, Failure } from '../../failure.ts'
import { findPaths, prepareStateDir } from '../../paths.ts'
import type { CommandInput } from '../command.ts'

/** In this order: the newest that it is known to run on is not the newest that there is. */
const PYTHONS = ['python3.13', 'python3.12', 'python3.11', 'python3']

/** Puts an engine into an environment of its own, beside the user's. Says what it does, and asks first. */
export async function installEngine(
  engine: FreeEngine,
  { operands: [name = ''], options, printer }: CommandInput,
): Promise<ExitCode> {
  const paths = findPaths()
  const folder = join(paths.stateDir, engine.folder)
  if (options.undo) {
    rmSync(folder, { recursive: true, force: true })
    printer.out(`${folder} is not there any more.\n`)
    return EXIT.done
  }
  const python = findPython(engine)
  printer.out(`${engine.about}, in\n  ${folder}\nfrom the package index that pip uses, for ${python}.\n`)
  if (!options.yes && !(await agreed())) {
    printer.err(`Nothing was changed.${process.stdin.isTTY ? '' : ' Repeat it with --yes to change it.'}\n`)
    return EXIT.denied
  }
  prepareStateDir(paths)
  try {
    await run(python, ['-m', 'venv', '--clear', folder])
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check']
    await run(pythonOfEngine(engine, paths.stateDir), [...pip, ...engine.packages])
  } catch (error) {
    // One that is there in part would be taken for one that can be started.
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
  printer.out(`It is there. Start a kernel with: imago start ${name}\n`)
  return EXIT.done
}

function findPython({ oldest: [major, minor] }: FreeEngine): string {
  const fits = `import sys; sys.exit(sys.version_info < (${major}, ${minor}))`
  const found = PYTHONS.find(name => spawnSync(name, ['-c', fits], { stdio: 'ignore' }).status === 0)
  if (found !== undefined) return found
  throw new Failure(`It needs Python ${major}.${minor} or newer, and there is none in PATH. Install one.`)
}

async function agreed(): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stdout.isTTY) return false
  const lines = createInterface({ input: process.stdin, output: process.stdout })
  try {
    return /^y(es)?$/i.test((await lines.question('Install it? [y/N] ')).trim())
  } catch {
    // Ctrl-C, or the end of input.
    return false
  } finally {
    lines.close()
  }
}

/** What it says goes to standard error. Throws a `Failure` where it ends otherwise than well. */
async function run(program: string, args: readonly string[]): Promise<void> {
  const child = spawn(program, args, { stdio: ['ignore', 2, 2] })
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', resolve)
  })
  if (code === 0) return
  throw new Failure(`${program} ${args.slice(0, 3).join(' ')} failed; what it said stands above.`)
}
