import { type Disk, NODE_DISK } from '../../src/files/disk.ts'

/** One call of the disk, numbered from 1. */
export interface DiskCall {
  readonly number: number
  readonly name: keyof Disk
  readonly args: readonly unknown[]
}

export interface Watching {
  /** Acts before the call; what it throws is what the call throws, and then nothing is done. */
  before?(call: DiskCall): void
  /** Acts after the call; what it throws is what the call throws, though it is done. */
  after?(call: DiskCall): void
}

export interface WatchedDisk {
  readonly disk: Disk
  readonly calls: DiskCall[]
}

/** The real disk, but that it does not wait for the platters: a test makes thousands of changes. */
export const FAST_DISK: Disk = { ...NODE_DISK, sync: async () => {} }

/** A disk that can be acted on between any two calls. */
export function watchedDisk(on: Watching = {}, disk: Disk = FAST_DISK): WatchedDisk {
  const calls: DiskCall[] = []

  function begin(name: keyof Disk, args: readonly unknown[]): DiskCall {
    const call = { number: calls.length + 1, name, args }
    calls.push(call)
    on.before?.(call)
    return call
  }

  function watched<Args extends readonly unknown[], Result>(
    name: keyof Disk,
    method: (...args: Args) => Result,
  ): (...args: Args) => Result {
    return (...args) => {
      const call = begin(name, args)
      const result = method(...args)
      on.after?.(call)
      return result
    }
  }

  return {
    calls,
    disk: {
      lstat: watched('lstat', disk.lstat),
      stat: watched('stat', disk.stat),
      fstat: watched('fstat', disk.fstat),
      readlink: watched('readlink', disk.readlink),
      readdir: watched('readdir', disk.readdir),
      names: watched('names', disk.names),
      mkdir: watched('mkdir', disk.mkdir),
      rmdir: watched('rmdir', disk.rmdir),
      open: watched('open', disk.open),
      close: watched('close', disk.close),
      read: watched('read', disk.read),
      write: watched('write', disk.write),
      chmod: watched('chmod', disk.chmod),
      chown: watched('chown', disk.chown),
      async sync(fd) {
        const call = begin('sync', [fd])
        await disk.sync(fd)
        on.after?.(call)
      },
      rename: watched('rename', disk.rename),
      link: watched('link', disk.link),
      unlink: watched('unlink', disk.unlink),
    },
  }
}

/** What the system throws. */
export function refusal(errno: string): Error {
  return Object.assign(new Error(`${errno}: as a test has it, ${errno.toLowerCase()}`), { code: errno })
}

/** A disk that takes half of what it is given at every write. */
export function shortWriting(disk: Disk = FAST_DISK): Disk {
  return { ...disk, write: (fd, bytes) => disk.write(fd, bytes.subarray(0, Math.ceil(bytes.length / 2))) }
}
