import { type ToolError, toolError } from '../../../tools/outcome.ts'
import { duration, oneLine } from '../../../tools/wording.ts'
import type { Taken } from '../../core/approvals.ts'
import { EXIT, type ExitCode, Failure } from '../../failure.ts'
import type { CommandInput } from '../commands.ts'
import { exitOf, printEnvelope, printError } from '../envelopes.ts'
import type { Methods } from '../protocol.ts'
import { whyNot } from '../seat/asker.ts'
import { print, request } from './kernels.ts'

/** `imago approvals`: what waits for an answer, who could give one, and what is let through without. Never a code. */
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
  return refused(
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

interface Said {
  readonly plan: string
  readonly decision: 'approve' | 'deny'
  readonly taken: Taken
}

function said(input: CommandInput, { plan, decision, taken }: Said): ExitCode {
  if (taken.type === 'taken')
    return print(input, {
      result: { plan, decision },
      text: `${plan}: ${decision === 'approve' ? 'approved' : 'denied'}`,
    })
  return refused(input, errorOf(plan, taken))
}

function refused(input: CommandInput, error: ToolError): ExitCode {
  if (input.options.json) printEnvelope(input.printer, { ok: false, error })
  else printError(input.printer, error)
  return exitOf({ ok: false, error })
}

function errorOf(plan: string, taken: Exclude<Taken, { type: 'taken' }>): ToolError {
  const message = `${plan} was not answered: ${whyNot(taken)}`
  const details = { plan, reason: taken.type }
  if (taken.type === 'wrong_code') return toolError('denied', { message, details })
  return toolError('not_found', { message, details, next: 'What waits: imago approvals' })
}

/** A line for each plan that waits, and one for each seat. */
export function approvalsText({ seats, approvals: waiting, grants }: Methods['approvals']['result']): string {
  const plans = waiting.map(
    ({ id, tool, who, waited_ms, title }) =>
      `${id}  ${tool}  for ${oneLine(who)}, ${duration(waited_ms)}  ${oneLine(title)}`,
  )
  const granted = grants.map(
    ({ id, tool, pattern, root, who, seat, used }) =>
      `${id}  ${tool} on ${oneLine(pattern)} in ${oneLine(root)}  for ${oneLine(who)}, by ${seat}, used ${times(used)}`,
  )
  const sitting = seats.map(({ seat, who }) => `${seat}  ${who}`)
  return [
    ...(plans.length === 0 ? ['No plan waits for an answer.'] : plans),
    ...granted,
    ...(sitting.length === 0 ? ['Nobody has a seat. A person takes one with: imago watch'] : sitting),
  ].join('\n')
}

const times = (count: number) => (count === 1 ? 'once' : `${count} times`)
