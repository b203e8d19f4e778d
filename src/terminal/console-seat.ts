import { oneLine } from '../../tools/text.ts'
import { messageOf, WireError } from '../../wire/errors.ts'
import type { ShownPlan } from '../approvals/contract.ts'
import type { Image } from '../front/image.ts'
import { type Notifier, openNotifier } from '../front/notify.ts'
import { redraft } from '../front/person-editor.ts'
import type { SeatWanted } from '../front/protocol.ts'
import type { OpenSeat, SeatTold } from '../front/seat/open-seat.ts'
import { type PlanEnd, planEnd } from '../front/seat/plan-text.ts'
import { Desk, openDeskSeat } from './desk.ts'
import { showsUnicode } from './desk-items.ts'
import { type DeskPage, openDeskPage } from './desk-page.ts'
import { fitted, looking, plain, prose, widthOf } from './layout.ts'
import type { Stage } from './screen.ts'

export interface ConsoleApprovalsOptions {
  readonly image: Pick<Image, 'sit'>
  readonly stage: Stage
  /** Whether a notification is shown on the desktop where something waits. */
  readonly desktop: boolean
}

/** The key that shows what waits, as the stage has it. */
const SHORTCUT = 'ctrl-t'

/** Where what waits is looked at. */
interface DeskHere {
  readonly desk: Desk
  readonly page: DeskPage
}

/** What is there while somebody sits. */
interface SeatHere extends DeskHere {
  readonly seat: OpenSeat
}

/** A seat at the console: what waits for a person is said above the line that they write, and is looked at on its own screen. */
export class ConsoleApprovals {
  /** The key that shows what waits, as it is written. */
  readonly key = KEY
  readonly #image: ConsoleApprovalsOptions['image']
  readonly #stage: Stage
  readonly #notices: Notices
  readonly #notifier: Notifier
  readonly #leaving = new AbortController()
  #taking: Promise<void> | undefined
  #tried = false
  #seated: SeatHere | undefined
  /** A call of this console waits, and what it waits for is to be shown as soon as it is known. */
  #showing = false

  constructor({ image, stage, desktop }: ConsoleApprovalsOptions) {
    this.#image = image
    this.#stage = stage
    this.#notices = new Notices(stage)
    this.#notifier = openNotifier({
      desktop,
      bell: () => stage.bell(),
      failed: why => stage.print([prose('hint', `${why}\n`)]),
    })
    stage.onShortcut(SHORTCUT, () => void this.open())
  }

  /** Takes a seat where nobody has one, unless that was tried before. Whoever gets none is not told here. */
  sit(): void {
    if (!this.#tried) void this.#take()
  }

  /** Whether it sits by now, for what only those who sit may do; where it cannot, says why. */
  async seated(): Promise<boolean> {
    const why = await this.#take()
    if (why !== undefined) this.#notices.noSeat(why)
    return why === undefined
  }

  /** Shows what waits, until the person has seen enough; says why there is no seat where there is none. */
  async open(): Promise<void> {
    if (await this.seated()) await this.#show()
  }

  /**
   * A call of this console waits for a person. True where what waits can be looked at here: then that is shown by itself,
   * unless something was typed ahead.
   */
  asked(): boolean {
    if (this.#seated === undefined) return false
    if (this.#stage.typedAhead) return true
    if (this.#seated.desk.waits > 0) void this.#show()
    else this.#showing = true
    return true
  }

  /** It waits no more. */
  over(): void {
    this.#showing = false
  }

  /** Leaves the seat. */
  async close(): Promise<void> {
    this.#leaving.abort()
    await this.#taking?.catch(() => {})
    await this.#seated?.seat.ended
  }

  /** Undefined once it sits; else why it does not. */
  async #take(): Promise<string | undefined> {
    if (this.#seated !== undefined) return undefined
    this.#tried = true
    this.#taking ??= this.#takeNow().finally(() => {
      this.#taking = undefined
    })
    try {
      await this.#taking
      return undefined
    } catch (error) {
      return error instanceof WireError ? (error.remote?.message ?? error.message) : messageOf(error)
    }
  }

  async #takeNow(): Promise<void> {
    const stage = this.#stage
    const desk = new Desk({
      palette: stage.palette,
      size: stage.size,
      now: performance.now(),
      unicode: showsUnicode(process.env),
      page: true,
    })
    const atDesk = openDeskSeat({
      desk,
      repaint: () => page.changed(),
      ring: text => this.#notifier.notify(text),
      edit: draft => stage.lend(() => redraft(draft)),
    })
    const page = openDeskPage({ desk, atDesk, stage, key: SHORTCUT })
    const seat = await this.#image.sit({
      alone: true,
      tell: told => {
        desk.tick(performance.now())
        atDesk.tell(told)
        this.#heard(told, { desk, page })
      },
      signal: this.#leaving.signal,
    })
    atDesk.take(seat)
    this.#seated = { desk, seat, page }
    if (seat.trouble !== null) this.#notices.trouble(seat.trouble)
    void seat.ended.then(() => this.#left(page))
  }

  /** A seat that was lost with its connection is taken anew, once there is another connection. */
  #left(page: DeskPage): void {
    this.#seated = undefined
    this.#tried = false
    this.#notices.forgetAll()
    page.end()
  }

  #heard(told: SeatTold, { desk, page }: DeskHere): void {
    if (told.type === 'settled') this.#notices.forget(told.id)
    if (page.open) return
    this.#notices.past(desk.past)
    if (told.type === 'wanted') this.#notices.wanted(told.wanted)
    if (told.type !== 'plan' || !this.#notices.isNew(told.plan)) return
    if (this.#showing && !this.#stage.typedAhead) void this.#show()
    else this.#notices.plan(told.plan, desk.waits)
  }

  async #show(): Promise<void> {
    const now = this.#seated
    if (now === undefined || this.#stage.paged) return
    this.#showing = false
    await now.page.show()
    this.#notices.past(now.desk.past)
  }
}

/** The key that shows what waits, as it is written. */
const KEY = 'Ctrl-T'

/** What is said of approvals above the line that a person writes, each thing once and in one row. */
class Notices {
  readonly #stage: Stage
  readonly #noticed = new Set<string>()
  readonly #said = new WeakSet<PlanEnd>()

  constructor(stage: Stage) {
    this.#stage = stage
  }

  /** Whether that plan is to be told of; it was not before. */
  isNew({ id }: Pick<ShownPlan, 'id'>): boolean {
    return !this.#noticed.has(id) && this.#noticed.add(id).size > 0
  }

  /** `waits`: how many there are by now. */
  plan({ title, who }: ShownPlan, waits: number): void {
    const counted = waits === 1 ? '1 plan waits' : `${waits} plans wait`
    this.#row(counted, `${oneLine(title)}, for ${oneLine(who)}`)
  }

  wanted({ who }: SeatWanted): void {
    this.#row('Somebody else wants to approve, too', oneLine(who))
  }

  trouble(trouble: string): void {
    this.#row('Dangerous calls are refused', oneLine(trouble))
  }

  noSeat(why: string): void {
    this.#stage.print([prose('hint', `There is no seat here: ${oneLine(why)}\n`)])
  }

  /** It could come again, and would be told of anew. */
  forget(id: string): void {
    this.#noticed.delete(id)
  }

  forgetAll(): void {
    this.#noticed.clear()
  }

  /** What became of plans. */
  past(past: readonly PlanEnd[]): void {
    for (const one of past) {
      if (this.#said.has(one)) continue
      this.#said.add(one)
      const text = fitted(planEnd(one).join(''), this.#stage.size.columns - 1)
      this.#stage.print([looking('hint', `${text}\n`)])
    }
  }

  /** What others have named is cut before the key is. */
  #row(what: string, named: string): void {
    const [lead, end] = [`${what}: `, ` · ${KEY} answers`]
    const room = Math.max(8, this.#stage.size.columns - 1 - widthOf(lead) - widthOf(end))
    this.#stage.print([looking('strong', lead), plain(fitted(named, room)), looking('hint', `${end}\n`)])
  }
}
