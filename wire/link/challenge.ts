import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Duplex } from 'node:stream'
import { isRecord, type Limits, PROTOCOL } from '../codec/messages.ts'
import { WireError } from '../errors.ts'
import { frameOf, readFrame, sendFrame } from './opening.ts'
import { finish } from './transport.ts'

/** Which end of the connection: the one that opened it, or the one that accepted it. */
export type Side = 'opener' | 'acceptor'

export interface Nonces {
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
