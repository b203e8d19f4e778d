import { execFile } from 'node:child_process'
import { existsSync, realpathSync, statSync } from 'node:fs'
import { join, resolve, sep } from 'node:path'
import { WireError } from '../errors.ts'
import { peerIn } from '../peer-folder.ts'
import { isTracked } from './git-index.ts'
import { type Launched, type LaunchRequest, launchFramed } from './launch.ts'
import { inPath, isProgram } from './process.ts'

export interface PythonRequest extends LaunchRequest {
  /** The interpreter to use instead of the one that would be found. */
  readonly python?: string | undefined
  /** Projects whose `.venv` a person trusts, whatever it holds. */
  readonly trusted?: readonly string[] | undefined
}

/** Starts an interpreter with our peer in it. Throws what `findPython` and `launchFramed` throw. */
export function launchPython(request: PythonRequest): Promise<Launched> {
  const { root, python, trusted } = request
  const own = join(peerFolder(), 'imago')
  return launchFramed(request, async env => {
    const found = await findPython({ root, env, python, trusted })
    return { command: [found, join(own, '__main__.py')], own }
  })
}

/** The oldest Python that the peer runs on. */
const OLDEST_PYTHON = [3, 9] as const

/** How long an interpreter may take to say its version, in ms. */
const PROBE_MS = 10_000

interface PythonSearch {
  readonly root: string
  /** The caller's: `VIRTUAL_ENV` and `PATH` are looked at. */
  readonly env: Readonly<Record<string, string>>
  /** The interpreter that a person named: a path, or a name to be found in `PATH`. Nothing else is then tried. */
  readonly python?: string | undefined
  /** Projects whose `.venv` a person trusts, whatever it holds. */
  readonly trusted?: readonly string[] | undefined
}

/**
 * The interpreter for a project: the one named, `.venv` in the root, `$VIRTUAL_ENV`, `python3`, `python`.
 *
 * Returns the path of the interpreter itself, not of a shim in front of it. Throws `KERNEL_NOT_FOUND`, which lists
 * every place that was looked at and what was wrong there. An environment that was chosen and does not work is not
 * silently replaced by another Python, and neither is a `.venv` that may have come with the project: nothing of that is
 * started (`doubtAbout`).
 */
export async function findPython(search: PythonSearch): Promise<string> {
  const looked: string[] = []
  for (const place of placesOf(search)) {
    const found = place.paths.find(isProgram)
    if (found === undefined) {
      looked.push(`${place.what}: ${place.paths[0] ?? 'nothing'} is not there`)
      if (place.chosen) break
      continue
    }
    const doubt = place.ofProject ? doubtAbout({ ...search, python: found }) : undefined
    if (doubt !== undefined) throw passedOver(search.root, doubt)
    const probe = await probePython(found, search)
    if (probe.fit) return probe.executable
    looked.push(`${place.what}: ${found} ${probe.wrong}`)
    if (place.chosen) break
  }
  throw new WireError(
    'KERNEL_NOT_FOUND',
    `No Python ${OLDEST_PYTHON.join('.')} or newer was found for ${search.root}.\n` +
      `${looked.map(line => `  - ${line}`).join('\n')}\nInstall one, make a .venv in the project, or name one.`,
  )
}

function passedOver(root: string, doubt: string): WireError {
  return new WireError(
    'KERNEL_NOT_FOUND',
    `${join(root, '.venv')} ${doubt}. Nothing of it was run. A person who trusts it adds ${JSON.stringify(root)} to ` +
      'trusted in [kernels] of their config.toml, or names another interpreter there as python, and restarts the ' +
      'daemon; or activates it where the program that calls is started.',
  )
}

/** The folder that holds `wire/peers/python`, seen from the source and from the compiled program alike. */
const peerFolder = (from?: string): string => peerIn('python', from)

interface Place {
  readonly what: string
  readonly paths: readonly string[]
  /** Meant by a person for this project: if it is unfit, that is said, and nothing else is tried. */
  readonly chosen: boolean
  /** It is part of the project's folder, and so may have come with it. */
  readonly ofProject?: boolean
}

function* placesOf({ root, env, python }: PythonSearch): Generator<Place> {
  if (python !== undefined) {
    const paths =
      python.includes('/') || python.includes('\\') ? [resolve(root, python)] : inPath(python, env)
    yield { what: `the interpreter asked for (${python})`, paths, chosen: true }
    return
  }
  const venv = join(root, '.venv')
  yield { what: 'the .venv of the project', paths: inVenv(venv), chosen: existsSync(venv), ofProject: true }
  if (env.VIRTUAL_ENV) {
    yield { what: '$VIRTUAL_ENV', paths: inVenv(env.VIRTUAL_ENV), chosen: existsSync(env.VIRTUAL_ENV) }
  }
  for (const name of ['python3', 'python']) {
    yield { what: `${name} in PATH`, paths: inPath(name, env), chosen: false }
  }
}

const inVenv = (folder: string) => [join(folder, 'bin', 'python'), join(folder, 'Scripts', 'python.exe')]

type Probe =
  | { readonly fit: true; readonly executable: string }
  | { readonly fit: false; readonly wrong: string }

/** Asks an interpreter for its version and its own path, in words that a Python 2 understands too. */
function probePython(path: string, { root, env }: PythonSearch): Promise<Probe> {
  const question = 'import sys; print("%d.%d.%d" % sys.version_info[:3]); print(sys.executable or "")'
  return new Promise(settle => {
    const options = { cwd: root, env, timeout: PROBE_MS, killSignal: 'SIGKILL' } as const
    const child = execFile(path, ['-E', '-s', '-S', '-c', question], options, (error, stdout, stderr) => {
      const [version = '', executable = ''] = stdout.split(/\r?\n/)
      const [major = 0, minor = 0] = version.split('.').map(Number)
      if (error && !version) {
        const lines = stderr.trim().split('\n')
        settle({ fit: false, wrong: `does not run: ${lines.at(-1) || error.message}` })
      } else if (major < OLDEST_PYTHON[0] || (major === OLDEST_PYTHON[0] && minor < OLDEST_PYTHON[1])) {
        settle({ fit: false, wrong: `is Python ${version}, which is too old` })
      } else {
        settle({ fit: true, executable: executable || path })
      }
    })
    child.stdin?.end()
  })
}

interface OwnVenv {
  /** The project. */
  readonly root: string
  /** Its interpreter, as it would be started. */
  readonly python: string
  /** The caller's. */
  readonly env: Readonly<Record<string, string>>
  /** Projects whose `.venv` a person trusts, whatever it holds. */
  readonly trusted?: readonly string[] | undefined
}

/**
 * Why the `.venv` of a project may not be started without a person's word, as a clause; undefined where it may.
 *
 * Whoever opens a repository has not agreed yet to run what came with it. A `.venv` that somebody made here bears its
 * `pyvenv.cfg`, leads to an interpreter that lies elsewhere, and is not tracked by git. One that the caller has
 * activated, or that a person named in the configuration, is trusted. What an unpacked archive holds cannot be told
 * from what was made here.
 */
function doubtAbout({ root, python, env, trusted = [] }: OwnVenv): string | undefined {
  const venv = join(root, '.venv')
  if (trusted.some(folder => isSame(folder, root))) return undefined
  if (env.VIRTUAL_ENV && isSame(env.VIRTUAL_ENV, venv)) return undefined
  try {
    if (!isFile(join(venv, 'pyvenv.cfg'))) return 'holds no pyvenv.cfg, as one made by python -m venv does'
    const top = realpathSync(root)
    const interpreter = realpathSync(python)
    if (isWithin(interpreter, top))
      return 'holds an interpreter of its own, which may have come with the project'
    if (isTracked(join(top, '.venv')) || isTracked(realpathSync(venv)))
      return 'came with the repository: git tracks it'
    return undefined
  } catch (error) {
    return `may have come with the project, which cannot be told: ${error instanceof Error ? error.message : String(error)}`
  }
}

/** Whether both are there, and are one folder. */
function isSame(one: string, other: string): boolean {
  return existsSync(one) && existsSync(other) && realpathSync(one) === realpathSync(other)
}

const isFile = (path: string) => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false

const isWithin = (path: string, folder: string) =>
  path.startsWith(folder.endsWith(sep) ? folder : folder + sep)
