/**
 * The messages of the framed link, as `docs/wire.md#messages` lists them. Both ends send and receive all of
 * them: whoever asks is the caller of that call, and numbers it; whoever serves it answers under that number.
 */
export type Message =
  /** Caller to server: run `method`. `id` counts up from 1, per sender, and is never used twice on a link. */
  | { readonly type: 'call'; readonly id: number; readonly method: string; readonly params: unknown }
  /** Server to caller: the one answer. Exactly one of `return` and `fail` follows each call. */
  | { readonly type: 'return'; readonly id: number; readonly result: unknown }
  | { readonly type: 'fail'; readonly id: number; readonly error: Failure }
  /** Server to caller, before the answer: news of the call. Its encoded size is taken from the call's credit. */
  | { readonly type: 'event'; readonly id: number; readonly event: unknown }
  /** Caller to server: stop this call if it still runs. It is answered all the same. Late ones are ignored. */
  | { readonly type: 'cancel'; readonly id: number }
  /** Caller to server: so many more bytes of events may be sent for this call. */
  | { readonly type: 'credit'; readonly id: number; readonly bytes: number }
  /** Either way, unanswered. */
  | { readonly type: 'note'; readonly name: string; readonly params: unknown }
  | { readonly type: 'ping'; readonly n: number }
  | { readonly type: 'pong'; readonly n: number }
  /** A piece of a message too large for one frame; `stream` is the sender's number for that message. */
  | {
      readonly type: 'chunk'
      readonly stream: number
      readonly last: boolean
      readonly data: string | Uint8Array
    }
  /** The sender closes the link, and says why. */
  | { readonly type: 'bye'; readonly code: string; readonly message: string }

export interface Failure {
  /** One of `FAILURES`, or another end's own word. */
  readonly code: string
  readonly message: string
  readonly data?: unknown
}

/** Faults that a server answers a call with. What a caller can act on is a result, not one of these. */
export const FAILURES = {
  unknown_method: 'The server has no such method.',
  invalid_params: 'The parameters do not have the form that the method takes.',
  cancelled: 'The call was cancelled before it had an effect.',
  busy: 'Too many calls wait already; nothing was run.',
  unknown_call: 'The server remembers no call of that name in this epoch.',
  fault: 'The server failed while serving the call; the message says where.',
} as const

/** The first frames of a link, in JSON whatever comes later. `docs/wire.md#handshake` has the order. */
export interface Nonce {
  readonly imago: number
  readonly nonce: string
}
export interface Proof {
  readonly proof: string
}

/** The version of `docs/wire.md` that this code speaks. */
export const PROTOCOL = 1

export type Encoding = 'json' | 'msgpack'

/** Defaults of `docs/wire.md#limits`. Bytes, milliseconds, or counts. */
export const LIMITS = {
  /** One frame, once the handshake is over. */
  frameBytes: 8 * 1024 * 1024,
  /** One frame before the other end has proved itself. */
  handshakeFrameBytes: 4 * 1024,
  handshakeMs: 5_000,
  /** A hello: it may carry an environment. */
  helloFrameBytes: 256 * 1024,
  /** A message larger than this is sent in chunks of this size. */
  chunkBytes: 256 * 1024,
  /** A message put together from chunks. */
  messageBytes: 64 * 1024 * 1024,
  depth: 64,
  items: 100_000,
  /** Events of one call that may be under way without further credit. */
  creditBytes: 1024 * 1024,
  /** Bytes queued for a slow reader; above `high` nothing unasked is queued, above `cut` the link is closed. */
  sendHighBytes: 1024 * 1024,
  sendLowBytes: 256 * 1024,
  sendCutBytes: 80 * 1024 * 1024,
  /** Calls of one sender that may be pending on one link. */
  pendingCalls: 1_024,
} as const

export type Limits = { readonly [Name in keyof typeof LIMITS]: number }
