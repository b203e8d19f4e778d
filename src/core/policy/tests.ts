import type { Level } from '../../../tools/define.ts'
import { type Decision, decide, type Rule, type Verdict } from '../gate.ts'
import { judgedName, type KnownTools } from './named-tools.ts'
import { type NumberedRule, type PolicyPlace, pathOf, type WrittenTest } from './written.ts'

/** One `[[test]]` of a file, and what came of it. */
export interface TestResult {
  /** Counts the tests of a file from 1. */
  readonly number: number
  /** The call, for a person: `write_file, dangerous, ~/p/notes.md`. */
  readonly call: string
  readonly expected: Decision
  readonly got: Decision
  /** What decided, as a clause: `rule 2`, `the default for what is dangerous`. */
  readonly by: string
  /** Undefined for a test that holds; else a sentence that names file, test, what was expected and what decided. */
  readonly problem: string | undefined
}

export interface TestRun {
  readonly tests: readonly WrittenTest[]
  /** Those of the same file: what it says must not hang on who else says something. */
  readonly rules: readonly NumberedRule[]
  readonly place: PolicyPlace
  /** For the levels of tests that do not say one. Left out: each tool is taken for dangerous. */
  readonly tools: KnownTools | undefined
}

/** A project for the tests of the user's file, in which what is relative counts from the root of any. */
const ANY_ROOT = '/any-project'

/** Puts each test before the rules of its file. Paths are taken as they are written: no links are followed. */
export function runTests(run: TestRun): readonly TestResult[] {
  if (run.tests.length === 0) return []
  const rules = run.rules.map(numbered => ruleOf(numbered, run))
  return run.tests.map((test, index) => resultOf({ test, number: index + 1, rules, run }))
}

function ruleOf({ rule, number }: NumberedRule, { place, tools }: TestRun): Rule {
  const { type, file } = place
  return {
    ...rule,
    tool: judgedName(rule.tool, tools),
    path: testPath(rule.path, place),
    file: testPath(rule.file, place),
    from: { type, file, number },
  }
}

function testPath(path: string | undefined, place: PolicyPlace): string | undefined {
  if (path === undefined) return undefined
  return pathOf(path, { place, root: place.type === 'project' ? place.root : ANY_ROOT })
}

interface OneTest {
  readonly test: WrittenTest
  readonly number: number
  readonly rules: readonly Rule[]
  readonly run: TestRun
}

function resultOf({ test, number, rules, run }: OneTest): TestResult {
  const { tool, kernel = null, effect, expect } = test
  const level: Level = test.level ?? run.tools?.find(tool)?.level ?? 'dangerous'
  const path = testPath(test.path, run.place)
  const verdict = decide({
    tool: judgedName(tool, run.tools) ?? tool,
    level,
    kernel,
    rules,
    ...(path !== undefined && { paths: [path] }),
    ...(effect !== undefined && { effects: [effect] }),
  })
  const call = [tool, level, kernel, effect, test.path].filter(Boolean).join(', ')
  const [got, by] = [verdict.decision, deciderOf(verdict)]
  const wrong =
    got !== expect
      ? `expects "${expect}", and ${by} says "${got}"`
      : test.rule !== undefined && by !== `rule ${test.rule}`
        ? `expects rule ${test.rule} to decide, and ${by} did`
        : undefined
  const problem = wrong && `${run.place.file}: test ${number} (${call}) ${wrong}.`
  return { number, call, expected: expect, got, by, problem }
}

function deciderOf({ rule: { from, level } }: Verdict): string {
  return from.type === 'default' ? `the default for what is ${level}` : `rule ${from.number}`
}
