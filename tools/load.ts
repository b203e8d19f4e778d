import { z } from 'zod'
import {
  type Diagnostic,
  type Evaluated,
  type Loaded,
  loaded,
  type Of,
  type OldImport,
  type Survivor,
  TEST_FRAMEWORKS,
  type TestFailure,
  type TestReport,
  testReport,
} from '../wire/kernel.ts'
import type { KernelContext, OtherKernel } from './contract.ts'
import { defineTool } from './define.ts'
import {
  type Done,
  diagnosed,
  type Ended,
  type FreeWork,
  holdsErrors,
  lookingBack,
  type PrintedOutput,
  ranAnswer,
  runWork,
  showDiagnosed,
  showPrinted,
  tallied,
  workOutcome,
} from './execution.ts'
import { type Outcome, ok } from './outcome.ts'
import { NAME_LENGTH } from './parameters.ts'
import { definitionProved } from './proof.ts'
import { counted, dataTokens, duration, fitting, indent, oneLine, placeOf, programFrame } from './text.ts'

/** What loading is answered with. `loaded` is null where the image does not tell what it changed. */
const loadAnswer = z.object({
  ...ranAnswer.shape,
  loaded: loaded.nullable(),
})
type LoadAnswer = Of<typeof loadAnswer>

export const loadFile = defineTool({
  name: 'load_file',
  description:
    'Run a source file, or only some of its top-level definitions, in the live image, in the module that it is ' +
    'the source of. Use it after editing a file: the program runs the new code without a restart. Says which ' +
    'names were replaced, and what of the old still lives on.',
  parameters: {
    path: z.string().min(1).max(4_096).describe('The file, from the root of the project.'),
    names: z
      .array(z.string().min(1).max(NAME_LENGTH))
      .min(1)
      .max(100)
      .optional()
      .describe('Only these top-level functions, classes or variables; a Lisp name means its methods, too.'),
  },
  level: 'cautious',
  profile: 'live',
  categories: ['execution'],
  needs: ['load'],
  starts: true,
  // The image opens it, wherever it is; what a rule says about that place holds all the same.
  paths: [{ name: 'path', confined: false }],
  result: loadAnswer,
  examples: [
    { args: { path: 'shop/orders.py', names: ['total'] }, shows: 'one function that was just edited' },
    { args: { path: 'shop/orders.py' }, shows: 'the whole file' },
    { args: { path: 'src/orders.lisp', names: ['total'] }, shows: 'one function of a Lisp file' },
  ],

  /** Where a rule asks about it: the text that would run, which the approval is bound to. */
  async plan({ path, names }, { files }) {
    const file = await files.look(path)
    if (file.type === 'failed' && file.error.details.reason !== 'outside_project') return file
    const title = `Runs ${names === undefined ? path : `${names.join(', ')} of ${path}`} in the live image`
    const shown =
      file.type === 'failed'
        ? { body: OUTSIDE, evidence: [] }
        : { body: file.text ?? `It is not text: ${file.bytes} bytes.`, evidence: [file.evidence] }
    return { type: 'proposal', preview: { title, body: shown.body }, evidence: shown.evidence, changes: [] }
  },

  handler: ({ path, names }, context) => {
    const file = context.pathOf(path)
    const raised = 'What ran before it stays done. Correct the file, and load it again.'
    return load({ work: { type: 'load', file, ...(names !== undefined && { names }) }, raised }, context)
  },

  show: showLoading,
})

export const reload = defineTool({
  name: 'reload',
  description:
    'Run the source of a loaded module again. Says what was replaced, which old objects live on, and ' +
    'which modules have imported them, with the line that rebinds each.',
  parameters: {
    package: z.string().min(1).max(NAME_LENGTH).describe('A loaded module, such as `shop.orders`.'),
  },
  level: 'cautious',
  profile: 'live',
  categories: ['execution'],
  needs: ['reload'],
  result: loadAnswer,
  examples: [{ args: { package: 'shop.orders' }, shows: 'a module after its file was edited' }],

  preview: ({ package: module }) => ({
    title: `Runs the source of ${module} again`,
    body: 'Its file is not shown, and may hold another text by the time it runs.',
  }),

  handler: ({ package: module }, context) => {
    const raised = 'Correct the module’s file, and reload it again.'
    return load({ work: { type: 'reload', module }, raised }, context)
  },

  show: showLoading,
})

const OUTSIDE =
  'It lies outside of the project: its text is not shown, and may be another one by the time it runs.'

const UNREAD = 'Nothing of the file was run. Correct it, and load it again.'

async function load(
  { work, raised }: { readonly work: FreeWork; readonly raised: string },
  context: KernelContext,
) {
  const evaluated = await runWork(work, context)
  const unread = evaluated.type === 'raised' && evaluated.exception.unread === true
  const said = unread ? [UNREAD] : [raised, lookingBack(context)]
  const next = said.filter(sentence => sentence !== undefined).join(' ')
  const outcome = workOutcome(evaluated, { output: context.output, done: loading, raised: next })
  if (outcome.type !== 'ok') return outcome
  const notice = await oldElsewhere(outcome.result.loaded, context)
  return notice === undefined ? outcome : ok({ ...outcome.result, notice })
}

/** How long another program is asked about what was loaded here, in milliseconds. */
const OTHERS_MS = 500

/** A sentence on other programs of the project that have loaded the file, and are not proved to run its text of now. Never rejects. */
async function oldElsewhere(loaded: Loaded | null, context: KernelContext): Promise<string | undefined> {
  const { lookMs, signal, sources } = context
  const { module = null, file = null } = loaded ?? {}
  if (module === null || file === null) return undefined
  const isOld = async ({ kernel }: OtherKernel) => {
    const query = { name: module, max_length: 1, contexts: false }
    const looked = await kernel.look('definition', query, { deadlineMs: OTHERS_MS, signal })
    if (looked.type !== 'found' || looked.value.file !== file || looked.value.running?.older) return false
    const theirs = { kernel, lookMs, signal, sources }
    return (await definitionProved(looked.value, { length: 1, context: theirs })).current !== true
  }
  const asked = context.others().map(async one => ((await isOld(one).catch(() => false)) ? [one.name] : []))
  const names = (await Promise.all(asked)).flat()
  if (names.length === 0) return undefined
  const call = JSON.stringify({ path: file, kernel: names[0] })
  return `${names.join(', ')} still run${names.length === 1 ? 's' : ''} what was loaded there before: load_file ${call} loads this text.`
}

function loading({ loaded, elapsed_ms, diagnostics }: Done, text: PrintedOutput): LoadAnswer {
  return { loaded: loaded ?? null, ...diagnosed(diagnostics), ...text, elapsed_ms }
}

function showLoading(result: LoadAnswer): string {
  const { loaded, elapsed_ms } = result
  const told = loaded === null ? [`done, ${duration(elapsed_ms)}`] : loadedLines(loaded, elapsed_ms)
  return [...told, ...showDiagnosed(result), ...showPrinted(result)].join('\n')
}

export function loadedLines(loaded: Loaded, elapsed_ms: number): string[] {
  const { module, file, added, replaced, kept, skipped, survivors, imports = [], omitted, complete } = loaded
  const { unchanged = [], not_replaced = [] } = loaded
  const what = [file, module].find(one => one !== null) ?? 'it'
  const where = module === null ? 'at the top level' : `into ${oneLine(module)}`
  const lines = [`loaded ${oneLine(what)} ${where}, ${duration(elapsed_ms)}`]
  const changed = [...names('added', added), ...names('replaced', replaced)]
  lines.push(...(changed.length === 0 ? ['no name was added or replaced'] : changed))
  lines.push(...names('unchanged', unchanged), ...names('not replaced', not_replaced))
  lines.push(...names('left as they were, though the new text does not define them', kept))
  lines.push(...skipped.map(sentence => `not run: ${oneLine(sentence)}`))
  lines.push(...survivors.map(one => `still alive: ${survivorLine(one)}`))
  lines.push(...importLines(imports))
  if (!complete) lines.push('the search for old objects was ended early; there may be more')
  if (omitted > 0) lines.push(`${counted(omitted, 'more name')} not shown`)
  return lines
}

const names = (title: string, list: readonly string[]): string[] =>
  list.length === 0 ? [] : [`${title}: ${list.map(oneLine).join(', ')}`]

/** `shop.views has the old price by an import; to rebind it: import shop.views, prices; …` */
function importLines(imports: readonly OldImport[]): string[] {
  return imports.map(({ module, name, old, rebind }) => {
    const as = name === old ? '' : `, as ${oneLine(name)}`
    return `still imported: ${oneLine(module)} has the old ${oneLine(old)}${as}; to rebind it: ${oneLine(rebind)}`
  })
}

/** `2 instances of the old class Order, which is still held by shop.web.handlers (a dict)` */
function survivorLine({ name, kind, instances, held_by, loads_ago = 0 }: Survivor): string {
  const earlier = loads_ago === 0 ? '' : ` of ${counted(loads_ago, 'load')} before`
  const old = `the old ${kind} ${oneLine(name)}${earlier}`
  const held = held_by.length === 0 ? '' : `is still held by ${held_by.map(oneLine).join('; ')}`
  if (instances !== null && instances > 0)
    return `${counted(instances, 'instance')} of ${old}${held === '' ? '' : `, which ${held}`}`
  return held === '' ? `${old}; who holds it was not found` : `${old} ${held}`
}

/** What loading a system is answered with. */
const systemAnswer = z.object({
  ...ranAnswer.shape,
  system: z.string(),
  /** Where it is defined; null where the image does not tell. */
  file: z.string().nullable(),
  /** The systems that were not loaded before and are now. */
  added: z.array(z.string()),
})
type SystemLoading = Of<typeof systemAnswer>

export const loadSystem = defineTool({
  name: 'load_system',
  description:
    'Load a system by its name, with everything it depends on, as the build tool of the language does (ASDF ' +
    'in Lisp): what is new or has changed is compiled and loaded. Says which systems came in, what the ' +
    'compiler said, and what was printed. For one file use load_file, for one definition compile_form.',
  parameters: {
    system: z
      .string()
      .min(1)
      .max(NAME_LENGTH)
      .describe('The name of a system, such as `shop` or `shop/tests`.'),
    force: z
      .boolean()
      .default(false)
      .describe('Compile and load the files of this system again, though they have not changed.'),
  },
  parameterAliases: { name: 'system' },
  level: 'cautious',
  profile: 'full',
  categories: ['execution', 'project'],
  needs: ['system'],
  starts: true,
  result: systemAnswer,
  examples: [
    { args: { system: 'shop' }, shows: 'a project, with what it depends on' },
    { args: { system: 'shop', force: true }, shows: 'all its files compiled anew' },
  ],

  preview: ({ system, force }) => ({
    title: `Load the system ${system}${force ? ', all of it compiled anew' : ''}`,
    body: 'Its definition and its files are run; they are not shown, and may hold another text by the time they run.',
  }),

  async handler({ system, force }, context) {
    const evaluated = withoutNotes(await runWork({ type: 'system', system, force }, context))
    const raised = 'What was loaded before it stays loaded. Correct the file, and load the system again.'
    const done = systemLoading(system)
    return causeFirst(workOutcome(evaluated, { output: context.output, done, raised }), evaluated)
  },

  show: showSystem,
})

/** Where loading failed: without notes and matters of style, which are no cause. */
const withoutNotes = (evaluated: Ended): Ended =>
  isBroken(evaluated)
    ? { ...evaluated, diagnostics: evaluated.diagnostics?.filter(isGrave) ?? [] }
    : evaluated

const isBroken = (evaluated: Evaluated) => evaluated.type === 'raised' || evaluated.type === 'suspended'
const isGrave = (one: Diagnostic) => one.severity === 'warning' || holdsErrors([one])

/** The place and words of the first error of the compiler, else the place of the frame that failed, before all else. */
function causeFirst<Result>(outcome: Outcome<Result>, evaluated: Evaluated): Outcome<Result> {
  if (outcome.type !== 'failed' || !isBroken(evaluated)) return outcome
  const error = evaluated.diagnostics?.find(one => holdsErrors([one]))
  const at = error ?? programFrame(evaluated.exception.frames)
  const place = at === undefined || at.file === null ? '' : `${placeOf(at)}: `
  const message = `${place}${error === undefined ? '' : `${error.message.trim()}\n`}${outcome.error.message}`
  return { ...outcome, error: { ...outcome.error, message } }
}

const systemLoading =
  (system: string) =>
  ({ loaded, elapsed_ms, diagnostics }: Done, text: PrintedOutput): SystemLoading => ({
    system: loaded?.module ?? system,
    file: loaded?.file ?? null,
    added: loaded?.added ?? [],
    ...diagnosed(diagnostics),
    ...text,
    elapsed_ms,
  })

function showSystem(result: SystemLoading): string {
  const { system, file, added, diagnostics = [], elapsed_ms } = result
  const from = file === null ? '' : ` from ${oneLine(file)}`
  const tally = diagnostics.length === 0 ? '' : `: ${tallied(diagnostics)}`
  const news = added.length === 0 ? 'no system was added' : `added: ${added.map(oneLine).join(', ')}`
  return [
    `loaded ${oneLine(system)}${from}, ${duration(elapsed_ms)}${tally}`,
    news,
    ...showDiagnosed(result),
    ...showPrinted(result),
  ].join('\n')
}

/**
 * What a run of tests is answered with. That tests fail is a result; `tests` is null where the image tells none, and
 * their `ok` where nobody knows whether they passed.
 */
const testRunAnswer = z.object({
  ...ranAnswer.shape,
  tests: testReport.nullable(),
})
type TestRun = Of<typeof testRunAnswer>

export const runTests = defineTool({
  name: 'run_tests',
  description:
    'Run tests in the live image, and get every failure as data: the test, what was expected, and the check. ' +
    'In Lisp: loaded suites and tests of FiveAM or Parachute, or the `test-op` of an ASDF system, which is ' +
    'loaded first; without FiveAM or Parachute only its output tells whether the tests passed. Failing tests ' +
    'are a result, not an error. The tests run what the image has, not what the files say: load what you ' +
    'changed before.',
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
  starts: true,
  result: testRunAnswer,
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

  show: showTestRun,
})

function testRun({ tests, elapsed_ms, diagnostics }: Done, text: PrintedOutput): TestRun {
  return {
    tests: tests === undefined ? null : fitted(tests),
    ...diagnosed(diagnostics),
    ...text,
    elapsed_ms,
  }
}

/** The first failures, as many as fit. */
function fitted(report: TestReport): TestReport {
  const failures = fitting(report.failures, dataTokens)
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
function came({ ok, framework, passed, failed, skipped }: TestReport, { output }: PrintedOutput): string {
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
