import type { Level } from '../../tools/contract.ts'
import { foldedPath, isWithin } from '../files/roots.ts'
import { DECISIONS, type Decision } from '../journal/entries.ts'

/** What running code can be about to do outside the image. */
export const EFFECTS = ['write_file', 'start_process', 'open_connection'] as const

export type Effect = (typeof EFFECTS)[number]

/** One line of policy. What it names must match; what it leaves out matches anything. It never sees code. */
export interface Rule {
  readonly decision: Decision
  /** A tool's name, an older one of what it does with certain arguments, or the beginning of one before a last `*`. */
  readonly tool?: string | undefined
  readonly level?: Level | undefined
  /** A kernel's name, or the beginning of one before a last `*`. */
  readonly kernel?: string | undefined
  /**
   * An absolute path: this file, or anything inside this directory. For a rule that tightens also in other letters
   * that some file system takes for the same.
   */
  readonly path?: string | undefined
  /** The same for exactly this file, and nothing below it, whatever comes to stand there. Never beside `path`. */
  readonly file?: string | undefined
  /** Where `path` or `file` leads through links, for a rule that tightens: then it speaks about that too. */
  readonly real?: string | undefined
  readonly effect?: Effect | undefined
  readonly from: Source
}

/** Where a rule was written. */
type Source =
  | { readonly type: 'default' }
  /** Nowhere: it holds for kernels of other projects. */
  | { readonly type: 'elsewhere' }
  | {
      readonly type: 'user' | 'project'
      readonly file: string
      /** Counts the rules of a file from 1. */
      readonly number: number
      /** It stands there no more, and holds until a person accepts that. `number` is the one that it had. */
      readonly removed?: true
    }

/** What is asked of the gate. `kernel` is null for a tool that works without one; `paths` are real paths. */
export interface Asked {
  readonly tool: string
  /** The name that says most about the call: `create_file` of a `write_file` with `new: true`. Left out: that of the tool. */
  readonly as?: string
  readonly level: Level
  readonly kernel: string | null
  /** The other names that stand for that kernel: what asks or denies holds by each of them. */
  readonly otherNames?: readonly string[]
  readonly paths?: readonly string[]
  readonly effects?: readonly Effect[]
  /** The kernel is one of another project, and nobody has let the caller in. */
  readonly elsewhere?: boolean
  readonly rules: readonly Rule[]
}

export interface Verdict {
  readonly decision: Decision
  /** The rule that decided; the first one, where several say the same. */
  readonly rule: Rule
}

/** What holds where no rule matches: safe runs, cautious runs and is logged, dangerous asks. */
export const DEFAULTS: Readonly<Record<Level, Verdict>> = {
  safe: fallback('allow', 'safe'),
  cautious: fallback('allow', 'cautious'),
  dangerous: fallback('ask', 'dangerous'),
}

/** What holds for a kernel of another project, whatever the call can do. */
const ELSEWHERE: Readonly<Record<Level, Verdict>> = {
  safe: fallback('ask', 'safe', 'elsewhere'),
  cautious: fallback('ask', 'cautious', 'elsewhere'),
  dangerous: fallback('ask', 'dangerous', 'elsewhere'),
}

/**
 * Whether a call may run. Pure: the same question has the same answer, and nothing but the rules and the call is
 * looked at. Of the rules that match, the strictest decides (`deny` over `ask` over `allow`), however specific the
 * others are. Each effect on each path is judged by itself, and the strictest answer holds for the call. A kernel of
 * another project is asked about, unless a rule that allows the call names that kernel.
 */
export function decide(asked: Asked): Verdict {
  const { effects = NONE, paths = NONE } = asked
  if (effects.length === 0 && paths.length === 0) return judge(asked, WHOLE)
  return aspectsOf(asked)
    .map(aspect => judge(asked, aspect))
    .reduce(stricter)
}

/** Whether no rule of anybody's wants a person to be asked, so that only the default does. */
export function asksByDefault(asked: Asked): boolean {
  if (asked.elsewhere === true || decide(asked).decision !== 'ask') return false
  return explain(asked).matching.every(({ decision }) => decision !== 'ask')
}

/** How a call is decided, for a person: the verdict, that of each part by itself, and all rules that match. */
interface Explanation {
  readonly verdict: Verdict
  readonly parts: readonly (Aspect & { readonly verdict: Verdict })[]
  readonly matching: readonly Rule[]
}

/** Says what `decide` says, and why. */
export function explain(asked: Asked): Explanation {
  const aspects = aspectsOf(asked)
  return {
    verdict: decide(asked),
    parts: aspects.map(aspect => ({ ...aspect, verdict: judge(asked, aspect) })),
    matching: asked.rules.filter(rule => aspects.some(aspect => matches(rule, asked, aspect))),
  }
}

/** One thing that a call does, to one file; either may be missing. */
interface Aspect {
  readonly effect?: Effect | undefined
  readonly path?: string | undefined
}

const NONE = [] as const

const WHOLE: Aspect = {}

function aspectsOf({ effects = NONE, paths = NONE }: Asked): readonly Aspect[] {
  const some = <Value>(values: readonly Value[]) => (values.length === 0 ? [undefined] : values)
  return some(effects).flatMap(effect => some(paths).map(path => ({ effect, path })))
}

function judge(asked: Asked, aspect: Aspect): Verdict {
  const matching = asked.rules.filter(rule => matches(rule, asked, aspect))
  const verdicts = matching.map(rule => ({ decision: rule.decision, rule }))
  if (asked.elsewhere === true && !matching.some(allowsByName)) verdicts.push(ELSEWHERE[asked.level])
  return verdicts.length === 0 ? DEFAULTS[asked.level] : verdicts.reduce(stricter)
}

/** The rules for what is no kernel yet, and would be attached: one that allows whatever kernel does not speak of it. */
export const forAttaching = (rules: readonly Rule[]): readonly Rule[] =>
  rules.filter(({ decision, kernel }) => decision !== 'allow' || kernel !== '*')

/** Whether it allows calls to a kernel because it names that kernel, and not whatever the kernel is. */
const allowsByName = ({ decision, kernel }: Rule): boolean =>
  decision === 'allow' && kernel !== undefined && kernel !== '*'

function stricter(one: Verdict, other: Verdict): Verdict {
  return DECISIONS.indexOf(other.decision) > DECISIONS.indexOf(one.decision) ? other : one
}

function matches(rule: Rule, asked: Asked, { effect, path }: Aspect): boolean {
  return (
    isAboutTool(rule, asked) &&
    (rule.level === undefined || rule.level === asked.level) &&
    isAboutKernel(rule, asked) &&
    (!isAboutFiles(rule) || (path !== undefined && covers(rule, path))) &&
    (rule.effect === undefined || rule.effect === effect)
  )
}

/** What allows speaks of the kernel by its own name alone; what asks or denies, by every name that stands for it. */
function isAboutKernel({ kernel: pattern, decision }: Rule, { kernel, otherNames = NONE }: Asked): boolean {
  if (pattern === undefined) return true
  if (kernel !== null && nameMatches(pattern, kernel)) return true
  return decision !== 'allow' && otherNames.some(name => nameMatches(pattern, name))
}

/**
 * What allows a tool says nothing of a call that has a name of its own, as `create_file` among the calls of `write_file`:
 * a rule allows that by this name alone. What asks or denies holds for all calls of the tool, and by either name.
 */
function isAboutTool({ tool, decision }: Rule, { tool: called, as = called }: Asked): boolean {
  if (tool === undefined || nameMatches(tool, as)) return true
  return decision !== 'allow' && nameMatches(tool, called)
}

/** Whether a rule speaks about some files alone, and not about calls whatever their files are. */
export const isAboutFiles = ({ path, file }: Pick<Rule, 'path' | 'file'>): boolean =>
  path !== undefined || file !== undefined

function covers({ path, file, real, decision }: Rule, asked: string): boolean {
  const places = [path, file, real].filter(one => one !== undefined)
  const holds = file === undefined ? isWithin : isSame
  if (places.some(place => holds(asked, place))) return true
  // A disk may take other letters for the same file: what tightens speaks about those too, what allows does not.
  return decision !== 'allow' && places.some(place => holds(foldedPath(asked), foldedPath(place)))
}

const isSame = (one: string, other: string) => one === other

/** Whether that is the name, or begins as the pattern does before a last `*`. */
export function nameMatches(pattern: string, name: string): boolean {
  return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern
}

function fallback(decision: Decision, level: Level, type: 'default' | 'elsewhere' = 'default'): Verdict {
  return { decision, rule: { decision, level, from: { type } } }
}
