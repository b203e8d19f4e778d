import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import pTimeout from 'p-timeout'
import type { Report } from './support/harness.ts'
import { endLeft, makeFolder, memoryFolder, removeFolder } from './support/temporary.ts'
import type { Task } from './support/worker.ts'

/**
 * Runs every `*.test.ts`, tells how long each took, and ends with the line `N passed, N failed`. A file that can start
 * processes has a process of its own; the others share one for as long as it lasts. What hangs is killed, and fails by
 * its name. Arguments narrow the files to those whose path contains one of them. With `IMAGO_TEST_LONG=1`, tests that
 * draw their cases draw more of them.
 */
// One more would end the run a little sooner, and have some test wait in vain for what another keeps from running.
const AT_ONCE = Math.min(2, availableParallelism())
const LONG = process.env.IMAGO_TEST_LONG === '1' ? 5 : 1
const FILE_LIMIT_MS = Number(process.env.IMAGO_TEST_LIMIT_MS ?? 420_000) * LONG
/** As long as a worker may take to end. */
const END_LIMIT_MS = 30_000
const SLOWEST_SHOWN = 10
const WORKER = [
  '--import',
  new URL('support/typescript.mjs', import.meta.url).href,
  join(import.meta.dirname, 'support/worker.ts'),
]
const root = process.env.IMAGO_TEST_ROOT ?? import.meta.dirname
/** How long each file took the last time, in seconds. */
const timesFile = join(root, '../.test-runtimes/times.json')
const words = process.argv.slice(2)

/** A process that runs files one after another, in a temporary folder that goes with it. */
class Worker {
  /** What it has printed since its last file began. */
  text = ''
  readonly #folder: string
  readonly #child: ChildProcess
  readonly #exit: Promise<number | null>
  #file = ''
  #report = emptyReport()

  constructor({ shared }: Pick<Task, 'shared'>) {
    // Tests that start nothing make sure of tens of thousands of files; on a disk they would wait for each.
    this.#folder = makeFolder(shared && LONG === 1 ? memoryFolder() : undefined)
    this.#child = spawn(process.execPath, WORKER, {
      // Interpreters keep what they compile, as they do for users: each would compile our peer anew otherwise.
      env: { ...process.env, PYTHONDONTWRITEBYTECODE: '', IMAGO_TEST_FOLDER: this.#folder },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    // A grandchild may hold the pipes open, so the end of the process counts and not theirs.
    this.#exit = new Promise(resolve => this.#child.once('exit', code => setImmediate(resolve, code)))
    for (const pipe of [this.#child.stdout, this.#child.stderr])
      pipe?.on('data', (data: Buffer) => {
        this.text = (this.text + data.toString()).slice(-200_000)
      })
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }

  /** The file's report. None, an empty one, or a process that is gone or does not answer counts as one failure. */
  async run(task: Task): Promise<Report> {
    this.text = ''
    this.#file = relative(root, task.path)
    this.#report = emptyReport()
    const answered = new Promise<Report>(resolve => {
      this.#child.once('message', resolve)
      this.#child.send(task, () => undefined)
    })
    const answer = await pTimeout(Promise.race([answered, this.#exit]), {
      milliseconds: FILE_LIMIT_MS,
      fallback: () => 'hangs' as const,
    })
    if (answer === 'hangs') {
      this.#fail(`still running after ${FILE_LIMIT_MS} ms, killed`)
      this.#child.kill('SIGKILL')
      await this.#exit
    } else if (typeof answer === 'number' || answer === null)
      this.#fail(`ended before its report (exit ${answer})`)
    else {
      this.#report = answer
      if (answer.passed + answer.failed.length + answer.skipped.length === 0) this.#fail('reported no test')
    }
    return this.#report
  }

  /** Lets it end. A bad exit after a clean report counts as one failure of its last file. */
  async end(): Promise<void> {
    if (this.#child.connected) this.#child.disconnect()
    const code = await pTimeout(this.#exit, {
      milliseconds: END_LIMIT_MS,
      fallback: () => {
        this.#child.kill('SIGKILL')
        return this.#exit
      },
    })
    if (code !== 0 && this.#report.failed.length === 0) this.#fail(`exit ${code}`)
    for (const command of endLeft(this.#folder))
      process.stdout.write(`     left behind and ended: ${command}\n`)
    removeFolder(this.#folder)
  }

  #fail(reason: string): void {
    this.#report.failed.push(`${this.#file}: ${reason}`)
  }
}

const times = readTimes()
const starting = new Map<string, boolean>()
const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter(path => path.endsWith('.test.ts'))
  .filter(path => words.length === 0 || words.some(word => path.includes(word)))
  // The longest first, or one of them is still at work, alone, when all others are done.
  .sort((one, other) => (times[other] ?? 0) - (times[one] ?? 0) || one.localeCompare(other))
const alone = files.filter(file => startsProcesses(join(root, file)))
const shared = files.filter(file => !alone.includes(file))
const reports: Report[] = []
const seconds: Record<string, number> = {}

await Promise.all(Array.from({ length: AT_ONCE }, lane))
conclude()

async function lane() {
  for (let file = alone.shift(); file !== undefined; file = alone.shift()) {
    const worker = new Worker({ shared: false })
    await runFile(worker, { path: join(root, file), shared: false })
  }
  let worker = new Worker({ shared: true })
  for (let file = shared.shift(); file !== undefined; file = shared.shift()) {
    if (worker.hasEnded) worker = new Worker({ shared: true })
    await runFile(worker, { path: join(root, file), shared: true })
  }
  await worker.end()
}

/** Whether what the file loads, of the tests and of the product, can start processes. Types are not loaded. */
function startsProcesses(path: string): boolean {
  const known = starting.get(path)
  if (known !== undefined) return known
  const loads = readFileSync(path, 'utf8').matchAll(
    /^(?:import|export) (?!type )[^']*?'([^']+)'|\bimport\('([^']+)'\)/gm,
  )
  const starts = [...loads]
    .map(([, named, lazily = '']) => named ?? lazily)
    .some(name => {
      if (name === 'node:child_process') return true
      const loaded = join(dirname(path), name)
      return /^\..*\.ts$/.test(name) && existsSync(loaded) && startsProcesses(loaded)
    })
  starting.set(path, starts)
  return starts
}

/** Runs the file and tells its report. A process of its own ends with it. */
async function runFile(worker: Worker, task: Task): Promise<void> {
  const file = relative(root, task.path)
  const started = performance.now()
  const report = await worker.run(task)
  if (!task.shared || worker.hasEnded) await worker.end()
  const took = (performance.now() - started) / 1000
  seconds[file] = took
  reports.push(report)
  const mark = report.failed.length > 0 ? 'FAIL' : 'ok'
  process.stdout.write(`${mark.padEnd(5)}${shown(file)}  ${report.passed}  ${took.toFixed(1)} s\n`)
  if (report.failed.length === 0) return
  // The report does not come by the same way as what was printed before it.
  await setTimeout(50)
  process.stdout.write(`${worker.text}\n`)
}

function shown(file: string): string {
  return relative(process.cwd(), join(root, file))
}

function emptyReport(): Report {
  return { passed: 0, failed: [], skipped: [] }
}

function readTimes(): Record<string, number> {
  try {
    return JSON.parse(readFileSync(timesFile, 'utf8')) as Record<string, number>
  } catch {
    return {}
  }
}

function conclude() {
  mkdirSync(dirname(timesFile), { recursive: true })
  writeFileSync(timesFile, JSON.stringify({ ...times, ...seconds }, null, 1))
  tellSlowest()
  const passed = reports.reduce((sum, report) => sum + report.passed, 0)
  const failed = reports.flatMap(report => report.failed)
  const skipped = reports.flatMap(report => report.skipped)
  for (const name of skipped) console.log(`skipped: ${name}`)
  for (const name of failed) console.log(`failed: ${name}`)
  if (skipped.length > 0) console.log(`${skipped.length} skipped`)
  console.log(`${passed} passed, ${failed.length} failed`)
  process.exitCode = failed.length > 0 || passed === 0 ? 1 : 0
}

function tellSlowest() {
  const slowest = Object.entries(seconds).sort(([, one], [, other]) => other - one)
  if (slowest.length <= SLOWEST_SHOWN) return
  console.log('slowest:')
  for (const [file, took] of slowest.slice(0, SLOWEST_SHOWN))
    console.log(`  ${took.toFixed(1).padStart(5)} s  ${shown(file)}`)
}
