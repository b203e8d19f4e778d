import { execFile } from 'node:child_process'
import { join, resolve } from 'node:path'
import { messageOf, WireError } from '../errors.ts'
import type { Kernel } from '../kernel.ts'
import { ENGINE_PYTHONS, type InstalledEngine } from '../languages.ts'
import { peerIn } from '../peer-folder.ts'
import { type Launched, type LaunchLimits, type LaunchRequest, launchFramed } from './launch.ts'
import { inPath, isProgram } from './process.ts'
import {
  findInstallation,
  type Installation,
  type InstallationSearch,
  installationOf,
  isWhole,
  lackOf,
  versionOf,
  type WholeInstallation,
} from './wolfram-installation.ts'

/** What a person has configured, and what there is besides. */
export interface WolframSettings {
  /** A WolframKernel, its installation, or the Python of an environment with Mathics3; nothing else is then tried. */
  readonly wolfram?: string | undefined
  /** The Python of the environment that `imago install` makes. */
  readonly installed?: string | undefined
  /** How long laying out one definition may take; left out: the host's default. */
  readonly formatterSeconds?: number | undefined
  /** The Python that a person named for kernels. The host may run on it, too. */
  readonly python?: string | undefined
  /** See `InstallationSearch`. */
  readonly usual?: readonly string[] | undefined
}

interface WolframRequest extends LaunchRequest, WolframSettings {}

/** The first start of Mathics3 compiles all that it imports, before the host says hello. */
const WOLFRAM_LAUNCH: Partial<LaunchLimits> = { startMs: 60_000 }

/** How long a licensed kernel may take to be ready, in ms: the host gives up after 60 s by itself, and says why. */
export const READY_MS = 75_000
/** How long to wait before it is asked again, in ms. */
const AGAIN_MS = 250
/** It is not asked again if less time than this is left, in ms. */
const LAST_MS = 1_000

/** How long a Python may take to answer a question, in ms. */
const PROBE_MS = 20_000

/**
 * Starts our host, with a Wolfram Engine behind it, or else with Mathics3 in it. If a Wolfram Engine is there and does not
 * start, that is an error, and Mathics3 does not take its place. Throws `KERNEL_NOT_FOUND`, or what `launchFramed` throws.
 */
export async function launchWolfram(request: WolframRequest): Promise<Launched> {
  let engine: Engine | undefined
  try {
    const launched = await launchHost(request, async env => {
      engine = await findEngine({ ...request, env })
      request.doing?.(`starting ${titleOf(engine)}`)
      return engine
    })
    if (engine?.type !== 'licensed') return launched
    await isReady(launched.kernel).catch(error => {
      launched.kill()
      throw error
    })
    const { kernel, library, python } = engine
    return { ...launched, engine: { kernel, library, python } }
  } catch (error) {
    // The host ends with its engine, before it has said hello or after.
    if (engine?.type !== 'licensed') throw error
    throw new WireError(
      'KERNEL_START_FAILED',
      `${titleOf(engine)} does not start: ${saidAtTheEnd(error)}\n${insteadOfIt(request)}`,
      { cause: error },
    )
  }
}

/** Starts our host for the engine that `find` gives, in the environment that the process will have. */
export function launchHost(
  request: LaunchRequest & Pick<WolframSettings, 'formatterSeconds'>,
  find: (env: Readonly<Record<string, string>>) => Promise<Hosted>,
): Promise<Launched> {
  const peers = peerIn('wolfram')
  const limits = { ...WOLFRAM_LAUNCH, ...request.limits }
  return launchFramed({ ...request, limits }, async env => {
    const { python, ...engine } = await find(env)
    // `-I`: no variable of the caller's Python reaches it.
    const { formatterSeconds } = request
    const options = formatterSeconds === undefined ? [] : [`--formatter-seconds=${formatterSeconds}`]
    const main = [python, '-I', join(peers, 'imago_wolfram', '__main__.py'), ...options] as const
    return { command: [...main, ...wordsFor(engine)], own: peers }
  })
}

function wordsFor(engine: Omit<Hosted, 'python'>): readonly string[] {
  if (engine.library === undefined) return []
  const behind =
    engine.address === undefined ? ['--kernel', engine.kernel ?? ''] : ['--address', engine.address]
  return ['--wstp', engine.library, ...behind]
}

/** What the host is told. Without a library, the engine is Mathics3 in the host itself. */
interface Hosted {
  readonly python: string
  readonly library?: string
  readonly kernel?: string
  readonly address?: string
}

type Engine = Hosted &
  (
    | { readonly type: 'mathics' }
    | (InstalledEngine & { readonly type: 'licensed'; readonly installation: WholeInstallation })
  )

const titleOf = (engine: Engine): string =>
  engine.type === 'mathics'
    ? 'Mathics3'
    : `the Wolfram Engine ${versionOf(engine.installation)} at ${engine.kernel}`

/** Waits until it answers a look: then its session is there. */
async function isReady(kernel: Kernel): Promise<void> {
  const until = performance.now() + READY_MS
  const ended = kernel.ended.then(({ message, lastWords }) => {
    throw new WireError('KERNEL_START_FAILED', message, { lastWords })
  })
  const answers = async () => {
    for (;;) {
      const deadlineMs = Math.round(until - performance.now())
      if (deadlineMs < LAST_MS)
        throw new WireError('KERNEL_START_FAILED', `It was not ready within ${READY_MS} ms.`)
      try {
        const { type } = await kernel.look('complete', { text: 'Plus', cursor: 4, limit: 1 }, { deadlineMs })
        if (type !== 'timed_out' && type !== 'busy' && type !== 'loading') return
      } catch (error) {
        if (!(error instanceof WireError) || error.code !== 'BUSY') throw error
      }
      await new Promise(again => setTimeout(again, AGAIN_MS))
    }
  }
  // A lost link ends the look, often before the process has ended. The end of the process says why.
  await Promise.race([ended, answers().catch(error => Promise.race([ended, later(error)]))])
}

/** The process's own last words, or the whole message. */
export const saidAtTheEnd = (error: unknown): string =>
  (error instanceof WireError ? error.lastWords : undefined) ?? messageOf(error)

/** How long to wait, after a lost link, for the process to end and say why, in ms. */
const END_MS = 2_000

const later = (error: unknown): Promise<never> =>
  new Promise((_, reject) => setTimeout(() => reject(error), END_MS).unref())

/** What a person can do whose engine does not start. */
function insteadOfIt({ installed }: WolframSettings): string {
  const there = installed !== undefined && isProgram(installed)
  const install = there ? '' : 'imago install wolfram   and '
  return `To use the free Mathics3 instead: ${install}wolfram = ${JSON.stringify(installed ?? 'PYTHON')} in [kernels] of config.toml, and imago shutdown.`
}

// Finding

interface EngineSearch extends WolframSettings, Pick<InstallationSearch, 'env'> {
  /** The folder that relative paths in the configuration start from. */
  readonly root: string
  readonly env: Readonly<Record<string, string>>
}

/** Throws `KERNEL_NOT_FOUND`, which says what was looked at, and how to install an engine. */
async function findEngine(search: EngineSearch): Promise<Engine> {
  const { wolfram, installed, env } = search
  const installation = installationFor(search)
  if (installation !== undefined && isWhole(installation)) {
    const python = await hostFor(search, installation)
    const { kernel, library } = installation
    return { type: 'licensed', installation, python, kernel, library }
  }
  if (installation?.chosen) throw noEngine(`${installation.folder} ${lackOf(installation)}`)
  if (wolfram !== undefined) {
    const [named] = pathsOf(search)
    const what = `${wolfram}, which config.toml names as wolfram,`
    return { type: 'mathics', python: await checked(named, what, env) }
  }
  const python = installed !== undefined && isProgram(installed) ? installed : undefined
  const what = `${installed ?? 'the environment'}, which imago install makes,`
  return { type: 'mathics', python: await checked(python, what, env) }
}

/** Undefined if a person has named something else, or if there is none. */
function installationFor(search: EngineSearch): Installation | undefined {
  const { env, usual } = search
  if (search.wolfram === undefined) return findInstallation({ env, ...(usual && { usual }) })
  const [named] = pathsOf(search)
  return named === undefined ? undefined : installationOf(named)
}

/** The paths that the setting can mean: of programs, or of one installation. */
function pathsOf({ wolfram = '', root, env }: EngineSearch): string[] {
  if (!wolfram.includes('/')) return inPath(wolfram, env).filter(isProgram)
  const path = resolve(root, wolfram)
  return isProgram(path) || installationOf(path) !== undefined ? [path] : []
}

/** The library of a Wolfram Engine and a Python for the host, which reach a running kernel. Throws `KERNEL_NOT_FOUND`. */
export async function findLibrary(search: EngineSearch): Promise<{ python: string; library: string }> {
  const found = installationFor(search) ?? findInstallation({ env: search.env })
  if (found === undefined || !isWhole(found)) {
    const why = found === undefined ? 'none was found' : `${found.folder} ${lackOf(found)}`
    throw new WireError(
      'KERNEL_NOT_FOUND',
      `The WSTP library of an installed Wolfram Engine is needed to speak to it, and ${why}.\n${NAME_ENGINE}`,
    )
  }
  return { python: await hostFor(search, found), library: found.library }
}

const NAME_ENGINE =
  'Name an installation as wolfram in [kernels] of config.toml, or in $WOLFRAM_INSTALLATION_DIRECTORY.'

/** A Python for the host of a licensed kernel. The host needs no packages. Throws `KERNEL_NOT_FOUND`. */
async function hostFor(search: EngineSearch, { folder }: Installation): Promise<string> {
  const python = await findHostPython(search)
  if (python !== undefined) return python
  throw new WireError(
    'KERNEL_NOT_FOUND',
    `There is a Wolfram Engine at ${folder}, and no Python 3.11 or newer to speak to it.\n` +
      'Install one, or name one as python in [kernels] of config.toml.',
  )
}

async function findHostPython({ python, installed, root, env }: EngineSearch): Promise<string | undefined> {
  const named =
    python === undefined ? [] : python.includes('/') ? [resolve(root, python)] : inPath(python, env)
  const candidates = [
    ...named,
    ...ENGINE_PYTHONS.flatMap(name => inPath(name, env)),
    ...(installed ? [installed] : []),
  ]
  for (const path of new Set(candidates)) {
    if (!isProgram(path)) continue
    const { stdout } = await asked(
      path,
      'import ctypes, sys; print("fit" * (sys.version_info >= (3, 11)))',
      env,
    )
    if (stdout.trim() === 'fit') return path
  }
  return undefined
}

async function checked(
  python: string | undefined,
  what: string,
  env: Readonly<Record<string, string>>,
): Promise<string> {
  if (python === undefined) throw noEngine(`${what} is not there`)
  const wrong = await whyUnfit(python, env)
  if (wrong !== undefined) throw noEngine(`${what} ${wrong}`)
  return python
}

const noEngine = (why: string): WireError =>
  new WireError(
    'KERNEL_NOT_FOUND',
    `There is no engine for Wolfram Language: ${why}.\n` +
      'Install the free Mathics3 with: imago install wolfram\n' +
      'Or name a Wolfram Engine, or the Python of an environment with Mathics3, as wolfram in [kernels] of ' +
      'config.toml, and imago shutdown.',
  )

/** Why Mathics3 cannot run on it; undefined if it can. Mathics3 is not loaded, since that takes seconds. */
async function whyUnfit(python: string, env: Readonly<Record<string, string>>): Promise<string | undefined> {
  const question =
    'import importlib.metadata as m; print(m.version("Mathics3")); print(m.version("packaging")); print("fit")'
  const { stdout, stderr, error } = await asked(python, question, env)
  if (stdout.trim().endsWith('fit')) return undefined
  if (stderr.includes('PackageNotFoundError')) return 'has no Mathics3, or not all that it needs'
  return `does not run: ${stderr.trim().split('\n').at(-1) || error?.message}`
}

interface Told {
  readonly stdout: string
  readonly stderr: string
  readonly error: Error | null
}

function asked(python: string, question: string, env: Readonly<Record<string, string>>): Promise<Told> {
  return new Promise(settle => {
    const options = { env, timeout: PROBE_MS, killSignal: 'SIGKILL' } as const
    const child = execFile(python, ['-I', '-c', question], options, (error, stdout, stderr) =>
      settle({ stdout, stderr, error }),
    )
    child.stdin?.end()
  })
}
