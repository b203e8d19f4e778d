import type { Evaluated, Kernel, KernelEnd, Suspension, SuspensionNews } from '../../wire/kernel.ts'
import { type Claim, type Claimant, keyOf, keysOf, seenBy, whoseIs } from './claims.ts'
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
  /** Those that are offered, so that an answer costs nothing where none is. */
  readonly #offered = new Set<Leased>()
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
    if (leased?.claim.type === 'awaited') this.#claimed(leased, claim)
  }

  /** Undefined for one that has ended already. What stands on another one is its holder's. */
  add(life: Life, suspension: Suspension, given?: Claim): Leased | undefined {
    if (life.gone.has(suspension.id) || !this.#lives.has(life.kernel)) return undefined
    const known = life.leased.get(suspension.id)
    if (known !== undefined) {
      Object.assign(known, { suspension, learnt: false })
      return known
    }
    const claim = given ?? claimAtFirst(life, suspension)
    const leased: Leased = { life, suspension, claim, first: claim, actor: undefined, offer: undefined }
    life.leased.set(suspension.id, leased)
    this.#note(leased, { what: 'suspended', by: null, why: exceptionOf(suspension) })
    this.#tell(leased, suspended => ({ type: 'suspended', suspension: suspended }))
    this.#added(leased)
    return leased
  }

  /**
   * An image was asked what is suspended there. What nobody has told of is taken down, and, as nobody tells of its end
   * either, it has ended where it is not among `all` any more.
   */
  learn(life: Life, seen: readonly Suspension[], all: boolean): void {
    for (const suspension of seen) {
      if (life.leased.has(suspension.id)) continue
      const leased = this.add(life, suspension)
      if (leased !== undefined) leased.learnt = true
    }
    if (!all) return
    for (const { suspension, learnt } of [...life.leased.values()])
      if (learnt && !seen.some(({ id }) => id === suspension.id))
        this.#end(life, { id: suspension.id, how: 'lost', message: 'Its image has it no more.' })
  }

  /**
   * Somebody has code run in it, or has it go on. What anybody may have is theirs then. What this returns is called
   * where nothing was run: all is as before, unless somebody has acted, taken or handed in between.
   */
  acts(leased: Leased, claim: Claim): () => void {
    const { actor } = leased
    const free = standingOn(leased).filter(one => one.claim.type === 'anyone')
    const before = free.map(one => ({ one, claim: one.claim, offer: one.offer }))
    leased.actor = claim
    this.#knows(leased, keyOf(claim) ?? '')
    for (const one of free) this.#claimed(one, claim)
    return () => {
      if (leased.actor !== claim) return
      leased.actor = actor
      for (const { one, ...was } of before) if (one.claim === claim) this.#giveBack(one, was)
    }
  }

  /** A person takes it over, with all that stands on it. */
  take(leased: Leased, claim: Claim, by: string): void {
    for (const one of standingOn(leased)) {
      const before = one.claim
      this.#claimed(one, claim)
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
      this.#claimed(one, claim)
      this.#note(one, { what: 'handed', by, ...(to !== null && { to }) })
      if (keyOf(before) !== keyOf(giver.claim))
        this.#notify(one, { whom: before, except: claim, text: handedText(one, { by, to }) })
      this.#tell(one, suspension => ({ type: 'handed', suspension, by, to }))
    }
    this.#offer(leased, by)
  }

  /** An error of a person's own, which that person puts before whoever comes first. */
  adopt(life: Life, suspension: Suspension, giver: { readonly claim: Claim; readonly by: string }): Leased {
    const leased = this.add(life, suspension, { type: 'anyone' })
    if (leased === undefined) throw new Error(`${suspension.id} was adopted and has ended already`)
    this.#claimed(leased, { type: 'anyone' })
    leased.first = giver.claim
    this.#note(leased, { what: 'adopted', by: giver.by })
    this.#tell(leased, shown => ({ type: 'adopted', suspension: shown, by: giver.by }))
    this.#offer(leased, giver.by)
    return leased
  }

  /** What this caller is to be told now, each sentence once. */
  noticesFor(caller: Claimant): readonly string[] {
    if (this.#notices.empty && this.#offered.size === 0) return NONE
    const keys = keysOf(caller)
    const offers = [...this.#offered].flatMap(leased => {
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

  #end(life: Life, { id, how, message }: { id: string; how: EndedHow; message: string }): void {
    const leased = life.leased.get(id)
    remember(life.gone, { id, claim: leased?.claim ?? { type: 'anyone' } })
    if (leased === undefined) return
    life.leased.delete(id)
    this.#offered.delete(leased)
    const actor = how === 'resumed' || how === 'left' ? (leased.actor ?? leased.claim) : undefined
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

  #claimed(leased: Leased, claim: Claim): void {
    if (leased.first.type === 'awaited') leased.first = claim
    leased.claim = claim
    leased.offer = undefined
    this.#offered.delete(leased)
  }

  #giveBack(leased: Leased, { claim, offer }: Pick<Leased, 'claim' | 'offer'>): void {
    Object.assign(leased, { claim, offer })
    if (offer !== undefined && leased.life.leased.has(leased.suspension.id)) this.#offered.add(leased)
  }

  #offer(leased: Leased, by: string): void {
    leased.offer = { by, told: new Set() }
    this.#offered.add(leased)
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
