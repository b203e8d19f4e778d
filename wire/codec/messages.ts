import { WireError } from '../errors.ts'

/**
 * The messages of the framed link, as `docs/wire.md#messages` lists them. Both ends send and receive all of
 * them: whoever asks is the caller of that call, and numbers it; whoever serves it answers under that number.
 */
export type Message =
  /** Caller to server: run `method`. `id` counts up from 1, per sender, and calls arrive in that order. */
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
  /** Bytes queued for a slow reader: above `high` events are held back, above `cut` the link is closed. */
  sendHighBytes: 1024 * 1024,
  sendCutBytes: 80 * 1024 * 1024,
  /** Calls of one sender that may be pending on one link. */
  pendingCalls: 1_024,
} as const

export type Limits = { readonly [Name in keyof typeof LIMITS]: number }

/**
 * Reads a decoded frame as a message. The value itself is the message: fields that are not in the list are left
 * in place and mean nothing, and `params`, `result` and `event` may be absent. Throws `MESSAGE_INVALID`.
 */
export function parseMessage(value: unknown): Message {
  if (!isRecord(value)) throw invalid('is not a map', undefined)
  const fault = faultIn(value)
  if (fault !== undefined) throw invalid(fault, value.type)
  return value as unknown as Message
}

/** What is wrong with a message, or undefined. */
function faultIn(message: Fields): string | undefined {
  switch (message.type) {
    case 'call':
      return typeof message.method === 'string' ? faultInNumber(message, 'id') : 'has no method'
    case 'return':
    case 'event':
    case 'cancel':
      return faultInNumber(message, 'id')
    case 'fail':
      return isFailure(message.error)
        ? faultInNumber(message, 'id')
        : 'has no error with a code and a message'
    case 'credit':
      return faultInNumber(message, 'bytes') ?? faultInNumber(message, 'id')
    case 'note':
      return typeof message.name === 'string' ? undefined : 'has no name'
    case 'ping':
    case 'pong':
      return faultInNumber(message, 'n')
    case 'chunk':
      if (typeof message.last !== 'boolean') return 'does not say whether it is the last'
      if (typeof message.data !== 'string' && !(message.data instanceof Uint8Array)) return 'has no data'
      return faultInNumber(message, 'stream')
    case 'bye':
      return typeof message.code === 'string' && typeof message.message === 'string'
        ? undefined
        : 'has no code'
    default:
      return 'is of no known type'
  }
}

type Fields = { readonly [name: string]: unknown }

export function isRecord(value: unknown): value is Fields {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array)
  )
}

function faultInNumber(message: Fields, name: string): string | undefined {
  const value = message[name]
  const isCount = typeof value === 'number' && Number.isSafeInteger(value) && value > 0
  return isCount ? undefined : `has no ${name} that counts from 1`
}

const isFailure = (value: unknown) =>
  isRecord(value) && typeof value.code === 'string' && typeof value.message === 'string'

function invalid(fault: string, type: unknown): WireError {
  const what = typeof type === 'string' && /^[a-z]{1,12}$/.test(type) ? `A message \`${type}\`` : 'A message'
  return new WireError('MESSAGE_INVALID', `${what} ${fault}.`)
}
