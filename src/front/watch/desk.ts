import type { Taken } from '../../core/approvals.ts'
import type { Key } from '../console/keys.ts'
import type { Place, Row } from '../console/layout.ts'
import type { Size } from '../console/screen.ts'
import type { Palette } from '../console/style.ts'
import type { SeatWanted } from '../protocol.ts'
import type { OpenSeat, SeatTold } from '../seat/open-seat.ts'
import type { Edited, Wish } from './wishes.ts'

export interface DeskOptions {
  readonly palette: Palette
  readonly size: Size
  /** Milliseconds of a clock that does not go back; the same clock as that of `tick`. */
  readonly now: number
}

/** Where all that waits for a person is looked at and answered, on a whole screen. Pure: news and keys in, rows out. */
export class Desk {
  constructor(_options: DeskOptions) {}

  /** The seat is there. */
  sits(_seat: Pick<OpenSeat, 'id' | 'who' | 'others' | 'trouble'>): void {}

  /** True where it is worth a bell: the first plan of a turn. */
  tell(_told: SeatTold): boolean {
    return false
  }

  /** Somebody else wants a seat; answered by the wish `admit`. Always worth a bell. */
  admit(_wanted: SeatWanted): void {}

  /** What became of an answer. */
  answered(_plan: string, _taken: Taken): void {}

  /** What came of an `edit`; undefined where the editor failed. */
  edited(_about: Edited, _text: string | undefined): Wish | undefined {
    return undefined
  }

  /** A sentence of ours for the person, which stays a while. */
  say(_text: string): void {}

  press(_key: Key): Wish | undefined {
    return undefined
  }

  /** Exactly as many rows as the screen has. */
  paint(): readonly Row[] {
    return []
  }

  /** Where the cursor stands in what was painted; undefined while nothing is being written. */
  get cursor(): Place | undefined {
    return undefined
  }

  /** Whether the question that was painted does not count keys yet: see `rested`. */
  get settling(): boolean {
    return false
  }

  /** What was painted stood for 150 ms in which no key was pressed: from now on, keys answer it. */
  rested(): void {}

  resize(_size: Size): void {}

  /** Time goes on: what is said of it, and what has been said long enough, changes. */
  tick(_now: number): void {}

  /** How many plans and questions wait. */
  get waits(): number {
    return 0
  }
}
