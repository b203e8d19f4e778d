import { closeSync, constants, fstatSync, openSync, readFileSync, statSync } from 'node:fs'
import { isAbsolute, join, resolve } from 'node:path'
import { parse, TomlError } from 'smol-toml'
import { z } from 'zod'
import { LEVELS } from '../../tools/define.ts'
import { type Clock, SYSTEM_CLOCK } from './clock.ts'
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
 * What may run: `policy.toml` of the user, then `.imago/policy.toml` of the project, which may only tighten. Both are
 * read again when they change. A file that is missing says nothing; one that cannot be read, or has anything in it
 * that is not policy, is a problem, and a problem forbids whatever is not safe.
 */
export interface Policy {
  rulesFor(root: string): Rules
}

export interface PolicyOptions {
  /** Where the user's `policy.toml` is. */
  readonly configDir: string
  readonly clock?: Clock
}

/** How often the files are looked at, in milliseconds. */
const FRESH_MS = 1_000
const FILE_BYTES = 256 * 1024

export function openPolicy({ configDir, clock = SYSTEM_CLOCK }: PolicyOptions): Policy {
  const userFile = join(configDir, 'policy.toml')
  const known = new Map<string, { readonly rules: Rules; readonly marks: string; checked: number }>()

  return {
    rulesFor(root) {
      const now = clock.now()
      const before = known.get(root)
      if (before !== undefined && now - before.checked < FRESH_MS) return before.rules
      const projectFile = join(root, '.imago', 'policy.toml')
      const marks = `${markOf(userFile)} ${markOf(projectFile)}`
      if (before !== undefined && before.marks === marks) {
        before.checked = now
        return before.rules
      }
      const rules = readRules({ userFile, projectFile, root })
      known.set(root, { rules, marks, checked: now })
      return rules
    },
  }
}

/** Changes when the file does. */
function markOf(file: string): string {
  const stat = statSync(file, { throwIfNoEntry: false, bigint: true })
  return stat === undefined ? 'none' : `${stat.ino}:${stat.size}:${stat.mtimeNs}:${stat.ctimeNs}`
}

function readRules(o: { userFile: string; projectFile: string; root: string }): Rules {
  const { userFile, projectFile, root } = o
  try {
    const rules = [
      ...readFile({ type: 'user', file: userFile, base: undefined }),
      ...readFile({ type: 'project', file: projectFile, base: root }),
    ]
    return { rules, problem: undefined, userFile }
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error)
    return { rules: [], problem, userFile }
  }
}

interface PolicyFile {
  readonly type: 'user' | 'project'
  readonly file: string
  /** What relative paths are relative to; without it they are refused. */
  readonly base: string | undefined
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
    throw new Error(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}.`)
  }
  try {
    const stat = fstatSync(fd)
    if (!stat.isFile()) throw new Error(`${file} is not a regular file.`)
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
    throw new Error(`${file}, line ${error.line}: ${first}.`)
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
  const { type, file } = of
  const where = `${file}: rule ${number}`
  if (type === 'project' && rule.decision === 'allow')
    throw new Error(`${where} says "allow", and a project's policy may only tighten: use "ask" or "deny".`)
  if (MATCHERS.every(matcher => rule[matcher] === undefined))
    throw new Error(`${where} matches everything; say which ${MATCHERS.join(', ')} it is for.`)
  return { ...rule, path: pathOf(rule.path, where, of), from: { type, file, number } }
}

function pathOf(path: string | undefined, where: string, { base }: PolicyFile): string | undefined {
  if (path === undefined || isAbsolute(path)) return path === undefined ? path : resolve(path)
  if (base === undefined) throw new Error(`${where} has the path ${path}, which is not absolute.`)
  return resolve(base, path)
}

function firstProblem(error: z.ZodError): string {
  const [issue] = error.issues
  if (issue === undefined) return 'it is not a policy'
  const [table, index, field] = issue.path
  const where = typeof index === 'number' ? `rule ${index + 1}` : String(table ?? '')
  if (issue.code === 'unrecognized_keys')
    return `${where === '' ? 'it' : where} has ${issue.keys.map(key => JSON.stringify(key)).join(', ')}, which is not a word of a policy`
  return [where, String(field ?? ''), issue.message].filter(part => part !== '').join(', ')
}
