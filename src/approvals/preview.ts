import type { Hunk } from '../../tools/contract.ts'
import { type Failed, failed } from '../../tools/outcome.ts'
import { sha256 } from '../sha256.ts'
import { escapePlan, escapePlanLine, fitsEscapedPlan, warningsOf } from '../text/escape.ts'
import type { ShownHunk, ShownPlan, WaitingPlan } from './contract.ts'
import { canonical, type Plan } from './plan.ts'

/**
 * What of a kernel an approval does not bind, as a note for whoever is asked. An image is checked again by its epoch,
 * and nothing that is defined in it but what the tool brought as evidence. Nothing to say of a plan without a kernel.
 */
function unboundIn({ kernel, epoch, evidence }: Plan): readonly string[] {
  if (kernel === null || epoch === null) return []
  const checked = evidence.map(({ what }) => escapePlanLine(what)).join(', ')
  const again = checked === '' ? 'Nothing is checked again.' : `Checked again are: ${checked}.`
  return [`What is defined in ${escapePlanLine(kernel)} may change until this runs. ${again}`]
}

/** A plan as every asker shows it: what of it does not change while it waits. */
export type PlanView = Omit<WaitingPlan, 'waited_ms'> & {
  /** The whole of it, with marks. */
  readonly body: string
  readonly hunks: readonly ShownHunk[]
  readonly args: ShownPlan['args']
}

/** A longer one is not put before a person, in characters once it is marked: nobody would read it. */
const SHOWN_CHARS = 4 * 1024 * 1024

/**
 * The whole preview, with marks for whatever would not be seen, and warnings that count it. Nothing is left out or
 * shortened. `bytes` and `lines` are those of the preview itself, in UTF-8. It takes a while for a long one: once for
 * each plan is enough.
 */
export function shownPlan(plan: Plan): PlanView {
  const { title, body } = plan.preview
  return {
    id: plan.id,
    hash: plan.hash,
    tool: plan.tool,
    level: plan.level,
    kernel: plan.kernel === null ? null : escapePlanLine(plan.kernel),
    root: escapePlanLine(plan.root),
    who: escapePlanLine(plan.who),
    title: escapePlanLine(title),
    paths: plan.changes.map(({ path }) => escapePlanLine(path)),
    body: escapePlan(body).text,
    bytes: Buffer.byteLength(body),
    lines: body === '' ? 0 : body.replace(/\n$/, '').split('\n').length,
    hunks: (plan.hunks?.all ?? []).map(shownHunk),
    args: editable(plan.args),
    turn: plan.id,
    times: 1,
    rule: null,
    grants: [],
    warnings: warningsOf(`${title}\n${body}`),
    notes: unboundIn(plan),
  }
}

/** Why nobody can be asked about this plan: too much would have to be shown. Known before anything is marked. */
export function unshowable({ id, tool, preview: { body } }: Plan): Failed | undefined {
  if (fitsEscapedPlan(body, SHOWN_CHARS)) return undefined
  return failed('too_large', {
    message: `A person has to be asked about ${tool}, and what they would have to read is longer than ${SHOWN_CHARS} characters, hidden ones counted by their marks. Nobody was asked. Nothing ran.`,
    details: { plan: id, tool, bytes: Buffer.byteLength(body), most: SHOWN_CHARS },
    next: 'Make a smaller change: of less of the file at a time, or of a smaller file.',
  })
}

/** What is edited is what stands in the file, and is not marked. */
function shownHunk({ number, shown, line, before, after, diff, why }: Hunk): ShownHunk {
  const told = why === null ? null : escapePlan(why).text
  return { number, shown: escapePlanLine(shown), line, before, after, diff: escapePlan(diff).text, why: told }
}

function editable(args: unknown): ShownPlan['args'] {
  if (typeof args !== 'object' || args === null || Array.isArray(args)) return null
  return Object.keys(args).length === 0 ? null : { ...args }
}

/** From this time on a person is told how to be asked no more. */
const OFTEN = 3

/** Things that are remembered; of those beyond, the one that was asked for longest ago is forgotten. */
const MOST = 1_024

/** Files for which rules are written down one by one. */
const MOST_RULES = 4

/** How often a person was asked about the same thing. */
interface RepeatCounter {
  /** Counts this time, and says how many there were. */
  count(plan: Plan): number
  readonly size: number
}

/**
 * The same thing is the same tool on the same files, or with the same arguments where there are none, for one caller; of
 * what takes a change back, that change.
 */
export function openRepeated(): RepeatCounter {
  const times = new Map<string, number>()
  return {
    count(plan) {
      const key = keyOf(plan)
      const now = (times.get(key) ?? 0) + 1
      times.delete(key)
      times.set(key, now)
      const [oldest] = times.keys()
      if (times.size > MOST && oldest !== undefined) times.delete(oldest)
      return now
    },
    get size() {
      return times.size
    },
  }
}

function keyOf({ tool, kernel, root, origin, changes, args, undoes }: Plan): string {
  const paths = changes.map(({ path }) => path).sort()
  return sha256(canonical([tool, kernel, root, origin, undoes ?? (paths.length > 0 ? paths : [args])]))
}

/**
 * The rule, in TOML, by which nobody would be asked about the like any more, where it is asked for often: as narrow as a
 * rule can be, about exactly the files of the plan and nothing below what may be a folder. Null where that is not so, or no rule can say it.
 */
export function ruleAgainst(plan: Plan, times: number): string | null {
  const { tool, level, kernel, changes } = plan
  if (times < OFTEN || changes.length > MOST_RULES) return null
  const paths = [...new Set(changes.map(({ path }) => path))]
  if ([tool, kernel ?? '', ...paths].some(text => escapePlanLine(text) !== text)) return null
  const lines = [
    '[[rule]]',
    'decision = "allow"',
    `tool = ${JSON.stringify(tool)}`,
    `level = ${JSON.stringify(level)}`,
    ...(kernel === null ? [] : [`kernel = ${JSON.stringify(kernel)}`]),
  ]
  if (paths.length > 0)
    return paths.map(path => [...lines, `file = ${JSON.stringify(path)}`].join('\n')).join('\n\n')
  return [`# Whatever its arguments are: a rule cannot tell them apart.`, ...lines].join('\n')
}

/** For whoever called, to tell the person. */
export function noteOf(o: {
  readonly plan: Plan
  readonly times: number
  readonly rule: string
  readonly policyFile: string
}): string {
  const { plan, times, rule, policyFile } = o
  const files = plan.changes.map(({ shown }) => shown).join(', ')
  const on = files === '' ? '' : ` on ${escapePlanLine(files)}`
  return `Approval of ${plan.tool}${on} was asked for ${times} times by now. Tell the person, and leave it to them: do not write this yourself. These lines in ${policyFile}, and then imago policy accept, would let it through without asking:\n${rule}`
}
