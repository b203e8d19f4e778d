import { z } from 'zod'
import { duration } from '../../../tools/wording.ts'
import { WireError } from '../../../wire/errors.ts'
import { messageOf } from '../../failure.ts'
import type { DaemonClient } from '../client.ts'
import type { KernelRow } from '../protocol.ts'
import type { Area, Check } from './check.ts'

/** The daemon that answers, with the time that one question there and back takes. */
export async function checkDaemon(client: DaemonClient): Promise<Area> {
  const asked = performance.now()
  const { version, pid, uptime_ms, log, clients, kernels } = await client.request('status', {})
  const took = milliseconds(performance.now() - asked)
  const found = `version ${version}, process ${pid}, since ${duration(uptime_ms)}, ${count(clients, 'client')}, ${count(kernels, 'kernel')}`
  return {
    title: 'Daemon',
    checks: [
      { name: 'answers', state: 'ok', found: `${found}; round trip ${took}` },
      { name: 'log', state: 'ok', found: log },
    ],
  }
}

const FACTS = z.object({
  executable: z.string(),
  packages: z.record(z.string(), z.string().nullable()),
})

/** Whether a Python kernel can be started for this project, and what its interpreter has. */
export async function checkPython(client: DaemonClient): Promise<Area> {
  const title = 'Python'
  try {
    const trial = await client.request('trial', { language: 'python' })
    const { executable, packages } = FACTS.parse(JSON.parse(trial.facts))
    const start = `starts in ${duration(trial.start_ms)}; round trip ${milliseconds(trial.round_trip_ms)}`
    const interpreter = `${trial.implementation} at ${executable}`
    return {
      title,
      checks: [
        { name: 'interpreter', state: 'ok', found: interpreter },
        { name: 'a kernel', state: 'ok', found: start },
        ...OPTIONAL.map(wanted => checkPackage({ ...wanted, version: packages[wanted.name], executable })),
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

const OPTIONAL = [
  {
    name: 'msgpack',
    gives: 'a more compact link to large results',
    install: 'msgpack',
  },
  {
    name: 'imago',
    gives: '`import imago; imago.listen()` in programs that this interpreter runs, and `%load_ext imago`',
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
export async function checkLisp(client: DaemonClient): Promise<Area> {
  const title = 'Common Lisp'
  try {
    const trial = await client.request('trial', { language: 'lisp' })
    const { executable, swank, version } = LISP_FACTS.parse(JSON.parse(trial.facts))
    const start = `starts in ${duration(trial.start_ms)}; round trip ${milliseconds(trial.round_trip_ms)}`
    return {
      title,
      checks: [
        { name: 'lisp', state: 'ok', found: `${trial.implementation} at ${executable}` },
        { name: 'swank', state: 'ok', found: `${version ?? 'of unknown version'} from ${swank}` },
        { name: 'a lisp kernel', state: 'ok', found: start },
      ],
    }
  } catch (error) {
    return { title, checks: [isNotThere(error) ? NO_LISP : brokenLisp(error)] }
  }
}

const NO_LISP: Check = {
  name: 'lisp',
  state: 'missing',
  found: 'no SBCL or ECL on the PATH',
  gives: '`imago start lisp`; your own image needs none of it: imago attach swank://4005',
  fix: 'install SBCL and Swank (Debian: apt install sbcl cl-swank), or name one as kernels.lisp in config.toml',
}

const brokenLisp = (error: unknown): Check => ({
  name: 'a lisp kernel',
  state: 'broken',
  found: messageOf(error).replaceAll(/\s*\n\s*/g, ' '),
  fix: 'mend what it says; kernels.lisp and kernels.swank in config.toml name another one',
})

/** The daemon found no interpreter, rather than one that does not work. */
function isNotThere(error: unknown): boolean {
  const data = error instanceof WireError ? FAILURE.safeParse(error.remote?.data) : undefined
  return data?.data?.details.reason === 'KERNEL_NOT_FOUND'
}

const FAILURE = z.object({ details: z.object({ reason: z.string() }) })

/** Each kernel that lives, with one look there and back; a kernel that is busy answers looks as well. */
export async function checkKernels(client: DaemonClient): Promise<Area> {
  const { kernels } = await client.request('kernels', {})
  const checks = await Promise.all(kernels.filter(isThere).map(row => checkKernel(client, row)))
  const none: Check = {
    name: 'kernels',
    state: 'ok',
    found: 'none lives now; the first call in a project starts one',
  }
  return { title: 'Kernels', checks: checks.length === 0 ? [none] : checks }
}

const isThere = ({ state }: KernelRow) => state !== 'ended'

async function checkKernel(
  client: DaemonClient,
  { name, implementation, state, message }: KernelRow,
): Promise<Check> {
  if (state === 'crash_loop')
    return {
      name,
      state: 'broken',
      found: message ?? 'it ends each time it is started',
      fix: `imago restart ${name}`,
    }
  const asked = performance.now()
  const envelope = await client.call({ tool: 'list_globals', args: { kernel: name, limit: 1 } })
  const took = milliseconds(performance.now() - asked)
  const found = `${implementation ?? 'not started yet'}, ${state}; round trip ${took}`
  if (envelope.ok) return { name, state: 'ok', found }
  const { message: why, next } = envelope.error
  return { name, state: 'broken', found: why, ...(next !== null && { fix: next }) }
}

const milliseconds = (ms: number) => `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`
const count = (number: number, what: string) => `${number} ${what}${number === 1 ? '' : 's'}`
