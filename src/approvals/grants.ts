import { posix } from 'node:path'
import type { FileChange } from '../../tools/contract.ts'
import type { BothClocks, Clock, Moment } from '../clock.ts'
import { folded, isWithin } from '../files/roots.ts'
import type { Journal } from '../journal/journal.ts'
import { escapePlanLine } from '../text/escape.ts'
import { type Grant, isOfUnknownHost } from './contract.ts'
import type { Answer, Plan } from './plan.ts'
import type { PlanView } from './preview.ts'

/** Whoever gives a grant. */
interface Giver {
  /** Of the seat: `seat-1`. */
  readonly id: string
  /** For people. */
  readonly who: string
}

interface GrantsOptions {
  readonly times: BothClocks
  readonly clock: Clock
  readonly journal: Pick<Journal, 'later'>
  /** Tells all who sit. */
  notice(text: string): void
  /** How long a plan may be carried out after it was let through, in milliseconds. */
  readonly expiryMs: number
  /** Whether as many bytes more can be kept for undoing, and nothing that was changed in the last day goes for them. */
  roomToUndo(bytes: number): boolean
}

type LetThrough =
  | Extract<Answer, { type: 'approved' }>
  /** A person is asked all the same; `why` is a sentence for them. */
  | { readonly type: 'no room'; readonly why: string }

/** How long a grant holds at most, by either clock, in milliseconds. */
const LASTS_MS = 8 * 60 * 60_000

/** How often it is looked whether one is too old, in milliseconds: a machine that slept is older than its timers. */
const LOOK_MS = 60_000

/** Grants at once; one more ends the oldest. */
const MOST = 64

/** In these, what is let through is to the letter as what it was given with. */
const ALIKE = ['tool', 'toolHash', 'level', 'kernel', 'root', 'origin'] as const

interface GrantEntry extends Omit<Grant, 'ends_ms'> {
  /** What it was given with: another plan is let through if it is of the same kind. */
  readonly like: Pick<Plan, (typeof ALIKE)[number]>
  /** The connection for which alone it holds; null where it is known what program asks, or each call is a connection. */
  readonly connection: string | null
  readonly giver: Giver
  readonly covers: Pattern['covers']
  readonly since: Moment
  used: number
}

/**
 * What people on seats let through without being asked: calls of one tool, of whoever asked then, in one project, that
 * change nothing but files of one pattern. Whoever asked is the program behind an MCP server, however often it connects,
 * or that connection where the program is not known; and for the client protocol, whose commands connect anew for each
 * call, all that connects in the project. In the memory of one daemon, and nowhere else: nothing that can be written,
 * and no argument, makes one. Each is given, used and ended before the eyes of whoever sits.
 */
export class Grants {
  readonly #options: GrantsOptions
  readonly #room: UndoRoom
  readonly #given = new Map<string, GrantEntry>()
  readonly #usedBy = new WeakMap<Plan, string>()
  #count = 0
  #stopLooking: (() => void) | undefined

  constructor(options: GrantsOptions) {
    this.#options = options
    this.#room = openUndoRoom(options)
  }

  get size(): number {
    return this.#given.size + this.#room.size
  }

  /** `pattern`: one that was offered for the plan. */
  give(giver: Giver, plan: Plan, pattern: Pattern): void {
    this.#endOld()
    const [oldest] = this.#given.values()
    if (this.#given.size >= MOST && oldest !== undefined)
      this.#end(oldest, `because there are ${MOST} others`)
    const { tool, kernel, root, who } = plan
    const grant: GrantEntry = {
      id: `grant-${++this.#count}`,
      tool,
      kernel,
      pattern: pattern.text,
      root,
      who: escapePlanLine(who),
      seat: giver.id,
      used: 0,
      like: likeOf(plan),
      connection: isOfUnknownHost(plan) ? plan.caller : null,
      giver,
      covers: pattern.covers,
      since: this.#options.times.now(),
    }
    this.#given.set(grant.id, grant)
    this.#lookLater()
    this.#journal('granted', grant, { who: giver.who, why: inWords(grant) })
    this.#options.notice(
      `${inWords(grant)}: let through without asking from now on, says ${giver.who}. To end that: imago revoke ${grant.id}`,
    )
  }

  /**
   * What a grant comes to for this plan; undefined where there is none; by the oldest, where there are several. Only for
   * a plan with which something could be granted: see `patternsOf`.
   */
  letThrough(plan: Plan, { title }: Pick<PlanView, 'title'>): LetThrough | undefined {
    this.#endOld()
    const grant = [...this.#given.values()].find(one => lets(one, plan))
    if (grant === undefined) return undefined
    if (!this.#room.take(plan)) return { type: 'no room', why: noRoom(grant) }
    grant.used++
    this.#usedBy.set(plan, grant.id)
    this.#options.notice(
      `${inWords(grant)}: let through without asking: ${title}. To take it back: imago undo ${plan.id}. To be asked again: imago revoke ${grant.id}`,
    )
    return { type: 'approved', by: `${grant.id} of ${grant.seat}`, granted: true }
  }

  /** Whether a plan was let through by a grant that has ended since. */
  hasEndedFor(plan: Plan): boolean {
    this.#endOld()
    const id = this.#usedBy.get(plan)
    return id !== undefined && !this.#given.has(id)
  }

  list(): readonly Grant[] {
    this.#endOld()
    return [...this.#given.values()].map(({ since, id, tool, kernel, pattern, root, who, seat, used }) => ({
      id,
      tool,
      kernel,
      pattern,
      root,
      who,
      seat,
      used,
      ends_ms: Math.round(this.#options.times.leftMs(since, LASTS_MS)),
    }))
  }

  /** Ends one, whoever it is that `by` names; false where there is none of that name. */
  revoke(id: string, by: string): boolean {
    this.#endOld()
    const grant = this.#given.get(id)
    if (grant === undefined) return false
    this.#forget(id)
    this.#journal('revoked', grant, { who: by, why: inWords(grant) })
    this.#options.notice(`${inWords(grant)}: revoked by ${by}. It is asked about again.`)
    return true
  }

  /** Ends what was given on that seat. */
  left(seat: string): void {
    for (const grant of [...this.#given.values()])
      if (grant.seat === seat) this.#end(grant, 'because its seat was left')
  }

  /** Ends all of them, and nobody is told. */
  close(): void {
    for (const id of [...this.#given.keys()]) this.#forget(id)
  }

  #end(grant: GrantEntry, why: string): void {
    this.#forget(grant.id)
    this.#journal('ended', grant, { who: grant.giver.who, why: `${inWords(grant)}, ${why}` })
    this.#options.notice(`${inWords(grant)}: over, ${why}. It is asked about again.`)
  }

  #forget(id: string): void {
    this.#given.delete(id)
    if (this.#given.size > 0) return
    this.#stopLooking?.()
    this.#stopLooking = undefined
  }

  #endOld(): void {
    for (const grant of [...this.#given.values()])
      if (this.#options.times.passed(grant.since, LASTS_MS))
        this.#end(grant, 'because it was given 8 hours ago')
  }

  #lookLater(): void {
    if (this.#stopLooking !== undefined || this.#given.size === 0) return
    this.#stopLooking = this.#options.clock.after(LOOK_MS, () => {
      this.#stopLooking = undefined
      this.#endOld()
      this.#lookLater()
    })
  }

  #journal(
    what: 'granted' | 'ended' | 'revoked',
    { seat }: GrantEntry,
    said: { readonly who: string; readonly why: string },
  ): void {
    this.#options.journal.later({ type: 'seat', what, seat, ...said })
  }
}

const likeOf = ({ tool, toolHash, level, kernel, root, origin }: Plan): GrantEntry['like'] => ({
  tool,
  toolHash,
  level,
  kernel,
  root,
  origin,
})

/** All of it has to be what was granted. */
function lets({ like, connection, covers }: GrantEntry, plan: Plan): boolean {
  if (connection !== null && connection !== plan.caller) return false
  return ALIKE.every(name => like[name] === plan[name]) && plan.changes.every(({ path }) => covers(path))
}

const noRoom = ({ id }: GrantEntry) =>
  `${id} would let it through, and you are asked all the same: to keep what it replaces, something that was changed in the last day could not be undone any more.`

/** `grant-1, write_file on src/*.py for claude` */
const inWords = ({ id, tool, pattern, who }: GrantEntry): string => `${id}, ${tool} on ${pattern} for ${who}`

/** Files that a person may let through together. */
export interface Pattern {
  /** From the project's root, as it is offered: `src/shop.py`, `src/*.py`, `src/**`. */
  readonly text: string
  /** Whether a real path is one of them, by whole names: what differs by case or spelling is another one. */
  covers(path: string): boolean
}

/** What is larger is looked at, in bytes: of the preview, and of each side of all changes together. */
const MOST_BYTES = 256 * 1024

/** Files that are named one by one in a pattern. */
const MOST_NAMED = 4

/**
 * What may be let through from now on together with this plan, narrowest first: the files themselves, those of their
 * folder with the same ending, all below their folder. Empty for a plan that a person has to look at each time: one
 * that is not all of it a change of files, which can be undone; with a kernel, with a warning, or too large; or about
 * a file whose path has a name that begins with a dot, or a policy in it.
 */
export function patternsOf(plan: Plan, shown: Pick<PlanView, 'warnings' | 'bytes'>): readonly Pattern[] {
  const top = topOf(plan.changes)
  if (top === undefined || !isHarmless(plan, shown)) return []
  const paths = plan.changes.map(({ path }) => path)
  return [...theFiles(plan.changes), ...theKind(paths, top), ...theFolder(paths, top)]
}

function isHarmless({ kernel, epoch, changes }: Plan, shown: Pick<PlanView, 'warnings' | 'bytes'>): boolean {
  const sizes = [
    shown.bytes,
    sum(changes.map(({ before }) => before?.byteLength ?? 0)),
    sum(changes.map(({ after }) => after?.byteLength ?? 0)),
  ]
  return (
    kernel === null &&
    epoch === null &&
    shown.warnings.length === 0 &&
    sizes.every(bytes => bytes <= MOST_BYTES) &&
    changes.every(({ path }) => isPlain(path))
  )
}

const sum = (numbers: readonly number[]) => numbers.reduce((one, other) => one + other, 0)

/**
 * Whether each name on the way is one to be let through: none is hidden or could be taken for a pattern, and none is
 * that of a policy. All of the path is looked at, because whoever calls chooses the root.
 */
function isPlain(path: string): boolean {
  if (path !== posix.normalize(path) || escapePlanLine(path) !== path || /[*,]/.test(path)) return false
  const names = path.split('/').slice(1).map(folded)
  return names.every(name => name !== '' && !name.startsWith('.') && name !== 'imago.toml')
}

/** The real root of the project that all of the files lie in; undefined where they do not. */
function topOf(changes: readonly FileChange[]): string | undefined {
  const tops = new Set(
    changes.map(({ path, shown }) =>
      path.endsWith(`/${shown}`) ? path.slice(0, -shown.length - 1) : undefined,
    ),
  )
  const [top] = tops
  return tops.size === 1 && top !== '' ? top : undefined
}

function theFiles(changes: readonly FileChange[]): readonly Pattern[] {
  const paths = new Set(changes.map(({ path }) => path))
  if (paths.size > MOST_NAMED) return []
  const text = [...new Set(changes.map(({ shown }) => shown))].join(', ')
  return [{ text, covers: path => paths.has(path) }]
}

function theKind(paths: readonly string[], top: string): readonly Pattern[] {
  const [first = '', ...others] = paths
  const [folder, ending] = [posix.dirname(first), posix.extname(first)]
  const covers = (path: string) => posix.dirname(path) === folder && posix.extname(path) === ending
  if (ending.length < 2 || !others.every(covers)) return []
  return [{ text: posix.join(posix.relative(top, folder), `*${ending}`), covers }]
}

/** Not the whole project: that is for a rule of the policy. */
function theFolder(paths: readonly string[], top: string): readonly Pattern[] {
  const folder = paths.map(path => posix.dirname(path)).reduce(shared)
  if (folder === top || !isWithin(folder, top)) return []
  return [
    {
      text: `${posix.relative(top, folder)}/**`,
      covers: path => path !== folder && isWithin(path, folder),
    },
  ]
}

function shared(one: string, other: string): string {
  return isWithin(other, one) ? one : shared(posix.dirname(one), other)
}

/**
 * Whether what is let through without asking can be undone, and so can all that was changed in the last day: what is
 * kept for undoing is bounded, and the oldest of it goes first.
 */
interface UndoRoom {
  /** Takes the room that the plan needs, if there is as much. */
  take(plan: Plan): boolean
  /** Entries that are kept: however much takes room, there is a bound. */
  readonly size: number
}

/** What the record of a change takes besides the bytes, at most, for each of its files: a path may be as long. */
const RECORD_BYTES = 8_192

/** What takes room within this time of each other is counted together, in milliseconds. */
const TOGETHER_MS = 60_000

interface Reservation {
  readonly since: Moment
  bytes: number
}

function openUndoRoom({
  times,
  expiryMs,
  roomToUndo,
}: Pick<GrantsOptions, 'times' | 'expiryMs' | 'roomToUndo'>): UndoRoom {
  /** Not all of it is on the disk yet. Some is, and counts twice: asking too early costs less than asking too late. */
  let taken: Reservation[] = []

  return {
    take(plan) {
      taken = taken.filter(({ since }) => !times.passed(since, expiryMs + TOGETHER_MS))
      const needed = bytesOf(plan)
      if (!roomToUndo(taken.reduce((sum, { bytes }) => sum + bytes, needed))) return false
      const last = taken.at(-1)
      if (last !== undefined && !times.passed(last.since, TOGETHER_MS)) last.bytes += needed
      else taken.push({ since: times.now(), bytes: needed })
      return true
    },
    get size() {
      return taken.length
    },
  }
}

const bytesOf = ({ changes }: Plan) =>
  changes.reduce((sum, { before }) => sum + (before?.byteLength ?? 0) + RECORD_BYTES, 0)
