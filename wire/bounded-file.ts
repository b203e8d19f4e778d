import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'

const PIECE_BYTES = 64 * 1024

/**
 * The bytes of a regular file that somebody else may have put there, `most` of them at the most. A pipe or a device is
 * refused and cannot hold anybody up, and neither can a file that says it is empty and never ends, as some under /proc
 * do: what is counted is what was read. Throws what the system throws, and for a file that is refused an error that
 * names it. `flags` go to `open` besides.
 */
export function readBounded(path: string, { most, flags = 0 }: { most: number; flags?: number }): Buffer {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | flags)
  try {
    if (!fstatSync(fd).isFile()) throw new Error(`${path} cannot be read: it is not a regular file.`)
    const bytes = readMost(fd, most)
    if (bytes === undefined) throw new Error(`${path} is larger than ${most} bytes.`)
    return bytes
  } finally {
    closeSync(fd)
  }
}

/** All that is left to be read of it; undefined where that is more than `most` bytes. */
export function readMost(fd: number, most: number): Buffer | undefined {
  const pieces: Buffer[] = []
  let count = 0
  while (count <= most) {
    // Always whole pieces: some files under /proc refuse to be read in others.
    const piece = Buffer.allocUnsafe(PIECE_BYTES)
    const read = readSync(fd, piece)
    if (read === 0) return Buffer.concat(pieces)
    pieces.push(piece.subarray(0, read))
    count += read
  }
  return undefined
}
