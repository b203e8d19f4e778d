import { type Level, stricter } from '../../tools/contract.ts'
import type { Tool } from '../../tools/define.ts'
import { type Outcome, ok } from '../../tools/outcome.ts'
import type { Files } from '../files/files.ts'
import type { Decision } from '../journal/entries.ts'
import type { Kernels } from '../kernels/kernels.ts'
import { ALL_OF_GROUP } from '../kernels/programs.ts'
import { aboutInWords, judgedName } from '../policy/file.ts'
import { judgedPath, judgedPaths } from '../policy/judged-paths.ts'
import type { Policy } from '../policy/policy.ts'
import { type PolicyReport, reportPolicy } from '../policy/report.ts'
import { type Asked, decide, type Effect, explain, forAttaching, type Rule } from '../policy/rules.ts'
import { type Registry, validate } from '../registry/registry.ts'
import {
  type AcceptingOptions,
  type AcceptRequest,
  type AcceptResult,
  acceptPolicy,
} from './policy-acceptance.ts'
import { unknownTool } from './refusals.ts'

/** What a person can ask about the policy, and the one way in which it is loosened. */
export interface PolicyDesk {
  report(root: string): PolicyReport
  check(request: CheckRequest): Outcome<CheckReport>
  /**
   * What the rules say of an operation on a kernel. Of a kernel of another project only what a rule allows is allowed; of one
   * of the client's own, all that no rule denies or has asked about.
   */
  judge(request: JudgeRequest): Decided
  accept(request: AcceptRequest): Promise<Outcome<AcceptResult>>
}

export function openPolicyDesk(options: CheckingOptions & AcceptingOptions): PolicyDesk {
  return {
    report: root => reportPolicy(options.policy, root),
    check: request => checkPolicy(request, options),
    judge: request => judgeOperation(request, options),
    accept: request => acceptPolicy(request, options),
  }
}

/** What the members of a group are kept from, where a call would go to all of it, by rules about themselves. */
function strictMembers(
  call: Omit<Asked, 'rules'>,
  root: string,
  { kernels, policy }: CheckingOptions,
): readonly string[] {
  if (!call.kernel?.endsWith(ALL_OF_GROUP)) return []
  return kernels.membersOf(call.kernel.slice(0, -ALL_OF_GROUP.length), root).flatMap(kernel => {
    const { roots, otherNames } = kernels.ruled(kernel)
    const { rules } = policy.rulesFor(root, { roots })
    const { decision, rule } = decide({ ...call, kernel, otherNames, rules })
    return decision === 'allow' ? [] : [`In ${kernel}: ${decision}, by ${placeOf(rule)}.`]
  })
}

/** An operation of the client protocol on a kernel. */
interface JudgeRequest {
  /** Of the client. */
  readonly root: string
  readonly method: string
  readonly level: Level
  readonly kernel: string
}

function judgeOperation(asked: JudgeRequest, { policy, kernels }: CheckingOptions) {
  const { root, method, level, kernel } = asked
  const { roots, otherNames } = kernels.ruled(kernel)
  const { rules, problem } = policy.rulesFor(root, { roots })
  if (problem !== undefined && level !== 'safe') return { decision: 'deny', by: PROBLEM } as const
  const elsewhere = !roots.includes(root)
  const { decision, rule } = decide({ tool: method, level, kernel, otherNames, elsewhere, rules })
  const isOwn = !elsewhere && rule.from.type === 'default'
  return { decision: isOwn ? 'allow' : decision, by: placeOf(rule) } as const
}

/** A call that is only thought of. */
interface CheckRequest {
  readonly root: string
  readonly tool: string
  /** Left out: only what the other fields say is known of the call. */
  readonly args?: unknown
  readonly kernel?: string | undefined
  /** Besides those that the arguments name; as a caller in the project means it. */
  readonly path?: string | undefined
  /** Instead of the level that the tool has with these arguments. */
  readonly level?: Level | undefined
}

/** What the gate would say of that call now, and why. */
export interface CheckReport {
  readonly tool: string
  readonly level: Level
  readonly kernel: string | null
  /** Real paths. */
  readonly paths: readonly string[]
  readonly effects: readonly Effect[]
  readonly decision: Decision
  /** What decided, as a clause: `rule 2 of /…/policy.toml`, `the default for what is dangerous`. */
  readonly by: string
  readonly why: string
  /** Every rule that speaks about the call, the one that decided included. */
  readonly matching: readonly MatchingRule[]
  /** What each part would be decided by itself, where the call has several. */
  readonly parts: readonly PartReport[]
  /** What the policy of each project says by itself, where the kernel belongs to another one than the caller. */
  readonly projects: readonly ProjectReport[]
  /** What a person should know about this answer; often empty. */
  readonly notes: readonly string[]
}

type Decided = Pick<CheckReport, 'decision' | 'by'>

interface MatchingRule extends Decided {
  readonly about: string
}

interface PartReport extends Decided {
  readonly effect: Effect | null
  readonly path: string | null
}

/** For a caller in that project. */
interface ProjectReport extends Decided {
  readonly root: string
}

interface CheckingOptions {
  readonly policy: Policy
  readonly kernels: Pick<Kernels, 'meant' | 'ruled' | 'membersOf' | 'attachable'>
  readonly registry: Registry
  readonly files: Files
}

/** Asks the policy about a call as the call path would, and runs nothing. */
function checkPolicy(asked: CheckRequest, options: CheckingOptions): Outcome<CheckReport> {
  const tool = options.registry.find(asked.tool)
  if (tool === undefined) return unknownTool(asked.tool, options.registry)
  const known = knownOf(tool, asked, options)
  if (known.type !== 'known') return known
  const { as, paths, target } = known
  const attached = target === undefined ? undefined : options.kernels.attachable(target, asked.root)
  const wanted = { name: known.kernel ?? undefined, root: asked.root, env: {}, onlyLiving: !tool.starts }
  const found = tool.needs.length === 0 ? undefined : options.kernels.meant(wanted)
  const { name: kernel = known.kernel, otherNames = [], roots: all = [] } = attached ?? found ?? {}
  const level = asked.level ?? (attached?.elsewhere === true ? 'dangerous' : known.level)
  const effects: readonly Effect[] = level === 'dangerous' && paths.length > 0 ? ['write_file'] : []
  const elsewhere = attached === undefined && (all[0] ?? asked.root) !== asked.root
  const roots = all.filter(root => root !== asked.root)
  const { problem, waiting, ...inForce } = options.policy.rulesFor(asked.root, { paths, roots })
  const rules = target === undefined ? inForce.rules : forAttaching(inForce.rules)
  const call = { tool: tool.name, as, level, kernel, otherNames, paths, effects, elsewhere }
  const { verdict, parts, matching } = explain({ ...call, rules })
  const stopped = problem !== undefined && level !== 'safe'
  const { rule } = verdict
  const projects = (roots.length === 0 ? [] : [asked.root, ...roots]).map(root => {
    const own = options.policy.rulesFor(root, { paths })
    const isAsker = root === asked.root
    return projectReport(
      { ...call, elsewhere: elsewhere && isAsker, rules: own.rules },
      { root, problem: own.problem },
    )
  })
  return ok({
    tool: as,
    level,
    kernel: attached === undefined ? kernel : null,
    paths,
    effects,
    decision: stopped ? 'deny' : verdict.decision,
    by: stopped ? PROBLEM : placeOf(rule),
    why: stopped ? `${problem} Until that is mended, only looking is allowed.` : whyOf(rule, matching),
    matching: matching.map(one => ({ decision: one.decision, about: aboutInWords(one), by: placeOf(one) })),
    parts: parts.map(({ effect = null, path = null, verdict: part }) => {
      return { effect, path, decision: part.decision, by: placeOf(part.rule) }
    }),
    projects,
    notes: [
      ...notesOf(tool, known.kernel, { kernel, rules }),
      ...strictMembers(call, asked.root, options),
      ...(rule.from.type === 'elsewhere' && !stopped ? [AT_A_TERMINAL] : []),
      ...(waiting.length === 0 ? [] : [WAITING]),
    ],
  })
}

interface KnownOfCall {
  readonly type: 'known'
  /** As in `Asked`. */
  readonly as: string
  readonly level: Level
  readonly kernel: string | null
  readonly paths: readonly string[]
  /** The name of what it would attach to. */
  readonly target: string | undefined
}

function knownOf(tool: Tool, asked: CheckRequest, o: CheckingOptions): KnownOfCall | Outcome<never> {
  const { args, kernel, path, root } = asked
  const checked = args === undefined ? undefined : validate(tool, args, o.registry, asked.tool)
  if (checked?.type === 'invalid') return checked.refusal
  // Of arguments that are not given, the name may say some.
  const as =
    checked === undefined ? (judgedName(asked.tool, o.registry) ?? tool.name) : tool.judgedAs(checked.args)
  const level =
    asked.level ?? (checked === undefined ? tool.level : stricter(tool.level, tool.raise(checked.args)))
  const named = judgedPaths({ paths: tool.paths, args: checked?.args ?? {}, root, files: o.files })
  if (!Array.isArray(named)) return named
  const confined = tool.paths.every(one => one.confined)
  const given = path === undefined ? [] : [judgedPath({ path, confined, root, files: o.files })]
  for (const real of given) if (typeof real !== 'string') return real
  const paths = new Set([...named, ...given.filter(real => typeof real === 'string')])
  const known = { type: 'known', as, level, paths: [...paths] } as const
  if (tool.attaches === undefined)
    return { ...known, kernel: kernel ?? checked?.kernel ?? null, target: undefined }
  const name = checked?.args[tool.attaches] ?? kernel
  return { ...known, kernel: null, target: typeof name === 'string' ? name : undefined }
}

const PROBLEM = 'a problem of the policy'

function projectReport(asked: Asked, { root, problem }: { root: string; problem: string | undefined }) {
  if (problem !== undefined && asked.level !== 'safe') return { root, decision: 'deny', by: PROBLEM } as const
  const { decision, rule } = decide(asked)
  return { root, decision, by: placeOf(rule) }
}

/** Where a rule stands, as a clause. */
function placeOf({ from, level }: Rule): string {
  if (from.type === 'elsewhere') return 'what holds for kernels of other projects'
  if (from.type === 'default') return `the default for what is ${level}`
  return `rule ${from.number}${from.removed ? ', taken out,' : ''} of ${from.file}`
}

function whyOf(rule: Rule, matching: readonly Rule[]): string {
  if (rule.from.type === 'elsewhere')
    return 'No rule that allows the call names the kernel: a person is asked.'
  if (rule.from.type === 'default')
    return matching.length === 0
      ? 'No rule speaks about it.'
      : 'Rules speak about parts of it, and about one of them none does.'
  if (matching.length === 1) return 'It is the only rule that speaks about it.'
  return `Of ${matching.length} rules that speak about it, this is the strictest, or the first of those.`
}

const AT_A_TERMINAL = 'A person who makes the call at a terminal of their own is not asked.'

const WAITING = 'Rules that wait to be accepted were left out; imago policy lists them.'

function notesOf(tool: Tool, named: string | null, { kernel, rules }: Pick<Asked, 'kernel' | 'rules'>) {
  if (named !== null || tool.needs.length === 0 || rules.every(rule => rule.kernel === undefined)) return []
  return kernel === null
    ? ['No kernel was named; rules about kernels are asked with the one that the call would get.']
    : [`No kernel was named: ${kernel} is what such a call gets, unless its caller has chosen another.`]
}
