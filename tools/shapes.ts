import { z } from 'zod'
import { display, type Of, restart, suspension } from '../wire/kernel.ts'
import { TOOL_ERRORS, type ToolErrorCode } from './errors.ts'

/** What answers of several tools have in common, as shapes: apart, as a command that only prints begins without zod. */

export const toolErrorShape = z.object({
  code: z.enum(Object.keys(TOOL_ERRORS) as ToolErrorCode[]),
  /** What, to whom, and the next step; for reading, never for matching. */
  message: z.string(),
  details: z.record(z.string(), z.unknown()),
  retryable: z.boolean(),
  /** What to do now, in one line, naming a tool or a command where there is one. */
  next: z.string().nullable(),
})
export type ToolError = Of<typeof toolErrorShape>

/** What the result of any call may say beside the fields of its tool. */
export const besides = z.object({
  /** How its kernel was found, or which other programs run another text: what is to be known first. */
  notice: z.string().exactOptional(),
  /** What a person decided of it, and the arguments that they changed, as they approved them. */
  approval: z.string().exactOptional(),
  edited: z.record(z.string(), z.unknown()).exactOptional(),
  /** It was cut to fit, and says where the rest is. */
  truncated: z.boolean().exactOptional(),
  /** What it is about, where that has words of its own. */
  language: z.string().exactOptional(),
  /** Whose names were meant, where a file was named. */
  names_of: z.string().exactOptional(),
})

/** What a call is answered with that goes on, as a job, after the patience of its caller. */
export const jobStatus = z.object({
  /** `waiting`: nothing of it has run, and a person is asked whether it may. */
  status: z.enum(['running', 'waiting']),
  job: z.string(),
  tool: z.string(),
  /** Null for a tool that works without one. */
  kernel: z.string().nullable(),
})
export type JobStatus = Of<typeof jobStatus>

/** A kernel, or a program that listens and could become one. */
export const projectKernel = z.object({
  name: z.string(),
  /** What all that are called so are asked by: `web/*` for `web` and `web/2`, whose group is `web`. */
  group: z.string(),
  /** That of a kernel; of what is not attached `listens`, or `supervisor`, `helper`, `orphan` for what calls do not go to by themselves. */
  state: z.string(),
  /** Calls of this connection that name no kernel go there. */
  chosen: z.boolean(),
  language: z.string(),
  pid: z.number().nullable(),
  /** For how long the call that runs there has run; null where none does. */
  running_ms: z.number().nullable(),
  suspended: z.number(),
  /** What it was started as, or what kind of image it is. */
  what: z.string(),
  /** How it ended, or what is wrong with it. */
  message: z.string().nullable(),
})
export type ProjectKernel = Of<typeof projectKernel>

/** A suspension, and how long it waits for its owner, in milliseconds. */
export const expiring = z.object({ ...suspension.shape, expires_in_ms: z.number() })
export type Expiring = Of<typeof expiring>

/** Whose a suspended evaluation is, as a caller sees it. */
export const ownership = z.discriminatedUnion('type', [
  z.object({ type: z.literal('you') }),
  /** All agents of its project own it, this caller among them. */
  z.object({ type: z.literal('anyone') }),
  /** Another caller; `person`: somebody who sits. */
  z.object({ type: z.literal('other'), who: z.string(), person: z.boolean() }),
])
export type Ownership = Of<typeof ownership>

/** Something that code has drawn or displayed, as its caller is told. */
export const displayed = z.object({
  ...display.pick({ what: true, shown: true, text: true, for_people: true, note: true }).shape,
  files: z
    .array(
      z.object({
        path: z.string(),
        media_type: z.enum(['image/png', 'text/html']),
        bytes: z.number(),
        /** Pixels, as `640 × 480`, of a picture. */
        size: z.string().exactOptional(),
      }),
    )
    .exactOptional(),
})
export type Displayed = Of<typeof displayed>
export type DisplayedFile = NonNullable<Displayed['files']>[number]

/** A way to go on, with the number under which it is taken. */
export const numberedRestart = z.object({ ...restart.shape, number: z.number() })
export type NumberedRestart = Of<typeof numberedRestart>
