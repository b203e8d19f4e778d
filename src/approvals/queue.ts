import { randomInt } from 'node:crypto'
import { duration } from '../../tools/text.ts'
import { BothClocks, type Clock, type Moment } from '../clock.ts'
import type { Journal } from '../journal/journal.ts'
import { escapePlanLine } from '../text/escape.ts'
import type {
  AnswerOutcome,
  AskOptions,
  CallEnd,
  CodedAnswer,
  Grant,
  Limit,
  Pause,
  PlanEnd,
  PlanOutcome,
  PlanPreview,
  Seat,
  SeatAnswer,
  ShownPlan,
  WaitingPlan,
} from './contract.ts'
import { Grants, type Pattern, patternsOf } from './grants.ts'
import { type Answer, areAllAccepted, areAllRefused, causesOf, type Plan } from './plan.ts'
import {
  answerOf,
  approvedInWords,
  askClient,
  type ClientVerdict,
  counts,
  didOf,
  misfitOf,
  nameOf,
  openPlanCodes,
  type PlanCode,
} from './plan-answers.ts'
import { planFiles } from './plan-files.ts'
import { noteOf, openRepeated, type PlanView, ruleAgainst, shownPlan } from './preview.ts'

export interface ApprovalsOptions {
  readonly clock: Clock
  /** Milliseconds since 1970, as the machine believes. */
  wallClock(): number
  /** How long a plan may wait, and an approval be used, in milliseconds. */
  readonly expiryMs: number
  /**
   * Whether as many bytes more can be kept for undoing, and nothing that was changed in the last day goes for them: past
   * that a person is asked, whatever was granted. Left out: there always is as much room.
   */
  roomToUndo?(bytes: number): boolean
  /** Where seats are written down. */
  readonly journal: Pick<Journal, 'later'>
  /** A whole number from 0 and below the limit, that nobody can guess. Left out: that of `node:crypto`. */
  randomness?(limit: number): number
  /** Those who sit may have room for one more plan. */
  room?(): void
  /** What waits, what ended, what those who sit should know: something of it has changed. */
  changed?(): void
}

export type OpenApprovals = Pick<ApprovalQueue, keyof ApprovalQueue>

export type Approvals = Omit<OpenApprovals, 'kept'>

/** Plans and seats in the memory of one daemon, and nowhere else: what waited before it began is unknown to it. */
export const openApprovals = (options: ApprovalsOptions): OpenApprovals => new ApprovalQueue(options)

/**
 * Plans that may wait at once: of one caller, and of all. A caller is told apart by where it comes from, because one
 * program can make as many connections as it likes.
 */
const MOST_OF_ONE = 8

const MOST_WAITING = 64

/** How often plans that wait are looked at, in milliseconds. */
const POLL_MS = 1_000

/** How long after the last plan of a batch the next one still belongs to it, in milliseconds. */
const BATCH_MS = 2_000

/** Refusals on a seat, in a row and without a reason, after which nobody is asked for that caller; and for how long. */
const REFUSALS = 3

const PAUSE_MS = 5 * 60_000

/** Callers whose refusals are counted; the one that was refused longest ago goes first. */
const MOST_REFUSED = 256

/** Settled plans of which a late answer is told what became of them, and of which anybody can look that up. */
const MOST_SETTLED = 256

const MOST_ENDS = 64

/** Notices that can still be read. */
const MOST_NOTICES = 32

/** One plan that waits. */
interface QueueEntry {
  readonly plan: Plan
  readonly preview: PlanView
  /** What may be granted with its approval. */
  readonly patterns: readonly Pattern[]
  readonly code: PlanCode
  readonly batch: Batch
  readonly held: boolean
  /** Its evidence is being looked at. */
  looking: boolean
  end(answer: Answer): void
}

/** Plans of one caller that came within a moment of each other while one of them waited: they belong together. */
interface Batch {
  /** The name of its first plan. */
  readonly name: string
  last: number
  /** How many of it wait. */
  waiting: number
  refused: boolean
}

/** Refusals of one caller in a row. */
interface Refusals {
  readonly who: string
  readonly count: number
  /** When the pause began; null before there are enough for one. */
  readonly paused: number | null
}

/** Somebody who sits. */
interface SeatHolder {
  /** `seat-1` */
  readonly id: string
  readonly who: string
}

/** What those who sit hear of an answer. */
interface Settlement {
  /** A sentence. */
  readonly why: string
  /** It was given on a seat, or with a code of one: it counts as what a person says of that caller. */
  readonly onSeat?: true
}

/**
 * The one place where plans wait for a person. Plans are put before every seat; the first answer wins, and the other
 * seats are told that it is settled. Answers come from seats alone: what a seat is, `seats.ts` decides.
 */
class ApprovalQueue {
  readonly #options: ApprovalsOptions
  readonly #times: BothClocks
  readonly #grants: Grants
  readonly #codes: ReturnType<typeof openPlanCodes>
  readonly #repeated = openRepeated()
  readonly #seats = new Set<SeatHolder>()
  #seatsTaken = 0
  /** By id, oldest first. */
  readonly #waiting = new Map<string, QueueEntry>()
  /** By id: why it needs no answer any more. */
  readonly #settled = new Map<string, string>()
  readonly #ends: (Omit<PlanEnd, 'ago_ms'> & { readonly at: number })[] = []
  /** By change, the one that took it back last. */
  readonly #takenBack = new Map<string, string>()
  /** Changes that undid a change which was no undo. */
  readonly #undos = new Set<string>()
  readonly #notices: { readonly number: number; readonly text: string }[] = []
  /** By caller: the batch that its next plan may belong to. */
  readonly #batches = new Map<string, Batch>()
  /** By origin. */
  readonly #refusals = new Map<string, Refusals>()
  /** When each plan began to wait, or was let through. */
  readonly #since = new WeakMap<Plan, Moment>()
  readonly #notes = new WeakMap<Plan, string>()
  #stopPolling: (() => void) | undefined
  /** Waits for the end of the last pause. */
  #stopPausing: (() => void) | undefined

  constructor(options: ApprovalsOptions) {
    this.#options = options
    const { clock, wallClock, expiryMs, journal, randomness = randomInt, roomToUndo = () => true } = options
    this.#times = new BothClocks(clock, () => wallClock())
    const notice = (text: string) => this.notice(text)
    this.#grants = new Grants({ times: this.#times, clock, expiryMs, journal, notice, roomToUndo })
    this.#codes = openPlanCodes({
      randomness,
      ended: (of, why) => {
        journal.later({ type: 'seat', what: 'refused', seat: null, who: 'a script', why })
        if (of === 'all') this.notice(why)
      },
    })
  }

  // Asking.

  /** Whether anybody has a seat now. */
  get seated(): boolean {
    return this.#seats.size > 0
  }

  /** Why nobody is asked about yet another plan of that origin for now; undefined where it may be put. */
  limit(origin: string): Limit | undefined {
    const paused = this.#pauseOf(origin)
    if (paused !== undefined) return { type: 'paused', ...paused }
    const all = this.#waiting.size
    if (all >= MOST_WAITING) return { type: 'waiting', of: 'all', waiting: all, most: MOST_WAITING }
    const waiting = [...this.#waiting.values()].filter(({ plan }) => plan.origin === origin).length
    return waiting < MOST_OF_ONE ? undefined : { type: 'waiting', of: 'caller', waiting, most: MOST_OF_ONE }
  }

  /**
   * Puts a plan before all who have a seat, and waits until it is answered, until a file that it was computed from changes,
   * until `signal` aborts, or until it expires, unless it is held. `unavailable` at once where nobody has a seat; a seat that leaves
   * later leaves the plan waiting for the next one. `client` is asked at the same time, and what it refuses is refused;
   * its yes counts where there is no doubt, and then nobody needs to have a seat. Never rejects.
   */
  async ask(plan: Plan, how: AskOptions): Promise<Answer> {
    if (how.signal.aborted) return { type: 'cancelled' }
    if (!this.seated && !counts(how.client)) return { type: 'unavailable' }
    const plain = shownPlan(plan)
    const patterns = how.byDefault === undefined ? [] : patternsOf(plan, plain)
    const granted = patterns.length > 0 ? this.#grants.letThrough(plan, plain) : undefined
    this.#since.set(plan, this.#times.now())
    if (granted?.type === 'approved') return granted
    const batch = this.#batchOf(plan)
    const preview = {
      ...plain,
      warnings: granted === undefined ? plain.warnings : [...plain.warnings, granted.why],
      turn: batch.name,
      grants: patterns.map(({ text }) => text),
      ...this.#undoing(plan),
      ...this.#repetition(plan, how),
    }
    const { held = false } = how
    return this.#put({ plan, preview, patterns, batch, held, code: this.#codes.draw(plan.id) }, how)
  }

  /** Puts it before whoever sits, and the client that it came from. */
  #put(given: Omit<QueueEntry, 'looking' | 'end'>, { signal, client }: AskOptions): Promise<Answer> {
    return new Promise(resolve => {
      let takeBack: (() => void) | undefined
      const cancel = () => this.#settle(one, { type: 'cancelled' }, { why: 'Its caller gave up.' })
      const one: QueueEntry = {
        ...given,
        looking: false,
        end(answer) {
          signal.removeEventListener('abort', cancel)
          takeBack?.()
          resolve(answer)
        },
      }
      const { id } = one.plan
      this.#waiting.set(id, one)
      this.#pollLater()
      signal.addEventListener('abort', cancel)
      this.#changed()
      if (client !== undefined)
        takeBack = askClient(client, this.#shown(one), said => this.#clientSaid(one, nameOf(client), said))
    })
  }

  #undoing({ undoes }: Plan): Pick<PlanView, 'undoes'> {
    if (undoes === null) return {}
    return { undoes: { change: escapePlanLine(undoes), was_undo: this.#undos.has(undoes) } }
  }

  /** How often a person was asked the same, and from when on which rule would end that. */
  #repetition(plan: Plan, { byDefault }: AskOptions): Pick<PlanView, 'times' | 'rule'> {
    const times = this.#repeated.count(plan)
    const rule = byDefault === undefined ? null : ruleAgainst(plan, times)
    if (byDefault !== undefined && rule !== null)
      this.#notes.set(plan, noteOf({ plan, times, rule, policyFile: byDefault.policyFile }))
    return { times, rule }
  }

  /** What the answer of the call is to say besides: that a person was asked the same too often, and how to end that. */
  noteOn(plan: Plan): string | undefined {
    return this.#notes.get(plan)
  }

  #batchOf({ id, caller }: Plan): Batch {
    const now = this.#options.clock.now()
    let batch = this.#batches.get(caller)
    if (batch === undefined || now - batch.last > BATCH_MS) {
      batch = { name: id, last: now, waiting: 0, refused: false }
      this.#batches.set(caller, batch)
    }
    batch.last = now
    batch.waiting++
    return batch
  }

  // What waits.

  /** Plans that wait, oldest first; without their codes, which are for seats alone. */
  waiting(): readonly WaitingPlan[] {
    return [...this.#waiting.values()].map(one => listed(this.#shown(one)))
  }

  /** The whole preview of a plan that waits, as it is shown. */
  previewOf(id: string): PlanPreview | undefined {
    const one = this.#waiting.get(id)
    return one && { ...one.preview, code: one.code.text, files: planFiles(one.plan) }
  }

  #shown({ plan, preview, code }: QueueEntry): ShownPlan {
    return {
      ...preview,
      warnings: [...preview.warnings, ...code.warnings()],
      waited_ms: Math.round(this.#waitedMs(plan)),
      code: code.text,
    }
  }

  /** By the clock that only goes forward, in milliseconds. */
  #waitedMs(plan: Plan): number {
    const since = this.#since.get(plan)
    return since === undefined ? 0 : this.#options.clock.now() - since.clock
  }

  /**
   * Whether this plan, which was asked about here, is too old to be carried out: by either clock, so that neither a
   * machine that slept nor one whose time was set gives an approval a second life. False for any other plan.
   */
  expired(plan: Plan): boolean {
    const since = this.#since.get(plan)
    return (
      (since !== undefined && this.#times.passed(since, this.#options.expiryMs)) ||
      this.#grants.hasEndedFor(plan)
    )
  }

  /** Looks at all that waits about once a second, and when the next one expires. */
  #poll(): void {
    for (const one of [...this.#waiting.values()])
      if (this.#isTooOld(one)) this.#expire(one)
      else void this.#look(one)
    this.#stopPolling = undefined
    this.#pollLater()
  }

  #pollLater(): void {
    if (this.#stopPolling !== undefined || this.#waiting.size === 0) return
    const { clock, expiryMs } = this.#options
    const left = [...this.#waiting.values()].map(({ plan, held }) =>
      held ? POLL_MS : expiryMs - this.#waitedMs(plan),
    )
    this.#stopPolling = clock.after(Math.max(0, Math.min(POLL_MS, ...left)), () => this.#poll())
  }

  async #look(one: QueueEntry): Promise<void> {
    if (one.looking) return
    one.looking = true
    const causes = await causesOf(one.plan)
    one.looking = false
    if (causes.length > 0)
      this.#settle(one, { type: 'stale', causes }, { why: `It is out of date: ${causes.join('; ')}.` })
  }

  #isTooOld({ held, plan }: QueueEntry): boolean {
    return !held && this.expired(plan)
  }

  #expire(one: QueueEntry): void {
    const afterMs = Math.round(this.#waitedMs(one.plan))
    const why = 'Nobody answered in time; it counts as denied.'
    this.#settle(one, { type: 'timed_out', afterMs }, { why })
  }

  // Answers.

  #answered(seat: SeatHolder, given: SeatAnswer): AnswerOutcome {
    if (!this.#seats.has(seat)) return { type: 'unknown' }
    const one = this.#open(given.plan)
    if ('type' in one) return one
    if (given.hash !== one.plan.hash) return { type: 'wrong_hash' }
    const misfit = misfitOf(one.plan, given, one.preview.grants)
    if (misfit !== undefined) return { type: 'unfit', why: misfit }
    this.#codes.answeredOnSeat()
    const why = doneBy(seat.who, didOf(given))
    this.#settle(one, answerOf(given, seat.id), { why, onSeat: true })
    const pattern = one.patterns.find(({ text }) => text === given.grant)
    if (pattern !== undefined) this.#grant(seat, one.plan, pattern)
    return { type: 'taken' }
  }

  /** An answer from a script: `code` was shown on a seat, for this one plan. */
  answerWithCode(given: CodedAnswer): AnswerOutcome {
    const one = this.#open(given.plan)
    if ('type' in one) return one
    const before = one.code.text
    if (!one.code.isRight(given.code)) {
      if (one.code.text !== before) this.#changed()
      return { type: 'wrong_code' }
    }
    const why = `A script that had its code ${didOf(given)}.`
    this.#settle(one, answerOf(given, `code of ${given.plan}`), { why, onSeat: true })
    return { type: 'taken' }
  }

  /** What comes when the plan is settled, or too old, changes nothing any more. */
  #clientSaid(one: QueueEntry, who: string, said: ClientVerdict): void {
    const { plan, preview } = one
    if ('type' in this.#open(plan.id)) return
    if (said.type === 'nothing' && said.doubted !== undefined) {
      this.#options.journal.later({ type: 'seat', what: 'doubted', seat: null, who, why: said.doubted })
      this.notice(`${who}: ${said.doubted}`)
    }
    if (said.type !== 'answer' && this.seated) return
    this.#settle(one, said.answer, { why: said.why })
    if (said.answer.type === 'approved') this.notice(approvedInWords({ who, title: preview.title, plan }))
  }

  /** What waits under that name and may still be answered, or what its answer has come to. */
  #open(id: string): QueueEntry | AnswerOutcome {
    const one = this.#waiting.get(id)
    if (one !== undefined && this.#isTooOld(one)) this.#expire(one)
    const why = this.#settled.get(id)
    if (why !== undefined) return { type: 'late', why }
    return this.#waiting.get(id) ?? { type: 'unknown' }
  }

  /** The answer, once. */
  #settle(one: QueueEntry, answer: Answer, { why, onSeat }: Settlement): void {
    const { plan, preview, batch } = one
    const { id, caller } = plan
    if (!this.#waiting.delete(id)) return
    // Its approval is as old as the answer.
    if (one.held) this.#since.set(plan, this.#times.now())
    this.#settled.set(id, why)
    forgetOldest(this.#settled, MOST_SETTLED)
    const { tool, title, root, undoes } = preview
    const said = { id, tool, root, title, ...(undoes && { undoes }), outcome: outcomeOf(answer), why }
    this.#ends.push({ ...said, at: this.#options.clock.now() })
    if (this.#ends.length > MOST_ENDS) this.#ends.shift()
    batch.waiting--
    if (batch.waiting === 0 && this.#batches.get(caller) === batch) this.#batches.delete(caller)
    if (this.#waiting.size === 0) {
      this.#stopPolling?.()
      this.#stopPolling = undefined
    }
    one.end(answer)
    this.#room()
    this.#changed()
    if (onSeat) this.#count(one, answer)
  }

  /** The call of an approved plan has ended: tells every seat how. Does nothing for another plan. */
  ended(id: string, ended: CallEnd): void {
    const at = this.#ends.findIndex(end => end.id === id)
    const end = this.#ends[at]
    if (end === undefined || !APPROVED.has(end.outcome)) return
    this.#ends[at] = { ...end, ended }
    this.#changed()
  }

  /** A change was taken back by another one, with or without a question. */
  tookBack(change: string, by: string): void {
    this.#takenBack.set(change, by)
    forgetOldest(this.#takenBack, MOST_ENDS)
    if (!this.#undos.has(change)) this.#undos.add(by)
    forgetOldest(this.#undos, MOST_ENDS)
    this.#changed()
  }

  /** Whether what took it back, if anything did, was taken back in its turn. */
  #isUndoable(change: string): boolean {
    const by = this.#takenBack.get(change)
    return by === undefined || !this.#isUndoable(by)
  }

  /** How the plans that waited last have ended, oldest first: up to 64. */
  ends(): readonly PlanEnd[] {
    const now = this.#options.clock.now()
    return this.#ends.map(({ at, ended, ...end }) => {
      const isBack = ended?.undo != null && !this.#isUndoable(ended.undo)
      const told = isBack ? { ...ended, undo: null, taken_back: true as const } : ended
      return { ...end, ...(told && { ended: told }), ago_ms: Math.round(now - at) }
    })
  }

  // Not tiring a person.

  /** A batch that is refused is one refusal; a reason, or a yes, begins the count anew and ends a pause. */
  #count({ plan, batch }: QueueEntry, answer: Answer): void {
    const { origin, caller } = plan
    if (!isBareRefusal(answer)) return void this.#refusals.delete(origin)
    if (batch.refused || this.#pauseOf(origin) !== undefined) return
    batch.refused = true
    if (this.#batches.get(caller) === batch) this.#batches.delete(caller)
    const before = this.#refusals.get(origin)
    const count = before === undefined || before.paused !== null ? 1 : before.count + 1
    const who = escapePlanLine(plan.who)
    const paused = count < REFUSALS ? null : this.#options.clock.now()
    this.#refusals.delete(origin)
    this.#refusals.set(origin, { who, count, paused })
    forgetOldest(this.#refusals, MOST_REFUSED)
    if (paused === null) return
    const why = `${count} plans of ${who} were refused in a row without a reason: none of it is put before you for ${duration(PAUSE_MS)}.`
    this.#options.journal.later({ type: 'seat', what: 'paused', seat: null, who, why })
    this.notice(why)
    this.#stopPausing?.()
    if (this.#options.room !== undefined)
      this.#stopPausing = this.#options.clock.after(PAUSE_MS, () => this.#room())
  }

  #pauseOf(origin: string): { readonly refusals: number; readonly leftMs: number } | undefined {
    const { paused = null, count = 0 } = this.#refusals.get(origin) ?? {}
    const leftMs = paused === null ? 0 : paused + PAUSE_MS - this.#options.clock.now()
    return leftMs > 0 ? { refusals: count, leftMs } : undefined
  }

  /** All who are not put before a person now. */
  pauses(): readonly Pause[] {
    return [...this.#refusals].flatMap(([origin, { who }]) => {
      const paused = this.#pauseOf(origin)
      if (paused === undefined) return []
      return [{ who, refusals: paused.refusals, left_ms: Math.round(paused.leftMs) }]
    })
  }

  #lift({ id: seat, who }: SeatHolder): number {
    const lifted = this.pauses().length
    if (lifted === 0) return 0
    this.#refusals.clear()
    this.#options.journal.later({ type: 'seat', what: 'lifted', seat, who, why: null })
    this.notice(`${who} wants to be asked again: no caller is kept waiting any more.`)
    this.#room()
    return lifted
  }

  // Grants.

  /** From now on, and for what waits already. */
  #grant(giver: SeatHolder, plan: Plan, pattern: Pattern): void {
    this.#grants.give(giver, plan, pattern)
    for (const one of [...this.#waiting.values()]) {
      const answer = one.patterns.length > 0 ? this.#grants.letThrough(one.plan, one.preview) : undefined
      if (answer?.type !== 'approved') continue
      this.#since.set(one.plan, this.#times.now())
      this.#settle(one, answer, { why: `It is let through by ${answer.by}.` })
    }
  }

  /** What is let through without asking now. */
  grants(): readonly Grant[] {
    return this.#grants.list()
  }

  /** Ends a grant; false where there is none of that name. Anybody may, `by` name: it makes nothing possible. */
  revoke(grant: string, by: string): boolean {
    return this.#grants.revoke(grant, by)
  }

  // Those who sit.

  /** Takes a seat, which the journal says. `who`, for people and the journal: `terminal /dev/pts/3 (process 4711)`. */
  sit(who: string): Seat {
    const seat: SeatHolder = { id: `seat-${++this.#seatsTaken}`, who }
    this.#seats.add(seat)
    this.#journalSeat('taken', seat)
    this.#room()
    return {
      id: seat.id,
      answer: given => this.#answered(seat, given),
      lift: () => (this.#seats.has(seat) ? this.#lift(seat) : 0),
      leave: () => {
        if (!this.#seats.delete(seat)) return
        this.#journalSeat('left', seat)
        this.#grants.left(seat.id)
        if (!this.seated) this.#lapse()
      },
    }
  }

  /** Later in this turn: the client that has just taken a seat hears of the seat first, and calls that wait already are asked first. */
  #room(): void {
    const { room } = this.#options
    if (room !== undefined && this.seated) setImmediate(() => room())
  }

  /** Held questions are for those who sit, and wait elsewhere until somebody does. */
  #lapse(): void {
    const why = 'Nobody sits any more; it is put before the next one who does.'
    for (const one of [...this.#waiting.values()])
      if (one.held) this.#settle(one, { type: 'unavailable' }, { why })
  }

  #journalSeat(what: 'taken' | 'left', { id: seat, who }: SeatHolder): void {
    this.#options.journal.later({ type: 'seat', what, seat, who, why: null })
  }

  /** Something that all who sit should know. */
  notice(text: string): void {
    this.#notices.push({ number: (this.#notices.at(-1)?.number ?? 0) + 1, text })
    if (this.#notices.length > MOST_NOTICES) this.#notices.shift()
    this.#changed()
  }

  /** The last of these, oldest first, each with its number. */
  notices(): readonly { readonly number: number; readonly text: string }[] {
    return this.#notices
  }

  #changed(): void {
    this.#options.changed?.()
  }

  /** The number of entries of all kinds that are held. Each kind has a bound. */
  kept(): number {
    const maps = [this.#waiting, this.#settled, this.#batches, this.#refusals, this.#seats, this.#grants]
    const lists = this.#ends.length + this.#notices.length + this.#repeated.size
    return maps.reduce((sum, { size }) => sum + size, lists)
  }

  /** Settles all that waits as cancelled: the daemon ends. */
  close(): void {
    this.#stopPausing?.()
    // Its caller may wait for the answer still, and is told why there is none.
    for (const one of [...this.#waiting.values()])
      this.#settle(one, { type: 'cancelled', reason: 'the daemon ended' }, { why: 'The daemon ends.' })
    this.#grants.close()
  }
}

const APPROVED: ReadonlySet<PlanOutcome> = new Set(['approved', 'approved_in_part', 'edited'])

/** Without its code, which is for seats alone, and its texts. */
function listed({ code: _, body: __, hunks: ___, args: ____, ...plan }: ShownPlan): WaitingPlan {
  return plan
}

function forgetOldest(known: Map<string, unknown> | Set<string>, most: number): void {
  const [oldest] = known.keys()
  if (known.size > most && oldest !== undefined) known.delete(oldest)
}

/** A seat through an editor or a page is named by the way to its person. */
const doneBy = (who: string, did: string) =>
  who.startsWith('through ') ? `A person ${did} ${who}.` : `${who} ${did}.`

/** A person has said no, to all of it, and not why. */
function isBareRefusal(answer: Answer): boolean {
  if (answer.type === 'chosen')
    return answer.choices.every(choice => choice.decision === 'refuse' && choice.reason === null)
  return answer.type === 'denied' && answer.reason === null
}

function outcomeOf(answer: Answer): PlanOutcome {
  switch (answer.type) {
    case 'approved':
    case 'edited':
    case 'denied':
    case 'dismissed':
    case 'stale':
    case 'timed_out':
      return answer.type
    case 'chosen':
      if (areAllAccepted(answer.choices)) return 'approved'
      return areAllRefused(answer.choices) ? 'denied' : 'approved_in_part'
    case 'cancelled':
    case 'unavailable':
      return 'withdrawn'
    default:
      return answer satisfies never
  }
}
