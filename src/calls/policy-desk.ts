import { type Level, stricter } from '../../tools/contract.ts'
import type { Tool } from '../../tools/define.ts'
import { type Failed, type Outcome, ok } from '../../tools/outcome.ts'
import type { Files } from '../files/files.ts'
import type { Decision } from '../journal/entries.ts'
import { aboutInWords } from '../policy/file.ts'
import { judgedPath, judgedPaths } from '../policy/judged-paths.ts'
import type { Policy } from '../policy/policy.ts'
import { type PolicyReport, reportPolicy } from '../policy/report.ts'
import { type Effect, explain, type Rule } from '../policy/rules.ts'
import { type Registry, validate } from '../registry/registry.ts'
import {
  type Accepted,
  type AcceptingOptions,
  type AcceptRequest,
  acceptPolicy,
} from './policy-acceptance.ts'
import { unknownTool } from './refusals.ts'

/** What a person can ask about the policy, and the one way in which it is loosened. */
export interface PolicyDesk {
  report(root: string): PolicyReport
  check(request: CheckRequest): Outcome<CheckReport>
  accept(request: AcceptRequest): Promise<Outcome<Accepted>>
}

export function openPolicyDesk(options: CheckingOptions & AcceptingOptions): PolicyDesk {
  return {
    report: root => reportPolicy(options.policy, root),
    check: request => checkPolicy(request, options),
    accept: request => acceptPolicy(request, options),
  }
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
  /** What a person should know about this answer; often empty. */
  readonly notes: readonly string[]
}

interface MatchingRule {
  readonly decision: Decision
  readonly about: string
  readonly by: string
}

interface PartReport {
  readonly effect: Effect | null
  readonly path: string | null
  readonly decision: Decision
  readonly by: string
}

interface CheckingOptions {
  readonly policy: Policy
  readonly registry: Registry
  readonly files: Files
}

/** Asks the policy about a call as the call path would, and runs nothing. */
function checkPolicy(asked: CheckRequest, options: CheckingOptions): Outcome<CheckReport> {
  const tool = options.registry.find(asked.tool)
  if (tool === undefined) return unknownTool(asked.tool, options.registry)
  const known = knownOf(tool, asked, options)
  if (known.type === 'failed') return known
  if (known.type === 'refused') return known.refusal
  const { level, kernel, paths } = known
  const effects: readonly Effect[] = level === 'dangerous' && paths.length > 0 ? ['write_file'] : []
  const { rules, problem, waiting } = options.policy.rulesFor(asked.root, { paths })
  const { verdict, parts, matching } = explain({ tool: tool.name, level, kernel, paths, effects, rules })
  const stopped = problem !== undefined && level !== 'safe'
  const { rule } = verdict
  return ok({
    tool: tool.name,
    level,
    kernel,
    paths,
    effects,
    decision: stopped ? 'deny' : verdict.decision,
    by: stopped ? 'a problem of the policy' : placeOf(rule),
    why: stopped ? `${problem} Until that is mended, only looking is allowed.` : whyOf(rule, matching),
    matching: matching.map(one => ({ decision: one.decision, about: aboutInWords(one), by: placeOf(one) })),
    parts: parts.map(({ effect = null, path = null, verdict: part }) => {
      return { effect, path, decision: part.decision, by: placeOf(part.rule) }
    }),
    notes: [...notesOf(tool, kernel, rules), ...(waiting.length === 0 ? [] : [WAITING])],
  })
}

interface KnownOfCall {
  readonly type: 'known'
  readonly level: Level
  readonly kernel: string | null
  readonly paths: readonly string[]
}

type Refused = { readonly type: 'refused'; readonly refusal: Outcome<never> }

function knownOf(tool: Tool, asked: CheckRequest, o: CheckingOptions): KnownOfCall | Refused | Failed {
  const { args, kernel, path, root } = asked
  const checked = args === undefined ? undefined : validate(tool, args, o.registry)
  if (checked?.type === 'invalid') return { type: 'refused', refusal: checked.refusal }
  const level =
    asked.level ?? (checked === undefined ? tool.level : stricter(tool.level, tool.raise(checked.args)))
  const named = judgedPaths({ paths: tool.paths, args: checked?.args ?? {}, root, files: o.files })
  if (!Array.isArray(named)) return named
  const confined = tool.paths.every(one => one.confined)
  const given = path === undefined ? [] : [judgedPath({ path, confined, root, files: o.files })]
  for (const real of given) if (typeof real !== 'string') return real
  const paths = new Set([...named, ...given.filter(real => typeof real === 'string')])
  return { type: 'known', level, kernel: kernel ?? checked?.kernel ?? null, paths: [...paths] }
}

/** Where a rule stands, as a clause. */
function placeOf({ from, level }: Rule): string {
  if (from.type === 'default') return `the default for what is ${level}`
  return `rule ${from.number}${from.removed ? ', taken out,' : ''} of ${from.file}`
}

function whyOf(rule: Rule, matching: readonly Rule[]): string {
  if (rule.from.type === 'default')
    return matching.length === 0
      ? 'No rule speaks about it.'
      : 'Rules speak about parts of it, and about one of them none does.'
  if (matching.length === 1) return 'It is the only rule that speaks about it.'
  return `Of ${matching.length} rules that speak about it, this is the strictest, or the first of those.`
}

const WAITING = 'Rules that wait to be accepted were left out; imago policy lists them.'

function notesOf(tool: Tool, kernel: string | null, rules: readonly Rule[]): readonly string[] {
  if (kernel !== null || tool.needs.length === 0 || rules.every(rule => rule.kernel === undefined)) return []
  return ['No kernel was named; rules about kernels are asked with the one that the call would get.']
}
