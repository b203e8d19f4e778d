import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readlinkSync, realpathSync, statSync } from 'node:fs'
import { basename, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { WireError } from '../errors.ts'
import { peerIn } from '../peer-folder.ts'
import { isTracked } from './git-index.ts'
import { type Launched, type LaunchRequest, launchFramed } from './launch.ts'
import { inPath, isProgram } from './process.ts'

/** What a person has configured of it. */
export interface PythonSettings {
  /** The interpreter that a person named: a path, or a name to be found in `PATH`. Nothing else is then tried. */
  readonly python?: string | undefined
  /** Projects whose `.venv` a person trusts, whatever it holds. */
  readonly trusted?: readonly string[] | undefined
}

export interface PythonRequest extends LaunchRequest, PythonSettings {}

/** Starts an interpreter with our peer in it. Throws what `findPython` and `launchFramed` throw. */
export function launchPython(request: PythonRequest): Promise<Launched> {
  const { root, python, trusted } = request
  const own = join(peerFolder(), 'imago')
  return launchFramed(request, async env => {
    const found = await findPython({ root, env, python, trusted })
    return { command: [found, join(own, '__main__.py')], own }
  })
}

/**
 * What compiles texts as the Python of that process would, isolated: nothing of the program or its environment is
 * imported. Only the interpreter that the process itself runs is started, whatever the process says.
 */
export function compilerCommand({
  interpreter,
  pid,
}: {
  interpreter: string
  pid: number
}): string[] | string {
  if (!isAbsolute(interpreter)) return 'the program does not say where its interpreter is'
  try {
    const real = realpathSync(interpreter)
    if (!/^(python|pypy)[\d.]*/i.test(basename(real))) return 'its interpreter is part of another program'
    if (existsSync('/proc/self/exe') && readlinkSync(`/proc/${pid}/exe`) !== real)
      return 'its interpreter is not, or not any more, the one that the program names'
  } catch {
    return 'its interpreter cannot be looked at'
  }
  return [interpreter, '-I', '-S', '-B', join(peerFolder(), 'imago', 'compile_texts.py')]
}

/** The oldest Python that the peer runs on. */
const OLDEST_PYTHON = [3, 9] as const

/** How long an interpreter may take to say its version, in ms. */
const PROBE_MS = 10_000

interface PythonSearch extends PythonSettings {
  readonly root: string
  /** The caller's: `PATH`, and what names an environment or says where Poetry keeps them, are looked at. */
  readonly env: Readonly<Record<string, string>>
}

/**
 * The interpreter for a project: the one named, the environment of `$UV_PROJECT_ENVIRONMENT`, `.venv` in the root,
 * `$VIRTUAL_ENV`, `venv` in the root, the environment that Poetry made for it, `python3`, `python`.
 *
 * Returns the path of the interpreter itself, not of a shim in front of it. Throws `KERNEL_NOT_FOUND`, which lists
 * every place that was looked at and what was wrong there. An environment that was chosen and does not work is not
 * silently replaced by another Python, and neither is one in the project's folder that may have come with it: nothing of
 * that is started (`doubtAbout`).
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
    const { ofProject } = place
    const doubt = ofProject === undefined ? undefined : doubtAbout(found, { ...search, venv: ofProject })
    if (doubt !== undefined) throw passedOver(search.root, `${ofProject} ${doubt}`)
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
    `${doubt}. Nothing of it was run. A person who trusts it adds ${JSON.stringify(root)} to ` +
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
  /** The environment, where it is part of the project's folder, and so may have come with it. */
  readonly ofProject?: string
}

function* placesOf({ root, env, python }: PythonSearch): Generator<Place> {
  if (python !== undefined) {
    const paths =
      python.includes('/') || python.includes('\\') ? [resolve(root, python)] : inPath(python, env)
    yield { what: `the interpreter asked for (${python})`, paths, chosen: true }
    return
  }
  const uv = env.UV_PROJECT_ENVIRONMENT && resolve(root, env.UV_PROJECT_ENVIRONMENT)
  if (uv) yield placeIn(uv, { what: '$UV_PROJECT_ENVIRONMENT', root })
  yield placeIn(join(root, '.venv'), { what: 'the .venv of the project', root })
  if (env.VIRTUAL_ENV) {
    yield { what: '$VIRTUAL_ENV', paths: inVenv(env.VIRTUAL_ENV), chosen: existsSync(env.VIRTUAL_ENV) }
  }
  const venv = join(root, 'venv')
  // A folder of that name may hold anything.
  if (isFile(join(venv, 'pyvenv.cfg'))) yield placeIn(venv, { what: 'the venv of the project', root })
  const poetry = poetryVenv(root, env)
  if (poetry !== undefined) yield placeIn(poetry, { what: 'the environment that Poetry made', root })
  for (const name of ['python3', 'python']) {
    yield { what: `${name} in PATH`, paths: inPath(name, env), chosen: false }
  }
}

function placeIn(venv: string, { what, root }: { readonly what: string; readonly root: string }): Place {
  const within = isWithin(venv, root) && { ofProject: venv }
  return { what, paths: inVenv(venv), chosen: existsSync(venv), ...within }
}

/**
 * The environment that Poetry has made for the project and keeps elsewhere: `shop-Ab3_dE5f-py3.12`, where the middle is a
 * hash of the project's folder. Of several, for as many versions of Python, the one that was changed last.
 */
function poetryVenv(root: string, env: Readonly<Record<string, string>>): string | undefined {
  if (!['poetry.lock', 'pyproject.toml'].some(name => isFile(join(root, name)))) return undefined
  const kept = env.POETRY_VIRTUALENVS_PATH || join(poetryCache(env), 'virtualenvs')
  if (!statSync(kept, { throwIfNoEntry: false })?.isDirectory()) return undefined
  const hash = createHash('sha256').update(realpathSync(root)).digest('base64url').slice(0, 8)
  const changed = (path: string) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
  return readdirSync(kept)
    .filter(name => /-py[\d.]+$/.test(name) && name.slice(0, name.lastIndexOf('-py')).endsWith(`-${hash}`))
    .map(name => join(kept, name))
    .sort((one, other) => changed(one) - changed(other))
    .at(-1)
}

function poetryCache({ POETRY_CACHE_DIR, XDG_CACHE_HOME, HOME = '' }: Readonly<Record<string, string>>) {
  if (POETRY_CACHE_DIR) return POETRY_CACHE_DIR
  if (process.platform === 'darwin') return join(HOME, 'Library/Caches/pypoetry')
  return join(XDG_CACHE_HOME || join(HOME, '.cache'), 'pypoetry')
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

/**
 * Why `python`, of an environment in a project's folder, may not be started without a person's word, as a clause;
 * undefined where it may.
 *
 * Whoever opens a repository has not agreed yet to run what came with it. One that somebody made here bears its
 * `pyvenv.cfg`, leads to an interpreter that lies elsewhere, and is not tracked by git. One that the caller has
 * activated, or that a person named in the configuration, is trusted. What an unpacked archive holds cannot be told
 * from what was made here.
 */
function doubtAbout(
  python: string,
  { root, env, venv, trusted = [] }: PythonSearch & { readonly venv: string },
): string | undefined {
  if (trusted.some(folder => isSame(folder, root))) return undefined
  if (env.VIRTUAL_ENV && isSame(env.VIRTUAL_ENV, venv)) return undefined
  try {
    if (!isFile(join(venv, 'pyvenv.cfg'))) return 'holds no pyvenv.cfg, as one made by python -m venv does'
    const top = realpathSync(root)
    const interpreter = realpathSync(python)
    if (isWithin(interpreter, top))
      return 'holds an interpreter of its own, which may have come with the project'
    if (isTracked(join(top, relative(root, venv))) || isTracked(realpathSync(venv)))
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
