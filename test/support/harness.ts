import { setTimeout } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import pTimeout from 'p-timeout'
import { endBegun } from './endings.ts'
import { makeFolder, useFolder } from './temporary.ts'

export * as assert from 'uvu/assert'

/**
 * uvu with its four holes closed: suites run themselves, a throwing hook fails, a test has a time limit, and open
 * handles do not keep the process alive. `test/run.ts` runs files through `support/worker.ts` and reads their reports; a
 * file that Node starts directly runs itself.
 */
export interface Suite {
  (fact: string, body: () => void | Promise<void>): void
  /** Counted and shown as skipped, with the reason. */
  skip(fact: string, reason: string): void
  before: Hook
  after: Hook
}

interface Hook {
  (body: () => void | Promise<void>): void
  each(body: () => void | Promise<void>): void
}

/** What one file reports: the names of what failed and of what was skipped, and how much passed. */
export interface Report {
  passed: number
  failed: string[]
  skipped: string[]
  /** Whether the process is as it was before the file, so that another file can run there. */
  isAsBefore?: boolean
}

declare global {
  /** uvu's own: with the first, it runs what is in its queue only when told to. */
  var UVU_DEFER: boolean
  var UVU_QUEUE: unknown[][]
}
globalThis.UVU_DEFER = true
const { exec, suite: uvuSuite } = await import('uvu')

/** Whether this is `npm run test:long`, in which what draws its cases from a seed does so from many. */
export const isLong = process.env.IMAGO_TEST_LONG === '1'

useFolder(process.env.IMAGO_TEST_FOLDER ?? makeFolder())
// Another file that this one starts has one of its own.
delete process.env.IMAGO_TEST_FOLDER

/** The suites that the file being loaded has made, and what it reports. */
let suites: { run(): void }[] = []
let report = emptyReport()
let running = false
let inWorker = false

/** A group of tests under one name. `limitMs` bounds each test and hook, 40 seconds unless given. */
export function suite(title: string, { limitMs = 40_000 } = {}): Suite {
  if (running) throw new Error(`suite ${title} was made after the tests began; make suites synchronously`)
  const inner = uvuSuite(title)
  const own = report
  const broken: unknown[] = []
  suites.push(inner)
  if (!inWorker && suites.length === 1) setImmediate(runItself)

  const bounded = (what: string, body: () => void | Promise<void>) => {
    const work = async () => body()
    return pTimeout(work(), { milliseconds: limitMs, message: `${what} took longer than ${limitMs} ms` })
  }
  const guarded = (what: string, body: () => void | Promise<void>) => async () => {
    try {
      await bounded(`${title}: ${what}`, body)
    } catch (error) {
      broken.push(error)
      own.failed.push(`${title}: ${what}`)
      console.error(`\n${title}: ${what} failed`, error)
    }
  }

  const test = ((fact, body) =>
    inner(fact, async () => {
      if (broken.length > 0) {
        own.failed.push(`${title}: ${fact}`)
        throw broken[0]
      }
      try {
        await bounded(fact, body)
        own.passed++
      } catch (error) {
        own.failed.push(`${title}: ${fact}`)
        throw printable(error)
      }
    })) as Suite
  test.skip = (fact, reason) => {
    own.skipped.push(`${title}: ${fact} (${reason})`)
    inner.skip()
  }
  test.before = Object.assign((body: () => void | Promise<void>) => inner.before(guarded('before', body)), {
    each: (body: () => void | Promise<void>) => inner.before.each(guarded('before each', body)),
  })
  test.after = Object.assign((body: () => void | Promise<void>) => inner.after(guarded('after', body)), {
    each: (body: () => void | Promise<void>) => inner.after.each(guarded('after each', body)),
  })
  return test
}

/** Loads a file and runs its suites. Only in a worker, one file at a time. */
export async function runFile(path: string): Promise<Report> {
  inWorker = true
  suites = []
  const own = emptyReport()
  report = own
  try {
    await import(pathToFileURL(path).href)
    await runSuites()
  } catch (error) {
    own.failed.push(`${path}: could not be loaded`)
    console.error(error)
  }
  endBegun()
  return own
}

/** Leaves a moment for what was not waited for to fail, then ends whatever still holds the process open. */
async function runItself(): Promise<void> {
  await runSuites()
  await setTimeout(50)
  process.exit(report.failed.length > 0 ? 1 : 0)
}

async function runSuites(): Promise<void> {
  running = true
  globalThis.UVU_QUEUE.splice(0, Number.POSITIVE_INFINITY, [null])
  for (const inner of suites) inner.run()
  await exec()
  running = false
}

function emptyReport(): Report {
  return { passed: 0, failed: [], skipped: [] }
}

/** uvu takes `details` for text, and ends a suite without a word on an error where it is something else. */
function printable(error: unknown): Error {
  if (error instanceof Error && typeof (error as { details?: unknown }).details !== 'object') return error
  const shown = new Error(
    error instanceof Error ? `${error.name}: ${error.message}` : `thrown: ${String(error)}`,
  )
  if (error instanceof Error && error.stack !== undefined) shown.stack = error.stack
  return shown
}

process.on('unhandledRejection', error => {
  report.failed.push('an unhandled rejection')
  console.error('\nunhandled rejection', error)
})
