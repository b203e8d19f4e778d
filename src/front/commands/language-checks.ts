import { spawnSync } from 'node:child_process'
import { z } from 'zod'
import { duration } from '../../../tools/text.ts'
import { messageOf, WireError } from '../../../wire/errors.ts'
import type { Language } from '../../../wire/languages.ts'
import type { DaemonClient } from '../client.ts'

/** What `imago doctor` found out about one thing. */
export interface Check {
  readonly name: string
  /**
   * `missing` is something that one may have and need not, `broken` something that does not work, and `unknown` what
   * could not be found out for a reason that is told elsewhere.
   */
  readonly state: 'ok' | 'missing' | 'broken' | 'unknown'
  readonly found: string
  /** What it would be good for, where it is missing. */
  readonly gives?: string
  /** What to do: a command line, or a sentence. */
  readonly fix?: string
}

/** Checks that belong together. */
export interface Area {
  readonly title: string
  readonly checks: readonly Check[]
}

const FACTS = z.object({
  executable: z.string(),
  /** Whether it is that of an environment, and not of the whole machine. */
  environment: z.boolean(),
  /** The version of the distribution on PyPI that has our module's name. */
  another_imago: z.string().nullable(),
  packages: z.record(z.string(), z.string().nullable()),
})

/** Whether a Python kernel can be started for this project, and what its interpreter has. */
export async function checkPython(client: DaemonClient, { name, title }: Language): Promise<Area> {
  try {
    const trial = await client.request('trial', { language: name })
    const facts = FACTS.parse(JSON.parse(trial.facts))
    const { executable, packages } = facts
    const start = `starts in ${duration(trial.start_ms)}; round trip ${milliseconds(trial.round_trip_ms)}`
    const interpreter = `${trial.implementation} at ${executable}${facts.environment ? '' : `; ${NO_ENVIRONMENT}`}`
    return {
      title,
      checks: [
        { name: 'interpreter', state: 'ok', found: interpreter },
        { name: 'a kernel', state: 'ok', found: start },
        ...OPTIONAL.map(wanted => checkPackage({ ...wanted, version: packages[wanted.name], executable })),
        ...(facts.another_imago === null ? [] : [anotherImago(facts.another_imago, executable)]),
      ],
    }
  } catch (error) {
    const check: Check = {
      name: 'a kernel',
      state: 'broken',
      found: messageOf(error),
      fix: 'install Python 3.9 or newer, or name one as kernels.python in config.toml',
    }
    return { title, checks: [check] }
  }
}

const NO_ENVIRONMENT =
  'the project has no environment of its own: no .venv or venv, none of Poetry’s, and none is activated'

/** What a program that imports `imago` gets there, or gets parts of, is not ours. */
const anotherImago = (version: string, executable: string): Check => ({
  name: 'another imago',
  state: 'broken',
  found: `imago ${version} is installed there, a forensics tool of PyPI whose module has the same name: import imago is not Imago’s, or is parts of both`,
  fix: `${executable} -m pip uninstall imago, then ${executable} -m pip install --force-reinstall "$(imago runtime python)"`,
})

const OPTIONAL = [
  {
    name: 'msgpack',
    gives: 'the link to large results is more compact',
    install: 'msgpack',
  },
  {
    name: 'imago-agent',
    gives: 'programs that this interpreter runs can `import imago; imago.listen()` and `%load_ext imago`',
    install: '"$(imago runtime python)"',
  },
] as const

function checkPackage(
  o: (typeof OPTIONAL)[number] & { version: string | null | undefined; executable: string },
): Check {
  const { name, gives, install, version, executable } = o
  if (typeof version === 'string') return { name, state: 'ok', found: version }
  return {
    name,
    state: 'missing',
    found: 'not installed there',
    gives,
    fix: `${executable} -m pip install ${install}`,
  }
}

const LISP_FACTS = z.object({ executable: z.string(), swank: z.string(), version: z.string().nullable() })

/** Whether a Lisp kernel can be started for this project, and which Swank it loads. A machine without Lisp is well. */
export async function checkLisp(client: DaemonClient, { name, title }: Language): Promise<Area> {
  try {
    const trial = await client.request('trial', { language: name })
    const { executable, swank, version } = LISP_FACTS.parse(JSON.parse(trial.facts))
    const start = `starts in ${duration(trial.start_ms)}; round trip ${milliseconds(trial.round_trip_ms)}`
    return {
      title,
      checks: [
        { name, state: 'ok', found: `${trial.implementation} at ${executable}` },
        { name: 'swank', state: 'ok', found: `${version ?? 'of unknown version'} from ${swank}` },
        { name: 'a lisp kernel', state: 'ok', found: start },
      ],
    }
  } catch (error) {
    return { title, checks: [isNotThere(error) ? { name, ...NO_LISP } : brokenLisp(error)] }
  }
}

const NO_LISP: Omit<Check, 'name'> = {
  state: 'missing',
  found: 'no SBCL or ECL on the PATH',
  gives: '`imago start lisp` works; your own image needs none of it: imago attach swank://4005',
  fix: 'install SBCL and Swank (Debian: apt install sbcl cl-swank), or name one as kernels.lisp in config.toml',
}

const brokenLisp = (error: unknown): Check => ({
  name: 'a lisp kernel',
  state: 'broken',
  found: messageOf(error).replaceAll(/\s*\n\s*/g, ' '),
  fix: 'mend what it says; kernels.lisp and kernels.swank in config.toml name another one',
})

const WOLFRAM_FACTS = z.object({ version: z.string() })

/** Whether an engine for Wolfram Language can be started. A machine without one is well. */
export async function checkWolfram(client: DaemonClient, { name, title }: Language): Promise<Area> {
  try {
    const trial = await client.request('trial', { language: name })
    const { version } = WOLFRAM_FACTS.parse(JSON.parse(trial.facts))
    const start = `answers in ${duration(trial.start_ms)}; round trip ${milliseconds(trial.round_trip_ms)}`
    return {
      title,
      checks: [
        { name: 'engine', state: 'ok', found: `${trial.implementation}, for the language of ${version}` },
        { name: 'a wolfram kernel', state: 'ok', found: start },
        ...checkLicensed(trial.command),
      ],
    }
  } catch (error) {
    return { title, checks: [isNotThere(error) ? { name, ...NO_WOLFRAM } : brokenWolfram(error)] }
  }
}

/** What the host of the kernel was told of a Wolfram Engine, if that is what it was started for. */
function checkLicensed(command: readonly string[]): Check[] {
  const [kernel, library] = ['--kernel', '--wstp'].map(word => command[command.indexOf(word) + 1])
  if (!command.includes('--wstp')) return [{ name: 'Wolfram Engine', ...NO_LICENSED }]
  return [
    { name: 'Wolfram Engine', state: 'ok', found: `${kernel}, by ${library}` },
    { name: 'host', state: 'ok', found: `${command[0]}, Python 3.11 or newer` },
    { name: 'licensed kernels', ...NOT_PROVED },
  ]
}

const NOT_PROVED: Omit<Check, 'name'> = {
  state: 'unknown',
  found:
    'no licensed engine was at hand when this was made: they were tried with a stand-in for the library only',
}

const NO_LICENSED: Omit<Check, 'name'> = {
  state: 'missing',
  found: 'none that has its WSTP library was found, or Mathics3 was named instead of it',
  gives: 'kernels are licensed ones, and `imago attach wstp://PORT` works',
  fix: 'install one, or name its folder as kernels.wolfram in config.toml',
}

const NO_WOLFRAM: Omit<Check, 'name'> = {
  state: 'missing',
  found: 'neither a Wolfram Engine nor Mathics3, which is free',
  gives: '`imago start wolfram`',
  fix: 'imago install wolfram',
}

const brokenWolfram = (error: unknown): Check => ({
  name: 'a wolfram kernel',
  state: 'broken',
  found: messageOf(error).replaceAll(/\s*\n\s*/g, ' '),
  fix: 'imago install wolfram; or name another environment as kernels.wolfram in config.toml',
})

/** The daemon found no interpreter, rather than one that does not work. */
function isNotThere(error: unknown): boolean {
  const data = error instanceof WireError ? FAILURE.safeParse(error.remote?.data) : undefined
  return data?.data?.details.reason === 'KERNEL_NOT_FOUND'
}

const FAILURE = z.object({ details: z.object({ reason: z.string() }) })

/** The Python that a shell finds, where no kernel can be started to ask it. */
export function findInterpreter(): Check {
  const { stdout, error } = spawnSync('python3', ['--version'], { encoding: 'utf8', timeout: 5_000 })
  const fix = 'install Python 3.9 or newer'
  if (error !== undefined)
    return { name: 'interpreter', state: 'broken', found: 'there is no python3 on the PATH', fix }
  return { name: 'interpreter', state: 'ok', found: `${stdout.trim()} on the PATH` }
}

export const milliseconds = (ms: number) => `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`
