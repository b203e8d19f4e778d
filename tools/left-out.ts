import type { Cut, LeftOut } from './entries.ts'
import { counted } from './naming.ts'

/** How an answer about many names says what is not in it. */

/** Only what is not zero. */
export type Counts = Readonly<Partial<Record<keyof LeftOut, number>>>

export function countsOf(left: Counts): Counts {
  return Object.fromEntries(Object.entries(left).filter(([, count]) => count > 0))
}

const WORDS = {
  ignored: 'ignored',
  excluded: 'excluded',
  hidden: 'hidden',
  own: 'Imago’s own',
  withheld: 'kept back by the policy',
  unreadable: 'not readable',
  deep: 'too deep',
  vanished: 'gone meanwhile',
} as const satisfies Record<keyof LeftOut, string>

/** `left out: 3 ignored (include_ignored shows them), 1 Imago’s own`; null where nothing was. */
export function leftOutLine(counts: Counts): string | null {
  const parts = (Object.keys(WORDS) as (keyof LeftOut)[]).flatMap(reason => {
    const count = counts[reason] ?? 0
    return count === 0 ? [] : [`${count} ${WORDS[reason]}${hint(reason)}`]
  })
  return parts.length === 0 ? null : `left out: ${parts.join(', ')}`
}

function hint(reason: keyof LeftOut): string {
  if (reason === 'ignored') return ' (include_ignored shows them)'
  return reason === 'hidden' ? ' (show_hidden shows them)' : ''
}

/** Why an answer ends before its end; null where it does not. */
export function cutLine(cut: Cut | null): string | null {
  switch (cut) {
    case null:
      return null
    case 'time':
      return 'ended early: the time for a look was over. Ask about a folder below it, or leave more out.'
    case 'cancelled':
      return 'ended early: the call was cancelled.'
    case 'entries':
      return 'ended early: too many names. Ask about a folder below it.'
    default:
      return cut satisfies never
  }
}

/** `812 B`, `1.2 kB`, `3.4 MB`: powers of a thousand. */
export function sizeWord(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`
  const [unit = 'TB', size = 1e12] = SIZES.find(([, from]) => bytes < from * 999.95) ?? []
  return `${(bytes / size).toFixed(1)} ${unit}`
}

const SIZES = [
  ['kB', 1e3],
  ['MB', 1e6],
  ['GB', 1e9],
] as const

/** `2026-11-20 09:12`, in UTC. */
export function minute(ms: number): string {
  return new Date(ms).toISOString().slice(0, 16).replace('T', ' ')
}

export const entriesWord = (count: number): string => counted(count, 'entry', 'entries')
