import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { delimiter, dirname, join, relative, resolve, sep } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import pTimeout from 'p-timeout'
import type { Report } from './support/harness.ts'
import { ProcessorTime } from './support/processor-time.ts'
import { lispCache, plainPythonFolder } from './support/runtimes.ts'
import { endLeft, makeFolder, memoryFolder, removeFolder } from './support/temporary.ts'
import { type Taken, Turns } from './support/turns.ts'
import type { Task } from './support/worker.ts'

/**
 * Runs every `*.test.ts`, tells how long each took, and ends with the line `N passed, N failed`. Files share processes, one
 * after another, for as long as those last: those that can start processes share with each other, and with no file after
 * one that has left its process changed. What hangs is killed, and fails by its name. Arguments narrow the files to those whose path contains one of them, or is or lies in the path that one of
 * them is from here. With `IMAGO_TEST_LONG=1`, tests that draw their cases draw more of them. With
 * `IMAGO_TEST_MEASURE=1`, each processor has one file at a time, and what each file takes is kept in `times.json`, by
 * which later runs tell how many files have room at once.
 */
/** The part of the processors that tests may fill. Over that, some wait in vain for what others keep from running. */
const FILLED = 1.3
/** Files that run beside one on each processor: while some wait, others work. */
const BESIDES = 2
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
/**
 * What takes longer than the start of a process itself is left out of the thousands that tests start: packages of this
 * machine's Python and the launchers of pyenv; certificates, which Node reads at each start and no test needs.
 */
const FAST_STARTS = {
  PATH: [plainPythonFolder, process.env.PATH].join(delimiter),
  NODE_EXTRA_CA_CERTS: undefined,
}
const root = process.env.IMAGO_TEST_ROOT ?? import.meta.dirname
const timesFile = join(root, 'times.json')
const isMeasuring = process.env.IMAGO_TEST_MEASURE === '1'
const words = process.argv.slice(2)

/** A process that runs files one after another, in a temporary folder that goes with it. */
class Worker {
  /** What it has printed since its last file began. */
  text = ''
  readonly folder: string
  readonly #child: ChildProcess
  readonly #exit: Promise<number | null>
  #file = ''
  #report = emptyReport()

  constructor({ shared }: Pick<Task, 'shared'>) {
    // Tests that start nothing make sure of tens of thousands of files; on a disk they would wait for each.
    this.folder = makeFolder(shared && LONG === 1 ? memoryFolder() : undefined)
    this.#child = spawn(process.execPath, WORKER, {
      // Interpreters keep what they compile, as they do for users: each would compile our peer anew otherwise.
      env: {
        ...process.env,
        ...FAST_STARTS,
        PYTHONDONTWRITEBYTECODE: '',
        XDG_CACHE_HOME: lispCache,
        IMAGO_TEST_FOLDER: this.folder,
      },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    // A grandchild may hold the pipes open, so the end of the process counts and not theirs.
    this.#exit = new Promise(resolve => this.#child.once('exit', code => setImmediate(resolve, code)))
    for (const pipe of [this.#child.stdout, this.#child.stderr])
      pipe?.on('data', (data: Buffer) => {
        this.text = (this.text + data.toString()).slice(-200_000)
      })
  }

  get pid(): number {
    return this.#child.pid ?? 0
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
    this.endLeft()
    removeFolder(this.folder)
  }

  /** Ends what its last file has started and left behind, and tells of it. */
  endLeft(): void {
    tellLeft(endLeft(this.folder))
  }

  /** Ends it and all that it has started, at once. */
  kill(): void {
    this.#child.kill('SIGKILL')
    tellLeft(endLeft(this.folder, { all: true }))
    removeFolder(this.folder)
  }

  #fail(reason: string): void {
    this.#report.failed.push(`${this.#file}: ${reason}`)
  }
}

const starting = new Map<string, boolean>()
const all = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(path => path.endsWith('.test.ts'))
const unknown = words.filter(word => !all.some(file => isNamed(file, word)))
const workers = new Set<Worker>()
/** Those that run no file at the moment, for files that can start processes and for the others. */
const idle: { readonly own: Worker[]; readonly shared: Worker[] } = { own: [], shared: [] }
const reports: Report[] = []
const seconds: Record<string, number> = {}

if (unknown.length > 0) {
  for (const word of unknown) console.error(`no test file is named ${word}`)
  process.exitCode = 2
} else {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => breakOff(signal))
  await runAll(all.filter(file => words.length === 0 || words.some(word => isNamed(file, word))))
  conclude()
}

/** Whether the word is a part of the file's path, or the path from here of the file or of a folder around it. */
function isNamed(file: string, word: string): boolean {
  const path = join(root, file)
  const meant = resolve(word)
  return (
    file.includes(word) ||
    path === meant ||
    (path.startsWith(meant + sep) && meant !== root) ||
    meant === root
  )
}

async function runAll(files: readonly string[]): Promise<void> {
  const processors = availableParallelism()
  const turns = new Turns(
    files,
    readTimes(),
    isMeasuring
      ? { room: Number.POSITIVE_INFINITY, most: processors }
      : { room: processors * FILLED, most: processors + BESIDES },
  )
  await new Promise<void>((resolve, reject) => {
    const running = new Set<string>()
    const fill = () => {
      for (let file = turns.take(); file !== undefined; file = turns.take()) {
        const taken = file
        running.add(taken)
        runFile(taken).then(() => {
          running.delete(taken)
          turns.end(taken)
          fill()
        }, reject)
      }
      if (running.size === 0) resolve()
    }
    fill()
  })
  for (const worker of [...idle.own, ...idle.shared]) await worker.end()
}

/** As Ctrl-C does: ends all that runs, and counts as one failure. */
function breakOff(signal: NodeJS.Signals): void {
  for (const worker of workers) worker.kill()
  reports.push({ passed: 0, failed: [`the run was ended by ${signal}`], skipped: [] })
  conclude()
  process.exit(1)
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

/** Runs the file and tells its report. A process in which no other file may run ends with it. */
async function runFile(file: string): Promise<void> {
  const path = join(root, file)
  const task = { path, shared: !startsProcesses(path) }
  const started = performance.now()
  const others = task.shared ? idle.shared : idle.own
  const free = others.pop()
  if (free?.hasEnded) await free.end()
  const worker = free?.hasEnded === false ? free : new Worker(task)
  workers.add(worker)
  const processor = isMeasuring ? new ProcessorTime(worker.pid, worker.folder) : undefined
  const report = await worker.run(task)
  const measured = processor?.end()
  const lasts = !worker.hasEnded && (task.shared || report.isAsBefore === true)
  if (lasts) worker.endLeft()
  else {
    await worker.end()
    workers.delete(worker)
  }
  const took = (performance.now() - started) / 1000
  seconds[file] = took
  reports.push(report)
  if (measured !== undefined) keepTimes({ [file]: { seconds: rounded(took), processor: rounded(measured) } })
  const mark = report.failed.length > 0 ? 'FAIL' : 'ok'
  process.stdout.write(`${mark.padEnd(5)}${shown(file)}  ${report.passed}  ${took.toFixed(1)} s\n`)
  if (report.failed.length > 0) {
    // The report does not come by the same way as what was printed before it.
    await setTimeout(50)
    process.stdout.write(`${worker.text}\n`)
  }
  if (lasts) others.push(worker)
}

function tellLeft(commands: readonly string[]): void {
  for (const command of commands) process.stdout.write(`     left behind and ended: ${command}\n`)
}

function shown(file: string): string {
  return relative(process.cwd(), join(root, file))
}

function emptyReport(): Report {
  return { passed: 0, failed: [], skipped: [] }
}

function readTimes(): Record<string, Taken> {
  return existsSync(timesFile) ? (JSON.parse(readFileSync(timesFile, 'utf8')) as Record<string, Taken>) : {}
}

/** In order, so that a change shows what has changed, and without files that are no more. */
function keepTimes(taken: Readonly<Record<string, Taken>>): void {
  const lines = Object.entries({ ...readTimes(), ...taken })
    .filter(([file]) => all.includes(file))
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([file, times]) =>
      `  ${JSON.stringify(file)}: ${JSON.stringify(times, null, 1)}`.replace(/\n ?/g, ' '),
    )
  writeFileSync(timesFile, `{\n${lines.join(',\n')}\n}\n`)
}

function rounded(seconds: number): number {
  return Math.round(seconds * 10) / 10
}

function conclude() {
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
