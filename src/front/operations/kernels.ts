import { z } from 'zod'
import { interruptReport } from '../../../wire/kernel.ts'
import { ANNOUNCED_ROW, SKIPPED_FILE } from '../../kernels/announced-row.ts'
import { KERNEL_ROW } from '../../kernels/rows.ts'
import { TRIAL } from '../../kernels/trial.ts'
import { operation } from './operation.ts'
import { kernelName } from './values.ts'

const named = z.strictObject({ name: kernelName })

/** What is for the project of the kernel that it names. */
const ofKernel = {
  params: named,
  kernel: ({ name }: z.infer<typeof named>) => name,
} as const

/** Operations on kernels: which there are, and how they begin and end. */
export const KERNEL_OPERATIONS = {
  kernels: operation({
    does: 'Lists the kernels, and the programs that have announced themselves and are none. Others: there are more, in other projects, which are told to a person at a terminal.',
    result: z.strictObject({
      kernels: z.array(KERNEL_ROW),
      announced: z.array(ANNOUNCED_ROW),
      skipped: z.array(SKIPPED_FILE),
      others: z.boolean(),
    }),
    level: 'safe',
  }),
  start: operation({
    does: 'Starts a kernel of the project, and answers with its row once it is ready.',
    params: z.strictObject({
      language: z.string().max(64),
      name: kernelName.exactOptional(),
      script: z.string().min(1).exactOptional(),
      args: z.array(z.string()).readonly().exactOptional(),
    }),
    result: KERNEL_ROW,
    level: 'cautious',
    topics: ['kernels'],
  }),
  trial: operation({
    does: 'Starts a kernel that nobody else sees, only to tell how that went, and ends it.',
    params: z.strictObject({ language: z.string().max(64) }),
    result: TRIAL,
    level: 'cautious',
  }),
  stop: operation({
    does: 'Ends a kernel that Imago started.',
    ...ofKernel,
    result: KERNEL_ROW,
    level: 'dangerous',
    topics: ['kernels'],
    recorded: true,
  }),
  restart: operation({
    does: 'Begins a new life of a kernel that Imago started, in the environment of the client.',
    ...ofKernel,
    result: KERNEL_ROW,
    level: 'dangerous',
    topics: ['kernels'],
    recorded: true,
  }),
  interrupt: operation({
    does: 'Stops the evaluation that runs in a kernel now, and says what was seen of that.',
    ...ofKernel,
    result: interruptReport,
    level: 'cautious',
    topics: ['kernels'],
  }),
  attach: operation({
    does: 'Makes a kernel of a program that listens. Calls of this client that name no kernel go there from then on. A kernel of ours that has ended begins again. What a person has not asked for is judged as the tool attach is.',
    params: z.strictObject({
      target: z
        .string()
        .min(1)
        .max(1_024)
        .describe('The name of the program, its process number, NAME-PID, or an address.'),
      name: kernelName.exactOptional(),
      key: z
        .string()
        .min(1)
        .max(1_024)
        .exactOptional()
        .describe('The secret of the program, where it has not announced one.'),
      key_file: z
        .string()
        .startsWith('/')
        .max(4_096)
        .exactOptional()
        .describe('The absolute path of the file that holds the secret. The next daemon reads it again.'),
      anywhere: z.boolean().exactOptional().describe('A Swank server of another machine is meant.'),
      no_secret: z.boolean().exactOptional().describe('A Swank server that asks for no secret is meant.'),
      errors: z
        .boolean()
        .exactOptional()
        .describe('The errors that servers of a Lisp program catch are to be noted.'),
    }),
    result: KERNEL_ROW,
    level: 'dangerous',
    topics: ['kernels', 'programs'],
    recorded: true,
    target: (params: { readonly target: string; readonly name?: string }) => params,
  }),
  detach: operation({
    does: 'Lets go of an attached program, which runs on without what was put into it. Answers with its last row.',
    ...ofKernel,
    result: KERNEL_ROW,
    level: 'dangerous',
    topics: ['kernels', 'programs'],
    recorded: true,
  }),
} as const
