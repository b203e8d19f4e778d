import { createHash } from 'node:crypto'
import { join, resolve } from 'node:path'
import { parse, TomlError } from 'smol-toml'
import { z } from 'zod'
import { LEVELS, type Level } from '../../tools/contract.ts'
import { nearest } from '../../tools/nearest.ts'
import { readBounded } from '../../wire/bounded-file.ts'
import { DECISIONS } from '../journal/entries.ts'
import type { Registry } from '../registry/registry.ts'
import { decide, EFFECTS, type Effect, isAboutFiles, nameMatches, type Rule, type Verdict } from './rules.ts'

/** A policy is read before calls, so it must be short. */
const FILE_BYTES = 256 * 1024

/** What one file of rules says now. */
export interface PolicyText {
  /** SHA-256 of its bytes as 64 hexadecimal digits; null where it is not there, or cannot be read. */
  readonly sha256: string | null
  /** With what it says of clients. Empty where the file is not understood. */
  readonly rules: readonly NumberedRule[]
  /** False: calls of the project never begin a Python by themselves. */
  readonly python?: boolean | undefined
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
    const form = place.type === 'project' ? POLICY_FILE.extend(SETTINGS.shape) : POLICY_FILE
    const parsed = form.safeParse(parseToml(place.file, bytes.toString('utf8')))
    if (!parsed.success) throw new Error(`${place.file}: ${firstProblem(parsed.error)}.`)
    const rules = parsed.data.rule.map((rule, index) => ({ number: index + 1, rule }))
    for (const { number, rule } of rules) checkRule(rule, { place, where: `${place.file}: rule ${number}` })
    const warnings = tools === undefined ? [] : checkTools(parsed.data, { place, tools })
    const clients = parsed.data.client.map((client, index) =>
      clientRule(client, { number: index + 1, place }),
    )
    const tests = runTests({ tests: parsed.data.test, rules, place, tools })
    const problem = tests.find(test => test.problem !== undefined)?.problem
    const { attach = [], python } = parsed.data as z.output<typeof SETTINGS>
    const joins = attach.map((attach, at) => ({
      number: at + 1,
      rule: { decision: 'allow', attach } as const,
    }))
    return { sha256, rules: [...rules, ...clients, ...joins], python, tests, warnings, problem }
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error)
    return { ...ABSENT, sha256, problem }
  }
}

const ABSENT: PolicyText = { sha256: null, rules: [], tests: [], warnings: [], problem: undefined }

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
    return `${where === '' ? 'it' : where} has ${issue.keys.map(key => JSON.stringify(key)).join(', ')}, which is not a word of a policy; ${wordsIn(table)}`
  return [where, String(field ?? ''), issue.message].filter(part => part !== '').join(', ')
}

/** What can stand there, for whoever has written something else. */
function wordsIn(table: PropertyKey | undefined): string {
  const known = Object.entries(POLICY_FILE.shape).find(([name]) => name === table)
  if (known === undefined)
    return `there are ${Object.keys(POLICY_FILE.shape)
      .map(name => `[[${name}]]`)
      .join(', ')}`
  const [name, tables] = known
  return `a [[${name}]] has ${Object.keys(tables.unwrap().element.shape).join(', ')}`
}

/** Text that can hide nothing in a file or in a preview: no control characters. */
const plainText = (most: number) =>
  z
    .string()
    .min(1)
    .max(most)
    .refine(text => ![...text].some(isControl), 'may hold no control characters')

const isControl = (unit: string) => unit < ' ' || (unit >= '\u007f' && unit <= '\u009f')

/** A name, or the beginning of one and a last `*`. */
const pattern = plainText(128).regex(/^[^*]*\*?$/, 'may hold one *, at its end')

/** A star would be a pattern elsewhere, and be silently without effect here. */
const path = plainText(4_096).regex(
  /^[^*]*$/,
  'is a file or a folder and all in it, and no pattern: leave out *',
)

/** One file by its name: with a `/` at its end it would look as if it were about a folder. */
const file = plainText(4_096).regex(
  /^(?!.*(?:^|\/)(?:\.{1,2}|~)$)[^*]*[^*/]$/,
  'is exactly one file, and neither a pattern nor a folder: leave out * and a / at the end',
)

/** The effects that some tool tells of. A rule about another one would be silently without effect, so it is refused. */
const TOLD = ['write_file'] as const satisfies readonly Effect[]

const effect = z.enum(TOLD, {
  error: ({ input }) =>
    EFFECTS.some(known => known === input)
      ? `no tool of this version tells of ${JSON.stringify(input)}, so that it would have no effect: name the tool instead, or leave it out`
      : undefined,
})

/** What a rule can be about, in the order in which it is shown: an accepted rule is known again by all of it. */
const ABOUT = {
  tool: pattern.optional(),
  level: z.enum(LEVELS).optional(),
  kernel: pattern.optional(),
  path: path.optional(),
  file: file.optional(),
  effect: effect.optional(),
}

/** The words with which a rule says what it is about. */
export const MATCHERS = Object.keys(ABOUT) as readonly (keyof typeof ABOUT)[]

const RULE = z.strictObject({ decision: z.enum(DECISIONS), ...ABOUT })

/** What a client's yes to a question comes to: it approves, or a seat is asked all the same. */
export const YESES = ['counts', 'asks_a_seat'] as const

export type Yes = (typeof YESES)[number]

const CLIENT = z.strictObject({
  /** What it calls itself. */
  name: pattern,
  yes: z.enum(YESES),
})

type WrittenClient = z.output<typeof CLIENT>

/** No file can write `client` or `attach` into a `[[rule]]`. */
export const KEPT_RULE = RULE.extend({ client: pattern.optional(), attach: z.string().optional() })

/**
 * A rule as it stands in a file. With `client` it is what a `[[client]]` says, which is accepted and kept like a rule:
 * `allow` where its yes counts, `ask` where a seat is asked. With `attach` it allows to join that server. The gate
 * never sees such ones.
 */
export type WrittenRule = z.output<typeof KEPT_RULE>

const ruleOfClient = ({ name, yes }: WrittenClient): WrittenRule => ({
  decision: yes === 'counts' ? 'allow' : 'ask',
  client: name,
})

export const yesOfRule = ({ decision }: WrittenRule): Yes => (decision === 'allow' ? 'counts' : 'asks_a_seat')

const TEST = z.strictObject({
  tool: plainText(128),
  level: z.enum(LEVELS).optional(),
  kernel: plainText(128).optional(),
  path: path.optional(),
  effect: effect.optional(),
  expect: z.enum(DECISIONS),
  /** The number of the rule that is to decide. */
  rule: z.number().int().min(1).max(1_000).optional(),
})

/** A call that somebody thought of, and what is to come of it. */
type WrittenTest = z.output<typeof TEST>

/** All that a file of rules can hold. An unknown word is refused, so that no slip is silently without effect. */
const POLICY_FILE = z.strictObject({
  rule: z.array(RULE).max(1_000).default([]),
  client: z.array(CLIENT).max(1_000).default([]),
  test: z.array(TEST).max(1_000).default([]),
})

const OWN_ADDRESS = z
  .string()
  .regex(
    /^[a-z]+:\/\/((localhost|127\.0\.0\.1|\[::1\]):)?\d{1,5}$/,
    'is no address of a server on this machine, such as swank://4005',
  )

/** A project also says which servers of this machine its calls join, and whether they may begin a Python. */
const SETTINGS = z.object({ attach: z.array(OWN_ADDRESS).optional(), python: z.boolean().optional() })

/** The rules that a person accepted, as the state directory keeps them. */
export const NUMBERED_RULE = z.strictObject({ number: z.number().int().min(1), rule: KEPT_RULE })

/** A rule and its number in its file, counted from 1; each `[[client]]` is counted with those alone. */
export type NumberedRule = z.output<typeof NUMBERED_RULE>

/** Where a file of rules stands, and for whom it speaks. */
export type PolicyPlace =
  | { readonly type: 'user'; readonly file: string; readonly home: string }
  /** `root` has its links resolved. */
  | { readonly type: 'project'; readonly file: string; readonly root: string }

/** Two rules with the same key are the same rule, wherever they stand. */
export function keyOf(rule: WrittenRule): string {
  return JSON.stringify([rule.decision, ...aboutOf(rule)])
}

/** What a rule is about, whatever it decides. */
export function subjectOf(rule: WrittenRule): string {
  return JSON.stringify(aboutOf(rule))
}

const aboutOf = (rule: WrittenRule) => [
  ...MATCHERS.map(matcher => rule[matcher] ?? null),
  rule.client ?? null,
  rule.attach ?? null,
]

/**
 * The absolute path that is written in a file: `~` is the user's home, and what is relative counts from the root of
 * the project, in the user's file from that of each.
 */
export function pathOf(written: string, { place, root }: { place: PolicyPlace; root: string }): string {
  if (place.type === 'user' && written === '~') return place.home
  if (place.type === 'user' && written.startsWith('~/')) return join(place.home, written.slice(2))
  return resolve(root, written)
}

/** The rule as its file says it, with its heading. */
export function tomlOf(rule: WrittenRule): readonly string[] {
  if (rule.client !== undefined)
    return ['[[client]]', `name = ${JSON.stringify(rule.client)}`, `yes = ${JSON.stringify(yesOfRule(rule))}`]
  if (rule.attach !== undefined) return [`attach = [${JSON.stringify(rule.attach)}]`]
  const about = MATCHERS.flatMap(matcher => (rule[matcher] === undefined ? [] : [[matcher, rule[matcher]]]))
  const words = [['decision', rule.decision], ...about]
  return ['[[rule]]', ...words.map(([word, value]) => `${word} = ${JSON.stringify(value)}`)]
}

/** What a rule is about, for a person: `write_file (dangerous) in /home/u/p`. */
export function aboutInWords({
  tool,
  level,
  kernel,
  path: at,
  file: only,
  effect,
  attach,
}: Omit<WrittenRule, 'effect'> & { readonly effect?: Effect | undefined }): string {
  if (attach !== undefined) return `calls to join ${attach}`
  const whose =
    tool === undefined || tool === '*' ? 'every tool' : tool.endsWith('*') ? `every tool ${tool}` : tool
  const on = effect === undefined ? 'on' : 'at'
  const parts = [
    whose,
    level && `that is ${level}`,
    kernel && `in the kernel ${kernel}`,
    effect && `that would ${EFFECT_WORDS[effect]}`,
    at && `${on} ${inProject(at)}`,
    only && `${on} exactly ${inProject(only)}`,
  ]
  return parts.filter(Boolean).join(' ')
}

const inProject = (written: string) => `${written}${/^[~/]/.test(written) ? '' : ' of the project'}`

const EFFECT_WORDS = {
  write_file: 'write a file',
  start_process: 'start a process',
  open_connection: 'open a connection',
} as const satisfies Record<Effect, string>

/** The tools that rules can be about. */
export type KnownTools = Pick<Registry, 'find' | 'list'>

/** What of a rule or a test says which tool it is about. */
interface AboutTool {
  readonly tool?: string | undefined
  readonly path?: string | undefined
  readonly file?: string | undefined
}

/**
 * Why a rule or a test would be without effect, as the end of a sentence about it: there is no such tool, or none whose
 * files could be judged. It would look as if it held.
 */
function faultOfTool(about: AboutTool, tools: KnownTools): string | undefined {
  const { tool, file } = about
  if (tool === undefined || tool.endsWith('*')) return undefined
  const found = tools.find(tool)
  if (found === undefined) {
    const alike = nearest(tool, namesOf(tools))
    const hint = alike.length === 0 ? '' : `; nearest: ${alike.join(', ')}`
    return `is about the tool ${JSON.stringify(tool)}, and there is none${hint}`
  }
  if (!isAboutFiles(about) || found.namesFiles) return undefined
  const word = file === undefined ? 'path' : 'file'
  return `names a ${word}, and ${tool} names and changes no files: leave out ${word}`
}

/** The same for the beginning of a name, which may be meant for tools to come: nothing is forbidden because of it. */
function warningOfTool(about: AboutTool, tools: KnownTools): string | undefined {
  const { tool, file } = about
  if (tool === undefined || !tool.endsWith('*')) return undefined
  const matched = tools
    .list('full')
    .filter(({ name, presets }) => [name, ...Object.keys(presets)].some(one => nameMatches(tool, one)))
  if (matched.length === 0) return `is about ${tool}, and there is no tool whose name begins so`
  if (!isAboutFiles(about) || matched.some(({ namesFiles }) => namesFiles)) return undefined
  return `names a ${file === undefined ? 'path' : 'file'}, and no tool ${tool} names or changes files`
}

/** The name in a rule as the gate knows it: rules may use older names, as callers may. Those that preset something stay. */
export function judgedName(tool: string | undefined, tools: KnownTools | undefined): string | undefined {
  const found = tool === undefined ? undefined : tools?.find(tool)
  return found === undefined || found.presets[tool ?? ''] !== undefined ? tool : found.name
}

const namesOf = (tools: KnownTools) => tools.list('full').map(({ name }) => name)

/** One `[[test]]` of a file, and what came of it. */
export const TEST_RESULT = z.strictObject({
  number: z.int().describe('Counts the tests of a file from 1.'),
  call: z.string().describe('The call, for a person: write_file, dangerous, ~/p/notes.md.'),
  expected: z.enum(DECISIONS),
  got: z.enum(DECISIONS),
  by: z.string().describe('What decided, as a clause: rule 2, the default for dangerous calls.'),
  problem: z
    .string()
    .optional()
    .describe(
      'Left out for a test that holds; else a sentence that names file, test, what was expected and what decided.',
    ),
})

export type TestResult = z.output<typeof TEST_RESULT>

interface TestRun {
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
function runTests(run: TestRun): readonly TestResult[] {
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
    tool: run.tools?.find(tool)?.name ?? tool,
    as: judgedName(tool, run.tools) ?? tool,
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
  return 'number' in from ? `rule ${from.number}` : `the default for what is ${level}`
}
