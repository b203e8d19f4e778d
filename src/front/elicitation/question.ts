import type { ElicitRequestFormParams } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { oneLine } from '../../../tools/text.ts'
import type { ClientAnswer, ShownPlan } from '../../approvals/contract.ts'

/** A preview that is longer than this is not put into a dialog, where nobody could read it to its end. */
export const DIALOG_BYTES = 16 * 1024

export const DIALOG_LINES = 400

/** The longest reason that is taken from a dialog, in UTF-16 units. */
const REASON_CHARS = 1_000

/** A plan as a dialog of an MCP client puts it. */
export interface Question {
  readonly params: ElicitRequestFormParams
  /** Whether the whole preview is in it. If not it offers nothing but to deny: a person approves all that they see. */
  readonly approvable: boolean
}

/**
 * The plan in plain text, and a form with one required choice. Lines that are not Imago's own are set in by four spaces:
 * a client that prints plain text shows them as they are, and one that takes the message for Markdown shows code.
 */
export function questionOf(plan: ShownPlan): Question {
  const approvable = plan.lines <= DIALOG_LINES && fits(plan.body)
  const message = [
    approvable
      ? 'Imago asks: may this happen, exactly so?'
      : 'Imago asks about this. It is too long for a dialog, so that it can only be denied here.',
    '',
    ...factsOf(plan).map(([word, text]) => `    ${word.padEnd(8)} ${oneLine(text)}`),
    '',
    ...(approvable ? wholeOf(plan) : elsewhere(plan)),
  ].join('\n')
  return { params: { mode: 'form', message, requestedSchema: formOf(approvable) }, approvable }
}

/** By lines and by bytes as they are shown, so with the marks in it. */
function fits(body: string): boolean {
  return body.length <= DIALOG_BYTES && Buffer.byteLength(body) <= DIALOG_BYTES
}

function factsOf(plan: ShownPlan): readonly (readonly [word: string, text: string])[] {
  const { id, title, tool, level, kernel, root, who, hash, warnings, notes } = plan
  return [
    ['what', title],
    ['tool', `${tool} (${level})`],
    ['for', who],
    ['kernel', kernel ?? 'none'],
    ['project', root],
    ['size', `${plan.bytes} bytes, ${linesOf(plan)}`],
    ['sha256', hash],
    ['plan', id],
    ...warnings.map(warning => ['LOOK', warning] as const),
    ...notes.map(note => ['note', note] as const),
  ]
}

const linesOf = ({ lines }: ShownPlan) => `${lines} ${lines === 1 ? 'line' : 'lines'}`

function wholeOf(plan: ShownPlan): readonly string[] {
  const body = plan.body.endsWith('\n') ? plan.body.slice(0, -1) : plan.body
  return [
    'This is all of it; each line of it begins with a bar:',
    '',
    ...body.split('\n').map(line => `    | ${line}`),
    '',
    `That was the end of it: ${linesOf(plan)}.`,
  ]
}

const elsewhere = ({ id }: ShownPlan): readonly string[] => [
  `To read and approve all of ${id}, run imago watch in a terminal of your own.`,
]

/** Never an empty form, which some clients accept by themselves, and no default, which some send unseen. */
function formOf(approvable: boolean): ElicitRequestFormParams['requestedSchema'] {
  return {
    type: 'object',
    properties: {
      decision: {
        type: 'string',
        title: 'Decision',
        description: approvable ? 'Whether it happens.' : 'It can be approved with imago watch alone.',
        enum: approvable ? ['deny', 'approve'] : ['deny'],
        enumNames: approvable
          ? ['Deny: nothing happens', 'Approve: exactly this happens, once']
          : ['Deny: nothing happens'],
      },
      reason: {
        type: 'string',
        title: 'Reason',
        description: 'Why not; the model is told. May be left empty.',
        maxLength: REASON_CHARS,
      },
    },
    required: ['decision'],
  }
}

const ANSWER = z.looseObject({
  action: z.enum(['accept', 'decline', 'cancel']),
  content: z.looseObject({ decision: z.unknown(), reason: z.unknown() }).partial().nullish(),
})

/** What the client's answer comes to: only an accepted form that says `approve` is a yes. */
export function answerFrom(answer: unknown, { approvable }: Pick<Question, 'approvable'>): ClientAnswer {
  const parsed = ANSWER.safeParse(answer)
  if (!parsed.success) return failedWith('it answered with something that is no answer to a form')
  const { action, content } = parsed.data
  if (action === 'decline') return { type: 'no', how: 'declined', reason: reasonIn(content?.reason) }
  if (action === 'cancel') return { type: 'no', how: 'cancelled', reason: reasonIn(content?.reason) }
  const decision = content?.decision
  if (decision === 'deny') return { type: 'no', how: 'declined', reason: reasonIn(content?.reason) }
  if (decision === undefined) return failedWith('it accepted the form and left out the decision')
  if (decision !== 'approve') return failedWith('it accepted the form with a decision that was not offered')
  return approvable ? { type: 'yes' } : failedWith('it approved what it had not shown whole')
}

const reasonIn = (reason: unknown) =>
  typeof reason === 'string' && reason.trim() !== '' ? reason.slice(0, REASON_CHARS) : null

/** `reason` is a clause, for the journal and for people. */
export const failedWith = (reason: string): ClientAnswer => ({ type: 'no', how: 'failed', reason })
