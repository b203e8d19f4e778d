import { z } from 'zod'
import type { ProjectKernel } from '../../tools/contract.ts'
import type { InterruptReport, Kernel, Of } from '../../wire/kernel.ts'
import { scriptNote } from '../../wire/kernel.ts'
import type { TextStores } from '../text/texts.ts'
import { BACKGROUND_ROW, type Background } from './background.ts'
import type { KernelError } from './kernel-error.ts'
import type { Announced } from './programs.ts'

/** Something that happened to a kernel, for the journal: it began or was joined, and how it ended or was let go of. */
export interface KernelNews {
  readonly kernel: string
  readonly epoch: string | null
  /** `started`, `attached`, or a sentence that says how it ended. */
  readonly what: string
}

/** A kernel that has begun to live, or was joined. */
export interface NewLife {
  readonly name: string
  readonly root: string
  readonly kernel: Kernel
}

/** What every kernel by name is given. */
export interface KernelOptions {
  /** Where background output is kept; without, it is not. */
  readonly texts: TextStores | undefined
  /** Milliseconds on a clock that only goes forward. */
  now(): number
  /** It began to live or was joined, or is no kernel any more. */
  noted(news: KernelNews): void
  /** Its row may have changed. */
  changed(): void
  /** It lives, from now until `ended` of its kernel. */
  lives(life: NewLife): void
  /** Whether a rule keeps from callers what has ended it. */
  withholds(kernel: NamedKernel): boolean
}

/** One name, and the kernel that bears it, in whatever state. */
export interface NamedKernel {
  readonly name: string
  /** What it is a member of, with others that are called so: `web`, for `web` and `web/2`. */
  readonly group: string
  /** What its process has announced. */
  readonly announced: Announced | undefined
  readonly root: string
  /** Where it runs, without links: its root, unless a person attached it for another project. */
  readonly folder: string
  /** Which program it is: its next life is the same one. */
  readonly program: string
  /** It is the image of a program of the user's, in whose place an empty one is never meant. */
  readonly hasProgram: boolean
  /** It has ended, and what takes its place is still looked for. */
  readonly isFollowed: boolean
  /** It is followed, and ended so lately that calls wait for its next life. */
  readonly isExpected: boolean
  /** It has ended, and a call joins what may listen in its place by now. */
  readonly mayListenAgain: boolean
  /** It, or the script it runs, has begun so lately that its program may not have loaded all of its code yet. */
  readonly mayBeLoading: boolean
  /** Whether it lives, or is about to. */
  readonly alive: boolean
  /** The kernel while it lives, can be spoken to, and is not about to end. */
  readonly present: Kernel | undefined
  /** How its last image was lost, if it ended by itself and the next call would begin a new one. */
  readonly lost: string | undefined
  /** It was stopped, and did not end by itself. */
  readonly wasStopped: boolean
  row(): KernelRow
  /** What it printed while no evaluation ran. */
  readonly background: Background | undefined
  /** When it began to listen and when it ended, as programs tell the time; of a program alone. */
  readonly begunOn?: string
  readonly endedOn?: string
  /** What a call is told that can only have meant the image that has ended; `later`: sentences that follow. */
  over(later?: string): KernelError
  /**
   * The kernel as it lives, or can be made to; its link or successor is waited for so long. One that has to be started is
   * given `env`, that of whoever starts it now. Throws `KernelError`.
   */
  living(patienceMs?: number, env?: Readonly<Record<string, string>>): Promise<Kernel>
  /** Ends it, as a person asked. Throws `KernelError` where that is not for us to do. */
  stop(): Promise<void>
  /** A new life with the same options, as a person asked, in that one's environment. Throws like `stop`. */
  restart(env?: Readonly<Record<string, string>>): Promise<KernelRow>
  /** Stops what runs now, and nothing that comes after it. */
  interrupt(): Promise<InterruptReport>
  /** The daemon ends: so does what it owns, and what it does not own is let go of. */
  close(): Promise<void>
}

/** What is known of a program that is not ours. Null where it has not announced itself. */
const ATTACHED_ROW = z.strictObject({
  address: z.string(),
  announced: z.string().nullable().describe('Its own name.'),
  program: z.string().nullable(),
  cwd: z.string().nullable(),
  errors: z
    .boolean()
    .describe('Whether the errors that it has by itself are noted: the tool get_last_error tells them.'),
  helper: z
    .boolean()
    .describe('It works for the process that started it, so that calls go there by its name alone.'),
})

export const KERNEL_ROW = z.strictObject({
  name: z.string(),
  language: z.string(),
  implementation: z.string().nullable(),
  state: z
    .enum(['starting', 'ready', 'busy', 'unresponsive', 'away', 'ended', 'crash_loop'])
    .describe('away: an attached one whose link broke and is being made again.'),
  pid: z.int().nullable(),
  epoch: z.string().nullable(),
  owned: z.boolean().describe('Imago has started it, and may end it.'),
  attached: ATTACHED_ROW.nullable().describe('null where it is owned.'),
  root: z.string().describe('The project whose calls go to it where they name no kernel.'),
  script: z.string().nullable(),
  script_state: scriptNote.shape.state
    .nullable()
    .describe(
      'null where there is no script, while nothing is known of it, and where it had not returned when its kernel ended.',
    ),
  running: z.strictObject({ call: z.string(), elapsed_ms: z.number() }).nullable(),
  suspended: z.int().describe('Evaluations that wait where an error happened, and do not run.'),
  message: z
    .string()
    .nullable()
    .describe(
      'What its start does now; how it ended, or why it did not start, with its last words, where it left any; or how its script failed.',
    ),
  background: BACKGROUND_ROW.nullable().describe(
    'What it printed while no evaluation ran, in this life or, once that has ended, in its last.',
  ),
})

export type KernelRow = Of<typeof KERNEL_ROW>

/** How long after it has announced itself, or its script has begun, a program may not have loaded all of its code yet, in ms. */
export const LOADING_MS = 3_000

/** How a kernel has ended, in a line: without its last words. */
export const endInShort = (how: string): string => how.split(/(?: Its last words:)?\n/, 1)[0] ?? ''

/** It lives, or has ended by itself and begins again when it is called. */
export const isMeantStill = ({ alive, hasProgram, lost }: NamedKernel): boolean =>
  alive || (!hasProgram && lost !== undefined)

/** `web`, `web/2`, `web/10`, and then what is only named like them. */
export function byNumber(one: { readonly name: string }, other: { readonly name: string }): number {
  const [[stem, number], [otherStem, otherNumber]] = [numbered(one.name), numbered(other.name)]
  if (stem === otherStem) return number - otherNumber
  return stem < otherStem ? -1 : 1
}

function numbered(name: string): readonly [stem: string, number: number] {
  const [stem = '', number = '1'] = name.split('/')
  return [stem, Number(number)]
}

/** A row as a caller of its project sees it. */
export function rowOf(kernel: NamedKernel, chosen: boolean): ProjectKernel {
  const { name, state, language, pid, running, suspended, message, implementation, script, attached } =
    kernel.row()
  const program = attached === null ? script : attached.program
  return {
    name,
    group: kernel.group,
    state,
    chosen,
    language,
    pid,
    running_ms: running?.elapsed_ms ?? null,
    suspended,
    what: [
      implementation ?? language,
      ...(program === null ? [] : [program]),
      ...(attached?.errors ? ['its errors are noted'] : []),
      ...(attached?.helper ? ['a helper'] : []),
    ].join(', '),
    message,
  }
}
