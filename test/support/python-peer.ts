import { spawn, spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { assert, suite } from './harness.ts'

const peer = join(import.meta.dirname, '../../wire/peers/python')
const LIMIT_MS = 390_000
const LANES = 2

/** An interpreter, or why there is none to be had. */
export type Found = { readonly path: string; readonly version: string } | { readonly missing: string }

/** Tests that mostly wait for limits of time to pass, which no version of Python makes pass otherwise. */
const PACED: readonly string[] = ['test_handshake', 'test_link', 'test_listening_trust']
/** Tests of whole processes: held where Python is oldest, newest, and as it is plainly found. */
const OF_PROCESSES = /^test_(guest|listening|process|ladder|output|service)/

/** How much of the peer's tests an interpreter is given. */
export type Extent = 'all' | 'but_paced' | 'but_processes'

/** Runs the Python peer's own tests under one interpreter, as one test; a skip that says why where there is none. */
export function testPeerUnder(name: string, found: Found, extent: Extent = 'all'): void {
  const test = suite('python peer', { limitMs: LIMIT_MS + 5_000 })
  const fact = `its tests pass under ${name}`
  if ('missing' in found) {
    test.skip(fact, found.missing)
    return
  }
  test(fact, async () => {
    const failures = await runModules(found.path, modules(extent))
    for (const { module, text } of failures) console.error(`${module} under ${found.version}\n${text}`)
    assert.equal(
      failures.map(failure => failure.module),
      [],
    )
  })
}

/** Its tests that need a package which plain interpreters do not have, and what they show. */
const PACKAGED = {
  test_msgpack: 'it speaks msgpack where the package is installed',
  test_adapters_numpy: 'it shows values of numpy, and runs no code of the program for it',
  test_adapters_pandas: 'it shows values of pandas, and runs no code of the program for it',
  test_adapters_polars: 'it shows values of polars, and runs no code of the program for it',
  test_guest_green: 'it serves programs on gevent, eventlet and uvloop',
  test_wrapt: 'it asks no proxy of wrapt for what it stands for',
  test_adapters_models: 'it shows values of pydantic and attrs, and runs no code of the program for it',
}

/** Runs tests that need a package under an interpreter that has it; none of them may be skipped. */
export function testPeerWithPackages(path: string, modules: readonly (keyof typeof PACKAGED)[]): void {
  const test = suite('python peer', { limitMs: LIMIT_MS + 5_000 })
  for (const module of modules) {
    test(PACKAGED[module], async () => {
      const { code, text } = await runTests(path, `tests.${module}`)
      if (code !== 0) console.error(text)
      assert.is(code, 0)
      assert.not.match(text, /skipped/)
    })
  }
}

/** `python3` as the tests' user has it. */
export function plainPython(): Found {
  return probe('python3') ?? { missing: 'there is no python3 on PATH' }
}

/** CPython `3.x`: on PATH, or among those that pyenv knows. */
export function cpython(version: string): Found {
  const plain = plainPython()
  if ('version' in plain && isOf(plain, version)) {
    return { missing: `python3 is ${plain.version}, and has a test of its own` }
  }
  for (const command of [`python${version}`, ...underPyenv(version)]) {
    const found = probe(command)
    if (found && isOf(found, version)) return found
  }
  return { missing: `CPython ${version} is not on this machine` }
}

function isOf(found: { readonly version: string }, version: string): boolean {
  return found.version.startsWith(`${version}.`)
}

function underPyenv(version: string): string[] {
  const listed = spawnSync('pyenv', ['versions', '--bare'], { encoding: 'utf8' }).stdout ?? ''
  return listed
    .split('\n')
    .filter(name => name.startsWith(`${version}.`))
    .map(name => (spawnSync('pyenv', ['prefix', name], { encoding: 'utf8' }).stdout ?? '').trim())
    .filter(prefix => prefix !== '')
    .map(prefix => join(prefix, 'bin', 'python'))
}

/** The interpreter behind a command: a launcher in front of it would only cost each of the tests' processes time. */
function probe(command: string): { readonly path: string; readonly version: string } | undefined {
  const code = 'import platform, sys; print(sys.executable); print(platform.python_version())'
  const { status, stdout } = spawnSync(command, ['-c', code], { encoding: 'utf8' })
  const [path, version] = (stdout ?? '').split('\n')
  return status === 0 && path && version ? { path, version } : undefined
}

/** Its tests but those that need a package, as far as the extent goes. */
function modules(extent: Extent): string[] {
  return readdirSync(join(peer, 'tests'))
    .filter(name => name.startsWith('test_') && name.endsWith('.py'))
    .map(name => name.slice(0, -3))
    .filter(name => !(name in PACKAGED))
    .filter(name => extent === 'all' || !PACED.includes(name))
    .filter(name => extent !== 'but_processes' || !OF_PROCESSES.test(name))
    .map(name => `tests.${name}`)
}

/** Several at a time, since they mostly wait for what must not happen too soon. Returns those that failed. */
async function runModules(python: string, waiting: string[]) {
  const failures: { module: string; text: string }[] = []
  const lane = async () => {
    for (let module = waiting.shift(); module !== undefined; module = waiting.shift()) {
      const { code, text } = await runTests(python, module)
      const ran = /^Ran [1-9]\d* tests?/m.test(text)
      if (code !== 0 || !ran) failures.push({ module, text })
    }
  }
  await Promise.all(Array.from({ length: LANES }, lane))
  return failures
}

function runTests(python: string, module: string): Promise<{ code: number | null; text: string }> {
  return new Promise(resolve => {
    const child = spawn(python, ['-m', 'unittest', module], { cwd: peer, stdio: ['ignore', 'pipe', 'pipe'] })
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
