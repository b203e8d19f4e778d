import { createHash } from 'node:crypto'
import { statSync } from 'node:fs'
import { parse, TomlError } from 'smol-toml'
import type { z } from 'zod'
import { readBounded } from '../../../wire/bounded-file.ts'
import { faultOfTool, type KnownTools, warningOfTool } from './named-tools.ts'
import { runTests, type TestResult } from './tests.ts'
import {
  MATCHERS,
  type NumberedRule,
  POLICY_FILE,
  type PolicyPlace,
  ruleOfClient,
  type WrittenClient,
  type WrittenRule,
} from './written.ts'

/** A policy is read before calls, so it must be short. */
const FILE_BYTES = 256 * 1024

/** What one file of rules says now. */
export interface PolicyText {
  /** SHA-256 of its bytes as 64 hexadecimal digits; null where it is not there, or cannot be read. */
  readonly sha256: string | null
  /** With what it says of clients. Empty where the file is not understood. */
  readonly rules: readonly NumberedRule[]
  readonly tests: readonly TestResult[]
  /** What is likely to be a slip and forbids nothing, as sentences that name the file. */
  readonly warnings: readonly string[]
  /** Why it cannot be relied on, as a sentence that names the file. */
  readonly problem: string | undefined
}

/**
 * Reads and checks one file, its tests included. A file that is not there says nothing. The answer is `before`, where the
 * bytes are those of it. Never throws.
 */
export function readPolicyFile(
  place: PolicyPlace,
  { tools, before }: { tools: KnownTools | undefined; before: PolicyText | undefined },
): PolicyText {
  let sha256: string | null = null
  try {
    const bytes = bytesOf(place.file)
    if (bytes === undefined) return ABSENT
    sha256 = createHash('sha256').update(bytes).digest('hex')
    if (sha256 === before?.sha256) return before
    const parsed = POLICY_FILE.safeParse(parseToml(place.file, bytes.toString('utf8')))
    if (!parsed.success) throw new Error(`${place.file}: ${firstProblem(parsed.error)}.`)
    const rules = parsed.data.rule.map((rule, index) => ({ number: index + 1, rule }))
    for (const { number, rule } of rules) checkRule(rule, { place, where: `${place.file}: rule ${number}` })
    const warnings = tools === undefined ? [] : checkTools(parsed.data, { place, tools })
    const clients = parsed.data.client.map((client, index) =>
      clientRule(client, { number: index + 1, place }),
    )
    const tests = runTests({ tests: parsed.data.test, rules, place, tools })
    const problem = tests.find(test => test.problem !== undefined)?.problem
    return { sha256, rules: [...rules, ...clients], tests, warnings, problem }
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error)
    return { sha256, rules: [], tests: [], warnings: [], problem }
  }
}

const ABSENT: PolicyText = { sha256: null, rules: [], tests: [], warnings: [], problem: undefined }

/** A change within this time of the look may have left no trace in the times of the file; in milliseconds. */
const RACY_MS = 2_000

/**
 * What changes when the file does, whatever its size and modification time are set to; `settled` is false where it may
 * have changed again without that.
 */
export function markOf(file: string): { readonly mark: string; readonly settled: boolean } {
  try {
    const stat = statSync(file, { throwIfNoEntry: false })
    if (stat === undefined) return { mark: 'none', settled: true }
    const mark = `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeMs}:${stat.ctimeMs}`
    return { mark, settled: Date.now() - stat.ctimeMs > RACY_MS }
  } catch (error) {
    return { mark: String(error), settled: false }
  }
}

/** `undefined` for a file that is not there. */
export function bytesOf(file: string, { flags = 0, most = FILE_BYTES } = {}): Buffer | undefined {
  try {
    return readBounded(file, { most, flags })
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined
    throw new Error(`${file} cannot be read: ${error.message}.`)
  }
}

function parseToml(file: string, text: string): unknown {
  try {
    return parse(text)
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    const [first = 'not TOML'] = error.message.split('\n')
    throw new Error(`${file}, line ${error.line}, is not TOML: ${first}.`)
  }
}

/** A rule that loosens is the user's alone, and says what it is about. */
function checkRule(rule: WrittenRule, { place, where }: { place: PolicyPlace; where: string }): void {
  const { decision, path, file } = rule
  const written = path ?? file
  if (decision === 'allow' && place.type === 'project')
    throw new Error(`${where} says "allow", and a project may only tighten: use "ask" or "deny".`)
  if (decision === 'allow' && MATCHERS.every(matcher => rule[matcher] === undefined))
    throw new Error(`${where} would allow everything; say what it is about: ${MATCHERS.join(', ')}.`)
  if (path !== undefined && file !== undefined)
    throw new Error(`${where} has a path and a file: leave out one of them.`)
  if (written?.startsWith('~') && (place.type === 'project' || !/^~(\/|$)/.test(written)))
    throw new Error(`${where} has a path that begins with ~, which is your home and only in your own file.`)
}

/** As with rules, only the user may loosen, and says for whom. */
function clientRule(
  client: WrittenClient,
  { number, place }: { readonly number: number; readonly place: PolicyPlace },
): NumberedRule {
  const where = `${place.file}: client ${number}`
  if (client.yes === 'counts' && place.type === 'project')
    throw new Error(`${where} says "counts", and a project may only tighten: use "asks_a_seat".`)
  if (client.yes === 'counts' && client.name === '*')
    throw new Error(`${where} would have the yes of every client count; say which one.`)
  return { number, rule: ruleOfClient(client) }
}

/** Answers with what is only doubtful; throws for what names a tool and cannot hold. */
function checkTools(
  file: Pick<z.output<typeof POLICY_FILE>, 'rule' | 'test'>,
  { place, tools }: { place: PolicyPlace; tools: KnownTools },
): string[] {
  for (const kind of ['rule', 'test'] as const)
    for (const [index, one] of file[kind].entries()) {
      const fault = faultOfTool(one, tools)
      if (fault !== undefined) throw new Error(`${place.file}: ${kind} ${index + 1} ${fault}.`)
    }
  return file.rule.flatMap((rule, index) => {
    const warning = warningOfTool(rule, tools)
    return warning === undefined ? [] : [`${place.file}: rule ${index + 1} ${warning}.`]
  })
}

function firstProblem(error: z.ZodError): string {
  // A misspelt word also leaves the right one missing; it is the cause, and is named.
  const issue = error.issues.find(({ code }) => code === 'unrecognized_keys') ?? error.issues[0]
  if (issue === undefined) return 'it is not a policy'
  const [table, index, field] = issue.path
  const where = typeof index === 'number' ? `${String(table)} ${index + 1}` : String(table ?? '')
  if (issue.code === 'unrecognized_keys')
    return `${where === '' ? 'it' : where} has ${issue.keys.map(key => JSON.stringify(key)).join(', ')}, which is not a word of a policy`
  return [where, String(field ?? ''), issue.message].filter(part => part !== '').join(', ')
}
