import { writeFileSync } from 'node:fs'
import pTimeout from 'p-timeout'
import { suite as uvuSuite } from 'uvu'
import { makeFolder, useFolder } from './temporary.ts'

export * as assert from 'uvu/assert'

/**
 * uvu with its four holes closed: suites run themselves, a throwing hook fails, a test has a time limit, and open
 * handles do not keep the process alive. `test/run.ts` starts each file in a process of its own and reads the report.
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
}

useFolder(process.env.IMAGO_TEST_FOLDER ?? makeFolder())
// Another file that this one starts has one of its own.
delete process.env.IMAGO_TEST_FOLDER

const report: Report = { passed: 0, failed: [], skipped: [] }
let open = 0
let started = false

/** A group of tests under one name. `limitMs` bounds each test and hook, 40 seconds unless given. */
export function suite(title: string, { limitMs = 40_000 } = {}): Suite {
  if (started) throw new Error(`suite ${title} was made after the tests began; make suites synchronously`)
  const inner = uvuSuite(title)
  const broken: unknown[] = []
  open++

  const bounded = (what: string, body: () => void | Promise<void>) => {
    const work = async () => body()
    return pTimeout(work(), { milliseconds: limitMs, message: `${what} took longer than ${limitMs} ms` })
  }
  const guarded = (what: string, body: () => void | Promise<void>) => async () => {
    try {
      await bounded(`${title}: ${what}`, body)
    } catch (error) {
      broken.push(error)
      report.failed.push(`${title}: ${what}`)
      console.error(`\n${title}: ${what} failed`, error)
    }
  }

  const test = ((fact, body) =>
    inner(fact, async () => {
      if (broken.length > 0) {
        report.failed.push(`${title}: ${fact}`)
        throw broken[0]
      }
      try {
        await bounded(fact, body)
        report.passed++
      } catch (error) {
        report.failed.push(`${title}: ${fact}`)
        throw printable(error)
      }
    })) as Suite
  test.skip = (fact, reason) => {
    report.skipped.push(`${title}: ${fact} (${reason})`)
    inner.skip()
  }
  test.before = Object.assign((body: () => void | Promise<void>) => inner.before(guarded('before', body)), {
    each: (body: () => void | Promise<void>) => inner.before.each(guarded('before each', body)),
  })
  test.after = Object.assign((body: () => void | Promise<void>) => inner.after(guarded('after', body)), {
    each: (body: () => void | Promise<void>) => inner.after.each(guarded('after each', body)),
  })

  setImmediate(() => {
    started = true
    inner.after(() => {
      open--
      if (open === 0) finish()
    })
    inner.run()
  })
  return test
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

/** Leaves a moment for uvu to print its failures, then ends whatever still holds the process open. */
function finish() {
  setTimeout(() => {
    const path = process.env.IMAGO_TEST_REPORT
    if (path) writeFileSync(path, JSON.stringify(report))
    process.exit(report.failed.length > 0 ? 1 : 0)
  }, 50)
}
