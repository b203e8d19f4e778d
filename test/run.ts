import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import type { Report } from './support/harness.ts'
import { SLOWEST } from './support/slowest.ts'
import { endLeft, makeFolder, removeFolder } from './support/temporary.ts'

/**
 * Runs every `*.test.ts`, each in a process of its own that is killed when it hangs, tells how long each took, and ends
 * with the line `N passed, N failed`. Arguments narrow the files to those whose path contains one of them.
 */
// One more would end the run a little sooner, and have some test wait in vain for what another keeps from running.
const AT_ONCE = Math.min(2, availableParallelism())
const FILE_LIMIT_MS = 420_000
const SLOWEST_SHOWN = 10
const LOADER = ['--import', new URL('support/typescript.mjs', import.meta.url).href]
const root = import.meta.dirname
const words = process.argv.slice(2)

const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter(path => path.endsWith('.test.ts'))
  .filter(path => words.length === 0 || words.some(word => path.includes(word)))
  .sort()
const folder = mkdtempSync(join(tmpdir(), 'imago-test-'))
const reports: Report[] = []
const seconds = new Map<string, number>()
// The longest first, or one of them is still at work, alone, when all others are done.
const queue = [...files].sort((one, other) => rank(one) - rank(other))

await Promise.all(Array.from({ length: AT_ONCE }, worker))
rmSync(folder, { recursive: true, force: true })
conclude()

function rank(file: string): number {
  const place = SLOWEST.indexOf(file)
  return place < 0 ? SLOWEST.length : place
}

async function worker() {
  for (let file = queue.shift(); file !== undefined; file = queue.shift()) reports.push(await runFile(file))
}

/** One file's report. No report, an empty one, or a bad exit with a clean report counts as one failure. */
async function runFile(file: string): Promise<Report> {
  const path = join(folder, `${file.replaceAll('/', '-')}.json`)
  const temporary = makeFolder()
  const env = { ...process.env, IMAGO_TEST_REPORT: path, IMAGO_TEST_FOLDER: temporary }
  const started = performance.now()
  const { text, code, timedOut } = await runProcess(join(root, file), env)
  const took = (performance.now() - started) / 1000
  seconds.set(file, took)
  const left = endLeft(temporary)
  removeFolder(temporary)
  const report = readReport(path)
  const tests = report.passed + report.failed.length + report.skipped.length
  if (timedOut) report.failed.push(`${file}: still running after ${FILE_LIMIT_MS} ms, killed`)
  else if (tests === 0) report.failed.push(`${file}: reported no test (exit ${code})`)
  else if (code !== 0 && report.failed.length === 0) report.failed.push(`${file}: exit ${code}`)
  const mark = report.failed.length > 0 ? 'FAIL' : 'ok'
  process.stdout.write(`${mark.padEnd(5)}${shown(file)}  ${report.passed}  ${took.toFixed(1)} s\n`)
  for (const command of left) process.stdout.write(`     left behind and ended: ${command}\n`)
  if (report.failed.length > 0) process.stdout.write(`${text}\n`)
  return report
}

function shown(file: string): string {
  return relative(process.cwd(), join(root, file))
}

function runProcess(path: string, env: NodeJS.ProcessEnv) {
  return new Promise<{ text: string; code: number | null; timedOut: boolean }>(resolve => {
    const child = spawn(process.execPath, [...LOADER, path], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let text = ''
    let timedOut = false
    const keep = (data: Buffer) => {
      text = (text + data.toString()).slice(-200_000)
    }
    child.stdout.on('data', keep)
    child.stderr.on('data', keep)
    const timer = setTimeout(() => {
      timedOut = true
      child.kill('SIGKILL')
    }, FILE_LIMIT_MS)
    child.on('exit', code => {
      clearTimeout(timer)
      // A grandchild may hold the pipes open, so the end of the process counts and not theirs.
      setImmediate(() => resolve({ text, code, timedOut }))
    })
  })
}

function readReport(path: string): Report {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Report
  } catch {
    return { passed: 0, failed: [], skipped: [] }
  }
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
  if (seconds.size <= SLOWEST_SHOWN) return
  const slowest = [...seconds].sort(([, one], [, other]) => other - one).slice(0, SLOWEST_SHOWN)
  console.log('slowest:')
  for (const [file, took] of slowest) console.log(`  ${took.toFixed(1).padStart(5)} s  ${shown(file)}`)
}
