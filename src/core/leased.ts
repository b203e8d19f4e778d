import type { CallId, Kernel, Suspension } from '../../wire/kernel.ts'
import { type Claim, keyOf } from './claims.ts'

/** Ends that are remembered, of one life. */
const MOST_GONE = 256

/** One life of a kernel, and what is suspended in it. */
export interface Life {
  readonly name: string
  readonly root: string
  readonly kernel: Kernel
  /** By id, in the order in which they stopped. */
  readonly leased: Map<string, Leased>
  /** Who has evaluations under way that an error would suspend. */
  readonly calls: Map<CallId, Claim>
  /** Those that have ended, oldest first. Ids are never used twice. */
  readonly gone: Map<string, Gone>
}

/** One that has ended. */
export interface Gone {
  /** Whose it was then. */
  readonly claim: Claim
  /** That it has ended was only concluded, from a list without it; as it was. Left out: its end was told. */
  readonly concluded?: Leased | undefined
}

/** One suspended evaluation, and whose it is. Its stack may be alive or have unwound. */
export interface Leased {
  readonly life: Life
  suspension: Suspension
  claim: Claim
  /** Whose it was first, who is told of its end whosever it is by then. */
  first: Claim
  /** Who had code run in it last, or had it go on; and who is about to, one for each call that is under way. */
  actor: Claim | undefined
  readonly acting: Claim[]
  /** It is held only until calls have ended that may come to nothing: how many, and what was before the first. */
  trial?: { readonly before: Claim; readonly offer: Leased['offer']; calls: number } | undefined
  /** Whose it was before a person took it over, to whom it can be given back. */
  from?: Claim
  /** Only a look at its image has told of it: at which moment of the book. */
  learnt?: number | undefined
  /** Once it goes on: what it has come to, a sentence; undefined where that is not known yet, or nothing. */
  came?: string | undefined
  /** Once it has ended: has those told of it who are to be. */
  ended?: () => void
  /** A person has put it before whoever holds it now, or comes first; `told`: the keys of those who know. */
  offer: { readonly by: string; readonly told: Set<string> } | undefined
}

/** What stands on another one is its holder's; else it is whose evaluation stopped, as far as that is known. */
export function claimAtFirst(life: Life, { within, call, who }: Suspension): Claim {
  const outer = within === null ? undefined : life.leased.get(within)?.claim
  if (outer !== undefined && keyOf(outer) !== undefined) return outer
  return (call === null ? undefined : life.calls.get(call)) ?? { type: 'awaited', who }
}

/** Whose that is, or was, which it stands on. */
export function claimOn({ life, suspension: { within } }: Leased): Claim | undefined {
  return within === null ? undefined : (life.leased.get(within)?.claim ?? life.gone.get(within)?.claim)
}

/** It, and what stands on it, the outermost first. */
export function standingOn(leased: Leased): Leased[] {
  const inner = [...leased.life.leased.values()].filter(one => one.suspension.within === leased.suspension.id)
  return [leased, ...inner.flatMap(standingOn)]
}

/** For `filter`: leaves one claim of each holder. */
export const isFirstOfItsKey = (claim: Claim, at: number, all: readonly Claim[]): boolean =>
  all.findIndex(one => keyOf(one) === keyOf(claim)) === at

/** Takes down that one has ended, where that was not told before; the oldest make room. */
export function remember(gone: Life['gone'], id: string, how: Gone): void {
  const known = gone.get(id)
  if (known !== undefined && known.concluded === undefined) return
  gone.set(id, how)
  const [oldest] = gone.keys()
  if (gone.size > MOST_GONE && oldest !== undefined) gone.delete(oldest)
}
