import { type Claim, keyOf } from './claims.ts'
import { type Leased, standingOn } from './leased.ts'

/** Changes whose suspended evaluations are, and knows those that are put before somebody. */
export class Holding {
  /** So that an answer costs nothing where none is. */
  readonly #offered = new Set<Leased>()

  get offered(): ReadonlySet<Leased> {
    return this.#offered
  }

  /** It is that one's from now on, and put before nobody. */
  claim(leased: Leased, claim: Claim): void {
    if (leased.first.type === 'awaited') leased.first = claim
    leased.claim = claim
    leased.trial = undefined
    leased.offer = undefined
    this.#offered.delete(leased)
  }

  offer(leased: Leased, by: string): void {
    leased.offer = { by, told: new Set() }
    this.#offered.add(leased)
  }

  /** It has ended. */
  ended(leased: Leased): void {
    this.#offered.delete(leased)
  }

  /** It had not ended. */
  revived(leased: Leased): void {
    if (leased.offer !== undefined) this.#offered.add(leased)
  }

  /**
   * A call of that one begins to act on it; what anybody may have is theirs then, with all that stands on it. What this
   * returns is called once, when the call has ended, with whether anything was run. Where nothing was, in this call nor
   * in another of theirs at the same time, all is as before, unless somebody has taken or handed it in between.
   */
  acts(leased: Leased, claim: Claim): (ran: boolean) => void {
    const tried = standingOn(leased).flatMap(one => this.#tried(one, claim) ?? [])
    leased.acting.push(claim)
    return ran => {
      leased.acting.splice(leased.acting.indexOf(claim), 1)
      if (ran) leased.actor = claim
      for (const one of tried) this.#settle(one, ran)
    }
  }

  /** One more call that may come to nothing; undefined where that one holds it, or does not, whatever it comes to. */
  #tried(one: Leased, claim: Claim): Tried | undefined {
    if (one.claim.type === 'anyone') {
      const { claim: before, offer } = one
      this.claim(one, claim)
      one.trial = { before, offer, calls: 0 }
    }
    const { trial } = one
    if (trial === undefined || keyOf(one.claim) !== keyOf(claim)) return undefined
    trial.calls += 1
    return { one, trial }
  }

  #settle({ one, trial }: Tried, ran: boolean): void {
    trial.calls -= 1
    if (one.trial !== trial || (!ran && trial.calls > 0)) return
    one.trial = undefined
    if (ran) return
    Object.assign(one, { claim: trial.before, offer: trial.offer })
    if (one.offer !== undefined && one.life.leased.get(one.suspension.id) === one) this.#offered.add(one)
  }
}

interface Tried {
  readonly one: Leased
  readonly trial: NonNullable<Leased['trial']>
}
