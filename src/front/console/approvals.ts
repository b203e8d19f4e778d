import { oneLine } from '../../../tools/wording.ts'
import { WireError } from '../../../wire/errors.ts'
import { messageOf } from '../../failure.ts'
import type { Image } from '../image.ts'
import { openNotifier } from '../notify.ts'
import { redraft } from '../person-editor.ts'
import type { SeatWanted } from '../protocol.ts'
import type { OpenSeat, SeatTold } from '../seat/open-seat.ts'
import { Desk, type Past } from '../watch/desk.ts'
import { type DeskSeat, openDeskSeat } from '../watch/desk-seat.ts'
import { showsUnicode } from '../watch/signs.ts'
import { openDeskPage } from './desk-page.ts'
import type { Stage } from './stage.ts'
import { looking, plain, prose } from './style.ts'
import { fitted, widthOf } from './width.ts'

export interface ApprovalsOptions {
  readonly image: Pick<Image, 'sit'>
  readonly stage: Stage
  /** Whether a notification is shown on the desktop where something waits. */
  readonly desktop: boolean
}

/** A seat at the console: what waits for a person is said above the line that they write, and is looked at on its own screen. */
export interface ConsoleApprovals {
  /** Takes a seat where nobody has one, unless that was tried before. Whoever gets none is not told here. */
  sit(): void
  /** Shows what waits, until the person has seen enough; says why there is no seat where there is none. */
  open(): Promise<void>
  /**
   * A call of this console waits for a person. True where what waits can be looked at here: then that is shown by itself,
   * unless something was typed ahead.
   */
  asked(): boolean
  /** It waits no more. */
  over(): void
  /** The key that shows what waits, as it is written. */
  readonly key: string
  /** Leaves the seat. */
  close(): Promise<void>
}

/** The key that shows what waits, as it is written, and as the stage has it. */
const KEY = 'Ctrl-T'
const SHORTCUT = 'ctrl-t'

/** What is there while somebody sits. */
interface Seated {
  readonly desk: Desk
  readonly seat: OpenSeat
  readonly page: ReturnType<typeof openDeskPage>
}

export function openApprovals({ image, stage, desktop }: ApprovalsOptions): ConsoleApprovals {
  const said = new WeakSet<Past>()
  const noticed = new Set<string>()
  const leaving = new AbortController()
  let taking: Promise<undefined> | undefined
  let tried = false
  let seated: Seated | undefined
  /** A call of this console waits, and what it waits for is to be shown as soon as it is known. */
  let showing = false

  const notifier = openNotifier({
    desktop,
    bell: () => stage.bell(),
    failed: why => stage.print([prose('hint', `${why}\n`)]),
  })

  /** Undefined once it sits; else why it does not. */
  async function take(): Promise<string | undefined> {
    if (seated !== undefined) return undefined
    tried = true
    taking ??= takeNow().finally(() => {
      taking = undefined
    })
    try {
      return await taking
    } catch (error) {
      return error instanceof WireError ? (error.remote?.message ?? error.message) : messageOf(error)
    }
  }

  async function takeNow(): Promise<undefined> {
    const desk = new Desk({
      palette: stage.palette,
      size: stage.size,
      now: performance.now(),
      unicode: showsUnicode(process.env),
    })
    const atDesk: DeskSeat = openDeskSeat({
      desk,
      repaint: () => page.changed(),
      ring: text => notifier.notify(text),
      edit: draft => stage.lend(() => redraft(draft)),
    })
    const page = openDeskPage({ desk, atDesk, stage, key: SHORTCUT })
    const tell = (told: SeatTold) => {
      desk.tick(performance.now())
      atDesk.tell(told)
      heard({ desk, page }, told)
    }
    const admit = (wanted: SeatWanted) => {
      desk.tick(performance.now())
      if (!page.open) notice('Somebody else wants to approve, too', oneLine(wanted.who))
      return atDesk.admit(wanted)
    }
    const seat = await image.sit({ alone: true, tell, admit, signal: leaving.signal })
    atDesk.take(seat)
    seated = { desk, seat, page }
    if (seat.trouble !== null) notice('Dangerous calls are refused', oneLine(seat.trouble))
    void seat.ended.then(() => {
      seated = undefined
      // One that was lost with its connection is taken anew, once there is another connection.
      tried = false
      noticed.clear()
      page.end()
    })
    return undefined
  }

  function heard({ desk, page }: Pick<Seated, 'desk' | 'page'>, told: SeatTold) {
    if (told.type === 'settled') noticed.delete(told.id)
    if (page.open) return
    sayPast(desk)
    if (told.type !== 'plan' || noticed.has(told.plan.id)) return
    noticed.add(told.plan.id)
    const { title, who } = told.plan
    if (showing && !stage.typedAhead) void show()
    else notice(counted(desk.waits), `${oneLine(title)}, for ${oneLine(who)}`)
  }

  /** One row, in which what others have named is cut before the key is. */
  function notice(what: string, named: string) {
    const [lead, end] = [`${what}: `, ` · ${KEY} answers`]
    const room = Math.max(8, stage.size.columns - 1 - widthOf(lead) - widthOf(end))
    stage.print([looking('strong', lead), plain(fitted(named, room)), looking('hint', `${end}\n`)])
  }

  /** What became of plans, each in a row of its own. */
  function sayPast({ past }: Desk) {
    for (const one of past) {
      if (said.has(one)) continue
      said.add(one)
      const text = `${one.id} ${oneLine(one.what)}${one.title === '' ? '' : `: ${oneLine(one.title)}`}`
      stage.print([looking('hint', `${fitted(text, stage.size.columns - 1)}\n`)])
    }
  }

  async function show() {
    const now = seated
    if (now === undefined || stage.paged) return
    showing = false
    await now.page.show()
    sayPast(now.desk)
  }

  stage.onShortcut(SHORTCUT, () => void open())

  async function open(): Promise<void> {
    const why = await take()
    if (why !== undefined) return stage.print([prose('hint', `There is no seat here: ${oneLine(why)}\n`)])
    await show()
  }

  return {
    sit() {
      if (!tried) void take()
    },
    open,
    key: KEY,
    asked() {
      if (seated === undefined) return false
      if (stage.typedAhead) return true
      if (seated.desk.waits > 0) void show()
      else showing = true
      return true
    },
    over() {
      showing = false
    },
    async close() {
      leaving.abort()
      await taking?.catch(() => {})
      await seated?.seat.ended
    },
  }
}

const counted = (waits: number) => (waits === 1 ? '1 plan waits' : `${waits} plans wait`)
