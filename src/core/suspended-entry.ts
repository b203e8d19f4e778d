import type { Suspension } from '../../wire/kernel.ts'
import { whoseIs } from './claims.ts'
import type { JournalEntry } from './journal.ts'
import type { Leased } from './leased.ts'
import type { EndedHow } from './suspended-row.ts'
import { beginning } from './texts.ts'

/** Characters of an error, in the journal. */
const MESSAGE_CHARS = 1_000

/** What happened to a suspended evaluation, and by whom. */
export interface Noted {
  readonly what: 'suspended' | 'taken' | 'handed' | 'adopted' | EndedHow
  readonly by: string | null
  readonly to?: string
  readonly why?: string
}

/** The line of the journal that says so, with whose it is now. */
export function entryOf({ life, suspension, claim }: Leased, said: Noted): JournalEntry {
  const { id, call, who } = suspension
  return {
    type: 'suspension',
    suspension: id,
    kernel: life.name,
    epoch: life.kernel.identity.epoch,
    root: life.root,
    ...(call !== null && { call }),
    who,
    holder: whoseIs(claim) ?? null,
    ...said,
  }
}

/** `ValueError: no stock`, cut. */
export const exceptionOf = ({ type, message }: Suspension): string =>
  beginning(`${type.name}: ${message}`, MESSAGE_CHARS)
