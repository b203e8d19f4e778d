import type { SeatListener, SeatNews } from './approvals.ts'
import type { Journal } from './journal.ts'

/** Somebody who sits. */
export interface Seated {
  /** `seat-1` */
  readonly id: string
  readonly listener: SeatListener
}

export interface AudienceOptions {
  /** Where seats are written down. */
  readonly journal: Pick<Journal, 'later'>
  readonly log: (message: string, error: unknown) => void
  /** Called once for each that has left, after it has. */
  left(seat: Seated): void
}

/** Everybody who sits, to be told of what happens. One that cannot be told has left. */
export class Audience {
  readonly #options: AudienceOptions
  readonly #seats = new Set<Seated>()
  #taken = 0

  constructor(options: AudienceOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#seats.size
  }

  has(seat: Seated): boolean {
    return this.#seats.has(seat)
  }

  sit(listener: SeatListener): Seated {
    const seat = { id: `seat-${++this.#taken}`, listener }
    this.#seats.add(seat)
    this.#journal(seat, { what: 'taken', why: null })
    return seat
  }

  leave(seat: Seated, why: string | null): void {
    if (!this.#seats.delete(seat)) return
    this.#journal(seat, { what: 'left', why })
    this.#options.left(seat)
  }

  tell(seat: Seated, news: SeatNews): void {
    try {
      seat.listener.tell(news)
    } catch (error) {
      this.#options.log(`${seat.id} could not be told of a plan, and has lost its seat`, error)
      this.leave(seat, 'it could not be told of a plan')
    }
  }

  /** Everybody but `except`, who knows. `news` is made anew for each, and undefined where there is none any more. */
  tellAll(news: () => SeatNews | undefined, except?: Seated): void {
    for (const seat of this.#seats) {
      const told = seat === except ? undefined : news()
      if (told !== undefined) this.tell(seat, told)
    }
  }

  notice(text: string, except?: Seated): void {
    this.tellAll(() => ({ type: 'notice', text }), except)
  }

  #journal(
    seat: Seated,
    { what, why }: { readonly what: 'taken' | 'left'; readonly why: string | null },
  ): void {
    this.#options.journal.later({ type: 'seat', what, seat: seat.id, who: seat.listener.who, why })
  }
}
