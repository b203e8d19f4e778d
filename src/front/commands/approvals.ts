import { type ToolError, toolError } from '../../../tools/outcome.ts'
import { duration, oneLine } from '../../../tools/text.ts'
import type { AnswerOutcome, Grant, Pause, WaitingPlan } from '../../approvals/contract.ts'
import { EXIT, type ExitCode, Failure } from '../../failure.ts'
import { request } from '../client.ts'
import type { CommandInput } from '../command.ts'
import { print, printFailed, table } from '../print.ts'
import type { Methods } from '../protocol.ts'
import { whyNot } from '../seat/plan-text.ts'

/** `imago approvals`: what waits for an answer, who could give one, what is let through without and who is let be. */
export async function approvals(input: CommandInput): Promise<ExitCode> {
  const result = await request('approvals', {})
  return print(input, { result, text: approvalsText(result) })
}

/** `imago approve ID --code CODE` */
export async function approve(input: CommandInput): Promise<ExitCode> {
  const given = givenIn(input)
  return said(input, { plan: given.plan, decision: 'approve', taken: await request('approve', given) })
}

/** `imago deny ID --code CODE [--reason TEXT]` */
export async function deny(input: CommandInput): Promise<ExitCode> {
  const given = givenIn(input)
  const { reason } = input.options
  const taken = await request('deny', { ...given, ...(reason === undefined ? {} : { reason }) })
  return said(input, { plan: given.plan, decision: 'deny', taken })
}

/** `imago revoke GRANT` */
export async function revoke(input: CommandInput): Promise<ExitCode> {
  const [grant = ''] = input.operands
  const { revoked } = await request('revoke', { grant })
  if (revoked)
    return print(input, { result: { grant }, text: `${grant}: revoked, and its calls are asked about again` })
  return printFailed(
    input,
    toolError('not_found', {
      message: `There is no grant ${JSON.stringify(grant.slice(0, 100))}: it has ended, or never was.`,
      details: { grant: grant.slice(0, 100) },
      next: 'What is let through without asking: imago approvals',
    }),
  )
}

function givenIn({ operands: [plan = ''], options: { code } }: CommandInput): { plan: string; code: string } {
  if (code !== undefined && code !== '') return { plan, code }
  throw new Failure('--code is missing. The code of a plan is shown on every seat: imago watch', {
    exit: EXIT.usage,
  })
}

interface GivenAnswer {
  readonly plan: string
  readonly decision: 'approve' | 'deny'
  readonly taken: AnswerOutcome
}

function said(input: CommandInput, { plan, decision, taken }: GivenAnswer): ExitCode {
  if (taken.type === 'taken')
    return print(input, {
      result: { plan, decision },
      text: `${plan}: ${decision === 'approve' ? 'approved' : 'denied'}`,
    })
  return printFailed(input, errorOf(plan, taken))
}

function errorOf(plan: string, taken: Exclude<AnswerOutcome, { type: 'taken' }>): ToolError {
  const message = `${plan} was not answered: ${whyNot(taken)}`
  const details = { plan, reason: taken.type }
  if (taken.type === 'wrong_code') return toolError('denied', { message, details })
  return toolError('not_found', { message, details, next: 'What waits: imago approvals' })
}

/** A table for each kind of thing that there is: plans, grants, pauses and seats. No line begins with others' words. */
export function approvalsText(result: Methods['approvals']['result']): string {
  const { seats, approvals: waiting, grants, pauses, held } = result
  return [
    waiting.length === 0 ? 'No plan waits for an answer.' : tableOf(PLANS, waiting.map(planCells)),
    ...(held.length === 0 ? [] : [tableOf(HELD, held.map(heldCells))]),
    ...(grants.length === 0 ? [] : [tableOf(GRANTS, grants.map(grantCells))]),
    ...(pauses.length === 0 ? [] : [tableOf(PAUSES, pauses.map(pauseCells))]),
    seats.length === 0
      ? 'Nobody has a seat. A person takes one with: imago watch'
      : tableOf(
          SEATS,
          seats.map(({ seat, who }) => [seat, oneLine(who)]),
        ),
  ].join('\n\n')
}

const PLANS = ['PLAN', 'TOOL', 'KERNEL', 'WAITS', 'FOR', 'WHAT']

const HELD = ['RUN', 'HELD QUESTION', 'ASKED', 'FOR']

const GRANTS = ['GRANT', 'TOOL', 'USED', 'ENDS IN', 'BY', 'FILES', 'FOR', 'PROJECT']

const PAUSES = ['NOT ASKED FOR', 'REFUSED IN A ROW', 'WHOSE PLANS']

const SEATS = ['SEAT', 'WHO']

type Held = Methods['approvals']['result']['held'][number]

const tableOf = (head: readonly string[], rows: readonly (readonly string[])[]) =>
  table([head, ...rows].map(cells => ({ cells, below: [] })))

const planCells = ({ id, tool, kernel, waited_ms, who, title }: WaitingPlan) => [
  id,
  oneLine(tool),
  kernel === null ? '-' : oneLine(kernel),
  duration(waited_ms),
  oneLine(who),
  oneLine(title),
]

const heldCells = ({ tool, who, run = '-', asked_at }: Held) => [
  run,
  oneLine(tool),
  `${duration(Math.max(0, Date.now() - asked_at))} ago`,
  oneLine(who),
]

const grantCells = ({ id, tool, used, ends_ms, seat, pattern, who, root }: Grant) => [
  id,
  oneLine(tool),
  times(used),
  duration(ends_ms),
  seat,
  oneLine(pattern),
  oneLine(who),
  oneLine(root),
]

const pauseCells = ({ who, refusals, left_ms }: Pause) => [
  duration(left_ms),
  String(refusals),
  who === null ? 'all, whoever asks' : `those of ${oneLine(who)}`,
]

const times = (count: number) => (count === 1 ? 'once' : `${count} times`)
