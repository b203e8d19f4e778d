import type { CallId, Kernel, KernelEnd, Suspension, SuspensionNews } from '../../wire/kernel.ts'
import { type Claim, type Claimant, keyOf, keysOf, seenBy, whoseIs } from './claims.ts'
import { beginning } from './cut.ts'
import type { Journal } from './journal.ts'
import { Owed } from './owed.ts'
import { endedText, handedText, offeredText, takenText } from './suspended-notices.ts'
import type { EndedHow, SuspendedRow, SuspensionEvent } from './suspended-row.ts'

/** One life of a kernel, and what is suspended in it. */
export interface Life {
  readonly name: string
  readonly root: string
  readonly kernel: Kernel
  /** By id, in the order in which they stopped. */
  readonly held: Map<string, Held>
  /** Who has evaluations under way that an error would suspend. */
  readonly calls: Map<CallId, Claim>
  /** Those that have ended, oldest first, with whoever held them then. Ids are never used twice. */
  readonly gone: Map<string, Claim>
}

/** One suspended evaluation. */
export interface Held {
  readonly life: Life
  suspension: Suspension
  claim: Claim
  /** Whoever held it first, who is told of its end whoever holds it by then. */
  first: Claim
  /** Who had code run in it last, or had it go on. */
  actor: Claim | undefined
  /** Who held it before a person took it over, to whom it can be given back. */
  from?: Claim
  /** A person has put it before whoever holds it now, or comes first; `told`: the keys of those who know. */
  offer: { readonly by: string; readonly told: Set<string> } | undefined
}

/** Whoever follows what becomes of suspended evaluations. */
export interface SuspensionWatcher {
  readonly caller: Claimant
  /** Left out: only those of the caller's project. */
  readonly everywhere?: boolean | undefined
  heard(event: SuspensionEvent): void
}

/** Ends that are remembered, of one life. */
const MOST_GONE = 256
/** Of an error, in the journal. */
const MESSAGE_CHARS = 1_000

/**
 * Whose each suspended evaluation is. The images say what is suspended and what has ended; this is who may act on it,
 * who is to be told, and what the journal says of it.
 */
export class SuspendedBook {
  readonly #lives = new Map<Kernel, Life>()
  readonly #watchers = new Set<SuspensionWatcher>()
  readonly #owed = new Owed()
  /** Those that are offered, so that an answer costs nothing where none is. */
  readonly #offered = new Set<Held>()
  readonly #journal: Pick<Journal, 'later'>
  readonly #added: (held: Held) => void

  /** `added`: called after one was suspended. */
  constructor(journal: Pick<Journal, 'later'>, added: (held: Held) => void = () => {}) {
    this.#journal = journal
    this.#added = added
  }

  /** The life of this kernel, which is listened to from when it is first asked for until it ends. */
  lifeOf({ name, root, kernel }: Pick<Life, 'name' | 'root' | 'kernel'>): Life {
    const known = this.#lives.get(kernel)
    if (known !== undefined) return known
    const life = { name, root, kernel, held: new Map(), calls: new Map(), gone: new Map() }
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
    const held = this.add(life, suspension)
    if (held?.claim.type === 'awaited') this.#claimed(held, claim)
  }

  /** Undefined for one that has ended already. What stands on another one is its holder's. */
  add(life: Life, suspension: Suspension, given?: Claim): Held | undefined {
    if (life.gone.has(suspension.id) || !this.#lives.has(life.kernel)) return undefined
    const known = life.held.get(suspension.id)
    if (known !== undefined) {
      known.suspension = suspension
      return known
    }
    const claim = given ?? claimAtFirst(life, suspension)
    const held: Held = { life, suspension, claim, first: claim, actor: undefined, offer: undefined }
    life.held.set(suspension.id, held)
    this.#note(held, { what: 'suspended', by: null, why: exceptionOf(suspension) })
    this.#tell(held, suspended => ({ type: 'suspended', suspension: suspended }))
    this.#added(held)
    return held
  }

  /**
   * Somebody has code run in it, or has it go on. What anybody may have is theirs then. What this returns is called
   * where nothing was run: all is as before, unless somebody has acted, taken or handed in between.
   */
  acts(held: Held, claim: Claim): () => void {
    const { actor } = held
    const free = standingOn(held).filter(one => one.claim.type === 'anyone')
    const before = free.map(one => ({ one, claim: one.claim, offer: one.offer }))
    held.actor = claim
    for (const one of free) this.#claimed(one, claim)
    return () => {
      if (held.actor !== claim) return
      held.actor = actor
      for (const { one, ...was } of before) if (one.claim === claim) this.#giveBack(one, was)
    }
  }

  /** A person takes it over, with all that stands on it. */
  take(held: Held, claim: Claim, by: string): void {
    for (const one of standingOn(held)) {
      const before = one.claim
      this.#claimed(one, claim)
      if (keyOf(before) !== keyOf(claim)) one.from = before
      this.#note(one, { what: 'taken', by })
      this.#owe(before, { except: claim, text: takenText(one, by) })
      const from = whoseIs(before) ?? null
      this.#tell(one, suspension => ({ type: 'taken', suspension, by, from }))
    }
  }

  /** A person puts it before somebody, with all that stands on it. */
  hand(held: Held, claim: Claim, giver: { readonly claim: Claim; readonly by: string }): void {
    const { by } = giver
    const to = whoseIs(claim) ?? null
    for (const one of standingOn(held)) {
      const before = one.claim
      this.#claimed(one, claim)
      this.#note(one, { what: 'handed', by, ...(to !== null && { to }) })
      if (keyOf(before) !== keyOf(giver.claim))
        this.#owe(before, { except: claim, text: handedText(one, { by, to }) })
      this.#tell(one, suspension => ({ type: 'handed', suspension, by, to }))
    }
    this.#offer(held, by)
  }

  /** An error of a person's own, which that person puts before whoever comes first. */
  adopt(life: Life, suspension: Suspension, giver: { readonly claim: Claim; readonly by: string }): Held {
    const held = this.add(life, suspension, { type: 'anyone' })
    if (held === undefined) throw new Error(`${suspension.id} was adopted and has ended already`)
    this.#claimed(held, { type: 'anyone' })
    held.first = giver.claim
    this.#note(held, { what: 'adopted', by: giver.by })
    this.#tell(held, shown => ({ type: 'adopted', suspension: shown, by: giver.by }))
    this.#offer(held, giver.by)
    return held
  }

  /** What this caller is to be told now, each sentence once. */
  owedTo(caller: Claimant): readonly string[] {
    if (this.#owed.empty && this.#offered.size === 0) return NONE
    const keys = keysOf(caller)
    const offers = [...this.#offered].flatMap(held => {
      const [key = ''] = keys
      const theirs = held.claim.type === 'anyone' ? held.life.root === caller.root : keyOf(held.claim) === key
      if (!theirs || held.offer === undefined || held.offer.told.has(key)) return []
      if (caller.profile === 'core' || caller.seat?.() !== undefined) return []
      held.offer.told.add(key)
      return [offeredText(held, held.offer.by)]
    })
    return [...this.#owed.take(keys), ...offers]
  }

  row({ life, suspension, claim }: Held, caller: Claimant, now: SeenNow = UNSEEN): SuspendedRow {
    return { ...suspension, ...now, kernel: life.name, root: life.root, holder: seenBy(claim, caller) }
  }

  #hear(life: Life, news: SuspensionNews): void {
    if (news.type === 'suspended') this.add(life, news.suspension)
    else this.#end(life, news)
  }

  #over(life: Life, { message }: KernelEnd): void {
    const [how = ''] = message.split('\n')
    for (const id of life.held.keys())
      this.#end(life, { id, how: 'lost', message: `Its image is gone: ${how}` })
    this.#lives.delete(life.kernel)
  }

  #end(life: Life, { id, how, message }: { id: string; how: EndedHow; message: string }): void {
    const held = life.held.get(id)
    remember(life.gone, { id, claim: held?.claim ?? { type: 'anyone' } })
    if (held === undefined) return
    life.held.delete(id)
    this.#offered.delete(held)
    const actor = how === 'resumed' || how === 'left' ? (held.actor ?? held.claim) : undefined
    const by = actor === undefined ? null : (whoseIs(actor) ?? null)
    this.#note(held, { what: how, by, why: message })
    // Whoever ends what another one stands on has ended both.
    const within = how === 'within' ? claimOn(held) : undefined
    for (const claim of [held.claim, held.first].filter(isFirstOfItsKey))
      if (within === undefined || keyOf(within) !== keyOf(claim))
        this.#owe(claim, { except: actor, text: endedText(held, { how, message, by }) })
    this.#tell(held, suspension => ({ type: 'ended', suspension, how, message, by }))
  }

  #claimed(held: Held, claim: Claim): void {
    if (held.first.type === 'awaited') held.first = claim
    held.claim = claim
    held.offer = undefined
    this.#offered.delete(held)
  }

  #giveBack(held: Held, { claim, offer }: Pick<Held, 'claim' | 'offer'>): void {
    Object.assign(held, { claim, offer })
    if (offer !== undefined && held.life.held.has(held.suspension.id)) this.#offered.add(held)
  }

  #offer(held: Held, by: string): void {
    held.offer = { by, told: new Set() }
    this.#offered.add(held)
  }

  #owe(claim: Claim, { except, text }: { readonly except: Claim | undefined; readonly text: string }): void {
    const key = keyOf(claim)
    if (key !== undefined && (except === undefined || keyOf(except) !== key)) this.#owed.add(key, text)
  }

  #note(held: Held, said: Noted): void {
    const { life, suspension, claim } = held
    const { id, call, who } = suspension
    this.#journal.later({
      type: 'suspension',
      suspension: id,
      kernel: life.name,
      epoch: life.kernel.identity.epoch,
      ...(call !== null && { call }),
      who,
      holder: whoseIs(claim) ?? null,
      ...said,
    })
  }

  #tell(held: Held, event: (row: SuspendedRow) => SuspensionEvent): void {
    for (const watcher of this.#watchers) {
      if (watcher.everywhere !== true && watcher.caller.root !== held.life.root) continue
      try {
        watcher.heard(event(this.row(held, watcher.caller)))
      } catch {
        this.#watchers.delete(watcher)
      }
    }
  }
}

interface Noted {
  readonly what: 'suspended' | 'taken' | 'handed' | 'adopted' | EndedHow
  readonly by: string | null
  readonly to?: string
  readonly why?: string
}

type SeenNow = Pick<SuspendedRow, 'expires_in_ms' | 'busy'>
const UNSEEN: SeenNow = { expires_in_ms: null, busy: null }
const NONE: readonly string[] = []

function claimAtFirst(life: Life, { within, call, who }: Suspension): Claim {
  const outer = within === null ? undefined : life.held.get(within)?.claim
  if (outer !== undefined && keyOf(outer) !== undefined) return outer
  if (call === null) return { type: 'anyone' }
  return life.calls.get(call) ?? { type: 'awaited', who }
}

/** Whose that is, or was, which it stands on. */
function claimOn({ life, suspension: { within } }: Held): Claim | undefined {
  return within === null ? undefined : (life.held.get(within)?.claim ?? life.gone.get(within))
}

/** It, and what stands on it, the outermost first. */
export function standingOn(held: Held): Held[] {
  const inner = [...held.life.held.values()].filter(one => one.suspension.within === held.suspension.id)
  return [held, ...inner.flatMap(standingOn)]
}

const isFirstOfItsKey = (claim: Claim, at: number, all: readonly Claim[]): boolean =>
  all.findIndex(one => keyOf(one) === keyOf(claim)) === at

function remember(gone: Life['gone'], { id, claim }: { readonly id: string; readonly claim: Claim }): void {
  if (gone.has(id)) return
  gone.set(id, claim)
  const [oldest] = gone.keys()
  if (gone.size > MOST_GONE && oldest !== undefined) gone.delete(oldest)
}

const exceptionOf = ({ type, message }: Suspension): string =>
  beginning(`${type.name}: ${message}`, MESSAGE_CHARS)
