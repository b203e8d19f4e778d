import type { Evaluated, Kernel, KernelEnd, Suspension, SuspensionNews } from '../../wire/kernel.ts'
import { type Claim, type Claimant, keyOf, keysOf, seenBy, whoseIs } from './claims.ts'
import { Holding } from './holding.ts'
import type { Journal, OpenSuspension } from './journal.ts'
import {
  claimAtFirst,
  claimOn,
  isFirstOfItsKey,
  type Leased,
  type Life,
  remember,
  standingOn,
} from './leased.ts'
import { Notices } from './notices.ts'
import { entryOf, exceptionOf, type Noted } from './suspended-entry.ts'
import { cameToText, endedText, handedText, lostText, offeredText, takenText } from './suspended-notices.ts'
import type { EndedHow, SuspendedRow, SuspensionEvent } from './suspended-row.ts'

/** Whoever follows what becomes of suspended evaluations. */
export interface SuspensionWatcher {
  readonly caller: Claimant
  /** Left out: only those of the caller's project. */
  readonly everywhere?: boolean | undefined
  heard(event: SuspensionEvent): void
}

/**
 * Whose each suspended evaluation is. The images say what is suspended and what has ended; this is who may act on it,
 * who is to be told, and what the journal says of it.
 */
export class SuspendedBook {
  readonly #lives = new Map<Kernel, Life>()
  readonly #watchers = new Set<SuspensionWatcher>()
  readonly #notices = new Notices()
  readonly #holding = new Holding()
  /** Counts looks at images, so that of two answers it is known which one is of an older look. */
  #moment = 0
  readonly #journal: Pick<Journal, 'later'>
  readonly #added: (leased: Leased) => void

  /** `added`: called after one was suspended. */
  constructor(journal: Pick<Journal, 'later'>, added: (leased: Leased) => void = () => {}) {
    this.#journal = journal
    this.#added = added
  }

  /** The life of this kernel, which is listened to from when it is first asked for until it ends. */
  lifeOf({ name, root, kernel }: Pick<Life, 'name' | 'root' | 'kernel'>): Life {
    const known = this.#lives.get(kernel)
    if (known !== undefined) return known
    const life = { name, root, kernel, leased: new Map(), calls: new Map(), gone: new Map() }
    this.#lives.set(kernel, life)
    kernel.watchSuspensions(news => this.#hear(life, news))
    void kernel.ended.then(end => this.#over(life, end))
    return life
  }

  get lives(): readonly Life[] {
    return [...this.#lives.values()]
  }

  watch(watcher: SuspensionWatcher): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  /** The caller was told that its evaluation is suspended, and holds it unless somebody was faster. */
  hold(life: Life, suspension: Suspension, claim: Claim): void {
    const leased = this.add(life, suspension)
    if (leased?.claim.type === 'awaited') this.#holding.claim(leased, claim)
  }

  /** Undefined for one whose end was told. What stands on another one is its holder's. */
  add(life: Life, suspension: Suspension, given?: Claim): Leased | undefined {
    if (!this.#lives.has(life.kernel)) return undefined
    const known = life.leased.get(suspension.id)
    if (known !== undefined) return Object.assign(known, { suspension, learnt: undefined })
    const gone = life.gone.get(suspension.id)
    if (gone !== undefined) return gone.concluded && this.#revived(gone.concluded, suspension)
    const claim = given ?? claimAtFirst(life, suspension)
    const own = { actor: undefined, acting: [], offer: undefined }
    return this.#entered({ life, suspension, claim, first: claim, ...own })
  }

  /** An image is about to be asked what is suspended there: when, for `learn`. */
  looks(): number {
    this.#moment += 1
    return this.#moment
  }

  /**
   * An image was asked what is suspended there. What nobody has told of is taken down. `asOf`: when it was asked for all
   * of them. What had been learnt before that, and is not among them, has ended, as nobody tells of its end.
   */
  learn(life: Life, seen: readonly Suspension[], asOf?: number): void {
    for (const suspension of seen) {
      if (life.leased.has(suspension.id) || life.gone.has(suspension.id)) continue
      const leased = this.add(life, suspension)
      if (leased !== undefined) leased.learnt = this.#moment
    }
    if (asOf === undefined) return
    for (const leased of [...life.leased.values()]) {
      const { id } = leased.suspension
      if (leased.learnt === undefined || leased.learnt >= asOf || seen.some(one => one.id === id)) continue
      this.#end(life, { id, how: 'lost', message: 'Its image has it no more.', concluded: leased })
    }
  }

  /** Somebody is about to have code run in it, or have it go on: as `Holding.acts`. */
  acts(leased: Leased, claim: Claim): (ran: boolean) => void {
    this.#knows(leased, keyOf(claim) ?? '')
    return this.#holding.acts(leased, claim)
  }

  /** A person takes it over, with all that stands on it. */
  take(leased: Leased, claim: Claim, by: string): void {
    for (const one of standingOn(leased)) {
      const before = one.claim
      this.#holding.claim(one, claim)
      if (keyOf(before) !== keyOf(claim)) one.from = before
      this.#note(one, { what: 'taken', by })
      this.#notify(one, { whom: before, except: claim, text: takenText(one, by) })
      const from = whoseIs(before) ?? null
      this.#tell(one, suspension => ({ type: 'taken', suspension, by, from }))
    }
  }

  /** A person puts it before somebody, with all that stands on it. */
  hand(leased: Leased, claim: Claim, giver: { readonly claim: Claim; readonly by: string }): void {
    const { by } = giver
    const to = whoseIs(claim) ?? null
    for (const one of standingOn(leased)) {
      const before = one.claim
      this.#holding.claim(one, claim)
      this.#note(one, { what: 'handed', by, ...(to !== null && { to }) })
      if (keyOf(before) !== keyOf(giver.claim))
        this.#notify(one, { whom: before, except: claim, text: handedText(one, { by, to }) })
      this.#tell(one, suspension => ({ type: 'handed', suspension, by, to }))
    }
    this.#holding.offer(leased, by)
  }

  /** An error of a person's own, which that person puts before whoever comes first. */
  adopt(life: Life, suspension: Suspension, giver: { readonly claim: Claim; readonly by: string }): Leased {
    const leased = this.add(life, suspension, { type: 'anyone' })
    if (leased === undefined) throw new Error(`${suspension.id} was adopted and has ended already`)
    this.#holding.claim(leased, { type: 'anyone' })
    leased.first = giver.claim
    this.#note(leased, { what: 'adopted', by: giver.by })
    this.#tell(leased, shown => ({ type: 'adopted', suspension: shown, by: giver.by }))
    this.#holding.offer(leased, giver.by)
    return leased
  }

  /** What this caller is to be told now, each sentence once. */
  noticesFor(caller: Claimant): readonly string[] {
    if (this.#notices.empty && this.#holding.offered.size === 0) return NONE
    const keys = keysOf(caller)
    const offers = [...this.#holding.offered].flatMap(leased => {
      const [key = ''] = keys
      const theirs =
        leased.claim.type === 'anyone' ? leased.life.root === caller.root : keyOf(leased.claim) === key
      if (!theirs || leased.offer === undefined || leased.offer.told.has(key)) return []
      if (caller.profile === 'core' || caller.seat?.() !== undefined) return []
      const { by } = leased.offer
      this.#knows(leased, key)
      return [offeredText(leased, by)]
    })
    return [...this.#notices.take([...keys, nameKey(caller.root, caller.who)]), ...offers]
  }

  /** What daemons kept that were lost has ended with them. Those of that name are told who ask in the same project. */
  lost(those: readonly OpenSuspension[]): void {
    for (const { suspension: about, root, who, holder, ...one } of those)
      for (const name of new Set([who, ...(holder === null ? [] : [holder])]))
        if (root !== undefined)
          this.#notices.add(nameKey(root, name), { about, text: lostText({ ...one, suspension: about }) })
  }

  /** What that one, which goes on by somebody's will, has come to: it is told to whoever was to be told of its end. */
  cameTo(leased: Leased, evaluated: Evaluated): void {
    leased.came = cameToText(evaluated)
    if (leased.came !== undefined) leased.ended?.()
  }

  row({ life, suspension, claim }: Leased, caller: Claimant, now: SeenNow = UNSEEN): SuspendedRow {
    return { ...suspension, ...now, kernel: life.name, root: life.root, holder: seenBy(claim, caller) }
  }

  #hear(life: Life, news: SuspensionNews): void {
    if (news.type === 'suspended') this.add(life, news.suspension)
    else this.#end(life, news)
  }

  #over(life: Life, { message }: KernelEnd): void {
    const [how = ''] = message.split('\n')
    for (const id of life.leased.keys())
      this.#end(life, { id, how: 'lost', message: `Its image is gone: ${how}` })
    this.#lives.delete(life.kernel)
  }

  #entered(leased: Leased): Leased {
    const { life, suspension } = leased
    life.leased.set(suspension.id, leased)
    this.#note(leased, { what: 'suspended', by: null, why: exceptionOf(suspension) })
    this.#tell(leased, row => ({ type: 'suspended', suspension: row }))
    this.#added(leased)
    return leased
  }

  /** It lives, although it was concluded that it had ended: all is as it was. */
  #revived(leased: Leased, suspension: Suspension): Leased {
    const { life, claim, first } = leased
    life.gone.delete(suspension.id)
    Object.assign(leased, { suspension, learnt: undefined, came: undefined, ended: undefined })
    if (claim.type === 'awaited') this.#holding.claim(leased, claimAtFirst(life, suspension))
    this.#holding.revived(leased)
    for (const whom of [claim, first]) this.#notices.withdraw(keyOf(whom) ?? '', suspension.id)
    return this.#entered(leased)
  }

  #end(life: Life, { id, how, message, concluded }: End): void {
    const leased = life.leased.get(id)
    const claim = leased?.claim ?? life.gone.get(id)?.claim ?? { type: 'anyone' }
    remember(life.gone, id, { claim, concluded })
    if (leased === undefined) return
    life.leased.delete(id)
    this.#holding.ended(leased)
    const actor =
      how === 'resumed' || how === 'left' ? (leased.acting.at(-1) ?? leased.actor ?? leased.claim) : undefined
    const by = actor === undefined ? null : (whoseIs(actor) ?? null)
    this.#note(leased, { what: how, by, why: message })
    // Whoever ends what another one stands on has ended both.
    const within = how === 'within' ? claimOn(leased) : undefined
    const told = [leased.claim, leased.first]
      .filter(isFirstOfItsKey)
      .filter(claim => within === undefined || keyOf(within) !== keyOf(claim))
    leased.ended = () => {
      for (const whom of told)
        this.#notify(leased, { whom, except: actor, text: endedText(leased, { how, message, by }) })
    }
    leased.ended()
    this.#tell(leased, suspension => ({ type: 'ended', suspension, how, message, by }))
  }

  /** Whoever has that key is told no more of what happened to it before, nor that it is put before them. */
  #knows({ suspension: { id }, offer }: Leased, key: string): void {
    this.#notices.withdraw(key, id)
    offer?.told.add(key)
  }

  #notify({ suspension }: Leased, { whom, except, text }: Told): void {
    const key = keyOf(whom)
    if (key !== undefined && (except === undefined || keyOf(except) !== key))
      this.#notices.add(key, { about: suspension.id, text })
  }

  #note(leased: Leased, said: Noted): void {
    this.#journal.later(entryOf(leased, said))
  }

  #tell(leased: Leased, event: (row: SuspendedRow) => SuspensionEvent): void {
    for (const watcher of this.#watchers) {
      if (watcher.everywhere !== true && watcher.caller.root !== leased.life.root) continue
      try {
        watcher.heard(event(this.row(leased, watcher.caller)))
      } catch {
        this.#watchers.delete(watcher)
      }
    }
  }
}

interface End {
  readonly id: string
  readonly how: EndedHow
  readonly message: string
  /** It, where nobody has told of its end. */
  readonly concluded?: Leased
}

interface Told {
  readonly whom: Claim
  /** Whose doing it is, who is told nothing of it. */
  readonly except: Claim | undefined
  readonly text: string
}

/** Nobody else has keys like these: they are of connections, and of programs that are connected. */
const nameKey = (root: string, name: string): string => `name ${name} in ${root}`

type SeenNow = Pick<SuspendedRow, 'expires_in_ms' | 'busy'>
const UNSEEN: SeenNow = { expires_in_ms: null, busy: null }
const NONE: readonly string[] = []
