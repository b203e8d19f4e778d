import { hash } from 'node:crypto'

/** What the first line of all follows. */
export const GENESIS = '0'.repeat(32)

const MARK = ',"chain":"'
const END = '"}'
const BEARS = /^,"chain":"[0-9a-f]{32}"\}$/
/** Of `,"chain":"…"}`. */
const TAIL = MARK.length + GENESIS.length + END.length

/**
 * A whole line, with its newline, from the object that it is about (without the closing brace) and the chain of the
 * line before: the first 16 bytes of SHA-256 over that chain, as it is written, and all of the line up to its own.
 */
export function chained(previous: string, body: string): { readonly text: string; readonly chain: string } {
  const chain = hash('sha256', previous + body, 'hex').slice(0, GENESIS.length)
  return { text: `${body}${MARK}${chain}${END}\n`, chain }
}

/** The chain that a line bears, without its newline, whether it is right or not; undefined where it bears none. */
export function chainOf(line: Buffer): string | undefined {
  const begin = line.length - TAIL
  if (begin < 1) return undefined
  const tail = line.toString('latin1', begin)
  return BEARS.test(tail) ? tail.slice(MARK.length, -END.length) : undefined
}

/** Whether a line, without its newline, is what was written after the line that bears `previous`. */
export function follows(line: Buffer, previous: string): boolean {
  const chain = chainOf(line)
  if (chain === undefined || previous.length !== GENESIS.length) return false
  const body = line.length - TAIL
  const bytes = scratch(previous.length + body)
  bytes.write(previous, 'latin1')
  line.copy(bytes, previous.length, 0, body)
  return hash('sha256', bytes, 'hex').startsWith(chain)
}

let kept = Buffer.alloc(4 * 1024)

/** Hashing in one go wants the bytes in one piece; most lines fit into the same one. */
function scratch(size: number): Buffer {
  if (size > 64 * 1024) return Buffer.allocUnsafe(size)
  if (size > kept.length) kept = Buffer.alloc(64 * 1024)
  return kept.subarray(0, size)
}

/** Cuts bytes that come in pieces into lines, in linear time. */
export class LineSplitter {
  #pieces: Buffer[] = []
  #waiting = 0

  /** The bytes after the last newline. */
  get rest(): Buffer {
    return Buffer.concat(this.#pieces)
  }

  /** The lines that are whole now, without their newlines. They may lie in `chunk`: use them before it changes. */
  push(chunk: Buffer): Buffer[] {
    const lines: Buffer[] = []
    let begin = 0
    for (let end = chunk.indexOf(0x0a); end !== -1; end = chunk.indexOf(0x0a, begin)) {
      const piece = chunk.subarray(begin, end)
      lines.push(this.#waiting === 0 ? piece : Buffer.concat([...this.#pieces, piece]))
      this.#pieces = []
      this.#waiting = 0
      begin = end + 1
    }
    if (begin < chunk.length) {
      this.#pieces.push(Buffer.from(chunk.subarray(begin)))
      this.#waiting += chunk.length - begin
    }
    return lines
  }
}
