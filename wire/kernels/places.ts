import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { WireError } from '../errors.ts'

/** Where a program of that name would be, in the order of the caller's `PATH`. */
export function inPath(name: string, env: Readonly<Record<string, string>>): string[] {
  const folders = (env.PATH ?? '').split(delimiter).filter(folder => folder !== '')
  return folders.map(folder => join(folder, name))
}

export function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

/** The folder of our far end in that language, seen from the source and from the compiled program alike. */
export function peerIn(language: 'python' | 'lisp', from = import.meta.dirname): string {
  for (let folder = from; ; folder = dirname(folder)) {
    const peer = join(folder, 'wire', 'peers', language)
    if (existsSync(join(folder, 'package.json')) && existsSync(peer)) return peer
    if (folder === dirname(folder)) {
      throw new WireError(
        'KERNEL_START_FAILED',
        `wire/peers/${language} is nowhere above ${from}. Install imago again: its files are not complete.`,
      )
    }
  }
}
