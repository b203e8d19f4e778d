import type { Kernel } from './kernel.ts'

/** What a program that listens says of itself, but for its secret. docs/wire.md#attached */
export interface Program {
  /** Where it says so. */
  readonly file: string
  /** Its own; several may have one name. */
  readonly name: string
  readonly language: string
  readonly implementation: string
  readonly pid: number
  /** When its process began, as the system tells it; empty where it does not. */
  readonly started: string
  /** The process that started it. */
  readonly parent?: number | undefined
  /**
   * What it is to its parent. `main`: `imago run` started it. `serves`: it does the work of its parent, which only starts
   * it. `helper`: it works for its parent. `fork`: a fork within a run. Left out: a program of its own.
   */
  readonly role?: 'main' | 'serves' | 'helper' | 'fork' | undefined
  /** Its parent was told to start it again when a file changes. */
  readonly reloaded?: boolean | undefined
  /** The names and numbers of the programs that a helper works for. */
  readonly works_for?: readonly string[] | undefined
  readonly address: string
  readonly epoch: string
  readonly cwd: string
  /** What it was started as; empty where there is no such thing. */
  readonly program: string
  /** RFC 3339. */
  readonly announced_at: string
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

/** What programs have said of themselves. */
export interface Announcements {
  /** Sorted by name and process. */
  readonly programs: readonly Program[]
  /** Oldest first. */
  readonly ends: readonly ProgramEnd[]
  readonly skipped: readonly SkippedFile[]
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
  /** What they have announced, without asking any of them. */
  read(): Announcements
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
