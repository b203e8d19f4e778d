import { z } from 'zod'
import { TEST_FRAMEWORKS, type TestFailure, type TestReport } from '../wire/kernel.ts'
import { defineTool } from './define.ts'
import { type Diagnosed, diagnosed, showDiagnosed } from './diagnostics.ts'
import { dataSize, fitting } from './fit.ts'
import { counted, NAME_LENGTH, placeOf } from './naming.ts'
import { type Printed, showPrinted } from './output.ts'
import { runWork } from './run-work.ts'
import { duration, indent, oneLine } from './wording.ts'
import { type Done, workOutcome } from './work-outcome.ts'

/**
 * What a run of tests is answered with. That tests fail is a result; `tests` is null where the image tells none, and
 * their `ok` where nobody knows whether they passed.
 */
interface TestRun extends Printed, Diagnosed {
  readonly tests: TestReport | null
  readonly elapsed_ms: number
}

export const runTests = defineTool({
  name: 'run_tests',
  description:
    'Run tests in the live image, and get every failure as data: the test, what was expected, and the check. In ' +
    'Lisp: suites and tests of FiveAM or Parachute that are loaded, or the `test-op` of an ASDF system, which is ' +
    'loaded first: what FiveAM and Parachute check in it is counted, and without that only its output tells ' +
    'whether the tests passed. Failing tests are a result, not an error. Load what you changed before: the tests ' +
    'run what the image has, not what the files say.',
  parameters: {
    target: z
      .string()
      .min(1)
      .max(NAME_LENGTH)
      .describe(
        'A test, a suite, a package with tests (such as `SHOP-TESTS`), or a system (such as `shop`).',
      ),
    framework: z
      .enum(TEST_FRAMEWORKS)
      .optional()
      .describe('Whose test it is, where several could know it. Left out: the one that does.'),
  },
  level: 'cautious',
  profile: 'full',
  categories: ['execution', 'project'],
  needs: ['tests'],
  examples: [
    { args: { target: 'shop-tests:totals' }, shows: 'one suite' },
    { args: { target: 'shop', framework: 'asdf' }, shows: 'the test operation of a system' },
  ],

  preview: ({ target, framework }) => ({
    title: `Run the tests of ${target}${framework === undefined ? '' : ` (${framework})`}`,
    body: 'The tests are code of the image, and run there.',
  }),

  async handler({ target, framework }, context) {
    const which = framework === undefined ? {} : { framework }
    const evaluated = await runWork({ type: 'tests', target, ...which }, context)
    return workOutcome(evaluated, { output: context.output, done: testRun })
  },

  show: result => showTestRun(result as TestRun),
})

function testRun({ tests, elapsed_ms, diagnostics }: Done, text: Printed): TestRun {
  return {
    tests: tests === undefined ? null : fitted(tests),
    ...diagnosed(diagnostics),
    ...text,
    elapsed_ms,
  }
}

/** The first failures, as many as fit. */
function fitted(report: TestReport): TestReport {
  const failures = fitting(report.failures, dataSize)
  return { ...report, failures, omitted: report.omitted + report.failures.length - failures.length }
}

function showTestRun(result: TestRun): string {
  const { tests, elapsed_ms } = result
  const told =
    tests === null
      ? [`done, ${duration(elapsed_ms)}; the image tells no results`]
      : [
          `${verdict(tests)}, ${duration(elapsed_ms)}: ${came(tests, result)}`,
          ...tests.failures.flatMap(failureLines),
          ...(tests.omitted > 0 ? [`and ${counted(tests.omitted, 'more failure')}, not shown`] : []),
        ]
  return [...told, ...showDiagnosed(result), ...showPrinted(result)].join('\n')
}

/** The first words, for whoever reads one line: `PASS shop-tests::totals (fiveam)`. */
function verdict({ ok, target, framework }: TestReport): string {
  const word = ok === null ? 'ran' : ok ? 'PASS' : 'FAIL'
  return `${word} ${oneLine(target)} (${framework})`
}

/** What the checks came to, or what can be said where nobody counted any. */
function came({ ok, framework, passed, failed, skipped }: TestReport, { output }: Printed): string {
  const skips = skipped === null || skipped === 0 ? [] : [`${skipped} skipped`]
  const told = passed === null ? [] : [`${passed} passed`, `${failed} failed`, ...skips]
  if (ok !== null) return told.length === 0 ? `${framework} does not count checks` : told.join(', ')
  if (passed !== null) return `${told.join(', ')}: no check came to anything, so nothing was tested`
  if (output !== '') return 'without an error; whether the tests passed is in the output'
  return 'without an error, and printed nothing: as far as can be told, nothing was tested'
}

/** `✗ shop-tests::totals-add-up  /srv/shop/tests.lisp:12`, below it why, and the check. */
function failureLines(failure: TestFailure): string[] {
  const { test, reason, expression } = failure
  const place = placeOf(failure)
  const lines = [`✗ ${oneLine(test)}${place === '' ? '' : `  ${place}`}`, indent(reason.trimEnd())]
  return expression === null || expression === '' ? lines : [...lines, `  in: ${oneLine(expression)}`]
}
