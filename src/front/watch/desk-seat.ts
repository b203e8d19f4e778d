import { oneLine } from '../../../tools/wording.ts'
import type { SeatAnswer } from '../../core/approvals.ts'
import { messageOf } from '../../failure.ts'
import { asksText } from '../notify.ts'
import type { Draft, Redrafted } from '../person-editor.ts'
import type { SeatWanted } from '../protocol.ts'
import type { OpenSeat, SeatTold } from '../seat/open-seat.ts'
import type { Desk } from './desk.ts'
import type { Wish } from './wishes.ts'

export interface DeskSeatOptions {
  readonly desk: Desk
  /** Something at the desk has changed. */
  repaint(): void
  /** Something waits that did not before. */
  ring(text: string): void
  /** Has the person's own editor at the terminal of the desk. */
  edit(draft: Draft): Promise<Redrafted>
}

/** What goes to and fro between a desk and the seat that it is for. */
export interface DeskSeat {
  /** For `openSeat`. */
  tell(told: SeatTold): void
  admit(wanted: SeatWanted): Promise<boolean>
  /** The seat was granted. Wishes that came before were not heard. */
  take(seat: OpenSeat): void
  /** Does what a person wishes; `leave` and `suspend` are left to the caller, and so is what comes after them. */
  grant(wish: Wish): 'leave' | 'suspend' | undefined
}

export function openDeskSeat({ desk, repaint, ring, edit }: DeskSeatOptions): DeskSeat {
  const admitting = new Map<string, (admit: boolean) => void>()
  let seat: OpenSeat | undefined

  async function answer(given: SeatAnswer) {
    try {
      desk.answered(
        given.plan,
        (await seat?.answer(given)) ?? { type: 'unfit', why: 'there is no seat yet.' },
      )
    } catch (error) {
      desk.answered(given.plan, { type: 'unfit', why: oneLine(messageOf(error)) })
    }
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

  async function takeBack(work: (from: OpenSeat) => Promise<void>) {
    try {
      if (seat !== undefined) await work(seat)
    } catch (error) {
      desk.say(oneLine(messageOf(error)), 'error')
    }
    await look()
  }

  const revoke = (grant: string) =>
    takeBack(async from => {
      if (await from.revoke(grant)) desk.revoked(grant)
      else desk.say(`${grant} had ended.`)
    })
  const lift = () =>
    takeBack(async from => {
      const lifted = (await from.lift()) > 0
      desk.say(
        lifted ? 'Lifted: whoever was let be is asked about again.' : 'Nobody was let be any more.',
        'good',
      )
    })

  async function acknowledge() {
    try {
      await seat?.acknowledge()
      desk.say('Noted, and written down.', 'good')
    } catch (error) {
      desk.say(oneLine(messageOf(error)), 'error')
    }
    repaint()
  }

  async function redraft({ text, about }: Extract<Wish, { type: 'edit' }>) {
    const came = await edit({ text, name: `${about.type}${about.suffix}` })
    desk.shownAgain()
    const wish = desk.edited(about, came)
    if (wish !== undefined) grant(wish)
    repaint()
  }

  function settleAdmission(id: string, admit: boolean) {
    admitting.get(id)?.(admit)
    admitting.delete(id)
  }

  function grant(wish: Wish): 'leave' | 'suspend' | undefined {
    switch (wish.type) {
      case 'answer':
        for (const given of wish.answers) void answer(given)
        return undefined
      case 'admit':
        settleAdmission(wish.wanted, wish.admit)
        return undefined
      case 'acknowledge':
        void acknowledge()
        return undefined
      case 'edit':
        void redraft(wish)
        return undefined
      case 'look':
        void look()
        return undefined
      case 'revoke':
        void revoke(wish.grant)
        return undefined
      case 'lift':
        void lift()
        return undefined
      case 'leave':
      case 'suspend':
        return wish.type
      default:
        return wish satisfies never
    }
  }

  return {
    tell(told) {
      if (desk.tell(told) && told.type === 'plan') ring(asksText(told.plan))
      if (told.type === 'settled') settleAdmission(told.id, false)
      if (told.type === 'notice') void look()
      repaint()
    },
    admit(wanted) {
      desk.admit(wanted)
      ring('somebody else wants to approve, too')
      repaint()
      return new Promise(resolve => admitting.set(wanted.id, resolve))
    },
    take(granted) {
      seat = granted
      desk.sits(granted)
      void look()
    },
    grant,
  }
}
