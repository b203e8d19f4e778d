import { randomUUID } from 'node:crypto'
import type { Leases as CallLeases } from '../../tools/contract.ts'
import { beginning, duration, oneLine } from '../../tools/text.ts'
import type { CallId, Evaluated, Kernel, KernelEnd, Suspension, SuspensionNews } from '../../wire/kernel.ts'
import { type Clock, SYSTEM_CLOCK } from '../clock.ts'
import type { JournalEntry, OpenSuspension } from '../journal/entries.ts'
import type { Journal } from '../journal/journal.ts'
import { escapePlanLine } from '../text/escape.ts'
import {
  type CallerIdentity,
  GONE_MS,
  keepsIt,
  keyOf,
  type NamedOwner,
  nameOf,
  type Owner,
  ownerFor,
  ownershipOf,
  Presence,
} from './owners.ts'
import type { EndedHow, LeaseNews, SuspendedRow, SuspensionTopicRow } from './rows.ts'

/** How long a suspended evaluation waits after the last call of its owner, and of a person, in milliseconds. */
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
  /** The suspension that this one is within. It began earlier, so that an image cannot name two within each other. */
  readonly outer: Lease | undefined
  owner: Owner
  /** Its first owner. */
  asker: Owner
  /** Who resumed it last, or ran code in it. */
  actor?: NamedOwner
  /** How long it waits after each call of its owner, in milliseconds, and until when, by the daemon's clock. */
  leaseMs: number
  until: number
  /** Takes the timer back that gives it up. */
  stop(): void
  /** Calls that run code in it, or in a suspension within it. Its lease does not run out meanwhile. */
  calls: number
  /** Nobody came in time, and its image was told to give it up. */
  isExpired: boolean
  /** What happened last, and whose doing it was. */
  news: LeaseNews
  doer?: Owner | undefined
}

/** A call on a kernel that may suspend, or have to do with what is suspended. */
interface LeasedCall {
  readonly call: CallId
  readonly caller: CallerIdentity
  /** Settles when it has ended. */
  readonly done: Promise<unknown>
}

/**
 * The suspended evaluations of all kernels of a daemon: who owns each (`owners.ts` has the rule), until when it waits for
 * its owner, how it ended, and what the journal says. The images say what is suspended, and what has ended.
 */
export class Leases {
  readonly #lives = new Map<Kernel, Life>()
  /** Those that ended last, oldest first. */
  readonly #ended: Lease[] = []
  /** How those have ended that wait no more, by `keyOfEnd`. */
  readonly #ends = new Map<string, End>()
  readonly #presence: Presence
  readonly #journal: Pick<Journal, 'later'>
  readonly #clock: Clock
  readonly #goneMs: number
  readonly #changed: () => void

  /** `goneMs`: how long what an owner has waits for it once it is gone. `changed`: something happened to one. */
  constructor(
    journal: Pick<Journal, 'later'>,
    {
      clock = SYSTEM_CLOCK,
      goneMs = GONE_MS,
      changed = () => {},
    }: {
      readonly clock?: Clock | undefined
      readonly goneMs?: number | undefined
      readonly changed?: () => void
    } = {},
  ) {
    this.#journal = journal
    this.#clock = clock
    this.#goneMs = goneMs
    this.#changed = changed
    this.#presence = new Presence(key => {
      for (const one of this.#ownedBy(key)) this.#wait(one)
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

  /** All that wait, and those that ended last. */
  get told(): readonly Lease[] {
    return [...this.all.flatMap(({ suspended }) => [...suspended.values()]), ...this.#ended]
  }

  /** What a call on that kernel may do, until it has ended. */
  of({ name, kernel }: Pick<Life, 'name' | 'kernel'>, { call, caller, done }: LeasedCall): CallLeases {
    const life = this.lives({ name, root: caller.root, kernel })
    const maySuspend = caller.profile !== 'core'
    const owner = ownerFor(caller)
    if (maySuspend) {
      // News of a suspension may come before the answer that tells its caller of it.
      life.calls.set(call, owner)
      void done.then(() => life.calls.delete(call))
    }
    const find = (id: string) => life.suspended.get(id)
    const expiresInMs = (id: string) => this.#leftMs(find(id))
    return {
      maySuspend,
      expiresInMs,
      ownershipOf(id) {
        const found = find(id)
        return found && ownershipOf(found.owner, caller)
      },
      looked: id => {
        const found = find(id)
        if (found !== undefined && keepsIt(found.owner, caller)) this.#touch(found)
      },
      endOf: id => this.endFor(caller, { life, id }),
      own(suspension) {
        const { id } = suspension
        const found = find(id)
        if (found?.owner.type === 'unknown') found.owner = found.asker = owner
        return { ...suspension, expires_in_ms: expiresInMs(id) }
      },
      acts: id => this.#acts(find(id), owner, done),
    }
  }

  /**
   * How that one ended, and who did it, in sentences; without an id, the newest of this caller's own, and without a life,
   * in any kernel of its project. Undefined where none is known.
   */
  endFor(
    caller: CallerIdentity,
    { life, id }: { readonly life?: Life; readonly id?: string | undefined } = {},
  ): string | undefined {
    const { root = caller.root } = life ?? {}
    const isMeant = (end: End) =>
      id === undefined
        ? end.names.includes(caller.who) ||
          end.owners.some(owner => ownershipOf(owner, caller).type === 'you')
        : end.id === id || end.id.startsWith(`${id}@`)
    return [...this.#ends.values()]
      .findLast(end => end.root === root && (life === undefined || end.kernel === life.name) && isMeant(end))
      ?.said.join(' ')
  }

  /** What daemons kept that were lost has ended with them. */
  lost(those: readonly OpenSuspension[]): void {
    for (const { suspension: id, kernel, root, who, holder, why } of those)
      if (root !== undefined)
        this.#remember({
          id,
          kernel,
          root,
          owners: [],
          names: [who, holder],
          said: [lostText({ id, kernel, why })],
        })
  }

  /** A person owns it from now on. */
  take(taken: Lease, person: NamedOwner, leaseMs: number): void {
    for (const moved of this.#given(taken, person, leaseMs))
      this.#happened(moved, { type: 'taken', by: person.who }, person)
  }

  /** A person has the agents of its project own it. */
  hand(handed: Lease, person: NamedOwner, leaseMs: number): void {
    for (const moved of this.#given(handed, { type: 'agents', root: handed.life.root }, leaseMs))
      this.#happened(moved, { type: 'handed', by: person.who }, person)
  }

  /** An error of a person's own, which the agents of its project own from now on. */
  adopt(adopted: Lease, person: NamedOwner, leaseMs: number): void {
    const { life } = adopted
    adopted.owner = { type: 'agents', root: life.root }
    adopted.asker = person
    adopted.leaseMs = leaseMs
    this.#wait(adopted)
    this.#happened(adopted, { type: 'adopted', by: person.who }, person)
  }

  row(one: Lease, caller: CallerIdentity): SuspendedRow {
    const { life, suspension, owner, calls } = one
    return {
      ...suspension,
      busy: calls > 0 && one.news.type !== 'ended',
      expires_in_ms: wholeSeconds(this.#leftMs(one)),
      kernel: life.name,
      root: life.root,
      holder: ownershipOf(owner, caller),
    }
  }

  /** The same with what happened last. */
  topicRow(one: Lease, caller: CallerIdentity): SuspensionTopicRow {
    const { news, doer } = one
    const own = doer !== undefined && keyOf(doer) === ownerFor(caller).key
    return { ...this.row(one, caller), news, own }
  }

  /** A call of that one begins to run code in it, or to resume it; the answer is called with what that came to. */
  #acts(one: Lease | undefined, actor: NamedOwner, done: Promise<unknown>): (evaluated: Evaluated) => void {
    if (one === undefined) return () => {}
    const { life } = one
    const { id } = one.suspension
    one.actor = actor
    const those = outwards(one)
    for (const each of those) each.calls++
    this.#touch(one)
    void done.then(() => {
      for (const each of those) each.calls--
      this.#touch(one)
    })
    return evaluated => {
      this.#endWhereUnknown(one, evaluated)
      const came = cameToText(evaluated)
      if (came !== undefined)
        this.#ends.get(keyOfEnd({ kernel: life.name, root: life.root, id }))?.said.push(came)
    }
  }

  /** Its owner, or a person, has had to do with it: it waits for longer, and so does what it stands on. */
  #touch(one: Lease): void {
    const now = this.#clock.now()
    for (const each of outwards(one)) each.until = now + this.#leaseOf(each)
  }

  /** It waits for as long as its lease from now on. */
  #wait(one: Lease): void {
    const ms = this.#leaseOf(one)
    one.until = this.#clock.now() + ms
    one.stop()
    one.stop = this.#clock.after(ms, () => this.#due(one))
  }

  #leaseOf({ owner, leaseMs }: Lease): number {
    return this.#presence.isGone(owner) ? Math.min(this.#goneMs, leaseMs) : leaseMs
  }

  #leftMs(one: Lease | undefined): number {
    return one === undefined ? 0 : Math.max(0, Math.round(one.until - this.#clock.now()))
  }

  #due(one: Lease): void {
    const left = this.#leftMs(one)
    if (one.calls > 0) this.#wait(one)
    else if (left > 0) one.stop = this.#clock.after(left, () => this.#due(one))
    else void this.#giveUp(one)
  }

  /** Has its image give it up. Where the image does not, it is told again after another lease. */
  async #giveUp(one: Lease): Promise<void> {
    const { life, suspension, owner } = one
    const [outer] = outwards(one).slice(1)
    // With what it stands on it ends as well.
    if (outer !== undefined && outer.calls === 0 && this.#leftMs(outer) === 0) return
    if (this.#presence.isGone(owner) && 'key' in owner) one.actor = owner
    else one.isExpired = true
    const work = { type: 'resume', suspension: suspension.id, way: { type: 'leave' } } as const
    const evaluation = { call: randomUUID() as CallId, who: suspension.who, work }
    const came = await life.kernel.evaluate(evaluation, {}).catch(() => undefined)
    if (came !== undefined) this.#endWhereUnknown(one, came)
    if (life.suspended.get(suspension.id) !== one) return
    // The news of its end may come after the answer.
    if (came?.type !== 'left') one.isExpired = false
    this.#wait(one)
  }

  /** Its image does not know it: the news of its end was lost. */
  #endWhereUnknown({ life, suspension: { id } }: Lease, came: Evaluated): void {
    if (came.type === 'refused' && came.reason === 'not_found' && came.what === id)
      this.#end(life, { id, how: 'lost', message: 'Its image had ended it.' })
  }

  #remember(end: End): void {
    this.#ends.set(keyOfEnd(end), end)
    const [oldest = ''] = this.#ends.keys()
    if (this.#ends.size > MOST_ENDS) this.#ends.delete(oldest)
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
    const outer = within === null ? undefined : life.suspended.get(within)
    const owner = outer?.owner ??
      (call === null ? undefined : life.calls.get(call)) ?? { type: 'unknown', who }
    const lease = { leaseMs: LEASE_MS, until: 0, stop() {}, calls: 0, isExpired: false }
    const news = { type: 'suspended' } as const
    const one: Lease = { life, suspension, outer, owner, asker: owner, news, ...lease }
    life.suspended.set(suspension.id, one)
    this.#wait(one)
    this.#happened(one, news)
  }

  #end(life: Life, { id, how: said, message: why }: Told): void {
    const one = life.suspended.get(id)
    if (one === undefined) return
    life.suspended.delete(id)
    one.stop()
    const { owner, asker, isExpired, leaseMs } = one
    const how = isExpired && said === 'left' ? 'expired' : said
    const message = how === 'expired' ? `Nobody came to it for ${duration(leaseMs)}. ${why}` : why
    const actor = how === 'resumed' || how === 'left' ? (one.actor ?? owner) : undefined
    const by = actor === undefined ? null : nameOf(actor)
    const text = endedText(subjectOf(one), { how, message, by })
    const { name: kernel, root } = life
    this.#remember({ id, kernel, root, owners: [owner, asker], names: [], said: [text] })
    this.#ended.push(one)
    if (this.#ended.length > MOST_TOLD) this.#ended.shift()
    this.#happened(one, { type: 'ended', how, message, by }, actor)
  }

  /** Gives it another owner, with all that stands on the same evaluation as it. The outermost comes first. */
  #given(given: Lease, owner: Owner, leaseMs: number): readonly Lease[] {
    const outermost = (one: Lease) => outwards(one).at(-1)
    const stack = outermost(given)
    return [...given.life.suspended.values()]
      .filter(one => outermost(one) === stack)
      .map(moved => {
        moved.owner = owner
        moved.leaseMs = leaseMs
        this.#wait(moved)
        return moved
      })
  }

  #ownedBy(key: string): Lease[] {
    const all = this.all.flatMap(({ suspended }) => [...suspended.values()])
    return all.filter(({ owner }) => keyOf(owner) === key)
  }

  /** Notes an event of a suspension in the journal, and tells it to those who follow. */
  #happened(one: Lease, news: LeaseNews, doer?: Owner): void {
    const { life, suspension, owner } = one
    const { id, call, who, type, message } = suspension
    one.news = news
    one.doer = doer
    const entry: JournalEntry = {
      type: 'suspension',
      suspension: id,
      kernel: life.name,
      epoch: life.kernel.identity.epoch,
      root: life.root,
      ...(call !== null && { call }),
      who,
      holder: nameOf(owner),
      what: news.type === 'ended' ? news.how : news.type,
      by: 'by' in news ? news.by : null,
      ...(news.type === 'ended' && { why: news.message }),
      ...(news.type === 'suspended' && { why: beginning(`${type.name}: ${message}`, MESSAGE_CHARS) }),
    }
    this.#journal.later(entry)
    this.#changed()
  }
}

/** What an image says of an end. */
interface Told {
  readonly id: string
  readonly how: Extract<SuspensionNews, { type: 'ended' }>['how']
  readonly message: string
}

/** One that has ended. */
interface End extends Pick<Life, 'root'> {
  readonly id: string
  readonly kernel: string
  /** Whose it was, also by the names that the journal of a daemon before this one has. */
  readonly owners: readonly Owner[]
  readonly names: readonly (string | null)[]
  /** How it has ended, and then what it came to, for a model. */
  readonly said: string[]
}

const keyOfEnd = ({ root, kernel, id }: Pick<End, 'root' | 'kernel' | 'id'>): string =>
  JSON.stringify([root, kernel, id])

/** Ends that are remembered. */
const MOST_ENDS = 256

/** Ended suspensions of which the topic has a row. */
const MOST_TOLD = 64

const subjectOf = ({ life, suspension }: Lease) => ({ kernel: life.name, suspension })

/** It, and what it stands on, innermost first. */
function outwards(one: Lease): readonly Lease[] {
  const those: Lease[] = []
  let next: Lease | undefined = one
  while (next !== undefined && next.life.suspended.get(next.suspension.id) === next) {
    those.push(next)
    next = next.outer
  }
  return those
}

/** Characters of an error, in the journal. */
const MESSAGE_CHARS = 1_000

/** A suspended evaluation, and the name of its kernel. */
interface Subject {
  readonly kernel: string
  readonly suspension: Suspension
}

/** Characters of an error, or of a value, in what is told of an end. */
const TOLD_CHARS = 200

function endedText(
  subject: Subject,
  { how, message, by }: { readonly how: EndedHow; readonly message: string; readonly by: string | null },
): string {
  const said = [
    `${suspensionName(subject)} is suspended no more.`,
    ENDED[how](line(by ?? 'Somebody')),
    line(message),
  ]
  return said.filter(sentence => sentence !== '').join(' ')
}

const ENDED: Readonly<Record<EndedHow, (by: string) => string>> = {
  resumed: by => `${by} has resumed it.`,
  left: by => `${by} has left it.`,
  expired: () => '',
  within: () => 'What it stood on has ended.',
  lost: () => 'It was lost.',
}

/** What an evaluation came to that was resumed; undefined where how it ended says that. */
function cameToText(evaluated: Evaluated): string | undefined {
  switch (evaluated.type) {
    case 'done': {
      const values = evaluated.values.map(({ repr }) => repr.text).join(', ')
      return values === '' ? 'It came to its end, without a value.' : `It came to ${line(values)}.`
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
const lostText = ({
  id,
  kernel,
  why,
}: Pick<OpenSuspension, 'kernel' | 'why'> & { readonly id: string }): string =>
  `${id} in ${kernel}${why === undefined ? '' : ` (${line(why)})`} is suspended no more. ` +
  'The daemon that kept it has ended, and it with that one. Nothing of it goes on.'

/** `s3@ab12 in shop (ZeroDivisionError: division by zero)` */
const suspensionName = ({ kernel, suspension }: Subject): string =>
  `${suspension.id} in ${kernel} (${errorLine(suspension)})`

const errorLine = ({ type, message }: Pick<Suspension, 'type' | 'message'>): string =>
  line(`${type.name}: ${message}`)

const line = (text: string): string => escapePlanLine(beginning(oneLine(text), TOLD_CHARS))

/** Up, so that a lease that has just begun is shown as long as it is. */
const wholeSeconds = (ms: number): number => Math.ceil(ms / 1_000) * 1_000
