import { execFile } from 'node:child_process'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { WireError } from '../errors.ts'
import { peerIn } from '../peer-folder.ts'
import { type Launched, type LaunchLimits, type LaunchRequest, launchFramed } from './launch.ts'
import { inPath, isProgram } from './process.ts'

interface WolframRequest extends LaunchRequest {
  /** The Python of an environment with Mathics3 that a person named; nothing else is then tried. */
  readonly wolfram?: string | undefined
  /** The Python of the environment that `imago install` makes. */
  readonly installed?: string | undefined
  /** How long laying out one definition may take; left out: as the host has it. */
  readonly formatterSeconds?: number | undefined
}

/** The first import of all that Mathics3 needs compiles it, before the host can say hello. */
const WOLFRAM_LAUNCH: Partial<LaunchLimits> = { startMs: 60_000 }

/** How long an environment may take to say what it has, in ms. */
const PROBE_MS = 20_000

/** Starts our host, with Mathics3 in it. Throws `KERNEL_NOT_FOUND` or what `launchFramed` throws. */
export function launchWolfram(request: WolframRequest): Promise<Launched> {
  const peers = peerIn('wolfram')
  const own = join(peers, 'imago_wolfram')
  const limits = { ...WOLFRAM_LAUNCH, ...request.limits }
  return launchFramed({ ...request, limits }, async env => {
    const python = await findMathics({ ...request, env })
    // Nothing of the caller's own Python reaches it: the environment is the engine's.
    const { formatterSeconds } = request
    const options = formatterSeconds === undefined ? [] : [`--formatter-seconds=${formatterSeconds}`]
    return { command: [python, '-I', join(own, '__main__.py'), ...options], own: peers }
  })
}

interface MathicsSearch extends Pick<WolframRequest, 'root' | 'wolfram' | 'installed'> {
  readonly env: Readonly<Record<string, string>>
}

/** Throws `KERNEL_NOT_FOUND`, which says what was looked at, and what installs it. */
async function findMathics({ root, env, wolfram, installed }: MathicsSearch): Promise<string> {
  if (wolfram !== undefined) {
    const named = wolfram.replace(/^~(?=\/)/, homedir())
    const paths = named.includes('/') ? [resolve(root, named)] : inPath(named, env)
    return checked(paths.find(isProgram), `${wolfram}, which config.toml names as wolfram,`, env)
  }
  const python = installed !== undefined && isProgram(installed) ? installed : undefined
  return checked(python, `${installed ?? 'the environment'}, which imago install makes,`, env)
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
      'Or name the Python of an environment that has Mathics3 as wolfram in [kernels] of config.toml.',
  )

/** Whether Mathics3 is there, without loading it: that takes seconds. */
function whyUnfit(python: string, env: Readonly<Record<string, string>>): Promise<string | undefined> {
  const question =
    'import importlib.metadata as m; print(m.version("Mathics3")); print(m.version("packaging")); print("fit")'
  return new Promise(settle => {
    const options = { env, timeout: PROBE_MS, killSignal: 'SIGKILL' } as const
    const child = execFile(python, ['-I', '-c', question], options, (error, stdout, stderr) => {
      if (stdout.trim().endsWith('fit')) settle(undefined)
      else if (stderr.includes('PackageNotFoundError')) settle('has no Mathics3, or not all that it needs')
      else settle(`does not run: ${stderr.trim().split('\n').at(-1) || error?.message}`)
    })
    child.stdin?.end()
  })
}
