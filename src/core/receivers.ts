import type { Claim } from './claims.ts'
import type { KnownCallers } from './known-callers.ts'
import { LeaseError } from './lease-error.ts'
import type { Leased } from './leased.ts'

/** In place of a name: whoever it was taken from. */
const BACK = 'back'

/**
 * Before whom a person puts a suspended evaluation, by what they call it: the name of a caller, `back`, or undefined for
 * whoever comes first. Throws `LeaseError` where that is nobody, or several.
 */
export function receiverOf(leased: Leased, name: string | undefined, callers: KnownCallers): Claim {
  if (name === undefined) return { type: 'anyone' }
  if (name === BACK) return before(leased, callers)
  const found = callers.find(name)
  if (found.type === 'one') return { type: 'caller', key: found.key, who: found.who }
  const rows = found.type === 'several' ? found.rows : callers.rows()
  const list = rows.map(({ caller, who, root }) => `${caller} (${who}, ${root})`).join(', ')
  const problem =
    found.type === 'several' ? 'Several callers call themselves' : 'No caller has called that is'
  const there = list === '' ? 'None has called yet.' : `There are, the last to call first: ${list}.`
  throw new LeaseError('invalid_params', {
    message: `${problem} ${JSON.stringify(name)}. ${there}`,
    details: { callers: rows },
    next: `Name one of them as caller-N, give it ${BACK}, or leave it out: then it is put before whoever comes first.`,
  })
}

/** Whose it was before a person took it over. */
function before({ from, suspension }: Leased, callers: KnownCallers): Claim {
  if (from?.type === 'caller' && !callers.isGone(from.key)) return from
  const why =
    from?.type === 'caller' ? `it was taken from ${from.who}, which has gone` : 'it was taken from no caller'
  throw new LeaseError('invalid_params', {
    message: `${suspension.id} cannot be given back: ${why}.`,
    next: 'Name somebody, or leave it out: then it is put before whoever comes first.',
  })
}
