import { z } from 'zod'
import { operation } from './operation.ts'

/** A run of the agent. */
export const RUN = z.strictObject({
  run: z.string(),
  state: z
    .enum(['works', 'waits', 'stopped', 'done', 'partial', 'cancelled', 'failed'])
    .describe('stopped: its process has gone, and nothing else keeps it from going on.'),
  text: z.string().describe('What it was asked.'),
  waits_for: z.string().nullable(),
  at: z.number().describe('When its last entry was written, in milliseconds since 1970.'),
})

const ofRun = {
  params: z.strictObject({ run: z.string().regex(/^run-[1-9]\d{0,8}$/) }),
} as const

/** Operations on what happened: the journal, and the runs of the agent. */
export const HISTORY_OPERATIONS = {
  journal: operation({
    does: 'Answers with the end of the journal, of all projects, without calls that only looked, oldest first: each as `imago log --long` prints it.',
    params: z.strictObject({ count: z.int().min(1).max(500) }),
    result: z.strictObject({ stories: z.array(z.string()) }),
    act: () => 'read the journal',
    level: 'safe',
  }),
  runs: operation({
    does: 'Lists the runs of the agent in the project, the newest first.',
    result: z.strictObject({ runs: z.array(RUN) }),
    level: 'safe',
  }),
  run: operation({
    does: 'Answers with what a run of the project did, as `imago runs show` prints it.',
    ...ofRun,
    result: z.strictObject({ text: z.string() }),
    level: 'safe',
  }),
  cancel_run: operation({
    does: 'Begins to cancel a run of the project, as `imago runs cancel` does.',
    ...ofRun,
    level: 'cautious',
    topics: ['approvals'],
  }),
} as const
