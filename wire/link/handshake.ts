import type { Duplex } from 'node:stream'
import { type Limits, PROTOCOL } from '../codec/messages.ts'
import { WIRE_ERRORS, WireError, type WireErrorCode } from '../errors.ts'
import { provePeer, type Side } from './challenge.ts'
import {
  type ClientHello,
  type ClientWelcome,
  type Fields,
  type KernelHello,
  parseClientHello,
  parseClientWelcome,
  parseKernelHello,
  parseReply,
  parseWelcome,
  protocolOf,
  type Refused,
  refusalIn,
  type Welcome,
  welcomeTo,
} from './hello.ts'
import { type Link, type LinkOptions, openLink } from './link.ts'
import { frameOf, readFrame, sendFrame, within } from './opening.ts'
import { finish } from './transport.ts'

export type { ClientHello, ClientWelcome, KernelHello, Refused, Welcome } from './hello.ts'

/** What a link is opened with once its handshake is done. */
type Listeners = Pick<LinkOptions, 'serve' | 'note'>
type Opening = { readonly transport: Duplex; readonly limits?: Partial<Limits> | undefined }

/**
 * The handshakes of docs/wire.md#handshake. All of them reject with a `WireError`, having closed the transport:
 * `HANDSHAKE_TIMEOUT`, `NOT_AUTHENTICATED`, `VERSION_MISMATCH`, `FRAME_*`, `MESSAGE_INVALID`, or `LINK_CLOSED` when
 * the other end went away. An end that has not proved itself is told nothing, except which versions there are.
 */

/** The daemon's end of a link that a kernel's peer has opened. */
export function acceptKernel(
  options: Opening & Listeners & { readonly secret: string },
): Promise<{ hello: KernelHello; link: Link }> {
  return greetKernel(options, 'acceptor')
}

/**
 * The daemon's end of a link that the daemon itself has opened, to a peer that listens. A peer may refuse a daemon that
 * has proved itself, such as because it serves another one: `REMOTE_FAULT`, with the peer's word as `remote.code`.
 */
export function openKernel(
  options: Opening & Listeners & { readonly secret: string },
): Promise<{ hello: KernelHello; link: Link }> {
  return greetKernel(options, 'opener')
}

/** A peer's end of a kernel link, whichever end has opened it. What Python peers do, done here. */
export function joinAsKernel(
  options: Opening &
    Listeners & { readonly secret: string; readonly side: Side; readonly hello: KernelHello },
): Promise<{ welcome: Welcome; link: Link }> {
  const { transport, secret, side, hello } = options
  return within(options, async limits => {
    await provePeer({ transport, secret, side, limits })
    sendFrame(transport, { hello })
    const welcome = readReply(await readFrame(transport, limits.helloFrameBytes), parseWelcome)
    return { welcome, link: linked(options, { welcome, limits, name: 'the daemon' }) }
  })
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
  options: Opening &
    Listeners & {
      readonly welcome: Readonly<Record<string, unknown>>
      judge(hello: ClientHello): { readonly refused: Refused } | undefined
    },
): Promise<AcceptedClient> {
  const { transport } = options
  return within(options, async limits => {
    const hello = parseClientHello(await readHello(transport, limits))
    const verdict = options.judge(hello)
    if (verdict !== undefined) throw await refuse(transport, verdict.refused)
    const welcome = welcomeTo(hello, limits)
    sendFrame(transport, { welcome: { ...options.welcome, ...welcome } })
    if (hello.role === 'mcp') return { type: 'mcp', hello, transport }
    return { type: 'calls', hello, link: linked(options, { welcome, limits, name: hello.name }) }
  })
}

/** A client's end of a link. What the daemon refuses with is the error's code, or `remote.code` of `REMOTE_FAULT`. */
export function openClient(
  options: Opening & Listeners & { readonly hello: ClientHello },
): Promise<{ welcome: ClientWelcome; link: Link }> {
  return within(options, async limits => {
    sendFrame(options.transport, { hello: options.hello })
    const reply = await readFrame(options.transport, limits.helloFrameBytes)
    const welcome = readReply(reply, parseClientWelcome)
    return { welcome, link: linked(options, { welcome, limits, name: 'the daemon' }) }
  })
}

/** A client's end of a link with the role `mcp`: after the welcome, the transport carries MCP and no frames. */
export function openBytes(
  options: Opening & { readonly hello: ClientHello },
): Promise<{ welcome: ClientWelcome; transport: Duplex }> {
  const { transport, hello } = options
  return within(options, async limits => {
    sendFrame(transport, { hello })
    return {
      welcome: readReply(await readFrame(transport, limits.helloFrameBytes), parseClientWelcome),
      transport,
    }
  })
}

function greetKernel(
  options: Opening & Listeners & { readonly secret: string },
  side: Side,
): Promise<{ hello: KernelHello; link: Link }> {
  const { transport, secret } = options
  return within(options, async limits => {
    await provePeer({ transport, secret, side, limits })
    const hello = parseKernelHello(await readHello(transport, limits))
    const welcome = welcomeTo(hello, limits)
    sendFrame(transport, { welcome })
    const name = `the ${hello.language} kernel ${hello.pid}`
    return { hello, link: linked(options, { welcome, limits, name }) }
  })
}

function linked(
  { transport, serve, note }: Opening & Listeners,
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

function readReply<ParsedWelcome>(frame: unknown, parse: (fields: Fields) => ParsedWelcome): ParsedWelcome {
  const reply = parseReply(frame, parse)
  if ('welcome' in reply) return reply.welcome
  throw refusalOf(reply.refused)
}

/** The frame of a hello, if it is none of a refusal. One of another protocol is refused before the rest is looked at. */
async function readHello(transport: Duplex, limits: Limits): Promise<unknown> {
  const frame = await readFrame(transport, limits.helloFrameBytes)
  const refused = refusalIn(frame)
  if (refused !== undefined) throw refusalOf(refused)
  const protocol = protocolOf(frame)
  if (protocol === PROTOCOL) return frame
  const message = `The daemon speaks protocol ${PROTOCOL} and was greeted with ${protocol}. Use the same version of both.`
  throw await refuse(transport, { code: 'VERSION_MISMATCH', message })
}

/** Tells the other end why it is refused, closes once that is said, and gives the error for this end. */
async function refuse(transport: Duplex, refused: Refused): Promise<WireError> {
  await finish(transport, frameOf({ refused }))
  return refusalOf(refused)
}

/** A refusal as an error: of its own code where that is one of this layer. */
function refusalOf({ code, message }: Refused): WireError {
  if (Object.hasOwn(WIRE_ERRORS, code)) return new WireError(code as WireErrorCode, message)
  return new WireError('REMOTE_FAULT', message, { remote: { code, message, data: undefined } })
}
