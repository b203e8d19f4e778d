import { messageOf } from '../../../wire/errors.ts'

/** Not all lines are in the file. `written` of them are, and none of the others counts for a reader. */
export class AppendError extends Error {
  override readonly name = 'AppendError'
  readonly written: number

  constructor(message: string, { written = 0, cause }: { written?: number; cause: unknown }) {
    super(message, { cause })
    this.written = written
  }
}

export function cannotOpen(path: string, cause: unknown): AppendError {
  return new AppendError(`${path} cannot be opened for writing: ${messageOf(cause)}`, { cause })
}
