import { execFile } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { WireError } from '../errors.ts'
import { inPath, isProgram } from './process.ts'

/** How long a Lisp may take to say its version, in ms. */
const PROBE_MS = 10_000

type LispKind = 'sbcl' | 'ecl'

export interface Lisp {
  readonly kind: LispKind
  /** The path of the program. */
  readonly program: string
}

interface LispSearch {
  readonly root: string
  /** The caller's: `PATH` is looked at. */
  readonly env: Readonly<Record<string, string>>
  /** The Lisp that a person named: a path, or a name to be found in `PATH`. Nothing else is then tried. */
  readonly lisp?: string | undefined
}

/**
 * The Lisp for a project: the one named, else the first of SBCL and ECL in `PATH`.
 *
 * Throws `KERNEL_NOT_FOUND`, which lists every place that was looked at and what was wrong there.
 */
export async function findLisp(search: LispSearch): Promise<Lisp> {
  const looked: string[] = []
  for (const { what, paths } of placesOf(search)) {
    const program = paths.find(isProgram)
    if (program === undefined) {
      looked.push(`${what}: ${paths.length === 1 ? paths[0] : 'it'} is not there`)
      continue
    }
    const said = await versionOf(program, search)
    const kind = kindOf(said)
    if (kind !== undefined) return { kind, program }
    looked.push(`${what}: ${program} is neither SBCL nor ECL; asked for its version, it says: ${said}`)
  }
  throw new WireError(
    'KERNEL_NOT_FOUND',
    `No Common Lisp was found for ${search.root}.\n${looked.map(line => `  - ${line}`).join('\n')}\n` +
      'Install SBCL (Debian: apt install sbcl cl-swank; macOS: brew install sbcl; or sbcl.org), or name a Lisp as lisp ' +
      'in [kernels] of your config.toml.',
  )
}

/** What each is started with, so that it asks nobody anything and `file` is loaded, and then `form` evaluated. */
export function commandOf(
  { kind, program }: Lisp,
  { file, form }: { file: string; form: string },
): [string, ...string[]] {
  const begun = ['--load', file, '--eval', form]
  switch (kind) {
    case 'sbcl':
      // The init files are loaded by `file`, once there is nothing left at standard input that they could read.
      return [
        program,
        '--noinform',
        '--disable-ldb',
        '--no-sysinit',
        '--no-userinit',
        '--disable-debugger',
        ...begun,
      ]
    case 'ecl':
      return [program, '--norc', ...begun]
    default:
      return kind satisfies never
  }
}

/** Folders of Swank that neither the image nor ASDF knows of, in which a person has put it: newest first. */
export function swankFolders(home: string): string[] {
  const quicklisp = join(home, 'quicklisp/dists/quicklisp/software')
  const emacs = [join(home, '.emacs.d/elpa'), join(home, '.config/emacs/elpa')]
  const found = [
    ...[quicklisp, ...emacs].flatMap(versionsIn),
    join(home, '.emacs.d/straight/repos/slime'),
    '/usr/share/common-lisp/source/slime',
  ]
  return found.filter(folder => existsSync(join(folder, 'swank-loader.lisp')))
}

/** Throws `KERNEL_START_FAILED` for what a person has named and is no Swank. */
export function checkSwank(swank: string): void {
  if (existsSync(join(swank, 'swank-loader.lisp'))) return
  const isFolder = statSync(swank, { throwIfNoEntry: false })?.isDirectory() ?? false
  const what = isFolder ? 'holds no swank-loader.lisp' : 'is no folder'
  throw new WireError(
    'KERNEL_START_FAILED',
    `${swank}, which config.toml names as swank, ${what}. Name the folder of SLIME that holds it.`,
  )
}

function versionsIn(folder: string): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter(name => /^slime-v?\d/.test(name))
    .sort((a, b) => b.localeCompare(a, undefined, { numeric: true }))
    .map(name => join(folder, name))
}

interface Place {
  readonly what: string
  readonly paths: readonly string[]
}

function placesOf({ root, env, lisp }: LispSearch): Place[] {
  if (lisp === undefined)
    return ['sbcl', 'ecl'].map(name => ({ what: `${name} in PATH`, paths: inPath(name, env) }))
  const paths = lisp.includes('/') ? [resolve(root, lisp)] : inPath(lisp, env)
  return [{ what: `the Lisp asked for (${lisp})`, paths }]
}

/** The first line that it says of itself, or why it says nothing. */
function versionOf(program: string, { root, env }: LispSearch): Promise<string> {
  return new Promise(settle => {
    const options = { cwd: root, env, timeout: PROBE_MS, killSignal: 'SIGKILL' } as const
    const child = execFile(program, ['--version'], options, (error, stdout, stderr) => {
      const said = `${stdout}\n${stderr}`.trim().split('\n')[0] ?? ''
      settle(said !== '' ? said : (error?.message ?? 'nothing'))
    })
    child.stdin?.end()
  })
}

function kindOf(version: string): LispKind | undefined {
  if (version.startsWith('SBCL ')) return 'sbcl'
  return version.startsWith('ECL ') ? 'ecl' : undefined
}
