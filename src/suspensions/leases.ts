import { randomUUID } from 'node:crypto'
import type { Leases as CallLeases } from '../../tools/contract.ts'
import { oneLine } from '../../tools/text.ts'
import type { CallId, Evaluated, Kernel, KernelEnd, Suspension, SuspensionNews } from '../../wire/kernel.ts'
import type { JournalEntry, OpenSuspension } from '../journal/entries.ts'
import type { Journal } from '../journal/journal.ts'
import { escapePlanLine } from '../text/escape.ts'
import { beginning } from '../text/texts.ts'
import {
  type CallerIdentity,
  keepsIt,
  keyOf,
  keysOf,
  type NamedOwner,
  nameOf,
  type Owner,
  ownerFor,
  ownershipOf,
  Presence,
  type PresenceOptions,
} from './owners.ts'
import type { EndedHow, SuspendedRow, SuspensionEvent } from './rows.ts'

/** How long a suspended evaluation waits after its owner last had to do with it, and a person's, in milliseconds. */
export const LEASE_MS = 600_000

export const PERSON_LEASE_MS = 1_800_000

/** One life of a kernel, and what is suspended in it. */
export interface Life {
  readonly name: string
  readonly root: string
  readonly kernel: Kernel
  /** By id, in the order in which they stopped. */
  readonly suspended: Map<string, Lease>
  /** Who has evaluations under way that an error would suspend. */
  readonly calls: Map<CallId, NamedOwner>
}

/** One suspended evaluation. */
export interface Lease {
  readonly life: Life
  readonly suspension: Suspension
  owner: Owner
  /** Its first owner, who is told of its end whoever owns it by then. */
  asker: Owner
  /** Who resumed it last, or ran code in it. */
  actor?: NamedOwner
  /** A person has put it before the agents of its project; `told`: the keys of those who know. */
  offer?: { readonly by: string; readonly told: Set<string> } | undefined
  /** Once it has ended: tells those who are to be told, with what it came to as far as that is known. */
  tellEnd?: (came: string | undefined) => void
}

/** Whoever follows what becomes of suspended evaluations. */
export interface SuspensionWatcher {
  readonly caller: CallerIdentity
  /** Left out: only those of the caller's project. */
  readonly everywhere?: boolean | undefined
  heard(event: SuspensionEvent): void
}

/** A call on a kernel that may suspend, or have to do with what is suspended. */
interface LeasedCall {
  readonly call: CallId
  readonly caller: CallerIdentity
  /** Settles when it has ended. */
  readonly done: Promise<unknown>
}

/**
 * The suspended evaluations of all kernels of a daemon: who owns each (`owners.ts` has the rule), who is to be told what
 * became of theirs, and what the journal says. The images say what is suspended, and what has ended.
 */
export class Leases {
  readonly #lives = new Map<Kernel, Life>()
  readonly #watchers = new Set<SuspensionWatcher>()
  readonly #notices = new Notices()
  /** So that an answer costs nothing where none is. */
  readonly #offered = new Set<Lease>()
  readonly #presence: Presence
  readonly #journal: Pick<Journal, 'later'>

  constructor(journal: Pick<Journal, 'later'>, options: Pick<PresenceOptions, 'clock' | 'goneMs'> = {}) {
    this.#journal = journal
    this.#presence = new Presence({
      ...options,
      owns: key => this.#ownedBy(key).length > 0,
      gone: key => this.#giveUp(key),
    })
  }

  /** A connection begins. The answer is called once, when it has ended. */
  came: Presence['came'] = caller => this.#presence.came(caller)

  /** A kernel began to live, or was joined. It is listened to until it ends, and forgotten then. */
  lives({ name, root, kernel }: Pick<Life, 'name' | 'root' | 'kernel'>): Life {
    const known = this.#lives.get(kernel)
    if (known !== undefined) return known
    const life: Life = { name, root, kernel, suspended: new Map(), calls: new Map() }
    this.#lives.set(kernel, life)
    kernel.watchSuspensions(news => this.#hear(life, news))
    void kernel.ended.then(end => this.#over(life, end))
    return life
  }

  get all(): readonly Life[] {
    return [...this.#lives.values()]
  }

  watch(watcher: SuspensionWatcher): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  /** What a call on that kernel may do, until it has ended. */
  of({ name, kernel }: Pick<Life, 'name' | 'kernel'>, { call, caller, done }: LeasedCall): CallLeases {
    const life = this.lives({ name, root: caller.root, kernel })
    const leaseMs = leaseOf(caller)
    const owner = ownerFor(caller)
    if (leaseMs !== null) {
      // News of a suspension may come before the answer that tells its caller of it.
      life.calls.set(call, owner)
      void done.then(() => life.calls.delete(call))
    }
    const find = (id: string) => life.suspended.get(id)
    return {
      leaseMs,
      ownershipOf(id) {
        const found = find(id)
        return found && ownershipOf(found.owner, caller)
      },
      keeps(id) {
        const found = find(id)
        return found !== undefined && keepsIt(found.owner, caller)
      },
      own({ id }) {
        const found = find(id)
        if (found?.owner.type === 'unknown') found.owner = found.asker = owner
      },
      acts: id => this.#acts(find(id), owner),
    }
  }

  /**
   * What this caller is to be told now of what is its own, each sentence once. Often nothing. What a person has put
   * before the agents is all of theirs: each is told with an answer about `kernel`, where it waits.
   */
  noticesFor(caller: CallerIdentity, kernel: Kernel | undefined): readonly string[] {
    if (this.#notices.empty && this.#offered.size === 0) return NONE
    const keys = keysOf(caller)
    const [key = ''] = keys
    const isAgent = leaseOf(caller) !== null && caller.seat?.() === undefined
    const offers = [...this.#offered].flatMap(one => {
      const { offer, life } = one
      if (!isAgent || offer === undefined || life.root !== caller.root || offer.told.has(key)) return []
      if (life.kernel !== kernel) return []
      this.#knows(one, key)
      return [offeredText(subjectOf(one), offer.by)]
    })
    return [...this.#notices.take([...keys, keyOfName(caller.root, caller.who)]), ...offers]
  }

  /** What daemons kept that were lost has ended with them. Those of that name are told who ask in the same project. */
  lost(those: readonly OpenSuspension[]): void {
    for (const one of those)
      for (const name of new Set([one.who, ...(one.holder === null ? [] : [one.holder])]))
        if (one.root !== undefined)
          this.#notices.add(keyOfName(one.root, name), { about: one.suspension, text: lostText(one) })
  }

  /** A person owns it from now on. */
  take(taken: Lease, person: NamedOwner): void {
    const by = person.who
    for (const one of this.#given(taken, person)) {
      const { before, moved } = one
      this.#note(moved, { what: 'taken', by })
      this.#notify(moved, { whom: before, except: person, text: takenText(subjectOf(moved), by) })
      const from = nameOf(before)
      this.#tell(moved, person, news => ({ type: 'taken', ...news, by, from }))
    }
  }

  /** A person puts it before the agents of its project. */
  hand(handed: Lease, person: NamedOwner): void {
    const by = person.who
    for (const { before, moved } of this.#given(handed, { type: 'agents', root: handed.life.root })) {
      this.#note(moved, { what: 'handed', by })
      this.#notify(moved, { whom: before, except: person, text: handedText(subjectOf(moved), by) })
      this.#tell(moved, person, news => ({ type: 'handed', ...news, by, to: null }))
    }
    this.#offer(handed, by)
  }

  /** An error of a person's own, which that person puts before the agents of its project. */
  adopt(adopted: Lease, person: NamedOwner): void {
    const { life } = adopted
    adopted.owner = { type: 'agents', root: life.root }
    adopted.asker = person
    this.#note(adopted, { what: 'adopted', by: person.who })
    this.#tell(adopted, person, news => ({ type: 'adopted', ...news, by: person.who }))
    this.#offer(adopted, person.who)
  }

  row({ life, suspension, owner }: Lease, caller: CallerIdentity, now: SeenNow = UNSEEN): SuspendedRow {
    return { ...suspension, ...now, kernel: life.name, root: life.root, holder: ownershipOf(owner, caller) }
  }

  /** A call of that one begins to run code in it, or to resume it; the answer is called with what it came to. */
  #acts(one: Lease | undefined, actor: NamedOwner): (evaluated: Evaluated) => void {
    if (one === undefined) return () => {}
    one.actor = actor
    this.#knows(one, actor.key)
    // Of one that was resumed, whoever was told of its end is told what it came to.
    return evaluated => {
      const came = cameToText(evaluated)
      if (came !== undefined) one.tellEnd?.(came)
    }
  }

  #hear(life: Life, news: SuspensionNews): void {
    if (news.type === 'suspended') this.#add(life, news.suspension)
    else this.#end(life, news)
  }

  #over(life: Life, { message }: KernelEnd): void {
    const [how = ''] = message.split('\n')
    for (const id of life.suspended.keys())
      this.#end(life, { id, how: 'lost', message: `Its image is gone: ${how}` })
    this.#lives.delete(life.kernel)
  }

  #add(life: Life, suspension: Suspension): void {
    const { within, call, who } = suspension
    const outer = within === null ? undefined : life.suspended.get(within)?.owner
    const owner = outer ?? (call === null ? undefined : life.calls.get(call)) ?? { type: 'unknown', who }
    const one: Lease = { life, suspension, owner, asker: owner }
    life.suspended.set(suspension.id, one)
    const why = beginning(`${suspension.type.name}: ${suspension.message}`, MESSAGE_CHARS)
    this.#note(one, { what: 'suspended', by: null, why })
    this.#tell(one, undefined, ({ suspension }) => ({ type: 'suspended', suspension }))
    this.#presence.suspended(owner)
  }

  #end(life: Life, { id, how, message }: End): void {
    const one = life.suspended.get(id)
    if (one === undefined) return
    life.suspended.delete(id)
    this.#offered.delete(one)
    const { owner, asker } = one
    const actor = how === 'resumed' || how === 'left' ? (one.actor ?? owner) : undefined
    const by = actor === undefined ? null : nameOf(actor)
    this.#note(one, { what: how, by, why: message })
    // With what it stood on both have ended, and that is told.
    const whom = how === 'within' ? [] : keyOf(owner) === keyOf(asker) ? [owner] : [owner, asker]
    one.tellEnd = came => {
      const text = endedText(subjectOf(one), { how, message, by, came })
      for (const told of whom) this.#notify(one, { whom: told, except: actor, text })
    }
    one.tellEnd(undefined)
    this.#tell(one, actor, news => ({ type: 'ended', ...news, how, message, by }))
  }

  /** Gives it another owner, with all that stands on the same evaluation as it. The outermost comes first. */
  #given(given: Lease, owner: Owner): { readonly before: Owner; readonly moved: Lease }[] {
    const { suspended } = given.life
    const outermost = ({ suspension: { within, id } }: Lease): string => {
      const outer = within === null ? undefined : suspended.get(within)
      return outer === undefined ? id : outermost(outer)
    }
    const stack = outermost(given)
    return [...suspended.values()]
      .filter(one => outermost(one) === stack)
      .map(moved => {
        const before = moved.owner
        moved.owner = owner
        moved.offer = undefined
        this.#offered.delete(moved)
        return { before, moved }
      })
  }

  #offer(one: Lease, by: string): void {
    one.offer = { by, told: new Set() }
    this.#offered.add(one)
  }

  #ownedBy(key: string): Lease[] {
    const all = this.all.flatMap(({ suspended }) => [...suspended.values()])
    return all.filter(({ owner }) => keyOf(owner) === key)
  }

  /** Its owner has gone. What cannot be given up now, as code runs in it, ends with its lease. */
  #giveUp(key: string): void {
    for (const one of this.#ownedBy(key)) {
      const { life, suspension, owner } = one
      if (suspension.within !== null && life.suspended.has(suspension.within)) continue
      if ('key' in owner) one.actor = owner
      const work = { type: 'resume', suspension: suspension.id, way: { type: 'leave' } } as const
      const evaluation = { call: randomUUID() as CallId, who: suspension.who, work }
      life.kernel.evaluate(evaluation, {}).catch(() => {})
    }
  }

  /** Whoever has that key is told no more of what happened to it before, nor that it is put before them. */
  #knows({ suspension: { id }, offer }: Lease, key: string): void {
    this.#notices.withdraw(key, id)
    offer?.told.add(key)
  }

  #notify(
    { suspension }: Lease,
    {
      whom,
      except,
      text,
    }: { readonly whom: Owner; readonly except: Owner | undefined; readonly text: string },
  ): void {
    const key = keyOf(whom)
    if (key === undefined || (except !== undefined && keyOf(except) === key)) return
    // A person who watches has been told already.
    const watches = [...this.#watchers].some(({ caller }) => ownerFor(caller).key === key)
    if (whom.type !== 'person' || !watches) this.#notices.add(key, { about: suspension.id, text })
  }

  #note({ life, suspension, owner }: Lease, said: LeaseChange): void {
    const { id, call, who } = suspension
    const entry: JournalEntry = {
      type: 'suspension',
      suspension: id,
      kernel: life.name,
      epoch: life.kernel.identity.epoch,
      root: life.root,
      ...(call !== null && { call }),
      who,
      holder: nameOf(owner),
      ...said,
    }
    this.#journal.later(entry)
  }

  /** `by`: whose doing it is. */
  #tell(
    one: Lease,
    by: Owner | undefined,
    event: (news: { readonly suspension: SuspendedRow; readonly own: boolean }) => SuspensionEvent,
  ): void {
    for (const watcher of this.#watchers) {
      const { caller, everywhere } = watcher
      if (everywhere !== true && caller.root !== one.life.root) continue
      const own = by !== undefined && keyOf(by) === ownerFor(caller).key
      try {
        watcher.heard(event({ suspension: this.row(one, caller), own }))
      } catch {
        this.#watchers.delete(watcher)
      }
    }
  }
}

/** What happened to a suspended evaluation, and by whom, as the journal says it. */
interface LeaseChange {
  readonly what: 'suspended' | 'taken' | 'handed' | 'adopted' | EndedHow
  readonly by: string | null
  readonly why?: string
}

interface End {
  readonly id: string
  readonly how: EndedHow
  readonly message: string
}

const subjectOf = ({ life, suspension }: Lease) => ({ kernel: life.name, suspension })

/** Null for those who are shown no tool to go on with. */
const leaseOf = ({ profile }: CallerIdentity): number | null => (profile === 'core' ? null : LEASE_MS)

/** No owner has a key like these. */
const keyOfName = (root: string, name: string): string => `name ${name} in ${root}`

/** Characters of an error, in the journal. */
const MESSAGE_CHARS = 1_000

type SeenNow = Pick<SuspendedRow, 'expires_in_ms' | 'busy'>

const UNSEEN: SeenNow = { expires_in_ms: null, busy: null }

const NONE: readonly string[] = []

// What owners are told of their suspended evaluations with the next answer of any tool.

/** Callers for whom notices are kept at once, and notices for each: the oldest make room, and are counted. */
const MOST = { keys: 64, each: 16 } as const

/** What somebody is to be told, a sentence or two. */
interface Notice {
  /** The suspension, by its id: a later notice about the same one takes its place. */
  readonly about: string
  readonly text: string
}

/** Notices by the key of who is to be told. Each is told once. */
export class Notices {
  readonly #kept = new Map<string, { readonly notices: Map<string, string>; dropped: number }>()

  get empty(): boolean {
    return this.#kept.size === 0
  }

  add(key: string, { about, text }: Notice): void {
    const kept = this.#kept.get(key) ?? { notices: new Map<string, string>(), dropped: 0 }
    this.#kept.delete(key)
    this.#kept.set(key, kept)
    kept.notices.delete(about)
    kept.notices.set(about, text)
    const [first] = kept.notices.keys()
    if (kept.notices.size > MOST.each && first !== undefined) {
      kept.notices.delete(first)
      kept.dropped++
    }
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > MOST.keys && oldest !== undefined) this.#kept.delete(oldest)
  }

  /** What was to be told of that one is not so any more. */
  withdraw(key: string, about: string): void {
    const kept = this.#kept.get(key)
    kept?.notices.delete(about)
    if (kept?.notices.size === 0 && kept.dropped === 0) this.#kept.delete(key)
  }

  /** What is kept under any of these keys, which is kept no more. */
  take(keys: readonly string[]): readonly string[] {
    return keys.flatMap(key => {
      const kept = this.#kept.get(key)
      this.#kept.delete(key)
      if (kept === undefined) return []
      const more = kept.dropped === 0 ? [] : [`(${kept.dropped} earlier notices were dropped.)`]
      return [...more, ...kept.notices.values()]
    })
  }
}

/** A suspended evaluation, and the name of its kernel. */
interface Subject {
  readonly kernel: string
  readonly suspension: Suspension
}

/** Characters of an error, or of a value, in a notice. */
const NOTICE_CHARS = 200

/** It has ended, and not by whoever is told. `came`: what it came to, a sentence, where it was resumed. */
function endedText(
  subject: Subject,
  end: {
    readonly how: EndedHow
    readonly message: string
    readonly by: string | null
    readonly came: string | undefined
  },
): string {
  const { how, message, by, came = '' } = end
  const said = [
    `${suspensionName(subject)} is suspended no more.`,
    ENDED[how](line(by ?? 'Somebody')),
    line(message),
  ]
  return [...said, came].filter(sentence => sentence !== '').join(' ')
}

const ENDED: Readonly<Record<EndedHow, (by: string) => string>> = {
  resumed: by => `${by} has resumed it.`,
  left: by => `${by} has left it.`,
  expired: () => 'Nobody came in time, and it was aborted.',
  within: () => 'What it stood on has ended.',
  lost: () => 'It was lost.',
}

/** What an evaluation came to that was resumed; undefined where how it ended says that. */
function cameToText(evaluated: Evaluated): string | undefined {
  switch (evaluated.type) {
    case 'done': {
      const values = evaluated.values.map(({ repr }) => repr.text).join(', ')
      return values === '' ? 'It came to its end, without a value.' : `It came to ${line(values)}`
    }
    case 'raised':
      return `It ended with an error: ${errorLine(evaluated.exception)}`
    case 'suspended':
      return `It is suspended again, as ${evaluated.suspension.id}: ${errorLine(evaluated.suspension)}`
    case 'interrupted':
      return 'It was interrupted.'
    case 'left':
    case 'refused':
    case 'withdrawn':
      return undefined
    default:
      return evaluated satisfies never
  }
}

/** It was suspended under a daemon that was lost. */
const lostText = ({ suspension, kernel, why }: OpenSuspension): string =>
  `${suspension} in ${kernel}${why === undefined ? '' : ` (${line(why)})`} is suspended no more. ` +
  'The daemon that kept it has ended, and it with that one. Nothing of it goes on.'

/** `by`, a person, owns it now. */
const takenText = (subject: Subject, by: string): string =>
  `${suspensionName(subject)} was taken over by ${line(by)}. You can look at it, and not act on it.`

/** `by`, a person, has put before the agents of its project what was theirs who are told. */
const handedText = (subject: Subject, by: string): string =>
  `${suspensionName(subject)} was put before the agents of its project by ${line(by)}.`

/** The same, as the agents are told. */
function offeredText(subject: Subject, by: string): string {
  const args = JSON.stringify({ suspension: subject.suspension.id, kernel: subject.kernel })
  return `${line(by)} has put ${suspensionName(subject)} before the agents of this project: debug_state ${args} shows it.`
}

/** `s3@ab12 in shop (ZeroDivisionError: division by zero)` */
const suspensionName = ({ kernel, suspension }: Subject): string =>
  `${suspension.id} in ${kernel} (${errorLine(suspension)})`

const errorLine = ({ type, message }: Pick<Suspension, 'type' | 'message'>): string =>
  line(`${type.name}: ${message}`)

const line = (text: string): string => escapePlanLine(beginning(oneLine(text), NOTICE_CHARS))
