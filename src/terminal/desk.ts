import { oneLine } from '../../tools/text.ts'
import { messageOf } from '../../wire/errors.ts'
import type { AnswerOutcome, SeatAnswer, ShownPlan } from '../approvals/contract.ts'
import { asksText } from '../front/notify.ts'
import type { Draft, DraftResult } from '../front/person-editor.ts'
import type { OpenSeat, SeatTold } from '../front/seat/open-seat.ts'
import { seatText, whyNot } from '../front/seat/plan-text.ts'
import {
  type EditSubject,
  type InForce,
  Items,
  Notes,
  type Past,
  planItem,
  type Signs,
  signsFor,
  type Wish,
} from './desk-items.ts'
import { DeskKeys } from './desk-keys.ts'
import { type DeskFrame, paintDesk } from './desk-rows.ts'
import { View } from './desk-view.ts'
import type { Look, Palette, Place, Row, Size } from './layout.ts'
import type { Key } from './tty.ts'

interface DeskOptions {
  readonly palette: Palette
  readonly size: Size
  /** Milliseconds of a clock that does not go back; the same clock as that of `tick`. */
  readonly now: number
  /** Whether more than ASCII is shown; it is, unless this says no. */
  readonly unicode?: boolean
  /** It is one of several screens: who leaves it keeps the seat, and comes back to what was decided. It is none. */
  readonly page?: boolean
}

/** What was withdrawn while it was looked at goes by itself once no key was pressed for so long. */
const LEFT_ALONE_MS = 10_000

const MOST_PAST = 50

/** Turns that are known to have rung. */
const MOST_TURNS = 256

/**
 * Where all that waits for a person is looked at and answered, on a whole screen. Pure: news, keys and time in, rows and
 * wishes out.
 *
 * A key answers what stands on the screen or nothing: it counts once that was painted and `rested` was called for it.
 * What is withdrawn while it is looked at leaves a notice in its place, and only Enter goes on to what comes next.
 */
export class Desk {
  readonly #items = new Items()
  readonly #view: View
  readonly #answering: DeskKeys
  readonly #palette: Palette
  readonly #signs: Signs
  readonly #past: Past[] = []
  readonly #notes = new Notes()
  readonly #rung = new Set<string>()
  #size: Size
  #now: number
  #pressed = 0
  #heading = ''
  #painted: DeskFrame | undefined

  constructor({ palette, size, now, unicode = true, page = false }: DeskOptions) {
    this.#palette = palette
    this.#signs = signsFor(unicode)
    this.#size = size
    this.#now = now
    this.#view = new View({
      items: this.#items,
      palette,
      signs: this.#signs,
      past: this.#past,
      notes: this.#notes,
      isPage: page,
    })
    this.#answering = new DeskKeys({
      items: this.#items,
      view: this.#view,
      say: (text, look) => this.#notes.brief({ text, look }, this.#now),
    })
  }

  /** The seat is there. */
  sits({ id, who, others, trouble }: Pick<OpenSeat, 'id' | 'who' | 'others' | 'trouble'>): void {
    this.#heading = id
    this.#view.waitingFor = undefined
    this.#view.who = who
    if (trouble !== null) this.#items.add({ type: 'trouble', id: 'trouble', since: this.#now, trouble })
    for (const other of others) this.say(`There is also ${oneLine(other.seat)}, ${oneLine(other.who)}.`)
  }

  /** True where it is worth a bell: the first plan of a turn, and somebody else who wants a seat. */
  tell(told: SeatTold): boolean {
    switch (told.type) {
      case 'plan':
        return this.#put(told.plan)
      case 'wanted':
        this.#items.add({ type: 'seat', id: told.wanted.id, since: this.#now, wanted: told.wanted })
        return true
      case 'settled':
        this.#settled(told.id, told.why)
        return false
      case 'notice':
        this.say(oneLine(told.text))
        return false
      case 'asked':
        this.#view.waitingFor = told.seats.map(seatText)
        return false
      default:
        return told satisfies never
    }
  }

  /** What became of an answer. */
  answered(plan: string, taken: AnswerOutcome): void {
    const item = this.#items.find(plan)
    const did = item?.type === 'plan' ? item.sent : undefined
    if (taken.type === 'taken') {
      this.#keep(plan, did?.past ?? 'answered')
      this.#mention(`${plan} ${did?.past ?? 'answered'}`, did?.look ?? 'good')
      this.#items.remove(plan)
      return
    }
    const why = `Your answer to ${plan} did not count: ${oneLine(whyNot(taken))}`
    const isOver = taken.type === 'late' || taken.type === 'unknown'
    if (isOver && item !== undefined) {
      this.#keep(plan, why)
      this.#withdraw(plan, why)
    } else if (item?.type === 'plan') delete item.sent
    if (isOver) this.#mention(why, 'error')
    else this.say(why, 'error')
  }

  /** What holds besides plans: what is let through, and who is not asked about for a while. */
  stands({ grants, pauses }: Pick<InForce, 'grants' | 'pauses'>): void {
    const { standing } = this.#view
    this.#view.standing = { grants, pauses, at: this.#now, version: (standing?.version ?? 0) + 1 }
  }

  /** What came of an `edit`. */
  edited(about: EditSubject, came: DraftResult): Wish | undefined {
    return this.#answering.edited(about, came)
  }

  /** A sentence of ours for the person, which stays a while. */
  say(text: string, look?: Look): void {
    this.#notes.say({ text, look }, { now: this.#now, kept: true })
  }

  /** A grant of that name has ended. */
  revoked(grant: string): void {
    const pattern = this.#view.standing?.grants.find(({ id }) => id === grant)?.pattern
    this.#notes.ended({ id: grant, pattern })
    this.say(`Revoked: ${grant}. It is asked about again.`, 'good')
  }

  press(key: Key): Wish | undefined {
    this.#pressed = this.#now
    this.#notes.pressed()
    return this.#answering.press(key, { counts: this.#counts })
  }

  /** Exactly as many rows as the screen has. */
  paint(): readonly Row[] {
    this.#painted = paintDesk({
      items: this.#items,
      view: this.#view,
      input: this.#answering.input,
      notes: this.#notes,
      heading: this.#heading,
      counts: this.#counts,
      now: this.#now,
      size: this.#size,
      palette: this.#palette,
      signs: this.#signs,
    })
    return this.#painted.rows
  }

  /** Where the cursor stands in what was painted; undefined while nothing is being written. */
  get cursor(): Place | undefined {
    return this.#painted?.cursor
  }

  /** Whether keys do not answer yet what was painted: see `rested`. */
  get settling(): boolean {
    return !this.#counts && this.#view.asks
  }

  /** A name of what was painted last: another one where something else is asked. */
  get asked(): string | undefined {
    return this.#painted?.question
  }

  /** What was painted stood for 150 ms in which no key was pressed, and all keys were read: from now on they answer it. */
  rested(): void {
    this.#view.rested(this.#painted?.question)
  }

  /** Something else was on the screen meanwhile: what is asked has to be seen anew before keys answer it. */
  shownAgain(): void {
    this.#view.rested(undefined)
  }

  resize(size: Size): void {
    this.#size = size
  }

  /** Time goes on: what is said of it, and what has been said long enough, changes. */
  tick(now: number): void {
    this.#now = now
    this.#view.now = now
    this.#notes.tick(now)
    const { withdrawn } = this.#view
    if (withdrawn !== undefined && now - Math.max(withdrawn.at, this.#pressed) >= LEFT_ALONE_MS)
      this.#view.withdrawn = undefined
  }

  /** How many plans and questions wait. */
  get waits(): number {
    return this.#items.all.length
  }

  /** What became of plans here, oldest first. */
  get past(): readonly Past[] {
    return this.#past
  }

  get #counts(): boolean {
    return this.#painted !== undefined && this.#view.counts(this.#painted.question)
  }

  /** What became of a plan stands in what is known of the past, and is not said twice there. */
  #mention(text: string, look?: Look): void {
    this.#notes.say({ text, look }, { now: this.#now, kept: false })
  }

  #put(plan: ShownPlan): boolean {
    const known = this.#items.find(plan.id)
    if (known?.type === 'plan' && known.plan.hash === plan.hash) {
      const fresh = plan.warnings.filter(warning => !known.plan.warnings.includes(warning))
      known.plan = plan
      for (const warning of fresh) this.say(`${plan.id}: ${oneLine(warning)}`, 'alarm')
      return false
    }
    this.#items.add(planItem(plan, this.#now))
    const rings = !this.#rung.has(plan.turn)
    this.#rung.add(plan.turn)
    const [oldest] = this.#rung
    if (this.#rung.size > MOST_TURNS && oldest !== undefined) this.#rung.delete(oldest)
    return rings
  }

  #settled(id: string, why: string): void {
    const item = this.#items.find(id)
    if (item === undefined) return
    if (item.type === 'plan') this.#keep(id, why)
    this.#withdraw(id, why)
  }

  /** What is being looked at is not replaced by something else under the fingers of the person. */
  #withdraw(id: string, why: string): void {
    const item = this.#items.find(id)
    const isLookedAt = this.#view.concerns(id)
    this.#items.remove(id)
    this.#mention(`${id} needs no answer any more: ${oneLine(why)}`)
    if (!isLookedAt) return
    this.#answering.drop()
    const title = item?.type === 'plan' ? item.plan.title : 'Somebody else wanted to approve, too.'
    this.#view.withdrawn = { id, title, why, at: this.#now }
  }

  #keep(id: string, what: string): void {
    const item = this.#items.find(id)
    const title = item?.type === 'plan' ? item.plan.title : ''
    this.#past.push({ id, title, what, at: this.#now })
    if (this.#past.length > MOST_PAST) this.#past.shift()
  }
}

interface DeskSeatOptions {
  readonly desk: Desk
  /** Something at the desk has changed. */
  repaint(): void
  /** Something waits that did not before. */
  ring(text: string): void
  /** Has the person's own editor at the terminal of the desk. */
  edit(draft: Draft): Promise<DraftResult>
}

/** What goes to and fro between a desk and the seat that it is for. */
export interface DeskSeat {
  /** For `openSeat`. */
  tell(told: SeatTold): void
  /** The seat was granted. Wishes that came before were not heard. */
  take(seat: OpenSeat): void
  /** Does what a person wishes; `leave` is left to the caller, and so is what comes after it. */
  grant(wish: Wish): 'leave' | undefined
}

export function openDeskSeat({ desk, repaint, ring, edit }: DeskSeatOptions): DeskSeat {
  let seat: OpenSeat | undefined

  async function answer(given: SeatAnswer) {
    const lost = (error: unknown): AnswerOutcome => ({ type: 'unfit', why: oneLine(messageOf(error)) })
    const taken = await seat?.answer(given).catch(lost)
    desk.answered(given.plan, taken ?? { type: 'unfit', why: 'there is no seat yet.' })
    repaint()
    await look()
  }

  /** What else holds, which an answer or a word of another seat may have changed. */
  async function look() {
    try {
      if (seat !== undefined) desk.stands(await seat.standing())
    } catch {
      // It is shown as it was last known.
    }
    repaint()
  }

  async function act(work: (from: OpenSeat) => Promise<void>) {
    try {
      if (seat !== undefined) await work(seat)
    } catch (error) {
      desk.say(oneLine(messageOf(error)), 'error')
    }
    await look()
  }

  async function redraft({ text, about }: Extract<Wish, { type: 'edit' }>) {
    const came = await edit({ text, name: `${about.type}${about.suffix}` })
    desk.shownAgain()
    const wish = desk.edited(about, came)
    if (wish !== undefined) grant(wish)
    repaint()
  }

  function grant(wish: Wish): 'leave' | undefined {
    switch (wish.type) {
      case 'answer':
        for (const given of wish.answers) void answer(given)
        return undefined
      case 'admit':
        void act(from => from.admit(wish.wanted, wish.admit))
        return undefined
      case 'acknowledge':
        void act(async from => {
          await from.acknowledge()
          desk.say('Noted, and written down.', 'good')
        })
        return undefined
      case 'edit':
        void redraft(wish)
        return undefined
      case 'look':
        void look()
        return undefined
      case 'revoke':
        void act(async from => {
          if (await from.revoke(wish.grant)) desk.revoked(wish.grant)
          else desk.say(`${wish.grant} had ended.`)
        })
        return undefined
      case 'lift':
        void act(async from => {
          if ((await from.lift()) > 0) desk.say('All pauses are over: you are asked again.', 'good')
          else desk.say('Nobody was paused.', 'good')
        })
        return undefined
      case 'leave':
        return wish.type
      default:
        return wish satisfies never
    }
  }

  return {
    tell(told) {
      if (desk.tell(told))
        ring(told.type === 'plan' ? asksText(told.plan) : 'somebody else wants to approve, too')
      if (told.type === 'notice') void look()
      repaint()
    },
    take(granted) {
      seat = granted
      desk.sits(granted)
      void look()
    },
    grant,
  }
}
