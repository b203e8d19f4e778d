import type { Link } from '../../../wire/link/link.ts'
import type { Seat } from '../../core/approvals.ts'
import { startOf } from '../../instance.ts'
import type { SeatEvent, SeatRow } from '../protocol.ts'

/** A seat and the process behind the connection that it belongs to. */
export interface Held {
  readonly seat: Seat
  readonly who: string
  readonly process: { readonly pid: number; readonly started: string }
  tell(event: SeatEvent): void
}

/** The seats that are held, each by one connection. */
export class HeldSeats {
  readonly #held = new Map<Link, Held>()

  get size(): number {
    return this.#held.size
  }

  add(link: Link, held: Held): void {
    this.#held.set(link, held)
  }

  /** False where that connection has none. */
  remove(link: Link): boolean {
    return this.#held.delete(link)
  }

  /** That of the connection, as long as the process that it was granted to lives. */
  of(link: Link): Held | undefined {
    const held = this.#held.get(link)
    return held !== undefined && startOf(held.process.pid) === held.process.started ? held : undefined
  }

  rows(): SeatRow[] {
    return [...this.#held.values()].map(({ seat, who }) => ({ seat: seat.id, who }))
  }

  tellAll(event: SeatEvent): void {
    for (const one of this.#held.values()) one.tell(event)
  }

  notice(text: string): void {
    this.tellAll({ type: 'notice', text })
  }
}
