import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { WireError } from './errors.ts'

/** The folder of our far end in that language, seen from the source and from the compiled program alike. */
export function peerIn(language: string, from = import.meta.dirname): string {
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
