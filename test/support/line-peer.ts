import type { Duplex } from 'node:stream'

/** A JSON-RPC message as it stood on a line. */
export type Line = Readonly<Record<string, unknown>>

/** The client's end of a line-delimited stream, by hand: exact bytes out, parsed lines in. */
export interface LinePeer {
  /** Everything that came, in order. */
  readonly received: readonly Line[]
  /** Whether the other end has closed its side. */
  readonly ended: Promise<void>
  send(message: unknown): void
  sendBytes(bytes: string | Uint8Array): void
  /** The first line, among those that came and those that come, that fits. */
  line(fits: (line: Line) => boolean): Promise<Line>
  /** The answer to a request. */
  answer(id: string | number | null): Promise<Line>
  end(): void
}

export function linePeer(stream: Duplex): LinePeer {
  const received: Line[] = []
  const waiting = new Set<() => void>()
  let pending = Buffer.alloc(0)

  stream.on('data', (chunk: Buffer) => {
    pending = Buffer.concat([pending, chunk])
    for (let at = pending.indexOf(10); at !== -1; at = pending.indexOf(10)) {
      received.push(JSON.parse(pending.toString('utf8', 0, at)))
      pending = pending.subarray(at + 1)
    }
    for (const look of [...waiting]) look()
  })
  const ended = new Promise<void>(resolve => stream.once('end', resolve))
  stream.on('error', () => {})

  const line = (fits: (line: Line) => boolean) =>
    new Promise<Line>(resolve => {
      const look = () => {
        const found = received.find(fits)
        if (found === undefined) return
        waiting.delete(look)
        resolve(found)
      }
      waiting.add(look)
      look()
    })
  return {
    received,
    ended,
    send: message => stream.write(`${JSON.stringify(message)}\n`),
    sendBytes: bytes => stream.write(bytes),
    line,
    answer: id => line(one => !('method' in one) && one.id === id),
    end: () => stream.end(),
  }
}
