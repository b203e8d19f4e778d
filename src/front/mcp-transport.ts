import type { Duplex } from 'node:stream'
import {
  type JSONRPCMessage,
  type JSONRPCRequest,
  PROTOCOL_VERSION_META_KEY,
  parseJSONRPCMessage,
  SUPPORTED_PROTOCOL_VERSIONS,
  type Transport,
  UnsupportedProtocolVersionError,
} from '@modelcontextprotocol/server'
import { finish } from '../../wire/link/transport.ts'

/** The longest line that is taken from a client, in bytes; a longer one is answered with an error and skipped. */
export const LINE_BYTES = 10 * 1024 * 1024

/** The revision from which on each request names the one that it is of. */
export const MODERN = '2026-07-28'

/** Unsent bytes above which no more requests are read until the client has caught up. */
const BEHIND_BYTES = 1024 * 1024

/** How long answers that are already under way may still be written once the client has closed its input. */
const LAST_ANSWERS_MS = 1_000

const NEWLINE = 0x0a

const PARSE_ERROR = -32700

const INVALID_REQUEST = -32600
const INVALID_PARAMS = -32_602

const NO_VERSION =
  'initialize names no protocol version. Send params.protocolVersion, a text such as ' +
  `"${SUPPORTED_PROTOCOL_VERSIONS[0]}"; this server speaks ${SUPPORTED_PROTOCOL_VERSIONS.join(', ')}.`

/**
 * Newline-delimited JSON-RPC over a byte stream. The SDK's own transport skips lines that are not JSON and hangs up
 * on long ones; this one answers both, so that no client waits for an answer that cannot come.
 *
 * When the client closes its input, requests that were read are still answered for a moment, then the stream ends.
 */
export class LineTransport implements Transport {
  onclose?: (() => void) | undefined
  onerror?: ((error: Error) => void) | undefined
  onmessage?: ((message: JSONRPCMessage) => void) | undefined

  /** Settles once the stream is over and has carried what was written to it; never rejects. */
  readonly done: Promise<void>

  readonly #stream: Duplex
  readonly #lines: LineSplitter
  readonly #unanswered = new Set<string | number>()
  readonly #asked = new OwnRequests()
  #settle: () => void = () => {}
  #closed = false
  #inputEnded = false
  /** The revisions that a request may name. */
  #served: readonly string[] = [MODERN]

  constructor(stream: Duplex) {
    this.#stream = stream
    this.#lines = new LineSplitter({
      limit: LINE_BYTES,
      line: bytes => this.#read(bytes),
      tooLong: ends => this.#refuse(INVALID_REQUEST, tooLongMessage, idAtEnds(ends)),
    })
    this.done = new Promise(resolve => {
      this.#settle = resolve
    })
  }

  /** Whether the stream is over. Requests that end because of that were not cancelled by anybody. */
  get closed(): boolean {
    return this.#closed
  }

  /** Whether the client reads slower than it is written to; then news that it can do without is left out. */
  get behind(): boolean {
    return this.#stream.writableNeedDrain
  }

  async start(): Promise<void> {
    // A client that closes its input still reads.
    this.#stream.allowHalfOpen = true
    this.#stream.on('data', (chunk: Buffer) => this.#lines.push(chunk))
    this.#stream.on('drain', () => this.#stream.resume())
    this.#stream.on('end', () => this.#endOfInput())
    this.#stream.on('error', error => this.#fail(error))
    this.#stream.on('close', () => this.close())
    if (this.#stream.destroyed) await this.close()
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#closed) return
    if (!('method' in message) && message.id !== undefined) this.#unanswered.delete(message.id)
    this.#stream.write(`${JSON.stringify(this.#asked.sent(message))}\n`)
    if (this.#stream.writableLength > BEHIND_BYTES) this.#stream.pause()
    if (this.#inputEnded && this.#unanswered.size === 0) await this.close()
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    void finish(this.#stream).then(this.#settle)
    this.onclose?.()
  }

  #read(bytes: Buffer): void {
    const text = bytes.toString('utf8').trim()
    if (text === '') return
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch {
      this.#refuse(PARSE_ERROR, 'This line is not JSON.', null)
      return
    }
    let message: JSONRPCMessage
    try {
      message = parseJSONRPCMessage(value)
    } catch {
      this.#refuse(INVALID_REQUEST, notAMessage(value), idOf(value))
      return
    }
    if (this.#admits(message)) this.onmessage?.(this.#asked.received(message))
  }

  /** Keeps account of what has to be answered yet. A request whose id is in use is refused. */
  #admits(message: JSONRPCMessage): boolean {
    if (!('method' in message)) return true
    if (!('id' in message)) {
      // A request that its client has cancelled is not answered any more.
      const cancelled = message.method === 'notifications/cancelled' ? message.params?.requestId : undefined
      if (typeof cancelled === 'string' || typeof cancelled === 'number') this.#unanswered.delete(cancelled)
      return true
    }
    // Such a client agreed on a revision when it opened; what it may name besides is of no consequence.
    if (message.method === 'initialize') this.#served = [MODERN, ...SUPPORTED_PROTOCOL_VERSIONS]
    if (message.method === 'initialize' && typeof message.params?.protocolVersion !== 'string') {
      this.#refuse(INVALID_PARAMS, NO_VERSION, message.id)
      return false
    }
    const unsupported = this.#unsupported(message)
    if (unsupported !== undefined) {
      this.#refuse(unsupported.code, unsupported.message, message.id, unsupported.data)
      return false
    }
    if (message.method === 'subscriptions/listen') return true
    if (this.#unanswered.has(message.id)) {
      // Run a second time, it would take the place of the first, which could then not be cancelled.
      const text = `Request ${message.id} is still being answered; nothing was run again.`
      this.#refuse(INVALID_REQUEST, text, message.id)
      return false
    }
    this.#unanswered.add(message.id)
    return true
  }

  /** The SDK looks at the revision that is named when a connection opens, and serves whatever is named later. */
  #unsupported({ params }: JSONRPCRequest): UnsupportedProtocolVersionError | undefined {
    const requested = params?._meta?.[PROTOCOL_VERSION_META_KEY]
    if (typeof requested !== 'string' || this.#served.includes(requested)) return undefined
    return new UnsupportedProtocolVersionError({ supported: [...this.#served], requested })
  }

  #refuse(code: number, message: string, id: string | number | null, data?: unknown): void {
    this.onerror?.(new RefusedLine(message))
    if (this.#closed) return
    const error = { code, message, ...(data !== undefined && { data }) }
    this.#stream.write(`${JSON.stringify({ jsonrpc: '2.0', id, error })}\n`)
  }

  #endOfInput(): void {
    if (this.#closed) return
    this.#lines.end()
    this.#inputEnded = true
    if (this.#unanswered.size === 0) void this.close()
    else setTimeout(() => this.close(), LAST_ANSWERS_MS).unref()
  }

  #fail(error: Error): void {
    if (this.#closed) return
    this.onerror?.(error)
    void this.close()
  }
}

/**
 * The requests that this end makes, counted from 1 where the SDK counts them from 0: clients that are built on
 * `@modelcontextprotocol/sdk` 1 do not hear that a request 0 was cancelled, and leave its dialog standing.
 */
class OwnRequests {
  /** As they were sent, and not answered yet. */
  readonly #open = new Set<number>()

  sent(message: JSONRPCMessage): JSONRPCMessage {
    if (!('method' in message)) return message
    if ('id' in message && typeof message.id === 'number') {
      this.#open.add(message.id + 1)
      return { ...message, id: message.id + 1 }
    }
    const given = message.method === 'notifications/cancelled' ? message.params?.requestId : undefined
    if (typeof given !== 'number' || !this.#open.delete(given + 1)) return message
    return { ...message, params: { ...message.params, requestId: given + 1 } }
  }

  received(message: JSONRPCMessage): JSONRPCMessage {
    if ('method' in message || typeof message.id !== 'number') return message
    this.#open.delete(message.id)
    return { ...message, id: message.id - 1 }
  }
}

interface LineListener {
  readonly limit: number
  line(bytes: Buffer): void
  /** Called once for a line over the limit, at its end, with its first and last bytes. */
  tooLong(ends: Ends): void
}

interface Ends {
  readonly head: string
  readonly tail: string
}

/** Bytes kept from each end of a line that is too long, enough to find the id of the request in. */
const END_BYTES = 512

/** Cuts a byte stream into lines in one pass, holding at most one line of the limit. */
class LineSplitter {
  readonly #to: LineListener
  #pieces: Buffer[] = []
  #length = 0
  #overflow: { head: Buffer; tail: Buffer } | undefined

  constructor(to: LineListener) {
    this.#to = to
  }

  push(chunk: Buffer): void {
    let from = 0
    while (from < chunk.length) {
      const at = chunk.indexOf(NEWLINE, from)
      this.#add(chunk.subarray(from, at === -1 ? chunk.length : at))
      if (at === -1) return
      this.end()
      from = at + 1
    }
  }

  /** The line is complete: at a newline, or at the end of the stream. */
  end(): void {
    const { pieces, overflow } = { pieces: this.#pieces, overflow: this.#overflow }
    this.#pieces = []
    this.#length = 0
    this.#overflow = undefined
    if (overflow)
      this.#to.tooLong({ head: overflow.head.toString('utf8'), tail: overflow.tail.toString('utf8') })
    else if (pieces.length > 0)
      this.#to.line(pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces))
  }

  #add(piece: Buffer): void {
    if (piece.length === 0) return
    if (this.#overflow) {
      this.#overflow.tail = lastBytes([this.#overflow.tail, piece])
      return
    }
    this.#pieces.push(piece)
    this.#length += piece.length
    if (this.#length <= this.#to.limit) return
    const head = Buffer.concat(this.#pieces.slice(0, END_BYTES)).subarray(0, END_BYTES)
    this.#overflow = { head: Buffer.from(head), tail: lastBytes(this.#pieces.slice(-END_BYTES)) }
    this.#pieces = []
  }
}

function lastBytes(pieces: readonly Buffer[]): Buffer {
  return Buffer.from(Buffer.concat(pieces.map(piece => piece.subarray(-END_BYTES))).subarray(-END_BYTES))
}

/**
 * The id of a request of which only the ends are known. It is found only where it can be nothing but a member of the
 * outermost object: before any nested value, or right before the closing brace. A quote inside a string is escaped
 * in JSON, so neither pattern can match text inside one.
 */
function idAtEnds({ head, tail }: Ends): string | number | null {
  const id = '"id"\\s*:\\s*("[^"\\\\]{0,128}"|-?\\d{1,15})'
  const first = new RegExp(
    `^\\s*\\{\\s*(?:"(?:jsonrpc|method)"\\s*:\\s*"[^"\\\\]*"\\s*,\\s*)*${id}\\s*,`,
  ).exec(head)
  const last = new RegExp(`,\\s*${id}\\s*\\}\\s*$`).exec(tail)
  const found = first?.[1] ?? last?.[1]
  return found === undefined ? null : JSON.parse(found)
}

function idOf(value: unknown): string | number | null {
  if (typeof value !== 'object' || value === null || !('id' in value)) return null
  return typeof value.id === 'string' || typeof value.id === 'number' ? value.id : null
}

function notAMessage(value: unknown): string {
  if (Array.isArray(value)) return 'Batches are not part of this protocol: send one message per line.'
  return 'This line is JSON, but not a JSON-RPC 2.0 request, notification or response.'
}

const tooLongMessage = `A line is longer than ${LINE_BYTES} bytes. It was skipped: write large data to a file and let the code read it.`

/** A line that was answered with an error before any request could be made of it. */
class RefusedLine extends Error {
  override readonly name = 'RefusedLine'
}
