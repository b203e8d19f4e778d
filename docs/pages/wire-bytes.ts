import { codecOf } from '../../wire/codec/codec.ts'
import { type Encoding, LIMITS } from '../../wire/codec/messages.ts'
import { proofOf } from '../../wire/link/handshake.ts'
import { GENERATED } from './markdown.ts'

/** One message of each type. */
const MESSAGES: readonly object[] = [
  { type: 'ping', n: 1 },
  { type: 'pong', n: 1 },
  { type: 'call', id: 1, method: 'status', params: {} },
  { type: 'return', id: 1, result: { running: null, queued: 0 } },
  { type: 'fail', id: 2, error: { code: 'unknown_call', message: 'c-9' } },
  { type: 'event', id: 300, event: { type: 'output', stream: 'stdout', text: 'é\n' } },
  { type: 'cancel', id: 300 },
  { type: 'credit', id: 300, bytes: 524_288 },
  { type: 'note', name: 'output', params: { stream: 'stderr', text: '!' } },
  { type: 'bye', code: 'closed', message: 'done' },
]

/** What is cut into two chunks, and where, in each encoding. */
const CUT = { message: { type: 'ping', n: 8 }, json: 12, msgpack: 12 } as const

/** Those of the first row of the table of proofs in docs/wire.md. */
const HANDSHAKE = {
  secret: '000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f',
  nonces: {
    opener: 'a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebf',
    acceptor: '5051525354555657585960616263646566676869707172737475767778798081',
  },
} as const

/** `docs/wire-bytes.md`: frames as they travel, for whoever writes a peer to check against. */
export function wireBytesPage(): string {
  const { secret, nonces } = HANDSHAKE
  const said = (side: 'opener' | 'acceptor') => ({
    nonce: { imago: 1, nonce: nonces[side] },
    proof: { proof: proofOf({ secret, side, nonces }) },
  })
  return `${[
    '# The bytes of the framed link',
    GENERATED,
    'Frames of [wire.md](wire.md) as they travel: the bytes in hexadecimal, and beside them those that are ASCII.',
    '## A handshake',
    'A peer opens a connection, with the secret and the nonces of the first row of [proofs](wire.md#challenge).',
    block('hex opener', dump(frame(said('opener').nonce, 'json'))),
    block('hex acceptor', dump(frame(said('acceptor').nonce, 'json'))),
    block('hex opener', dump(frame(said('opener').proof, 'json'))),
    block('hex acceptor', dump(frame(said('acceptor').proof, 'json'))),
    '## Messages',
    ...MESSAGES.map(message =>
      [
        block('json frame', JSON.stringify(message)),
        block('hex json', dump(frame(message, 'json'))),
        block('hex msgpack', dump(frame(message, 'msgpack'))),
      ].join('\n'),
    ),
    '## Chunks',
    `\`${JSON.stringify(CUT.message)}\` in two pieces; a real sender would not cut so small a message. In json, where ` +
      '`data` is text:',
    ...chunks('json').map(bytes => block('hex json chunk', dump(bytes))),
    'In msgpack, where it is bytes:',
    ...chunks('msgpack').map(bytes => block('hex msgpack chunk', dump(bytes))),
  ].join('\n\n')}\n`
}

function frame(value: unknown, encoding: Encoding): Buffer {
  return codecOf(encoding).frame(value, LIMITS)
}

function chunks(encoding: Encoding): Buffer[] {
  const body = frame(CUT.message, encoding).subarray(4)
  const cut = CUT[encoding]
  return [body.subarray(0, cut), body.subarray(cut)].map((piece, index) => {
    const data = encoding === 'json' ? piece.toString('utf8') : piece
    return frame({ type: 'chunk', stream: 1, last: index === 1, data }, encoding)
  })
}

const block = (words: string, text: string) => `\`\`\`${words}\n${text}\n\`\`\``

/** Sixteen bytes in a row. */
function dump(bytes: Buffer): string {
  const rows = Array.from({ length: Math.ceil(bytes.length / 16) }, (_, row) =>
    bytes.subarray(16 * row, 16 * row + 16),
  )
  return rows
    .map(row => {
      const hex = [...row].map(byte => byte.toString(16).padStart(2, '0')).join(' ')
      const text = [...row].map(byte => (byte > 31 && byte < 127 ? String.fromCharCode(byte) : '.')).join('')
      return `${hex.padEnd(47)}  |${text}|`
    })
    .join('\n')
}
