import { spawnSync } from 'node:child_process'
import { z } from 'zod'
import { duration } from '../../../tools/text.ts'
import { messageOf, WireError } from '../../../wire/errors.ts'
import type { InstalledEngine, Language } from '../../../wire/languages.ts'
import type { Trial } from '../../kernels/trial.ts'
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

/** What one language finds in a trial, and what is said where there is none. */
interface Tried<Facts> {
  /** What its probe prints. */
  readonly facts: z.ZodType<Facts>
  /** `took`: how long it took, as the end of a sentence. */
  found(facts: Facts, trial: Trial, took: string): readonly Check[]
  /** What a kernel of it is called. */
  readonly kernel: string
  /** Where no interpreter was found; left out: that is broken, as everything else is. */
  readonly missing?: Omit<Check, 'name'>
  /** What mends whatever is broken. */
  readonly fix: string
}

/** Whether a kernel of the language can be started for this project. */
async function trialChecks<Facts>(
  client: DaemonClient,
  { name, title }: Language,
  { facts, found, kernel, missing, fix }: Tried<Facts>,
): Promise<Area> {
  try {
    const trial = await client.request('trial', { language: name })
    const took = `in ${duration(trial.start_ms)}; round trip ${milliseconds(trial.round_trip_ms)}`
    return { title, checks: found(facts.parse(JSON.parse(trial.facts)), trial, took) }
  } catch (error) {
    if (missing !== undefined && isNotThere(error)) return { title, checks: [{ name, ...missing }] }
    const why = messageOf(error).replaceAll(/\s*\n\s*/g, ' ')
    return { title, checks: [{ name: kernel, state: 'broken', found: why, fix }] }
  }
}

/** The daemon found no interpreter, rather than one that does not work. */
function isNotThere(error: unknown): boolean {
  const data = error instanceof WireError ? FAILURE.safeParse(error.remote?.data) : undefined
  return data?.data?.details.reason === 'KERNEL_NOT_FOUND'
}

const FAILURE = z.object({ details: z.object({ reason: z.string() }) })

const FACTS = z.object({
  executable: z.string(),
  /** Whether it is that of an environment, and not of the whole machine. */
  environment: z.boolean(),
  /** The version of the distribution on PyPI that has our module's name. */
  another_imago: z.string().nullable(),
  packages: z.record(z.string(), z.string().nullable()),
})

/** Which interpreter Python kernels of this project have, and what that has. */
export const checkPython = (client: DaemonClient, language: Language): Promise<Area> =>
  trialChecks(client, language, {
    facts: FACTS,
    kernel: 'a kernel',
    fix: 'install Python 3.9 or newer, or name one as kernels.python in config.toml',
    found({ executable, environment, packages, another_imago: another }, { implementation }, took) {
      const interpreter = `${implementation} at ${executable}${environment ? '' : `; ${NO_ENVIRONMENT}`}`
      return [
        { name: 'interpreter', state: 'ok', found: interpreter },
        { name: 'a kernel', state: 'ok', found: `starts ${took}` },
        ...OPTIONAL.map(wanted => checkPackage({ ...wanted, version: packages[wanted.name], executable })),
        ...(another === null ? [] : [anotherImago(another, executable)]),
      ]
    },
  })

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

/** Which Lisp there is, and which Swank it loads. A machine without Lisp is well. */
export const checkLisp = (client: DaemonClient, language: Language): Promise<Area> =>
  trialChecks(client, language, {
    facts: LISP_FACTS,
    kernel: 'a lisp kernel',
    missing: NO_LISP,
    fix: 'mend what it says; kernels.lisp and kernels.swank in config.toml name another one',
    found: ({ executable, swank, version }, { implementation }, took) => [
      { name: language.name, state: 'ok', found: `${implementation} at ${executable}` },
      { name: 'swank', state: 'ok', found: `${version ?? 'of unknown version'} from ${swank}` },
      { name: 'a lisp kernel', state: 'ok', found: `starts ${took}` },
    ],
  })

const NO_LISP: Omit<Check, 'name'> = {
  state: 'missing',
  found: 'no SBCL or ECL on the PATH',
  gives: '`imago start lisp` works; your own image needs none of it: imago attach swank://4005',
  fix: 'install SBCL and Swank (Debian: apt install sbcl cl-swank), or name one as kernels.lisp in config.toml',
}

const WOLFRAM_FACTS = z.object({ version: z.string() })

/** Which engine for Wolfram Language there is. A machine without one is well. */
export const checkWolfram = (client: DaemonClient, language: Language): Promise<Area> =>
  trialChecks(client, language, {
    facts: WOLFRAM_FACTS,
    kernel: 'a wolfram kernel',
    missing: NO_WOLFRAM,
    fix: 'imago install wolfram; or name another environment as kernels.wolfram in config.toml',
    found: ({ version }, { implementation, engine }, took) => [
      { name: 'engine', state: 'ok', found: `${implementation}, for the language of ${version}` },
      { name: 'a wolfram kernel', state: 'ok', found: `answers ${took}` },
      ...(engine === null ? [{ name: 'Wolfram Engine', ...NO_LICENSED }] : checkLicensed(engine)),
    ],
  })

const checkLicensed = ({ kernel, library, python }: InstalledEngine): readonly Check[] => [
  { name: 'Wolfram Engine', state: 'ok', found: `${kernel}, by ${library}` },
  { name: 'host', state: 'ok', found: `${python}, Python 3.11 or newer` },
  { name: 'licensed kernels', ...NOT_PROVED },
]

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

/** The Python that a shell finds, where no kernel can be started to ask it. */
export function findInterpreter(): Check {
  const { stdout, error } = spawnSync('python3', ['--version'], { encoding: 'utf8', timeout: 5_000 })
  const fix = 'install Python 3.9 or newer'
  if (error !== undefined)
    return { name: 'interpreter', state: 'broken', found: 'there is no python3 on the PATH', fix }
  return { name: 'interpreter', state: 'ok', found: `${stdout.trim()} on the PATH` }
}

export const milliseconds = (ms: number) => `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`
