import { closeSync, constants, fstatSync, openSync, readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parse, TomlError } from 'smol-toml'
import { z } from 'zod'
import { LEVELS } from '../../tools/define.ts'
import { DECISIONS, EFFECTS, type Rule } from './gate.ts'

/** What holds for callers in one project. */
export interface Rules {
  readonly rules: readonly Rule[]
  /** Why the policy cannot be relied on. Then nothing but looking runs. */
  readonly problem: string | undefined
  /** The file in which a person may write what is allowed. */
  readonly userFile: string
}

/**
 * What may run: the user's `policy.toml`, then the project's `imago.toml`, which may only tighten. A rule is in force as
 * soon as it is written, or `freshMs` later. A file that is missing says nothing; one that cannot be read, or has anything in it that is
 * not policy, is a problem, and a problem forbids whatever is not safe.
 */
export interface Policy {
  rulesFor(root: string): Rules
}

const FILE_BYTES = 256 * 1024

export interface PolicyOptions {
  /** How long what was found in order is relied on before the files are looked at again, in milliseconds. */
  readonly freshMs?: number
  /** Milliseconds on a clock that only goes forward. */
  now?(): number
}

/** The policy of the user whose `policy.toml` is in that directory. */
export function openPolicy(configDir: string, options: PolicyOptions = {}): Policy {
  const { freshMs = 0, now = () => performance.now() } = options
  const userFile = join(configDir, 'policy.toml')
  const projects = new Map<string, Known>()

  function project(root: string) {
    const file = join(root, 'imago.toml')
    const rules = { rules: [], problem: undefined, userFile }
    const made: Known = { file, rules, marks: '', freshUntil: Number.NEGATIVE_INFINITY }
    projects.set(root, made)
    return made
  }

  return {
    rulesFor(root) {
      const known = projects.get(root) ?? project(root)
      if (now() < known.freshUntil) return known.rules
      const marks = `${markOf(userFile)} ${markOf(known.file)}`
      if (known.marks !== marks) {
        known.rules = readRules(
          { type: 'user', file: userFile, folder: configDir },
          { type: 'project', file: known.file, folder: root },
        )
        // A problem may pass without a change of the files, such as a want of descriptors.
        known.marks = known.rules.problem === undefined ? marks : ''
      }
      if (known.marks !== '') known.freshUntil = now() + freshMs
      return known.rules
    },
  }
}

/** What was found in the files of one project, `marks` telling which state of them it was; empty: look again. */
interface Known {
  readonly file: string
  rules: Rules
  marks: string
  freshUntil: number
}

/** Changes when the file does. */
function markOf(file: string): string {
  try {
    const stat = statSync(file, { throwIfNoEntry: false })
    return stat === undefined ? 'none' : `${stat.ino}:${stat.size}:${stat.mtimeMs}:${stat.ctimeMs}`
  } catch (error) {
    return messageOf(error)
  }
}

interface PolicyFile {
  readonly type: 'user' | 'project'
  readonly file: string
  /** What relative paths count from. */
  readonly folder: string
}

function readRules(user: PolicyFile, project: PolicyFile): Rules {
  const userFile = user.file
  try {
    return { rules: [...readFile(user), ...readFile(project)], problem: undefined, userFile }
  } catch (error) {
    return { rules: [], problem: messageOf(error), userFile }
  }
}

function readFile(of: PolicyFile): Rule[] {
  const text = textOf(of.file)
  if (text === undefined) return []
  const parsed = policyShape.safeParse(tomlOf(of.file, text))
  if (!parsed.success) throw new Error(`${of.file}: ${firstProblem(parsed.error)}.`)
  return parsed.data.rule.map((written, index) => ruleOf(written, index + 1, of))
}

/** `undefined` for a file that is not there. A device or a pipe is refused, and cannot hold us up. */
function textOf(file: string): string | undefined {
  let fd: number
  try {
    fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw new Error(`${file} cannot be read: ${messageOf(error)}.`)
  }
  try {
    const stat = fstatSync(fd)
    if (!stat.isFile()) throw new Error(`${file} cannot be read: it is not a regular file.`)
    if (stat.size > FILE_BYTES) throw new Error(`${file} is larger than ${FILE_BYTES} bytes.`)
    return readFileSync(fd, 'utf8')
  } finally {
    closeSync(fd)
  }
}

function tomlOf(file: string, text: string): unknown {
  try {
    return parse(text)
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    const [first = 'not TOML'] = error.message.split('\n')
    throw new Error(`${file}, line ${error.line}, is not TOML: ${first}.`)
  }
}

const MATCHERS = ['tool', 'level', 'kernel', 'path', 'effect'] as const

/** A name, or the beginning of one and a last `*`. */
const pattern = z
  .string()
  .min(1)
  .max(128)
  .regex(/^[^*]*\*?$/, 'may hold one *, at its end')

const written = z.strictObject({
  decision: z.enum(DECISIONS),
  tool: pattern.optional(),
  level: z.enum(LEVELS).optional(),
  kernel: pattern.optional(),
  path: z.string().min(1).max(4_096).optional(),
  effect: z.enum(EFFECTS).optional(),
})

const policyShape = z.strictObject({ rule: z.array(written).max(1_000).default([]) })

function ruleOf(rule: z.output<typeof written>, number: number, of: PolicyFile): Rule {
  const { type, file, folder } = of
  const { decision, path } = rule
  if (decision === 'allow') mayAllow(rule, { type, where: `${file}: rule ${number}` })
  return {
    ...rule,
    ...(path !== undefined && { path: resolve(folder, path) }),
    from: { type, file, number },
  }
}

/** A rule that loosens is the user's alone, and says what it is about. */
function mayAllow(
  rule: z.output<typeof written>,
  { type, where }: { type: PolicyFile['type']; where: string },
): void {
  if (type === 'project')
    throw new Error(`${where} says "allow", and a project may only tighten: use "ask" or "deny".`)
  if (MATCHERS.every(matcher => rule[matcher] === undefined))
    throw new Error(`${where} would allow everything; say what it is about: ${MATCHERS.join(', ')}.`)
}

function firstProblem(error: z.ZodError): string {
  // A misspelt word also leaves the right one missing; it is the cause, and is named.
  const issue = error.issues.find(({ code }) => code === 'unrecognized_keys') ?? error.issues[0]
  if (issue === undefined) return 'it is not a policy'
  const [table, index, field] = issue.path
  const where = typeof index === 'number' ? `rule ${index + 1}` : String(table ?? '')
  if (issue.code === 'unrecognized_keys')
    return `${where === '' ? 'it' : where} has ${issue.keys.map(key => JSON.stringify(key)).join(', ')}, which is not a word of a policy`
  return [where, String(field ?? ''), issue.message].filter(part => part !== '').join(', ')
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error))
