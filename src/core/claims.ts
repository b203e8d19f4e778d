import type { Holder } from '../../tools/define.ts'
import type { Caller } from './call.ts'
import { originOf } from './call.ts'

/** Who holds a suspended evaluation: nobody else may have it go on, or have code run in it. */
export type Claim =
  /** All connections of one origin, so that a client that connects anew still holds its own. */
  | { readonly type: 'caller'; readonly key: string; readonly who: string; readonly gone?: boolean }
  /** The one connection of somebody who sits: what else calls from the same project is not that person. */
  | { readonly type: 'person'; readonly key: string; readonly who: string; readonly gone?: boolean }
  | { readonly type: 'anyone' }
  /** Whoever is answered with it holds it. Where nobody is, it is nobody's, until a person takes it or hands it on. */
  | { readonly type: 'awaited'; readonly who: string }

/** A caller, as far as it matters to what it may hold: who it is, from where, and whether it sits. */
export type Claimant = Pick<Caller, 'id' | 'who' | 'kind' | 'root' | 'origin' | 'profile' | 'seat'>

/** What a caller holds from now on that it has had suspended, or was the first to act on. */
export function claimOf(caller: Claimant): Claim {
  const person = caller.seat?.()
  return person === undefined
    ? { type: 'caller', key: originOf(caller), who: caller.who }
    : personClaim(caller.id, person)
}

/** `connection`: the id of its session, which is the id of its calls. */
export const personClaim = (connection: string, who: string): Claim => ({
  type: 'person',
  key: `connection ${connection}`,
  who,
})

/** The keys of all that this caller can hold. */
export const keysOf = (caller: Pick<Claimant, 'id' | 'kind' | 'root' | 'origin'>): readonly string[] => [
  originOf(caller),
  `connection ${caller.id}`,
]

/** Undefined where nobody in particular holds it. */
export const keyOf = (claim: Claim): string | undefined =>
  claim.type === 'caller' || claim.type === 'person' ? claim.key : undefined

/** Undefined where anybody may have it. */
export const whoseIs = (claim: Claim): string | undefined =>
  claim.type === 'anyone' ? undefined : called(claim)

/** With a word where all of its connections have ended. */
const called = (claim: Exclude<Claim, { type: 'anyone' }>): string =>
  claim.type !== 'awaited' && claim.gone === true ? `${claim.who} (gone)` : claim.who

/** The same, as that caller sees it. */
export function seenBy(claim: Claim, caller: Claimant): Holder {
  switch (claim.type) {
    case 'anyone':
      return { type: 'anyone' }
    case 'awaited':
      return { type: 'other', who: claim.who, person: false }
    case 'caller':
    case 'person':
      return keysOf(caller).includes(claim.key)
        ? { type: 'you' }
        : { type: 'other', who: called(claim), person: claim.type === 'person' }
    default:
      return claim satisfies never
  }
}
