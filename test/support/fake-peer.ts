import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { codecOf } from '../../wire/codec/codec.ts'
import { type Encoding, FrameDecoder, LIMITS, type Message, parseMessage } from '../../wire/codec/messages.ts'
import { provePeer, readFrame, type Side, sendFrame } from '../../wire/link/handshake.ts'

export type Call = Extract<Message, { type: 'call' }>

/** What a peer does when a method is called, instead of doing its work. */
export type Script = Readonly<Record<string, (call: Call, peer: FakePeer) => void>>

/**
 * The far end of a link, played by a script. It speaks through the real codec and keeps no rule of the protocol by
 * itself: it answers when told to, twice if told to, or never. A `ping` is the one thing it answers on its own.
 *
 *     const [near, far] = duplexPair()
 *     const peer = fakePeer(far, { script: { evaluate: ({ id }, peer) => peer.answer(id, done).answer(id, done) } })
 *     const link = openLink({ transport: near, encoding: 'json', name: 'the peer' })
 */
export interface FakePeer {
  readonly transport: Duplex
  /** All that came, in order; chunks as they are. */
  readonly received: readonly Message[]
  /** The first message of a type that no earlier `next` has returned; waits for it. */
  next<Type extends Message['type']>(type: Type): Promise<Extract<Message, { type: Type }>>
  send(...messages: readonly unknown[]): FakePeer
  answer(id: number, result: unknown): FakePeer
  fail(id: number, code: string): FakePeer
  event(id: number, event: unknown): FakePeer
  /** Bytes as they are, whatever they are. */
  sendBytes(bytes: string | Uint8Array): FakePeer
  /** Reads nothing until `thaw`, and so lets the other end's bytes pile up. */
  freeze(): FakePeer
  thaw(): FakePeer
  /** Ends at once: over TCP by a reset. */
  die(): void
  /** Settles when the other end has closed its side, or the connection broke. */
  readonly ended: Promise<void>
}

export interface FakePeerOptions {
  readonly encoding?: Encoding
  readonly script?: Script
}

export function fakePeer(
  transport: Duplex,
  { encoding = 'json', script = {} }: FakePeerOptions = {},
): FakePeer {
  const codec = codecOf(encoding)
  const received: Message[] = []
  const taken = new Set<Message>()
  const waiting = new Set<() => void>()

  const take = (body: Buffer) => {
    const message = parseMessage(codec.decode(body, LIMITS))
    received.push(message)
    if (message.type === 'ping') peer.send({ type: 'pong', n: message.n })
    if (message.type === 'call' && Object.hasOwn(script, message.method))
      script[message.method]?.(message, peer)
    for (const look of [...waiting]) look()
  }
  const frames = new FrameDecoder({ limit: LIMITS.frameBytes, take })
  transport.on('data', (chunk: Buffer) => frames.push(chunk))
  transport.on('error', () => {})
  const ended = new Promise<void>(resolve => transport.once('end', resolve).once('close', resolve))

  const peer: FakePeer = {
    transport,
    received,
    ended,
    next: type =>
      new Promise(resolve => {
        const look = () => {
          const found = received.find((one): one is Extract<Message, { type: typeof type }> => {
            return one.type === type && !taken.has(one)
          })
          if (found === undefined) return
          taken.add(found)
          waiting.delete(look)
          resolve(found)
        }
        waiting.add(look)
        look()
      }),
    send(...messages) {
      return peer.sendBytes(Buffer.concat(messages.map(message => codec.frame(message, LIMITS))))
    },
    answer: (id, result) => peer.send({ type: 'return', id, result }),
    fail: (id, code) => peer.send({ type: 'fail', id, error: { code, message: `scripted: ${code}` } }),
    event: (id, event) => peer.send({ type: 'event', id, event }),
    sendBytes(bytes) {
      if (!transport.destroyed) transport.write(bytes)
      return peer
    },
    freeze() {
      transport.pause()
      return peer
    },
    thaw() {
      transport.resume()
      return peer
    },
    die() {
      if (transport instanceof Socket && transport.remoteFamily !== undefined) transport.resetAndDestroy()
      else transport.destroy()
    },
  }
  return peer
}

/** What a fake kernel says of itself, unless told otherwise. */
export const FAKE_HELLO = {
  role: 'kernel',
  protocol: 1,
  language: 'python',
  implementation: 'CPython, played by a test',
  version: '0.0.0',
  pid: process.pid,
  epoch: '0badcafe',
  abilities: ['evaluate', 'globals', 'inspect', 'more', 'interrupt', 'ask'],
  encodings: ['json', 'msgpack'],
} as const

export interface FakeKernelOptions {
  readonly secret: string
  /** Peers connect to the daemon unless told otherwise. */
  readonly side?: Side
  readonly script?: Script
  /** Fields in place of those of `FAKE_HELLO`, right or wrong. */
  readonly hello?: Readonly<Record<string, unknown>>
}

/** A fake peer that has gone through the handshake of a kernel, in the encoding that it was told to use. */
export async function fakeKernelPeer(transport: Duplex, options: FakeKernelOptions): Promise<FakePeer> {
  const { secret, side = 'opener', script = {}, hello } = options
  transport.on('error', () => {})
  await provePeer({ transport, secret, side, limits: LIMITS })
  sendFrame(transport, { hello: { ...FAKE_HELLO, ...hello } })
  return greeted(transport, script)
}

/** The peer of a daemon that has been said hello to, in the encoding that it welcomes it in. */
export async function greeted(transport: Duplex, script: Script): Promise<FakePeer> {
  const reply = (await readFrame(transport, LIMITS.helloFrameBytes)) as {
    readonly refused?: { readonly message: string }
    readonly welcome: { readonly encoding: Encoding }
  }
  if (reply.refused !== undefined) throw new Error(`the daemon refused: ${reply.refused.message}`)
  return fakePeer(transport, { encoding: reply.welcome.encoding, script })
}

/** Waits until a transport is gone, however it went. */
export function gone(transport: Duplex): Promise<void> {
  return new Promise(resolve => {
    if (transport.closed) resolve()
    else transport.once('close', resolve)
  })
}
