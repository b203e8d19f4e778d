import { escapeLine } from '../../text/escape.ts'
import type { SeatEvent } from '../protocol.ts'
import { seatText } from '../seat/plan-text.ts'

/** What a seat tells its editor; `left`, as the last, why it is over, or null where the editor left it. */
export type SeatTold = SeatEvent | { readonly type: 'left'; readonly why: string | null }

/** The same event with its sentence for the person. */
export const seatInWords = <Told extends SeatTold>(told: Told): Told & { readonly shown: string } => ({
  ...told,
  shown: escapeLine(seatLine(told)),
})

function seatLine(told: SeatTold): string {
  switch (told.type) {
    case 'asked':
      return told.seats.length === 0
        ? `To let this editor sit, type in a terminal: imago seat ${told.code}. The code holds for a minute.`
        : `Say yes within a minute to the seat with the code ${told.code}, where you sit: ${told.seats.map(seatText).join('; ')}`
    case 'seated':
      return `seated ${told.who}${told.trouble === null ? '' : `. ${told.trouble}`}`
    case 'left':
      return `the seat was left${told.why === null ? '' : `: ${told.why}`}`
    default:
      return told satisfies never
  }
}
