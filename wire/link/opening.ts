import type { Duplex } from 'node:stream'
import { codecOf } from '../codec/codec.ts'
import { checkedLength, HEADER_BYTES } from '../codec/frames.ts'
import { LIMITS, type Limits } from '../codec/messages.ts'
import { WireError } from '../errors.ts'

const json = codecOf('json')

/**
 * Runs the steps of a handshake under its one deadline, and closes the transport if they fail. A step that has
 * already said its last words has begun to close it, and is not cut short.
 */
export async function within<Outcome>(
  options: { readonly transport: Duplex; readonly limits?: Partial<Limits> | undefined },
  steps: (limits: Limits) => Promise<Outcome>,
): Promise<Outcome> {
  const { transport } = options
  const limits = { ...LIMITS, ...options.limits }
  // The steps learn of an error by the read that it ends; between two reads nobody else listens.
  transport.on('error', () => {})
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    const message = `The handshake was not done after ${limits.handshakeMs} ms.`
    timer = setTimeout(() => reject(new WireError('HANDSHAKE_TIMEOUT', message)), limits.handshakeMs)
  })
  try {
    return await Promise.race([steps(limits), late])
  } catch (error) {
    if (!transport.writableEnded) transport.destroy()
    throw error
  } finally {
    clearTimeout(timer)
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
