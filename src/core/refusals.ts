import type { Level, Tool } from '../../tools/define.ts'
import { type Failed, failed, failedInside, type Outcome } from '../../tools/outcome.ts'
import type { Kernel } from '../../wire/kernel.ts'
import { DEFAULTS, type Verdict } from './gate.ts'
import type { Earlier } from './journal.ts'
import type { Rules } from './policy.ts'
import type { Registry } from './registry.ts'

/** What a caller is told when a call did not run. Each says why, and what can be done. */

/** What whoever is refused does next, where a person or a rule said no, or nobody said yes. */
export const STOP = 'Stop here. Do not try another way to do the same, and do not ask again by yourself.'

export function unknownTool(name: string, registry: Registry): Outcome<never> {
  const nearest = registry.nearest(name)
  const tools = registry.list('full').map(tool => tool.name)
  const shown = JSON.stringify(name.slice(0, 100))
  const hint = nearest.length > 0 ? ` Nearest: ${nearest.join(', ')}.` : ''
  return failed('unknown_function', {
    message: `There is no tool ${shown}.${hint}`,
    details: { tool: name.slice(0, 100), nearest },
    next:
      tools.length <= 30
        ? `The tools are: ${tools.join(', ')}.`
        : 'imago tools lists all of them, with their arguments.',
  })
}

/** The client was promised that this tool only reads. */
export function needsEvaluation(tool: Tool, because: string): Outcome<never> {
  return failed('needs_evaluation', {
    message: `${tool.name} was promised to change nothing, and this would have to run code: ${because.replace(/\.$/, '')}. Nothing ran.`,
    details: { because },
    next: 'Use eval_expr, which may run code, or ask for a name or a path of stored values.',
  })
}

export function tooManyPending({ pending, most }: { pending: number; most: number }): Outcome<never> {
  return failed('busy', {
    message: `${pending} calls of this caller are under way already; ${most} is the most. Nothing ran.`,
    details: { pending, most },
    next: 'Call again when one of them has been answered or, if it goes on as a job, has ended.',
  })
}

export function otherCall(call: string): Outcome<never> {
  return failed('invalid_args', {
    message: `The call ${call} was made before with another tool or other arguments. It keeps its meaning, and nothing ran.`,
    details: { call },
    next: 'Use a new name for a new call.',
  })
}

/** It ran, and what came of it has made room for newer results. */
export function forgotten(call: string): Outcome<never> {
  return failed('outcome_unknown', {
    message: `The call ${call} was made before, and its result is no longer kept. It was not run again.`,
    details: { call },
    next: 'Look at what is there before deciding to run anything again.',
  })
}

export function journalUnavailable(error: unknown): Outcome<never> {
  return failedInside('journal_unavailable', {
    message: `${error instanceof Error ? error.message : String(error)} What may change something is not run without a record. Nothing ran.`,
    next: 'Looking goes on working. A person has to make the state directory writable, then call again.',
  })
}

/** What the journal has lost cannot be relied on to say what was approved. */
export function journalInTrouble(trouble: string): Failed {
  return failed('denied', {
    message: `The journal is not what was written: ${trouble} What needs approval is not run until a person has seen to it. Nothing ran.`,
    details: { reason: 'journal_in_trouble', trouble },
    next: `${STOP} Tell the person: imago log verify shows what is wrong, and imago log acknowledge lets calls be asked for again. Looking goes on working.`,
  })
}

/** Ends that mean that nothing of the call ran. */
const NOT_RUN = ['withdrawn', 'denied', 'stale_plan', 'approval_timed_out', 'approval_unavailable'] as const

/**
 * An earlier daemon was given the call, and the journal says how it ended. A call that is known not to have run is
 * answered `withdrawn`, any other `outcome_unknown`.
 */
export function ranEarlier(call: string, { tool, outcome }: Earlier): Failed {
  const said = `The call ${call} (${tool}) was made before this daemon began`
  const details = { call, tool, outcome }
  if (NOT_RUN.some(end => end === outcome))
    return failed('withdrawn', {
      message: `${said}, and ended without having run (${outcome}). Nothing ran, then or now.`,
      details,
      next: 'If it is still wanted, make it again under a new name.',
    })
  const how = outcome === 'outcome_unknown' ? 'how it ended is not known' : `it ended: ${outcome}`
  return failed('outcome_unknown', {
    message: `${said}, and ${how}. Its result is no longer kept. It was not run again.`,
    details,
    next: 'Look at what is there before deciding to run anything again. A new call needs a new name.',
  })
}

export function lacksAbility(o: { tool: Tool; kernel: string; missing: readonly string[] }): Outcome<never> {
  return failed('not_available', {
    message: `${o.kernel} cannot do what ${o.tool.name} needs: ${o.missing.join(', ')}. Nothing ran.`,
    details: { kernel: o.kernel, missing: o.missing },
    next: o.missing.map(ability => INSTEAD[ability]).find(Boolean) ?? 'Use another kernel, or another tool.',
  })
}

/** What does the work of an ability in languages without it. */
const INSTEAD: Readonly<Record<string, string>> = {
  reload:
    'Run its source again: load_file with the file, or load_system with {"force": true} in a language with systems.',
}

export function kernelGone({ name, kernel }: { name: string; kernel: Kernel }): Outcome<never> {
  return failed('kernel_unavailable', {
    message: `The kernel ${name} has ended. Nothing ran.`,
    details: { kernel: name },
    next: kernel.identity.attached === true ? JOIN_AGAIN : 'Call again, and it is started anew.',
  })
}

/** A program of the user's is started by the user. */
export const JOIN_AGAIN =
  'It is a program that Imago does not start. A person can, and attach to it: imago kernels says how.'

/** Nothing that a broken policy might forbid runs. */
export function policyBroken(problem: string): Outcome<never> {
  return failed('denied', {
    message: `The policy cannot be relied on, so that only looking is allowed: ${problem} Nothing ran.`,
    details: { problem },
    next: `${STOP} Tell the person: they have to correct the file.`,
  })
}

export interface Judged {
  readonly tool: Tool
  readonly level: Level
  readonly kernel: string | null
  readonly verdict: Verdict
  readonly policy: Rules
  /** The real root of the project, for a tool whose paths a rule can be about. */
  readonly within?: string
}

/** A rule forbids it. */
export function denied(judged: Judged): Outcome<never> {
  return failed('denied', {
    message: `${ruleName(judged.verdict)} denies ${called(judged)}. Nothing ran.`,
    details: judgedDetails(judged),
    next: `${STOP} Tell the person what you wanted to do, and why.`,
  })
}

/** To be asked about is to be refused, as long as nobody can be asked. */
export function unavailable(judged: Judged): Outcome<never> {
  return failed('approval_unavailable', {
    message: `${called(judged)} needs approval, and nobody can be asked. Nothing ran. A person who takes a seat (imago watch, in a terminal) is asked when the call is made again. ${remedy(judged)}`,
    details: judgedDetails(judged),
    next: `${STOP} Tell the person what you wanted to do, and why.`,
  })
}

const called = ({ tool, level, kernel }: Judged) =>
  `${tool.name} (${level})${kernel === null ? '' : ` in ${kernel}`}`

const judgedDetails = ({ tool, level, kernel, verdict }: Judged) => ({
  tool: tool.name,
  level,
  kernel,
  rule: verdict.rule,
})

/** What a person could do about it. The exact text, so that nobody has to guess at a rule. */
function remedy({ tool, level, verdict, policy, within }: Judged): string {
  const { from } = verdict.rule
  if (from.type !== 'default' && DEFAULTS[level].decision === 'allow') return withoutRule(verdict)
  const path = within === undefined ? '' : `\npath = ${JSON.stringify(within)}`
  const rule = `[[rule]]\ndecision = "allow"\ntool = "${tool.name}"\nlevel = "${level}"${path}`
  const allow = `add these lines to ${policy.userFile}, and run imago policy accept:\n${rule}`
  if (from.type === 'default') return `To allow it without asking, ${allow}`
  const removed = `${ruleName(verdict)} asks; as long as it does, no other rule can allow this.`
  return `${removed} To allow it without asking, take that rule out, ${allow}`
}

/** What runs unless a rule says otherwise needs no rule that allows it. */
function withoutRule(verdict: Verdict): string {
  const { from } = verdict.rule
  const taken = from.type !== 'default' && from.removed ? '' : 'takes that rule out, and '
  return `${ruleName(verdict)} asks. To allow it without asking, a person ${taken}runs imago policy accept.`
}

function ruleName({ rule: { from, level } }: Verdict): string {
  if (from.type === 'default') return `The default for what is ${level}`
  if (from.removed)
    return `Rule ${from.number}, taken out of ${from.file} and in force until imago policy accept,`
  return `Rule ${from.number} of ${from.file}`
}
