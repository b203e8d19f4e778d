import { z } from 'zod'
import { operation } from './operation.ts'

const STORY = z.strictObject({
  time: z.string(),
  kernel: z.string().nullable(),
  tool: z.string().nullable().describe('null for what is about no call.'),
  who: z.string().nullable(),
  what: z.string().describe('What was called, or what happened, in a line.'),
  outcome: z.string().nullable().describe('`ok`, or the code of the error; null while no line says so.'),
  decided: z.string().nullable().describe('What was said of its plan, by whom, and why.'),
  undo: z.string().nullable().describe('The name to undo it by.'),
  text: z.string().describe('All that was kept of it.'),
})

const RUN = z.strictObject({
  run: z.string(),
  state: z
    .enum(['works', 'waits', 'stopped', 'done', 'partial', 'cancelled', 'failed'])
    .describe('stopped: its process has gone, and nothing else keeps it from going on.'),
  text: z.string().describe('What it was asked.'),
  woken: z.string().nullable().describe('The error that has woken it.'),
  waits_for: z.string().nullable(),
  at: z.number().describe('When its last entry was written, in milliseconds since 1970.'),
})

const runNamed = z.strictObject({ run: z.string().regex(/^run-[1-9]\d{0,8}$/) })

/** Operations on what happened: the journal, and the runs of the agent. */
export const HISTORY_OPERATIONS = {
  journal: operation({
    does: 'Answers with the end of the journal, of all projects, in the order in which it began: calls with what was decided and what came of them, and all else.',
    params: z.strictObject({
      count: z.int().min(1).max(500),
      looks: z.boolean().exactOptional().describe('With calls that only looked, too.'),
      until: z.iso.datetime().exactOptional().describe('Without what began later.'),
    }),
    result: z.strictObject({ stories: z.array(STORY) }),
    who: ['seat'],
    act: () => 'read the journal',
    level: 'safe',
  }),
  runs: operation({
    does: 'Lists the runs of the agent in the project, the newest first.',
    result: z.strictObject({ runs: z.array(RUN) }),
    who: ['anyone'],
    level: 'safe',
  }),
  run: operation({
    does: 'Answers with what a run of the project did.',
    params: runNamed,
    result: RUN.extend({
      entries: z.array(z.strictObject({ type: z.string(), at: z.number(), text: z.string() })),
    }),
    who: ['anyone'],
    level: 'safe',
  }),
  cancel_run: operation({
    does: 'Begins to cancel a run of the project, as `imago runs cancel` does.',
    params: runNamed,
    who: ['anyone'],
    level: 'cautious',
    topics: ['approvals'],
  }),
  resume_run: operation({
    does: 'Begins to go on with a run of the project, as `imago runs resume` does, in the environment of the daemon.',
    params: runNamed,
    who: ['anyone'],
    level: 'cautious',
  }),
} as const
