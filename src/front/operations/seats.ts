import { z } from 'zod'
import {
  ANSWER_OUTCOME,
  GRANT,
  HELD_ROW,
  PAUSE,
  PLAN_END,
  PLAN_FILE,
  SHOWN_HUNK,
  WAITING_PLAN,
} from '../../approvals/rows.ts'
import { operation } from './operation.ts'
import { key, reason } from './values.ts'

const whyChosen = reason.nullable().default(null)

const choice = z.discriminatedUnion('decision', [
  z.strictObject({ hunk: z.int().min(1), decision: z.literal('accept') }),
  z.strictObject({ hunk: z.int().min(1), decision: z.literal('refuse'), reason: whyChosen }),
  z.strictObject({
    hunk: z.int().min(1),
    decision: z.literal('edit'),
    text: z.string(),
    reason: whyChosen,
    inPart: z.literal(true).exactOptional(),
  }),
])

/** Who has a seat. */
export const SEAT_ROW = z.strictObject({
  seat: z.string(),
  who: z.string(),
  command: z
    .string()
    .describe('What it was started with, as it says itself; empty where the system does not tell.'),
  root: z.string().describe('The folder of its project.'),
})

/** Somebody else wants a seat. */
export const SEAT_WANTED = z.strictObject({
  id: z.string().describe('What `admit` takes.'),
  who: z.string(),
  terminal: z.string(),
  pid: z.int().nullable().describe('null for a page.'),
  command: SEAT_ROW.shape.command,
  why: z.string().nullable().describe('Why it needs no answer any more; null while it does.'),
  through: z
    .strictObject({ code: z.string(), driver: z.string().nullable() })
    .exactOptional()
    .describe('Of an editor: the code that it shows, and which model or program may drive it.'),
})

const others = z.array(SEAT_ROW)

const ofEditor = z.string().exactOptional()

const SEAT_EVENT = z.discriminatedUnion('type', [
  z
    .strictObject({ type: z.literal('asked'), seats: others, code: ofEditor })
    .describe('A person has to let you in: those who sit have been asked. An editor shows the code.'),
  z.strictObject({
    type: z.literal('seated'),
    seat: z.string(),
    who: z.string(),
    others,
    trouble: z.string().nullable().describe('Why dangerous calls are refused until it is acknowledged.'),
    resume: ofEditor.describe('The secret by which an editor comes back when its connection breaks.'),
  }),
])

/** Operations on seats, and on the plans that wait for an answer. */
export const SEAT_OPERATIONS = {
  sit: operation({
    does: 'Takes a seat, for a person at a terminal or in an editor, until it is cancelled or the connection ends. The daemon asks `prove` of the client first. The topics `approvals` and `seats` of `subscribe` tell those who sit what waits. With `alone` it fails where somebody sits already.',
    params: z.strictObject({
      alone: z.boolean().exactOptional(),
      through: z
        .string()
        .min(1)
        .max(80)
        .exactOptional()
        .describe('The client has no terminal: what its editor calls itself, for people.'),
      resume: z
        .string()
        .max(64)
        .exactOptional()
        .describe('The secret of the seat that an editor had before its connection broke.'),
    }),
    event: SEAT_EVENT,
    level: 'dangerous',
    topics: ['seats'],
  }),
  admit: operation({
    does: 'Lets somebody else sit, or not.',
    params: z.strictObject({ wanted: key, admit: z.boolean() }),
    result: z.strictObject({ taken: z.boolean().describe('false where that was settled already.') }),
    act: () => 'admit somebody',
    level: 'dangerous',
    topics: ['seats'],
  }),
  answer: operation({
    does: 'Answers a plan. Only the first answer counts.',
    params: z.strictObject({
      plan: key,
      hash: key,
      decision: z.enum(['approve', 'deny', 'edit', 'choose']),
      reason: reason.optional(),
      args: z.record(z.string(), z.unknown()).optional(),
      choices: z.array(choice).max(10_000).readonly().optional(),
      grant: z.string().max(4_096).optional(),
    }),
    result: ANSWER_OUTCOME,
    act: ({ plan }: { readonly plan: string }) => `answer ${plan}`,
    level: 'dangerous',
    topics: ['approvals'],
  }),
  plan: operation({
    does: 'Answers with the whole preview of a plan, its parts, the files that it changes, what is called, and the code for a script.',
    params: z.strictObject({ plan: key }),
    result: z.strictObject({
      body: z.string().nullable().describe('null where the plan waits no more.'),
      hunks: z.array(SHOWN_HUNK),
      files: z.array(PLAN_FILE).describe('Empty where it changes no file.'),
      args: z.record(z.string(), z.unknown()).nullable(),
      code: z.string().describe('Empty where wrong ones have ended it.'),
    }),
    act: ({ plan }: { readonly plan: string }) => `read ${plan}`,
    level: 'safe',
  }),
  approvals: operation({
    does: 'Lists the plans that wait, who could answer them, what is let through without asking, who is not put before anybody for a while, and how the plans that waited last have ended, oldest first.',
    result: z.strictObject({
      seats: z.array(SEAT_ROW),
      approvals: z.array(WAITING_PLAN),
      grants: z.array(GRANT),
      pauses: z.array(PAUSE),
      ends: z.array(PLAN_END),
      held: z.array(HELD_ROW).describe('Questions of the project that wait, and are before nobody now.'),
    }),
    level: 'safe',
  }),
  revoke: operation({
    does: 'Ends a grant. It makes nothing possible, so anybody may.',
    params: z.strictObject({ grant: z.string() }),
    result: z.strictObject({ revoked: z.boolean().describe('false where there is none of that name.') }),
    level: 'safe',
    topics: ['approvals'],
  }),
  approve: operation({
    does: 'Approves a plan, for a script: by the code that is shown on the seats.',
    params: z.strictObject({ plan: key, code: key }),
    result: ANSWER_OUTCOME,
    level: 'dangerous',
    topics: ['approvals'],
  }),
  deny: operation({
    does: 'Denies a plan, for a script: by the code that is shown on the seats.',
    params: z.strictObject({ plan: key, code: key, reason: reason.exactOptional() }),
    result: ANSWER_OUTCOME,
    level: 'cautious',
    topics: ['approvals'],
  }),
  lift: operation({
    does: 'Ends all pauses.',
    result: z.strictObject({ lifted: z.int().describe('How many there were.') }),
    act: () => 'end a pause',
    level: 'cautious',
    topics: ['approvals'],
  }),
  acknowledge: operation({
    does: 'Takes note, as a person, of what is wrong with the journal, so that dangerous calls may go on.',
    act: () => 'take note of trouble with the journal',
    level: 'dangerous',
    topics: ['seats'],
  }),
} as const
