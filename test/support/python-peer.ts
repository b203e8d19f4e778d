import { spawn, spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { assert, isLong, suite } from './harness.ts'
import { newerPythons } from './runtimes.ts'

const peer = join(import.meta.dirname, '../../wire/peers/python')
const LIMIT_MS = 390_000
const LANES = 3

/** The minor versions of CPython that the peer is for, oldest first, and some that are still to come. */
const OLDEST = 9
const NEWEST = 16

/**
 * What depends on how the interpreter is made: its bytecode, frames, tracebacks, tasks, hooks, annotations and imports.
 * That was told by what each module of the peer reads of the interpreter. A test of these whose fact is about texts,
 * sizes or limits alone is marked `once`, and what is drawn is drawn less often.
 */
const VERSIONED: readonly string[] = [
  'test_coroutines',
  'test_error_record',
  'test_evaluation',
  'test_guest_suspending',
  'test_held_stacks',
  'test_live_frames',
  'test_looking_classes',
  'test_looking_definitions',
  'test_looking_describing',
  'test_looking_imports',
  'test_looking_locks',
  'test_looking_newer',
  'test_looking_threads',
  'test_looking_tripwires',
  'test_looking_values',
  'test_suspending',
  'test_tracing',
  'test_tripwires_code',
]

/** Leaves out what they mark as the same under each version. */
const OF_VERSION = { IMAGO_TEST_VERSIONED: '1' }

/** Loads each module of the peer: its syntax, and the names that it takes from the library, are those of the version. */
const LOADS_ALL = `
import importlib, pkgutil, imago
for found in pkgutil.walk_packages(imago.__path__, 'imago.'):
    if not found.name.endswith('__main__'): importlib.import_module(found.name)
`

/** Modules that start processes, each of which is worth a turn of its own; all others run in one process. */
const OF_PROCESSES =
  /^test_(connection|coroutines|evaluation|guest|interrupts|listening|looking_imports|output|process|program)/

/** Which of the interpreters on this machine: each is another one, or missing. */
export type Which = 'oldest' | 'newest' | 'between'

/**
 * Runs the Python peer's own tests: all of them under the newest CPython found, and those that depend on the version under
 * each of the others, each as one test. In the long run, and where there is but one CPython, each runs all. Says as a
 * skip what is not on this machine.
 */
export function testPeerUnder(which: Which): void {
  const test = suite('python peer', { limitMs: LIMIT_MS + 5_000 })
  const found = interpreters()
  const oldest = found[0]
  const newest = found.at(-1)
  if (which === 'oldest' && oldest?.minor !== OLDEST)
    test.skip(`its tests pass under CPython 3.${OLDEST}`, `CPython 3.${OLDEST} is not on this machine`)
  if (which === 'newest' && oldest === newest)
    test.skip('its tests pass under a newer CPython', 'there is but one CPython on this machine')
  const chosen = { oldest: found.slice(0, 1), newest: found.slice(1).slice(-1), between: found.slice(1, -1) }[
    which
  ]
  const runsAll = which === 'newest' || isLong || oldest === newest
  const words = runsAll ? 'its tests pass' : 'what depends on the version passes'
  for (const { path, version } of chosen) {
    test(`each of its modules is loaded under CPython ${version}`, () => {
      const { stderr } = spawnSync(path, ['-W', 'error', '-c', LOADS_ALL], { cwd: peer, encoding: 'utf8' })
      assert.is(stderr, '')
    })
    test(`${words} under CPython ${version}`, async () => {
      const failures = await (runsAll ? runModules(path, modules()) : runModules(path, VERSIONED, OF_VERSION))
      for (const { modules, text } of failures)
        console.error(`${modules.join(' ')} under ${version}\n${text}`)
      assert.equal(
        failures.flatMap(failure => failure.modules),
        [],
      )
    })
  }
}

/** Its tests that need a package which plain interpreters do not have, and what they show. */
const PACKAGED: Readonly<Record<string, string>> = {
  test_msgpack: 'it speaks msgpack where the package is installed',
  test_adapters_numpy: 'it shows values of numpy, and runs no code of the program for it',
  test_adapters_pandas: 'it shows values of pandas, and runs no code of the program for it',
  test_adapters_polars: 'it shows values of polars, and runs no code of the program for it',
  test_program_errors_web: 'it takes down what requests of Django and FastAPI fail with',
  test_guest_green: 'it serves programs on gevent, eventlet and uvloop',
  test_frozen_time: 'its clocks go on in a program that freezes time',
  test_wrapt: 'it asks no proxy of wrapt for what it stands for',
  test_adapters_models: 'it shows values of pydantic and attrs, and runs no code of the program for it',
}

/** Runs the tests that need a package under an interpreter that has it; none of them may be skipped. */
export function testPeerWithPackages(path: string): void {
  const test = suite('python peer', { limitMs: LIMIT_MS + 5_000 })
  for (const [module, fact] of Object.entries(PACKAGED)) {
    test(fact, async () => {
      const { code, text } = await runTests(path, [module])
      if (code !== 0) console.error(text)
      assert.is(code, 0)
      assert.not.match(text, /skipped/)
    })
  }
}

interface Interpreter {
  readonly path: string
  readonly version: string
  readonly minor: number
}

/** One CPython of each minor version, oldest first: those on PATH, those that pyenv knows, those of the set-up. */
function interpreters(): Interpreter[] {
  const minors = Array.from({ length: NEWEST - OLDEST + 1 }, (_, at) => OLDEST + at)
  const found = new Map<number, Interpreter>()
  for (const command of [
    'python3',
    ...minors.map(minor => `python3.${minor}`),
    ...underPyenv(),
    ...newerPythons(),
  ]) {
    const one = probe(command)
    if (one && one.minor >= OLDEST && !found.has(one.minor)) found.set(one.minor, one)
  }
  if (found.size === 0) throw new Error(`there is no CPython of 3.${OLDEST} or newer on this machine`)
  return [...found.values()].sort((one, other) => one.minor - other.minor)
}

function underPyenv(): string[] {
  const root = (spawnSync('pyenv', ['root'], { encoding: 'utf8' }).stdout ?? '').trim()
  if (root === '') return []
  const listed = spawnSync('pyenv', ['versions', '--bare'], { encoding: 'utf8' }).stdout ?? ''
  return listed
    .split('\n')
    .filter(name => /^3\.\d+\.\d+$/.test(name))
    .map(name => join(root, 'versions', name, 'bin', 'python'))
}

/** The interpreter behind a command: a launcher in front of it would only cost each of the tests' processes time. */
function probe(command: string): Interpreter | undefined {
  const code =
    'import platform, sys; print(sys.executable, platform.python_version(), sys.version_info[1], platform.python_implementation(), sep="\\n")'
  const { status, stdout } = spawnSync(command, ['-c', code], { encoding: 'utf8' })
  const [path, version, minor, made] = (stdout ?? '').split('\n')
  return status === 0 && path && version && made === 'CPython'
    ? { path, version, minor: Number(minor) }
    : undefined
}

/** Its tests but those that need a package. */
function modules(): string[] {
  return readdirSync(join(peer, 'tests'))
    .filter(name => name.startsWith('test_') && name.endsWith('.py'))
    .map(name => name.slice(0, -3))
    .filter(name => !(name in PACKAGED))
}

/** Several at a time, since those of processes mostly wait for what must not happen too soon. Returns those that failed. */
async function runModules(
  python: string,
  modules: readonly string[],
  env: Readonly<Record<string, string>> = {},
) {
  const failures: { modules: readonly string[]; text: string }[] = []
  const alone = modules.filter(module => OF_PROCESSES.test(module))
  const waiting = [modules.filter(module => !OF_PROCESSES.test(module)), ...alone.map(module => [module])]
  const lane = async () => {
    for (let turn = waiting.shift(); turn !== undefined; turn = waiting.shift()) {
      const { code, text } = await runTests(python, turn, peer, env)
      const ran = /^Ran [1-9]\d* tests?/m.test(text)
      if (code !== 0 || !ran) failures.push({ modules: turn, text })
    }
  }
  await Promise.all(Array.from({ length: LANES }, lane))
  return failures
}

/** Runs modules of tests of a peer in one process, and gives the end of what it wrote. */
export function runTests(
  python: string,
  modules: readonly string[],
  folder: string = peer,
  env: Readonly<Record<string, string>> = {},
): Promise<{ code: number | null; text: string }> {
  return new Promise(resolve => {
    const names = modules.map(module => `tests.${module}`)
    const child = spawn(python, ['-m', 'unittest', ...names], {
      cwd: folder,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let text = ''
    const keep = (data: Buffer) => {
      text = (text + data.toString()).slice(-50_000)
    }
    child.stdout.on('data', keep)
    child.stderr.on('data', keep)
    const timer = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS)
    child.on('close', code => {
      clearTimeout(timer)
      resolve({ code, text })
    })
  })
}
