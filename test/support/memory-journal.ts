import type { JournalEntry } from '../../src/journal/entries.ts'
import type { Journal } from '../../src/journal/journal.ts'
import type { Line } from './history.ts'

/** A journal that nothing slows down; `pause` is waited for where a real one waits for the disk. */
export function memoryJournal(pause: () => Promise<void> = async () => undefined) {
  const entries: JournalEntry[] = []
  const journal: Partial<Journal> = {
    write: entry => void entries.push(entry),
    later: entry => void entries.push(entry),
    sync: async entry => {
      await pause()
      entries.push(entry)
      await pause()
    },
    earlier: async () => undefined,
  }
  return { journal, lines: entries as unknown as readonly Line[] }
}
