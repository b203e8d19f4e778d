/**
 * The handshakes of docs/wire.md#handshake: the daemon's end of a kernel's link, and both ends of a client's. All of them
 * reject with a `WireError`, having closed the transport: `HANDSHAKE_TIMEOUT`, `NOT_AUTHENTICATED`, `VERSION_MISMATCH`,
 * `FRAME_*`, `MESSAGE_INVALID`, or `LINK_CLOSED` when the other end went away. A peer that has not proved
 * itself is told nothing, except which versions there are.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Duplex } from 'node:stream'
import { codecOf } from '../codec/codec.ts'
import {
  CLIENT_PROTOCOL,
  checkedLength,
  type Encoding,
  HEADER_BYTES,
  isRecord,
  LIMITS,
  type Limits,
  PROTOCOL,
} from '../codec/messages.ts'
import { WIRE_ERRORS, WireError, type WireErrorCode } from '../errors.ts'
import { within } from '../signal.ts'
import { type Link, type LinkOptions, openLink } from './link.ts'
import { finish } from './transport.ts'

/** One field of what an end says of itself. */
interface Field<Value> {
  is(value: unknown): value is Value
  /** What it has to be, as a clause. */
  readonly due: string
}

type Fields = Readonly<Record<string, Field<unknown>>>

type Read<Shape extends Fields> = {
  readonly [Name in keyof Shape]: Shape[Name] extends Field<infer Value> ? Value : never
}

const isText = (value: unknown): value is string => typeof value === 'string'

const text: Field<string> = { is: isText, due: 'a text' }

const count: Field<number> = {
  is: (value): value is number => typeof value === 'number' && Number.isSafeInteger(value) && value > 0,
  due: 'a whole number above 0',
}

const texts: Field<readonly string[]> = {
  is: (value): value is string[] => Array.isArray(value) && value.every(isText),
  due: 'a list of texts',
}

const textsByName: Field<Readonly<Record<string, string>>> = {
  is: (value): value is Record<string, string> => isRecord(value) && Object.values(value).every(isText),
  due: 'an object of texts',
}

function matching(pattern: RegExp): Field<string> {
  const is = (value: unknown): value is string => isText(value) && pattern.test(value)
  return { is, due: `a text that matches ${pattern.source}` }
}

function word<Word extends string>(...words: readonly Word[]): Field<Word> {
  return { is: (value): value is Word => words.some(one => one === value), due: words.join(' or ') }
}

/** What a link is opened with once its handshake is done. */
type Listeners = Pick<LinkOptions, 'serve' | 'note'>

type HandshakeOptions = { readonly transport: Duplex; readonly limits?: Partial<Limits> | undefined }

/** The daemon's end of a link that a kernel's peer has opened. */
export function acceptKernel(
  options: HandshakeOptions & Listeners & { readonly secret: string },
): Promise<{ hello: KernelHello; link: Link }> {
  return greetKernel(options, 'acceptor')
}

/**
 * The daemon's end of a link that the daemon itself has opened, to a peer that listens. A peer may refuse a daemon that
 * has proved itself, such as because it serves another one: `REMOTE_FAULT`, with the peer's word as `remote.code`.
 */
export function openKernel(
  options: HandshakeOptions & Listeners & { readonly secret: string },
): Promise<{ hello: KernelHello; link: Link }> {
  return greetKernel(options, 'opener')
}

export type AcceptedClient =
  | { readonly type: 'calls'; readonly hello: ClientHello; readonly link: Link }
  /** The bytes that follow are MCP and are unread in `transport`; whoever takes it listens to its `error`. */
  | { readonly type: 'mcp'; readonly hello: ClientHello; readonly transport: Duplex }

/**
 * The daemon's end of a client's link. `judge` may refuse a client, which is then told the code and the message.
 * `welcome` is what the daemon says of itself beside the encoding and the limits.
 */
export function acceptClient(
  options: HandshakeOptions &
    Listeners & {
      readonly welcome: Readonly<Record<string, unknown>>
      /** That of a WebSocket, whose subprotocol has fixed it; left out, the hello decides. */
      readonly encoding?: Encoding | undefined
      judge(hello: ClientHello): { readonly refused: HandshakeRefusal } | undefined
    },
): Promise<AcceptedClient> {
  const { transport } = options
  return inTime(options, async limits => {
    const hello = await readClientHello(transport, limits, options.welcome.version)
    const verdict = options.judge(hello)
    if (verdict !== undefined) throw await refuse(transport, verdict.refused)
    const encodings = options.encoding === undefined ? hello.encodings : [options.encoding]
    const welcome = welcomeTo({ encodings }, limits)
    sendFrame(transport, { welcome: { ...options.welcome, ...welcome } })
    if (hello.role === 'mcp') return { type: 'mcp', hello, transport }
    return { type: 'calls', hello, link: linked(options, { welcome, limits, name: hello.name }) }
  })
}

/** A client's end of a link. What the daemon refuses with is the error's code, or `remote.code` of `REMOTE_FAULT`. */
export function openClient(
  options: HandshakeOptions & Listeners & { readonly hello: ClientHello },
): Promise<{ welcome: ClientWelcome; link: Link }> {
  return inTime(options, async limits => {
    sendFrame(options.transport, { hello: options.hello })
    const reply = await readFrame(options.transport, limits.helloFrameBytes)
    const refused = refusalIn(reply)
    if (refused !== undefined) throw refusalOf(refused)
    const welcome = readIn(reply, 'welcome', CLIENT_WELCOME)
    return { welcome, link: linked(options, { welcome, limits, name: 'the daemon' }) }
  })
}

function greetKernel(
  options: HandshakeOptions & Listeners & { readonly secret: string },
  side: Side,
): Promise<{ hello: KernelHello; link: Link }> {
  const { transport, secret } = options
  return inTime(options, async limits => {
    await provePeer({ transport, secret, side, limits })
    const hello = readIn(await readHello(transport, limits, PROTOCOL), 'hello', KERNEL_HELLO)
    const welcome = welcomeTo(hello, limits)
    sendFrame(transport, { welcome })
    const name = `the ${hello.language} kernel ${hello.pid}`
    return { hello, link: linked(options, { welcome, limits, name }) }
  })
}

function linked(
  { transport, serve, note }: HandshakeOptions & Listeners,
  { welcome, limits, name }: { welcome: Welcome; limits: Limits; name: string },
): Link {
  const agreed: Limits = {
    ...limits,
    creditBytes: welcome.credit,
    chunkBytes: welcome.chunk,
    frameBytes: welcome.frame,
    messageBytes: welcome.message,
  }
  return openLink({ transport, encoding: welcome.encoding, name, limits: agreed, serve, note })
}

/** The frame of a hello, if it is none of a refusal. One of another protocol is refused before the rest is looked at. */
async function readHello(
  transport: Duplex,
  limits: Limits,
  spoken: number,
  advice = 'Use the same version of both.',
): Promise<unknown> {
  const frame = await readFrame(transport, limits.helloFrameBytes)
  const refused = refusalIn(frame)
  if (refused !== undefined) throw refusalOf(refused)
  const protocol = protocolOf(frame)
  if (protocol === spoken) return frame
  const message = `The daemon speaks protocol ${spoken} and was greeted with ${protocol}. ${advice}`
  throw await refuse(transport, { code: 'VERSION_MISMATCH', message })
}

/** A client is told which field of its hello is missing or wrong, as `invalid_hello`. An unknown role is answered with nothing. */
async function readClientHello(transport: Duplex, limits: Limits, version: unknown): Promise<ClientHello> {
  const advice = `Install the imago that it is of (npm install -g imago@${version}).`
  try {
    return parseClientHello(await readHello(transport, limits, CLIENT_PROTOCOL, advice))
  } catch (error) {
    if (error instanceof FieldFault && (error.isMissing || error.field !== 'role'))
      await finish(transport, frameOf({ refused: { code: 'invalid_hello', message: error.message } }))
    throw error
  }
}

/** Tells the other end why it is refused, closes once that is said, and gives the error for this end. */
async function refuse(transport: Duplex, refused: HandshakeRefusal): Promise<WireError> {
  await finish(transport, frameOf({ refused }))
  return refusalOf(refused)
}

/** A refusal as an error: of its own code where that is one of this layer. */
function refusalOf({ code, message }: HandshakeRefusal): WireError {
  if (Object.hasOwn(WIRE_ERRORS, code)) return new WireError(code as WireErrorCode, message)
  return new WireError('REMOTE_FAULT', message, { remote: { code, message, data: undefined } })
}

/** Which end of the connection: the one that opened it, or the one that accepted it. */
export type Side = 'opener' | 'acceptor'

interface Nonces {
  readonly opener: string
  readonly acceptor: string
}

interface Challenge {
  readonly transport: Duplex
  readonly secret: string
  readonly side: Side
  readonly limits: Limits
}

/**
 * The mutual challenge: returns once each end has seen that the other knows the secret, and throws
 * `NOT_AUTHENTICATED` or `VERSION_MISMATCH` otherwise. docs/wire.md#challenge
 */
export async function provePeer(challenge: Challenge): Promise<void> {
  const { transport, secret, side, limits } = challenge
  const own = randomBytes(32).toString('hex')
  const read = () => readFrame(transport, limits.handshakeFrameBytes)
  if (side === 'opener') {
    sendFrame(transport, { imago: PROTOCOL, nonce: own })
    const nonces = { opener: own, acceptor: await readNonce(await read(), { transport, own }) }
    sendFrame(transport, { proof: proofOf({ secret, side, nonces }) })
    checkProof(await read().catch(hungUp), proofOf({ secret, side: 'acceptor', nonces }))
  } else {
    const nonces = { opener: await readNonce(await read(), { transport, own }), acceptor: own }
    sendFrame(transport, { imago: PROTOCOL, nonce: own })
    checkProof(await read(), proofOf({ secret, side: 'opener', nonces }))
    sendFrame(transport, { proof: proofOf({ secret, side, nonces }) })
  }
}

/** 64 hexadecimal digits: HMAC-SHA256 under the secret's UTF-8 bytes. The side is in it, so no proof serves both. */
export function proofOf({ secret, side, nonces }: { secret: string; side: Side; nonces: Nonces }): string {
  const text = `imago/1 ${side} ${nonces.opener} ${nonces.acceptor}`
  return createHmac('sha256', secret).update(text).digest('hex')
}

const HEX_64 = /^[0-9a-f]{64}$/

async function readNonce(
  frame: unknown,
  { transport, own }: { transport: Duplex; own: string },
): Promise<string> {
  if (!isRecord(frame) || typeof frame.imago !== 'number')
    throw unproved('did not begin with the handshake of this protocol')
  if (frame.imago !== PROTOCOL || frame.error === 'version') throw await otherVersion(frame, transport)
  if (typeof frame.nonce !== 'string' || !HEX_64.test(frame.nonce)) throw unproved('sent no nonce')
  if (frame.nonce === own) throw unproved('sent our own nonce back')
  return frame.nonce
}

function checkProof(frame: unknown, expected: string) {
  const proof = isRecord(frame) ? frame.proof : undefined
  const isProof = typeof proof === 'string' && HEX_64.test(proof)
  if (!isProof || !timingSafeEqual(Buffer.from(proof), Buffer.from(expected)))
    throw unproved('does not know the secret of this link')
}

/** An acceptor that has another secret closes without a word, once it has seen our proof. */
function hungUp(error: unknown): never {
  if (error instanceof WireError && error.code === 'LINK_CLOSED')
    throw unproved('hung up when it was shown our proof; most likely it has another secret')
  throw error
}

/** The one thing that a stranger is told: which versions there are. */
async function otherVersion(frame: Readonly<Record<string, unknown>>, transport: Duplex): Promise<WireError> {
  if (frame.error !== 'version')
    await finish(transport, frameOf({ imago: PROTOCOL, error: 'version', versions: [PROTOCOL] }))
  const theirs = Array.isArray(frame.versions) ? frame.versions : [frame.imago]
  const known = theirs.filter(version => Number.isSafeInteger(version)).join(', ')
  const message = `The other end speaks version ${known || 'unknown'} of the protocol, and this one ${PROTOCOL}. Update the older one.`
  return new WireError('VERSION_MISMATCH', message)
}

const unproved = (what: string) => new WireError('NOT_AUTHENTICATED', `The other end ${what}.`)

/** How a peer introduces itself and its kernel. */
const KERNEL_HELLO = {
  role: word('kernel'),
  protocol: count,
  language: text,
  /** For people: `CPython 3.11.7`. */
  implementation: text,
  /** Of the peer's own program. */
  version: text,
  pid: count,
  /** New for each life of the image. */
  epoch: matching(/^[0-9a-f]{8}$/),
  /** Words of `ABILITIES`; others are kept and mean nothing here. */
  abilities: texts,
  /** What the peer can read and write, besides JSON if it is left out. */
  encodings: texts,
}

export type KernelHello = Read<typeof KERNEL_HELLO>

/** How a front end introduces itself to the daemon. */
const CLIENT_HELLO = {
  /** `client` goes on with frames, `mcp` with lines of MCP. */
  role: word('client', 'mcp'),
  protocol: count,
  name: text,
  version: text,
  root: text,
  env: textsByName,
  encodings: texts,
}

export type ClientHello = Read<typeof CLIENT_HELLO> & {
  /** What else the front end wants of the daemon; its meaning is theirs. */
  readonly options?: Readonly<Record<string, unknown>>
}

/** The encoding of all that follows, and the limits that both ends keep, in bytes. */
const WELCOME = {
  encoding: word('json', 'msgpack'),
  credit: count,
  chunk: count,
  frame: count,
  message: count,
}

type Welcome = Read<typeof WELCOME>

/** What the daemon adds for clients: which life of it this is, its own version, and its process. */
const CLIENT_WELCOME = { ...WELCOME, instance: text, version: text, pid: count }

type ClientWelcome = Read<typeof CLIENT_WELCOME>

const REFUSAL = { code: text, message: text }

type HandshakeRefusal = Read<typeof REFUSAL>

/** msgpack where the other end has it, else JSON. */
function welcomeTo(hello: { readonly encodings: readonly string[] }, limits: Limits): Welcome {
  return {
    encoding: hello.encodings.includes('msgpack') ? 'msgpack' : 'json',
    credit: limits.creditBytes,
    chunk: limits.chunkBytes,
    frame: limits.frameBytes,
    message: limits.messageBytes,
  }
}

/** The protocol of a hello. Checked first: a hello of another one need have nothing else that we know. */
const protocolOf = (frame: unknown): number => readIn(frame, 'hello', { protocol: count }).protocol

function parseClientHello(frame: unknown): ClientHello {
  const hello = readIn(frame, 'hello', CLIENT_HELLO)
  const { options } = (frame as { readonly hello: Partial<ClientHello> }).hello
  return { ...hello, ...(isRecord(options) && { options }) }
}

/** What an end says in place of its hello or its welcome, where it will not have the other; else undefined. */
const refusalIn = (frame: unknown): HandshakeRefusal | undefined =>
  isRecord(frame) && frame.refused !== undefined ? readIn(frame, 'refused', REFUSAL) : undefined

/** One field of them is missing or wrong. */
class FieldFault extends WireError {
  readonly field: string
  readonly isMissing: boolean

  constructor(
    message: string,
    { field, isMissing }: { readonly field: string; readonly isMissing: boolean },
  ) {
    super('MESSAGE_INVALID', message)
    this.field = field
    this.isMissing = isMissing
  }
}

/** The part of a frame with those fields, and no others. Throws `MESSAGE_INVALID`. */
function readIn<Shape extends Fields>(frame: unknown, part: keyof typeof PARTS, shape: Shape): Read<Shape> {
  const given = isRecord(frame) ? frame[part] : undefined
  const what = PARTS[part]
  if (!isRecord(given))
    throw new WireError('MESSAGE_INVALID', `The other end sent no ${what} where one is due.`)
  for (const [name, { is, due }] of Object.entries(shape)) {
    if (is(given[name])) continue
    const isMissing = !Object.hasOwn(given, name)
    const message = `The field ${name} of the ${what} is ${isMissing ? 'missing' : 'wrong'}: it has to be ${due}.`
    throw new FieldFault(message, { field: name, isMissing })
  }
  return Object.fromEntries(Object.keys(shape).map(name => [name, given[name]])) as Read<Shape>
}

const PARTS = { hello: 'hello', welcome: 'welcome', refused: 'refusal' } as const

const json = codecOf('json')

/**
 * Runs the steps of a handshake under its one deadline, and closes the transport if they fail. A step that has
 * already said its last words has begun to close it, and is not cut short.
 */
async function inTime<Outcome>(
  options: { readonly transport: Duplex; readonly limits?: Partial<Limits> | undefined },
  steps: (limits: Limits) => Promise<Outcome>,
): Promise<Outcome> {
  const { transport } = options
  const limits = { ...LIMITS, ...options.limits }
  // The steps learn of an error by the read that it ends; between two reads nobody else listens.
  transport.on('error', () => {})
  const late = () => {
    throw new WireError('HANDSHAKE_TIMEOUT', `The handshake was not done after ${limits.handshakeMs} ms.`)
  }
  try {
    return await within(limits.handshakeMs, steps(limits), late)
  } catch (error) {
    if (!transport.writableEnded) transport.destroy()
    throw error
  }
}

export function sendFrame(transport: Duplex, value: unknown): void {
  transport.write(frameOf(value))
}

/** A frame of the handshake: JSON, whatever comes later. */
export function frameOf(value: unknown): Buffer {
  return json.frame(value, LIMITS)
}

/**
 * Reads exactly one frame of JSON and leaves what follows unread in the transport, for whoever comes next. Rejects
 * with `FRAME_TOO_LARGE`, `FRAME_MALFORMED`, `FRAME_TRUNCATED`, `LIMIT_EXCEEDED` or `LINK_CLOSED`.
 */
export function readFrame(transport: Duplex, limit: number): Promise<unknown> {
  return new Promise((resolve, reject) => {
    let length: number | undefined
    const attempt = () => {
      try {
        length ??= lengthOf(read(transport, HEADER_BYTES), limit)
        const body = length === undefined ? undefined : read(transport, length)
        if (body !== undefined) settle(() => resolve(json.decode(body, LIMITS)))
      } catch (error) {
        settle(() => reject(error))
      }
    }
    const lost = (cause?: Error) => {
      const message = 'The other end went away during the handshake.'
      settle(() => reject(new WireError('LINK_CLOSED', message, { cause })))
    }
    const settle = (end: () => void) => {
      transport.off('readable', attempt).off('end', lost).off('close', lost).off('error', lost)
      end()
    }
    transport.on('readable', attempt).on('end', lost).on('close', lost).on('error', lost)
    if (transport.destroyed || transport.readableEnded) lost()
    else attempt()
  })
}

/** So many bytes, or undefined while there are not as many. */
function read(transport: Duplex, bytes: number): Buffer | undefined {
  const data: Buffer | null = transport.read(bytes)
  if (data === null) return undefined
  // A stream that has ended gives what is left, however little.
  if (data.length < bytes)
    throw new WireError('FRAME_TRUNCATED', 'The connection ended in the middle of a frame of the handshake.')
  return data
}

function lengthOf(header: Buffer | undefined, limit: number): number | undefined {
  return header && checkedLength(header.readUInt32BE(0), limit)
}
