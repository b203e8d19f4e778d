/**
 * Every fault this layer can throw, and what it means. The table is the only list: `docs/errors.md` is
 * written from it, and a test compares the two.
 */
export const WIRE_ERRORS = {
  FRAME_TOO_LARGE:
    'A frame announced more bytes than the limit in force; it was refused before any were read.',
  FRAME_TRUNCATED: 'The connection ended in the middle of a frame.',
  FRAME_MALFORMED: 'The body of a frame is not valid in the encoding that was agreed on.',
  LIMIT_EXCEEDED: 'A message nests deeper, or holds more items, than the limits allow.',
  MESSAGE_INVALID: 'A frame decoded, but is not one of the messages of docs/wire.md.',
  MESSAGE_TOO_LARGE: 'A value is larger than chunks may carry; it was not sent, or not reassembled.',
  VERSION_MISMATCH: 'The two ends speak no common version of the protocol.',
  NOT_AUTHENTICATED: 'The other end did not prove that it knows the secret of this link.',
  HANDSHAKE_TIMEOUT: 'The other end did not finish the handshake in time.',
  LINK_CLOSED: 'The link ended before the answer came. Whether the call ran is not known.',
  LINK_REFUSED: 'Nothing could be connected to at that address.',
  PROTOCOL_BROKEN: 'The other end broke the order of the protocol, such as answering one call twice.',
  REMOTE_FAULT: 'The other end reported a fault of its own while serving a call.',
  KERNEL_START_FAILED: 'The kernel process could not be started, or ended before it was ready.',
  KERNEL_NOT_FOUND: 'No interpreter for that language was found.',
  CRASH_LOOP: 'The kernel ended too often in a short time and is not started again by itself.',
  UNRESPONSIVE: 'The kernel did not answer its control channel in time.',
  BUSY: 'Too many evaluations wait for this kernel already; nothing was run.',
} as const

export type WireErrorCode = keyof typeof WIRE_ERRORS

/**
 * A fault of a link or of a kernel process. `message` says what, to whom, and the next step; callers decide by
 * `code` and never by the text. `cause` keeps the error underneath.
 */
export class WireError extends Error {
  override readonly name = 'WireError'
  readonly code: WireErrorCode
  /** Only with `REMOTE_FAULT`. */
  readonly remote: RemoteFailure | undefined
  /** Only with `KERNEL_START_FAILED`: the end of what its process printed. `message` has it, too. */
  readonly lastWords: string | undefined

  constructor(
    code: WireErrorCode,
    message: string,
    options: { cause?: unknown; remote?: RemoteFailure; lastWords?: string | undefined } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.remote = options.remote
    this.lastWords = options.lastWords
  }
}

/** What the other end sent with its own `fail` message, or would have sent: `message` is its sentence alone. */
export interface RemoteFailure {
  readonly code: string
  readonly message: string
  /** Unparsed. */
  readonly data: unknown
}

/** The text of whatever was thrown. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** `ENOENT`, `EIO`, …; undefined for what is not a refusal of the system. */
export function errnoOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}
