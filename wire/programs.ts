import { z } from 'zod'
import type { Of } from './contract/values.ts'
import type { Kernel } from './kernel.ts'

const TEXT = z.string().max(4_096)

/** What a program that listens says of itself. docs/wire.md#attached */
export const ANNOUNCEMENT = z.object({
  imago: z.literal(1),
  /** Its own; several may have one name. */
  name: z.string().min(1).max(200),
  language: z.string().min(1).max(64),
  implementation: z.string().max(200),
  pid: z.int().positive(),
  /** When its process began, as the system tells it; empty where it does not. */
  started: z.string().max(200),
  /** The process that started it. */
  parent: z.int().nonnegative().optional(),
  /**
   * What it is to its parent. `main`: `imago run` started it. `serves`: it does the work of its parent, which only starts
   * it. `helper`: it works for its parent. Left out: a program of its own, or a fork.
   */
  role: z.enum(['main', 'serves', 'helper']).optional(),
  /** The names and numbers of the programs that a helper works for. */
  works_for: z.array(z.string().max(200)).max(16).readonly().optional(),
  address: z.string().regex(/^(unix:\/.+|tcp:127\.0\.0\.1:\d{1,5})$/s),
  secret: z.string().min(32).max(1_024).nullish(),
  epoch: z.string().regex(/^[0-9a-f]{8}$/),
  cwd: TEXT,
  /** What it was started as; empty where there is no such thing. */
  program: TEXT,
  /** RFC 3339. */
  announced_at: z.string().max(64),
  ended: z.string().max(4_096).optional(),
})

/** The same, but for its secret, and what is known of it besides. */
export interface Program extends Omit<Of<typeof ANNOUNCEMENT>, 'imago' | 'secret' | 'ended'> {
  /** Where it says so. */
  readonly file: string
  /** It was given a key, which it keeps to itself: a person has to give it to us as well. */
  readonly keyed: boolean
  /**
   * What its process number says, without asking it: that process lives; there is none; another one has that number
   * now. The last two are said of a program in another process namespace too, which can well be reached.
   */
  readonly process: 'lives' | 'gone' | 'recycled'
}

/** What a program has left in place of its announcement that ended by an exception. */
export interface ProgramEnd {
  readonly program: Program
  /** `SyntaxError: invalid syntax (app.py:9)` */
  readonly ended: string
}

/** A file that stands among the announcements and is not taken for one; `reason` goes on from its name. */
export interface SkippedFile {
  readonly file: string
  readonly reason: string
}

/** The secret for Swank servers that stands in the home directory, but for the secret itself. */
export type HomeSecret =
  | { readonly type: 'there'; readonly path: string }
  | { readonly type: 'missing'; readonly path: string }
  /** It is not used as it is: `why` goes on from its path, and `mend` is what to do about it. */
  | { readonly type: 'flawed'; readonly path: string; readonly why: string; readonly mend: string }

/** The programs of this user that listen, wherever they run on this machine, and Swank servers. */
export interface Programs {
  /** What they have announced, without asking any of them; sorted by name and process. */
  read(): {
    readonly programs: readonly Program[]
    readonly ends: readonly ProgramEnd[]
    readonly skipped: readonly SkippedFile[]
  }
  /** Where they announce themselves. */
  readonly folder: string
  /** Another text whenever something was announced or taken back since it was asked before; costs one look at a folder. */
  version(): string
  /** Whether a process of that number lives. */
  lives(pid: number): boolean
  /** Whether somebody listens where the program has said; what one that has ended left over is then removed. */
  isReachable(program: Program): Promise<boolean>
  /** What stands in the home directory for Swank servers, whose programs announce nothing. */
  homeSecret(): HomeSecret
  /** Joins it. Throws a `WireError`. */
  attach(joining: Joining): Promise<Kernel>
  /** Joins that image again as soon as it can be; resolves with a sentence where it never can, or `signal` aborts. */
  rejoin(
    joining: Joining & { readonly epoch: string; readonly signal: AbortSignal },
  ): Promise<Kernel | string>
}

/** A program to be joined. */
export interface Joining {
  /** What the kernel is called here. */
  readonly name: string
  /** `unix:/path`, `tcp:127.0.0.1:port`, or `swank://host:port`. */
  readonly address: string
  /** The process that announced itself there, or was found there; null where none has or was. */
  readonly process: ProgramProcess | null
  /** Its secret, as a person gave it; without, it is what the program has announced, or for Swank the home's. */
  readonly key: string | undefined
  /** A Swank server to which no secret is sent, as a person insists. */
  readonly open: boolean
  /** The errors that servers of a Lisp program catch are to be noted. */
  readonly errors?: boolean
  /** Which process it is, where that has not announced itself and is seen from here all the same. */
  found(process: ProgramProcess): void
  /** Output that belongs to no evaluation. */
  background(text: string): void
  /** The link broke and is being made again, and why; null once it is there. */
  away(why: string | null): void
}

export interface ProgramProcess {
  readonly pid: number
  readonly started: string
  /** It was seen to live, so that not seeing it any more means that it has ended. */
  readonly seen: boolean
}
