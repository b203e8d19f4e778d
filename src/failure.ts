/** What the exit code of a command says, to scripts. */
export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  denied: 3,
  noSuchKernel: 4,
  stillRunning: 5,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/**
 * Why a command or the daemon cannot go on, in words for a person: what, to whom, and the next step. It ends the
 * process with `exit` and is shown without a stack.
 */
export class Failure extends Error {
  override readonly name = 'Failure'
  readonly exit: ExitCode

  constructor(message: string, options: { exit?: ExitCode; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.exit = options.exit ?? EXIT.failed
  }
}

/** What a person does about a daemon of another protocol, behind the words with which it refuses. */
export const OTHER_PROTOCOL = 'Or end the daemon, with the imago that started it: imago shutdown'
