import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Texts } from '../../tools/define.ts'
import { LongText } from './long-text.ts'

/** How many texts are kept, and how many characters in all (two bytes each on the disk). */
const MOST_TEXTS = 128
const MOST_CHARS = 256 * 1024 * 1024
/** Room for a text that grows is looked for each time it has grown by so much. */
const CHECK_CHARS = 1024 * 1024

/** Long texts by handle: `@txt.N` for results that were cut, `@out.N` for output. The least recently used go first. */
export interface TextStore extends Texts {
  /** Keeps a finished text, and answers its handle. */
  keep(text: string): string
  /** A text that will grow; `add` answers how many of the characters were taken. */
  open(beginning: string): { readonly handle: string; add(text: string): number }
  /** Whether it has not made room for others; asking does not count as use. */
  has(handle: string): boolean
  /** Lets go of one text and its file. */
  drop(handle: string): void
  /** Lets go of all texts and their files. */
  close(): void
}

export interface TextStoreOptions {
  /** A directory of the daemon; files are made in `output` below it. */
  readonly stateDir: string
  readonly log: (message: string, error: unknown) => void
}

const HANDLE = /^@(txt|out)\.(\d+)$/

export function openTexts({ stateDir, log }: TextStoreOptions): TextStore {
  const directory = join(stateDir, 'output')
  const texts = new Map<string, LongText>()
  /** How many of each kind were made: their numbers count up from 1. */
  const made = { txt: 0, out: 0 }

  function keep(kind: 'txt' | 'out', whole: string): { handle: string; text: LongText } {
    const number = ++made[kind]
    makeDirectory()
    const handle = `@${kind}.${number}`
    const path = join(directory, `${process.pid}-${kind}-${number}`)
    const text = new LongText({ path, text: whole, log })
    texts.set(handle, text)
    makeRoom()
    return { handle, text }
  }

  // A directory that cannot be made shows again when a file is made in it; until then nothing is lost.
  function makeDirectory(): void {
    try {
      mkdirSync(directory, { recursive: true, mode: 0o700 })
    } catch (error) {
      log('The directory for long output cannot be made.', error)
    }
  }

  function makeRoom(): void {
    let chars = 0
    for (const text of texts.values()) chars += text.total
    for (const [handle, text] of texts) {
      if (texts.size <= 1 || (texts.size <= MOST_TEXTS && chars <= MOST_CHARS)) return
      chars -= text.total
      texts.delete(handle)
      text.dispose()
    }
  }

  function touch(handle: string): LongText | undefined {
    const text = texts.get(handle)
    if (text === undefined) return undefined
    texts.delete(handle)
    texts.set(handle, text)
    return text
  }

  return {
    owns: handle => HANDLE.test(handle),
    issued(handle) {
      const [, kind = '', digits = ''] = HANDLE.exec(handle) ?? []
      const number = Number(digits)
      return (kind === 'txt' || kind === 'out') && number >= 1 && number <= made[kind]
    },
    read({ handle, from, count }) {
      const text = touch(handle)
      if (text === undefined) return undefined
      const part = text.read(from, count)
      const end = from + part.length
      return { text: part, total: text.total, next: part !== '' && end < text.total ? end : null }
    },
    keep: whole => keep('txt', whole).handle,
    open(whole) {
      const { handle, text } = keep('out', whole)
      let unchecked = 0
      const add = (more: string) => {
        unchecked += more.length
        if (unchecked > CHECK_CHARS) {
          unchecked = 0
          touch(handle)
          makeRoom()
        }
        return text.add(more)
      }
      return { handle, add }
    },
    has: handle => texts.has(handle),
    drop(handle) {
      texts.get(handle)?.dispose()
      texts.delete(handle)
    },
    close() {
      for (const text of texts.values()) text.dispose()
      texts.clear()
    },
  }
}
