import { join } from 'node:path'
import { z } from 'zod'
import { openStateFile, type StateFile } from './state-file.ts'

/** What is known of a program that we are attached to, as much as is kept over lives of the daemon: no secret. */
const ATTACHMENT = z.object({
  /** What it is called here. */
  name: z.string(),
  /** The project of whoever attached it. */
  root: z.string(),
  address: z.string(),
  /** The life of the image: another one is not joined by itself. */
  epoch: z.string(),
  language: z.string(),
  implementation: z.string(),
  pid: z.number(),
  /** The process that announced itself; null where none has. */
  process: z.object({ pid: z.number(), started: z.string(), seen: z.boolean() }).nullable(),
  announced: z.string().nullable(),
  program: z.string().nullable(),
  cwd: z.string().nullable(),
  /** The process that started it, and when it announced itself; left out by older daemons. */
  parent: z.number().optional(),
  role: z.enum(['main', 'serves', 'helper', 'fork']).optional(),
  works_for: z.array(z.string()).readonly().optional(),
  announced_at: z.string().optional(),
  /** It has ended, and is only known. */
  ended: z.literal(true).optional(),
  /** The errors that servers of a Lisp program catch are noted. */
  errors: z.boolean().optional(),
  /**
   * Where its secret comes from: its announcement, a file that a person named, or that person's hands; of a Swank
   * server, the file in the home directory, or there is none, as a person has insisted.
   */
  secret: z.discriminatedUnion('from', [
    z.object({ from: z.literal('announcement') }),
    z.object({ from: z.literal('file'), path: z.string() }),
    z.object({ from: z.literal('person') }),
    z.object({ from: z.literal('home') }),
    z.object({ from: z.literal('none') }),
  ]),
})

export type Attachment = z.output<typeof ATTACHMENT>

/** Under which name a process was attached. */
const PROCESS_NAME = z.object({ name: z.string(), pid: z.number(), started: z.string() })

export type ProcessName = z.output<typeof PROCESS_NAME>

/** More than there are records of errors: see `error_record.py`. */
export const MOST_NAMES = 1_000

const FILE = z.object({
  /** The programs that the next daemon has to join again. */
  attached: z.array(ATTACHMENT).readonly(),
  /** The latest last: rules about these hold for what such a process has left. Left out by older daemons. */
  names: z.array(PROCESS_NAME).readonly().default([]),
})

type Attached = z.output<typeof FILE>

/** What is attached, and what was. */
export type AttachmentStore = StateFile<Attached>

/**
 * `attached.json` in the state directory. Losing it costs an `imago attach`, and rules their hold on what processes have
 * left under names that a person gave.
 */
export const openAttachmentStore = (options: {
  readonly stateDir: string
  log(sentence: string, error: unknown): void
}): AttachmentStore =>
  openStateFile({
    path: join(options.stateDir, 'attached.json'),
    shape: FILE,
    none: { attached: [], names: [] },
    unread: 'What was attached before cannot be read, and is not joined again.',
    unwritten: 'What is attached cannot be written down, and will not be joined again.',
    log: options.log,
  })
