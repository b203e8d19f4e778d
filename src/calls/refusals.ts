import type { Level } from '../../tools/contract.ts'
import type { Tool } from '../../tools/define.ts'
import type { Fate } from '../../tools/hunks.ts'
import { type Failed, failed, failedInside, type Outcome } from '../../tools/outcome.ts'
import { duration } from '../../tools/text.ts'
import type { Kernel } from '../../wire/kernel.ts'
import type { ClientAsker, Limit } from '../approvals/contract.ts'
import { type Plan, reasonsIn } from '../approvals/plan.ts'
import type { Earlier } from '../journal/entries.ts'
import { keyOf, tomlOf } from '../policy/file.ts'
import type { Rules } from '../policy/policy.ts'
import { DEFAULTS, type Verdict } from '../policy/rules.ts'
import type { Registry } from '../registry/registry.ts'

// What a caller is told when a call did not run: each says why, and what can be done.

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

export function otherCall(call: string): Failed {
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

export function journalUnavailable(error: unknown): Failed {
  return failedInside('journal_unavailable', {
    message: `${error instanceof Error ? error.message : String(error)} What may change something is not run without a record. Nothing ran.`,
    next: 'Looking goes on working. A person has to make the state directory writable, then call again.',
  })
}

/** What the journal has lost cannot be relied on to say what was approved. */
export function journalInTrouble(trouble: string): Failed {
  return failed('denied', {
    message: `The journal is not what was written: ${trouble} Calls that need approval wait until a person has acknowledged that. Nothing ran.`,
    details: { reason: 'journal_in_trouble', trouble },
    next: `${STOP} Tell the person: imago log verify shows what is wrong, and imago log acknowledge lets calls be asked for again. Looking goes on working.`,
  })
}

/** Ends that mean that nothing of the call ran. */
const NOT_RUN = [
  'withdrawn',
  'denied',
  'stale_plan',
  'approval_timed_out',
  'approval_dismissed',
  'approval_unavailable',
  'approval_held',
] as const

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
    message: `${o.tool.name} does not work in ${o.kernel}: its language or image has nothing that answers it. Nothing ran.`,
    details: { kernel: o.kernel, missing: o.missing },
    next: o.missing.map(ability => INSTEAD[ability]).find(Boolean) ?? 'Use another kernel, or another tool.',
  })
}

/** What does the work of an ability in languages without it. */
const INSTEAD: Readonly<Record<string, string>> = {
  callers: 'Use who_references: it finds the functions that name it, and what else holds it.',
  compile:
    'Use eval_expr: it compiles and runs code, and tells what is wrong with it. load_file does so with a file.',
  expand: 'It is for languages with macros. In others eval_expr runs code as it is.',
  references: 'Use search_files with its name.',
  system: 'Use load_file for a file, or reload for a module that is loaded.',
  tests: 'Run them with eval_expr, or in a terminal.',
  reload:
    'Run its source again: load_file with the file, or load_system with {"force": true} in a language with systems.',
}

export function kernelGone({ name, kernel }: { name: string; kernel: Kernel }): Outcome<never> {
  return failed('kernel_unavailable', {
    message: `The kernel ${name} has ended. Nothing ran.`,
    details: { kernel: name },
    next:
      kernel.identity.attached === true ? `Call again. ${WAITED_FOR}` : 'Call again, and it is started anew.',
  })
}

/** Of a program of the user's. One that nothing can take the place of says so when it is called again. */
export const WAITED_FOR = 'What takes the place of a program that has ended is waited for.'

/** Nothing that a broken policy might forbid runs. */
export function policyBroken(problem: string): Outcome<never> {
  return failed('denied', {
    message: `The policy cannot be relied on, so that only looking is allowed: ${problem} Nothing ran.`,
    details: { problem },
    next: `${STOP} Tell the person: they have to correct the file.`,
  })
}

export interface JudgedCall {
  readonly tool: Tool
  /** The name that a rule about it has to name. */
  readonly as: string
  readonly level: Level
  readonly kernel: string | null
  readonly verdict: Verdict
  readonly policy: Rules
  /** The real root of the project, for a tool whose paths a rule can be about. */
  readonly within?: string
  /** One that can ask a person in a dialog, whose yes would count if the policy said so. */
  readonly client?: Pick<ClientAsker, 'who' | 'doubt'>
}

/** A rule forbids it. */
export function denied(judged: JudgedCall): Outcome<never> {
  return failed('denied', {
    message: `${ruleName(judged.verdict)} denies ${called(judged)}. Nothing ran.`,
    details: judgedDetails(judged),
    next: `${STOP} Tell the person what you wanted to do, and why.`,
  })
}

/** To be asked about is to be refused, as long as nobody can be asked. */
export function unavailable(judged: JudgedCall): Outcome<never> {
  return failed('approval_unavailable', {
    message: `${called(judged)} needs approval, and nobody can be asked. Nothing ran. A person who takes a seat (imago watch, in a terminal) is asked when the call is made again. ${dialog(judged)}${remedy(judged)}`,
    details: judgedDetails(judged),
    next: `${STOP} Tell the person what you wanted to do, and why.`,
  })
}

/** How the dialog of the caller's own client comes to count. */
function dialog({ client, policy }: JudgedCall): string {
  if (client === undefined) return ''
  const { who } = client
  const rule = { decision: 'allow', client: who } as const
  const why = `${who} has a dialog of its own, where a yes does not count: ${client.doubt() ?? 'nothing says so'}.`
  if (policy.waiting.some(one => keyOf(one.rule) === keyOf(rule)))
    return `${why} It counts once a person runs imago policy accept. `
  return `${why} To let it count, a person adds these lines to ${policy.userFile} (imago install CLIENT --dialog does it), and runs imago policy accept:\n${tomlOf(rule).join('\n')}\n`
}

const called = ({ tool, as, level, kernel }: JudgedCall) =>
  `${as} (${level})${kernel === null || tool.attaches !== undefined ? '' : ` in ${kernel}`}`

const judgedDetails = ({ tool, level, kernel, verdict }: JudgedCall) => ({
  tool: tool.name,
  level,
  kernel,
  rule: verdict.rule,
})

/** What a person could do about it. The exact text, so that nobody has to guess at a rule. */
function remedy({ tool, as, level, kernel, verdict, policy, within }: JudgedCall): string {
  const { from } = verdict.rule
  const isElsewhere = from.type === 'elsewhere'
  if ('number' in from && DEFAULTS[level].decision === 'allow') return withoutRule(verdict)
  const path = within === undefined ? '' : `\npath = ${JSON.stringify(within)}`
  // To let everything be attached is more than was asked for.
  const named =
    kernel !== null && (isElsewhere || tool.attaches !== undefined)
      ? `\nkernel = ${JSON.stringify(kernel)}`
      : ''
  const rule = `[[rule]]\ndecision = "allow"\ntool = "${as}"\nlevel = "${level}"${named}${path}`
  const allow = `add these lines to ${policy.userFile}, and run imago policy accept:\n${rule}`
  if (isElsewhere)
    return `${kernel} is a kernel of another project. With attach ${JSON.stringify({ name: kernel })} a person is asked once for all calls of this connection. To allow this one without asking, ${allow}`
  if (from.type === 'default') return `To allow it without asking, ${allow}`
  const removed = `${ruleName(verdict)} asks; as long as it does, no other rule can allow this.`
  return `${removed} To allow it without asking, take that rule out, ${allow}`
}

/** What runs unless a rule says otherwise needs no rule that allows it. */
function withoutRule(verdict: Verdict): string {
  const { from } = verdict.rule
  const taken = 'number' in from && from.removed ? '' : 'takes that rule out, and '
  return `${ruleName(verdict)} asks. To allow it without asking, a person ${taken}runs imago policy accept.`
}

function ruleName({ rule: { from, level } }: Verdict): string {
  if (from.type === 'elsewhere') return 'What holds for kernels of other projects'
  if (from.type === 'default') return `The default for what is ${level}`
  if (from.removed)
    return `Rule ${from.number}, taken out of ${from.file} and in force until imago policy accept,`
  return `Rule ${from.number} of ${from.file}`
}

// What a caller is told of a plan that was not carried out. Each says whether anything ran, and what not to try.

interface PersonsNo {
  readonly plan: Plan
  /** Where it was said: a seat, or `client NAME` for the dialog of that client. */
  readonly by: string
  readonly reason: string | null
}

/** With a reason, a proposal that heeds it is welcome; without one, the caller stops. */
export function deniedByPerson({ plan, by, reason }: PersonsNo): Failed {
  const client = /^client (.+)$/.exec(by)?.[1]
  const who = client === undefined ? 'A person' : `The dialog of ${client}`
  return failed('denied', {
    message: `${who} refused ${plan.tool} (${plan.id}). Nothing ran. They refused it${reason === null ? ', and gave no reason.' : `: ${reason}`}`,
    details: { plan: plan.id, tool: plan.tool, by: client === undefined ? 'person' : by, reason },
    next: afterNo(reason !== null),
  })
}

/** Nobody has said no: a host without a person, such as `claude -p`, closes the dialog by itself. */
export function dismissed({ plan, by }: Pick<PersonsNo, 'plan' | 'by'>): Failed {
  return failed('approval_dismissed', {
    message: `The dialog of ${by.replace(/^client /, '')} was closed without a choice on ${plan.tool} (${plan.id}). Nobody refused it, and nobody approved it. Nothing ran.`,
    details: { plan: plan.id, tool: plan.tool, by },
    next: `${STOP} Tell the person what you wanted to do, and that they are asked in a terminal of their own with imago watch.`,
  })
}

/** Only the client that the call came from could be asked, and no answer that counts came from there. */
export function unanswered({
  plan,
  by,
  reason,
}: Omit<PersonsNo, 'reason'> & { reason?: string | undefined }): Failed {
  return failed('approval_unavailable', {
    message: `No person has approved ${plan.tool} (${plan.id}). In the dialog of ${by.replace(/^client /, '')}: ${reason ?? 'nobody answered'}. Nothing ran.`,
    details: { plan: plan.id, tool: plan.tool, by: 'nobody', reason },
    next: `${STOP} Tell the person what you wanted to do, and that they are asked in a terminal of their own with imago watch.`,
  })
}

export function tooManyHeld({ held: waiting, most }: { held: number; most: number }): Failed {
  return failed('busy', {
    message: `${waiting} questions of this project wait for a person already; ${most} is the most. Nothing ran.`,
    details: { pending: waiting, most },
    next: 'A person answers them: with imago watch, in an editor, or on the page of imago web.',
  })
}

/** Its question waits for a person, who is not there or has not answered. */
export function held({ tool, title }: { readonly tool: string; readonly title: string }): Failed {
  return failed('approval_held', {
    message: `${title} waits for a person, and will be put before the next one who sits. Nothing ran.`,
    details: { tool, title },
    next: 'A person answers it: with imago watch, in an editor, or on the page of imago web.',
  })
}

export function timedOut({ plan, afterMs }: { plan: Plan; afterMs: number }): Failed {
  return failed('approval_timed_out', {
    message: `Nobody answered ${plan.id} (${plan.tool}) within ${duration(afterMs)}, which counts as a refusal. Nothing ran.`,
    details: { reason: 'nobody_answered', plan: plan.id, tool: plan.tool, waited_ms: afterMs },
    next: `${STOP} Tell the person what you wanted to do: they were not there, and can ask for it when they are.`,
  })
}

/** It was approved, and the machine slept or waited for so long that this counts no more. */
export function expired(plan: Plan): Failed {
  return failed('approval_timed_out', {
    message: `The approval of ${plan.id} (${plan.tool}) expired before it could be used, and counts no more. Nothing ran.`,
    details: { reason: 'approval_expired', plan: plan.id, tool: plan.tool },
    next: `${STOP} Tell the person that their approval came to nothing: they can ask for it again.`,
  })
}

/** Without a reason it was the caller that gave up. */
export function planWithdrawn(plan: Plan, reason = 'the call was cancelled'): Failed {
  const why = `${reason.charAt(0).toUpperCase()}${reason.slice(1)}`
  return failed('withdrawn', {
    message: `${why} while ${plan.id} (${plan.tool}) waited for a person. Nobody can approve it any more. Nothing ran.`,
    details: { plan: plan.id, tool: plan.tool, reason },
    next: 'Make the call again only if it is wanted still: a person is asked anew.',
  })
}

/** `preview` is what the same call would come to now; null where it cannot be worked out any more. */
export function stale(o: { plan: Plan; causes: readonly string[]; preview?: unknown }): Failed {
  const { plan, causes, preview } = o
  return failed('stale_plan', {
    message: `${plan.id} (${plan.tool}) is out of date: ${causes.join('; ')}. Nothing was changed.`,
    details: { plan: plan.id, tool: plan.tool, causes, ...(preview !== undefined && { preview }) },
    next: `Look at what is there now${preview === undefined ? '.' : '; details.preview shows what the same call would do to it.'} If that is still right, call again: a person is asked anew.`,
  })
}

/**
 * It comes to nothing, or to what nobody can be asked about, by files that `read_file` may not show: `reading` is why.
 * The same whatever it comes to, and whatever is there: there is nothing in it to guess by.
 */
export function untold({ name }: Tool, { decision, rule }: Verdict): Failed {
  const asks = decision === 'ask'
  const kept = asks ? 'a person is asked about before read_file shows it' : 'read_file may not show'
  return failed('denied', {
    message: `${name} comes to nothing, and why is not told: that is to be seen only in what ${kept}. Nothing was changed.`,
    details: { tool: name, by: 'policy', reason: 'not_shown', rule },
    next: asks
      ? 'Call read_file, which a person is asked about, and then this with what stands there.'
      : `${STOP} Tell the person what you wanted to do, and why.`,
  })
}

/** So many plans wait, or a person has said no so often, that nobody is asked about yet another one. */
export function notNow(limit: Limit): Failed {
  switch (limit.type) {
    case 'waiting':
      return tooManyWait(limit)
    case 'paused':
      return pausedFor(limit)
    default:
      return limit satisfies never
  }
}

function tooManyWait({ of, waiting, most }: Extract<Limit, { type: 'waiting' }>): Failed {
  const whose = of === 'caller' ? 'of this caller, or of where it comes from, ' : ''
  return failed('busy', {
    message: `${waiting} plans ${whose}wait for a person, and ${most} is the most. Nobody was asked, and nothing ran.`,
    details: { waiting, most },
    next: 'Wait until a person has answered some of them; job waits with action "wait", and interrupt_job gives plans of yours up.',
  })
}

function pausedFor({ refusals, leftMs }: Extract<Limit, { type: 'paused' }>): Failed {
  return failed('busy', {
    message: `A person has refused ${refusals} plans of yours in a row. Nobody is asked about another one for ${duration(leftMs)}. Nothing ran.`,
    details: { refused_in_a_row: refusals, of: 'this caller', left_ms: Math.round(leftMs) },
    next: `${STOP} Tell the person what you wanted to do, and why. Nobody is asked sooner unless they approve a plan that waits, or end the pause: in imago watch with r and then l.`,
    retryable: false,
  })
}

/** What a person put in the place of the arguments would need a level that they were not asked about. */
export function editRises(tool: Tool, because: string): Failed {
  return failed('denied', {
    message: `A person changed the arguments of ${tool.name} while approving it, and with those it would have to do more than it was approved for: ${because.replace(/\.$/, '')}. Nothing ran.`,
    details: { tool: tool.name, by: 'person', reason: 'the changed arguments ask for more' },
    next: `${STOP} Tell the person that their arguments ask for more, and wait for what they say.`,
  })
}

/** A person approved something, but not something that the tool can be asked for. */
export function badEdit(tool: Tool, refusal?: Outcome<never>): Failed {
  const why =
    refusal?.type === 'failed' ? refusal.error.message : 'they name another kernel than the call did.'
  return failed('denied', {
    message: `A person changed the arguments of ${tool.name} while approving it, and they cannot be used: ${why} Nothing ran.`,
    details: { tool: tool.name, by: 'person', reason: 'the changed arguments cannot be used' },
    next: `${STOP} Tell the person why their arguments cannot be used, and wait for what they say.`,
  })
}

/** A person chose among its parts, and nothing can be done as they chose; `why` is a sentence. */
export function badChoice({ id, tool }: Plan, why: string): Failed {
  return failed('denied', {
    message: `A person approved ${tool} (${id}) in part, and it cannot be done so: ${why} Nothing ran.`,
    details: { plan: id, tool, by: 'person', reason: 'it cannot be done as they chose' },
    next: `${STOP} Tell the person why it could not be done as they chose, and wait for what they say.`,
  })
}

/** A person went through all of its parts, and refused each. */
export function allRefused({ id, tool }: Plan, fates: readonly Fate[]): Failed {
  return failed('denied', {
    message: `A person refused every hunk of ${tool} (${id}). Nothing ran. They refused ${reasonsIn(fates)}.`,
    details: { plan: id, tool, by: 'person', reason: null, hunks: fates },
    next: afterNo(fates.some(({ reason }) => reason !== null)),
  })
}

const afterNo = (reasoned: boolean) =>
  reasoned
    ? 'Another proposal that heeds the reason is welcome. Do not do the same in another way.'
    : `${STOP} Tell the person what you make of it, and wait for what they say.`
